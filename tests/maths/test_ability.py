import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import oracles
from wisecrowd.answers import Answers
from wisecrowd.maths import ability
from wisecrowd.maths.ability import Params, Spread

seeds = st.integers(0, 10**6)
N, A, C = 7, 5, 3
SPREAD = Spread(0.8, 1.3)


def drawn(seed):
    """Answers, parameters and q(Z)."""
    made = oracles.drawn_crowd(seed, n_answers=C)
    rows = [made[name] for name in ("item", "annotator", "label")]
    rng = np.random.default_rng(seed)
    params = Params(rng.normal(1, 1, A), rng.normal(0, 0.7, N))
    answers = Answers.from_codes(*rows, (N, A, C, C))
    return answers, params, rng.dirichlet(np.ones(C), N)


def triples(answers):
    return answers.item, answers.annotator, answers.answer


@given(seeds)
def test_evidence_agrees_with_loops(seed):
    answers, params, _ = drawn(seed)
    got = ability.evidence_per_item(ability.logits(params, answers), answers)
    want = oracles.glad_evidence(*params, *triples(answers), (N, C))
    assert_allclose(got, want, rtol=1e-9)


@given(seeds)
def test_expected_log_joint_agrees_with_loops_up_to_a_constant(seed):
    answers, params, proba = drawn(seed)
    right = answers.right_proba(proba)
    constant = -((1 - right) * np.log(C - 1)).sum()
    got, _ = ability.expected_log_joint(params, right, answers, SPREAD)
    want = oracles.glad_expected_log_joint(*params, triples(answers), proba, SPREAD)
    assert_allclose(got + constant, want, rtol=1e-9)


@given(seeds)
def test_gradient_is_that_of_central_differences(seed):
    answers, params, proba = drawn(seed)
    right, flat, h = answers.right_proba(proba), np.concatenate(params), 1e-5

    def value(x):
        moved = Params(x[:A], x[A:])
        return ability.expected_log_joint(moved, right, answers, SPREAD)[0]

    steps = h * np.eye(A + N)
    slopes = [(value(flat + e) - value(flat - e)) / (2 * h) for e in steps]
    _, got = ability.expected_log_joint(params, right, answers, SPREAD)
    assert_allclose(np.concatenate(got), slopes, rtol=1e-5, atol=1e-6)


@given(seeds)
def test_curvature_is_the_expected_one_where_the_model_is_right(seed):
    answers, params, _ = drawn(seed)
    right = 1 / (1 + np.exp(-ability.logits(params, answers)))  # then q − σ(x) is zero
    got = np.concatenate(ability.curvature(params, answers, SPREAD))
    flat, h = np.concatenate(params), 1e-5

    def slope(x):
        moved = Params(x[:A], x[A:])
        return np.concatenate(
            ability.expected_log_joint(moved, right, answers, SPREAD)[1]
        )

    for i, step in enumerate(h * np.eye(A + N)):
        # the prior's slope is not zero, but its curvature is in both
        bend = (slope(flat + step) - slope(flat - step))[i] / (2 * h)
        assert_allclose(got[i], -bend, rtol=1e-4)


@given(seeds)
def test_the_log_prior_is_that_of_two_gaussians(seed):
    _, params, _ = drawn(seed)
    want = sum(-(((x - 1) / 0.8) ** 2) / 2 for x in params.ability)
    want += sum(-((x / 1.3) ** 2) / 2 for x in params.log_easiness)
    assert_allclose(ability.log_prior(params, SPREAD), want, rtol=1e-12)


def test_nothing_overflows_at_wild_parameters():
    answers, _, proba = drawn(2)
    wild = Params(np.full(A, -1e3), np.full(N, 1e3))
    right = answers.right_proba(proba)
    value, slope = ability.expected_log_joint(wild, right, answers, Spread(1.0, 1.0))
    evidence = ability.evidence_per_item(ability.logits(wild, answers), answers)
    assert np.isfinite(value)
    assert np.isfinite(np.concatenate(slope)).all()
    assert np.isfinite(evidence).all()


@pytest.mark.parametrize("n_answers", [C, C + 2])
def test_confusion_has_the_accuracy_on_the_diagonal_and_one_error_elsewhere(n_answers):
    accuracy = np.array([0.9, 0.2])
    got = ability.confusion(accuracy, C, n_answers)
    assert got.shape == (2, C, n_answers)
    assert_allclose(got.sum(-1), 1.0)
    for a, share in enumerate(accuracy):
        for c in range(C):
            for k in range(n_answers):
                wrong = (1 - share) / (C - 1) if k < C else 0.0
                assert got[a, c, k] == pytest.approx(share if k == c else wrong)
