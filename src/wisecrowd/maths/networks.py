"""Networks as small records: what they are made of, and what was learned.

The records hold numbers and NumPy arrays only, so a model with a network can be saved
without pickle, and loading it needs no JAX. The Equinox modules that they describe are
in :mod:`wisecrowd.maths.deep.modules`.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import isqrt, prod
from typing import Annotated, Any, NamedTuple

import numpy as np

from wisecrowd._checks import InputError, number, whole_number
from wisecrowd._records import POSITIVE, WEIGHT, Limits, Sizes, record
from wisecrowd._types import Array
from wisecrowd.maths.scaling import Scaling

UNITS = Limits(least=1.0)


@record
@dataclass(frozen=True)
class MLP:
    """Layers of relu units with dropout, then one linear layer.

    Parameters
    ----------
    hidden : tuple of int
        Units of each hidden layer; none makes a multinomial regression.
    dropout : float
        The share of hidden units that a training step leaves out.

    Examples
    --------
    >>> MLP(hidden=(64, 32))
    MLP(hidden=(64, 32), dropout=0.5)
    """

    hidden: Annotated[tuple[int, ...], UNITS] = (128,)
    dropout: float | int = 0.5

    def module(self, n_features: int, n_classes: int, key: Any) -> Any:
        """Return the Equinox module, with weights drawn by the key."""
        from wisecrowd.maths.deep.modules import Perceptron

        for units in self.hidden:
            whole_number(units, "a number in hidden")
        check_dropout(self.dropout)
        sizes = (n_features, *self.hidden, n_classes)
        return Perceptron.drawn(sizes, float(self.dropout), generator(key))

    def shapes(self, n_features: int, n_classes: int) -> list[tuple[int, ...]]:
        """Return the shapes of the module's arrays, without making it."""
        return linear_shapes(n_features, *self.hidden, n_classes)


@record
@dataclass(frozen=True)
class ConvNet:
    """A small convolutional network for images, whose pixels are the features.

    Each convolution has relu units and halves height and width. Then come a hidden
    layer with dropout and a linear layer.

    Parameters
    ----------
    shape : (int, int) or (int, int, int)
        Height, width and, last, channels of an image. A row of X has its pixels in
        the order of ``image.ravel()``.
    channels : tuple of int
        Units of each convolution.
    kernel : int
        Height and width of a convolution.
    hidden : int
        Units of the hidden layer.
    dropout : float
        The share of hidden units that a training step leaves out.
    pool : bool
        Whether a convolution looks at every pixel and is followed by the maximum over
        2 x 2 of them. Otherwise it looks at every second pixel, five times as fast.

    Examples
    --------
    >>> ConvNet(shape=(28, 28), channels=(8, 16)).hidden
    128
    """

    shape: Annotated[tuple[int, ...], UNITS] = (28, 28)
    channels: Annotated[tuple[int, ...], UNITS] = (16, 32)
    kernel: Annotated[int, UNITS] = 5
    hidden: Annotated[int, UNITS] = 128
    dropout: float | int = 0.5
    pool: bool = True

    def module(self, n_features: int, n_classes: int, key: Any) -> Any:
        """Return the Equinox module, with weights drawn by the key."""
        from wisecrowd.maths.deep.modules import Convolutional

        check_dropout(self.dropout)
        shape = tuple(self.shape) if len(self.shape) == 3 else (*self.shape, 1)
        if len(shape) != 3 or prod(shape) != n_features:
            raise InputError(
                f"ConvNet(shape={self.shape!r}) has images of {prod(shape)} numbers, "
                f"but X has {n_features} features. Give shape=(height, width) or "
                f"(height, width, channels)."
            )
        if min(shape[:2]) >> len(self.channels) < 1:
            raise InputError(
                f"images of {shape[0]} x {shape[1]} pixels are too small for "
                f"{len(self.channels)} convolutions, each of which halves them. Give "
                f"ConvNet fewer channels, or network='mlp' if X has no images."
            )
        return Convolutional.drawn(self, shape, n_classes, generator(key))

    def shapes(self, n_features: int, n_classes: int) -> list[tuple[int, ...]]:
        """Return the shapes of the module's arrays, without making it."""
        height, width, depth = (*self.shape, 1, 1, 1)[:3]
        channels, n_halved = (depth, *self.channels), len(self.channels)
        flat = (height >> n_halved) * (width >> n_halved) * channels[-1]
        shapes: list[tuple[int, ...]] = []
        for n_in, n_out in pairwise(channels):
            shapes += [(n_out, n_in, self.kernel, self.kernel), (n_out, 1, 1)]
        return shapes + linear_shapes(flat, self.hidden, n_classes)


def linear_shapes(*n_units: int) -> list[tuple[int, ...]]:
    """Return the shapes of the matrices and biases between layers of units."""
    return [shape for n_in, n in pairwise(n_units) for shape in ((n, n_in), (n,))]


def generator(key: Any) -> np.random.Generator:
    """Return a source of random numbers for a key of JAX, two whole numbers."""
    return np.random.default_rng(np.asarray(key))


def check_dropout(dropout: float | int) -> None:
    """Refuse a share that is none."""
    number(dropout, "dropout", "at least 0 and below 1", lambda v: 0 <= v < 1)


def as_network(spec: Any, n_features: int) -> Any:
    """Return a record, a module or a function from a setting.

    "mlp" is ``MLP()``; "conv" is ``ConvNet`` for square images of one channel.
    """
    if spec == "mlp":
        return MLP()
    if isinstance(spec, str) and spec == "conv":
        side = isqrt(n_features)
        if side * side != n_features:
            raise InputError(
                f"network='conv' takes square images, but {n_features} features are "
                f"none. Give network=ConvNet(shape=(height, width)), or network='mlp' "
                f"if X has no images."
            )
        return ConvNet(shape=(side, side))
    if isinstance(spec, MLP | ConvNet) or (
        callable(spec) and not isinstance(spec, type)
    ):
        return spec
    raise InputError(
        f"network={spec!r} is not a network. Give 'mlp', 'conv', a record such as "
        f"MLP(hidden=(64,)), an Equinox module, or a function (n_features, n_classes, "
        f"key) that returns one."
    )


@record
class Network(NamedTuple):
    """A fitted network.

    Attributes
    ----------
    architecture : MLP, ConvNet, module or function
        What it is made of.
    weights : dict of arrays
        Its parameters by their number among the module's leaves.
    n_classes : int
        C.
    scaling : Scaling
        From the user's units to the model's.
    temperature : float
        What the logits are divided by.
    """

    architecture: Annotated[Any, MLP | ConvNet]  # in a file; else any module too
    weights: Annotated[dict[str, Array], WEIGHT]
    n_classes: Annotated[int, "C"]
    scaling: Scaling
    temperature: Annotated[float, POSITIVE]

    def unfit(self, sizes: Sizes) -> str:
        """Return what is wrong with a network from a file."""
        expected = self.architecture.shapes(sizes["D"], sizes["C"])
        found = [values.shape for values in self.weights.values()]
        return "" if found == expected else "weights do not fit the architecture"

    def log_proba(self, X: Array) -> Array:
        """Return log p(z | x) of items in the user's units, (n, C)."""
        from wisecrowd.maths.deep.modules import fitted_log_proba

        return fitted_log_proba(self, X)
