"""BCC on crowds whose annotators err together, in several ways.

The ranges in the comments are those of 20 seeds per mechanism: 600 items, 20
annotators, 3 classes, 8 answers per item.
"""

from functools import cache

import numpy as np
import pytest

import oracles
from wisecrowd import BCC, metrics
from wisecrowd.simulation.crowds import simulate

MECHANISMS = {
    "independent": {},
    "hard items": {"difficulty": 0.3},
    "copying": {"copiers": 0.6},
    "groups": {"groups": 4},
}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]


@cache
def crowd(mechanism, seed):
    return simulate(
        600, 20, 3, answers_per_item=8, accuracy=0.7, spammers=0.05, activity="equal",
        random_state=seed, **MECHANISMS[mechanism],
    )  # fmt: skip


@cache
def fitted(mechanism, seed, dependence):
    return BCC(dependence=dependence).fit(crowd(mechanism, seed).answers)


def gold_dependence(made):
    """The correlation of two answers given the class, with the true classes."""
    known = np.eye(len(made.classes))[made.truth]
    return oracles.right_together(made.answers.codes, made.confusion, known)


def log_loss(mechanism, seed, dependence):
    proba = fitted(mechanism, seed, dependence).label_proba_
    return metrics.log_loss(crowd(mechanism, seed).truth, proba)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("mechanism", "low", "high"),
    [
        ("independent", -0.02, 0.02),  # -.012 to .010
        ("hard items", 0.04, 0.14),  # .054 to .123
        ("copying", 0.2, 0.3),  # .215 to .285
        ("groups", 0.05, 0.12),  # .067 to .102
    ],
)
def test_every_mechanism_makes_annotators_dependent(mechanism, low, high, seed):
    assert low < gold_dependence(crowd(mechanism, seed)) < high


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("mechanism", "ratio"), [("hard items", 1.0), ("copying", 0.7), ("groups", 1.4)]
)
def test_log_loss_with_learned_dependence_beside_independent_annotators(
    mechanism, ratio, seed
):
    learned = log_loss(mechanism, seed, "learn")
    assert learned < ratio * log_loss(mechanism, seed, None)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crowd_that_copies_is_worth_less(seed):
    copying, plain = (fitted(m, seed, "learn") for m in ("copying", "independent"))
    assert copying.worth_ < plain.worth_ - 1
