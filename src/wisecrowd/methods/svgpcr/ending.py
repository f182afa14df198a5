"""The end of a fit: every label is taken from what the others say.

Mean field confirms itself: an item's answers raise the skill of those who gave them and
move f towards them, and both then confirm the item's label. So at the end, with f
fixed, what f says about an item is taken without the item's answers, and what an
annotator says about it without the item's part in the annotator's skill.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize_scalar

from wisecrowd.answers import Answers
from wisecrowd.fit.ending import Known
from wisecrowd.fit.ending import ended as of_crowd
from wisecrowd.fit.variational import CLASS_PRIOR, class_counts
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.maths.gold_ruler import measured_exponent
from wisecrowd.maths.gp import links
from wisecrowd.maths.hard_items import HardItems
from wisecrowd.methods.svgpcr.task import State, SVGPCRTask
from wisecrowd.metrics.calibration import Calibration
from wisecrowd.skills import Trusted

LOG_SHARPNESS = (-1.4, 1.4)
ROUNDS = 2  # of estimating sharpness and dependence, then labels and annotators
MAX_UPDATES = 20
SETTLED = 1e-4
N_CALIBRATION = 20_000  # items that the sharpness is fitted to


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
    # What the features add to the shares of the classes, which answers show as well.
    beyond = alone - np.log(np.exp(alone).mean(0))
    proba, skills = state.proba.astype(np.float64), state.skills
    for _ in range(ROUNDS):
        log_class = np.log(dirichlet.mean(class_counts(proba, CLASS_PRIOR)))
        said = crowd.clamped(skills.evidence_of_others(answers, proba), gold)
        sharpness = best_sharpness(beyond, log_class, said, rng)
        log_prior = log_class + sharpness * beyond
        proba, skills = settled(answers, gold, log_prior, proba, skills)
    if dependence is None:
        found = skills.final_labels(
            answers, log_class[None], gold, proba, sharpness * beyond
        )
        return Ended(found.proba, skills, sharpness_to_keep(task, skills, sharpness))
    known = Known(answers, gold, proba, log_class[None], beyond, sharpness)
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


def settled(
    answers: Answers,
    gold: Int[np.ndarray, " N"],
    log_prior: Float[np.ndarray, "N C"],
    proba: Float[np.ndarray, "N C"],
    skills: Any,
) -> tuple[Float[np.ndarray, "N C"], Any]:
    """Alternate q(z) and q(R) until no probability moves any more."""
    for _ in range(MAX_UPDATES):
        said = crowd.clamped(skills.evidence_of_others(answers, proba), gold)
        updated, _ = crowd.posterior(log_prior + said)
        moved = np.abs(updated - proba).max()
        proba = updated
        skills = skills.updated(skills.statistics(answers, proba))
        if moved < SETTLED:
            break
    return proba, skills


def sharpness_to_keep(task: SVGPCRTask, skills: Any, fitted: float) -> float:
    """Return the exponent of predictions; robust max has epsilon instead.

    The fitted exponent suits what the crowd agrees on, which is not always true. So
    with crowd labels the exponent is the square root of the fitted one, with trusted
    labels the fitted one.
    """
    if isinstance(task.recipe.link, links.RobustMax):
        return 1.0
    return fitted if isinstance(skills, Trusted) else fitted**0.5


def best_sharpness(
    beyond: Float[np.ndarray, "N C"],
    log_class: Float[np.ndarray, " C"],
    evidence: Float[np.ndarray, "N C"],
    rng: np.random.RandomState,
) -> float:
    """Return the exponent t of what the features say that makes the answers likeliest.

    Σₙ log Σ_c softmax_c(log_class + t beyond) e^{evidence}, where `beyond` is what the
    features add to the shares of the classes, each item's own answers left out: a t
    above one says that the Gaussian process was more modest than it had to be.
    """
    some = rng.permutation(len(beyond))[:N_CALIBRATION]
    beyond, evidence = beyond[some], evidence[some]

    def unlikely(log_power: float) -> float:
        at = log_class + np.exp(log_power) * beyond
        return float(
            np.mean(crowd.posterior(at)[1] - crowd.posterior(at + evidence)[1])
        )

    best = minimize_scalar(unlikely, bounds=LOG_SHARPNESS, method="bounded")
    return float(np.exp(best.x))
