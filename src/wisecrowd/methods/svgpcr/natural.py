"""Our inference: natural gradients for q(U), Adam for kernel and inducing points.

What the annotators say, and their skills, have closed-form updates between two chunks
of steps.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from wisecrowd.answers import Answers
from wisecrowd.feature_source import filled
from wisecrowd.fit.partners import own_share, partners
from wisecrowd.fit.stochastic import LOOK_BACK, Pace, Place, Watched
from wisecrowd.maths import crowd
from wisecrowd.maths.gp import class_posterior, links, sparse_gp
from wisecrowd.methods.svgpcr import model
from wisecrowd.methods.svgpcr.model import Batch, Divergence, Hyper, Recipe, SparseTask
from wisecrowd.methods.svgpcr.parts import Parts
from wisecrowd.skills import ConfusionMatrices, Tally, Trusted
from wisecrowd.skills.tally import Settled

# Parts of a state are pytrees.
for _part in (ConfusionMatrices, Settled, Tally, Trusted):
    jax.tree_util.register_dataclass(
        _part, data_fields=[own.name for own in fields(_part)], meta_fields=[]
    )

OPTIMISER = optax.scale_by_adam()
START_EPSILON, EPSILON_FLOOR = 0.1, 1e-3
EPSILON_STEPS = 120  # in which a given epsilon is approached
WARM_UP = 60  # steps for which the annotators stay as their own answers suggest
WARM_UP_SHARE = 0.2  # of all steps, at the most
LEAST_RATE = 0.1  # of the natural gradient, at the end of the cool-down


# -- compiled -------------------------------------------------------------------------


class GPState(NamedTuple):
    """What moves of the Gaussian process: q(U), kernel and points, Adam's memory."""

    natural: sparse_gp.Natural
    hyper: Hyper
    memory: optax.OptState


class Rates(NamedTuple):
    """How far a step goes: ρ of the natural gradient, learning rate of Adam."""

    natural: Float[Array, "*T"]
    adam: Float[Array, "*T"]


class Seen(NamedTuple):
    """What a step leaves about its items: q(z), and q(z is where f is the largest).

    Softmax has no epsilon to be learned from the latter.
    """

    proba: Float[Any, "*T B C"]
    agreement: Any  # B numbers, or None


def begun(natural: sparse_gp.Natural, hyper: Hyper) -> GPState:
    """Return the state before the first step."""
    return GPState(natural, hyper, OPTIMISER.init(hyper))


def step(
    recipe: Recipe,
    state: GPState,
    batch: Batch,
    epsilon: Float[Array, ""],
    rates: Rates,
) -> tuple[GPState, Seen]:
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
    parts = recipe.parts
    slope = parts.counted(jax.grad(gain)(latent))
    scale = recipe.n_items / parts.n_items(batch.X)  # N / B

    def site(slope: sparse_gp.Latent) -> sparse_gp.Natural:
        return sparse_gp.site_parameters(project, latent, slope, scale)

    (uphill,) = pull_back(sparse_gp.projection_slopes(moments, project, slope))
    own, uphill = parts.total((site(slope), uphill), batch.X.dtype)
    flat = slope._replace(var=jnp.minimum(slope.var, 0))

    def safer() -> sparse_gp.Natural:
        return parts.total(site(flat), batch.X.dtype)

    natural = _natural_update(parts, state.natural, own, safer, rates.natural)
    with jax.numpy_dtype_promotion("standard"):  # Adam: a float to an integer power
        direction, memory = OPTIMISER.update(uphill, state.memory)
    paced = recipe.kernel.paced(direction.kernel, recipe.n_items)
    direction = direction._replace(kernel=paced)
    hyper = jax.tree.map(
        lambda p, d: p + rates.adam.astype(d.dtype) * d, state.hyper, direction
    )
    return GPState(natural, hyper, memory), seen(recipe, latent, batch, epsilon)


def seen(
    recipe: Recipe, latent: sparse_gp.Latent, batch: Batch, epsilon: Float[Array, ""]
) -> Seen:
    """Return q(z) of the items, and where robust max may learn from the agreement."""
    states = recipe.link.states(*latent, epsilon)
    proba = class_posterior.label_proba(recipe.family, states, batch.evidence)
    if not isinstance(recipe.link, links.RobustMax):
        return Seen(proba, None)
    return Seen(proba, class_posterior.agreement(recipe.family, states, batch.evidence))


def _natural_update(
    parts: Parts,
    natural: sparse_gp.Natural,
    site: sparse_gp.Natural,
    safer: Callable[[], sparse_gp.Natural],
    rate: Float[Array, ""],
) -> sparse_gp.Natural:
    """Return q(U) after a step; where robust max is not log-concave, a safer one.

    Items that look misclassified bend the bound upwards. If there are enough of them,
    the precision matrix would no longer be positive definite. Then their curvature is
    left out of this step.
    """
    tried = sparse_gp.natural_step(natural, site, rate)
    return jax.lax.cond(
        parts.all(sparse_gp.is_valid(tried)),
        lambda: tried,
        lambda: sparse_gp.natural_step(natural, safer(), rate),
    )


@model.compiled
def steps(
    recipe: Recipe,
    state: GPState,
    X: Float[Array, "T B D"],
    evidence: Float[Array, "T B C"],
    epsilon: Float[Array, ""],
    rates: Rates,
) -> tuple[GPState, Seen]:
    """Take T steps, each on a batch of its own; several processes have parts of it."""

    def taken(
        state: GPState, X: Array, evidence: Array, epsilon: Array, rates: Rates
    ) -> tuple[GPState, Seen]:
        def one(state: GPState, at: tuple[Array, Array, Rates]) -> tuple[GPState, Seen]:
            X, evidence, rates = at
            return step(recipe, state, Batch(X, evidence), epsilon, rates)

        state, seen = jax.lax.scan(one, state, (X, evidence, rates))
        return state, recipe.parts.gathered(seen)

    return recipe.parts.mapped(taken)(state, X, evidence, epsilon, rates)


class Visited(NamedTuple):
    """What the model says about some items: their terms of the bound, and log p(z).

    `log_left_out` is the prediction for an item from the other items alone.
    """

    terms: class_posterior.ItemTerms
    log_left_out: Float[Array, "B C"]


@model.compiled
def visited(
    recipe: Recipe,
    state: GPState,
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


@model.compiled
def bound(
    recipe: Recipe,
    terms: class_posterior.ItemTerms,
    natural: sparse_gp.Natural,
    divergence: model.Divergence,
) -> model.Bound:
    """Return the bound, estimated from the terms of some items."""
    return model.bound(recipe, terms, sparse_gp.kl_to_prior(natural), divergence)


# -- a task of the driver -------------------------------------------------------------


class NaturalState(NamedTuple):
    """All that moves, a pytree of arrays: what a checkpoint holds.

    `seen` alone has a row per item: q(z) as the step found it that visited the item
    last. The annotators learn from it, and it cannot be made again from the rest,
    because q(U) has moved since. Without it a resumed fit would not be the same one. Of
    several processes, each has all rows.
    """

    process: GPState
    skills: Any  # the annotators' part
    seen: Seen
    epsilon: float
    absorbed: float  # how much of an item's effect q(U) has taken up
    jitter: float


@dataclass(frozen=True)
class NaturalTask(SparseTask):
    """How SVGPCR learns: see :class:`~wisecrowd.fit.stochastic.Task`.

    `learns` says whether there are annotators to update. `partners` share the steps,
    the annotators' tables and the visits of all items; all else, each of them does.
    """

    learns: bool = True
    partners: Any = field(default_factory=partners, compare=False)
    _last: list[Any] = field(default_factory=list, init=False, compare=False)

    # -- the state --------------------------------------------------------------

    def start(self, skills: Any, hyper: Hyper) -> NaturalState:
        """Return the state before the first step."""
        n_items, n_classes = self.data.answers.n_items, self.data.answers.n_classes
        natural = sparse_gp.prior_natural(n_classes, len(hyper.inducing))
        robust = isinstance(self.recipe.link, links.RobustMax)
        return NaturalState(
            process=begun(natural, jax.tree.map(jnp.asarray, hyper)),
            skills=skills,
            seen=Seen(
                np.full((n_items, n_classes), 1 / n_classes, self.plan.dtype),
                np.ones(n_items, self.plan.dtype) if robust else None,
            ),
            epsilon=START_EPSILON,
            absorbed=0.0,
            jitter=self.recipe.jitter,
        )

    def evidence(self, skills: Any) -> Float[np.ndarray, "N C"]:
        """Return what the answers say about every item; gold rules out all else.

        It follows from the skills. Steps, bound and ending ask for that of the same
        skills, so the last one is kept, outside of the state.
        """
        for known, found in self._last:
            if known is skills:
                kept: np.ndarray = found
                return kept
        said = crowd.clamped(skills.evidence(self.data.answers), self.data.gold)
        said = said.astype(self.plan.dtype)
        self._last[:] = [(skills, said)]
        return said

    def number(self, value: float) -> np.ndarray:
        """Return a number in the precision of a batch."""
        return np.asarray(value, self.plan.dtype)

    # -- what the driver calls ----------------------------------------------------

    def steps(
        self, state: NaturalState, rows: Int[np.ndarray, "T B"], pace: Pace
    ) -> NaturalState:
        """Take a chunk of steps, and keep q(z) of their items."""
        rates = self.rates(pace)
        given = self.for_steps(state, rows, rates)
        if self.partners.size == 1:
            process, seen = steps(*given)
        else:
            process, seen = self.partners.run(steps, *given)
            rows = np.sort(rows, axis=1)  # as they were divided

        def written(table: np.ndarray, new: Array) -> np.ndarray:
            table = table.copy()
            table[rows] = np.asarray(new)
            return table

        left = (1 - state.absorbed) * float(np.prod(1 - np.asarray(rates.natural)))
        return state._replace(
            process=process,
            seen=jax.tree.map(written, state.seen, seen),
            absorbed=1 - left,
        )

    def rates(self, pace: Pace) -> Rates:
        """Return how far each step of a chunk goes."""
        cooling = LEAST_RATE + (1 - LEAST_RATE) * pace.cooling
        # NumPy's arrays go into compiled functions: jnp.asarray takes .2 ms each.
        natural: Any = self.plan.natural_rate * pace.rate * pace.ramp * cooling
        adam: Any = self.plan.learning_rate * pace.rate * pace.cooling
        return Rates(natural, adam)

    def for_steps(
        self, state: NaturalState, rows: Int[np.ndarray, "T B"], rates: Rates
    ) -> tuple[Any, ...]:
        """Return what :func:`steps` is given; of several processes, its part."""
        recipe, own = self.recipe_of(state), self.own(rows)
        epsilon: Any = self.number(state.epsilon)
        X = self.data.features.batches(own)
        said = np.take(self.evidence(state.skills), own, axis=0)
        if self.partners.size == 1:
            return recipe, state.process, X, said, epsilon, rates
        recipe = recipe._replace(parts=self.parts(rows))
        same, divided = self.partners.everywhere, self.partners.divided
        process, epsilon, rates = same((state.process, epsilon, rates))
        return recipe, process, *divided((X, said), axis=1), epsilon, rates

    def parts(self, rows: Int[np.ndarray, "T B"]) -> Parts:
        """Return how some batches are shared."""
        return Parts(self.partners.mesh, rows.shape[1])

    def own(self, rows: Int[np.ndarray, "T B"]) -> Int[np.ndarray, "T b"]:
        """Return the part of some batches that this process has.

        In their order, so that it reads few of the blocks of a file.
        """
        if self.partners.size == 1 or not rows.size:
            return rows
        return self.parts(rows).rows(np.sort(rows, axis=1), self.partners.rank)

    def expect(self, rows: Int[np.ndarray, "T B"]) -> None:
        """Begin to read the features of the next chunk of steps, of the own part."""
        super().expect(self.own(rows))

    def between(self, state: NaturalState, place: Place) -> NaturalState:
        """Update epsilon and the annotators, once every item has been seen."""
        state = state._replace(epsilon=self.epsilon(state, place))
        if not self.learns or not place.every_item_seen or place.step < warm_up(place):
            return state
        answers, where = self.own_items
        proba = state.seen.proba[where]
        total = proba.sum(1, keepdims=True, dtype=np.float64)
        found = self.partners.sum(state.skills.statistics(answers, proba / total))
        return state._replace(skills=state.skills.updated(found))

    @cached_property
    def own_items(self) -> tuple[Answers, slice]:
        """The answers that this process counts, and where their items are."""
        answers = self.data.answers
        where = own_share(self.partners, answers.n_items)
        if self.partners.size > 1:
            answers = answers.of_items(np.arange(where.start, where.stop))
        return answers, where

    def epsilon(self, state: NaturalState, place: Place) -> float:
        """Return robust max's epsilon: its best value, or a step to the given one.

        A given epsilon is approached from a large one: from the first step on, a small
        one holds items for good where the first steps happened to put them.
        """
        given = self.recipe.link.epsilon
        if given is None or (given == "learn" and not place.every_item_seen):
            return state.epsilon
        if given == "learn":
            return best_epsilon(state.seen.agreement)
        way = min(1.0, place.step / epsilon_steps(place))
        return float(START_EPSILON ** (1 - way) * float(given) ** way)

    def visited(self, state: NaturalState, X: Any, evidence: Any) -> Visited:
        """Return what the model says about the items of one piece, without filling."""
        found = visited(*self.for_visited(state, X, evidence))
        # Cut by NumPy: JAX would compile a slice for every number of items.
        return jax.tree.map(lambda part: np.asarray(part)[: len(X)], found)

    def for_visited(
        self, state: NaturalState, X: Any, evidence: Any
    ) -> tuple[Any, ...]:
        """Return what :func:`visited` is given: the items are filled up."""
        n_items = self.recipe.n_items
        features: Any = filled(X, n_items)
        said: Any = filled(evidence, n_items)
        return (
            self.recipe_of(state),
            state.process,
            Batch(features, said),
            self.number(state.epsilon),
            self.number(state.absorbed),
        )

    def for_watched(self, state: NaturalState) -> tuple[Any, Any]:
        """Return the features and the evidence of the watched items."""
        return self.watched_features, self.evidence(state.skills)[self.watched_rows]

    def divergence(self, state: NaturalState) -> Divergence:
        """Return what the skills of the annotators cost."""
        divergence: Any = np.float64(state.skills.divergence())
        log_hyperprior: Any = np.float64(state.skills.log_hyperprior())
        return Divergence(divergence, log_hyperprior)

    def watched(self, state: NaturalState) -> Watched:
        """Return the bound on a fixed sample of the items."""
        terms = self.visited(state, *self.for_watched(state)).terms
        natural, divergence = state.process.natural, self.divergence(state)
        found = jax.device_get(bound(self.recipe, terms, natural, divergence))
        watched = model.watched(found, terms)
        if isinstance(self.recipe.link, links.RobustMax):
            watched.terms["epsilon"] = state.epsilon
        return watched

    def may_converge(self, place: Place) -> bool:
        """Return whether annotators and epsilon have had time to move.

        The annotators have if they were updated while the last gain was measured.
        """
        ready = place.step >= LOOK_BACK + (warm_up(place) if self.learns else 0)
        given = self.recipe.link.epsilon not in (None, "learn")
        return (
            ready
            and place.every_item_seen
            and not (given and place.step < epsilon_steps(place))
        )


def warm_up(place: Place) -> float:
    """Return the number of steps after which the annotators are updated."""
    return min(float(WARM_UP), WARM_UP_SHARE * place.n_steps)


def epsilon_steps(place: Place) -> float:
    """Return the number of steps after which a given epsilon is reached."""
    return min(float(EPSILON_STEPS), 2 * WARM_UP_SHARE * place.n_steps)


def best_epsilon(agreement: Float[np.ndarray, " N"]) -> float:
    """Return the mean of q(z is not where f is the largest): the best epsilon."""
    return float(np.clip((1 - agreement).mean(), EPSILON_FLOOR, 0.5))
