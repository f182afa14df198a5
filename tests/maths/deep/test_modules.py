"""The networks against loops, and what is said to a module that is none."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from wisecrowd import MLP, ConvNet, InputError
from wisecrowd.maths.deep import modules
from wisecrowd.maths.networks import Network, as_network
from wisecrowd.maths.scaling import Scaling

KEY = np.array([0, 7], np.uint32)
rng = np.random.default_rng(0)


def log_softmax(logits):
    return np.log(oracles.softmaxed(logits))


@pytest.mark.parametrize("hidden", [(), (5,), (6, 4)])
def test_a_perceptron_is_the_oracles(hidden):
    module = modules.made_module(MLP(hidden=hidden), 3, 2, KEY)
    X = rng.normal(size=(4, 3)).astype(np.float32)
    got = modules.log_proba(*modules.split(module), jnp.asarray(X))
    layers = [(np.asarray(one.weight), np.asarray(one.bias)) for one in module.layers]
    want = [log_softmax(oracles.perceptron(layers, row)) for row in X]
    assert_allclose(got, want, atol=1e-5)


@pytest.mark.parametrize("pool", [True, False])
def test_a_convolutional_network_is_the_oracles(pool):
    spec = ConvNet(shape=(6, 7, 2), channels=(3, 2), kernel=3, hidden=4, pool=pool)
    module = modules.made_module(spec, 84, 3, KEY)
    x = rng.normal(size=84).astype(np.float32)
    image = np.moveaxis(x.reshape(6, 7, 2), -1, 0)
    for layer in module.convolutions:
        weight, bias = np.asarray(layer.weight), np.asarray(layer.bias)
        if pool:
            image = oracles.pooled(oracles.convolved(image, weight, bias))
        else:
            image = image[:, : len(image[0]) // 2 * 2, : len(image[0][0]) // 2 * 2]
            image = np.array(oracles.convolved(image, weight, bias))[:, ::2, ::2]
    top = [(np.asarray(one.weight), np.asarray(one.bias)) for one in module.top.layers]
    want = log_softmax(oracles.perceptron(top, image.ravel()))
    got = modules.log_proba(*modules.split(module), jnp.asarray(x[None]))[0]
    assert_allclose(got, want, atol=1e-5)


def test_dropout_leaves_out_the_given_share_and_only_in_training():
    module = modules.made_module(MLP(hidden=(1000,), dropout=0.3), 2, 2, KEY)
    one = eqx.tree_at(
        lambda m: (m.layers[0].weight, m.layers[0].bias, m.layers[1].weight),
        module,
        (np.zeros((1000, 2), "f4"), np.ones(1000, "f4"), np.ones((2, 1000), "f4")),
    )
    kept = float(one(jnp.zeros(2, "float32"), key=KEY)[0]) * 0.7 / 1000
    assert abs(kept - 0.7) < 5 * np.sqrt(0.21 / 1000)
    X = jnp.zeros((3, 2), "float32")
    weights, rest = modules.split(module)
    assert_array_equal(*[modules.log_proba(weights, rest, X) for _ in range(2)])


def test_weights_are_drawn_by_the_key_in_32_bits():
    first, again, other = (
        jax.tree.leaves(modules.split(MLP().module(3, 2, key))[0])
        for key in (KEY, KEY, KEY + 1)
    )
    for one, same in zip(first, again, strict=True):
        assert one.dtype == np.float32
        assert_array_equal(one, same)
    assert np.abs(first[0] - other[0]).max() > 0.01
    reach = np.sqrt(6 / (3 + 128))
    assert 0.9 * reach < np.abs(first[0]).max() <= reach


def test_a_fitted_network_predicts_with_scaling_and_temperature():
    module = MLP(hidden=(4,)).module(2, 3, KEY)
    leaves = jax.tree.leaves(modules.split(module)[0])
    scale = Scaling(np.array([1.0, -2.0]), np.array([2.0, 5.0]))
    arrays = {str(i): np.asarray(leaf) for i, leaf in enumerate(leaves)}
    network = Network(MLP(hidden=(4,)), arrays, 3, scale, 2.5)
    X = rng.normal(size=(5, 2))
    layers = [(np.asarray(one.weight), np.asarray(one.bias)) for one in module.layers]
    scaled = (X - scale.centre) / scale.spread
    logits = [oracles.perceptron(layers, row) for row in scaled]
    want = [log_softmax([v / 2.5 for v in row]) for row in logits]
    assert_allclose(network.log_proba(X), want, atol=1e-5)


# -- settings --------------------------------------------------------------------------


def test_words_are_records():
    assert as_network("mlp", 3) == MLP()
    assert as_network("conv", 784) == ConvNet(shape=(28, 28))


@pytest.mark.parametrize(
    ("spec", "n_features", "why"),
    [
        ("cnn", 4, "is not a network"),
        (MLP, 4, "is not a network"),
        ("conv", 5, "square images, but 5 features.*'mlp'"),
        (ConvNet(), 5, "784 numbers, but X has 5 features"),
        (ConvNet(shape=(2, 2)), 4, "2 x 2 pixels are too small for 2 conv.*'mlp'"),
        (MLP(hidden=(0,)), 4, "whole number"),
        (MLP(dropout=1), 4, "dropout=1 must be at least 0 and below 1"),
        (lambda *_: eqx.nn.Linear(4, 5, key=KEY), 4, r"returns \(5,\).*expected 3"),
        (lambda *_: eqx.nn.Linear(9, 3, key=KEY), 4, "could not be called as network"),
    ],
)
def test_what_is_no_network_is_refused(spec, n_features, why):
    with pytest.raises(InputError, match=why):
        modules.made_module(as_network(spec, n_features), n_features, 3, KEY)
