"""How much each witness counts, once gold is known."""

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize

from wisecrowd.maths import crowd
from wisecrowd.maths.pool.formula import (
    log_given,
    log_labels,
    normalised,
    said_by_crowd,
)
from wisecrowd.maths.pool.records import (
    DOUBTS,
    Doubts,
    Pool,
    Witnesses,
    design_effect,
)
from wisecrowd.metrics.calibration import Calibration, calibration

N_GOLD = 2000  # most items with gold that are used
N_FOLDS = 5


def pool_with_gold(
    witnesses: Witnesses,
    pool: Pool,
    gold: Int[np.ndarray, " G"],
    doubts: Doubts = DOUBTS,
) -> Pool:
    """Return the most probable pool, given the classes of these items.

    Maximises Σ log p(gold | witnesses) over log t, b, log x and l, which are normal
    before the gold. Each item is predicted as if its class were not known.
    """
    n_classes, who = witnesses.answers.n_classes, np.unique(witnesses.answers.annotator)
    said = said_by_crowd(witnesses, pool)
    features = np.zeros_like(said) if witnesses.beyond is None else witnesses.beyond
    by_annotator = weighted_answers(witnesses, pool)
    n_fixed = 2 + n_classes
    spread = np.full(n_fixed + len(who), doubts.gold)
    spread[n_fixed:] = doubts.annotator
    place = np.searchsorted(who, witnesses.answers.annotator)
    rows = np.arange(len(gold))
    add_up = witnesses.answers.per_item

    def unlikely(z: Float[np.ndarray, " n"]) -> tuple[float, Float[np.ndarray, " n"]]:
        theta = spread * z
        exponent = pool.exponent * np.exp(theta[0])
        of_features = pool.features * np.exp(theta[1])
        lean = theta[n_fixed:][place]
        joint = exponent * said + of_features * features + theta[2:n_fixed]
        joint = normalised(joint + add_up @ (lean[:, None] * by_annotator))
        off = np.exp(joint)
        off[rows, gold] -= 1
        slope = np.concatenate(
            [
                [exponent * (off * said).sum(), of_features * (off * features).sum()],
                off.sum(0),
                np.bincount(
                    place,
                    (off[witnesses.answers.item] * by_annotator).sum(1),
                    minlength=len(who),
                ),
            ]
        )
        loss = 0.5 * (z**2).sum() - joint[rows, gold].sum()
        return float(loss), spread * slope + z

    best = minimize(unlikely, np.zeros(len(spread)), jac=True, method="L-BFGS-B")
    theta = spread * best.x
    lean = np.zeros(witnesses.answers.n_annotators)
    lean[who] = theta[n_fixed:]
    return pool._replace(
        exponent=pool.exponent * float(np.exp(theta[0])),
        features=pool.features * float(np.exp(theta[1])),
        shift=theta[2:n_fixed],
        lean=lean,
    )


def unturned(pool: Pool) -> Pool:
    """Return the pool with no annotator's weight, (1 − v) t + l, below 0.

    One wrong gold class would else turn the labels of all items around. Who answers
    wrongly on purpose is known by the readings, and needs no negative weight.
    """
    return pool._replace(lean=np.maximum(pool.lean, -(1 - pool.votes) * pool.exponent))


def weighted_answers(witnesses: Witnesses, pool: Pool) -> Float[np.ndarray, "L C"]:
    """Return log p(y | z = c) of every answer, as much as it counts."""
    answers = witnesses.answers
    n_each = witnesses.n_each
    weight = witnesses.weight / design_effect(n_each, pool.dependence)[answers.item]
    said = [
        log_given(reading, answers, witnesses.proba, slice(None))
        for reading in witnesses.readings
    ]
    mean: Float[np.ndarray, "L C"] = np.mean(said, axis=0)
    return weight[:, None] * mean


def cross_fitted(
    witnesses: Witnesses, pool: Pool, gold: Int[np.ndarray, " G"], doubts: Doubts
) -> Float[np.ndarray, "G C"]:
    """Return p(class) of every item, by a pool that the gold of others has set."""
    fold = np.random.RandomState(0).permutation(len(gold)) % N_FOLDS
    out = np.empty((len(gold), witnesses.answers.n_classes))
    for f in np.unique(fold):
        held, others = np.flatnonzero(fold == f), np.flatnonzero(fold != f)
        of_others = pool
        if len(others):
            part = witnesses.of_items(others)
            of_others = unturned(pool_with_gold(part, pool, gold[others], doubts))
        said = log_labels(witnesses.of_items(held), of_others)
        out[held] = crowd.posterior(said)[0]
    return out


def ruled(
    witnesses: Witnesses,
    pool: Pool,
    gold: Int[np.ndarray, " G"],
    dependence: float | int | str,
    doubts: Doubts = DOUBTS,
) -> tuple[Pool, Calibration]:
    """Return the pool that gold has set, and how honest labels are by it."""
    if dependence != "learn":
        predicted = crowd.posterior(log_labels(witnesses, pool))[0]
        return pool, calibration(gold, predicted)
    predicted = cross_fitted(witnesses, pool, gold, doubts)
    after = unturned(pool_with_gold(witnesses, pool, gold, doubts))
    return after, calibration(gold, predicted)


def rows_with_gold(gold: Int[np.ndarray, " N"]) -> Int[np.ndarray, " G"]:
    """Return the items with gold, in order; of more than `N_GOLD`, some."""
    known = np.flatnonzero(gold >= 0)
    return np.sort(np.random.RandomState(0).permutation(known)[:N_GOLD])
