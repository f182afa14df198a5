"""Networks for crowds as a task of the stochastic driver: AggNet, crowd layers, CoNAL.

The methods differ in their :class:`~wisecrowd.maths.deep.layers.Layer`, and in the
:class:`Crowd`: what is known about the items of a batch, and what is learned about the
annotators between two passes. A part of the items is held out. The parameters with the
highest log-likelihood of their answers are kept.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
import optax
from jaxtyping import Bool, Float, Int
from threadpoolctl import threadpool_limits

from wisecrowd.answers import Answers
from wisecrowd.feature_source import PIECE, FeatureSource, filled
from wisecrowd.fit import training
from wisecrowd.fit.checkpoint import NOWHERE, Checkpoint
from wisecrowd.fit.flat_answers import flat_rows, held_out_items
from wisecrowd.fit.processes import check_not_forked
from wisecrowd.fit.stochastic import Pace, Place, Watched, watched_items
from wisecrowd.fit.trace import Trace
from wisecrowd.fit.training import Plan
from wisecrowd.maths.deep.crowd_layers import Rows
from wisecrowd.maths.deep.layers import MATRICES, Layer, Strength
from wisecrowd.maths.deep.modules import (
    log_proba,
    made_module,
    predicted_in_pieces,
    split,
)
from wisecrowd.maths.networks import Network, as_network, generator
from wisecrowd.maths.scaling import Scaling

ADAM = optax.scale_by_adam()
LEAST_STEPS = 200  # before the log-likelihood may be taken as converged
LEAST_HELD = 20  # items; fewer say too little about when to stop
NOT_FINITE = (
    "the log-likelihood is not finite, even after smaller steps. Use a smaller "
    "learning_rate, or look for outliers in the features."
)


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


# -- what a fit is given ---------------------------------------------------------------


class Items(NamedTuple):
    """Features in the network's units, and the items to learn from and to watch.

    `held_out` are none if they were too few; then items of `train` are watched.
    """

    features: FeatureSource
    train: Int[np.ndarray, " n"]
    held_out: Int[np.ndarray, " h"]
    watched: Int[np.ndarray, " H"]

    @classmethod
    def of(
        cls,
        features: FeatureSource,
        answered: Bool[np.ndarray, " N"],
        held_out: float,
        seed: int,
    ) -> "Items":
        """Divide the items of which something is known: others teach nothing."""
        held = held_out_items(answered, held_out, LEAST_HELD, PIECE, seed)
        train = np.setdiff1d(np.flatnonzero(answered), held)
        watched = held if len(held) else train[watched_items(len(train), seed)]
        return cls(features, train, held, watched)


@runtime_checkable
class Crowd(Protocol):
    """What is known about the items, in the form that a layer takes.

    Here nothing is learned between two passes: the layer learns it all.
    """

    @property
    def learns(self) -> bool:
        """Whether `after_pass` does anything."""
        return False

    def start(self) -> Any:
        """Return what is learned between passes, before the first one."""
        return ()

    def given(self, learned: Any, items: Int[np.ndarray, "T B"]) -> Any:
        """Return what is known about batches of items, arrays of T rows."""

    def after_pass(self, learned: Any, log_proba: Float[np.ndarray, "N C"]) -> Any:
        """Return what is learned from the predictions for all items."""
        return learned


@dataclass(frozen=True, eq=False)
class FlatAnswers(Crowd):
    """Answers as they are, for layers that predict each by itself.

    A batch has at least `room` rows: see :func:`~wisecrowd.fit.flat_answers.room_for`.
    """

    answers: Answers
    gold: Int[np.ndarray, " N"]
    room: int

    def given(self, learned: Any, items: Int[np.ndarray, "T B"]) -> Rows:
        """Return the answers on the items."""
        return flat_rows(self.answers, self.gold, items, self.room)


class Recipe(NamedTuple):
    """What a method brings: its loss, what it knows, step sizes and penalties."""

    layer: Layer
    crowd: Crowd
    rates: Rates
    strength: Strength = Strength(0.0, 0.0)


# -- the steps -------------------------------------------------------------------------


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

    `rest` is the network without its arrays; `chunk` and `per_pass` are the steps of a
    chunk and of a pass over the items; `failure` says what to do if no step is finite.
    """

    recipe: Recipe
    rest: Any
    items: Items
    chunk: int
    per_pass: int
    failure: str = NOT_FINITE

    def start(self, network: Any, key: Any) -> State:
        """Return the state before the first step."""
        params = Params(network, self.recipe.layer.start(generator(key)))
        crowd = self.recipe.crowd.start()
        nothing = np.full(len(self.items.watched), -np.inf)
        best = (params, crowd)
        return State(params, blank_adam(params), key, crowd, nothing, best, -np.inf)

    # -- what the driver calls ----------------------------------------------------

    def steps(self, state: State, rows: Int[np.ndarray, "T B"], pace: Pace) -> State:
        """Take a chunk of steps."""
        layer, crowd, rates, strength = self.recipe
        items = self.items.train[rows]
        share = pace.rate * pace.ramp * pace.cooling
        paced = Rates(*((rate * share).astype("float32") for rate in rates))
        batches = self.items.features.batches(items), crowd.given(state.crowd, items)
        before = state.params, state.adam, state.key
        params, adam, key = steps(self.rest, layer, before, batches, paced, strength)
        return state._replace(params=params, adam=adam, key=key)

    def between(self, state: State, place: Place) -> State:
        """Learn about the annotators after every pass, and keep the best so far."""
        crowd = state.crowd
        if self.recipe.crowd.learns and self.ends_pass(place.step):
            crowd = self.recipe.crowd.after_pass(crowd, self.predictions(state.params))
        scores = self.scores(state.params, crowd)
        state = state._replace(crowd=crowd, scores=scores)
        score = float(scores.sum())
        if score > state.best_score:
            state = state._replace(best=(state.params, crowd), best_score=score)
        return state

    def watched(self, state: State) -> Watched:
        """Return the log-likelihood of the watched items."""
        return Watched({"bound": float(state.scores.sum())}, state.scores, 0.0)

    def may_converge(self, place: Place) -> bool:
        """Return whether the network has had time to learn anything."""
        return place.every_item_seen and place.step >= LEAST_STEPS

    def recovered(self, state: State) -> State:
        """Return the best state, with a new memory of Adam."""
        params, crowd = state.best
        return state._replace(params=params, crowd=crowd, adam=blank_adam(params))

    def what_is_wrong(self) -> str:
        """Return what to do."""
        return self.failure

    # -- parts ----------------------------------------------------------------------

    def ends_pass(self, step: int) -> bool:
        """Return whether a pass over the items ended in the chunk before this step."""
        return step // self.per_pass > (step - self.chunk) // self.per_pass

    def predictions(self, params: Params) -> Float[np.ndarray, "N C"]:
        """Return log p(z | x) of all items."""
        return predicted_in_pieces(params.network, self.rest, self.items.features)

    def scores(self, params: Params, crowd: Any) -> Float[np.ndarray, " H"]:
        """Return the log-likelihood of every watched item."""
        watched, found = self.items.watched, []
        for first in range(0, len(watched), PIECE):
            items = watched[first : first + PIECE]
            full = filled(items, len(watched))[None]
            given = self.recipe.crowd.given(crowd, full)
            one = jax.tree.map(lambda a: a[0], given)
            X = self.items.features.batches(full)[0]
            piece = log_likelihood(self.rest, self.recipe.layer, params, X, one)
            found.append(np.asarray(piece, np.float64)[: len(items)])
        return np.concatenate(found)


# -- a whole fit ---------------------------------------------------------------------


def trained(
    recipe: Recipe,
    plan: Plan,
    items: Items,
    module: eqx.Module,
    key: Any,
    *,
    keep: Checkpoint = NOWHERE,
    failure: str = NOT_FINITE,
) -> tuple[NetworkTask, State, Trace]:
    """Learn a network, from the weights that its module has."""
    weights, rest = split(module)
    per_pass = -(-len(items.train) // plan.schedule.batch_size)
    task = NetworkTask(recipe, rest, items, plan.schedule.chunk, per_pass, failure)
    run, trace = training.trained(
        task, plan, lambda: task.start(weights, key), keep=keep
    )
    return task, run.state, trace


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
    """

    network: Network
    layer: Any
    crowd: Any
    log_proba: Float[np.ndarray, "N C"]


def fitted(
    spec: Any,
    scale: Scaling,
    n_classes: int,
    recipe: Recipe,
    plan: Plan,
    items: Items,
    keep: Checkpoint,
) -> tuple[Fitted, Trace]:
    """Learn the network of a setting and the annotators' layer, in 32 bits."""
    check_not_forked()
    n_features = items.features.n_features
    architecture = as_network(spec, n_features)
    with jax.enable_x64(False), threadpool_limits(1, user_api="blas"):
        # Keys of JAX, made by NumPy: nothing has to be compiled for them.
        rng = np.random.default_rng(plan.seed)
        keys = rng.integers(2**32, size=(2, 2), dtype=np.uint32)
        module = made_module(architecture, n_features, n_classes, keys[0])
        task, state, trace = trained(recipe, plan, items, module, keys[1], keep=keep)
        params, crowd = state.best
        said = task.predictions(params)
    leaves = enumerate(jax.tree.leaves(params.network))
    arrays = {str(i): np.asarray(leaf) for i, leaf in leaves}
    network = Network(architecture, arrays, n_classes, scale, 1.0)
    return Fitted(network, jax.tree.map(np.asarray, params.layer), crowd, said), trace
