"""The quadratic bound on the logistic function, against its definition."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import oracles
from wisecrowd.maths import jaakkola

seeds = st.integers(0, 10**6)
N = 5


def drawn(seed):
    rng = np.random.default_rng(seed)
    mean, var = rng.normal(size=N) * 3, rng.gamma(1.0, 3.0, N)
    return mean, var, rng.uniform(0.1, 6, N)


@given(seeds)
def test_the_bound_of_both_classes_is_that_of_the_oracle(seed):
    mean, var, xi = drawn(seed)
    got = jaakkola.log_classes(mean, var, xi)
    for n in range(N):
        for c, sign in ((0, -1), (1, 1)):
            # A quadratic: its mean is its value at the mean, plus curvature times var.
            want = oracles.jaakkola_bound(sign * mean[n], xi[n])
            want -= (oracles.logistic(xi[n]) - 0.5) / (2 * xi[n]) * var[n]
            assert_allclose(got[n, c], want, rtol=1e-9)


@given(seeds)
def test_it_is_at_most_the_expected_log_of_the_logistic_function(seed):
    mean, var, xi = drawn(seed)
    best = jaakkola.tangent_point(mean, var)
    given_xi = jaakkola.log_classes(mean, var, xi)
    at_best = jaakkola.log_classes(mean, var, best)
    assert (given_xi <= at_best + 1e-12).all()  # no other xi is better
    for n in range(N):
        for c, sign in ((0, -1), (1, 1)):
            exact = oracles.normal_mean(
                lambda f, sign=sign: -math.log1p(math.exp(-sign * f)), mean[n], var[n]
            )
            assert at_best[n, c] <= exact + 1e-9


def test_without_variance_it_is_exact():
    mean, var = np.array([-4.0, -0.3, 0.0, 2.0]), np.zeros(4)
    found = jaakkola.log_classes(mean, var, jaakkola.tangent_point(mean, var))
    want = [[math.log(oracles.logistic(s * m)) for s in (-1, 1)] for m in mean]
    assert_allclose(found, want, rtol=1e-9)


def test_the_curvature_has_its_limits():
    assert_allclose(jaakkola.curvature(np.array([0.0, 1e-9, 1e-4])), 1 / 8, rtol=1e-8)
    assert_allclose(jaakkola.curvature(np.array([400.0])), 1 / 1600)


def test_sites_are_the_quadratic_of_the_bound():
    mean, _, xi = drawn(0)
    q = np.random.default_rng(1).uniform(size=N)
    proba = np.stack([1 - q, q], axis=1)
    sites = jaakkola.sites(proba, xi)

    def bound_at(f):
        return (proba * jaakkola.log_classes(f, np.zeros(N), xi)).sum(1)

    moved = sites.shift * mean - sites.precision * mean**2 / 2
    assert_allclose(bound_at(mean) - bound_at(np.zeros(N)), moved, rtol=1e-9)


@given(seeds)
def test_the_mean_of_the_logistic_function_is_its_integral(seed):
    mean, var, _ = drawn(seed)
    got = jaakkola.both_classes(mean, var)
    want = [oracles.normal_mean(oracles.logistic, mean[n], var[n]) for n in range(N)]
    assert_allclose(got[:, 1], want, atol=1e-8)
    assert_allclose(got.sum(1), 1.0, rtol=1e-12)


def test_far_from_the_boundary_probabilities_stay_probabilities():
    mean, var = np.array([-1e4, -50.0, 50.0, 1e4]), np.array([0.0, 1e3, 0.0, 1.0])
    found = jaakkola.both_classes(mean, var)
    assert ((found >= 0) & (found <= 1)).all()
    assert_allclose(found[:, 1], [0, 0.0574, 1, 1], atol=1e-3)
