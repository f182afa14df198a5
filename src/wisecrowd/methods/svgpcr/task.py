"""SVGPCR as a task of the stochastic driver: its state, and a chunk of steps."""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from wisecrowd.answers import Answers
from wisecrowd.features import FeatureSource, filled
from wisecrowd.fit.stochastic import LOOK_BACK, Pace, Place, Watched, watched_items
from wisecrowd.maths import crowd
from wisecrowd.maths.gp import links, sparse_gp
from wisecrowd.methods.svgpcr import steps
from wisecrowd.methods.svgpcr.model import Batch, Divergence, Hyper, Recipe
from wisecrowd.methods.svgpcr.steps import Rates, Visited
from wisecrowd.skills import ConfusionMatrices, Tally, Trusted
from wisecrowd.skills.settled import Settled

for _part in (
    ConfusionMatrices,
    Settled,
    Tally,
    Trusted,
):  # parts of a state are pytrees
    jax.tree_util.register_dataclass(
        _part, data_fields=[field.name for field in fields(_part)], meta_fields=[]
    )

START_EPSILON, EPSILON_FLOOR = 0.1, 1e-3
EPSILON_STEPS = 120  # in which a given epsilon is approached
WARM_UP = 60  # steps for which the annotators stay as their own answers suggest
WARM_UP_SHARE = 0.2  # of all steps, at the most
LEAST_RATE = 0.1  # of the natural gradient, at the end of the cool-down


class State(NamedTuple):
    """All that moves, a pytree of arrays: what a checkpoint holds.

    `proba`, `agreement` and `evidence` have a row per item. They follow from the rest,
    as it was when the item was last visited.
    """

    gp: steps.State
    skills: Any  # the annotators' part
    proba: Float[np.ndarray, "N C"]
    agreement: Float[np.ndarray, " N"]
    evidence: Float[np.ndarray, "N C"]
    epsilon: float
    absorbed: float  # how much of an item's effect q(U) has taken up
    jitter: float


@dataclass(frozen=True)
class Data:
    """What is learned from: large, and never saved."""

    features: FeatureSource
    answers: Answers
    gold: Int[np.ndarray, " N"]


@dataclass(frozen=True)
class SVGPCRTask:
    """How SVGPCR learns: see :class:`~wisecrowd.fit.stochastic.Task`."""

    recipe: Recipe
    data: Data
    natural_rate: float
    learning_rate: float
    dtype: str
    seed: int
    learns: bool = True  # whether there are annotators to update

    # -- the state --------------------------------------------------------------

    def start(self, skills: Any, hyper: Hyper) -> State:
        """Return the state before the first step."""
        n_items, n_classes = self.data.answers.n_items, self.data.answers.n_classes
        natural = sparse_gp.prior_natural(n_classes, len(hyper.inducing))
        return State(
            gp=steps.start(natural, jax.tree.map(jnp.asarray, hyper)),
            skills=skills,
            proba=np.full((n_items, n_classes), 1 / n_classes, self.dtype),
            agreement=np.ones(n_items, self.dtype),
            evidence=self.evidence(skills),
            epsilon=START_EPSILON,
            absorbed=0.0,
            jitter=self.recipe.jitter,
        )

    def evidence(self, skills: Any) -> Float[np.ndarray, "N C"]:
        """Return what the answers say about every item; gold rules out all else."""
        said = crowd.clamped(skills.evidence(self.data.answers), self.data.gold)
        return said.astype(self.dtype)

    def recipe_of(self, state: State) -> Recipe:
        """Return the recipe with the jitter that was needed."""
        return self.recipe._replace(jitter=float(state.jitter))

    def number(self, value: float) -> np.ndarray:
        """Return a number in the precision of a batch."""
        return np.asarray(value, self.dtype)

    # -- what the driver calls ----------------------------------------------------

    def steps(self, state: State, rows: Int[np.ndarray, "T B"], pace: Pace) -> State:
        """Take a chunk of steps, and keep q(z) of their items."""
        rates = self.rates(pace)
        gp, seen = steps.steps(*self.for_steps(state, rows, rates))
        proba, agreement = state.proba.copy(), state.agreement.copy()
        proba[rows] = np.asarray(seen.proba)
        agreement[rows] = np.asarray(seen.agreement)
        left = (1 - state.absorbed) * float(np.prod(1 - np.asarray(rates.natural)))
        return state._replace(
            gp=gp, proba=proba, agreement=agreement, absorbed=1 - left
        )

    def rates(self, pace: Pace) -> Rates:
        """Return how far each step of a chunk goes."""
        cooling = LEAST_RATE + (1 - LEAST_RATE) * pace.cooling
        # NumPy's arrays go into compiled functions: jnp.asarray takes .2 ms each.
        natural: Any = self.natural_rate * pace.rate * pace.ramp * cooling
        adam: Any = self.learning_rate * pace.rate * pace.cooling
        return Rates(natural, adam)

    def for_steps(
        self, state: State, rows: Int[np.ndarray, "T B"], rates: Rates
    ) -> tuple[Any, ...]:
        """Return what `steps.steps` is given."""
        return (
            self.recipe_of(state),
            state.gp,
            self.data.features.batches(rows),
            np.take(state.evidence, rows, axis=0),
            self.number(state.epsilon),
            rates,
        )

    def between(self, state: State, place: Place) -> State:
        """Update epsilon and the annotators, once every item has been seen."""
        state = state._replace(epsilon=self.epsilon(state, place))
        if not place.every_item_seen or place.step < warm_up(place):
            return state
        total = state.proba.sum(1, keepdims=True, dtype=np.float64)
        found = state.skills.statistics(self.data.answers, state.proba / total)
        skills = state.skills.updated(found)
        return state._replace(skills=skills, evidence=self.evidence(skills))

    def epsilon(self, state: State, place: Place) -> float:
        """Return robust max's epsilon: its best value, or a step to the given one.

        A given epsilon is approached from a large one: from the first step on, a small
        one holds items for good where the first steps happened to put them.
        """
        given = self.recipe.link.epsilon
        if given is None or (given == "learn" and not place.every_item_seen):
            return state.epsilon
        if given == "learn":
            return best_epsilon(state.agreement)
        way = min(1.0, place.step / epsilon_steps(place))
        return float(START_EPSILON ** (1 - way) * float(given) ** way)

    def visited(self, state: State, X: Any, evidence: Any) -> Visited:
        """Return what the model says about the items of one piece, without filling."""
        found = steps.visited(*self.for_visited(state, X, evidence))
        # Cut by NumPy: JAX would compile a slice for every number of items.
        return jax.tree.map(lambda part: np.asarray(part)[: len(X)], found)

    def for_visited(self, state: State, X: Any, evidence: Any) -> tuple[Any, ...]:
        """Return what `steps.visited` is given: the items are filled up."""
        n_items = self.recipe.n_items
        features: Any = filled(X, n_items)
        said: Any = filled(evidence, n_items)
        return (
            self.recipe_of(state),
            state.gp,
            Batch(features, said),
            self.number(state.epsilon),
            self.number(state.absorbed),
        )

    def for_watched(self, state: State) -> tuple[Any, Any]:
        """Return the features and the evidence of the watched items."""
        at = watched_items(self.recipe.n_items, self.seed)
        return self.data.features.batches(at[None])[0], state.evidence[at]

    def divergence(self, state: State) -> Divergence:
        """Return what the skills of the annotators cost."""
        divergence: Any = np.float64(state.skills.divergence())
        log_hyperprior: Any = np.float64(state.skills.log_hyperprior())
        return Divergence(divergence, log_hyperprior)

    def watched(self, state: State) -> Watched:
        """Return the bound on a fixed sample of the items."""
        terms = self.visited(state, *self.for_watched(state)).terms
        divergence = self.divergence(state)
        bound = jax.device_get(
            steps.bound(self.recipe, terms, state.gp.natural, divergence)
        )
        named = {name: float(value) for name, value in bound._asdict().items()}
        shared = named["log_hyperprior"] - named["kl_gp"] - named["kl_annotators"]
        named["bound"] = float(bound.total)
        if isinstance(self.recipe.link, links.RobustMax):
            named["epsilon"] = state.epsilon
        return Watched(named, np.asarray(terms.total, np.float64), shared)

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

    def recovered(self, state: State) -> State:
        """Return the state before the failure, with ten times the jitter."""
        return state._replace(jitter=state.jitter * 10)


def warm_up(place: Place) -> float:
    """Return the number of steps after which the annotators are updated."""
    return min(float(WARM_UP), WARM_UP_SHARE * place.n_steps)


def epsilon_steps(place: Place) -> float:
    """Return the number of steps after which a given epsilon is reached."""
    return min(float(EPSILON_STEPS), 2 * WARM_UP_SHARE * place.n_steps)


def best_epsilon(agreement: Float[np.ndarray, " N"]) -> float:
    """Return the mean of q(z is not where f is the largest): the best epsilon."""
    return float(np.clip((1 - agreement).mean(), EPSILON_FLOOR, 0.5))
