"""The end of a fit: every label is taken from what the others say.

Mean field confirms itself: an item's answers raise the skill of those who gave them and
move f towards them, and both then confirm the item's label. So at the end, with f
fixed, what f says about an item is taken without the item's answers, and what an
annotator says about it without the item's part in the annotator's skill.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd.fit.ending import Known
from wisecrowd.fit.ending import ended as of_crowd
from wisecrowd.fit.witness import beyond_shares, heard
from wisecrowd.maths.gold_ruler import measured_exponent
from wisecrowd.maths.gp import links
from wisecrowd.maths.hard_items import HardItems
from wisecrowd.methods.svgpcr.task import State, SVGPCRTask
from wisecrowd.metrics.calibration import Calibration
from wisecrowd.skills import Trusted


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
    proba, skills, log_class, sharpness = heard(
        answers, gold, beyond, proba, skills, rng
    )
    if dependence is None:
        found = skills.final_labels(answers, log_class, gold, proba, sharpness * beyond)
        return Ended(found.proba, skills, sharpness_to_keep(task, skills, sharpness))
    known = Known(answers, gold, proba, log_class, beyond, sharpness)
    labels, skills, honest = of_crowd(known, skills, dependence, rng)
    skills = skills.with_statistics(skills.statistics(answers, labels.proba))
    sharpness = sharpness_to_keep(task, skills, sharpness)
    if dependence == "learn" and honest is not None:
        at = gold >= 0
        sharpness = measured_exponent(alone[at], gold[at], sharpness)
    return Ended(labels.proba, skills, sharpness, honest, labels.hard)


def left_out(task: SVGPCRTask, state: State) -> Float[np.ndarray, "N C"]:
    """Log predictive probability of every item, without its own answers."""
    out = np.empty(state.proba.shape)
    for where, X in task.data.features.pieces():
        found = task.visited(state, X, state.evidence[where])
        out[where] = np.asarray(found.log_left_out)
    return out


def sharpness_to_keep(task: SVGPCRTask, skills: Any, fitted: float) -> float:
    """Return the exponent of predictions; robust max has epsilon instead.

    The fitted exponent suits what the crowd agrees on, which is not always true. So
    with crowd labels the exponent is the square root of the fitted one, with trusted
    labels the fitted one.
    """
    if isinstance(task.recipe.link, links.RobustMax):
        return 1.0
    return fitted if isinstance(skills, Trusted) else fitted**0.5
