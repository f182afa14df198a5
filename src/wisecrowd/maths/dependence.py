"""Dependence of the answers on one item, given its class.

The models of a crowd here take annotators as independent given the class. Real
annotators are not: on a hard item they make the same mistakes. If any two answers on an
item have the correlation ρ, then n answers carry as much information as
n / (1 + ρ (n − 1)) independent ones (1 + ρ (n − 1) is the *design effect* of survey
statistics). So their log-likelihood would be multiplied by its inverse. On real crowds
this was not enough, because ρ is underestimated where items are hard: the inverse is
taken to the power of 1.6, chosen on eight real crowds (`experiments/honest.py`).

With known classes, ρ would be the correlation of "is right" between two answers on one
item. The classes are not known. Their estimate is too favourable: where most annotators
err together, their common answer is taken for the class. So ρ is estimated by *indirect
inference*: crowds with a known ρ are simulated, the same statistic is computed with
their estimated classes, and the ρ whose statistic equals that of the data is returned.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._checks import number
from wisecrowd.answers import Answers
from wisecrowd.maths.crowd import posterior

GRID = np.array([0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8])
N_ITEMS = 4000  # most items of the data that are used
N_SIMULATED = 16_000  # items per ρ of the grid: the error of ρ is then about .01
MAX_REPEATS = 50  # most simulated crowds per ρ
POWER = 1.6  # of the design effect: ρ is underestimated where items are hard
LEAST_WEIGHT = 0.15  # of an answer, however many there are
LEAST_PAIRS = 50  # fewest pairs of answers on one item from which ρ is estimated


def weight_of_answers(
    n_answers: Float[np.ndarray, " N"] | Int[np.ndarray, " N"], dependence: float
) -> Float[np.ndarray, " N"]:
    """Return the weight of the log-likelihood of each of n answers on an item.

    (1 + ρ (n − 1)) to the power of −`POWER`; at the least `LEAST_WEIGHT`, and as much
    as makes one independent answer of all of them.
    """
    others = np.maximum(n_answers - 1, 0)
    weight = (1 + dependence * others) ** -POWER
    return np.maximum(weight, np.maximum(LEAST_WEIGHT, 1 / (1 + others)))


def weight_per_item(
    answers: Answers, dependence: float, shared: float = 0.0
) -> Float[np.ndarray, "N 1"]:
    """Return the weight of the log-likelihood of the answers, per item.

    `shared` is the correlation of the crowd's mistakes with those of a classifier that
    labels the items too: two such witnesses count as 2 / (1 + shared).
    """
    return weight_of_answers(answers.n_per_item, dependence)[:, None] / (1 + shared)


def checked_dependence(given: Any) -> None:
    """Raise an error if the setting is neither "learn" nor a number from 0 to 1."""
    if given != "learn":
        wanted = "'learn' or from 0 to 1"
        number(given, "dependence", wanted, lambda v: 0 <= v <= 1)


def label_proba(
    answers: Answers,
    confusion: Float[np.ndarray, "A C K"],
    log_prior: Float[np.ndarray, "N C"],
) -> Float[np.ndarray, "N C"]:
    """p(z | answers) of every item, if annotators were independent given the class."""
    said = np.log(confusion[answers.annotator, :, answers.answer])
    return posterior(log_prior + answers.per_item @ said)[0]


def right_together(
    answers: Answers,
    confusion: Float[np.ndarray, "A C K"],
    proba: Float[np.ndarray, "N C"],
) -> float:
    """Return the correlation of "is right" between two answers on one item.

    Let p be the accuracy of the annotator on class z. The correlation is
    Σ (1[y = z] − p)(1[y' = z] − p') / Σ √(p (1 − p) p' (1 − p')). Both sums are over
    the pairs of answers on one item, and expectations under p(z) = `proba`.
    """
    n_classes = proba.shape[1]
    p = confusion[:, np.arange(n_classes), np.arange(n_classes)][answers.annotator]
    off = (answers.answer[:, None] == np.arange(n_classes)) - p  # [L, C]
    spread = np.sqrt(p * (1 - p))
    return _over_pairs(answers, proba, off) / _over_pairs(answers, proba, spread)


def _over_pairs(
    answers: Answers, proba: Float[np.ndarray, "N C"], x: Float[np.ndarray, "L C"]
) -> float:
    """Σ over items and classes of q(z = c) Σ x x', over ordered pairs of answers."""
    both = (answers.per_item @ x) ** 2 - answers.per_item @ x**2
    return float((proba * both).sum())


def simulated_answers(
    answers: Answers,
    confusion: Float[np.ndarray, "A C K"],
    classes: Int[np.ndarray, " N"],
    dependence: float,
    rng: np.random.RandomState,
) -> Int[np.ndarray, " L"]:
    """Draw new answers of the same annotators, with correlation ρ on an item.

    An answer is the quantile at u ~ U(0, 1) of the annotator's row, with the right
    answer put first. With probability √ρ, u is a number that all answers on the item
    share; otherwise it is the answer's own.
    """
    item = answers.item
    n_answers = len(item)
    shared = rng.random_sample(n_answers) < np.sqrt(dependence)
    common, own = rng.random_sample(len(classes)), rng.random_sample(n_answers)
    u = np.where(shared, common[item], own)
    truth = classes[item]
    row = confusion[answers.annotator, truth]  # [L, K]
    at = np.arange(n_answers)
    hit = row[at, truth]
    row[at, truth] = 0.0
    wrong = ((u - hit)[:, None] >= np.cumsum(row, axis=1)).sum(1)
    return np.where(u < hit, truth, np.minimum(wrong, row.shape[1] - 1))


def learned_dependence(
    answers: Answers,
    confusion: Float[np.ndarray, "A C K"],
    log_prior: Float[np.ndarray, "N C"],
    rng: np.random.RandomState,
) -> float:
    """Estimate ρ: the value for which simulated crowds have the data's statistic.

    The statistic is :func:`right_together` with estimated classes. On simulated crowds
    the estimate is close to ρ where annotators copy, and somewhat too high where groups
    answer as one. It is far too low where hard items mislead annotators to the same
    wrong class: .02 where the true classes give .08, and .05 with the true `confusion`
    instead of one estimated by BCC (docs/simulate.md).

    Parameters
    ----------
    answers : Answers
        The answers on all items.
    confusion : array (A, C, K)
        Mean confusion matrices.
    log_prior : array (N, C)
        Log probability of each class before the item's answers: the log of the shares
        of the classes, or the prediction of a classifier that has not used them.
    rng : RandomState
        Source of the random numbers.

    Returns
    -------
    float
        ρ; 0 if there are fewer than :data:`LEAST_PAIRS` pairs of answers.
    """
    answers = answers.distinct()  # a repeated answer is not a second opinion
    several = np.flatnonzero(answers.n_per_item > 1)
    some = np.sort(rng.permutation(several)[:N_ITEMS])
    n_each = answers.n_per_item[some]
    if (n_each * (n_each - 1) / 2).sum() < LEAST_PAIRS:
        return 0.0
    real, prior = answers.of_items(some), log_prior[some]
    proba = label_proba(real, confusion, prior)
    seen = right_together(real, confusion, proba)

    def one_crowd(dependence: float) -> float:
        draw = rng.random_sample((len(some), 1))
        classes = np.minimum((np.cumsum(proba, 1) < draw).sum(1), proba.shape[1] - 1)
        said = simulated_answers(real, confusion, classes, dependence, rng)
        again = real.with_answer(said)
        return right_together(again, confusion, label_proba(again, confusion, prior))

    repeats = range(min(-(-N_SIMULATED // len(some)), MAX_REPEATS))
    means: list[float] = []
    for place in GRID:  # the statistic rises with ρ: what is above `seen` is not needed
        means.append(float(np.mean([one_crowd(place) for _ in repeats])))
        if means[-1] > seen:
            break
    rising = np.maximum.accumulate(means) + 1e-9 * np.arange(len(means))
    return float(np.interp(seen, rising, GRID[: len(means)]))
