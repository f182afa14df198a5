import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.test_util import check_grads
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

import oracles
from wisecrowd._checks import InputError
from wisecrowd.maths.gp import links
from wisecrowd.maths.gp.links import RobustMax, Softmax

seeds = st.integers(0, 10**6)
LARGEST = jax.jit(links.largest_proba)  # operation by operation compiles each of them


def drawn(seed, n_items=4, n_classes=3, ratio=2.0, distance=1.0):
    """Means and variances whose standard deviations are within a factor `ratio`."""
    rng = np.random.default_rng(seed)
    spread = np.exp(rng.uniform(0, np.log(ratio), (n_items, n_classes)))
    mean = distance * rng.normal(size=(n_items, n_classes))
    return jnp.asarray(mean), jnp.asarray(spread**2)


# Measured over 60 draws each, float64: 5e-10 at ratio 1, 1e-9 at 10 (what lies beyond
# REACH), 4e-8 at 50, 4e-6 at 200, 4e-5 at 1000.
@pytest.mark.parametrize(
    ("ratio", "tolerance"), [(1, 5e-9), (3, 5e-9), (10, 1e-8), (50, 2e-7), (1000, 2e-4)]
)
@pytest.mark.parametrize("distance", [0.1, 3.0])
def test_the_probability_of_the_largest_is_the_integral(ratio, tolerance, distance):
    for n_classes in (2, 4):
        mean, var = drawn(n_classes, 2, n_classes, ratio, distance)
        got = LARGEST(mean, var)
        want = [oracles.largest_proba(*row) for row in zip(mean, var, strict=True)]
        assert_allclose(got, want, atol=tolerance)
        assert_allclose(got.sum(1), 1.0, rtol=1e-12)


def test_of_two_the_largest_is_a_probit():
    mean, var = drawn(0, 50, 2, ratio=3.0)
    want = norm.cdf((mean[:, 0] - mean[:, 1]) / np.sqrt(var.sum(1)))
    assert_allclose(LARGEST(mean, var)[:, 0], want, atol=1e-8)


def test_the_largest_knows_no_scale_and_no_order():
    mean, var = drawn(1, 5, 4)
    want = np.array(LARGEST(mean, var))
    moved = LARGEST(3 * mean + 7, 9 * var)
    assert_allclose(moved, want, atol=1e-9)
    order = np.array([2, 0, 3, 1])
    turned = LARGEST(mean[:, order], var[:, order])
    assert_allclose(turned, want[:, order], atol=1e-12)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("far", [0.0, 30.0, 1e4])
@pytest.mark.parametrize("var", [1e-10, 1.0, 1e6])
def test_the_largest_is_finite_however_far(dtype, far, var):
    mean = jnp.asarray([[0.0, far, -far]], dtype)
    got = LARGEST(mean, jnp.full((1, 3), var, dtype))
    assert got.dtype == dtype
    assert np.isfinite(got).all()
    assert_allclose(got.sum(), 1.0, rtol=1e-5)
    assert int(got.argmax()) == (1 if far else 0)


def test_gradients_of_the_largest():
    mean, var = drawn(3)

    def some(mean, var):
        return LARGEST(jnp.asarray(mean), jnp.asarray(var))

    check_grads(some, (mean, var), order=1, modes=["rev"], atol=1e-6, rtol=1e-6)


def test_robust_max_states_are_the_loop():
    mean, var = drawn(4)
    epsilon = jnp.asarray(0.07)
    states = links.robust_max_states(mean, var, epsilon)
    assert_allclose(np.exp(states.log_proba).sum(2), 1.0)
    for n in range(len(mean)):
        want = oracles.robust_max_states(mean[n], var[n], 0.07, oracles.largest_proba)
        assert_allclose(states.weight[n], [w for w, _ in want], atol=5e-9)
        assert_allclose(states.log_proba[0], [row for _, row in want])


@given(seeds)
def test_softmax_states_are_the_loop(seed):
    mean, var = drawn(seed)
    nodes = links.normal_nodes(8, 3)
    states = links.softmax_states(mean, var, jnp.asarray(nodes))
    for n in range(len(mean)):
        want = oracles.softmax_states(mean[n], var[n], nodes)
        assert_allclose(states.weight[n], [w for w, _ in want])
        assert_allclose(states.log_proba[n], [row for _, row in want], atol=1e-12)


def test_nodes_come_in_mirror_pairs_and_are_the_same_for_everyone():
    nodes = links.normal_nodes(32, 5)
    assert nodes.shape == (32, 5)
    assert_allclose(nodes.mean(0), 0.0, atol=1e-15)
    assert_allclose((nodes**2).mean(0), 1.0, atol=0.25)
    assert (nodes == links.normal_nodes(32, 5)).all()


def test_softmax_expectations_are_near_the_integral():
    # Of two classes only the difference matters: one integral.
    mean, var = drawn(5, 20, 2, distance=2.0)
    states = links.softmax_states(mean, var, jnp.asarray(links.normal_nodes(32, 2)))
    proba, log_proba = links.predictive(states), links.mean_log_proba(states)
    for n in range(len(mean)):
        m, s = float(mean[n, 0] - mean[n, 1]), float(np.sqrt(var[n].sum()))

        def average(function, m=m, s=s):
            return quad(lambda t: function(t) * norm.pdf(t, m, s), m - 9 * s, m + 9 * s)

        want = average(lambda t: 1 / (1 + np.exp(-t)))[0]
        assert_allclose(proba[n, 0], want, atol=0.02)
        want = average(lambda t: -np.log1p(np.exp(-t)))[0]
        assert_allclose(log_proba[n, 0], want, atol=0.15)


@pytest.mark.parametrize("link", ["robustmax", "softmax"])
def test_predictions_are_sums_over_states(link):
    mean, var = drawn(6)
    if link == "robustmax":
        states = links.robust_max_states(mean, var, jnp.asarray(0.1))
    else:
        states = links.softmax_states(mean, var, jnp.asarray(links.normal_nodes(8, 3)))
    proba, log_proba = links.predictive(states), links.mean_log_proba(states)
    assert_allclose(proba.sum(1), 1.0, rtol=1e-12)
    table = np.broadcast_to(states.log_proba, (4, *states.log_proba.shape[1:]))
    for n in range(4):
        for c in range(3):
            pairs = list(zip(states.weight[n], table[n, :, c], strict=True))
            assert_allclose(proba[n, c], sum(w * np.exp(p) for w, p in pairs))
            assert_allclose(log_proba[n, c], sum(w * p for w, p in pairs))


# -- the links as settings -----------------------------------------------------------


def test_links_are_records_that_can_be_compared_and_compiled():
    assert Softmax() == Softmax(32)
    assert hash(RobustMax(0.1)) == hash(RobustMax(0.1))
    assert RobustMax() != RobustMax(0.1)


def test_the_states_of_a_link_are_those_of_its_function():
    mean, var = drawn(7)
    epsilon = jnp.asarray(0.07)
    got, want = (
        RobustMax().states(mean, var, epsilon),
        links.robust_max_states(mean, var, epsilon),
    )
    assert_allclose(got.weight, want.weight)
    nodes = jnp.asarray(links.normal_nodes(16, 3))
    got, want = (
        Softmax(16).states(mean, var, epsilon),
        links.softmax_states(mean, var, nodes),
    )
    assert_allclose(got.log_proba, want.log_proba)


def test_words_are_links_and_epsilon_belongs_to_robust_max():
    assert links.as_link("softmax") == Softmax()
    assert links.as_link("robustmax") == RobustMax("learn")
    assert links.as_link("robustmax", 0.01) == RobustMax(0.01)
    assert links.as_link(RobustMax(0.2)) == RobustMax(0.2)
    assert links.as_link(RobustMax(), 0.01) == RobustMax(0.01)
    for link in ("softmax", Softmax(16)):
        with pytest.raises(
            InputError, match=r"^epsilon=0.1 belongs to robust max.*\.$"
        ):
            links.as_link(link, 0.1)


@pytest.mark.parametrize("epsilon", [0, 1, 0.0, 1.0, -0.1, "no"])
def test_an_epsilon_that_is_no_share_is_refused(epsilon):
    with pytest.raises(InputError, match=r"^epsilon=.* between 0 and 1\.$"):
        RobustMax(epsilon)


@pytest.mark.parametrize("n_samples", [0, 1])
def test_softmax_needs_a_pair_of_samples(n_samples):
    with pytest.raises(InputError, match=r"^n_samples=.* at least 2\.$"):
        Softmax(n_samples)
