"""Labels and skills with one more witness than the annotators: predictions.

What a classifier predicts about an item, without the item's own answers, is combined
with what the annotators answered. How much it counts, its sharpness, is fitted to the
answers. SVGPCR and CrowdEM end in this way, and BCC where it is given predictions.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize_scalar
from scipy.special import entr

from wisecrowd.answers import Answers
from wisecrowd.fit.variational import CLASS_PRIOR, class_counts
from wisecrowd.maths import crowd, dirichlet

LOG_SHARPNESS = (-1.4, 1.4)
FROM_NOTHING = (-5.0, 1.4)  # of predictions from elsewhere, which may be useless
LOG_EXPONENT = (-2.0, 1.4)  # of predictions for new items
ROUNDS = 2  # of estimating the sharpness, then labels and annotators
MAX_UPDATES = 20
SETTLED = 1e-4
N_CALIBRATION = 20_000  # items that the sharpness is fitted to
SMALLEST_PROBA = 1e-4  # of a prediction: no model rules out a class for certain


class Heard(NamedTuple):
    """Labels and skills after the witness was heard.

    Attributes
    ----------
    proba : array (N, C)
        Probability of every class for every item.
    skills : LearnableSkills
        The annotators.
    log_class : array (1, C)
        Log of the shares of the classes.
    sharpness : float
        The exponent of what the witness says.
    """

    proba: Float[np.ndarray, "N C"]
    skills: Any
    log_class: Float[np.ndarray, "1 C"]
    sharpness: float


def beyond_shares(log_proba: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
    """Return log p − log p̄: what predictions add to the shares of the classes.

    The answers show the shares as well; p̄ is the mean of p over the items.
    """
    out: Any = log_proba - np.log(np.exp(log_proba).mean(0))
    return out


def bounded_log(proba: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
    """Return the log of predictions, none below `SMALLEST_PROBA`."""
    kept = np.maximum(proba, SMALLEST_PROBA)
    out: Any = np.log(kept / kept.sum(1, keepdims=True))
    return out


def heard(
    answers: Answers,
    gold: Int[np.ndarray, " N"],
    beyond: Float[np.ndarray, "N C"],
    proba: Float[np.ndarray, "N C"],
    skills: Any,
    rng: np.random.RandomState,
    *,
    class_prior: float = CLASS_PRIOR,
    bounds: tuple[float, float] = LOG_SHARPNESS,
) -> Heard:
    """Alternate sharpness, labels and skills for a few rounds.

    Parameters
    ----------
    answers, gold
        What is known about the items.
    beyond : array (N, C)
        What the witness says beyond the shares of the classes, in logs, without the
        item's own answers.
    proba, skills
        Labels to start with, and the skills that were learned from them.
    rng : RandomState
        Chooses the items that the sharpness is fitted to.
    class_prior : float
        Items of each class that are assumed before the answers.
    bounds : pair of floats
        Lowest and highest logarithm of the sharpness.
    """
    for _ in range(ROUNDS):
        log_class = np.log(dirichlet.mean(class_counts(proba, class_prior)))
        said = crowd.clamped(skills.evidence_of_others(answers, proba), gold)
        sharpness = best_sharpness(beyond, log_class, said, rng, bounds)
        log_prior = log_class + sharpness * beyond
        proba, skills = settled(answers, gold, log_prior, proba, skills)
    return Heard(proba, skills, log_class[None], sharpness)


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


def log_likelihood(
    log_prior: Float[np.ndarray, "N C"], evidence: Float[np.ndarray, "N C"]
) -> Float[np.ndarray, " N"]:
    """Return log Σ_c softmax_c(log_prior) e^{evidence} of every item."""
    return crowd.posterior(log_prior + evidence)[1] - crowd.posterior(log_prior)[1]


def best_sharpness(
    beyond: Float[np.ndarray, "N C"],
    log_class: Float[np.ndarray, " C"],
    evidence: Float[np.ndarray, "N C"],
    rng: np.random.RandomState,
    bounds: tuple[float, float] = LOG_SHARPNESS,
) -> float:
    """Return the exponent t of what the witness says that makes the answers likeliest.

    Σₙ log Σ_c softmax_c(log_class + t beyond) e^{evidence}, each item's own answers
    left out of `beyond`: a t above one says that the classifier was more modest than it
    had to be.
    """
    some = rng.permutation(len(beyond))[:N_CALIBRATION]
    beyond, evidence = beyond[some], evidence[some]

    def unlikely(log_power: float) -> float:
        at = log_class + np.exp(log_power) * beyond
        return -float(np.mean(log_likelihood(at, evidence)))

    best = minimize_scalar(unlikely, bounds=bounds, method="bounded")
    return float(np.exp(best.x))


def explained(log_prior: Float[np.ndarray, "N C"]) -> float:
    """Return the share of the classes' entropy that predictions explain.

    1 − H(z | x) / H(z): 0 if all items have the same prediction, 1 if every prediction
    is certain.

    Examples
    --------
    >>> round(explained(np.log([[0.9, 0.1], [0.1, 0.9]])), 2)
    0.53
    """
    given = crowd.posterior(log_prior)[0]
    shares = given.mean(0)
    left, all_of_it = entr(given).sum(1).mean(), entr(shares).sum()
    return float(max(0.0, 1 - left / all_of_it)) if all_of_it > 0 else 0.0


def exponent_for(
    log_proba: Float[np.ndarray, "N C"], labels: Float[np.ndarray, "N C"]
) -> float:
    """Return the exponent t of predictions that suits labels.

    It maximises Σₙ Σ_c labels[n, c] log softmax_c(t log_proba[n]).
    """

    def loss(log_power: float) -> float:
        at = np.exp(log_power) * log_proba
        return float(np.mean(crowd.posterior(at)[1] - (labels * at).sum(1)))

    best = minimize_scalar(loss, bounds=LOG_EXPONENT, method="bounded")
    return float(np.exp(best.x))
