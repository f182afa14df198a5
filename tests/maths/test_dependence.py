import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dependence

N_ITEMS, N_ANNOTATORS, N_CLASSES = 1200, 25, 3


def made(rng, n_items=N_ITEMS, per_item=6):
    """Annotators of different skill, which of them answer which item, the classes."""
    confusion = np.full((N_ANNOTATORS, N_CLASSES, N_CLASSES), 0.0)
    skill = rng.uniform(0.6, 0.85, N_ANNOTATORS)
    for a, s in enumerate(skill):
        confusion[a] = (1 - s) / (N_CLASSES - 1)
        np.fill_diagonal(confusion[a], s)
    item = np.repeat(np.arange(n_items), per_item)
    who = np.concatenate(
        [rng.choice(N_ANNOTATORS, per_item, replace=False) for _ in range(n_items)]
    )
    shape = (n_items, N_ANNOTATORS, N_CLASSES, N_CLASSES)
    asked = Answers.from_codes(item, who, np.zeros_like(who), shape)
    return confusion, asked, rng.randint(N_CLASSES, size=n_items)


def drawn(rng, correlation, **shape):
    """A crowd whose answers depend on one another."""
    confusion, asked, truth = made(rng, **shape)
    said = dependence.simulated_answers(asked, confusion, truth, correlation, rng)
    return asked.with_answer(said), confusion, truth


def uniform(truth):
    return np.full((len(truth), N_CLASSES), -np.log(N_CLASSES))


def test_the_weight_of_an_answer_is_a_power_of_the_design_effect():
    n_answers = np.array([0, 1, 2, 10])
    assert_allclose(dependence.weight_of_answers(n_answers, 0.0), 1)
    found = dependence.weight_of_answers(n_answers, 0.25)
    assert_allclose(found, [1, 1, 0.8**1.6, 3.25**-1.6])
    many = dependence.weight_of_answers(n_answers, 1.0)
    assert_allclose(many, [1, 1, 0.5, 0.15])  # one answer, or more


def test_right_together_is_a_sum_over_pairs():
    rng = np.random.RandomState(0)
    answers, confusion, truth = drawn(rng, 0.3, n_items=20, per_item=4)
    proba = rng.dirichlet(np.ones(N_CLASSES), len(truth))
    columns = (answers.item, answers.annotator, answers.answer)
    triples = list(zip(*columns, strict=True))
    assert_allclose(
        dependence.right_together(answers, confusion, proba),
        oracles.right_together(triples, confusion, proba),
    )


@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.5])
def test_simulated_answers_have_the_skill_and_the_correlation(correlation):
    rng = np.random.RandomState(1)
    answers, confusion, truth = drawn(rng, correlation, n_items=8000)
    known = np.eye(N_CLASSES)[truth]
    seen = crowd.soft_counts(answers, known)
    assert_allclose(
        seen.sum(0) / seen.sum((0, 2))[:, None], confusion.mean(0), atol=0.02
    )
    found = dependence.right_together(answers, confusion, known)
    # Annotators of unlike skill cannot be right together every time.
    assert 0.8 * correlation - 0.02 < found < correlation + 0.02


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.3])
def test_the_dependence_is_learned_without_the_classes(correlation):
    found = []
    for seed in range(2):
        rng = np.random.RandomState(10 + seed)
        answers, confusion, truth = drawn(rng, correlation)
        found.append(
            dependence.learned_dependence(answers, confusion, uniform(truth), rng)
        )
    assert np.mean(found) == pytest.approx(correlation, abs=0.04)


@pytest.mark.parametrize("per_item", [1, 2])
def test_too_few_pairs_of_answers_give_no_estimate(per_item):
    rng = np.random.RandomState(2)
    answers, confusion, truth = drawn(rng, 0.5, n_items=40, per_item=per_item)
    assert dependence.learned_dependence(answers, confusion, uniform(truth), rng) == 0
