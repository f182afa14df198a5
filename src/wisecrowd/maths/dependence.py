"""How far the answers on one item depend on one another, once its class is known.

Every model of a crowd here takes annotators as independent given the class. Real ones
are not: a hard item misleads them together, and ten answers are then worth three. With
a correlation ρ between any two, n answers are worth n / (1 + ρ (n − 1)), the *design
effect* of survey statistics; so that is how much of their evidence is believed.

ρ shows in how often annotators are right together, but the class is not known, and
those who err together also make the class look as they say. So ρ is found by *indirect
inference*: crowds with a known ρ are simulated, seen through the same eyes, and the ρ
that looks like the data is taken.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._checks import number
from wisecrowd.answers import Answers
from wisecrowd.maths.crowd import posterior

GRID = np.array([0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8])
N_ITEMS = 4000  # of the data, at the most
N_SIMULATED = 16_000  # for every ρ of the grid: enough for ρ to within about .01
MAX_REPEATS = 50
LEAST_PAIRS = 50  # of answers on one item; fewer say nothing of ρ


def weight_of_answers(
    n_answers: Float[np.ndarray, " N"] | Int[np.ndarray, " N"], dependence: float
) -> Float[np.ndarray, " N"]:
    """1 / (1 + ρ (n − 1)): how much of its evidence each of n answers keeps."""
    return 1 / (1 + dependence * np.maximum(n_answers - 1, 0))


def weight_per_item(answers: Answers, dependence: float) -> Float[np.ndarray, "N 1"]:
    """Return the weight of the evidence of every item's answers."""
    return weight_of_answers(answers.n_per_item, dependence)[:, None]


def checked_dependence(given: Any) -> None:
    """Refuse a setting that is neither "learn" nor a correlation."""
    if given != "learn":
        wanted = "'learn' or from 0 to 1"
        number(given, "dependence", wanted, lambda v: 0 <= v <= 1)


def label_proba(
    answers: Answers,
    confusion: Float[np.ndarray, "A C K"],
    log_prior: Float[np.ndarray, "N C"],
) -> Float[np.ndarray, "N C"]:
    """p(z | answers) of every item, as if the annotators were independent."""
    said = np.log(confusion[answers.annotator, :, answers.answer])
    return posterior(log_prior + answers.per_item @ said)[0]


def right_together(
    answers: Answers,
    confusion: Float[np.ndarray, "A C K"],
    proba: Float[np.ndarray, "N C"],
) -> float:
    """Return the correlation of "is right" between two answers on one item.

    Expected under p(z): Σ over pairs of (1[y = z] − p)(1[y' = z] − p'), over the same
    sum of the standard deviations, p the accuracy of the annotator on class z.
    """
    n_classes = proba.shape[1]
    p = confusion[:, np.arange(n_classes), np.arange(n_classes)][answers.annotator]
    off = (answers.answer[:, None] == np.arange(n_classes)) - p  # [L, C]
    spread = np.sqrt(p * (1 - p))
    return _over_pairs(answers, proba, off) / _over_pairs(answers, proba, spread)


def _over_pairs(
    answers: Answers, proba: Float[np.ndarray, "N C"], x: Float[np.ndarray, "L C"]
) -> float:
    """Σ over items and classes of q(z = c), times Σ x x' over ordered pairs of answers."""
    both = (answers.per_item @ x) ** 2 - answers.per_item @ x**2
    return float((proba * both).sum())


def simulated_answers(
    answers: Answers,
    confusion: Float[np.ndarray, "A C K"],
    classes: Int[np.ndarray, " N"],
    dependence: float,
    rng: np.random.RandomState,
) -> Int[np.ndarray, " L"]:
    """Draw other answers of the same annotators, two of an item correlated by ρ.

    Each answer is a number u in (0, 1) sent through the annotator's row, the right
    answer first; with probability √ρ u is the item's own, else the annotator's.
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
    """Return the ρ with which simulated annotators are right together as often.

    Parameters
    ----------
    answers : Answers
        Of all items.
    confusion : array (A, C, K)
        Mean confusion matrices.
    log_prior : array (N, C)
        What is known of an item's class besides its answers: the log of the classes'
        shares, or of a classifier's prediction without the item's own answers.
    """
    answers = answers.distinct()  # who repeats an answer does not confirm it
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
    means = [np.mean([one_crowd(r) for _ in repeats]) for r in GRID]
    rising = np.maximum.accumulate(means) + 1e-9 * np.arange(len(GRID))
    return float(np.interp(seen, rising, GRID))
