"""Labels and annotators by turns, for as long as left-out answers gain from it.

Confusion matrices that are learned to the end can drift: every iteration moves the
labels a little further from what the crowd says, and with them the meaning of the
classes. So the loop ends when the answers of one annotator are no longer predicted
better by those of the others.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd.answers import Answers
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, pool, together
from wisecrowd.skills import ConfusionMatrices

MAX_ITERATIONS = 20
LEAST_ITERATIONS = 3
PATIENCE = 2  # iterations without a gain, after which the loop ends
GAIN = 1e-3  # nats per left-out answer: what an iteration must bring
LOOKED_AT = (0.02, 0.1, 0.3, 1.0)  # rates at which left-out answers are predicted


Predictions = (
    Float[np.ndarray, "N C"]
    | Callable[[Float[np.ndarray, "N C"]], Float[np.ndarray, "N C"]]
)
"""What a classifier says: a table, or a function from labels to one."""


class Agreed(NamedTuple):
    """Labels to learn the annotators from, and the annotators' prior."""

    proba: Float[np.ndarray, "N C"]
    skills: Any


def agreed(
    answers: Answers,
    gold: Int[np.ndarray, " N"],
    before: ConfusionMatrices,
    *,
    max_iter: int,
    trace: Trace,
) -> Agreed:
    """Alternate annotators and labels, from the votes.

    The labels are the mean of what the readings say under each prior of the skills.
    The prior that the crowd learns knows which classes are confused; the one that
    expects every annotator to be good does not let a busy guesser decide what the
    classes are.
    """
    answers = answers.distinct()
    answers, _ = together.as_one(answers, together.copies(answers))
    selective = together.selective(answers)
    alone = np.arange(answers.n_annotators)  # two answers to one item are half each
    weight = together.weight_of_copies(answers, alone)
    proba, skills = crowd.vote_proba(answers.votes(), gold), before
    best, last, at = Agreed(proba, skills), -np.inf, 0
    for iteration in range(max_iter):
        skills = skills.learned_from(answers, proba)
        found = pool.readings(answers, proba, skills.priors(), selective)
        said = pool.Witnesses(answers, weight, proba, found)
        gain = predicted(said, selective)
        trace.record(bound=gain)
        if iteration < LEAST_ITERATIONS - 1 or gain >= last + GAIN:
            best, last, at = Agreed(proba, skills), gain, iteration
        elif iteration >= at + PATIENCE:
            break
        proba = labels_by(said, gold)
    return best


def labels_by(
    witnesses: pool.Witnesses, gold: Int[np.ndarray, " N"]
) -> Float[np.ndarray, "N C"]:
    """Return the mean of what the readings say, each with gold where it is known."""
    joint = [r.log_class + pool.evidence(witnesses, r) for r in witnesses.readings]
    each = [crowd.posterior(crowd.clamped(j, gold))[0] for j in joint]
    return np.mean(each, axis=0)


def learned_again(first: Agreed, end: pool.Pooled) -> Float[np.ndarray, "N C"]:
    """Return labels to learn the annotators from, once features were heard.

    The final labels, as far as the features explain what the crowd knows: otherwise
    annotators would be judged by labels that weak features made.
    """
    share = end.pool.explained
    return share * end.proba + (1 - share) * first.proba


def in_rounds(
    answers: Answers,
    gold: Int[np.ndarray, " N"],
    first: Agreed,
    dependence: float | int | str,
    says: Predictions,
    n_rounds: int,
) -> tuple[pool.Pooled, Float[np.ndarray, "N C"]]:
    """Alternate labels and predictions, and return both.

    Parameters
    ----------
    answers, gold
        What is known about the items.
    first : Agreed
        What the answers say without the features.
    dependence : "learn" or float
        The correlation of the mistakes of two answers on one item.
    says : array (N, C), or function
        What a classifier says about every item, in logs, without its own label. If it
        changes with the labels, the function from labels to it.
    n_rounds : int
        Rounds of predictions, then labels; at least one.
    """
    proba, priors = first.proba, first.skills.priors()
    if callable(says):
        end = pool.pooled(answers, gold, proba, priors, dependence)
    for _ in range(n_rounds):
        alone = says(end.proba) if callable(says) else says
        end = pool.pooled(answers, gold, proba, priors, dependence, log_proba=alone)
        proba = learned_again(first, end)
    return end, alone


def predicted(witnesses: pool.Witnesses, selective: Float[np.ndarray, " A"]) -> float:
    """Return how well left-out answers are predicted, in nats per answer."""
    found = pool.left_out(witnesses, selective)
    if found is None:
        return 0.0
    return max(float(found.log_likelihood(rate).mean()) for rate in LOOKED_AT)
