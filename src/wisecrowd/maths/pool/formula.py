"""The labels: what the witnesses say, weighed and added up."""

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.special import logsumexp

from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.maths.pool.records import Pool, Reading, Witnesses, design_effect

CLASS_PRIOR = 10.0
"""Items of each class that are assumed before the answers. With one, as is usual, a
small crowd of weak annotators ends with nearly all items in one class, sure of it."""
SMALLEST_PREDICTION = 1e-4  # of a classifier's, for a class
SMALLEST_PROBA = 1e-12  # of a class, in logarithms of probabilities


def readings(
    answers: Answers,
    proba: Float[np.ndarray, "N C"],
    priors: tuple[Float[np.ndarray, "P C K"], ...],
    selective: Float[np.ndarray, " A"],
) -> tuple[Reading, ...]:
    """Return what these labels teach about the annotators, under each prior."""
    seen = crowd.soft_counts(answers, proba)
    return readings_by(seen, proba.sum(0), priors, selective)


def readings_by(
    seen: Float[np.ndarray, "A C K"],
    n_each: Float[np.ndarray, " C"],
    priors: tuple[Float[np.ndarray, "P C K"], ...],
    selective: Float[np.ndarray, " A"],
) -> tuple[Reading, ...]:
    """Return :func:`readings`, from sums over the items.

    `seen` are the soft counts of the answers, `n_each` the items of each class.
    """
    shares = dirichlet.mean(CLASS_PRIOR + n_each)
    return tuple(
        Reading(
            prior + seen,
            row_totals(prior + seen, prior, shares, selective),
            np.log(shares),
        )
        for prior in priors
    )


def row_totals(
    counts: Float[np.ndarray, "A C K"],
    prior: Float[np.ndarray, "#A C K"],
    shares: Float[np.ndarray, " C"],
    selective: Float[np.ndarray, " A"],
) -> Float[np.ndarray, "A C"]:
    """Return what the counts of a row are divided by.

    As a rule their sum: p(answer | class, it was answered). Of an annotator who
    answers selectively, what would be expected if the items were drawn at random, so
    that it is p(answer, and answered | class) up to a constant.
    """
    totals: Float[np.ndarray, "A C"] = counts.sum(2)
    some = np.flatnonzero(selective)
    if len(some):
        own = np.broadcast_to(prior, counts.shape)[some].sum(2)
        n_given = (totals[some] - own).sum(1, keepdims=True)
        drawn = n_given * shares + own
        power = selective[some, None]
        totals[some] = drawn**power * totals[some] ** (1 - power)
    return totals


def log_given(
    reading: Reading,
    answers: Answers,
    proba: Float[np.ndarray, "N C"] | None,
    rows: slice,
) -> Float[np.ndarray, "rows C"]:
    """Return log p(y | z = c) of some answers, the item's own part left out."""
    return np.log(
        crowd.given_others(answers, reading.counts, proba, rows, reading.totals)
    )


def evidence(
    witnesses: Witnesses,
    reading: Reading,
    lean: Float[np.ndarray, " A"] | None = None,
) -> Float[np.ndarray, "N C"]:
    """Σ over an item's answers of weight × log p(y | z = c), or of lean × that."""
    answers = witnesses.answers
    weight = witnesses.weight
    if lean is not None:
        weight = weight * lean[answers.annotator]
    out = np.empty((answers.n_items, answers.n_classes))
    for first in range(0, answers.n_items, crowd.BLOCK):  # what fits into a cache
        start = answers.row_start[first : first + crowd.BLOCK + 1]
        rows = slice(start[0], start[-1])
        said = log_given(reading, answers, witnesses.proba, rows)
        add_up = sparse.csr_array(
            (weight[rows], np.arange(len(said)), start - start[0]),
            (len(start) - 1, len(said)),
        )
        out[first : first + crowd.BLOCK] = add_up @ said
    return out


def log_votes(witnesses: Witnesses) -> Float[np.ndarray, "N C"]:
    """Return the log of the share of the votes, with one vote spread over all."""
    answers = witnesses.answers
    named = answers.answer < answers.n_classes
    cell = answers.item[named].astype(np.int64) * answers.n_classes
    size = answers.n_items * answers.n_classes
    counts = np.bincount(cell + answers.answer[named], witnesses.weight[named], size)
    votes = counts.reshape(answers.n_items, -1) + 1 / answers.n_classes
    share: Float[np.ndarray, "N C"] = votes / votes.sum(1, keepdims=True)
    return np.log(share)


def said_by_crowd(witnesses: Witnesses, pool: Pool) -> Float[np.ndarray, "N C"]:
    """Return what the crowd says about every class, in normalised logs."""
    n_each = witnesses.n_each
    divided = design_effect(n_each, pool.dependence)[:, None]
    of_shares = float(design_effect(pool.n_mean, pool.dependence)) ** 0.5
    total: Float[np.ndarray, "N C"] = pool.votes * log_votes(witnesses)
    if witnesses.verdict is not None:
        return normalised(total + (1 - pool.votes) * witnesses.verdict / divided)
    for reading in witnesses.readings:
        said = reading.log_class / of_shares + evidence(witnesses, reading) / divided
        total += (1 - pool.votes) / len(witnesses.readings) * normalised(said)
    return normalised(total)


def normalised(log_joint: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
    """Return logs of probabilities that sum to one."""
    return log_joint - logsumexp(log_joint, axis=1, keepdims=True)


def log_labels(witnesses: Witnesses, pool: Pool) -> Float[np.ndarray, "N C"]:
    """Return log p(class) of every item, its gold not used, up to a constant."""
    out = pool.exponent * said_by_crowd(witnesses, pool) + pool.shift
    if witnesses.beyond is not None:
        out += pool.features * witnesses.beyond
    if pool.lean.any():
        n_each = witnesses.n_each
        divided = design_effect(n_each, pool.dependence)[:, None]
        for reading in witnesses.readings:
            more = evidence(witnesses, reading, pool.lean)
            out += more / divided / len(witnesses.readings)
    return out


def labels(
    witnesses: Witnesses, pool: Pool, gold: Int[np.ndarray, " N"]
) -> Float[np.ndarray, "N C"]:
    """Return p(class) of every item; certain where it is known."""
    return crowd.posterior(crowd.clamped(log_labels(witnesses, pool), gold))[0]


def bounded_log(proba: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
    """Return the log of predictions: no model rules out a class for certain."""
    kept = np.maximum(proba, SMALLEST_PREDICTION)
    out: Float[np.ndarray, "N C"] = np.log(kept / kept.sum(1, keepdims=True))
    return out
