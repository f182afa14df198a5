"""From latent functions to classes: robust max and softmax.

Both links are seen as a few *states* of f, each with a weight and with the class
probabilities that hold in it: for robust max the states are "f_i is the largest", for
softmax they are samples of f. Every expectation over f is then a weighted sum.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.stats import norm, qmc

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
    # Below `low` the largest is not (it beats every class); above `high` nothing is.
    low = jax.lax.stop_gradient((mean - REACH * spread).max(1, keepdims=True))
    high = jax.lax.stop_gradient((mean + REACH * spread).max(1, keepdims=True))
    node = jnp.asarray((np.arange(N_GRID) + 0.5) / N_GRID, mean.dtype)
    t = low + (high - low) * node[None, :]  # [B, S]
    x = (t[:, None, :] - mean[:, :, None]) / spread[:, :, None]  # [B, C, S]
    # x >= -REACH, so neither the logarithm nor the ratio meets a zero.
    log_below = jnp.log(0.5 * jax.scipy.special.erfc(-x * float(np.sqrt(0.5))))
    log_largest = log_below.sum(1, keepdims=True)
    density = jnp.exp(log_largest - log_below - 0.5 * x * x).sum(-1) / spread
    return density / density.sum(1, keepdims=True)


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


def normal_nodes(n_nodes: int, n_classes: int) -> np.ndarray:
    """Return points of a standard normal, evenly spread (Sobol) and in mirror pairs."""
    half = qmc.Sobol(n_classes, scramble=True, rng=0).random(n_nodes // 2)
    points = norm.ppf(np.clip(half, 1e-6, 1 - 1e-6))
    return np.concatenate([points, -points])


# -- what the states say about the class of an item ---------------------------------


def predictive(states: States) -> Float[Array, "B C"]:
    """p(z) = Σ_s w_s p(z | s)."""
    return (states.weight[:, :, None] * jnp.exp(states.log_proba)).sum(1)


def mean_log_proba(states: States) -> Float[Array, "B C"]:
    """E_f[log p(z | f)] = Σ_s w_s log p(z | s)."""
    return (states.weight[:, :, None] * states.log_proba).sum(1)
