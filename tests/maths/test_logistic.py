"""The regression of Raykar, Yan and CrowdEM on soft labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import check_grad

import oracles
from wisecrowd import InputError
from wisecrowd.maths import logistic
from wisecrowd.maths.logistic import Weights
from wisecrowd.maths.scaling import Scaling

seeds = st.integers(0, 10**6)
N, D, C = 7, 4, 3


def drawn(seed):
    rng = np.random.default_rng(seed)
    params = Weights(rng.normal(size=(D, C)), rng.normal(size=C))
    weight = rng.integers(0, 3, (N, 1))  # rows that count twice, and not at all
    return params, rng.normal(size=(N, D)), rng.dirichlet(np.ones(C), N) * weight


@given(seeds)
def test_the_expected_log_joint_is_that_of_the_oracle(seed):
    params, X, proba = drawn(seed)
    value, _ = logistic.expected_log_joint(params, X, proba, 0.7)
    want = oracles.logistic_objective(*params, X, proba, 0.7, logistic.SMOOTHING)
    assert_allclose(value, want, rtol=1e-9)


@given(seeds)
def test_predictions_are_those_of_the_oracle(seed):
    params, X, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    scale = Scaling(rng.normal(size=D), rng.uniform(0.5, 2, D))
    got = logistic.Logistic(*params, scale).proba(scale.undo(X))
    want = [oracles.softmax_row(x, *params) for x in X]
    assert_allclose(got, want, rtol=1e-9)
    assert_allclose(logistic.log_proba(params, X), np.log(want), rtol=1e-9)


@given(seeds)
def test_the_gradient_is_that_of_finite_differences(seed):
    params, X, proba = drawn(seed)

    def joint(flat):
        at = Weights(flat[:-C].reshape(D, C), flat[-C:])
        value, slope = logistic.expected_log_joint(at, X, proba, 0.7)
        return value, np.append(slope.weights, slope.bias)

    flat = np.append(params.weights, params.bias)
    error = check_grad(lambda v: joint(v)[0], lambda v: joint(v)[1], flat)
    assert error < 1e-5


@given(seeds)
def test_better_weights_are_better(seed):
    params, X, proba = drawn(seed)
    unit = logistic.units(X, C, 0.7)
    before, _ = logistic.expected_log_joint(params, X, proba, 0.7)
    better = logistic.better_weights(params, X, proba, 0.7, unit)
    assert logistic.expected_log_joint(better, X, proba, 0.7)[0] >= before


def test_more_features_than_items_and_no_prior_still_have_units():
    rng = np.random.default_rng(0)
    unit = logistic.units(rng.normal(size=(3, 9)), 2, 0.0)
    assert np.isfinite(unit.factor).all()


def test_the_precision_of_two_columns_is_that_of_their_difference():
    w, l2 = np.array([0.3, -1.2]), 5.0
    columns = np.stack([-w / 2, w / 2], 1)
    precision = logistic.precision_of_columns(l2, 2, 2)
    assert_allclose(precision * (columns**2).sum() / 2, l2 * (w**2).sum() / 2)
    assert logistic.precision_of_columns(l2, 2, 3) == l2
    assert logistic.precision_of_columns("auto", 40, 3) == 20.0


@pytest.mark.parametrize("wrong", [-1, np.nan, "much"])
def test_a_precision_that_is_none_is_refused(wrong):
    with pytest.raises(InputError, match="l2="):
        logistic.precision_of_columns(wrong, 2, 2)
