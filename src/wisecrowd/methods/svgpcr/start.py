"""Where a fit begins: annotators, inducing points, and a network under the kernel.

*Annotators* begin as the answers alone describe them, *inducing points* at the centres
of k-means. *A network* is trained as a classifier first: the bound alone is a bad
teacher while it is still random, because the bound is flat there, and a network can
explain the answers by remembering the items. So it is trained with dropout, with one
linear layer on top of it, on what the answers alone say, until held-out answers gain no
more. The layer on top is then replaced by the Gaussian process, and all is learned
together, the network slowly.

*Compiling* the steps takes longer than all this, and needs only the shapes. So both run
at once, on two cores. Nothing is executed by the compiling threads: two threads that
execute can block each other in JAX, where there are only two cores.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from sklearn.cluster import KMeans

from wisecrowd.annotations import Annotations
from wisecrowd.feature_source import FeatureSource, filled
from wisecrowd.fit.consensus import MAX_ITERATIONS, Agreed, agreed
from wisecrowd.fit.deep import Crowd, Items, Rates, Recipe, trained
from wisecrowd.fit.stochastic import Run, Schedule
from wisecrowd.fit.trace import Trace
from wisecrowd.fit.training import Plan
from wisecrowd.fit.variational import of_answers_alone
from wisecrowd.maths import crowd
from wisecrowd.maths.deep.layers import Marginal
from wisecrowd.maths.deep.modules import FLOAT, WithHead, linear, split
from wisecrowd.maths.gp.deep import Deep, embedded
from wisecrowd.maths.gp.kernels import Params
from wisecrowd.maths.networks import generator
from wisecrowd.methods.svgpcr import model, natural
from wisecrowd.methods.svgpcr.model import Hyper, SparseTask
from wisecrowd.methods.svgpcr.natural import NaturalState, NaturalTask
from wisecrowd.skills import ConfusionMatrices

N_FOR_START = 20_000  # items that k-means sees: more of them move no centre
MAX_START = 50  # iterations of BCC before the first step
START_CLASS_PRIOR = 1.0  # as published; on LabelMe, 10 cost robust max .005
PER_POINT = 20  # items per inducing point; with more, k-means needs no distinct ones

# Of a network under the kernel:
BATCH = 64
PASSES = 5  # the most passes over a large crowd
MIN_STEPS = 3000  # the most steps of a small one
RATE = 1e-3  # of Adam
COOL_DOWN = 0.4
HELD_OUT = 0.1  # of the items, to know when to stop
TIME_SHARE = 0.5  # of a time limit
NOT_FINITE = (
    "the network's log-likelihood is not finite, even after smaller steps. Look for "
    "outliers in the features."
)


# -- annotators ------------------------------------------------------------------------


class Start(NamedTuple):
    """What the answers say without the features.

    `alone` is what the pool uses in the end, `skills` where the loop begins: BCC. Its
    annotators are sharper, and the classifier learned better from them.
    """

    alone: Agreed
    skills: Any


def start_of(annotations: Annotations, prior: crowd.PriorSpec) -> Start:
    """Return where a fit with this prior of the annotators begins."""
    answers = annotations.codes
    before = ConfusionMatrices.before_answers(
        prior, annotations.annotators, *answers.shape[2:]
    )
    with Trace("annotators", total=MAX_ITERATIONS, show=False) as trace:
        alone = agreed(
            answers,
            annotations.gold_codes,
            before,
            max_iter=MAX_ITERATIONS,
            trace=trace,
        )
    bcc = of_answers_alone(annotations, prior, MAX_START, START_CLASS_PRIOR)
    return Start(alone, bcc.skills)


# -- inducing points -------------------------------------------------------------------


def n_points(X: Float[np.ndarray, "n D"], n_inducing: int) -> int:
    """Return how many inducing points there will be: no more than distinct items."""
    if len(X) > PER_POINT * n_inducing:
        return n_inducing
    return min(n_inducing, len(np.unique(X, axis=0)))


def inducing_points(
    X: Float[np.ndarray, "n D"], n_inducing: int, rng: np.random.RandomState
) -> Float[np.ndarray, "M D"]:
    """Return the centres of k-means; all distinct items, where there are no more."""
    distinct = np.unique(X, axis=0) if len(X) <= PER_POINT * n_inducing else X
    if len(distinct) <= n_inducing:
        return distinct.astype(np.float64)
    centres = KMeans(n_inducing, n_init=1, max_iter=30, random_state=rng).fit(X)
    return centres.cluster_centers_.astype(np.float64)


def rows_for_start(
    task: SparseTask,
) -> tuple[Int[np.ndarray, " n"], np.random.RandomState]:
    """Return the items that k-means sees, and its source of random numbers."""
    rng = np.random.RandomState(task.seed)
    return rng.permutation(task.recipe.n_items)[:N_FOR_START], rng


def starting_points(task: SparseTask) -> Float[np.ndarray, "M D"]:
    """Return the inducing points to begin with."""
    rows, rng = rows_for_start(task)
    some = task.data.features.batches(rows[None])[0]
    return inducing_points(some, n_points(some, task.plan.n_inducing), rng)


def starting_hyper(task: SparseTask, points: Float[np.ndarray, "M E"]) -> Hyper:
    """Return the kernel's parameters to begin with, and these inducing points."""
    features, answers = task.data.features, task.data.answers
    kernel = model.starting_kernel(task.recipe, features.n_features, answers.n_classes)
    return Hyper(kernel, jnp.asarray(points, jnp.float64))


# -- a network under the kernel --------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Given(Crowd):
    """What the answers say, and stays so: see :class:`~wisecrowd.fit.deep.Crowd`."""

    evidence: Float[np.ndarray, "N C"]

    def given(self, learned: Any, items: Int[np.ndarray, "T B"]) -> np.ndarray:
        """Return the evidence about the items."""
        return self.evidence[items]


def learned_hyper(task: NaturalTask, skills: Any) -> Hyper:
    """Return a kernel whose network was trained, and inducing points in its space."""
    kernel: Any = task.recipe.kernel
    features, plan = task.data.features, task.plan
    params = trained_network(
        kernel,
        features,
        task.evidence(skills),
        task.seed,
        time_limit=plan.run.schedule.time_limit,
        progress=plan.run.progress,
    )
    n_kernels = 1 if task.recipe.shared else task.data.answers.n_classes
    rows, rng = rows_for_start(task)
    out = embedded_in_pieces(kernel, params, features)[rows]
    points = inducing_points(out, n_points(out, plan.n_inducing), rng)
    return Hyper(kernel.stacked(params, n_kernels), jnp.asarray(points, jnp.float64))


def trained_network(
    kernel: Deep,
    features: FeatureSource,
    evidence: Float[np.ndarray, "N C"],
    seed: int,
    *,
    time_limit: float | None = None,
    progress: bool | None = None,
) -> Params:
    """Return the kernel's parameters with a network that was trained as a classifier.

    Parameters
    ----------
    kernel : Deep
        The recipe.
    features : FeatureSource
        Scaled.
    evidence : array (N, C)
        What the answers say about every item, in logs; 0 where there are none.
    seed : int
        Of weights, batches and dropout.
    time_limit : float or None
        Seconds of the whole fit.
    progress : bool or None
        Whether to draw a progress bar.
    """
    answered = np.ptp(evidence, axis=1) > 0  # others teach nothing
    in_32 = features.changed(lambda X: X.astype(FLOAT, copy=False))
    items = Items.of(in_32, answered, HELD_OUT, seed)
    with jax.enable_x64(False):
        keys = np.random.default_rng([seed, 3]).integers(
            2**32, size=(3, 2), dtype=np.uint32
        )
        body: Any = kernel.module(features.n_features, keys[0])
        if not len(items.train):
            return in_units(kernel, split(body)[0], features)
        head = linear(kernel.n_outputs, evidence.shape[1], generator(keys[1]))
        n_items = len(items.train)
        schedule = schedule_of(n_items, time_limit)
        plan = Plan("network", seed, n_items, schedule, progress)
        given = Given(evidence.astype(FLOAT))
        recipe = Recipe(Marginal(), given, Rates(RATE, 0.0))
        network = WithHead(body, head)
        _, state, _ = trained(recipe, plan, items, network, keys[2], failure=NOT_FINITE)
        best = state.best[0].network.body
    return in_units(kernel, best, features)


def schedule_of(n_items: int, time_limit: float | None) -> Schedule:
    """Return how long the network is trained.

    No early end: with dropout, the held-out answers stand still now and then long
    before the end. The best weights are kept anyway.
    """
    batch = min(BATCH, n_items)
    n_steps = max(MIN_STEPS, PASSES * n_items // batch)
    limit = None if time_limit is None else TIME_SHARE * time_limit
    return Schedule.of(
        n_items, batch, n_steps, tol=None, time_limit=limit, cool_down=COOL_DOWN
    )


def in_units(kernel: Deep, weights: Any, features: FeatureSource) -> Params:
    """Return the parameters, with outputs that have the mean 0 and the mean square 1.

    One number for all outputs: they are of one kind, and those that vary little are of
    little use to the classifier.
    """
    nothing, one = np.zeros(kernel.n_outputs, FLOAT), np.ones((), FLOAT)
    params = kernel.with_network(weights, nothing, one)
    out = embedded_in_pieces(kernel, params, features)
    centre = out.mean(0)
    spread = np.sqrt(((out - centre) ** 2).mean())
    spread = spread if spread > 0 else 1.0
    return kernel.with_network(weights, centre.astype(FLOAT), FLOAT(spread))


def embedded_in_pieces(
    kernel: Deep, params: Params, features: FeatureSource
) -> Float[np.ndarray, "N E"]:
    """Return the output of the network for all items, in pieces of few shapes."""
    found = []
    for _, X in features.pieces():
        full = jnp.asarray(filled(X, features.n_items), FLOAT)
        found.append(np.asarray(embedded(kernel, params, full))[: len(X)])
    return np.concatenate(found).astype(np.float64)


# -- compiling -------------------------------------------------------------------------


@contextmanager
def compiling(task: NaturalTask, blank: NaturalState) -> Iterator[None]:
    """Compile all that a fit needs, beside what the block does.

    `blank` is a state of the right shapes; its values do not count.
    """
    threads = [
        threading.Thread(target=work, args=(task, blank), daemon=True)
        for work in (compile_steps, compile_watching)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:  # a process must not end while it compiles
        for thread in threads:
            thread.join()


def compile_steps(task: NaturalTask, blank: NaturalState) -> None:
    """Compile a chunk of steps."""
    schedule = task.plan.run.schedule
    with jax.enable_x64(True):  # the setting belongs to a thread
        rates = task.rates(schedule.pace(Run(blank, task.seed, schedule.n_steps)))
        rows = np.zeros((schedule.chunk, schedule.batch_size), int)
        natural.steps.lower(*task.for_steps(blank, rows, rates)).compile()


def compile_watching(task: NaturalTask, blank: NaturalState) -> None:
    """Compile what watches the bound; at the end it also leaves out items."""
    with jax.enable_x64(True):
        X, evidence = task.for_watched(blank)
        given = task.for_visited(blank, X, evidence)
        natural.visited.lower(*given).compile()
        terms = jax.tree.map(  # of the items without filling
            lambda term: jax.ShapeDtypeStruct((len(X),), term.dtype),
            jax.eval_shape(natural.visited, *given).terms,
        )
        divergence = task.divergence(blank)
        natural.bound.lower(
            task.recipe, terms, blank.process.natural, divergence
        ).compile()
