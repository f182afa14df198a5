"""The loop of BCC over the answers that occur, for crowds of many annotators.

Most annotators of a large crowd give few of the answers: of anonymous volunteers, one.
With soft counts n, q(R[a, c, :]) = Dir(α[c, :] + n[a, c, :]), and where n[a, c, k] = 0
all annotators have the value of the prior. So the sums over annotators need only the
pairs (annotator, answer) that occur, P of them, and the totals n[a, c] of G annotators.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.special import digamma, gammaln

from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import dirichlet
from wisecrowd.maths.crowd import Hyperprior

MINKA_STEPS = 5  # per iteration: with one, thrice as many iterations were needed


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs (annotator, answer) that occur, sorted by annotator.

    Annotators whose only answer is the same, on the same item, have the same counts for
    every q(Z). They are one annotator here, who is counted several times.

    Attributes
    ----------
    answers_of : sparse array (P, N)
        How often each pair occurs on each item.
    pairs_on : sparse array (N, P)
        The transpose, times the number of annotators that the pair stands for.
    annotator : array (P,)
        0, ..., G − 1.
    first : array (G,)
        The first pair of every annotator.
    times : array (G,)
        How many annotators each one stands for.
    row : array (P,)
        The pair's row of :attr:`Concentrations.each`.
    total_row : array (G,)
        The annotator's row of :attr:`Concentrations.total`.
    """

    answers_of: sparse.csr_matrix
    pairs_on: sparse.csr_matrix
    annotator: Int[np.ndarray, " P"]
    first: Int[np.ndarray, " G"]
    times: Float[np.ndarray, " G"]
    row: Int[np.ndarray, " P"]
    total_row: Int[np.ndarray, " G"]


def pairs_of(answers: Answers, *, shared_prior: bool) -> Pairs:
    """Return the pairs that occur; annotators are merged only under a shared prior."""
    kept, times = answers, np.ones(answers.n_annotators)
    if shared_prior:
        kept, times = merged(answers)
    table = kept.transposed  # [A * K, N]
    code = np.flatnonzero(np.diff(table.indptr))
    who, said = np.divmod(code, answers.n_answers)
    first = np.flatnonzero(np.diff(who, prepend=-1))
    annotator = np.cumsum(np.diff(who, prepend=-1) > 0) - 1
    starts = np.append(table.indptr[code], table.nnz)
    answers_of = sparse.csr_matrix(
        (table.data, table.indices, starts), (len(code), answers.n_items)
    )
    place = np.zeros(table.shape[0], table.indices.dtype)
    place[code] = np.arange(len(code))
    matrix = kept.matrix
    pairs_on = sparse.csr_matrix(
        (
            matrix.data * times[matrix.indices // answers.n_answers],
            place[matrix.indices],
            matrix.indptr,
        ),
        (answers.n_items, len(code)),
    )
    row, total_row = (said, 0 * first) if shared_prior else (code, who[first])
    return Pairs(
        answers_of, pairs_on, annotator, first, times[who[first]], row, total_row
    )


def merged(answers: Answers) -> tuple[Answers, Float[np.ndarray, " A"]]:
    """Keep one of the annotators whose only answer is the same, on the same item.

    Also returns how many annotators each one stands for.
    """
    times = np.ones(answers.n_annotators)
    alone = np.flatnonzero(answers.n_per_annotator[answers.annotator] == 1)
    if not len(alone):
        return answers, times
    key = answers.item[alone].astype(np.int64) * answers.n_answers
    key += answers.answer[alone]
    _, one, n_each = np.unique(key, return_index=True, return_counts=True)
    keep = np.ones(len(answers), dtype=bool)
    keep[alone] = False
    keep[alone[one]] = True
    times[answers.annotator[alone[one]]] = n_each
    return answers.some(keep), times


class Cells(NamedTuple):
    """Soft counts above zero, and the concentrations that they are added to.

    Attributes
    ----------
    where : array (E,)
        The place of the count in its table [rows, C], flat.
    n : array (E,)
        The count.
    cell : array (E,)
        The place of its concentration in the prior, flat.
    times : array (E,)
        How many annotators have this count.
    """

    where: Int[np.ndarray, " E"]
    n: Float[np.ndarray, " E"]
    cell: Int[np.ndarray, " E"]
    times: Float[np.ndarray, " E"]


class Counts(NamedTuple):
    """n[a, c, k] of the pairs that occur, and n[a, c] = Σₖ n[a, c, k]."""

    each: Cells
    total: Cells


def counts(pairs: Pairs, proba: Float[np.ndarray, "N C"]) -> Counts:
    """n[a, c, k] = Σ over a's answers k of q(z = c), and the sum over k."""
    each = pairs.answers_of @ proba
    total = np.add.reduceat(each, pairs.first, axis=0)
    times = pairs.times
    return Counts(
        _cells(each, pairs.row, times[pairs.annotator]),
        _cells(total, pairs.total_row, times),
    )


def counts_of(table: Float[np.ndarray, "A C K"]) -> Counts:
    """Return soft counts that are in a table, under a prior that all share."""
    n_annotators, n_classes, n_answers = table.shape
    each = table.transpose(0, 2, 1).reshape(-1, n_classes)
    said = np.tile(np.arange(n_answers), n_annotators)
    nothing = np.zeros(n_annotators, np.int64)
    return Counts(
        _cells(each, said, np.ones(len(each))),
        _cells(table.sum(2), nothing, np.ones(n_annotators)),
    )


def _cells(
    table: Float[np.ndarray, "R C"],
    row: Int[np.ndarray, " R"],
    times: Float[np.ndarray, " R"],
) -> Cells:
    at, column = np.nonzero(table > dirichlet.NO_ANSWER)
    n_classes = table.shape[1]
    where = at * n_classes + column
    return Cells(where, table.ravel()[where], row[at] * n_classes + column, times[at])


class Concentrations(NamedTuple):
    """The prior in the order of :class:`Cells`: α[k, c], and α[c] = Σₖ α[c, k]."""

    each: Float[np.ndarray, "rows C"]
    total: Float[np.ndarray, "priors C"]


def concentrations(prior: Float[np.ndarray, "priors C K"]) -> Concentrations:
    """Return a prior, shared or one per annotator, in the order of the cells."""
    by_answer = prior.transpose(0, 2, 1).reshape(-1, prior.shape[1])
    return Concentrations(by_answer, prior.sum(-1))


# -- q(R) --------------------------------------------------------------------------


def evidence_and_divergence(
    pairs: Pairs, n: Counts, prior: Float[np.ndarray, "priors C K"]
) -> tuple[Float[np.ndarray, "N C"], float]:
    """Return Σ E log R[a, c, y] of every item, and Σ KL(q(R) ‖ p(R)).

    E log R[a, c, k] = ψ(α[c, k] + n[a, c, k]) − ψ(α[c] + n[a, c]).
    """
    alpha = concentrations(prior)
    each = digamma(n.each.n + alpha.each.ravel()[n.each.cell])
    total = digamma(n.total.n + alpha.total.ravel()[n.total.cell])
    log_mean = _in_table(each, n.each, alpha.each, pairs.row)
    log_mean -= _in_table(total, n.total, alpha.total, pairs.total_row)[pairs.annotator]
    lost = _divergence(n.each, alpha.each, each)
    lost -= _divergence(n.total, alpha.total, total)
    return pairs.pairs_on @ log_mean, lost


def _in_table(
    values: Float[np.ndarray, " E"],
    cells: Cells,
    alpha: Float[np.ndarray, "rows C"],
    row: Int[np.ndarray, " R"],
) -> Float[np.ndarray, "R C"]:
    """Return the values as a table; where nothing was counted, ψ of the prior."""
    table = digamma(alpha)[row]
    table.ravel()[cells.where] = values
    return table


def _divergence(
    cells: Cells, alpha: Float[np.ndarray, "rows C"], psi: Float[np.ndarray, " E"]
) -> float:
    """Σ log Γ(α) − log Γ(α + n) + n ψ(α + n): the part of KL that one table has."""
    after = cells.n + alpha.ravel()[cells.cell]
    lost = gammaln(alpha).ravel()[cells.cell] - gammaln(after) + cells.n * psi
    return float(cells.times @ lost)


# -- the prior that the crowd learns -----------------------------------------------


def after_minka(
    n: Counts, prior: Float[np.ndarray, "1 C K"], hyper: Hyperprior
) -> Float[np.ndarray, "1 C K"]:
    """Return the prior after a few of Minka's steps: log p(answers, α | Z) is higher.

    Each step is safe, but with few answers per annotator they become very short.
    """
    found = prior[0]
    for _ in range(MINKA_STEPS):
        alpha = concentrations(found[None])
        gain = summed(digamma, n.each, alpha.each).T
        loss = summed(digamma, n.total, alpha.total)[0]
        found = dirichlet.minka_step(found, gain, loss, *hyper)
    return found[None]


def after_newton(
    n: Counts, prior: Float[np.ndarray, "1 C K"], hyper: Hyperprior
) -> Float[np.ndarray, "1 C K"]:
    """Return the prior after one of Newton's steps, which may go too far."""
    alpha = concentrations(prior)
    functions = (digamma, dirichlet.trigamma)
    gain = (summed(function, n.each, alpha.each).T for function in functions)
    loss = (summed(function, n.total, alpha.total)[0] for function in functions)
    slopes = dirichlet.Slopes(*gain), dirichlet.Slopes(*loss)
    return dirichlet.newton_step(prior[0], *slopes, *hyper)[None]


def summed(
    function: Callable[[Array], Array], cells: Cells, alpha: Float[np.ndarray, "rows C"]
) -> Float[np.ndarray, "rows C"]:
    """Return Σ f(n + α) − f(α) of every concentration, over the annotators."""
    after = cells.n + alpha.ravel()[cells.cell]
    more = function(after) - function(alpha).ravel()[cells.cell]
    found = np.bincount(cells.cell, cells.times * more, minlength=alpha.size)
    return found.reshape(alpha.shape).astype(float)  # integers, if there are no cells
