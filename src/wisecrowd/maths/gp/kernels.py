"""Covariance functions: a frozen recipe, and its parameters apart.

A kernel is a recipe that can be compared and compiled; its parameters are a dictionary
of arrays, logs of what must be positive. `start` gives the parameters for features
whose columns have about unit spread, `__call__` the covariance of two sets of points,
`diagonal` the variance at each point.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from wisecrowd._checks import InputError, one_of
from wisecrowd._records import record

Params: TypeAlias = dict[str, Any]
Points: TypeAlias = Float[Array, "B D"]
Others: TypeAlias = Float[Array, "M D"]
Covariance: TypeAlias = Float[Array, "B M"]


def squared_distance(X: Points, Y: Others) -> Covariance:
    """|x − y|² for all pairs, never below zero."""
    cross = X @ Y.T
    sums = (X * X).sum(1)[:, None] + (Y * Y).sum(1)[None, :]
    return jnp.maximum(sums - 2 * cross, 0)


class Kernel(ABC):
    """What every covariance function can do."""

    @abstractmethod
    def start(self, n_features: int) -> Params:
        """Return the parameters to begin with."""

    @abstractmethod
    def __call__(self, params: Params, X: Points, Y: Others) -> Covariance:
        """Return the covariance of every pair."""

    @abstractmethod
    def diagonal(self, params: Params, X: Points) -> Float[Array, " B"]:
        """Return the variance at every point."""

    # A kernel on the output of a network has its own ones of these: maths/gp/deep.py.
    embeds = False

    def check(self, n_features: int) -> None:
        """Refuse settings that do not suit the features."""
        return

    def n_embedded(self, n_features: int) -> int:
        """Return the number of coordinates of an inducing point."""
        return n_features

    def inner(
        self, params: Params, X: Points
    ) -> tuple["Kernel", Params, Float[Array, "B E"]]:
        """Return kernel, parameters and points in the space of inducing points."""
        return self, params, X

    def stacked(self, params: Params, n_kernels: int) -> Params:
        """Return the parameters of several kernels along a new first axis."""
        return jax.tree.map(lambda p: jnp.stack([p] * n_kernels), params)

    def paced(self, direction: Params, n_items: int) -> Params:
        """Return how far each parameter moves in a step of Adam, before the rate."""
        return direction

    def __add__(self, other: "Kernel") -> "Kernel":
        """Return the sum of two kernels: functions that add up."""
        return Sum(self, other)

    def __mul__(self, other: "Kernel") -> "Kernel":
        """Return the product of two kernels: similar in both senses."""
        return Product(self, other)


@record
@dataclass(frozen=True)
class Stationary(Kernel):
    """v · s(|x − y| / ℓ): similarity falls with distance.

    Parameters
    ----------
    shape : {"se", "matern32", "matern52"}
        How it falls.
    ard : bool
        A length-scale for every feature instead of one for all.
    """

    shape: str = "se"
    ard: bool = False

    def start(self, n_features: int) -> Params:
        """Return ℓ = √D, about the distance between points, and a wide v.

        Softmax begins with confident functions and learns to doubt; from v = 1 it
        would spend most of the fit on growing confident.
        """
        shape = (n_features,) if self.ard else ()
        log_scale = jnp.full(shape, 0.5 * np.log(n_features))
        # Of NumPy: a Python number is "weakly typed", and steps would compile thrice.
        return {"log_scale": log_scale, "log_variance": jnp.asarray(np.log(20.0))}

    def __call__(self, params: Params, X: Points, Y: Others) -> Covariance:
        """Return the covariance of every pair."""
        scale = jnp.atleast_1d(jnp.exp(params["log_scale"]))
        similar = SHAPES[self.shape](squared_distance(X / scale[None], Y / scale[None]))
        return jnp.exp(params["log_variance"]) * similar

    def diagonal(self, params: Params, X: Points) -> Float[Array, " B"]:
        """Return the variance, the same everywhere."""
        return jnp.full(X.shape[0], jnp.exp(params["log_variance"]), X.dtype)


@record
@dataclass(frozen=True)
class Linear(Kernel):
    """v · (1 + x·y / D): straight lines with an offset."""

    def start(self, n_features: int) -> Params:
        """Return v = 1."""
        return {"log_variance": jnp.zeros(())}

    def __call__(self, params: Params, X: Points, Y: Others) -> Covariance:
        """Return the covariance of every pair."""
        return jnp.exp(params["log_variance"]) * (1 + X @ Y.T / X.shape[1])

    def diagonal(self, params: Params, X: Points) -> Float[Array, " B"]:
        """Return the variance at every point."""
        return jnp.exp(params["log_variance"]) * (1 + (X * X).mean(1))


@dataclass(frozen=True)
class Pair(Kernel):
    """Two kernels of the same points."""

    left: Kernel
    right: Kernel

    def start(self, n_features: int) -> Params:
        """Return both starts."""
        return {
            "left": self.left.start(n_features),
            "right": self.right.start(n_features),
        }

    @staticmethod
    @abstractmethod
    def both(left: Any, right: Any) -> Any:
        """Return the sum or the product."""

    def __call__(self, params: Params, X: Points, Y: Others) -> Covariance:
        """Return the covariance of every pair."""
        left = self.left(params["left"], X, Y)
        return self.both(left, self.right(params["right"], X, Y))

    def diagonal(self, params: Params, X: Points) -> Float[Array, " B"]:
        """Return the variance at every point."""
        left = self.left.diagonal(params["left"], X)
        return self.both(left, self.right.diagonal(params["right"], X))


@record
class Sum(Pair):
    """The sum of two kernels."""

    @staticmethod
    def both(left: Any, right: Any) -> Any:
        """Return the sum."""
        return left + right


@record
class Product(Pair):
    """The product of two kernels."""

    @staticmethod
    def both(left: Any, right: Any) -> Any:
        """Return the product."""
        return left * right


@dataclass(frozen=True)
class Given(Kernel):
    """v · k(x, y), with a given function k of two points; only v is learned."""

    function: Callable[[Any, Any], Any]

    def start(self, n_features: int) -> Params:
        """Return v = 1."""
        return {"log_variance": jnp.zeros(())}

    def __call__(self, params: Params, X: Points, Y: Others) -> Covariance:
        """Return the covariance of every pair."""
        cov = jax.vmap(lambda x: jax.vmap(lambda y: self.function(x, y))(Y))(X)
        return jnp.exp(params["log_variance"]) * cov

    def diagonal(self, params: Params, X: Points) -> Float[Array, " B"]:
        """Return the variance at every point."""
        return jnp.exp(params["log_variance"]) * jax.vmap(
            lambda x: self.function(x, x)
        )(X)


def _safe_root(squared: Covariance) -> Covariance:
    """√r² whose gradient is zero, not infinite, at r = 0."""
    positive = jnp.where(squared > 0, squared, 1.0)
    return jnp.where(squared > 0, jnp.sqrt(positive), 0.0)


def _se(squared: Covariance) -> Covariance:
    """exp(−r²/2)."""
    return jnp.exp(-0.5 * squared)


def _matern32(squared: Covariance) -> Covariance:
    """(1 + √3 r) exp(−√3 r)."""
    r = _safe_root(3 * squared)
    return (1 + r) * jnp.exp(-r)


def _matern52(squared: Covariance) -> Covariance:
    """(1 + √5 r + 5r²/3) exp(−√5 r)."""
    r = _safe_root(5 * squared)
    return (1 + r + r * r / 3) * jnp.exp(-r)


SHAPES = {"se": _se, "matern32": _matern32, "matern52": _matern52}


def as_kernel(kernel: Any) -> Kernel:
    """Return a kernel from its name, from itself, or from a function of two points."""
    if isinstance(kernel, Kernel):
        check_whole(kernel)
        return kernel
    if callable(kernel):
        return Given(kernel)
    if kernel == DEEP:
        from wisecrowd.maths.gp.deep import Deep  # only who asks for it needs Equinox

        return Deep()
    one_of(kernel, (*KERNELS, DEEP), "kernel")
    return KERNELS[kernel]


def check_whole(kernel: Kernel) -> None:
    """Refuse sums and products with a network in them: points have one space."""
    for part in (getattr(kernel, side, None) for side in ("left", "right")):
        if part is None:
            continue
        if part.embeds:
            raise InputError(
                "a sum or product cannot have the part Deep, because inducing points "
                "are in the space of its network. Give the sum to the network: "
                "Deep(network, kernel=Linear() + Stationary('se'))."
            )
        check_whole(part)


DEEP = "deep"


KERNELS: dict[str, Kernel] = {
    "se": Stationary("se"),
    "se-ard": Stationary("se", ard=True),
    "matern32": Stationary("matern32"),
    "matern52": Stationary("matern52"),
    "linear": Linear(),
    "linear+se": Sum(Linear(), Stationary("se")),
}
"""The kernels that have a name."""
