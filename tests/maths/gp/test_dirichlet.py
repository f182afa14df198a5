"""Dirichlets in JAX against those in NumPy and SciPy, and their slopes."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.test_util import check_grads
from numpy.testing import assert_allclose
from scipy import special

from wisecrowd.maths import dirichlet as slow
from wisecrowd.maths.gp import dirichlet

A, C, K = 3, 2, 4


def drawn(seed):
    rng = np.random.default_rng(seed)
    counts = np.exp(rng.uniform(-5, 6, (A, C, K)))
    return counts, rng.uniform(0.5, 3, (1, C, K))


def test_digamma_and_trigamma_are_scipys_from_tiny_to_huge():
    x = np.exp(np.linspace(-12, 12, 500))
    assert_allclose(dirichlet.digamma(jnp.asarray(x)), special.digamma(x), atol=1e-10)
    assert_allclose(
        dirichlet.trigamma(jnp.asarray(x)), special.polygamma(1, x), rtol=1e-11
    )


def test_the_slope_of_digamma_is_trigamma():
    x = jnp.asarray(np.exp(np.linspace(-1, 3, 7)))
    checked = jax.jit(dirichlet.digamma)  # the check passes arrays of NumPy
    check_grads(checked, (x,), order=1, modes=["rev"], rtol=1e-5)


def test_the_divergence_and_its_slope_are_right():
    counts, prior = drawn(0)
    got = dirichlet.kl(jnp.asarray(counts), jnp.asarray(prior))
    assert_allclose(got, slow.kl(counts, prior), rtol=1e-10, atol=1e-8)
    slope = jax.grad(lambda log: dirichlet.kl(jnp.exp(log), jnp.asarray(prior)).sum())
    log, step = np.log(counts), 1e-6

    def at(moved):
        return slow.kl(np.exp(moved), prior).sum()

    want = np.empty_like(counts)
    for place in np.ndindex(counts.shape):
        unit = np.zeros_like(counts)
        unit[place] = step
        want[place] = (at(log + unit) - at(log - unit)) / (2 * step)
    assert_allclose(slope(jnp.asarray(log)), want, rtol=1e-5, atol=1e-4)


def test_the_mean_log_of_some_answers_is_picked_from_all():
    counts, _ = drawn(1)
    who, said = np.array([2, 0, 2, 1, 0]), np.array([3, 0, 1, 1, 0])
    got = dirichlet.mean_log_of(
        jnp.asarray(counts), jnp.asarray(who), jnp.asarray(said)
    )
    want = [slow.mean_log(counts)[a, :, y] for a, y in zip(who, said, strict=True)]
    assert_allclose(got, want, atol=1e-9)
