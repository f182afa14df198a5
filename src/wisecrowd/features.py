"""Features of items, as a method gets them: checked, joined by id, read in pieces.

A method sees features through a *source*: batches of rows for its steps, and pieces of
a fixed shape that cover all items. :class:`InMemory` is one; a file that is larger than
the memory, or one shard of it, would be another with the same three members.
"""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from wisecrowd._checks import InputError
from wisecrowd._types import Array

PIECE = 2048  # items of one piece, where all of them are visited


@runtime_checkable
class FeatureSource(Protocol):
    """Where a method's features come from."""

    n_items: int
    n_features: int

    def batches(self, rows: Int[np.ndarray, "T B"]) -> Float[np.ndarray, "T B D"]:
        """Return the features of some items, one batch per step."""

    def pieces(self) -> Iterator[tuple[slice, Float[np.ndarray, "piece D"]]]:
        """Yield all items in order, `PIECE` at a time: where they are, and their X."""


class InMemory:
    """Features that are an array."""

    def __init__(self, X: Float[np.ndarray, "N D"]) -> None:
        self.X = X
        self.n_items, self.n_features = X.shape

    def batches(self, rows: Int[np.ndarray, "T B"]) -> Float[np.ndarray, "T B D"]:
        """Return the features of some items, one batch per step."""
        return np.take(self.X, rows, axis=0)

    def pieces(self) -> Iterator[tuple[slice, Float[np.ndarray, "piece D"]]]:
        """Yield all items in order, `PIECE` at a time: where they are, and their X."""
        for first in range(0, self.n_items, PIECE):
            where = slice(first, min(first + PIECE, self.n_items))
            yield where, self.X[where]


def filled(
    rows: Float[np.ndarray, "n D"], n_items: int
) -> Float[np.ndarray, "piece D"]:
    """Fill up a piece, of `n_items` in all, with copies of its first row.

    Pieces then have few different lengths, and little is compiled: `PIECE`, or, if
    there is only one piece, a power of two.
    """
    full = PIECE if n_items > PIECE else 1 << max(0, len(rows) - 1).bit_length()
    return np.concatenate([rows, np.repeat(rows[:1], full - len(rows), axis=0)])


# -- what a user hands in ---------------------------------------------------------


def row_ids(X: Any, items: Any, n_items: int) -> Any:
    """Return the ids of the rows: given, a DataFrame's index, or their numbers."""
    if items is None:
        return X.index if isinstance(X, pd.DataFrame) else np.arange(n_items)
    if len(items) != n_items:
        raise InputError(
            f"items= names {len(items)} rows, but X has {n_items}. Give one id per row."
        )
    return items


def checked_features(model: BaseEstimator, X: Any, *, reset: bool) -> Array:
    """Return the features as an (N, D) array; raise an error if one is not finite."""
    try:
        table: Array = validate_data(
            model,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
    except ValueError as error:  # scikit-learn's: one row, text, other columns, ...
        raise InputError(str(error)) from None
    place = first_not_finite(table)
    if place is None:
        return table
    row, column = place
    what = "NaN" if np.isnan(table[row, column]) else "infinity"
    n_bad = int((~np.isfinite(table)).sum())
    raise InputError(
        f"X contains {what}: {n_bad} entries of {table.size} are NaN or "
        f"infinite, the first in row {row}, column {column}. Fill them in, or "
        f"leave those items out."
    )


def first_not_finite(X: Float[np.ndarray, "N D"]) -> tuple[int, int] | None:
    """Return row and column of the first NaN or infinity, or None if there is none.

    If the sum is finite, all entries are: one pass without a copy. If it is not, the
    entries are looked at, because a sum of finite numbers can overflow.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return None
    bad = np.flatnonzero(~np.isfinite(X))
    if not len(bad):
        return None
    row, column = divmod(int(bad[0]), X.shape[1])
    return row, column


def checked_target(y: Any, n_items: int) -> Array:
    """Return a target or a matrix of answers that has a row for each item."""
    if y is None:
        raise InputError(
            "this method requires y to be passed, but the target y is None: give "
            "Annotations, a long DataFrame, an (N, A) matrix or a 1-D target."
        )
    target = np.asarray(y)
    if not target.ndim or len(target) != n_items:
        n = len(target) if target.ndim else 1
        raise InputError(
            f"X and the answers have inconsistent numbers of samples: X has {n_items} "
            f"rows, the answers {n}. To join by id pass Annotations and items=."
        )
    return target
