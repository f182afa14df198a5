"""One compiled step: natural gradients for q(U), Adam for the rest."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from wisecrowd.maths import labels, links, sparse_gp
from wisecrowd.methods.svgpcr import model
from wisecrowd.methods.svgpcr.model import Batch, Hyper, Recipe


class State(NamedTuple):
    """All that moves while the Gaussian process learns."""

    natural: sparse_gp.Natural
    hyper: Hyper
    memory: optax.OptState


class Rates(NamedTuple):
    """How far a step goes: ρ of the natural gradient, learning rate of Adam."""

    natural: Float[Array, ""]
    adam: Float[Array, ""]


class Seen(NamedTuple):
    """What a step leaves: the terms of the bound and q(z) of its items."""

    labels: Float[Array, ""]
    features: Float[Array, ""]
    entropy: Float[Array, ""]
    proba: Float[Array, "B C"]
    agreement: Float[Array, " B"]


OPTIMISER = optax.scale_by_adam()


def start(natural: sparse_gp.Natural, hyper: Hyper) -> State:
    """Return the state before the first step."""
    return State(natural, hyper, OPTIMISER.init(hyper))


def step(
    recipe: Recipe, state: State, batch: Batch, epsilon: Float[Array, ""], rates: Rates
) -> tuple[State, Seen]:
    """Move q(U) along the natural gradient, kernel and inducing points by Adam."""
    moments = sparse_gp.to_moments(state.natural)

    def projections(hyper: Hyper) -> tuple[Array, Array]:
        return model.projections(recipe, hyper, batch.X)

    def gain(latent: sparse_gp.Latent) -> Float[Array, ""]:
        at = model.states(recipe, latent, epsilon)
        return labels.best_bound(at, batch.evidence, recipe.factorised).sum()

    (project, left), pull_back = jax.vjp(projections, state.hyper)
    latent = sparse_gp.latent_moments(moments, project, left)
    slope = jax.grad(gain)(latent)
    natural = _natural_update(recipe, state.natural, project, latent, slope, rates)
    (uphill,) = pull_back(sparse_gp.projection_slopes(moments, project, slope))
    with jax.numpy_dtype_promotion("standard"):  # Adam: a float to an integer power
        direction, memory = OPTIMISER.update(uphill, state.memory)
    hyper = jax.tree.map(lambda p, d: p + rates.adam * d, state.hyper, direction)
    at = model.states(recipe, latent, epsilon)
    terms = labels.label_terms(at, batch.evidence, recipe.factorised)
    seen = Seen(
        labels=terms.labels.sum(),
        features=terms.features.sum(),
        entropy=terms.entropy.sum(),
        proba=labels.label_proba(at, batch.evidence, recipe.factorised),
        agreement=agreement(recipe, at, batch),
    )
    return State(natural, hyper, memory), seen


def _natural_update(
    recipe: Recipe,
    natural: sparse_gp.Natural,
    project: Float[Array, "P M B"],
    latent: sparse_gp.Latent,
    slope: sparse_gp.Latent,
    rates: Rates,
) -> sparse_gp.Natural:
    """Return q(U) after a step; where robust max is not log-concave, a safer one.

    Items that look misclassified bend the bound upwards, and enough of them make a
    precision that is none. Then their curvature is left out of this step.
    """
    scale = recipe.n_items / latent.mean.shape[0]  # N / B

    def moved(slope: sparse_gp.Latent) -> sparse_gp.Natural:
        site = sparse_gp.site_parameters(project, latent, slope, scale)
        return sparse_gp.natural_step(natural, site, rates.natural)

    tried = moved(slope)
    safe = slope._replace(var=jnp.minimum(slope.var, 0))
    return jax.lax.cond(sparse_gp.is_valid(tried), lambda: tried, lambda: moved(safe))


def agreement(recipe: Recipe, at: links.States, batch: Batch) -> Float[Array, " B"]:
    """q(z is where f is the largest); one under softmax, which has no epsilon."""
    if recipe.link == "robustmax":
        return labels.agreement(at, batch.evidence, recipe.factorised)
    return jnp.ones(batch.X.shape[0], batch.X.dtype)


@partial(jax.jit, static_argnames="recipe", donate_argnames="state")
def steps(
    recipe: Recipe,
    state: State,
    data: Batch,
    rows: Int[Array, "T B"],
    epsilon: Float[Array, ""],
    rates: Rates,
) -> tuple[State, Seen]:
    """Take T steps, each on some rows of the data."""

    def one(state: State, at: tuple[Array, Rates]) -> tuple[State, Seen]:
        rows, rates = at
        batch = Batch(data.X[rows], data.evidence[rows])
        return step(recipe, state, batch, epsilon, rates)

    return jax.lax.scan(one, state, (rows, rates))
