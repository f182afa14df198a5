"""Features of items, as a method gets them: checked, joined by id, read in pieces.

A method sees features through a *source*: batches of rows for its steps, and pieces of
a fixed shape that cover all items. :class:`InMemory` is one,
:class:`~wisecrowd.blocks.OnDisk` another, for files that are larger than the memory.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Shaped
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from wisecrowd._checks import InputError, listed
from wisecrowd._types import Array

PIECE = 2048  # items of one piece, where all of them are visited

WHOLE_TABLE = "Give a table that has all columns of the fit (model.feature_names_in_)."


@runtime_checkable
class FeatureSource(Protocol):
    """Where a method's features come from."""

    n_items: int
    n_features: int

    def batches(self, rows: Int[np.ndarray, "T B"]) -> Float[np.ndarray, "T B D"]:
        """Return the features of some items, one batch per step."""

    def pieces(
        self, first: int = 0, last: int | None = None
    ) -> Iterator[tuple[slice, Float[np.ndarray, "piece D"]]]:
        """Yield items in order, `PIECE` at a time: where they are, and their X."""

    def changed(self, change: Callable[[Array], Array]) -> "FeatureSource":
        """Return the source of features after a change of units, row by row."""


class InMemory:
    """Features that are an array."""

    def __init__(self, X: Float[np.ndarray, "N D"]) -> None:
        self.X = X
        self.n_items, self.n_features = X.shape

    def batches(self, rows: Int[np.ndarray, "T B"]) -> Float[np.ndarray, "T B D"]:
        """Return the features of some items, one batch per step."""
        return np.take(self.X, rows, axis=0)

    def pieces(
        self, first: int = 0, last: int | None = None
    ) -> Iterator[tuple[slice, Float[np.ndarray, "piece D"]]]:
        """Yield items in order, `PIECE` at a time: where they are, and their X."""
        end = self.n_items if last is None else last
        for begin in range(first, end, PIECE):
            where = slice(begin, min(begin + PIECE, end))
            yield where, self.X[where]

    def changed(self, change: Callable[[Array], Array]) -> "InMemory":
        """Return the source of features after a change of units, row by row."""
        return InMemory(change(self.X))


def as_source(X: Any) -> FeatureSource:
    """Return a source of features as it is, and an array as one."""
    return X if isinstance(X, FeatureSource) else InMemory(X)


def filled(
    rows: Shaped[np.ndarray, "n ..."], n_items: int
) -> Shaped[np.ndarray, "piece ..."]:
    """Fill up a piece, of `n_items` in all, with copies of its first row.

    Pieces then have few different lengths, and little is compiled: `PIECE`, or, if
    there is only one piece, a power of two.
    """
    full = PIECE if n_items > PIECE else 1 << max(0, len(rows) - 1).bit_length()
    return np.concatenate([rows, np.repeat(rows[:1], full - len(rows), axis=0)])


# -- what a user hands in ---------------------------------------------------------


def n_rows(X: Any) -> int:
    """Return the number of rows; a sparse matrix has no length."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def row_ids(X: Any, items: Any, n_items: int) -> Any:
    """Return the ids of the rows: given, a DataFrame's index, or their numbers."""
    if items is None and isinstance(X, FeatureSource):
        return getattr(X, "items", np.arange(n_items))
    if items is None:
        return X.index if isinstance(X, pd.DataFrame) else np.arange(n_items)
    if len(items) != n_items:
        raise InputError(
            f"items= names {len(items)} rows, but X has {n_items}. Give one id per row."
        )
    return items


def checked_features(model: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Return the features as an (N, D) array; raise an error if one is not finite.

    At the fit, the names of a DataFrame's columns are kept (``feature_names_in_``).
    Later, a DataFrame with other names or in another order is refused. A source is
    returned as it is, and checked when it is read.
    """
    if isinstance(X, FeatureSource):
        return checked_source(model, X, reset=reset)
    try:
        table: Array = validate_data(
            model,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
    except (TypeError, ValueError) as error:
        # scikit-learn's: one row, text, other columns, a sparse matrix, ...
        if isinstance(error, TypeError) and not str(error).startswith("Sparse"):
            raise  # its checks want a TypeError where an entry is a dict
        other_names = str(error).startswith("The feature names should match")
        hint = ""
        if other_names and set(model.feature_names_in_) <= set(X.columns):
            hint = "Pass X[model.feature_names_in_], with the fitted model as model."
        elif other_names:
            hint = WHOLE_TABLE
        elif "a minimum of 2 is required" in str(error):
            hint = " A classifier learns from two or more items: give their features."
        elif str(error).startswith("could not convert string to float"):
            hint = ". X has text: turn it into numbers, or leave that column out."
        said = str(error) if other_names else without_data(str(error))
        raise InputError(f"{said}{hint}") from None
    odd = not_finite(table)
    if odd is None:
        return table
    row, column, n_bad = odd
    what = "NaN" if np.isnan(table[row, column]) else "infinity"
    raise InputError(
        f"X contains {what}: {n_bad} entries of {table.size} are NaN or "
        f"infinite, the first in row {row}, column {column}. Fill them in, or "
        f"leave those items out."
    )


def checked_source(model: Any, source: Any, *, reset: bool) -> Any:
    """Return a source of features for a model that reads it in pieces."""
    names = getattr(source, "names", None)
    if reset and not getattr(model, "fits_in_pieces", False):
        raise InputError(
            f"{type(model).__name__} learns from features in memory, and X is a source "
            f"of features on disk. Use SVGPCR or SVGP, or read the features into "
            f"memory: X, items = wisecrowd.read_features(path)."
        )
    if reset:
        model.n_features_in_ = source.n_features
        model.__dict__.pop("feature_names_in_", None)
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)
        return source
    if source.n_features != model.n_features_in_:
        raise InputError(
            f"X has {source.n_features:,} features per item, and the model was fitted "
            f"with {model.n_features_in_:,}. Give the columns of the fit."
        )
    fitted = getattr(model, "feature_names_in_", None)
    if names is not None and fitted is not None and list(fitted) != list(names):
        raise InputError(
            "the columns of X are not those of the fit, in their order. Open the file "
            "with columns=list(model.feature_names_in_)."
        )
    return source


def without_data(message: str) -> str:
    r"""Return a message of scikit-learn on one line, without the numbers it quotes.

    Examples
    --------
    >>> without_data("Expected 2D array, got 1D array:\narray=[1. 2.].\nReshape it.")
    'Expected 2D array, got 1D array. Reshape it.'
    """
    first, *rest = message.splitlines()
    if not rest:
        return message
    advice = [line for line in rest if line[:1].isalpha() and "array=" not in line]
    return " ".join([first.rstrip(":.") + ".", *advice])


def in_order_of_fit(
    X: Any, names: Sequence[str], fitted: Sequence[str]
) -> tuple[Any, list[str]]:
    """Return the columns that a fit had, in its order, and the names of the others.

    `names` are those of the columns of X, `fitted` those at the fit, in order.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 3.0]])
    >>> in_order_of_fit(X, ["b", "c", "a"], ["a", "b"])
    (array([[3., 1.]]), ['c'])
    """
    if list(names) == list(fitted):
        return X, []
    missing = [name for name in fitted if name not in set(names)]
    unknown = [name for name in names if name not in set(fitted)]
    if missing:
        others = f"has {listed(unknown)} instead" if unknown else "has no other column"
        raise InputError(
            f"there is no column {listed(missing)}, and the model was fitted with "
            f"{'it' if len(missing) == 1 else 'them'}. It {others}. Give the columns "
            f"of the fit; their order does not matter."
        )
    twice = [name for name, n in Counter(names).items() if n > 1 and name in fitted]
    if twice:
        raise InputError(
            f"there are several columns {listed(twice)}, so it is not clear which of "
            f"them to use. Keep one of each name."
        )
    where = {name: column for column, name in enumerate(names)}
    return X[:, [where[name] for name in fitted]], unknown


def not_finite(X: Float[np.ndarray, "N D"]) -> tuple[int, int, int] | None:
    """Return row and column of the first NaN or infinity, and their number, or None.

    If the sum is finite, all entries are: one pass without a copy. If it is not, the
    entries are looked at, because a sum of finite numbers can overflow.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return None
    bad = np.flatnonzero(~np.isfinite(X))
    return (*divmod(int(bad[0]), X.shape[1]), len(bad)) if len(bad) else None


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
