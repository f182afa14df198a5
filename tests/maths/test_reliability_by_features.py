"""Yan's annotators: formulas against loops, the gradient, the steps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import check_grad

import oracles
from wisecrowd.answers import Answers
from wisecrowd.maths import ability
from wisecrowd.maths import reliability_by_features as reliability
from wisecrowd.maths.reliability_by_features import Params, Precision

seeds = st.integers(0, 10**6)
N, A, C, D = 7, 5, 3, 2
PRECISION = Precision(0.7, 0.3)


def drawn(seed):
    made = oracles.drawn_crowd(seed, n_answers=C)
    rows = [made[name] for name in ("item", "annotator", "label")]
    rng = np.random.default_rng(seed)
    params = Params(rng.normal(size=(A, D)), rng.normal(1, 1, A))
    proba = rng.dirichlet(np.ones(C), N)
    return (
        Answers.from_codes(*rows, (N, A, C, C)),
        params,
        rng.normal(size=(N, D)),
        proba,
    )


def rows_of(answers):
    return answers.item, answers.annotator, answers.answer


@given(seeds)
def test_the_evidence_is_that_of_the_oracle(seed):
    answers, params, X, _ = drawn(seed)
    s = reliability.logits(params, X, answers)
    want = oracles.yan_evidence(*params, X, rows_of(answers), C)
    assert_allclose(ability.evidence_per_item(s, answers), want, rtol=1e-9, atol=1e-9)


@given(seeds)
def test_the_expected_log_joint_is_that_of_the_oracle(seed):
    answers, params, X, proba = drawn(seed)
    right = answers.right_proba(proba)
    value, _ = reliability.expected_log_joint(params, right, X, answers, PRECISION)
    want = oracles.yan_objective(*params, X, rows_of(answers), proba, PRECISION)
    constant = ((1 - right) * np.log(C - 1)).sum()  # which wrong class it was
    assert_allclose(value - constant, want, rtol=1e-9)


@given(seeds)
def test_the_gradient_is_that_of_finite_differences(seed):
    answers, params, X, proba = drawn(seed)
    right = answers.right_proba(proba)

    def joint(flat):
        at = Params(flat[:-A].reshape(A, D), flat[-A:])
        value, slope = reliability.expected_log_joint(at, right, X, answers, PRECISION)
        return value, np.append(slope.weights, slope.offset)

    flat = np.append(params.weights, params.offset)
    error = check_grad(lambda v: joint(v)[0], lambda v: joint(v)[1], flat)
    assert error < 1e-5


@given(seeds)
def test_better_params_are_better(seed):
    answers, params, X, proba = drawn(seed)
    right = answers.right_proba(proba)
    unit = reliability.units(X, answers, PRECISION)
    better = reliability.better_params(params, right, X, answers, PRECISION, unit)
    before, after = (
        reliability.expected_log_joint(p, right, X, answers, PRECISION)[0]
        for p in (params, better)
    )
    assert after >= before


def test_blocks_of_answers_change_nothing(monkeypatch):
    answers, params, X, _ = drawn(0)
    want = reliability.logits(params, X, answers)
    monkeypatch.setattr(reliability, "BLOCK", 3)
    assert_allclose(reliability.logits(params, X, answers), want, rtol=1e-12)
