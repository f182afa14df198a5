"""The model of SVGPCR and its bound.

p(y = k | z = c, annotator a) = R[a, c, k];  R[a, c, :] ~ Dir(α[c, :]);
p(z | f) is robust max or softmax;  f_c ~ GP(0, kernel), inducing values u_c.

What the annotators say of an item reaches the Gaussian process as one row, its
*evidence* Σ E log R[a, c, y]; this file knows nothing else of them.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from wisecrowd.maths import kernels, labels, links, sparse_gp


class Recipe(NamedTuple):
    """What is fixed while fitting; hashable, so that a step is compiled for it once."""

    kernel: kernels.Kernel
    link: str
    factorised: bool
    shared: bool
    n_items: int
    jitter: float


class Hyper(NamedTuple):
    """The kernel's parameters (leading axis: 1 or C) and the inducing points."""

    kernel: kernels.Params
    inducing: Float[Array, "M D"]


class Batch(NamedTuple):
    """Some items: their features and what the annotators say of them."""

    X: Float[Array, "B D"]
    evidence: Float[Array, "B C"]


class Bound(NamedTuple):
    """The five terms of the bound, each with its sign in `total`."""

    labels: Float[Array, ""]  # E log p(y | z, R)
    features: Float[Array, ""]  # E log p(z | f)
    entropy: Float[Array, ""]  # of q(z | f), or of the paper's q(z)
    kl_gp: Float[Array, ""]
    kl_annotators: Float[Array, ""]

    @property
    def total(self) -> Float[Array, ""]:
        """Return the bound itself."""
        gained = self.labels + self.features + self.entropy
        return gained - self.kl_gp - self.kl_annotators


N_SAMPLES = 32  # states of f under softmax


def states(
    recipe: Recipe, latent: sparse_gp.Latent, epsilon: Float[Array, ""]
) -> links.States:
    """Return the states of f under the chosen link."""
    if recipe.link == "robustmax":
        return links.robust_max_states(latent.mean, latent.var, epsilon)
    nodes = links.normal_nodes(N_SAMPLES, latent.mean.shape[1])
    return links.softmax_states(*latent, jnp.asarray(nodes, latent.mean.dtype))


def projections(
    recipe: Recipe, hyper: Hyper, X: Float[Array, "B D"]
) -> tuple[Float[Array, "P M B"], Float[Array, "P B"]]:
    """Return the projection on the inducing points for every kernel (one, or C)."""

    def one(params: kernels.Params) -> tuple[Array, Array]:
        return sparse_gp.projection(
            recipe.kernel, params, hyper.inducing, X, recipe.jitter
        )

    return jax.lax.map(one, hyper.kernel)


def latent(
    recipe: Recipe, natural: sparse_gp.Natural, hyper: Hyper, X: Float[Array, "B D"]
) -> sparse_gp.Latent:
    """q(f) at every point."""
    moments = sparse_gp.to_moments(natural)
    return sparse_gp.latent_moments(moments, *projections(recipe, hyper, X))


def bound(
    recipe: Recipe,
    natural: sparse_gp.Natural,
    hyper: Hyper,
    batch: Batch,
    epsilon: Float[Array, ""],
    kl_annotators: Float[Array, ""],
) -> Bound:
    """Return the bound, estimated from a batch: its mean over all batches is exact.

    Both divergences are of what all items share: they are not scaled by N / B.
    """
    at = states(recipe, latent(recipe, natural, hyper, batch.X), epsilon)
    terms = labels.label_terms(at, batch.evidence, recipe.factorised)
    scale = recipe.n_items / batch.X.shape[0]
    return Bound(
        labels=scale * terms.labels.sum(),
        features=scale * terms.features.sum(),
        entropy=scale * terms.entropy.sum(),
        kl_gp=sparse_gp.kl_to_prior(natural),
        kl_annotators=jnp.asarray(kl_annotators),
    )


def starting_kernel(recipe: Recipe, n_features: int, n_classes: int) -> kernels.Params:
    """Return the kernel's parameters to begin with, stacked along the classes."""
    params = recipe.kernel.start(n_features)
    n_kernels = 1 if recipe.shared else n_classes
    return jax.tree.map(lambda p: jnp.stack([p] * n_kernels), params)
