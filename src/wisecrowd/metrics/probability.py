"""Scores of class probabilities, given the true classes.

Scores take `truth`, one class per item, and `proba`, an (N, C) array whose rows sum to
one. With `classes`, `truth` holds names of classes; without, column numbers of `proba`.
Items with an unknown class (NaN, None or -1) are left out.
``scores(...).loc["all", "n_items"]`` is the number of items that were scored.
"""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from sklearn.metrics import roc_auc_score

from wisecrowd._checks import InputError, listed
from wisecrowd._types import Array, Ids

SMALLEST_PROBABILITY = 1e-15
"""Lower limit of probabilities in the log loss: a loss is at most 34.5 nats."""

ROW_SUM_TOLERANCE = 1e-3
"""Largest accepted error of a row sum, for float32 over many classes."""

N_BINS = 15
"""Number of bins of the calibration error, as in Guo et al. (2017)."""


def accuracy(truth: Any, proba: Any, classes: Ids | None = None) -> float:
    """Share of items whose most probable class is the true one.

    If two probabilities are equal, the first of the two classes counts.

    Examples
    --------
    >>> accuracy([0, 1, 1], [[.9, .1], [.2, .8], [.7, .3]])
    0.667
    >>> accuracy(["no", None], [[.9, .1], [.2, .8]], classes=["no", "yes"])
    1.0
    """
    return float(_hit(*known_items(truth, proba, classes)).mean())


def mean_likelihood(truth: Any, proba: Any, classes: Ids | None = None) -> float:
    """Mean probability of the true class: the "test likelihood" of the paper.

    It is not a proper score: it rewards over-confidence. Use it together with
    :func:`log_loss`.

    Examples
    --------
    >>> mean_likelihood([0, 1], [[.9, .1], [.2, .8]])
    0.85
    """
    return float(_likelihood(*known_items(truth, proba, classes)).mean())


def log_loss(truth: Any, proba: Any, classes: Ids | None = None) -> float:
    """Mean of -log(probability of the true class), in nats; smaller is better.

    Probabilities below :data:`SMALLEST_PROBABILITY` are replaced by it.

    Examples
    --------
    >>> log_loss([0, 1], [[.9, .1], [.2, .8]])
    0.164
    """
    return float(_surprise(*known_items(truth, proba, classes)).mean())


def brier(truth: Any, proba: Any, classes: Ids | None = None) -> float:
    """Mean over items of Σ_c (p_c - [c is true])², from 0 (best) to 2.

    For two classes it is twice the ``brier_score_loss`` of scikit-learn.

    Examples
    --------
    >>> brier([0, 1], [[.9, .1], [.2, .8]])
    0.05
    """
    return float(_squared_error(*known_items(truth, proba, classes)).mean())


def auc(truth: Any, proba: Any, classes: Ids | None = None) -> float:
    """Area under the ROC curve; with more than two classes, one against the rest.

    It is the mean over the classes that some, but not all, items have. NaN if there is
    no such class.

    Examples
    --------
    >>> auc([0, 0, 1, 1], [[.9, .1], [.4, .6], [.5, .5], [.2, .8]])
    0.75
    >>> auc([0, 0], [[.9, .1], [.4, .6]])
    nan
    """
    codes, table = known_items(truth, proba, classes)
    return _mean_auc(_auc_of_class(codes, table))


def calibration_error(
    truth: Any, proba: Any, classes: Ids | None = None, *, n_bins: int = N_BINS
) -> float:
    """Mean of ``|accuracy - confidence|`` over bins: the expected calibration error.

    The confidence of an item is its largest probability. Items are divided by their
    confidence into `n_bins` bins of equal width. A bin's weight is its number of items.

    Examples
    --------
    >>> calibration_error([0, 0], [[.8, .2], [.8, .2]])
    0.2
    """
    codes, table = known_items(truth, proba, classes)
    return _gap(_hit(codes, table), table.max(1), n_bins)


def scores(
    truth: Any, proba: Any, classes: Ids | None = None, *, n_bins: int = N_BINS
) -> pd.DataFrame:
    """Return all scores: one row per class, then a row "all".

    In the row of a class, accuracy, mean likelihood, log loss and Brier score are means
    over the items of the class. The AUC is that of the class against the rest. The
    calibration error is that of the probability of the class, over all items. Scores
    that are not defined are NaN.

    Examples
    --------
    >>> table = scores(["a", "b", None], [[.9, .1], [.2, .8], [.5, .5]], ["a", "b"])
    >>> table["n_items"].to_dict()
    {'a': 1, 'b': 1, 'all': 2}
    >>> table.loc["all", ["accuracy", "mean_likelihood", "auc"]].tolist()
    [1.0, 0.85, 1.0]
    """
    codes, table = known_items(truth, proba, classes)
    n_classes = table.shape[1]
    is_class = codes[:, None] == np.arange(n_classes)
    areas = _auc_of_class(codes, table)
    gaps = [_gap(is_class[:, c], table[:, c], n_bins) for c in range(n_classes)]
    columns = {
        "n_items": [*is_class.sum(0).tolist(), len(codes)],
        **{
            name: _means(of_item(codes, table), is_class)
            for name, of_item in _OF_ITEM.items()
        },
        "auc": [*areas, _mean_auc(areas)],
        "calibration_error": [*gaps, _gap(_hit(codes, table), table.max(1), n_bins)],
    }
    names = range(n_classes) if classes is None else classes
    return pd.DataFrame(columns, index=pd.Index([*names, "all"], name="class"))


def _hit(codes: Int[Array, " N"], proba: Float[Array, "N C"]) -> Bool[Array, " N"]:
    return proba.argmax(1) == codes


def _likelihood(
    codes: Int[Array, " N"], proba: Float[Array, "N C"]
) -> Float[Array, " N"]:
    return proba[np.arange(len(codes)), codes]


def _surprise(
    codes: Int[Array, " N"], proba: Float[Array, "N C"]
) -> Float[Array, " N"]:
    return -np.log(np.clip(_likelihood(codes, proba), SMALLEST_PROBABILITY, 1.0))


def _squared_error(
    codes: Int[Array, " N"], proba: Float[Array, "N C"]
) -> Float[Array, " N"]:
    """Σ_c (p_c - [c is true])²."""
    return np.square(proba - np.eye(proba.shape[1])[codes]).sum(1)


_OF_ITEM = {
    "accuracy": _hit,
    "mean_likelihood": _likelihood,
    "log_loss": _surprise,
    "brier": _squared_error,
}


def _means(of_item: Array, is_class: Bool[Array, "N C"]) -> list[float]:
    """Return the means over the items of each class, then over all items."""
    n_items = is_class.sum(0)
    sums = of_item @ is_class.astype(float)
    by_class = np.divide(
        sums, n_items, out=np.full(len(sums), np.nan), where=n_items > 0
    )
    return [*by_class.tolist(), float(of_item.mean())]


def _auc_of_class(codes: Int[Array, " N"], proba: Float[Array, "N C"]) -> list[float]:
    of_class = []
    for c, score in enumerate(proba.T):
        positive = codes == c
        defined = positive.any() and not positive.all()
        of_class.append(float(roc_auc_score(positive, score)) if defined else np.nan)
    return of_class


def _mean_auc(of_class: list[float]) -> float:
    defined = [area for area in of_class if not np.isnan(area)]
    if len(of_class) == 2:
        return of_class[1]
    return float(np.mean(defined)) if defined else np.nan


def bin_of(proba: Float[Array, " N"], n_bins: int) -> Int[Array, " N"]:
    """Return which of `n_bins` bins of equal width a probability is in; 1: the last."""
    return np.minimum((proba * n_bins).astype(int), n_bins - 1)


def _gap(happened: Bool[Array, " N"], proba: Float[Array, " N"], n_bins: int) -> float:
    """Σ over bins of |frequency - mean probability| · items of the bin / items."""
    surplus = np.bincount(bin_of(proba, n_bins), happened - proba, minlength=n_bins)
    return float(np.abs(surplus).sum() / len(proba))


# -- checks of the input -----------------------------------------------------------


def known_items(truth: Any, proba: Any, classes: Ids | None) -> tuple[Array, Array]:
    """Return the classes and probabilities of the items whose class is known."""
    truth, proba, classes = _of_frames(truth, proba, classes)
    table = _checked_proba(proba)
    codes = truth_codes(truth, table.shape[1] if classes is None else classes)
    if len(codes) != len(table) or (
        classes is not None and len(classes) != table.shape[1]
    ):
        raise InputError(
            f"proba has shape {table.shape}, but there are {len(codes)} true classes"
            f"{'' if classes is None else f' and {len(classes)} names of classes'}. "
            f"Pass one row per item and one column per class."
        )
    known = codes >= 0
    if not known.any():
        raise InputError(
            f"none of the {len(codes)} items has a known class, so no score can be "
            f"computed. Pass the true class of at least one item."
        )
    return codes[known], table[known]


def _of_frames(
    truth: Any, proba: Any, classes: Ids | None
) -> tuple[Any, Any, Ids | None]:
    """Return the arguments of a score, joined by names where they are frames.

    The columns of `proba` are put in the order of `classes`, and `truth` in that of the
    rows of `proba`, if both have the same names in another order.
    """
    if isinstance(truth, pd.DataFrame):
        if truth.shape[1] != 1:
            raise InputError(
                f"truth is one class per item, and this table has {truth.shape[1]} "
                f"columns: {listed(truth.columns)}. Pass one of them. (The order is "
                f"truth, proba.)"
            )
        truth = truth.iloc[:, 0]
    if not isinstance(proba, pd.DataFrame):
        return truth, proba, classes
    if classes is not None and set(proba.columns) == set(classes):
        proba = proba[list(classes)]
    same = isinstance(truth, pd.Series) and truth.index.is_unique
    if same and set(truth.index) == set(proba.index):
        truth = truth.reindex(proba.index)
    return truth, proba, classes


def truth_codes(truth: Any, classes: Ids | int) -> Int[Array, " N"]:
    """Return the true class of each item as a column number, -1 where it is unknown.

    Parameters
    ----------
    truth : sequence of length N
        Names of classes, or codes if `classes` is a number. NaN, None and -1 mean that
        the class is unknown.
    classes : sequence or int
        The names of the classes, or their number.

    Examples
    --------
    >>> truth_codes(["dog", None, "cat"], ["cat", "dog"]).tolist()
    [1, -1, 0]
    >>> truth_codes([1, float("nan"), -1], 2).tolist()
    [1, -1, -1]
    """
    values = pd.Series(np.asarray(truth, dtype=object).ravel()).infer_objects()
    names = pd.Index(range(classes) if isinstance(classes, int) else classes)
    codes = names.get_indexer(pd.Index(values))
    absent = values.isna().to_numpy() | (values == -1).to_numpy()
    unknown = (codes < 0) & ~absent
    if unknown.any():
        raise InputError(
            f"{int(unknown.sum())} of {len(values)} true classes are not among the "
            f"{len(names)} classes ({listed(names)}): "
            f"{listed(values[unknown].unique(), 5)}. Pass classes=[...] in the order "
            f"of the columns of proba."
        )
    return np.where(absent & (codes < 0), -1, codes).astype(np.int64)


def _checked_proba(proba: Any) -> Float[Array, "N C"]:
    try:
        table = np.asarray(proba, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            "proba has entries that are not numbers. Pass one row per item and one "
            "column per class."
        ) from None
    if table.ndim != 2 or not table.size:
        raise InputError(
            f"proba has shape {table.shape}. Pass one row per item and one column per "
            f"class."
        )
    off = np.abs(table.sum(1) - 1)
    bad = ~(off <= ROW_SUM_TOLERANCE) | (table < 0).any(1)  # also true for NaN
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{int(bad.sum())} of {len(table)} rows of proba are not probabilities "
            f"that sum to one. The first is row {row}: {listed(table[row], 6)}."
        )
    return table
