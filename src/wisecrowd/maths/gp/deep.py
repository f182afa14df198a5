"""A covariance of the output of a network, k(g(x), g(y)).

The network g is part of the kernel: its weights are parameters like a length-scale.
Inducing points live in the space of its output, which has few coordinates. The network
runs in 32 bits, once per batch.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from wisecrowd._checks import InputError, number, whole_number
from wisecrowd._records import record
from wisecrowd.maths.deep.modules import KEY, made_module, outputs, split
from wisecrowd.maths.gp.kernels import (
    Covariance,
    Kernel,
    Others,
    Params,
    Points,
    as_kernel,
)
from wisecrowd.maths.networks import as_network

MANY = 20_000
"""Items. With fewer, a step of the network is shorter in proportion: a few hundred
steps are many passes then, without dropout, and the bound prefers to remember items (on
LabelMe, with 1,000 items, full steps cost .03 of accuracy)."""


@record
@dataclass(frozen=True)
class Deep(Kernel):
    """A kernel on the output of a network: k(x, y) = kernel(g(x), g(y)).

    Parameters
    ----------
    network : "mlp", "conv", MLP, ConvNet or function
        "mlp" is ``MLP()``, "conv" is ``ConvNet`` for square images. A function
        (n_features, n_outputs, key) returns an Equinox module.
    kernel : str or Kernel
        The kernel on the output.
    n_outputs : int
        Coordinates of the output.
    pace : float
        The step size of the network, as a share of `learning_rate`; less with fewer
        than 20,000 items. 0: the network stays as it was trained before the Gaussian
        process.

    Examples
    --------
    >>> Deep(n_outputs=4)
    Deep(network='mlp', kernel='se', n_outputs=4, pace=0.005)
    """

    network: Any = "mlp"
    kernel: Any = "se"
    n_outputs: int = 64
    pace: float | int = 0.005

    embeds = True

    def check(self, n_features: int) -> None:
        """Refuse settings that make no network, before anything is learned."""
        whole_number(self.n_outputs, "n_outputs")
        number(self.pace, "pace", "at least 0", lambda v: 0 <= v < np.inf)
        if isinstance(self.network, eqx.Module):
            raise InputError(
                "Deep takes no module itself, because what is compiled is found again "
                "by the kernel. Give a function (n_features, n_outputs, key) that "
                "returns the module."
            )
        if self.base.embeds:
            raise InputError("Deep(kernel=...) cannot be Deep again.")
        as_network(self.network, n_features)

    @property
    def base(self) -> Kernel:
        """The kernel on the output."""
        return as_kernel(self.kernel)

    def n_embedded(self, n_features: int) -> int:
        """Return the number of outputs."""
        return self.n_outputs

    def module(self, n_features: int, key: Any) -> eqx.Module:
        """Return the network, with weights drawn by the key."""
        network = as_network(self.network, n_features)
        return made_module(network, n_features, self.n_outputs, key)

    def start(self, n_features: int) -> Params:
        """Return a drawn network whose output is taken as it is."""
        weights, _ = split(self.module(n_features, KEY))
        nothing, one = np.zeros(self.n_outputs, np.float32), np.ones((), np.float32)
        return self.with_network(weights, nothing, one)

    def with_network(self, weights: Any, centre: Any, spread: Any) -> Params:
        """Return the parameters for these weights, and the kernel's own start."""
        named = {str(i): jnp.asarray(w) for i, w in enumerate(jax.tree.leaves(weights))}
        units = {"centre": jnp.asarray(centre), "spread": jnp.asarray(spread)}
        return {
            "network": named,
            "units": units,
            "kernel": self.base.start(self.n_outputs),
        }

    def embedded(self, params: Params, X: Float[Array, "B D"]) -> Float[Array, "B E"]:
        """(g(x) − centre) / spread: the output in units that stay as they are."""
        drawn, rest = structure(self, X.shape[1])
        weights = jax.tree.unflatten(drawn, list(in_order(params["network"])))
        units = jax.lax.stop_gradient(params["units"])
        out = outputs(weights, rest, X.astype(units["centre"].dtype))
        return ((out - units["centre"][None]) / units["spread"]).astype(X.dtype)

    def inner(
        self, params: Params, X: Float[Array, "B D"]
    ) -> tuple[Kernel, Params, Float[Array, "B E"]]:
        """Return the kernel on the output, its parameters, and the output."""
        return self.base, params["kernel"], self.embedded(params, X)

    def stacked(self, params: Params, n_kernels: int) -> Params:
        """Return one network under several kernels."""
        return params | {"kernel": self.base.stacked(params["kernel"], n_kernels)}

    def paced(self, direction: Params, n_items: int) -> Params:
        """Return small steps for the network, and smaller ones where items are few."""
        pace = float(self.pace) * min(1.0, n_items / MANY)
        slow = jax.tree.map(lambda d: pace * d, direction["network"])
        return direction | {"network": slow}

    def __call__(self, params: Params, X: Points, Y: Others) -> Covariance:
        """Return the covariance of every pair of points in the space of features."""
        left, right = (self.embedded(params, points) for points in (X, Y))
        return self.base(params["kernel"], left, right)

    def diagonal(self, params: Params, X: Points) -> Float[Array, " B"]:
        """Return the variance at every point."""
        return self.base.diagonal(params["kernel"], self.embedded(params, X))


def in_order(named: dict[str, Any]) -> list[Any]:
    """Return the weights by their numbers: a pytree has its keys as text, sorted."""
    return [named[str(i)] for i in range(len(named))]


@lru_cache(maxsize=32)
def structure(kernel: Deep, n_features: int) -> tuple[Any, Any]:
    """Return how the weights make a module, and what remains of it without them."""
    drawn, rest = split(kernel.module(n_features, KEY))
    return jax.tree.structure(drawn), rest


@partial(jax.jit, static_argnames="kernel")
def embedded(
    kernel: Deep, params: Params, X: Float[Array, "B D"]
) -> Float[Array, "B E"]:
    """Return the network's output, compiled."""
    return kernel.embedded(params, X)
