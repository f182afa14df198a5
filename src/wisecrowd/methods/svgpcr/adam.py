"""The paper's inference: Adam for everything, from the votes.

q(Z) is a table with a row of logits per item, and the concentrations of the annotators
are parameters too. Neither has a closed-form update here. So q(Z) stays near the votes,
where the bound of the paper has a good maximum; its best one can have classes without
items (docs/theory.md, "Adam, as published").
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int
from threadpoolctl import threadpool_limits

from wisecrowd._checks import InputError
from wisecrowd._types import Array as Table
from wisecrowd.answers import Answers
from wisecrowd.base import Learned
from wisecrowd.fit import training
from wisecrowd.fit.checkpoint import Checkpoint
from wisecrowd.fit.flat_answers import flat_rows, room_for
from wisecrowd.fit.stochastic import Pace, Place, Watched
from wisecrowd.fit.trace import Trace
from wisecrowd.fit.training import Plan
from wisecrowd.maths import crowd
from wisecrowd.maths.deep.crowd_layers import Rows, per_item
from wisecrowd.maths.gp import class_posterior, dirichlet, links, sparse_gp
from wisecrowd.maths.gp.class_posterior import ItemTerms
from wisecrowd.methods.svgpcr import model
from wisecrowd.methods.svgpcr.ending import Ended
from wisecrowd.methods.svgpcr.model import (
    Bound,
    Data,
    Divergence,
    Hyper,
    Recipe,
    SparsePlan,
    SparseTask,
)
from wisecrowd.methods.svgpcr.start import starting_hyper, starting_points
from wisecrowd.methods.svgpcr.train import learned
from wisecrowd.skills import ConfusionMatrices

LATE, LATE_SHARE = 0.1, 1 / 3  # of the learning rate, and of the steps that have it
CHUNK = 20  # steps between two looks at the bound
VARIANCE = 2.0  # of the kernel, at the start
OPTIMISER = optax.scale_by_adam()


class AdamParams(NamedTuple):
    """All that Adam learns: q(w), kernel and inducing points, q(Z), annotators."""

    gp: sparse_gp.Rooted
    hyper: Hyper
    logits: Float[Array, "N C"]
    log_counts: Float[Array, "A C K"]


class AdamBatch(NamedTuple):
    """Some items: which they are, their features and their answers."""

    items: Int[Array, "*T B"]
    X: Float[Array, "*T B D"]
    rows: Rows


class AdamState(NamedTuple):
    """All that moves, a pytree of arrays: what a checkpoint holds.

    q(Z) and Adam's memory of it have a row per item: here they are learned.
    """

    params: AdamParams
    memory: optax.OptState
    jitter: float


# -- the bound and its slopes ---------------------------------------------------------


def item_terms(
    recipe: Recipe,
    latent: sparse_gp.Latent,
    logits: Float[Array, "N C"],
    log_counts: Float[Array, "A C K"],
    batch: AdamBatch,
) -> ItemTerms:
    """Return Σ q E log p(y | z, R), Σ q E log p(z | f) and −Σ q log q of every item.

    The q of an item whose class is gold is that class.
    """
    given = log_counts.dtype
    said = dirichlet.mean_log_of(
        jnp.exp(log_counts), batch.rows.annotator, batch.rows.answer
    )
    evidence = per_item(said, batch.rows, len(batch.items))
    log_q = jax.nn.log_softmax(logits[batch.items], axis=1)
    known = (batch.rows.gold >= 0)[:, None]
    one = jax.nn.one_hot(batch.rows.gold, log_q.shape[1], dtype=given)
    q = jnp.where(known, one, jnp.exp(log_q))
    epsilon = jnp.asarray(recipe.link.epsilon or 0.0, given)  # softmax has none
    expected = links.mean_log_proba(recipe.link.states(*latent, epsilon))
    return ItemTerms(
        answers=(q * evidence).sum(1),
        features=(q * expected).sum(1),
        entropy=-jnp.where(known, 0, q * log_q).sum(1),
    )


def bound(
    recipe: Recipe, params: AdamParams, prior: Float[Array, "#A C K"], batch: AdamBatch
) -> tuple[Bound, ItemTerms]:
    """Return the bound, eq. (ELBO) of the paper, and what each item of the batch adds.

    Its mean over an equal partition of the items is exact.
    """
    moments = sparse_gp.rooted_moments(params.gp)
    project = model.projections(recipe, params.hyper, batch.X)
    latent = sparse_gp.latent_moments(moments, *project)
    terms = item_terms(recipe, latent, params.logits, params.log_counts, batch)
    kl = dirichlet.kl(jnp.exp(params.log_counts), prior).sum(dtype=jnp.float64)
    cost = Divergence(kl, jnp.zeros((), jnp.float64))
    kl_gp = sparse_gp.rooted_kl_to_prior(params.gp)
    return model.bound(recipe, terms, kl_gp, cost), terms


def slopes(
    recipe: Recipe, params: AdamParams, prior: Float[Array, "#A C K"], batch: AdamBatch
) -> AdamParams:
    """Return the gradient of the total of :func:`bound`.

    That of q(w), kernel and inducing points goes through the slopes by mean and
    variance of f, as in `steps.step`: differentiating all at once takes twice as long.
    """
    scale = recipe.n_items / len(batch.items)  # N / B
    moments = sparse_gp.rooted_moments(params.gp)

    def projections(hyper: Hyper) -> tuple[Array, Array]:
        return model.projections(recipe, hyper, batch.X)

    def gain(latent: sparse_gp.Latent, logits: Array, log_counts: Array) -> Array:
        terms = item_terms(recipe, latent, logits, log_counts, batch)
        kl = dirichlet.kl(jnp.exp(log_counts), prior)
        return scale * terms.total.sum() - kl.sum()

    (project, left), pull_back = jax.vjp(projections, params.hyper)
    latent = sparse_gp.latent_moments(moments, project, left)
    slope, by_logits, by_counts = jax.grad(gain, argnums=(0, 1, 2))(
        latent, params.logits, params.log_counts
    )
    site = sparse_gp.site_parameters(project, latent, slope, 1.0)
    (by_hyper,) = pull_back(sparse_gp.projection_slopes(moments, project, slope))
    by_gp = sparse_gp.rooted_slopes(params.gp, site)
    return AdamParams(by_gp, by_hyper, by_logits, by_counts)


@model.compiled
def steps(
    recipe: Recipe,
    params: AdamParams,
    memory: optax.OptState,
    prior: Float[Array, "#A C K"],
    batches: AdamBatch,
    rates: Float[Array, " T"],
) -> tuple[AdamParams, optax.OptState]:
    """Take T steps of Adam, each on a batch of its own."""

    def one(
        state: tuple[AdamParams, Any], at: tuple[AdamBatch, Array]
    ) -> tuple[Any, None]:
        params, memory = state
        batch, rate = at
        uphill = slopes(recipe, params, prior, batch)
        with jax.numpy_dtype_promotion("standard"):  # a float to an integer power
            direction, memory = OPTIMISER.update(uphill, memory)
        params = jax.tree.map(
            lambda p, d: p + rate.astype(d.dtype) * d, params, direction
        )
        return (params, memory), None

    return jax.lax.scan(one, (params, memory), (batches, rates))[0]


watched_bound = model.compiled(bound)


# -- where it begins ------------------------------------------------------------------


def starting_counts(
    answers: Answers, proba: Float[np.ndarray, "N C"]
) -> Float[np.ndarray, "A C K"]:
    """Return the published start: a table of votes whose rows sum to one."""
    votes = crowd.soft_counts(answers, proba) + 1 / answers.n_answers
    return votes / votes.sum(-1, keepdims=True)


def wider(hyper: Hyper) -> Hyper:
    """Return the kernel with the published variance, where it has one.

    The published length-scale is 2 at the start, ours √D: with 2, items of many
    features would all be unlike, and nothing would be learned from them.
    """
    if "log_scale" not in hyper.kernel:
        return hyper
    variance = jnp.full_like(hyper.kernel["log_variance"], np.log(VARIANCE))
    return hyper._replace(kernel={**hyper.kernel, "log_variance": variance})


# -- a task of the driver, and a whole fit --------------------------------------------


@dataclass(frozen=True)
class AdamTask(SparseTask):
    """How the paper's inference learns, from this prior of the annotators."""

    prior: Float[np.ndarray, "P C K"]

    def start(self, hyper: Hyper) -> AdamState:
        """Return the state before the first step: q(z) = (votes + 1) / sum."""
        answers = self.data.answers
        logits = np.log(answers.votes() + 1.0)
        proba = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        n_classes, n_inducing = answers.n_classes, len(hyper.inducing)
        q = sparse_gp.Rooted(*sparse_gp.prior_natural(n_classes, n_inducing))
        params = AdamParams(
            q,
            hyper,
            jnp.asarray(logits, self.plan.dtype),
            jnp.asarray(np.log(starting_counts(answers, proba)), self.plan.dtype),
        )
        return AdamState(params, OPTIMISER.init(params), self.recipe.jitter)

    def batches(self, items: Int[np.ndarray, "T B"], features: Any = None) -> AdamBatch:
        """Return the features and the answers of some items."""
        if features is None:
            features = self.data.features.batches(items)
        answers, gold = self.data.answers, self.data.gold
        room = room_for(answers, np.arange(answers.n_items), items.shape[1])
        rows: Any = flat_rows(answers, gold, items, room)
        which: Any = items.astype("int32")
        return AdamBatch(which, features, rows)

    # -- what the driver calls ----------------------------------------------------

    def steps(
        self, state: AdamState, rows: Int[np.ndarray, "T B"], pace: Pace
    ) -> AdamState:
        """Take a chunk of steps: at the full rate, and at a tenth of it at the end."""
        share = np.where(pace.cooling < 1, LATE, 1.0)
        rates: Any = self.plan.learning_rate * pace.rate * share
        prior: Any = self.prior.astype(self.plan.dtype)
        params, memory = steps(
            self.recipe_of(state), *state[:2], prior, self.batches(rows), rates
        )
        return state._replace(params=params, memory=memory)

    def between(self, state: AdamState, place: Place) -> AdamState:
        """Return the state as it is: Adam learns everything."""
        return state

    def watched(self, state: AdamState) -> Watched:
        """Return the bound on a fixed sample of the items."""
        some = self.batches(self.watched_rows[None], self.watched_features[None])
        batch = jax.tree.map(lambda part: part[0], some)
        prior: Any = self.prior.astype(self.plan.dtype)
        return model.watched(
            *jax.device_get(
                watched_bound(self.recipe_of(state), state.params, prior, batch)
            )
        )

    def may_converge(self, place: Place) -> bool:
        """Return whether every item has been seen."""
        return place.every_item_seen


def trained(
    plan: SparsePlan, data: Data, keep: Checkpoint, before: ConfusionMatrices
) -> tuple[Learned, Trace]:
    """Learn it all by Adam; `before` has the prior of the annotators.

    The labels are q(Z), and the skills are the Dirichlets that Adam has found.
    """
    check(plan.recipe, before)
    answers, gold = data.answers, data.gold
    task = AdamTask(plan, data, before.prior)

    def begun(points: Table) -> AdamState:
        return task.start(wider(starting_hyper(task, points)))

    with jax.enable_x64(True), threadpool_limits(1, user_api="blas"):
        run, trace = training.trained(
            task,
            in_longer_chunks(plan.run),
            lambda: begun(starting_points(task)),
            like=lambda: begun(np.zeros((1, data.features.n_features))),
            keep=keep,
        )
        params = jax.tree.map(np.asarray, run.state.params)
        natural = sparse_gp.rooted_natural(params.gp)
    keep.remove()
    joint = crowd.clamped(params.logits.astype(np.float64), gold)
    proba, _ = crowd.posterior(joint)
    # Below the prior is only what has not converged: no answer lowers a count.
    counts = np.maximum(np.exp(params.log_counts.astype(np.float64)), before.prior)
    skills = replace(before, counts=counts).with_doubt(answers, proba)
    place = run.state.jitter, float(plan.recipe.link.epsilon or 0.0)
    end = Ended(proba, skills, 1.0)
    return learned(end, plan, natural, params.hyper, *place), trace


def in_longer_chunks(plan: Plan) -> Plan:
    """Return the plan with longer chunks, and a shorter end at a lower rate."""
    given = plan.schedule
    chunk = min(CHUNK, given.n_steps)
    n_steps = given.n_steps // chunk * chunk
    schedule = replace(given, n_steps=n_steps, chunk=chunk, cool_down=LATE_SHARE)
    return plan._replace(schedule=schedule)


def check(recipe: Recipe, before: ConfusionMatrices) -> None:
    """Refuse what the paper's inference does not have."""
    hint = "SVGPCR.as_published() has settings that suit it; or use inference='natural'"
    if isinstance(recipe.family, class_posterior.Conditional):
        raise InputError(
            f"inference='adam' learns the table q(Z) of the posterior q(Z) q(F), and "
            f"posterior='conditional' has no such table. {hint}."
        )
    if recipe.link.epsilon == "learn":
        raise InputError(
            f"inference='adam' does not learn epsilon. Give it, such as epsilon=1e-3. "
            f"{hint}."
        )
    if before.hyper is not None:
        raise InputError(
            f"inference='adam' does not learn the annotators' prior. Give one, such as "
            f"annotator_prior='flat'. {hint}."
        )
    if recipe.kernel.embeds:
        raise InputError(f"inference='adam' has no network under the kernel. {hint}.")
