"""A Gaussian process under quadratic sites, against inverses and integrals."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import cholesky
from scipy.optimize import check_grad

import oracles
from wisecrowd.maths import full_process, jaakkola
from wisecrowd.maths.cholesky import inverse_of
from wisecrowd.maths.full_process import FullProcess
from wisecrowd.maths.jaakkola import Sites
from wisecrowd.maths.scaling import Scaling
from wisecrowd.maths.squared_exponential import SquaredExponential

seeds = st.integers(0, 10**6)
N, D = 5, 3
KERNEL = SquaredExponential(0.7, 0.2)


def drawn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    K = oracles.covariance_table(X, X, np.exp(0.7), np.exp(0.2))
    return X, K, Sites(rng.normal(size=N), rng.uniform(0.02, 0.25, N))


def squared(X):
    return np.square(X[:, None] - X[None]).sum(-1)


def test_the_inverse_of_a_factor_is_that_of_its_product():
    A = np.random.default_rng(0).normal(size=(4, 4))
    A = A @ A.T + np.eye(4)
    assert_allclose(inverse_of(cholesky(A, lower=True)) @ A, np.eye(4), atol=1e-12)


@given(seeds)
def test_the_posterior_is_that_of_the_oracle(seed):
    X, K, sites = drawn(seed)
    found = full_process.latent(KERNEL, squared(X), sites)
    mean, cov = oracles.quadratic_posterior(K, *sites)
    assert_allclose(found.mean, mean, rtol=1e-6, atol=1e-9)
    assert_allclose(found.var, np.diagonal(cov), rtol=1e-6)
    assert_allclose(found.divergence, oracles.gaussian_kl(mean, cov, K), rtol=1e-6)


def test_the_integral_of_two_items_is_the_sum_over_a_grid():
    X, K, sites = drawn(0)
    X, K, sites = X[:2], K[:2, :2], Sites(*(part[:2] for part in sites))
    axis = np.linspace(-14, 14, 401)
    f = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    log_prior = -0.5 * np.einsum("ni,ij,nj->n", f, np.linalg.inv(K), f)
    log_sites = f @ sites.shift - f**2 @ sites.precision / 2
    total = np.exp(log_prior + log_sites).sum() / np.exp(log_prior).sum()
    found = full_process.latent(KERNEL, squared(X), sites)
    assert_allclose(found.value, np.log(total), rtol=1e-6)


@given(seeds)
def test_the_gradient_is_that_of_differences(seed):
    X, _, sites = drawn(seed)

    def at(theta):
        return full_process.latent(SquaredExponential(*theta), squared(X), sites)

    error = check_grad(lambda v: at(v).value, lambda v: at(v).slope, np.array(KERNEL))
    assert error < 1e-5


@given(seeds)
def test_new_items_are_predicted_as_by_conditioning(seed):
    X, K, sites = drawn(seed)
    rng = np.random.default_rng(seed)
    scale = Scaling(rng.normal(size=D), rng.uniform(0.5, 2, D))
    new = np.concatenate([rng.normal(size=(4, D)), X[:1]])  # and a known item
    found = full_process.solved(K, sites)
    parts = found.weights, found.root, found.factor
    process = FullProcess(*KERNEL, X, *parts, scale)
    mean, cov = oracles.quadratic_posterior(K, *sites)
    across = oracles.covariance_table(new, X, np.exp(0.7), np.exp(0.2))
    part = across @ np.linalg.inv(K)
    want_mean = part @ mean
    want_var = np.exp(0.7) - np.diagonal(part @ (K - cov) @ part.T)
    want = jaakkola.both_classes(want_mean, want_var)
    assert_allclose(process.proba(scale.undo(new)), want, atol=1e-7)
    assert_allclose(want_var[-1], cov[0, 0], rtol=1e-6)


def test_no_new_item_is_no_prediction():
    X, K, sites = drawn(0)
    found = full_process.solved(K, sites)
    scale = Scaling(np.zeros(D), np.ones(D))
    parts = found.weights, found.root, found.factor
    process = FullProcess(*KERNEL, X, *parts, scale)
    assert process.proba(np.zeros((0, D))).shape == (0, 2)
    many = np.zeros((full_process.BLOCK + 1, D))  # more than one block
    assert len(np.unique(process.proba(many).round(12), axis=0)) == 1
    assert len(process.proba(many)) == len(many)


def test_items_that_are_alike_need_no_jitter():
    X = np.zeros((N, D))  # a covariance of rank one
    sites = Sites(np.full(N, 0.5), np.full(N, 0.2))
    found = full_process.latent(KERNEL, squared(X), sites)
    precision = 1 / np.exp(0.7) + N * 0.2  # of the one value that all items share
    assert_allclose(found.mean, N * 0.5 / precision)
    assert_allclose(found.var, 1 / precision)
