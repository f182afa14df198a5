"""The model of SVGPCR and its bound.

p(y = k | z = c, annotator a) = R[a, c, k];  R[a, c, :] ~ Dir(α[c, :]);
p(z | f) is robust max or softmax;  f_c ~ GP(0, kernel), inducing values u_c.

What the annotators say about an item reaches the Gaussian process as one row, its
*evidence* Σ E log R[a, c, y]; this file knows nothing else about them.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from wisecrowd.maths.gp import class_posterior, kernels, links, sparse_gp


class Recipe(NamedTuple):
    """What is fixed while fitting; hashable, so that a step is compiled for it once."""

    kernel: kernels.Kernel
    link: links.Link
    family: class_posterior.Family
    shared: bool
    n_items: int
    jitter: float = sparse_gp.JITTER


class Hyper(NamedTuple):
    """The kernel's parameters (leading axis: 1 or C) and the inducing points.

    The points are where the kernel compares them: under a network, E is the number of
    its outputs; otherwise it is D.
    """

    kernel: kernels.Params
    inducing: Float[Array, "M E"]


class Batch(NamedTuple):
    """Some items: their features and what the annotators say about them."""

    X: Float[Array, "B D"]
    evidence: Float[Array, "B C"]


class Divergence(NamedTuple):
    """What the skills of the annotators cost: two numbers that no item changes."""

    kl_annotators: Float[Array, ""]
    log_hyperprior: Float[Array, ""]


class Bound(NamedTuple):
    """The terms of the bound, each with its sign in `total`."""

    answers: Float[Array, ""]  # E log p(y | z, R)
    features: Float[Array, ""]  # E log p(z | f)
    entropy: Float[Array, ""]  # of q(z | f), or of the paper's q(z)
    kl_gp: Float[Array, ""]
    kl_annotators: Float[Array, ""]
    log_hyperprior: Float[Array, ""]  # 0 unless the annotators' prior is learned

    @property
    def total(self) -> Any:
        """Return the bound itself: a number of JAX or of NumPy, as the terms are."""
        gained = self.answers + self.features + self.entropy + self.log_hyperprior
        return gained - self.kl_gp - self.kl_annotators


def projections(
    recipe: Recipe, hyper: Hyper, X: Float[Array, "B D"]
) -> tuple[Float[Array, "P M B"], Float[Array, "P B"]]:
    """Return the projection on the inducing points for every kernel (one, or C).

    A network under the kernel is the same for all of them, and is run once.
    """
    kernel, own, points = recipe.kernel.inner(hyper.kernel, X)

    def one(params: kernels.Params) -> tuple[Array, Array]:
        return sparse_gp.projection(
            kernel, params, hyper.inducing, points, recipe.jitter
        )

    return jax.lax.map(one, own)


def latent(
    recipe: Recipe, natural: sparse_gp.Natural, hyper: Hyper, X: Float[Array, "B D"]
) -> sparse_gp.Latent:
    """q(f) at every point."""
    moments = sparse_gp.to_moments(natural)
    return sparse_gp.latent_moments(moments, *projections(recipe, hyper, X))


def item_terms(
    recipe: Recipe,
    latent: sparse_gp.Latent,
    evidence: Float[Array, "B C"],
    epsilon: Float[Array, ""],
) -> class_posterior.ItemTerms:
    """Return what every item adds to the bound, given q(f) at the item."""
    states = recipe.link.states(*latent, epsilon)
    return class_posterior.item_terms(recipe.family, states, evidence)


def bound(
    recipe: Recipe,
    terms: class_posterior.ItemTerms,
    kl_gp: Float[Array, ""],
    divergence: Divergence,
) -> Bound:
    """Return the bound, estimated from the items at hand.

    Its mean over an equal partition of the items is exact. The divergences belong to
    what all items share: they are not scaled by N / B.
    """
    scale = recipe.n_items / terms.answers.shape[0]
    # In 64 bits, as the divergences are: thousands of items would round in 32.
    sums = (scale * term.sum(dtype=jnp.float64) for term in terms)
    answers, features, entropy = sums
    return Bound(answers, features, entropy, kl_gp, *divergence)


def starting_kernel(recipe: Recipe, n_features: int, n_classes: int) -> kernels.Params:
    """Return the kernel's parameters to begin with, stacked along the classes."""
    n_kernels = 1 if recipe.shared else n_classes
    return recipe.kernel.stacked(recipe.kernel.start(n_features), n_kernels)
