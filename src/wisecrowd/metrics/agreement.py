"""How far a crowd agrees: Krippendorff's alpha, Fleiss' and Cohen's kappa.

Agreement takes :class:`wisecrowd.Annotations` and never builds items by annotators.
An annotator who answered an item more than once counts as one annotator whose answer
is spread over what they said: nobody is counted as agreeing with themselves.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy import sparse

from wisecrowd._checks import InputError
from wisecrowd._types import Array


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
    def answer(self) -> Array:
        """The answer of each annotation, a code."""


class Shares(NamedTuple):
    """One entry for each different (item, annotator, answer), sorted.

    The shares of one annotator on one item sum to one.
    """

    item: Int[Array, " S"]
    annotator: Int[Array, " S"]
    answer: Int[Array, " S"]
    share: Float[Array, " S"]

    def where(self, keep: Bool[Array, " S"]) -> "Shares":
        """Return the entries to keep."""
        return Shares(*(column[keep] for column in self))


class _Agreement(NamedTuple):
    """Per item that two or more annotators answered, sums over ordered pairs."""

    n_annotators: Float[Array, " N"]
    n_agreeing: Float[Array, " N"]  # pairs of annotators that say the same
    answers: Float[Array, " K"]  # how often each answer was given on those items


def krippendorff_alpha(answers: CrowdAnswers) -> float:
    """Krippendorff's alpha for nominal answers; any number of answers an item.

    α = 1 - D_o / D_e, with the observed disagreement of pairs within items and the
    expected one of pairs drawn from all answers. One is perfect, zero is chance.
    Items with one annotator do not count. NaN where there is no pair, or only one
    answer was ever given.

    Examples
    --------
    >>> from wisecrowd.annotations import Annotations
    >>> krippendorff_alpha(Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, 1]]))
    0.533
    """
    pairs = _agreement(answers)
    n_answers = pairs.n_annotators.sum()
    expected = n_answers**2 - np.square(pairs.answers).sum()
    if not expected > 0:
        return np.nan
    m = pairs.n_annotators
    observed = ((m * (m - 1) - pairs.n_agreeing) / (m - 1)).sum()
    return float(1 - (n_answers - 1) * observed / expected)


def fleiss_kappa(answers: CrowdAnswers) -> float:
    """Fleiss' kappa, κ = (P - P_e) / (1 - P_e); any number of answers an item.

    P is the mean over items of the share of pairs of annotators who agree, P_e = Σ_k
    p_k² with p_k the share of answer k. Where all items have the same number of answers
    this is Fleiss (1971). Items with one annotator do not count. NaN where there is no
    pair, or only one answer was ever given.

    Examples
    --------
    >>> from wisecrowd.annotations import Annotations
    >>> fleiss_kappa(Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, 1]]))
    0.467
    """
    pairs = _agreement(answers)
    m = pairs.n_annotators
    if not len(m):
        return np.nan
    chance = np.square(pairs.answers / m.sum()).sum()
    observed = np.mean(pairs.n_agreeing / (m * (m - 1)))
    return float(_above_chance(observed, chance))


def pairwise_cohen(answers: CrowdAnswers, *, min_shared: int = 10) -> pd.DataFrame:
    """Cohen's kappa of every two annotators who share enough items.

    Parameters
    ----------
    answers : Annotations
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
    >>> from wisecrowd.annotations import Annotations
    >>> answers = Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, 1]])
    >>> pairwise_cohen(answers, min_shared=4).round(3)
       first  second  n_shared  agreement  kappa
    0      0       1         4       0.75    0.5
    """
    if min_shared < 1:
        raise InputError(f"min_shared={min_shared} must be at least 1.")
    shares = _of_busy_annotators(_shares(answers), min_shared)
    shape = (len(answers.annotators), len(answers.items))
    given = _by_annotator(shares, shape)
    first, second, n_shared = _sharing_pairs(given, min_shared)
    agreeing, chance = np.zeros(len(first)), np.zeros(len(first))
    for k in np.unique(shares.answer) if len(first) else ():
        said = _by_annotator(shares.where(shares.answer == k), shape)
        agreeing += _at(said @ said.T, first, second)
        on_shared = said @ given.T  # [a, b]: how often a said k on items of a and b
        chance += _at(on_shared, first, second) * _at(on_shared, second, first)
    agreement, chance = agreeing / n_shared, chance / n_shared**2
    return pd.DataFrame(
        {
            "first": answers.annotators[first],
            "second": answers.annotators[second],
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


def _shares(answers: CrowdAnswers) -> Shares:
    n_annotators, n_answers = len(answers.annotators), len(answers.answers)
    pair = answers.item.astype(np.int64) * n_annotators + answers.annotator
    triple, times = np.unique(pair * n_answers + answers.answer, return_counts=True)
    pair, answer = np.divmod(triple, n_answers)
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    lengths = np.diff(starts, append=len(pair))
    total = np.repeat(np.add.reduceat(times, starts), lengths) if len(pair) else times
    item, annotator = np.divmod(pair, n_annotators)
    return Shares(item, annotator, answer, times / total)


def _agreement(answers: CrowdAnswers) -> _Agreement:
    """Σ_k (n_k² - Σ_a s_ak²) are the agreeing pairs of two different annotators."""
    shares, n_items = _shares(answers), len(answers.items)
    shape = (n_items, len(answers.answers))
    table = sparse.coo_array(
        (shares.share, (shares.item, shares.answer)), shape
    ).tocsr()
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
