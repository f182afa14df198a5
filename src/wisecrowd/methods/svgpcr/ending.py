"""The end of a fit: the pool makes the labels from answers and left-out predictions.

Mean field confirms itself: an item's answers raise the skill of those who gave them and
move f towards them, and both then confirm the item's label. So at the end, with f
fixed, what f says about an item is taken without the item's answers, and what an
annotator says about it without the item's part in the annotator's skill.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd.feature_source import PIECE
from wisecrowd.fit.consensus import Agreed, Predictions, in_rounds
from wisecrowd.fit.partners import own_share
from wisecrowd.maths import crowd
from wisecrowd.maths import pool as pools
from wisecrowd.maths.gp import links
from wisecrowd.methods.svgpcr.natural import NaturalState, NaturalTask
from wisecrowd.metrics.calibration import Calibration


class Ended(NamedTuple):
    """Labels, skills, exponent of predictions; the pool; how honest by gold."""

    proba: Float[np.ndarray, "N C"]
    skills: Any
    sharpness: float
    calibration: Calibration | None = None
    pool: pools.Pool | None = None
    witnesses: pools.Witnesses | None = None


def ended(
    task: NaturalTask,
    first: Agreed,
    dependence: float | int | str,
    says: Predictions,
    n_rounds: int,
) -> Ended:
    """Make the labels, f fixed.

    Parameters
    ----------
    task
        The fit.
    first : Agreed
        What the answers say without the features.
    dependence : "learn" or float
        The correlation of the mistakes of two answers on one item.
    says : array (N, C), or function
        What the features say about every item, in logs, without its own answers. If it
        changes with the labels, the function from labels to it.
    n_rounds : int
        Rounds of predictions, then labels.
    """
    answers, gold = task.data.answers, task.data.gold
    end, alone = in_rounds(answers, gold, first, dependence, says, n_rounds)
    sharpness = 1.0  # robust max has epsilon instead
    if not isinstance(task.recipe.link, links.RobustMax):
        sharpness = pools.exponent_for_new(alone, end)
    end = pools.with_predictions(end, answers, gold, sharpness * alone)
    skills = first.skills.with_labels(answers, end)
    return Ended(end.proba, skills, sharpness, end.calibration, end.pool, end.witnesses)


def ended_with_trusted(task: NaturalTask, state: NaturalState) -> Ended:
    """Return the labels where those that were given are right."""
    answers, gold = task.data.answers, task.data.gold
    skills, alone = state.skills, left_out(task, state)
    said = crowd.clamped(skills.evidence(answers), gold)
    known = np.isfinite(said).sum(1) < said.shape[1]
    proba = np.where(known[:, None], crowd.posterior(said)[0], np.exp(alone))
    proba /= proba.sum(1, keepdims=True)
    sharpness = 1.0
    if known.any() and not isinstance(task.recipe.link, links.RobustMax):
        sharpness = pools.fitted_exponent(alone[known], proba[known])[0]
    return Ended(proba, skills.with_doubt(answers, proba), sharpness)


def ended_as_published(task: NaturalTask, state: NaturalState) -> Ended:
    """Return q(Z) and the annotators as the loop leaves them: no pool."""
    proba = state.seen.proba.astype(np.float64)
    proba /= proba.sum(1, keepdims=True)
    return Ended(proba, state.skills.with_doubt(task.data.answers, proba), 1.0)


def left_out(task: NaturalTask, state: NaturalState) -> Float[np.ndarray, "N C"]:
    """Log predictive probability of every item, without its own answers."""
    evidence = task.evidence(state.skills)
    out = np.zeros(evidence.shape)
    own = own_share(task.partners, len(out), PIECE)
    for where, X in task.data.features.pieces(own.start, own.stop):
        found = task.visited(state, X, evidence[where])
        out[where] = np.asarray(found.log_left_out)
    total: np.ndarray = task.partners.sum(out)
    return total
