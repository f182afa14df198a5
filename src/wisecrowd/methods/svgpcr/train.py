"""A whole fit by our inference: start, steps, ending."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Float
from threadpoolctl import threadpool_limits

from wisecrowd.base import Learned
from wisecrowd.feature_source import PIECE, FeatureSource, InMemory
from wisecrowd.fit import training
from wisecrowd.fit.checkpoint import Checkpoint
from wisecrowd.fit.consensus import Agreed, Predictions
from wisecrowd.fit.stochastic import Run
from wisecrowd.fit.trace import Trace
from wisecrowd.maths.gp import links, sparse_gp
from wisecrowd.methods.svgpcr.beside import KnownItems
from wisecrowd.methods.svgpcr.ending import (
    Ended,
    ended,
    ended_as_published,
    ended_with_trusted,
    left_out,
)
from wisecrowd.methods.svgpcr.estimator import FEW_ITEMS
from wisecrowd.methods.svgpcr.model import Data, Hyper, SparsePlan
from wisecrowd.methods.svgpcr.natural import NaturalState, NaturalTask
from wisecrowd.methods.svgpcr.record import Beside, SparseGP
from wisecrowd.methods.svgpcr.start import (
    Start,
    compiling,
    inducing_points,
    learned_hyper,
    n_points,
    rows_for_start,
    starting_hyper,
    starting_points,
)
from wisecrowd.skills.tally import Settled, Trusted

CROSS_FITTED = 2000  # items, and fewer, are predicted by fits without their answers
N_FOLDS = 3
N_LARGE_FOLDS = 2  # of more items, if there is a network
AGAIN = 0.5  # of the steps, in which f is learned from the labels again
AGAIN_IF_MANY = 0.25  # with more than FEW_ITEMS: more steps brought nothing
ROUNDS = 3  # of predictions, then labels
ROUNDS_IF_MANY = 1
"""With 173,565 glitches, one round had the better log loss (.272 for .303), and each
takes seconds."""
SMALLEST_LABEL = 1e-4  # probability of a class, where f is learned from labels


def trained(
    plan: SparsePlan,
    data: Data,
    keep: Checkpoint,
    before: Any,
    start: Callable[[], Start],
) -> tuple[Learned, Trace]:
    """Learn it all, in 64 bits where it matters, without the user's settings changing.

    `start` returns where the fit begins, and is asked twice. `before` are annotators of
    the same structure, at no cost.
    """
    task = NaturalTask(plan, data)
    kernel, n_features = plan.recipe.kernel, data.features.n_features

    def blank(n_inducing: int = 1) -> NaturalState:
        points = np.zeros((n_inducing, kernel.n_embedded(n_features)))
        return task.start(before, starting_hyper(task, points))

    def first() -> NaturalState:
        rows, rng = rows_for_start(task)
        some = data.features.batches(rows[None])[0]
        n_inducing = n_points(some, plan.n_inducing)
        with compiling(task, blank(n_inducing)):
            skills = start().skills
            if kernel.embeds:
                hyper = learned_hyper(task, skills)
            else:
                points = inducing_points(some, n_inducing, rng)
        if not kernel.embeds:
            hyper = starting_hyper(task, points)
        return task.start(skills, hyper)

    # The small matrices gain nothing from BLAS threads, and waiting ones starve JAX's.
    with jax.enable_x64(True), threadpool_limits(1, user_api="blas"):
        run, trace = training.trained(
            task, plan.run, first, like=blank, keep=keep, start_counts=kernel.embeds
        )
        both = None
        if isinstance(run.state.skills, Trusted):
            end = ended_with_trusted(task, run.state)
        elif plan.dependence is None:
            end = ended_as_published(task, run.state)
        else:
            run, end, both = ended_again(task, run, start().alone)
    keep.remove()
    state, process = run.state, (run.state.process.natural, run.state.process.hyper)
    return learned(end, plan, *process, state.jitter, state.epsilon, both), trace


def ended_again(
    task: NaturalTask, run: Run, first: Agreed
) -> tuple[Run, Ended, Beside | None]:
    """Make the labels, learn f from them again, and make the final labels.

    Inside the loop f learns from the answers as if they were independent. The labels of
    the pool are better, so f learns from them once more, and small networks with it.
    """
    process, known = left_out(task, run.state), known_items(task)
    dependence, many = task.plan.dependence, task.recipe.n_items > FEW_ITEMS
    n_rounds = ROUNDS_IF_MANY if many else ROUNDS
    says: Predictions = process
    if known is not None and not many:  # a round costs 4 fits of a regression
        says = partial(with_regression, known, process)

    end = ended(task, first, dependence, says, n_rounds)
    task = replace(task, learns=False)
    n_steps = int((AGAIN_IF_MANY if many else AGAIN) * run.step)
    points = None if goes_on(task) else starting_points(task)
    run = learned_from_labels(task, run, end.proba, n_steps, points)
    if task.recipe.n_items <= CROSS_FITTED or task.recipe.kernel.embeds:
        alone = cross_fitted(task, run, n_steps, points)
    else:
        alone = left_out(task, run.state)
    both = None
    if known is not None:
        both, alone = known.beside(end.proba, alone)
    return run, ended(task, first, dependence, alone, n_rounds), both


def with_regression(
    known: KnownItems,
    process: Float[np.ndarray, "N C"],
    proba: Float[np.ndarray, "N C"],
) -> Float[np.ndarray, "N C"]:
    """Return the mean of what the process and a regression on labels say, in logs.

    The loop can end with all items in one class: a regression can mend that.
    """
    return 0.5 * (process + known.by_regression(proba))


def known_items(task: NaturalTask) -> KnownItems | None:
    """Return what small networks are learned from, if there are any."""
    if not task.plan.networks or not isinstance(task.recipe.link, links.Softmax):
        return None
    answers = task.data.answers
    known = (answers.n_per_item > 0) | (task.data.gold >= 0)
    return KnownItems.of(task.data.features, answers, known, task.seed)


def goes_on(task: NaturalTask) -> bool:
    """Return whether f goes on from the loop when it is learned from labels.

    With many items, or a network under the kernel, half of the steps are too few to
    begin anew.
    """
    return task.recipe.kernel.embeds or task.recipe.n_items > FEW_ITEMS


def learned_from_labels(
    task: NaturalTask,
    run: Run,
    proba: Float[np.ndarray, "N C"],
    n_steps: int,
    points: Float[np.ndarray, "M D"] | None,
) -> Run:
    """Learn f from labels: anew from these points, or, without points, going on.

    Anew, because the loop may have left f and the kernel where no step leads out: on
    answers that are far from independent it can put all items into one class.
    """
    settled: Any = Settled(np.log(np.maximum(proba, SMALLEST_LABEL)))
    if points is None:
        state = run.state._replace(skills=settled)
    else:
        state = task.start(settled, starting_hyper(task, points))
    again = task.plan.again("from the labels", task.recipe.n_items, n_steps)
    return training.trained(task, again, lambda: state)[0]


def cross_fitted(
    task: NaturalTask,
    run: Run,
    n_steps: int,
    points: Float[np.ndarray, "M D"] | None,
) -> Float[np.ndarray, "N C"]:
    """Log predictive probability of every item, by a fit that saw none of its answers.

    Where items are few, leaving out an item's own site is not enough: the inducing
    points and the kernel were learned from it too. With 200 useless features such
    predictions agreed with the item's own label. So the steps are taken again, once per
    fold, without the answers on the items of the fold. A network under the kernel
    remembers items however many there are.
    """
    n_items = task.recipe.n_items
    few = n_items <= CROSS_FITTED
    n_folds = N_FOLDS if few else N_LARGE_FOLDS
    fold = np.random.RandomState(task.seed).permutation(n_items) % n_folds
    out = np.empty((n_items, task.data.answers.n_classes))
    for f in range(n_folds):
        held = fold == f
        # Where items are many, those of the fold are left out of the steps as well.
        if few:
            other, skills = without_answers(task, held), run.state.skills
        else:
            other = without_items(task, held)
            skills = run.state.skills.of_items(np.flatnonzero(~held))
        if points is None:
            hyper = learned_hyper(other, skills)
        else:
            hyper = starting_hyper(other, points)
        name = f"without part {f + 1} of {n_folds}"
        again = task.plan.again(name, other.recipe.n_items, n_steps)
        done, _ = training.trained(other, again, partial(other.start, skills, hyper))
        if few:
            out[held] = left_out(other, done.state)[held]
        else:
            out[held] = predicted(other, done.state, task.data.features, held)
    return out


def predicted(
    task: NaturalTask,
    state: NaturalState,
    features: FeatureSource,
    held: Bool[np.ndarray, " N"],
) -> Float[np.ndarray, "n C"]:
    """Log predictive probability of items that nobody has answered."""
    rows = np.flatnonzero(held)
    out = []
    for first in range(0, len(rows), PIECE):
        X = features.batches(rows[None, first : first + PIECE])[0]
        nothing = np.zeros((len(X), task.data.answers.n_classes), task.plan.dtype)
        out.append(np.asarray(task.visited(state, X, nothing).log_left_out))
    return np.concatenate(out)


def without_items(task: NaturalTask, held: Bool[np.ndarray, " N"]) -> NaturalTask:
    """Return the task of the other items."""
    rows = np.flatnonzero(~held)
    data = Data(
        InMemory(task.data.features.batches(rows[None])[0]),
        task.data.answers.of_items(rows),
        task.data.gold[rows],
    )
    recipe = task.recipe._replace(n_items=len(rows))
    return replace(task, data=data, plan=task.plan._replace(recipe=recipe))


def without_answers(task: NaturalTask, held: Bool[np.ndarray, " N"]) -> NaturalTask:
    """Return the task without what is known about some items."""
    answers, gold = task.data.answers, task.data.gold
    data = replace(
        task.data,
        answers=answers.some(~held[answers.item]),
        gold=np.where(held, -1, gold),
    )
    return replace(task, data=data)


def learned(
    end: Ended,
    plan: SparsePlan,
    natural: sparse_gp.Natural,
    hyper: Hyper,
    jitter: float,
    epsilon: float,
    both: Beside | None = None,
) -> Learned:
    """Return the record of a fit, in NumPy."""
    gp = SparseGP(
        shift=np.asarray(natural.shift),
        precision=np.asarray(natural.precision),
        kernel=jax.tree.map(np.asarray, hyper.kernel),
        inducing=np.asarray(hyper.inducing),
        scaling=plan.scale,
        jitter=float(jitter),
        epsilon=float(epsilon),
        sharpness=end.sharpness,
        beside=both,
    )
    mean = end.proba.mean(0)
    return Learned(
        end.proba, mean, end.skills, gp, end.calibration, end.pool, end.witnesses
    )
