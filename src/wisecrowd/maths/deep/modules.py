"""The networks as Equinox modules: from one flat row of features to C logits.

All numbers have 32 bits. A module is split in two: its arrays, which are learned, and
the rest, which a compiled function is specialised for.
"""

from functools import partial
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from wisecrowd._checks import InputError
from wisecrowd.feature_source import FeatureSource, InMemory, filled
from wisecrowd.maths.networks import ConvNet, Network
from wisecrowd.maths.temperature import tempered

FLOAT = np.float32
KEY = np.zeros(2, np.uint32)  # where shapes are all that counts


def drawn_arrays(layer: Any, n_in: int, n_out: int, rng: np.random.Generator) -> Any:
    """Return a layer of these shapes, with Glorot's uniform weights and no bias yet.

    Drawn by NumPy: JAX would compile a function for every shape.
    """
    reach = (6 / (n_in + n_out)) ** 0.5
    weight = rng.uniform(-reach, reach, layer.weight.shape).astype(FLOAT)
    new = (weight, np.zeros(layer.bias.shape, FLOAT))
    return eqx.tree_at(lambda made: (made.weight, made.bias), layer, new)


def linear(n_in: int, n_out: int, rng: np.random.Generator) -> eqx.nn.Linear:
    """Return a linear layer."""
    make = partial(eqx.nn.Linear, n_in, n_out, dtype=FLOAT)
    return drawn_arrays(eqx.filter_eval_shape(make, key=KEY), n_in, n_out, rng)


def convolution(
    n_in: int, n_out: int, size: int, rng: np.random.Generator
) -> eqx.nn.Conv2d:
    """Return a convolution that keeps the size of an image."""
    make = partial(eqx.nn.Conv2d, n_in, n_out, size, padding="SAME", dtype=FLOAT)
    area = size * size
    shape = eqx.filter_eval_shape(make, key=KEY)
    return drawn_arrays(shape, n_in * area, n_out * area, rng)


def convolved(
    layer: eqx.nn.Conv2d, image: Float[Array, "H W I"], stride: int
) -> Float[Array, "h w O"]:
    """Σ weight · (the pixels around each pixel) + bias, at every `stride`-th pixel.

    As the product of two matrices: on a CPU, XLA's own convolution and its slopes take
    five to twenty times as long.
    """
    height, width, _ = image.shape
    size = layer.weight.shape[-1]
    edge = ((size - 1) // 2, size // 2)
    wide = jnp.pad(image, (edge, edge, (0, 0)))
    around = [
        wide[i : i + height : stride, j : j + width : stride]
        for i in range(size)
        for j in range(size)
    ]
    weight = jnp.moveaxis(layer.weight, 0, -1)  # [I, size, size, O]
    flat = jnp.moveaxis(weight, 0, 2).reshape(-1, weight.shape[-1])
    bias: Any = layer.bias
    return jnp.concatenate(around, axis=-1) @ flat + bias.reshape(1, 1, -1)


def pooled(image: Float[Array, "H W O"]) -> Float[Array, "h w O"]:
    """Return the maximum of every 2 x 2 pixels; an odd last row or column is lost."""
    height, width = image.shape[0] // 2 * 2, image.shape[1] // 2 * 2
    corners = [image[i:height:2, j:width:2] for i in (0, 1) for j in (0, 1)]
    return jnp.stack(corners).max(0)


class Perceptron(eqx.Module):
    """Linear layers; between them relu and dropout."""

    layers: tuple[eqx.nn.Linear, ...]
    dropout: eqx.nn.Dropout

    @classmethod
    def drawn(
        cls, sizes: tuple[int, ...], dropout: float, rng: np.random.Generator
    ) -> "Perceptron":
        """Return layers between these numbers of units."""
        layers = tuple(linear(*pair, rng) for pair in pairwise(sizes))
        return cls(layers, eqx.nn.Dropout(dropout))

    def __call__(self, x: Float[Array, " D"], *, key: Any = None) -> Float[Array, " C"]:
        """Return the logits of one item."""
        *hidden, last = self.layers
        for i, layer in enumerate(hidden):
            own = None if key is None else jax.random.fold_in(key, i)
            x = self.dropout(jax.nn.relu(layer(x)), key=own)
        return last(x)


class Convolutional(eqx.Module):
    """Convolutions with relu, each halving the image, then a :class:`Perceptron`."""

    convolutions: tuple[eqx.nn.Conv2d, ...]
    top: Perceptron
    shape: tuple[int, int, int] = eqx.field(static=True)
    pool: bool = eqx.field(static=True)

    @classmethod
    def drawn(
        cls,
        spec: ConvNet,
        shape: tuple[int, ...],
        n_classes: int,
        rng: np.random.Generator,
    ) -> "Convolutional":
        """Return the network that the record describes."""
        height, width, n_channels = shape
        numbers = (n_channels, *spec.channels)
        convolutions = tuple(
            convolution(*pair, spec.kernel, rng) for pair in pairwise(numbers)
        )
        n_times = len(spec.channels)
        n_flat = (height >> n_times) * (width >> n_times) * numbers[-1]
        sizes = (n_flat, spec.hidden, n_classes)
        top = Perceptron.drawn(sizes, float(spec.dropout), rng)
        return cls(convolutions, top, (height, width, n_channels), bool(spec.pool))

    def __call__(self, x: Float[Array, " D"], *, key: Any = None) -> Float[Array, " C"]:
        """Return the logits of one item."""
        image = x.reshape(self.shape)
        for layer in self.convolutions:
            if self.pool:
                image = pooled(jax.nn.relu(convolved(layer, image, 1)))
            else:
                # Without an odd last row or column, as pooling has it.
                height, width = (n // 2 * 2 for n in image.shape[:2])
                image = jax.nn.relu(convolved(layer, image[:height, :width], 2))
        return self.top(jnp.moveaxis(image, -1, 0).ravel(), key=key)


class WithHead(eqx.Module):
    """A network and a linear layer on top of it, which makes its outputs logits."""

    body: Any
    head: eqx.nn.Linear

    def __call__(self, x: Float[Array, " D"], *, key: Any = None) -> Float[Array, " C"]:
        """Return the logits of one item."""
        return self.head(self.body(x, key=key))


# -- any module --------------------------------------------------------------------


def made_module(spec: Any, n_features: int, n_classes: int, key: Any) -> eqx.Module:
    """Return the module of a setting: drawn from a record or a function, or given."""
    if isinstance(spec, eqx.Module):
        module = spec
    elif hasattr(spec, "module"):
        module = spec.module(n_features, n_classes, key)
    else:
        module = spec(n_features, n_classes, key)
    module = jax.tree.map(as_32_bits, module)
    check_module(module, n_features, n_classes)
    return module


def as_32_bits(leaf: Any) -> Any:
    """Return an array of real numbers with 32 bits; anything else as it is."""
    return np.asarray(leaf, FLOAT) if eqx.is_inexact_array(leaf) else leaf


def check_module(module: Any, n_features: int, n_classes: int) -> None:
    """Refuse a module that does not make C logits from one row."""
    row = jax.ShapeDtypeStruct((n_features,), FLOAT)
    try:
        out = eqx.filter_eval_shape(lambda m, x, k: m(x, key=k), module, row, KEY)
    except Exception as error:
        raise InputError(
            f"the network could not be called as network(x, key=key) with a row x of "
            f"{n_features} features: {type(error).__name__}: {error}"
        ) from None
    if getattr(out, "shape", None) != (n_classes,):
        raise InputError(
            f"the network returns {getattr(out, 'shape', type(out).__name__)} for one "
            f"row; expected {n_classes} logits, one for each class."
        )


def split(module: eqx.Module) -> tuple[Any, Any]:
    """Return the arrays that are learned, and the rest."""
    return eqx.partition(module, eqx.is_inexact_array)


def outputs(
    weights: Any, rest: Any, X: Float[Array, "B D"], key: Any = None
) -> Float[Array, "B C"]:
    """Return what the network makes of every row; dropout only where there is a key."""
    module = eqx.combine(weights, rest)
    if key is None:
        return jax.vmap(eqx.nn.inference_mode(module))(X)
    keys = jax.random.split(key, len(X))
    return jax.vmap(lambda x, k: module(x, key=k))(X, keys)


def log_proba(
    weights: Any, rest: Any, X: Float[Array, "B D"], key: Any = None
) -> Float[Array, "B C"]:
    """Log p(z | x) = log softmax of the logits."""
    return jax.nn.log_softmax(outputs(weights, rest, X, key))


predicted = eqx.filter_jit(log_proba)


def predicted_in_pieces(
    weights: Any, rest: Any, features: FeatureSource
) -> Float[np.ndarray, "N C"]:
    """Return log p(z | x) of all items, in pieces of few shapes."""
    found = []
    for _, X in features.pieces():
        full: Any = filled(X, features.n_items)
        said = predicted(weights, rest, full)
        found.append(np.asarray(said)[: len(X)])  # cut by NumPy: nothing to compile
    return np.concatenate(found).astype(np.float64)


def fitted_log_proba(
    network: Network, X: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, "N C"]:
    """Return log p(z | x) of new items, with the temperature."""
    with jax.enable_x64(False):
        shape = X.shape[1], network.n_classes
        # What it draws is replaced.
        drawn, rest = split(made_module(network.architecture, *shape, KEY))
        structure = jax.tree.structure(drawn)
        weights = jax.tree.unflatten(structure, list(network.weights.values()))
        features = InMemory(network.scaling.apply(X, "float32"))
        said = predicted_in_pieces(weights, rest, features)
    return tempered(said, network.temperature)
