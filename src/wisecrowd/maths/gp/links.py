"""From latent functions to classes: robust max and softmax.

Both links are seen as a few *states* of f, each with a weight and with the class
probabilities that hold in it: for robust max the states are "f_i is the largest", for
softmax they are samples of f. Every expectation over f is then a weighted sum.
"""

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.stats import norm, qmc

from wisecrowd._checks import InputError, number, one_of, whole_number
from wisecrowd._records import Limits, record

N_GRID = 48  # nodes of the integral in largest_proba; see tests for its error
REACH = 6.0  # standard deviations that the integral covers


class States(NamedTuple):
    """What f can be: weights [B, S] that sum to one, log p(z | state) [B, S, C]."""

    weight: Float[Array, "B S"]
    log_proba: Float[Array, "#B S C"]


def largest_proba(
    mean: Float[Array, "B C"], var: Float[Array, "B C"]
) -> Float[Array, "B C"]:
    """P(f_c is the largest) for independent Gaussians f_c.

    With F = Π Φ_j, the distribution of the largest, it is ∫ φ_c(t)/Φ_c(t) F(t) dt: all
    classes share one grid, so an item costs C · S error functions instead of the
    C · C · S of a quadrature for each class. The rule is the midpoint rule, whose error
    for Gaussians vanishes faster than any power of the spacing.
    """
    spread = jnp.sqrt(var)
    t, width = jax.lax.stop_gradient(_grid(mean, spread))  # [B, S]
    x = (t[:, None, :] - mean[:, :, None]) / spread[:, :, None]  # [B, C, S]
    # x >= -REACH, so neither the logarithm nor the ratio meets a zero.
    log_below = jnp.log(0.5 * jax.scipy.special.erfc(-x * float(np.sqrt(0.5))))
    log_largest = log_below.sum(1, keepdims=True)
    inside = jnp.exp(log_largest - log_below - 0.5 * x * x) * width[:, None, :]
    density = inside.sum(-1) / spread
    return density / density.sum(1, keepdims=True)


def _grid(
    mean: Float[Array, "B C"], spread: Float[Array, "B C"]
) -> tuple[Float[Array, "B S"], Float[Array, "B S"]]:
    """Return where to look for the largest, and the width of each step.

    Below `low` the largest is not, as some class is above it; above `high` nothing is.
    A class of small spread that matters is never far above `low`. So the steps begin
    there, as small as the smallest spread needs, and grow by a constant factor.
    """
    low = (mean - REACH * spread).max(1, keepdims=True)
    high = (mean + REACH * spread).max(1, keepdims=True)
    matters = mean + REACH * spread > low
    smallest = jnp.where(matters, spread, jnp.inf).min(1, keepdims=True)
    # k such that about k / (e^k - 1) = 3 REACH smallest / (high - low), or 0.
    log_ratio = jnp.log(jnp.maximum((high - low) / (3 * REACH * smallest), 1))
    growth = jnp.maximum(log_ratio + jnp.log1p(log_ratio), 1e-3)
    node = jnp.asarray((np.arange(N_GRID) + 0.5) / N_GRID, mean.dtype)[None, :]
    t = low + (high - low) * jnp.expm1(growth * node) / jnp.expm1(growth)
    return t, jnp.exp(growth * (node - 1))


def robust_max_states(
    mean: Float[Array, "B C"], var: Float[Array, "B C"], epsilon: Float[Array, ""]
) -> States:
    """State i: f_i is the largest; z = i with 1 − ε, the others share ε."""
    return States(largest_proba(mean, var), robust_max_table(mean.shape[1], epsilon))


def robust_max_table(
    n_classes: int, epsilon: Float[Array, ""]
) -> Float[Array, "1 C C"]:
    """Return log p(z | f_i is the largest): log(1 − ε), or log(ε / (C − 1))."""
    same = jnp.eye(n_classes, dtype=bool)
    miss = jnp.log(epsilon / (n_classes - 1))
    return jnp.where(same, jnp.log1p(-epsilon), miss)[None]


def softmax_states(
    mean: Float[Array, "B C"], var: Float[Array, "B C"], nodes: Float[Array, "S C"]
) -> States:
    """States f = mean + √var · node of equal weight; log p(z | f) = log softmax(f)."""
    f = mean[:, None, :] + jnp.sqrt(var)[:, None, :] * nodes[None]
    weight = jnp.full((mean.shape[0], nodes.shape[0]), 1 / nodes.shape[0], mean.dtype)
    return States(weight, jax.nn.log_softmax(f, axis=-1))


@cache
def normal_nodes(n_nodes: int, n_classes: int) -> np.ndarray:
    """Return points of a standard normal, evenly spread (Sobol) and in mirror pairs."""
    half = qmc.Sobol(n_classes, scramble=True, rng=0).random(n_nodes // 2)
    points = norm.ppf(np.clip(half, 1e-6, 1 - 1e-6))
    return np.concatenate([points, -points])


# -- the links as settings -----------------------------------------------------------


@record
@dataclass(frozen=True)
class Softmax:
    """p(z = c | f) = e^{f_c} / Σ_j e^{f_j}: classes may overlap.

    Parameters
    ----------
    n_samples : int
        States of f: evenly spread samples, in mirror pairs.
    """

    n_samples: Annotated[int, Limits(most=100_000)] = 32
    epsilon: ClassVar[None] = None  # softmax has none

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        whole_number(self.n_samples, "n_samples", least=2)

    def states(
        self, mean: Float[Array, "B C"], var: Float[Array, "B C"], epsilon: Any
    ) -> States:
        """Return the states of f; `epsilon` does not count."""
        nodes = normal_nodes(self.n_samples, mean.shape[1])
        return softmax_states(mean, var, jnp.asarray(nodes, mean.dtype))


@record
@dataclass(frozen=True)
class RobustMax:
    """1 − ε for the class with the largest f; the other classes share ε.

    Parameters
    ----------
    epsilon : "learn" or float
        The share of items whose class is not the one with the largest f.
    """

    epsilon: float | int | str = "learn"

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        if self.epsilon != "learn":
            wanted = "'learn' or between 0 and 1"
            number(self.epsilon, "epsilon", wanted, lambda v: 0 < v < 1)

    def states(
        self,
        mean: Float[Array, "B C"],
        var: Float[Array, "B C"],
        epsilon: Float[Array, ""],
    ) -> States:
        """Return the states of f for this ε."""
        return robust_max_states(mean, var, epsilon)


Link = Softmax | RobustMax
LINKS = {"softmax": Softmax, "robustmax": RobustMax}
"""The links that have a name."""


def as_link(link: Any, epsilon: Any = None) -> Link:
    """Return a link from its name or from itself; `epsilon` belongs to robust max."""
    if not isinstance(link, Softmax | RobustMax):
        one_of(link, LINKS, "link")
        link = LINKS[link]()
    if epsilon is None:
        return link
    if isinstance(link, Softmax):
        raise InputError(
            f"epsilon={epsilon!r} belongs to robust max, and the link is softmax. "
            f"Leave epsilon out, or choose link='robustmax'."
        )
    return RobustMax(epsilon)


# -- what the states say about the class of an item ---------------------------------


def predictive(states: States) -> Float[Array, "B C"]:
    """p(z) = Σ_s w_s p(z | s)."""
    return (states.weight[:, :, None] * jnp.exp(states.log_proba)).sum(1)


def mean_log_proba(states: States) -> Float[Array, "B C"]:
    """E_f[log p(z | f)] = Σ_s w_s log p(z | s)."""
    return (states.weight[:, :, None] * states.log_proba).sum(1)
