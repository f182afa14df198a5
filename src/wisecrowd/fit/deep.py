"""Networks for crowds as a task of the stochastic driver: AggNet, crowd layers, CoNAL.

The methods differ in their :class:`~wisecrowd.maths.deep.layers.Layer`, and in the
:class:`Crowd`: what is known about the items of a batch, and what is learned about the
annotators between two passes. A part of the items is held out. The parameters with the
highest log-likelihood of their answers are kept.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
import optax
from jaxtyping import Float, Int
from threadpoolctl import threadpool_limits

from wisecrowd._checks import InputError
from wisecrowd.answers import Answers
from wisecrowd.features import PIECE, FeatureSource, InMemory
from wisecrowd.fit.flat_answers import held_out_items
from wisecrowd.fit.processes import check_not_forked
from wisecrowd.fit.stochastic import Pace, Place, Run, Watched, completed, watched_items
from wisecrowd.fit.trace import Trace
from wisecrowd.maths.deep.layers import MATRICES, Layer, Strength
from wisecrowd.maths.deep.modules import (
    log_proba,
    made_module,
    predicted_in_pieces,
    split,
)
from wisecrowd.maths.networks import Network, as_network, generator
from wisecrowd.maths.scaling import scaling

ADAM = optax.scale_by_adam()
LEAST_STEPS = 200  # before the log-likelihood may be taken as converged
LEAST_HELD = 20  # items; fewer say too little about when to stop


def blank_adam(params: Any) -> Any:
    """Return Adam's memory before the first step, made by NumPy."""
    shapes = jax.eval_shape(ADAM.init, params)
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)


class Params(NamedTuple):
    """All that Adam learns."""

    network: Any
    layer: Any


class Rates(NamedTuple):
    """Step sizes of the networks and of the annotators' matrices."""

    network: Any
    layer: Any


def rate_of(path: Any, rates: Rates) -> Any:
    """Return the step size of a parameter, by its path in :class:`Params`."""
    return rates.layer if getattr(path[-1], "key", None) in MATRICES else rates.network


class State(NamedTuple):
    """All that moves, a pytree of arrays."""

    params: Params
    adam: Any
    key: Any
    crowd: Any  # what the crowd learns between two passes
    scores: Float[np.ndarray, " H"]  # log-likelihood of every watched item
    best: Any  # the parameters and the crowd with the best sum of scores
    best_score: float


@runtime_checkable
class Crowd(Protocol):
    """What is known about the items, in the form that a layer takes."""

    def start(self) -> Any:
        """Return what is learned between passes, before the first one."""

    def given(self, learned: Any, items: Int[np.ndarray, "T B"]) -> Any:
        """Return what is known about batches of items, arrays of T rows."""

    def after_pass(self, learned: Any, log_proba: Float[np.ndarray, "N C"]) -> Any:
        """Return what is learned from the predictions for all items."""

    @property
    def learns(self) -> bool:
        """Whether `after_pass` does anything."""


@eqx.filter_jit
def steps(
    rest: Any, layer: Any, state: Any, batches: Any, rates: Rates, strength: Strength
) -> Any:
    """Take T steps of Adam, each on a batch of its own; `state` is (params, adam, key).

    `rest` is what remains of the network's module without its arrays.
    """

    def one(state: Any, at: Any) -> Any:
        (params, adam, key), (X, given, rates) = state, at
        key, own = jax.random.split(key)

        def loss(params: Params) -> Any:
            said = log_proba(params.network, rest, X, own)
            return layer.loss(params.layer, said, X, given, strength)

        slope = jax.grad(loss)(params)
        with jax.numpy_dtype_promotion("standard"):  # Adam: a float to a whole power
            change, adam = ADAM.update(slope, adam)
        moved = jax.tree.map_with_path(
            lambda path, p, c: p - rate_of(path, rates) * c, params, change
        )
        return (moved, adam, key), None

    return jax.lax.scan(one, state, (*batches, rates))[0]


@eqx.filter_jit
def log_likelihood(rest: Any, layer: Any, params: Params, X: Any, given: Any) -> Any:
    """Return the log-likelihood of every item, without dropout."""
    said = log_proba(params.network, rest, X)
    return layer.log_likelihood(params.layer, said, X, given)


@dataclass(frozen=True)
class NetworkTask:
    """How a network is learned: see :class:`~wisecrowd.fit.stochastic.Task`.

    Attributes
    ----------
    layer : Layer
        The annotators' part of the loss.
    crowd : Crowd
        What is known about the items.
    rest : module
        The network without its arrays.
    features : FeatureSource
        Scaled, in 32 bits.
    train, watched_at : arrays
        Items to learn from, and items whose log-likelihood is watched.
    rates : Rates
        Full step sizes.
    strength : Strength
        Of the penalties.
    chunk, per_pass : int
        Steps of a chunk, and of a pass over the items.
    """

    layer: Layer
    crowd: Crowd
    rest: Any
    features: FeatureSource
    train: Int[np.ndarray, " n"]
    watched_at: Int[np.ndarray, " H"]
    rates: Rates
    strength: Strength
    chunk: int
    per_pass: int

    def start(self, network: Any, key: Any) -> State:
        """Return the state before the first step."""
        params = Params(network, self.layer.start(generator(key)))
        crowd = self.crowd.start()
        nothing = np.full(len(self.watched_at), -np.inf)
        best = (params, crowd)
        return State(params, blank_adam(params), key, crowd, nothing, best, -np.inf)

    # -- what the driver calls ----------------------------------------------------

    def steps(self, state: State, rows: Int[np.ndarray, "T B"], pace: Pace) -> State:
        """Take a chunk of steps."""
        items = self.train[rows]
        share = pace.rate * pace.ramp * pace.cooling
        rates = Rates(*((rate * share).astype("float32") for rate in self.rates))
        batches = self.features.batches(items), self.crowd.given(state.crowd, items)
        before = state.params, state.adam, state.key
        after = steps(self.rest, self.layer, before, batches, rates, self.strength)
        params, adam, key = after
        return state._replace(params=params, adam=adam, key=key)

    def between(self, state: State, place: Place) -> State:
        """Learn about the annotators after every pass, and keep the best so far."""
        crowd = state.crowd
        if self.crowd.learns and self.ends_pass(place.step):
            crowd = self.crowd.after_pass(crowd, self.predictions(state.params))
        scores = self.scores(state.params, crowd)
        state = state._replace(crowd=crowd, scores=scores)
        score = float(scores.sum())
        if score > state.best_score:
            state = state._replace(best=(state.params, crowd), best_score=score)
        return state

    def watched(self, state: State) -> Watched:
        """Return the log-likelihood of the watched items."""
        total = float(state.scores.sum())
        return Watched({"bound": total}, state.scores, 0.0)

    def may_converge(self, place: Place) -> bool:
        """Return whether the network has had time to learn anything."""
        return place.every_item_seen and place.step >= LEAST_STEPS

    def recovered(self, state: State) -> State:
        """Return the best state, with a new memory of Adam."""
        params, crowd = state.best
        return state._replace(params=params, crowd=crowd, adam=blank_adam(params))

    # -- parts ----------------------------------------------------------------------

    def ends_pass(self, step: int) -> bool:
        """Return whether a pass over the items ended in the chunk before this step."""
        return step // self.per_pass > (step - self.chunk) // self.per_pass

    def predictions(self, params: Params) -> Float[np.ndarray, "N C"]:
        """Return log p(z | x) of all items."""
        return predicted_in_pieces(params.network, self.rest, self.features)

    def scores(self, params: Params, crowd: Any) -> Float[np.ndarray, " H"]:
        """Return the log-likelihood of every watched item."""
        found = []
        for first in range(0, len(self.watched_at), PIECE):
            items = self.watched_at[first : first + PIECE]
            full = padded(items, len(self.watched_at))[None]
            given = jax.tree.map(lambda a: a[0], self.crowd.given(crowd, full))
            X = self.features.batches(full)[0]
            piece = log_likelihood(self.rest, self.layer, params, X, given)
            found.append(np.asarray(piece, np.float64)[: len(items)])
        return np.concatenate(found)


def padded(items: Int[np.ndarray, " n"], n_all: int) -> Int[np.ndarray, " m"]:
    """Return the items, the first repeated up to `PIECE` or to a power of two."""
    full = PIECE if n_all > PIECE else 1 << max(0, len(items) - 1).bit_length()
    return np.concatenate([items, np.repeat(items[:1], full - len(items))])


# -- a whole fit ---------------------------------------------------------------------


class Fitted(NamedTuple):
    """What training leaves.

    Attributes
    ----------
    network : Network
        With a temperature of one.
    layer : dict
        The parameters of the annotators' layer, in NumPy.
    crowd : record
        What was learned between passes.
    log_proba : array (N, C)
        log p(z | x) of all items.
    held_out : array (H,)
        The items that were held out; none if they were too few.
    """

    network: Network
    layer: Any
    crowd: Any
    log_proba: Float[np.ndarray, "N C"]
    held_out: Int[np.ndarray, " H"]


class Recipe(NamedTuple):
    """What a method brings to :func:`trained`, once it knows what to learn from."""

    layer: Layer
    crowd: Crowd
    strength: Strength


def trained(
    settings: Any,
    X: Float[np.ndarray, "N D"],
    answers: Answers,
    gold: Int[np.ndarray, " N"],
    recipe: Callable[[Int[np.ndarray, " n"], int], Recipe],
) -> tuple[Fitted, Trace]:
    """Learn the network and the annotators' layer, in 32 bits.

    Parameters
    ----------
    settings : NetworkClassifier
        The settings of the network and of the steps.
    X : array (N, D)
        Features.
    answers : Answers
        What was said about the items.
    gold : array (N,)
        Codes of the classes known for certain, -1 elsewhere.
    recipe : function
        From the items to learn from and the size of a batch to the method's own parts.
    """
    check_not_forked()
    n_classes = answers.n_classes
    # Items of which nothing is known teach nothing.
    answered = (answers.n_per_item > 0) | (gold >= 0)
    scale = scaling(X, settings.scaling)
    features = InMemory(scale.apply(X, "float32"))
    seed = settings._seed()
    held = held_out_items(answered, float(settings.held_out), LEAST_HELD, PIECE, seed)
    train = np.setdiff1d(np.flatnonzero(answered), held)
    schedule = settings._schedule(len(train))
    architecture = as_network(settings.network, X.shape[1])
    with jax.enable_x64(False), threadpool_limits(1, user_api="blas"):
        # Keys of JAX, made by NumPy: nothing has to be compiled for them.
        keys = np.random.default_rng(seed).integers(2**32, size=(2, 2), dtype=np.uint32)
        module = made_module(architecture, X.shape[1], n_classes, keys[0])
        weights, rest = split(module)
        parts = recipe(train, schedule.batch_size)
        task = NetworkTask(
            parts.layer,
            parts.crowd,
            rest,
            features,
            train,
            held if len(held) else train[watched_items(len(train), seed)],
            Rates(float(settings.learning_rate), settings._layer_rate()),
            parts.strength,
            schedule.chunk,
            -(-len(train) // schedule.batch_size),
        )
        run = Run(task.start(weights, keys[1]), seed, schedule.n_steps)
        name = type(settings).__name__
        with Trace(name, schedule.n_steps, settings.progress) as trace:
            try:
                run = completed(task, len(train), schedule, run, trace=trace)
            except FloatingPointError:
                raise InputError(
                    "the log-likelihood is not finite, even after smaller steps. Use a "
                    "smaller learning_rate, or look for outliers in the features."
                ) from None
        params, crowd = run.state.best
        said = task.predictions(params)
    leaves = enumerate(jax.tree.leaves(params.network))
    arrays = {str(i): np.asarray(leaf) for i, leaf in leaves}
    network = Network(architecture, arrays, n_classes, scale, 1.0)
    layer = jax.tree.map(np.asarray, params.layer)
    return Fitted(network, layer, crowd, said, held), trace
