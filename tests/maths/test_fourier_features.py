"""Fourier features and the linear model in them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import check_grad

import oracles
from wisecrowd.maths import fourier_features, full_process, jaakkola
from wisecrowd.maths.fourier_features import FourierKernel, FourierProcess
from wisecrowd.maths.jaakkola import Sites
from wisecrowd.maths.scaling import Scaling

seeds = st.integers(0, 10**6)
N, D, F = 7, 3, 2


def drawn(seed, n_frequencies=F):
    rng = np.random.default_rng(seed)
    kernel = FourierKernel(0.7, -0.2, rng.normal(size=(n_frequencies, D)))
    sites = Sites(rng.normal(size=N), rng.uniform(0.02, 0.25, N))
    return kernel, rng.normal(size=(N, D)), sites


@given(seeds)
def test_features_are_those_of_the_oracle(seed):
    kernel, X, _ = drawn(seed)
    want = [
        oracles.fourier_row(x, kernel.frequencies, np.exp(0.7), np.exp(-0.2)) for x in X
    ]
    assert_allclose(fourier_features.features(kernel, X), want, rtol=1e-9, atol=1e-12)


def test_many_features_have_the_covariance_of_the_kernel():
    def error(n_frequencies):
        kernel, X, _ = drawn(0, n_frequencies)
        phi = fourier_features.features(kernel, X)
        K = oracles.covariance_table(X, X, np.exp(0.7), np.exp(-0.2))
        return np.sqrt(np.mean((phi @ phi.T - K) ** 2))

    assert error(40_000) < 0.02
    assert 4 < error(400) / error(40_000) < 25  # ten: one over the square root


@given(seeds)
def test_the_linear_model_is_the_process_with_its_covariance(seed):
    kernel, X, sites = drawn(seed)
    phi = fourier_features.features(kernel, X)
    found = fourier_features.latent(kernel, X, sites)
    same = full_process.solved(phi @ phi.T, sites)
    assert_allclose(found.mean, same.mean, rtol=1e-7, atol=1e-10)
    assert_allclose(found.var, same.var, rtol=1e-7)
    assert_allclose(found.divergence, full_process.divergence(same), rtol=1e-7)
    assert_allclose(found.value, full_process.log_integral(same, sites), rtol=1e-7)


def test_blocks_of_items_and_space_at_hand_change_nothing(monkeypatch):
    kernel, X, sites = drawn(0)
    want = fourier_features.latent(kernel, X, sites)
    monkeypatch.setattr(fourier_features, "BLOCK", 3)  # and a last block of one
    space = np.full((N, 2 * F), np.nan)
    for _ in range(2):
        found = fourier_features.latent(kernel, X, sites, space)
        for got, wanted in zip(found[:-1], want[:-1], strict=True):
            assert_allclose(got, wanted, rtol=1e-9)


@given(seeds)
def test_the_gradient_is_that_of_differences(seed):
    kernel, X, sites = drawn(seed)

    def at(theta):
        moved = FourierKernel(theta[0], theta[1], theta[2:].reshape(F, D))
        return fourier_features.latent(moved, X, sites)

    theta = np.concatenate([kernel[:2], kernel.frequencies.ravel()])
    error = check_grad(lambda v: at(v).value, lambda v: at(v).slope, theta)
    assert error < 1e-5


@given(seeds)
def test_new_items_are_predicted_from_the_posterior_of_the_weights(seed):
    kernel, X, sites = drawn(seed)
    rng = np.random.default_rng(seed)
    scale = Scaling(rng.normal(size=D), rng.uniform(0.5, 2, D))
    weights, factor = fourier_features.latent(kernel, X, sites).posterior
    process = FourierProcess(*kernel, weights, factor, scale)
    phi = fourier_features.features(kernel, X)
    cov = np.linalg.inv(np.eye(2 * F) + phi.T @ np.diag(sites.precision) @ phi)
    mean = cov @ phi.T @ sites.shift
    new = rng.normal(size=(4, D))
    row = fourier_features.features(kernel, new)
    want = jaakkola.both_classes(row @ mean, np.diagonal(row @ cov @ row.T).copy())
    assert_allclose(process.proba(scale.undo(new)), want, atol=1e-9)
    assert process.proba(np.zeros((0, D))).shape == (0, 2)
