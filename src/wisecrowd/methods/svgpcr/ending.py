"""The end of a fit: every label is taken from what the others say.

Mean field confirms itself: an item's answers raise the skill of those who gave them and
move f towards them, and both then confirm the item's label. So at the end, with f
fixed, what f says about an item is taken without the item's answers, and what an
annotator says about it without the item's part in the annotator's skill.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd.fit.ending import Ended as OfCrowd
from wisecrowd.fit.ending import (
    Known,
    ended_with_features,
    exponents_for_labels,
    set_by_gold,
    with_predictions,
)
from wisecrowd.fit.witness import (
    FROM_NOTHING,
    LOG_SHARPNESS,
    beyond_shares,
    heard,
)
from wisecrowd.maths.gp import links
from wisecrowd.maths.hard_items import HardItems
from wisecrowd.methods.svgpcr.task import State, SVGPCRTask
from wisecrowd.metrics.calibration import Calibration


class Ended(NamedTuple):
    """Labels, skills, the exponent of predictions; hard items; how honest by gold."""

    proba: Float[np.ndarray, "N C"]
    skills: Any
    sharpness: float
    calibration: Calibration | None = None
    hard: HardItems | None = None


def ended(
    task: SVGPCRTask,
    state: State,
    dependence: float | int | str | None,
    alone: Float[np.ndarray, "N C"],
) -> Ended:
    """Alternate sharpness, labels and skills for a few rounds, f fixed, then label.

    Parameters
    ----------
    task, state
        The fit and where it stands.
    alone : array (N, C)
        What the features say about every item, in logs, without its own answers.
    dependence : "learn", float or None
        The correlation of two answers on one item; None where labels are trusted.
    """
    answers, gold = task.data.answers, task.data.gold
    rng = np.random.RandomState(task.seed)
    beyond = beyond_shares(alone)
    proba, skills = state.proba.astype(np.float64), state.skills
    # A network can be sure of what is useless: nothing may be left of what it says.
    bounds = FROM_NOTHING if task.recipe.kernel.embeds else LOG_SHARPNESS
    found = heard(answers, gold, beyond, proba, skills, rng, bounds=bounds)
    known = Known.of_features(answers, gold, beyond, found)
    if dependence is None:
        return labels_of_trusted(task, known, found.skills)
    known, end = ended_with_features(known, found.skills, dependence, rng, bounds)
    exponent = exponent_of_predictions(task, known, end, alone)
    proba = with_predictions(end.proba, known, exponent, alone)
    skills = end.skills.with_statistics(end.skills.statistics(answers, proba))
    return Ended(proba, skills, exponent, end.calibration, end.labels.hard)


def exponent_of_predictions(
    task: SVGPCRTask, known: Known, end: OfCrowd, alone: Float[np.ndarray, "N C"]
) -> float:
    """Return the exponent of predictions for new items; robust max has epsilon instead.

    The square root of the exponent that suits the final labels. That one suits what
    the crowd agrees on, which is not always true. If all labels were true, the
    posterior of f would be calibrated, with the exponent 1.
    """
    if isinstance(task.recipe.link, links.RobustMax):
        return 1.0
    of_labels, _ = exponents_for_labels(known, end, alone)
    return set_by_gold(of_labels**0.5, known, end, alone)


def labels_of_trusted(task: SVGPCRTask, known: Known, skills: Any) -> Ended:
    """Return the labels where those that were given are right."""
    of_features = known.sharpness * known.beyond
    labels = skills.final_labels(
        known.answers, known.log_class, known.gold, known.proba, of_features
    )
    robust_max = isinstance(task.recipe.link, links.RobustMax)
    return Ended(labels.proba, skills, 1.0 if robust_max else known.sharpness)


def left_out(task: SVGPCRTask, state: State) -> Float[np.ndarray, "N C"]:
    """Log predictive probability of every item, without its own answers."""
    out = np.empty(state.proba.shape)
    for where, X in task.data.features.pieces():
        found = task.visited(state, X, state.evidence[where])
        out[where] = np.asarray(found.log_left_out)
    return out
