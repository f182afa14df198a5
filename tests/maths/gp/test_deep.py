"""A kernel on the output of a network, against loops and against its base kernel."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from wisecrowd import MLP, ConvNet, Deep, InputError
from wisecrowd.maths.gp import class_posterior, links, sparse_gp
from wisecrowd.maths.gp.kernels import Linear, Stationary, as_kernel
from wisecrowd.methods.svgpcr import model

D, E, B, M, C = 3, 2, 5, 4, 3
rng = np.random.default_rng(0)
X = jnp.asarray(rng.normal(size=(B, D)))
Z = jnp.asarray(rng.normal(size=(M, E)))
KERNEL = Deep(MLP(hidden=(4,)), "se-ard", n_outputs=E)


@pytest.fixture
def params():
    """Parameters in 64 bits, with units that are not those of the start."""
    found = jax.tree.map(lambda p: p.astype("float64"), KERNEL.start(D))
    units = {"centre": jnp.asarray([0.3, -0.2]), "spread": jnp.asarray(0.7)}
    return found | {"units": units}


def test_the_covariance_is_the_oracles(params):
    weights = [np.asarray(params["network"][str(i)]) for i in range(4)]
    layers = [(weights[0], weights[1]), (weights[2], weights[3])]
    scale = np.exp(params["kernel"]["log_scale"])
    k = oracles.se_kernel(scale, float(np.exp(params["kernel"]["log_variance"])))
    slow = oracles.deep_kernel(layers, [0.3, -0.2], 0.7, k)
    Y = X[:2] + 1
    want = oracles.gram(slow, np.asarray(X), np.asarray(Y))
    got, variance = jax.jit(lambda p, X, Y: (KERNEL(p, X, Y), KERNEL.diagonal(p, X)))(
        params, X, Y
    )
    assert_allclose(got, want, rtol=1e-10)
    assert_allclose(variance, [slow(x, x) for x in np.asarray(X)])


def test_gradients_by_the_weights_of_the_network(params):
    @jax.jit
    def total(network):
        cov = KERNEL(params | {"network": network}, X, X[:2] + 1)
        return (cov * jnp.arange(2.0 * B).reshape(B, 2)).sum()

    weights = jax.tree.map(jnp.asarray, params["network"])
    check_grads(total, (weights,), order=1, modes=["rev"])
    slope = jax.grad(total)(weights)
    assert all(np.abs(part).max() > 0 for part in jax.tree.leaves(slope)[:3])


def recipe_of(kernel, shared):
    family = class_posterior.Conditional()
    return model.Recipe(kernel, links.Softmax(), family, shared, n_items=B)


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "one per class"])
def test_the_projection_is_that_of_the_base_kernel_on_the_output(shared):
    recipe = recipe_of(KERNEL, shared)
    hyper = model.Hyper(model.starting_kernel(recipe, D, C), Z)
    got, left = jax.jit(model.projections, static_argnums=0)(recipe, hyper, X)
    assert len(got) == (1 if shared else C)
    out = KERNEL.embedded(KERNEL.start(D), X)
    base = Stationary("se", ard=True)
    want = sparse_gp.projection(base, base.start(E), Z, out)
    assert_allclose(got[-1], want[0], rtol=1e-10)
    assert_allclose(left[-1], want[1], rtol=1e-10)


def test_the_network_is_one_for_all_classes_and_has_32_bits():
    start = model.starting_kernel(recipe_of(KERNEL, shared=False), D, C)
    for kept, own in zip(
        jax.tree.leaves(start["network"]),
        jax.tree.leaves(KERNEL.start(D)["network"]),
        strict=True,
    ):
        assert kept.dtype == np.float32
        assert_array_equal(kept, own)
    assert start["kernel"]["log_scale"].shape == (C, E)
    wide = KERNEL.embedded(KERNEL.start(D), X)
    narrow = KERNEL.embedded(KERNEL.start(D), X.astype("float32"))
    assert (wide.dtype, narrow.dtype) == (np.float64, np.float32)
    assert_array_equal(wide, narrow.astype("float64"))


def test_more_than_ten_weights_keep_their_order():
    # As text, "10" comes before "2".
    kernel = Deep(MLP(hidden=(4, 4, 4, 4, 4)), n_outputs=E)
    weights = kernel.start(D)
    layers = [
        tuple(np.asarray(weights["network"][str(i + j)]) for j in (0, 1))
        for i in range(0, 12, 2)
    ]
    want = [oracles.perceptron(layers, x) for x in np.asarray(X)]
    assert_allclose(kernel.embedded(weights, X), want, atol=1e-5)
    again = jax.tree.map(lambda w: w, weights)  # sorts the keys
    assert_allclose(kernel.embedded(again, X), want, atol=1e-5)


@pytest.mark.parametrize(
    ("n_items", "pace"), [(60_000, 0.005), (20_000, 0.005), (5_000, 0.00125)]
)
def test_only_the_network_takes_small_steps_and_smaller_with_few_items(n_items, pace):
    ones = jax.tree.map(jnp.ones_like, KERNEL.start(D))
    moved = KERNEL.paced(ones, n_items)
    assert {float(p.max()) for p in jax.tree.leaves(moved["kernel"])} == {1.0}
    for part in jax.tree.leaves(moved["network"]):
        assert_allclose(part, pace, rtol=1e-6)
        assert part.dtype == np.float32


def test_a_kernel_with_a_network_has_a_name_and_is_a_key():
    assert as_kernel("deep") == Deep()
    assert hash(Deep(ConvNet(shape=(4, 4)))) == hash(Deep(ConvNet(shape=(4, 4))))


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (lambda: Linear() + Deep(), "Give the sum to the network"),
        (lambda: Deep() * Linear() + Linear(), "Give the sum to the network"),
        (lambda: Deep(kernel=Deep()), "cannot be Deep again"),
        (lambda: Deep(kernel="rbf"), "kernel='rbf' is not one of"),
        (lambda: Deep(n_outputs=0), "n_outputs"),
        (lambda: Deep(pace=-1), "pace"),
        (lambda: Deep("cnn"), "is not a network"),
        (lambda: Deep(eqx.nn.Identity()), "Give a function"),
    ],
)
def test_what_cannot_be_is_refused(kernel, why):
    with pytest.raises(InputError, match=why):
        as_kernel(kernel()).check(D)
