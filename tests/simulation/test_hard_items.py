import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from wisecrowd._checks import InputError
from wisecrowd.answers import Answers
from wisecrowd.simulation.crowds import simulate
from wisecrowd.simulation.hard_items import (
    LEVELS,
    HardItems,
    draw_hard_items,
    mean_confusion,
    misled,
)

SEEDS = st.integers(0, 10**6)
A, C, K = 3, 4, 5


def everyone_answers(n_items, shape):
    """Every annotator answers 0 about every item; shape is (A, C, K)."""
    item = np.repeat(np.arange(n_items), shape[0])
    who = np.tile(np.arange(shape[0]), n_items)
    return Answers.from_codes(item, who, np.zeros_like(item), (n_items, *shape))


@given(SEEDS, st.floats(0, 1), st.integers(2, 5), st.integers(1, 30))
def test_the_share_of_hard_items_is_exact_and_a_decoy_is_another_class(
    seed, share, n_classes, n_items
):
    truth = np.random.default_rng(seed).integers(n_classes, size=n_items)
    hard = draw_hard_items(truth, n_classes, share, random_state=seed)
    is_hard = hard.difficulty > 0
    assert is_hard.sum() == round(share * n_items)
    assert set(hard.difficulty[is_hard]) <= set(LEVELS)
    assert_array_equal(hard.decoy >= 0, is_hard)
    assert (hard.decoy < n_classes).all()
    assert (hard.decoy != truth).all()


def test_decoys_are_equally_frequent_among_the_other_classes():
    truth = np.full(9000, 2)
    decoy = draw_hard_items(truth, 4, np.full(9000, 0.5), random_state=0).decoy
    n = np.bincount(decoy, minlength=4)
    assert n[2] == 0
    assert_allclose(n[[0, 1, 3]], 3000, atol=5 * np.sqrt(9000 * 2 / 9))


def test_answers_on_a_hard_item_follow_the_mixture_of_two_rows():
    rng = np.random.default_rng(1)
    R = rng.dirichlet(np.ones(K), size=(A, C))
    n_items = 8000
    truth, decoy, level = np.full(n_items, 1), np.full(n_items, 3), 0.3
    asked = everyone_answers(n_items, R.shape)
    own = np.concatenate([rng.choice(K, n_items, p=R[a, 1]) for a in range(A)])
    answers = asked.with_answer(own.reshape(A, n_items).T.ravel().astype(np.int32))
    hard = HardItems(np.full(n_items, level), decoy)
    said = misled(answers, R, hard, rng)
    for a in range(A):
        got = np.bincount(said.answer[said.annotator == a], minlength=K) / n_items
        want = (1 - level) * R[a, 1] + level * R[a, 3]
        error = np.sqrt(want * (1 - want) / n_items)
        assert (np.abs(got - want) <= 5 * error).all()
    assert_allclose(mean_confusion(R, truth, hard)[:, 1], 0.7 * R[:, 1] + 0.3 * R[:, 3])


@given(SEEDS, st.integers(1, 12))
def test_the_mean_confusion_is_that_of_the_loops(seed, n_items):
    rng = np.random.default_rng(seed)
    R = rng.dirichlet(np.ones(K), size=(A, C))
    truth = rng.integers(C, size=n_items)
    hard = draw_hard_items(truth, C, 0.5, random_state=rng)
    want = oracles.mixed_confusion(R, truth, *hard)
    assert_allclose(mean_confusion(R, truth, hard), want, rtol=1e-12)


def test_easy_items_keep_their_answers():
    crowd = simulate(300, 8, 3, difficulty=0.4, random_state=2)
    plain = simulate(300, 8, 3, random_state=2)
    easy = (crowd.difficulty == 0)[crowd.answers.item]
    assert_array_equal(crowd.answers.annotator, plain.answers.annotator)
    assert_array_equal(crowd.answers.answer[easy], plain.answers.answer[easy])
    assert (crowd.answers.answer != plain.answers.answer).any()


def test_the_correlation_given_the_class_is_the_variance_of_the_accuracy_over_items():
    # One accuracy s for all. It is p(λ) = (1 - λ) s + λ (1 - s) / (C - 1) on an item,
    # so two answers have the covariance Var[p(λ)], and ρ = Var[p] / (E[p] (1 - E[p])).
    s, n_classes, share, n_items = 0.8, 4, 0.3, 20_000
    R = np.full((6, n_classes, n_classes), (1 - s) / (n_classes - 1))
    R[:, range(n_classes), range(n_classes)] = s
    rng = np.random.default_rng(3)
    truth = rng.integers(n_classes, size=n_items)
    hard = draw_hard_items(truth, n_classes, share, random_state=rng)
    level = np.array([0.0, *LEVELS])
    p = (1 - level) * s + level * (1 - s) / (n_classes - 1)
    weight = np.array([1 - share, *[share / 3] * 3])
    mean = weight @ p
    want = weight @ (p - mean) ** 2 / (mean * (1 - mean))
    right = rng.random(n_items * 6) < s
    wrong = (np.repeat(truth, 6) + rng.integers(1, n_classes, n_items * 6)) % n_classes
    own = np.where(right, np.repeat(truth, 6), wrong).astype(np.int32)
    answers = misled(everyone_answers(n_items, R.shape).with_answer(own), R, hard, rng)
    known = np.eye(n_classes)[truth]
    got = oracles.right_together(answers, mean_confusion(R, truth, hard), known)
    assert 0.1 < want < 0.3
    assert got == pytest.approx(want, abs=0.015)


@pytest.mark.parametrize("difficulty", [-0.1, 1.1, float("nan"), [0.5, 0.5], [2.0] * 3])
def test_a_difficulty_that_cannot_be_is_refused(difficulty):
    with pytest.raises(InputError, match="difficulty must be the share"):
        draw_hard_items(np.array([0, 1, 1]), 2, difficulty)
