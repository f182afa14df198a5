"""Class probabilities from elsewhere, joined to the items and classes of answers."""

from typing import Any

import numpy as np
import pandas as pd

from wisecrowd._checks import InputError, listed
from wisecrowd._types import Array
from wisecrowd.annotations.annotations import Annotations
from wisecrowd.annotations.vocabulary import positions

ROUNDING = 1e-3  # how far a sum of probabilities may be from one, in 32 bits


def predictions_of(proba: Any, annotations: Annotations) -> Array:
    """Return predictions with a row per item and a column per class, checked.

    The rows of an array `proba` follow ``annotations.items``, its columns the classes.
    A DataFrame is joined by its index and its columns; other rows are left out.
    """
    items, classes = annotations.items, annotations.classes
    if isinstance(proba, pd.DataFrame):
        rows = _where(items, proba.index, "row", "item")
        columns = _where(classes, proba.columns, "column", "class")
        proba = proba.iloc[rows, columns]
    try:
        table = np.array(proba, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("proba has entries that are not numbers.") from None
    shape = len(items), len(classes)
    if table.shape != shape:
        raise InputError(
            f"proba has the shape {table.shape}; expected {shape}, a row per item of "
            f"answers.items and a column per class ({listed(classes, 5)}). A DataFrame "
            f"with items as index and classes as columns is joined by name."
        )
    wrong = ~(np.isfinite(table).all(1) & (table >= 0).all(1))
    wrong |= ~(np.abs(table.sum(1) - 1) <= ROUNDING)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"proba is not a table of probabilities: in {int(wrong.sum())} of "
            f"{len(table)} rows an entry is missing or negative, or the sum is not 1. "
            f"The first is that of item {listed(items[[row]])}: "
            f"{table[row].round(4).tolist()}."
        )
    out: Array = table / table.sum(1, keepdims=True)
    return out


def _where(names: Array, index: pd.Index, part: str, what: str) -> Array:
    """Return the places of the names in the index of a table."""
    if not index.is_unique:
        raise InputError(f"proba has more than one {part} for some {what}.")
    place = positions(names, index.to_numpy())
    if (place < 0).any():
        missing = names[place < 0]
        raise InputError(
            f"proba has no {part} for {len(missing)} of {len(names)} {what} names: "
            f"{listed(missing, 5)}."
        )
    return place
