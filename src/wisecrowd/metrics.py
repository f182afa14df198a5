"""How good probabilities are, how far a crowd agrees, how near estimates come.

Scores take `truth`, one class an item, and `proba`, an (N, C) array whose rows sum to
one. Without `classes` the truth is a column number of `proba`; with `classes` it is
one of those names. Items whose class is not known (NaN, None or -1) are left out;
``scores(...).loc["all", "n_items"]`` says how many were scored.

Agreement takes :class:`wisecrowd.Annotations` and never builds items by annotators.
An annotator who answered an item more than once counts as one annotator whose answer
is spread over what they said: nobody is counted as agreeing with themselves.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy import sparse
from sklearn.metrics import roc_auc_score

from wisecrowd._checks import InputError, listed
from wisecrowd._types import Array, Ids

SMALLEST_PROBABILITY = 1e-15
"""Where log loss clips: a certain mistake costs 34.5 nats, not infinity."""

ROW_SUM_TOLERANCE = 1e-3
"""How far a row of probabilities may be from one: float32 over many classes."""

N_BINS = 15
"""Bins of the calibration error, as in Guo et al. (2017)."""


@runtime_checkable
class CrowdAnswers(Protocol):
    """What agreement needs of :class:`wisecrowd.Annotations`."""

    @property
    def items(self) -> Array:
        """The names of the N items."""

    @property
    def annotators(self) -> Array:
        """The names of the A annotators."""

    @property
    def answers(self) -> Array:
        """The names of the K answers."""

    @property
    def item(self) -> Array:
        """The item of each annotation, a code."""

    @property
    def annotator(self) -> Array:
        """The annotator of each annotation, a code."""

    @property
    def label(self) -> Array:
        """The answer of each annotation, a code."""


# -- probabilities beside the truth ------------------------------------------------


def accuracy(truth: Any, proba: Any, classes: Ids | None = None) -> float:
    """Share of items whose most probable class is the true one.

    Of equal probabilities the first class counts.

    Examples
    --------
    >>> accuracy([0, 1, 1], [[.9, .1], [.2, .8], [.7, .3]])
    0.667
    >>> accuracy(["no", None], [[.9, .1], [.2, .8]], classes=["no", "yes"])
    1.0
    """
    return float(_hit(*_known(truth, proba, classes)).mean())


def mean_likelihood(truth: Any, proba: Any, classes: Ids | None = None) -> float:
    """Mean probability of the true class: the "test likelihood" of the paper.

    Not a proper score: it rewards over-confidence. Read it beside :func:`log_loss`.

    Examples
    --------
    >>> mean_likelihood([0, 1], [[.9, .1], [.2, .8]])
    0.85
    """
    return float(_likelihood(*_known(truth, proba, classes)).mean())


def log_loss(truth: Any, proba: Any, classes: Ids | None = None) -> float:
    """Mean of -log(probability of the true class), in nats; smaller is better.

    Probabilities below :data:`SMALLEST_PROBABILITY` count as that.

    Examples
    --------
    >>> log_loss([0, 1], [[.9, .1], [.2, .8]])
    0.164
    """
    return float(_surprise(*_known(truth, proba, classes)).mean())


def brier(truth: Any, proba: Any, classes: Ids | None = None) -> float:
    """Mean over items of Σ_c (p_c - [c is true])², from 0 (best) to 2.

    For two classes it is twice what scikit-learn's ``brier_score_loss`` returns.

    Examples
    --------
    >>> brier([0, 1], [[.9, .1], [.2, .8]])
    0.05
    """
    return float(_squared_error(*_known(truth, proba, classes)).mean())


def auc(truth: Any, proba: Any, classes: Ids | None = None) -> float:
    """Area under the ROC curve: for more than two classes, each against the rest.

    The mean over the classes that some, but not all, items have; NaN if there is none.

    Examples
    --------
    >>> auc([0, 0, 1, 1], [[.9, .1], [.4, .6], [.5, .5], [.2, .8]])
    0.75
    >>> auc([0, 0], [[.9, .1], [.4, .6]])
    nan
    """
    codes, table = _known(truth, proba, classes)
    return _mean_auc(_auc_of_class(codes, table))


def calibration_error(
    truth: Any, proba: Any, classes: Ids | None = None, *, n_bins: int = N_BINS
) -> float:
    """Mean distance of confidence from accuracy (expected calibration error).

    The confidence is the largest probability of an item. Items fall into `n_bins`
    bins of equal width; |accuracy - mean confidence| of the bins is averaged,
    weighted by their items.

    Examples
    --------
    >>> calibration_error([0, 0], [[.8, .2], [.8, .2]])
    0.2
    """
    codes, table = _known(truth, proba, classes)
    return _gap(_hit(codes, table), table.max(1), n_bins)


def scores(
    truth: Any, proba: Any, classes: Ids | None = None, *, n_bins: int = N_BINS
) -> pd.DataFrame:
    """All scores: a row for each class, then a row "all".

    In a class's row accuracy, likelihood, log loss and Brier are means over the items
    of that class; AUC is the class against the rest; the calibration error is that of
    the class's probability over all items. What cannot be known is NaN.

    Examples
    --------
    >>> table = scores(["a", "b", None], [[.9, .1], [.2, .8], [.5, .5]], ["a", "b"])
    >>> table["n_items"].to_dict()
    {'a': 1, 'b': 1, 'all': 2}
    >>> table.loc["all", ["accuracy", "mean_likelihood", "auc"]].tolist()
    [1.0, 0.85, 1.0]
    """
    codes, table = _known(truth, proba, classes)
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
    """Return the mean over the items of each class, then over all."""
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


def _gap(happened: Bool[Array, " N"], said: Float[Array, " N"], n_bins: int) -> float:
    """Σ_bins |how often it happened - what was said| · items of the bin / items."""
    where = np.minimum((said * n_bins).astype(int), n_bins - 1)
    surplus = np.bincount(where, happened - said, minlength=n_bins)
    return float(np.abs(surplus).sum() / len(said))


# -- at the door -------------------------------------------------------------------


def _known(truth: Any, proba: Any, classes: Ids | None) -> tuple[Array, Array]:
    """Return codes and probabilities of the items whose class is known."""
    table = _checked_proba(proba)
    codes = truth_codes(truth, table.shape[1] if classes is None else classes)
    if len(codes) != len(table) or (
        classes is not None and len(classes) != table.shape[1]
    ):
        raise InputError(
            f"proba has shape {table.shape}, but there are {len(codes)} true classes"
            f"{'' if classes is None else f' and {len(classes)} names of classes'}. "
            f"It needs a row an item and a column a class."
        )
    known = codes >= 0
    if not known.any():
        raise InputError(
            f"none of the {len(codes)} items has a known class, so there is nothing "
            f"to score. Pass the truth of some."
        )
    return codes[known], table[known]


def truth_codes(truth: Any, classes: Ids | int) -> Int[Array, " N"]:
    """Return the column of each item's true class, -1 where it is not known.

    Parameters
    ----------
    truth : sequence of length N
        Names of classes, or their codes where `classes` is a number; NaN, None and
        -1 mean that the class is not known.
    classes : sequence or int
        The names of the classes, or how many there are.

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
    table = np.asarray(proba, dtype=float)
    if table.ndim != 2 or not table.size:
        raise InputError(
            f"proba has shape {table.shape}: it needs a row an item, a column a class."
        )
    off = np.abs(table.sum(1) - 1)
    bad = ~(off <= ROW_SUM_TOLERANCE) | (table < 0).any(1)  # NaN is bad too
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{int(bad.sum())} of {len(table)} rows of proba are not probabilities "
            f"that sum to one; the first is row {row}: {listed(table[row], 6)}."
        )
    return table


# -- agreement ---------------------------------------------------------------------


class Shares(NamedTuple):
    """One entry for each different (item, annotator, answer), sorted.

    The shares of one annotator on one item sum to one.
    """

    item: Int[Array, " S"]
    annotator: Int[Array, " S"]
    label: Int[Array, " S"]
    share: Float[Array, " S"]

    def where(self, keep: Bool[Array, " S"]) -> "Shares":
        """Return the entries to keep."""
        return Shares(*(column[keep] for column in self))


class _Agreement(NamedTuple):
    """Per item that two or more annotators answered, sums over ordered pairs."""

    n_annotators: Float[Array, " N"]
    n_agreeing: Float[Array, " N"]  # pairs of annotators that say the same
    answers: Float[Array, " K"]  # how often each answer was given on those items


def krippendorff_alpha(labels: CrowdAnswers) -> float:
    """Krippendorff's alpha for nominal answers; any number of answers an item.

    α = 1 - D_o / D_e, with the observed disagreement of pairs within items and the
    expected one of pairs drawn from all answers. One is perfect, zero is chance.
    Items with one annotator do not count. NaN where there is no pair, or only one
    answer was ever given.

    Examples
    --------
    >>> from wisecrowd.data.annotations import Annotations
    >>> krippendorff_alpha(Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, 1]]))
    0.533
    """
    pairs = _agreement(labels)
    n_answers = pairs.n_annotators.sum()
    expected = n_answers**2 - np.square(pairs.answers).sum()
    if not expected > 0:
        return np.nan
    m = pairs.n_annotators
    observed = ((m * (m - 1) - pairs.n_agreeing) / (m - 1)).sum()
    return float(1 - (n_answers - 1) * observed / expected)


def fleiss_kappa(labels: CrowdAnswers) -> float:
    """Fleiss' kappa, κ = (P - P_e) / (1 - P_e); any number of answers an item.

    P is the mean over items of the share of pairs of annotators who agree, P_e = Σ_k
    p_k² with p_k the share of answer k. Where all items have the same number of answers
    this is Fleiss (1971). Items with one annotator do not count. NaN where there is no
    pair, or only one answer was ever given.

    Examples
    --------
    >>> from wisecrowd.data.annotations import Annotations
    >>> fleiss_kappa(Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, 1]]))
    0.467
    """
    pairs = _agreement(labels)
    m = pairs.n_annotators
    if not len(m):
        return np.nan
    chance = np.square(pairs.answers / m.sum()).sum()
    observed = np.mean(pairs.n_agreeing / (m * (m - 1)))
    return float(_above_chance(observed, chance))


def pairwise_cohen(labels: CrowdAnswers, *, min_shared: int = 10) -> pd.DataFrame:
    """Cohen's kappa of every two annotators who share enough items.

    Parameters
    ----------
    labels : Annotations
        Who answered what.
    min_shared : int
        Pairs that answered fewer items in common are left out.

    Returns
    -------
    DataFrame
        A row a pair: first, second, n_shared, agreement (the share of their common
        items on which they say the same) and kappa (NaN where both always gave one
        answer).

    Examples
    --------
    >>> from wisecrowd.data.annotations import Annotations
    >>> answers = Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, 1]])
    >>> pairwise_cohen(answers, min_shared=4).round(3)
       first  second  n_shared  agreement  kappa
    0      0       1         4       0.75    0.5
    """
    if min_shared < 1:
        raise InputError(f"min_shared={min_shared} must be at least 1.")
    shares = _of_busy_annotators(_shares(labels), min_shared)
    shape = (len(labels.annotators), len(labels.items))
    given = _by_annotator(shares, shape)
    first, second, n_shared = _sharing_pairs(given, min_shared)
    agreeing, chance = np.zeros(len(first)), np.zeros(len(first))
    for k in np.unique(shares.label) if len(first) else ():
        said = _by_annotator(shares.where(shares.label == k), shape)
        agreeing += _at(said @ said.T, first, second)
        on_shared = said @ given.T  # [a, b]: how often a said k on items of a and b
        chance += _at(on_shared, first, second) * _at(on_shared, second, first)
    agreement, chance = agreeing / n_shared, chance / n_shared**2
    return pd.DataFrame(
        {
            "first": labels.annotators[first],
            "second": labels.annotators[second],
            "n_shared": n_shared.astype(int),
            "agreement": agreement,
            "kappa": _above_chance(agreement, chance),
        }
    )


def _above_chance(observed: Any, chance: Any) -> Any:
    """(P - P_e) / (1 - P_e), NaN where chance alone agrees always."""
    room = 1 - chance
    room = np.where(np.isclose(room, 0, atol=1e-12), np.nan, room)
    return (observed - chance) / room


def _shares(labels: CrowdAnswers) -> Shares:
    n_annotators, n_answers = len(labels.annotators), len(labels.answers)
    pair = labels.item.astype(np.int64) * n_annotators + labels.annotator
    triple, times = np.unique(pair * n_answers + labels.label, return_counts=True)
    pair, label = np.divmod(triple, n_answers)
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    lengths = np.diff(starts, append=len(pair))
    total = np.repeat(np.add.reduceat(times, starts), lengths) if len(pair) else times
    item, annotator = np.divmod(pair, n_annotators)
    return Shares(item, annotator, label, times / total)


def _agreement(labels: CrowdAnswers) -> _Agreement:
    """Σ_k (n_k² - Σ_a s_ak²) are the agreeing pairs of two different annotators."""
    shares, n_items = _shares(labels), len(labels.items)
    shape = (n_items, len(labels.answers))
    table = sparse.coo_array((shares.share, (shares.item, shares.label)), shape).tocsr()
    with_self = table.power(2).sum(1)
    alone = np.bincount(shares.item, np.square(shares.share), minlength=n_items)
    m = np.round(table.sum(1))
    several = m >= 2
    return _Agreement(
        m[several], (with_self - alone)[several], table.T @ several.astype(float)
    )


def _of_busy_annotators(shares: Shares, min_items: int) -> Shares:
    """Leave out who answered too few items to share that many with anyone."""
    n_items = np.bincount(shares.annotator, shares.share)
    return shares.where(np.round(n_items)[shares.annotator] >= min_items)


def _by_annotator(shares: Shares, shape: tuple[int, int]) -> Any:
    """Return the sparse (A, N) table of shares."""
    where = (shares.annotator, shares.item)
    return sparse.coo_array((shares.share, where), shape).tocsr()


def _sharing_pairs(given: Any, min_shared: int) -> tuple[Array, Array, Array]:
    shared = sparse.triu(given @ given.T, k=1).tocoo()
    n_shared = np.round(shared.data)
    enough = n_shared >= min_shared
    first, second = shared.row[enough], shared.col[enough]
    order = np.lexsort((second, first))
    return first[order], second[order], n_shared[enough][order]


def _at(table: Any, row: Array, column: Array) -> Array:
    return np.asarray(table[row, column]).ravel()


# -- estimated confusion matrices --------------------------------------------------


def confusion_error(
    estimated: Any, true: Any, weights: Any = None, *, annotators: Ids | None = None
) -> pd.DataFrame:
    """How far estimated confusion matrices are from the true ones.

    Parameters
    ----------
    estimated, true : (A, C, K) arrays
        Annotator, truth, answer.
    weights : (C,) or (A, C) array, optional
        How much each row of a matrix counts, such as how many items of class c an
        annotator answered. Default: all the same.
    annotators : sequence of length A, optional
        Names for the rows of the result.

    Returns
    -------
    DataFrame
        A row an annotator: mean_absolute (error of an entry), total_variation (half
        the summed error of a row, averaged over rows) and max (the largest error of
        an entry in a row that counts). NaN where no row counts.

    Examples
    --------
    >>> true, estimated = [[[.9, .1], [.2, .8]]], [[[.8, .2], [.2, .8]]]
    >>> errors = confusion_error(estimated, true, annotators=["ann"])
    >>> errors.loc["ann"].round(3).to_dict()
    {'mean_absolute': 0.05, 'total_variation': 0.05, 'max': 0.1}
    """
    left, right = np.asarray(estimated, float), np.asarray(true, float)
    if left.shape != right.shape or left.ndim != 3:
        raise InputError(
            f"confusion matrices are (annotators, classes, answers) arrays of one "
            f"shape; these are {left.shape} and {right.shape}."
        )
    error = np.abs(left - right)
    weight = _row_weights(weights, error.shape[:2])
    columns = {
        "mean_absolute": (weight * error.mean(2)).sum(1),
        "total_variation": (weight * error.sum(2)).sum(1) / 2,
        "max": np.where(weight > 0, error.max(2), 0).max(1),
    }
    names = range(len(error)) if annotators is None else annotators
    index = pd.Index(names, name="annotator")
    table = pd.DataFrame(columns, index=index)
    table[~(weight > 0).any(axis=1)] = np.nan
    return table


def _row_weights(weights: Any, shape: tuple[int, ...]) -> Float[Array, "A C"]:
    given = np.ones(shape) if weights is None else np.asarray(weights, float)
    if given.shape not in (shape, shape[1:]) or not (given >= 0).all():
        raise InputError(
            f"weights must be non-negative, of shape {shape[1:]} (one a class) or "
            f"{shape} (one an annotator and class); they have shape {given.shape}."
        )
    full = np.broadcast_to(given, shape)
    total = full.sum(1, keepdims=True)
    return np.divide(full, total, out=np.zeros(shape), where=total > 0)
