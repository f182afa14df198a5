"""The loop: steps of the Gaussian process, and the annotators between them."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize_scalar
from threadpoolctl import threadpool_limits

from wisecrowd._checks import InputError
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, labels, links, sparse_gp
from wisecrowd.methods.svgpcr import inference, model
from wisecrowd.methods.svgpcr.annotators import Annotators
from wisecrowd.methods.svgpcr.inference import Rates, State
from wisecrowd.methods.svgpcr.model import Batch, Hyper, Recipe

MAX_CHUNK = 100  # steps between two updates of the annotators, at the most
MIN_CHUNK = 4
CHUNK_ITEMS = 4096  # items of one piece, where all of them are visited
RAMP = 20  # steps in which the natural gradient comes up to its full rate
MAX_FAILURES = 3
START_EPSILON, EPSILON_FLOOR = 0.1, 1e-3
LOG_SHARPNESS = (-1.4, 1.4)
ROUNDS = 3  # of fitting sharpness and dependence, labels and annotators between them
MAX_SETTLING = 20
SETTLED = 1e-4
N_CALIBRATION = 20_000  # items that the sharpness is fitted to


@dataclass(frozen=True)
class Schedule:
    """How long to learn, and how fast.

    For `warm_up` of the way the annotators stay as their own answers suggest; for the
    last `cool_down` of it the rates fall to a tenth, which averages the noise of the
    batches. When the bound stands still, or time runs short, cooling starts at once.
    """

    n_steps: int
    batch_size: int
    natural_rate: float
    learning_rate: float
    tol: float | None
    time_limit: float | None
    warm_up: float = 0.2
    cool_down: float = 0.6

    def rates(self, first: int, n_steps: int) -> Rates:
        """Return the rates of the steps from `first` on."""
        at = first + np.arange(n_steps)
        left = np.clip((1 - at / self.n_steps) / self.cool_down, 0, 1)
        ramp = np.minimum(1, (at + 1) / RAMP)
        natural = self.natural_rate * (0.1 + 0.9 * left) * ramp
        return Rates(jnp.asarray(natural), jnp.asarray(self.learning_rate * left))

    @property
    def cooling_from(self) -> int:
        """The step with which cooling starts."""
        return int(self.n_steps * (1 - self.cool_down))


class Trained(NamedTuple):
    """What the loop returns."""

    recipe: Recipe
    natural: sparse_gp.Natural
    hyper: Hyper
    annotators: Annotators
    proba: Float[np.ndarray, "N C"]
    epsilon: float
    sharpness: float


def train(
    recipe: Recipe,
    hyper: Hyper,
    X: np.ndarray,
    annotators: Annotators,
    epsilon: float | str,
    schedule: Schedule,
    trace: Trace,
    rng: np.random.RandomState,
) -> Trained:
    """Learn it all, in 64 bits where it matters, without the user's settings changing.

    The small matrices gain nothing from BLAS threads, and waiting ones starve JAX's.
    """
    with (
        jax.enable_x64(True),
        threadpool_limits(1, user_api="blas"),
    ):
        loop = _Loop(recipe, hyper, X, annotators, epsilon, schedule, rng)
        while loop.done < loop.schedule.n_steps:
            loop.advance(trace)
        return loop.finish()


class _Loop:
    """The state between two chunks of steps."""

    def __init__(
        self,
        recipe: Recipe,
        hyper: Hyper,
        X: np.ndarray,
        annotators: Annotators,
        epsilon: float | str,
        schedule: Schedule,
        rng: np.random.RandomState,
    ) -> None:
        n_classes, n_inducing = annotators.prior.shape[1], len(hyper.inducing)
        self.recipe, self.schedule, self.rng = recipe, schedule, rng
        self.X, self.dtype = jnp.asarray(X), X.dtype
        self.annotators = annotators
        self.learn_epsilon = epsilon == "learn"
        self.epsilon = START_EPSILON
        self.last_epsilon = EPSILON_FLOOR if self.learn_epsilon else float(epsilon)
        natural = sparse_gp.prior_natural(n_classes, n_inducing)
        self.state = inference.start(natural, jax.tree.map(jnp.asarray, hyper))
        n_items = recipe.n_items
        self.proba = np.full((n_items, n_classes), 1 / n_classes)
        self.agreement = np.ones(n_items)
        self.visited = np.zeros(n_items, dtype=bool)
        per_pass = -(-n_items // schedule.batch_size)
        self.chunk = int(np.clip(per_pass, MIN_CHUNK, MAX_CHUNK))
        self.pool = np.empty(0, dtype=np.int64)
        self.done = self.failures = 0
        self.absorbed = 0.0  # how much of an item's pull q(U) has taken up
        self.bounds: list[float] = []
        self.set_evidence(annotators.evidence())

    def set_evidence(self, evidence: Float[np.ndarray, "N C"]) -> None:
        """Lay out what the annotators say; an item's largest entry becomes zero."""
        top = evidence.max(1, keepdims=True)
        self.offset = float(top.sum())
        self.evidence = jnp.asarray((evidence - top).astype(self.dtype))

    def next_rows(self) -> Int[np.ndarray, "T B"]:
        """Return the items of the next steps: every item once before any again."""
        wanted = self.chunk * self.schedule.batch_size
        while len(self.pool) < wanted:
            order = self.rng.permutation(self.recipe.n_items)
            self.pool = np.concatenate([self.pool, order])
        rows, self.pool = self.pool[:wanted], self.pool[wanted:]
        return rows.reshape(self.chunk, -1)

    def advance(self, trace: Trace) -> None:
        """Take a chunk of steps, then let the annotators follow."""
        rows, rates = self.next_rows(), self.schedule.rates(self.done, self.chunk)
        before = jax.tree.map(jnp.copy, self.state)
        state, seen = inference.steps(
            self.recipe,
            self.state,
            Batch(self.X, self.evidence),
            jnp.asarray(rows),
            jnp.asarray(self.epsilon, self.dtype),
            rates,
        )
        terms = self.terms(state, seen)
        if not np.isfinite(terms["bound"]):
            self.recover(before)
            return
        self.state = state
        self.absorbed = 1 - (1 - self.absorbed) * float(jnp.prod(1 - rates.natural))
        self.done += self.chunk
        n_classes = self.proba.shape[1]
        self.proba[rows.ravel()] = np.asarray(seen.proba).reshape(-1, n_classes)
        self.agreement[rows.ravel()] = np.asarray(seen.agreement).ravel()
        self.visited[rows.ravel()] = True
        self.follow()
        self.hurry(terms["bound"], trace.seconds)
        trace.record(self.done, **terms, epsilon=self.epsilon)

    def terms(self, state: State, seen: inference.Seen) -> dict[str, float]:
        """Return the five terms of the bound, means over the steps of the chunk."""
        scale = self.recipe.n_items / self.schedule.batch_size
        terms = {
            "labels": float(seen.labels.mean()) * scale + self.offset,
            "features": float(seen.features.mean()) * scale,
            "entropy": float(seen.entropy.mean()) * scale,
            "kl_gp": float(_kl_to_prior(state.natural)),
            "kl_annotators": self.annotators.kl(),
        }
        gained = terms["labels"] + terms["features"] + terms["entropy"]
        lost = terms["kl_gp"] + terms["kl_annotators"]
        return {**terms, "bound": gained - lost}

    def follow(self) -> None:
        """Update epsilon and the annotators, once every item has been seen.

        A given epsilon is approached while the rates are high: begun with, a small one
        holds items for good where the first steps happened to put them.
        """
        if not self.learn_epsilon:
            way = min(1.0, self.done / max(self.schedule.cooling_from, 1))
            self.epsilon = START_EPSILON ** (1 - way) * self.last_epsilon**way
        if not self.visited.all():
            return
        if self.learn_epsilon:
            self.epsilon = best_epsilon(self.agreement)
        if self.done >= self.schedule.warm_up * self.schedule.n_steps:
            total = self.proba.sum(1, keepdims=True)  # float32 leaves 1e-7
            self.annotators = self.annotators.learn(self.proba / total)
            self.set_evidence(self.annotators.evidence())

    def hurry(self, bound: float, seconds: float) -> None:
        """Start cooling when the bound stands still; cool faster when time is short."""
        schedule = self.schedule
        self.bounds.append(bound)
        window = max(1, 60 // self.chunk)
        warm = self.done >= 2 * schedule.warm_up * schedule.n_steps
        if schedule.tol is not None and warm and len(self.bounds) > 2 * window:
            late = np.mean(self.bounds[-window:])
            early = np.mean(self.bounds[-2 * window : -window])
            if late - early < schedule.tol * self.recipe.n_items:
                self.done = max(self.done, schedule.cooling_from)
        if schedule.time_limit is not None:
            # Seconds a step, the first compilation included: rather early than late.
            afford = (schedule.time_limit - seconds) / (seconds / max(self.done, 1))
            if schedule.n_steps - self.done > afford:
                self.done = max(self.done, schedule.n_steps - int(max(afford, 0)))

    def recover(self, before: State) -> None:
        """Go back to before the chunk, with more jitter and smaller steps."""
        self.failures += 1
        if self.failures > MAX_FAILURES:
            raise InputError(_what_is_wrong(np.asarray(self.X)))
        self.state = before
        self.recipe = self.recipe._replace(jitter=self.recipe.jitter * 10)
        self.schedule = replace(
            self.schedule,
            natural_rate=self.schedule.natural_rate / 3,
            learning_rate=self.schedule.learning_rate / 3,
        )

    def finish(self) -> Trained:
        """Let labels and annotators agree, f fixed; nothing judges itself any more.

        What f says of an item is taken without the item's answers, and what an
        annotator says of it without the item's part in the annotator's skill.
        """
        if not self.learn_epsilon:
            self.epsilon = self.last_epsilon
        unaided = self.left_out()
        for _ in range(ROUNDS):
            said = self.annotators.evidence_of_others(self.proba)
            sharpness = best_sharpness(unaided, said, self.rng)
            log_prior = sharpness * unaided
            self.annotators = self.annotators.depending(log_prior, self.rng)
            self.settle(log_prior)
        return Trained(
            recipe=self.recipe,
            natural=jax.tree.map(np.asarray, self.state.natural),
            hyper=jax.tree.map(np.asarray, self.state.hyper),
            annotators=self.annotators,
            proba=self.proba,
            epsilon=self.epsilon,
            sharpness=self.sharpness_to_keep(sharpness),
        )

    def sharpness_to_keep(self, fitted: float) -> float:
        """Return the power for predictions; robust max has epsilon instead.

        What was fitted suits what the crowd agrees on. That is not always true, so of
        a crowd's only half is kept, in logs; of gold labels' all.
        """
        if self.recipe.link == "robustmax":
            return 1.0
        return fitted if self.annotators.answers is None else fitted**0.5

    def settle(self, log_prior: Float[np.ndarray, "N C"]) -> None:
        """Repeat q(z) and q(R) until they agree."""
        for _ in range(MAX_SETTLING):
            said = self.annotators.evidence_of_others(self.proba)
            proba, _ = crowd.posterior(log_prior + said)
            moved = np.abs(proba - self.proba).max()
            self.proba, self.annotators = proba, self.annotators.learn(proba)
            if moved < SETTLED:
                break

    def pieces(self) -> list[slice]:
        """Return slices that cover all items."""
        return [
            slice(i, i + CHUNK_ITEMS)
            for i in range(0, self.recipe.n_items, CHUNK_ITEMS)
        ]

    def left_out(self) -> Float[np.ndarray, "N C"]:
        """Log predictive probability of every item, without its own answers."""
        epsilon, absorbed = (
            jnp.asarray(v, self.dtype) for v in (self.epsilon, self.absorbed)
        )
        out = [
            leave_one_out(
                self.recipe,
                self.state,
                Batch(self.X[at], self.evidence[at]),
                epsilon,
                absorbed,
            )
            for at in self.pieces()
        ]
        return np.concatenate([np.asarray(o) for o in out]).astype(np.float64)


_kl_to_prior = jax.jit(sparse_gp.kl_to_prior)


@partial(jax.jit, static_argnames="recipe")
def leave_one_out(
    recipe: Recipe,
    state: State,
    batch: Batch,
    epsilon: jax.Array,
    absorbed: jax.Array,
) -> jax.Array:
    """Return log p(z) of some items as the other items alone would have it.

    An item's own pull on f is a Gaussian site with the slopes of its term of the
    bound; dividing it out of q(f), as far as it is in there, leaves the cavity of
    expectation propagation.
    """
    project, left = model.projections(recipe, state.hyper, batch.X)
    moments = sparse_gp.to_moments(state.natural)
    latent = sparse_gp.latent_moments(moments, project, left)

    def gain(latent: sparse_gp.Latent) -> jax.Array:
        at = model.states(recipe, latent, epsilon)
        return labels.best_bound(at, batch.evidence, recipe.factorised).sum()

    pull = jax.tree.map(lambda slope: absorbed * slope, jax.grad(gain)(latent))
    cavity = sparse_gp.cavity(latent, left, pull)
    proba = links.predictive(model.states(recipe, cavity, epsilon))
    return jnp.log(jnp.maximum(proba, jnp.finfo(proba.dtype).tiny))


def best_epsilon(agreement: Float[np.ndarray, " N"]) -> float:
    """Return the mean of q(z is not where f is the largest): the best epsilon."""
    return float(np.clip((1 - agreement).mean(), EPSILON_FLOOR, 0.5))


def best_sharpness(
    log_proba: Float[np.ndarray, "N C"],
    evidence: Float[np.ndarray, "N C"],
    rng: np.random.RandomState,
) -> float:
    """Return the power t of p(z | x) under which the answers are the most likely.

    Σₙ log Σ_c softmax_c(t log p) e^{evidence}, over leave-one-out predictions: a t
    above one says that the Gaussian process was more modest than it had to be.
    """
    some = rng.permutation(len(log_proba))[:N_CALIBRATION]
    log_proba, evidence = log_proba[some], evidence[some]

    def unlikely(log_power: float) -> float:
        at = np.exp(log_power) * log_proba
        return float(
            np.mean(crowd.posterior(at)[1] - crowd.posterior(at + evidence)[1])
        )

    best = minimize_scalar(unlikely, bounds=LOG_SHARPNESS, method="bounded")
    return float(np.exp(best.x))


def _what_is_wrong(X: np.ndarray) -> str:
    some = X[:20_000]
    return (
        f"the covariance of the inducing points could not be factorised, even with "
        f"more jitter. Of {len(some)} items {len(np.unique(some, axis=0))} are "
        f"distinct, and the scaled features reach {np.abs(X).max():.3g}. Remove "
        f"repeated items and outliers, or use fewer inducing points."
    )
