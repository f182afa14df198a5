"""The covariance of all items against the kernel of SVGPCR, and its gradient."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import check_grad

from wisecrowd.maths.gp.kernels import Stationary
from wisecrowd.maths.squared_exponential import (
    SquaredExponential,
    covariance,
    gradient,
    gradient_of_distances,
    of_distances,
    starting_kernel,
)

KERNEL = SquaredExponential(log_variance=0.7, log_scale=-0.3)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_it_is_the_kernel_of_svgpcr(rng):
    X, Y = rng.normal(size=(7, 3)), rng.normal(size=(4, 3))
    params = {k: jnp.asarray(v) for k, v in KERNEL._asdict().items()}
    np.testing.assert_allclose(
        covariance(KERNEL, X, Y),
        Stationary()(params, jnp.asarray(X), jnp.asarray(Y)),
        rtol=1e-12,
    )


def test_the_gradient_is_that_of_differences(rng):
    X, weights = rng.normal(size=(6, 2)), rng.normal(size=(6, 6))

    def value(theta):
        return (weights * covariance(SquaredExponential(*theta), X, X)).sum()

    def slope(theta):
        return np.array(gradient(SquaredExponential(*theta), X, weights))

    assert check_grad(value, slope, np.array(KERNEL)) < 1e-5


def test_the_start_is_about_the_distance_between_scaled_items(rng):
    X = rng.normal(size=(500, 16))
    near = covariance(starting_kernel(16), X[:250], X[250:])
    assert 0.3 < near.mean() < 0.5


def test_with_distances_at_hand_it_is_the_same(rng):
    X, weights = rng.normal(size=(6, 2)), rng.normal(size=(6, 6))
    squared = np.square(X[:, None] - X[None]).sum(-1)
    K = of_distances(KERNEL, squared)
    np.testing.assert_allclose(K, covariance(KERNEL, X, X), rtol=1e-9)
    np.testing.assert_allclose(
        gradient_of_distances(KERNEL, squared, K, weights),
        gradient(KERNEL, X, weights),
        rtol=1e-9,
    )
