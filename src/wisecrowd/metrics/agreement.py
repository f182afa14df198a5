"""Agreement of annotators: Krippendorff's alpha, Fleiss' and Cohen's kappa.

The functions take :class:`wisecrowd.Annotations`. Memory grows with the answers; no
table of items by annotators is built. An annotator who answered an item several times
counts once: each of the n answers has the weight 1 / n. Only pairs of two different
annotators count as agreement.
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
    """The part of :class:`wisecrowd.Annotations` that agreement uses.

    The names of the N items, the A annotators and the K possible answers; and for each
    answer that was given, the codes of its item, its annotator and what was answered.
    """

    items: Array
    annotators: Array
    answers: Array
    item: Array
    annotator: Array
    answer: Array


class Shares(NamedTuple):
    """One entry per distinct (item, annotator, answer), sorted.

    The shares of one annotator on one item sum to one.
    """

    item: Int[Array, " S"]
    annotator: Int[Array, " S"]
    answer: Int[Array, " S"]
    share: Float[Array, " S"]

    def where(self, keep: Bool[Array, " S"]) -> "Shares":
        """Return the entries where `keep` is true."""
        return Shares(*(column[keep] for column in self))


class _Agreement(NamedTuple):
    """Sums over ordered pairs of annotators, for items with two or more annotators."""

    n_annotators: Float[Array, " N"]
    n_agreeing: Float[Array, " N"]  # pairs of annotators with the same answer
    answers: Float[Array, " K"]  # number of times that each answer was given


def krippendorff_alpha(answers: CrowdAnswers | Any) -> float:
    """Krippendorff's alpha for nominal answers; any number of answers per item.

    α = 1 - D_o / D_e. D_o is the observed disagreement of pairs within items, D_e the
    expected disagreement of pairs drawn from all answers. α is one for perfect
    agreement and zero for agreement by chance. Items with one annotator are left out.
    NaN if there is no pair, or if all answers are the same.

    Examples
    --------
    >>> from wisecrowd.annotations import Annotations
    >>> krippendorff_alpha(Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, 1]]))
    0.533
    """
    pairs = _agreement(_checked(answers))
    n_answers = pairs.n_annotators.sum()
    expected = n_answers**2 - np.square(pairs.answers).sum()
    if not expected > 0:
        return np.nan
    m = pairs.n_annotators
    observed = ((m * (m - 1) - pairs.n_agreeing) / (m - 1)).sum()
    return float(1 - (n_answers - 1) * observed / expected)


def fleiss_kappa(answers: CrowdAnswers | Any) -> float:
    """Fleiss' kappa, κ = (P - P_e) / (1 - P_e); any number of answers per item.

    P is the mean over items of the share of pairs of annotators who agree. P_e = Σ_k
    p_k², where p_k is the share of answer k. If all items have the same number of
    answers, this is Fleiss (1971). Items with one annotator are left out. NaN if there
    is no pair, or if all answers are the same.

    Examples
    --------
    >>> from wisecrowd.annotations import Annotations
    >>> fleiss_kappa(Annotations.from_matrix([[0, 0], [1, 1], [0, 1], [1, 1]]))
    0.467
    """
    pairs = _agreement(_checked(answers))
    m = pairs.n_annotators
    if not len(m):
        return np.nan
    chance = np.square(pairs.answers / m.sum()).sum()
    observed = np.mean(pairs.n_agreeing / (m * (m - 1)))
    return float(_above_chance(observed, chance))


def pairwise_cohen(
    answers: CrowdAnswers | Any, *, min_shared: int = 10
) -> pd.DataFrame:
    """Cohen's kappa of every two annotators who answered enough common items.

    Parameters
    ----------
    answers : Annotations
        The answers.
    min_shared : int
        Pairs with fewer common items are left out.

    Returns
    -------
    DataFrame
        One row per pair: first, second, n_shared (number of common items), agreement
        (share of the common items with the same answer) and kappa (NaN if both gave
        one and the same answer to all common items).

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
    shares = _shares(_checked(answers))
    n_items = np.round(np.bincount(shares.annotator, shares.share))
    shares = shares.where(n_items[shares.annotator] >= min_shared)  # others: no pair
    shape = (len(answers.annotators), len(answers.items))
    given = _by_annotator(shares, shape)
    first, second, n_shared = _sharing_pairs(given, min_shared)
    agreeing, chance = np.zeros(len(first)), np.zeros(len(first))
    for k in np.unique(shares.answer) if len(first) else ():
        said = _by_annotator(shares.where(shares.answer == k), shape)
        agreeing += _at(said @ said.T, first, second)
        on_shared = said @ given.T  # [a, b]: answers k of a on items of a and b
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
    """(P - P_e) / (1 - P_e), NaN where P_e = 1."""
    room = 1 - chance
    room = np.where(np.isclose(room, 0, atol=1e-12), np.nan, room)
    return (observed - chance) / room


def _checked(answers: Any) -> CrowdAnswers:
    """Return annotations; refuse a table of them."""
    if not hasattr(answers, "annotators"):
        raise InputError(
            f"agreement is that of Annotations, not of a {type(answers).__name__}. "
            f"Make them first, e.g. wisecrowd.Annotations.from_frame(table)."
        )
    made: CrowdAnswers = answers
    return made


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
    """Count agreeing pairs of two different annotators: Σ_k (n_k² - Σ_a s_ak²)."""
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


def _by_annotator(shares: Shares, shape: tuple[int, int]) -> Any:
    """Return the shares as a sparse (A, N) matrix."""
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
