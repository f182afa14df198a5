"""One compiled step: natural gradients for q(U), Adam for the rest."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from wisecrowd.maths.gp import class_posterior, links, sparse_gp
from wisecrowd.methods.svgpcr import model
from wisecrowd.methods.svgpcr.model import Batch, Hyper, Recipe


class State(NamedTuple):
    """All that moves while the Gaussian process learns."""

    natural: sparse_gp.Natural
    hyper: Hyper
    memory: optax.OptState


class Rates(NamedTuple):
    """How far a step goes: ρ of the natural gradient, learning rate of Adam."""

    natural: Float[Array, "*T"]
    adam: Float[Array, "*T"]


class Seen(NamedTuple):
    """What a step leaves about its items: q(z), and q(z is where f is the largest)."""

    proba: Float[Array, "B C"]
    agreement: Float[Array, " B"]


OPTIMISER = optax.scale_by_adam()


def start(natural: sparse_gp.Natural, hyper: Hyper) -> State:
    """Return the state before the first step."""
    return State(natural, hyper, OPTIMISER.init(hyper))


def step(
    recipe: Recipe, state: State, batch: Batch, epsilon: Float[Array, ""], rates: Rates
) -> tuple[State, Seen]:
    """Move q(U) along the natural gradient, kernel and inducing points by Adam.

    The slopes are those of `model.bound` by the mean and the variance of f.
    """
    moments = sparse_gp.to_moments(state.natural)

    def projections(hyper: Hyper) -> tuple[Array, Array]:
        return model.projections(recipe, hyper, batch.X)

    def gain(latent: sparse_gp.Latent) -> Float[Array, ""]:
        terms = model.item_terms(recipe, latent, batch.evidence, epsilon)
        return terms.total.sum()

    (project, left), pull_back = jax.vjp(projections, state.hyper)
    latent = sparse_gp.latent_moments(moments, project, left)
    slope = jax.grad(gain)(latent)
    natural = _natural_update(recipe, state.natural, project, latent, slope, rates)
    (uphill,) = pull_back(sparse_gp.projection_slopes(moments, project, slope))
    with jax.numpy_dtype_promotion("standard"):  # Adam: a float to an integer power
        direction, memory = OPTIMISER.update(uphill, state.memory)
    paced = recipe.kernel.paced(direction.kernel, recipe.n_items)
    direction = direction._replace(kernel=paced)
    hyper = jax.tree.map(
        lambda p, d: p + rates.adam.astype(d.dtype) * d, state.hyper, direction
    )
    return State(natural, hyper, memory), seen(recipe, latent, batch, epsilon)


def seen(
    recipe: Recipe, latent: sparse_gp.Latent, batch: Batch, epsilon: Float[Array, ""]
) -> Seen:
    """Return q(z) of the items; under softmax, which has no epsilon, agreement is 1."""
    states = recipe.link.states(*latent, epsilon)
    proba = class_posterior.label_proba(recipe.family, states, batch.evidence)
    if isinstance(recipe.link, links.RobustMax):
        same = class_posterior.agreement(recipe.family, states, batch.evidence)
    else:
        same = jnp.ones(proba.shape[0], proba.dtype)
    return Seen(proba, same)


def _natural_update(
    recipe: Recipe,
    natural: sparse_gp.Natural,
    project: Float[Array, "P M B"],
    latent: sparse_gp.Latent,
    slope: sparse_gp.Latent,
    rates: Rates,
) -> sparse_gp.Natural:
    """Return q(U) after a step; where robust max is not log-concave, a safer one.

    Items that look misclassified bend the bound upwards. If there are enough of them,
    the precision matrix would no longer be positive definite. Then their curvature is
    left out of this step.
    """
    scale = recipe.n_items / latent.mean.shape[0]  # N / B

    def moved(slope: sparse_gp.Latent) -> sparse_gp.Natural:
        site = sparse_gp.site_parameters(project, latent, slope, scale)
        return sparse_gp.natural_step(natural, site, rates.natural)

    tried = moved(slope)
    safe = slope._replace(var=jnp.minimum(slope.var, 0))
    return jax.lax.cond(sparse_gp.is_valid(tried), lambda: tried, lambda: moved(safe))


@partial(jax.jit, static_argnames="recipe")
def steps(
    recipe: Recipe,
    state: State,
    X: Float[Array, "T B D"],
    evidence: Float[Array, "T B C"],
    epsilon: Float[Array, ""],
    rates: Rates,
) -> tuple[State, Seen]:
    """Take T steps, each on a batch of its own."""

    def one(state: State, at: tuple[Array, Array, Rates]) -> tuple[State, Seen]:
        X, evidence, rates = at
        return step(recipe, state, Batch(X, evidence), epsilon, rates)

    return jax.lax.scan(one, state, (X, evidence, rates))


class Visited(NamedTuple):
    """What the model says about some items: their terms of the bound, and log p(z).

    `log_left_out` is the prediction for an item from the other items alone.
    """

    terms: class_posterior.ItemTerms
    log_left_out: Float[Array, "B C"]


@partial(jax.jit, static_argnames="recipe")
def visited(
    recipe: Recipe,
    state: State,
    batch: Batch,
    epsilon: Float[Array, ""],
    absorbed: Float[Array, ""],
) -> Visited:
    """Return the terms of some items, and their leave-one-out predictions.

    An item's own effect on f is a Gaussian site with the slopes of its term of the
    bound. Dividing it out of q(f), as far as q(f) has `absorbed` it, leaves the cavity
    of expectation propagation. Both are one function, because compiling two took
    longer than all else that they do.
    """
    project, left = model.projections(recipe, state.hyper, batch.X)
    moments = sparse_gp.to_moments(state.natural)
    latent = sparse_gp.latent_moments(moments, project, left)

    def gain(latent: sparse_gp.Latent) -> tuple[Float[Array, ""], Any]:
        terms = model.item_terms(recipe, latent, batch.evidence, epsilon)
        return terms.total.sum(), terms

    slope, terms = jax.grad(gain, has_aux=True)(latent)
    pull = jax.tree.map(lambda slope: absorbed * slope, slope)
    cavity = sparse_gp.cavity(latent, left, pull)
    proba = links.predictive(recipe.link.states(*cavity, epsilon))
    return Visited(terms, jnp.log(jnp.maximum(proba, jnp.finfo(proba.dtype).tiny)))


@partial(jax.jit, static_argnames="recipe")
def bound(
    recipe: Recipe,
    terms: class_posterior.ItemTerms,
    natural: sparse_gp.Natural,
    divergence: model.Divergence,
) -> model.Bound:
    """Return the bound, estimated from the terms of some items."""
    return model.bound(recipe, terms, sparse_gp.kl_to_prior(natural), divergence)
