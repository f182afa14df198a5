"""Answers and features, joined by the ids of the items."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from wisecrowd._checks import InputError, listed
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.io.features import read_features


class Features(NamedTuple):
    """A table of features, and how its rows are called."""

    path: Path
    X: Array
    items: Array
    named: bool  # the file has ids; otherwise they are row numbers

    def __str__(self) -> str:
        """Return what was read, for a person."""
        n_items, n_features = self.X.shape
        how = "ids in the file" if self.named else "rows counted from 0"
        return f"{self.path}: {n_items:,} items, {n_features:,} features ({how})"


def features_from(path: Path, ids: str | None, key: str | None) -> Features:
    """Read the features; rows without ids are items 0, 1, 2, ..."""
    try:
        X, items = read_features(path, item=ids, key=key)
    except InputError as error:
        raise InputError(str(error).replace("item=", "--ids")) from None
    if items is None:
        return Features(path, X, np.arange(len(X)), named=False)
    return Features(path, X, items, named=True)


def joined(annotations: Annotations, features: Features) -> Annotations:
    """Return the answers over all items that have features, in the order of the rows.

    Ids that are numbers in one file and text in the other are compared as text.
    """
    annotations, items = _alike(annotations, features.items)
    answered = annotations.items[annotations.codes.n_per_item > 0]
    lost = answered[~np.isin(answered, items)]
    if len(lost):
        raise InputError(_why_not(features, items, answered, lost))
    known = np.isin(annotations.items, items)  # gold may name items without features
    return (annotations if known.all() else annotations.subset(items=answered)).align(
        items
    )


def _alike(annotations: Annotations, items: Array) -> tuple[Annotations, Array]:
    kinds = annotations.items.dtype.kind, items.dtype.kind
    if kinds == ("O", "i"):
        return annotations, items.astype(str).astype(object)
    if kinds == ("i", "O"):
        return annotations.with_items([str(item) for item in annotations.items]), items
    return annotations, items


def _why_not(features: Features, items: Array, answered: Array, lost: Array) -> str:
    path, n_rows = features.path, len(items)
    if not features.named:
        return (
            f"{path}: its rows have no ids, so they are items 0 to {n_rows - 1:,}, but "
            f"{len(lost):,} of {len(answered):,} answered items are not among those: "
            f"{listed(lost, 3)}. Add a column of item ids to the features."
        )
    if len(lost) == len(answered):
        return (
            f"{path}: none of its {n_rows:,} items was answered; it has "
            f"{listed(items, 3)}, the answers have {listed(answered, 3)}."
        )
    return (
        f"{path}: {len(lost):,} of {len(answered):,} answered items have no features: "
        f"{listed(lost, 3)}. Add their rows, or take their answers out."
    )


def said(features: Features, annotations: Annotations) -> tuple[str, ...]:
    """Return what to tell a person about the join."""
    n_silent = int((annotations.codes.n_per_item == 0).sum())
    more = f"; {n_silent:,} of them have no answer" if n_silent else ""
    return (f"{features}{more}",)
