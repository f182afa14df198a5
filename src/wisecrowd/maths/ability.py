"""Ability of annotators and easiness of items (Whitehill et al. 2009).

p(y = z) = σ(x), x = ability[a] · exp(log_easiness[n]); every wrong class is equally
likely. Two facts keep everything linear in the answers: log σ(x) − log σ(−x) = x, so an
answer adds x + log(C − 1) to the class that it names and nothing to the others; and the
derivative of log σ(−x) is −σ(x), so a gradient is a sum of q − σ(x).
"""

import warnings
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, log_expit

from wisecrowd.answers import Answers

MEAN_ABILITY = 1.0  # Whitehill's prior: σ(1) = .73 right for two classes
MOST_LOG_EASINESS = 30.0  # only a wild line search gets there: exp stays finite


class Params(NamedTuple):
    """What an annotator can do, and how easy an item is."""

    ability: Float[np.ndarray, " A"]
    log_easiness: Float[np.ndarray, " N"]


class Spread(NamedTuple):
    """Standard deviations of the Gaussian priors."""

    ability: float
    log_easiness: float


def class_answers(answers: Answers, method: str) -> Answers:
    """Return the answers that name a class; warn of those that do not."""
    names_class = answers.answer < answers.n_classes
    n_others = int((~names_class).sum())
    if n_others:
        warnings.warn(
            f"{n_others} of {len(answers)} answers do not name a class. They are left "
            f"out: {method} knows no other answers.",
            UserWarning,
            stacklevel=3,
        )
    return answers.some(names_class)


def logits(params: Params, answers: Answers) -> Float[np.ndarray, " L"]:
    """Log odds of a right answer: x = ability[a] · exp(log_easiness[n])."""
    return params.ability[answers.annotator] * _easiness(params)[answers.item]


def _easiness(params: Params) -> Float[np.ndarray, " N"]:
    return np.exp(np.minimum(params.log_easiness, MOST_LOG_EASINESS))


def evidence_per_item(
    x: Float[np.ndarray, " L"], answers: Answers
) -> Float[np.ndarray, "N C"]:
    """Return log p(answers of n | z = c).

    Σ over n's answers of log σ(−x) − log(C − 1), for every class alike, and
    Σ over the answers y = c of x + log(C − 1).
    """
    n_items, n_classes = answers.n_items, answers.n_classes
    others = np.log(n_classes - 1)
    named = answers.item.astype(np.int64) * n_classes + answers.answer
    gain = np.bincount(named, x + others, minlength=n_items * n_classes)
    wrong = np.bincount(answers.item, log_expit(-x) - others, minlength=n_items)
    out = gain.reshape(n_items, n_classes) + wrong[:, None]
    return out.astype(float, copy=False)  # of no answers, bincount counts in integers


def log_prior(params: Params, spread: Spread) -> float:
    """−½ Σ ((ability − 1) / s)² − ½ Σ (log_easiness / s′)², without constants."""
    ability = (params.ability - MEAN_ABILITY) / spread.ability
    easiness = params.log_easiness / spread.log_easiness
    return -0.5 * float((ability**2).sum() + (easiness**2).sum())


def expected_log_joint(
    params: Params, right: Float[np.ndarray, " L"], answers: Answers, spread: Spread
) -> tuple[float, Params]:
    """Return E_q log p(y, params | z), without constants, and its gradient.

    `right` is q(z = y), the probability that each answer is right:
    Σ q x + log σ(−x) + log_prior, with d/dx = q − σ(x).
    """
    x = logits(params, answers)
    value = float((right * x + log_expit(-x)).sum()) + log_prior(params, spread)
    surplus = right - expit(x)
    of_ability = surplus * _easiness(params)[answers.item]
    ability = np.bincount(answers.annotator, of_ability, minlength=answers.n_annotators)
    easiness = np.bincount(answers.item, surplus * x, minlength=answers.n_items)
    pull_ability = (params.ability - MEAN_ABILITY) / spread.ability**2
    pull_easiness = params.log_easiness / spread.log_easiness**2
    return value, Params(ability - pull_ability, easiness - pull_easiness)


def curvature(params: Params, answers: Answers, spread: Spread) -> Params:
    """Return the expected curvature, Σ σ(x) σ(−x) (dx/dθ)² + 1 / s²."""
    x = logits(params, answers)
    weight = expit(x) * expit(-x)
    slope = _easiness(params)[answers.item]
    ability = np.bincount(
        answers.annotator, weight * slope**2, minlength=answers.n_annotators
    )
    easiness = np.bincount(answers.item, weight * x**2, minlength=answers.n_items)
    return Params(ability + spread.ability**-2.0, easiness + spread.log_easiness**-2.0)


def confusion(
    accuracy: Float[np.ndarray, " A"], n_classes: int, n_answers: int
) -> Float[np.ndarray, "A C K"]:
    """Return the matrices with this accuracy in every class, all errors alike.

    An answer beyond the classes has probability 0: the model knows none.
    """
    wrong = (1 - accuracy)[:, None, None] / (n_classes - 1)
    out = np.zeros((len(accuracy), n_classes, n_answers))
    out[:, :, :n_classes] = wrong
    diagonal = np.arange(n_classes)
    out[:, diagonal, diagonal] = accuracy[:, None]
    return out
