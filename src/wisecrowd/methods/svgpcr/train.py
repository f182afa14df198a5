"""A whole fit: start, steps, ending."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float
from threadpoolctl import threadpool_limits

from wisecrowd._checks import InputError
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.base import Learned
from wisecrowd.features import PIECE, FeatureSource, InMemory
from wisecrowd.fit.checkpoint import Checkpoint
from wisecrowd.fit.consensus import Agreed
from wisecrowd.fit.processes import check_not_forked
from wisecrowd.fit.stochastic import Run, Schedule, completed
from wisecrowd.fit.trace import Trace
from wisecrowd.maths.gp import class_posterior, kernels, links, sparse_gp
from wisecrowd.maths.scaling import Scaling, scaling
from wisecrowd.methods.svgpcr import model
from wisecrowd.methods.svgpcr.ahead import compiling
from wisecrowd.methods.svgpcr.beside import KnownItems
from wisecrowd.methods.svgpcr.ending import (
    Ended,
    ended,
    ended_as_published,
    ended_with_trusted,
    left_out,
)
from wisecrowd.methods.svgpcr.model import Hyper, Recipe
from wisecrowd.methods.svgpcr.record import Beside, SparseGP
from wisecrowd.methods.svgpcr.start import (
    FEW_ITEMS,
    N_FOR_START,
    Start,
    inducing_points,
    n_points,
)
from wisecrowd.methods.svgpcr.task import Data, State, SVGPCRTask
from wisecrowd.skills import Trusted
from wisecrowd.skills.settled import Settled

CROSS_FITTED = 2000  # items, and fewer, are predicted by fits without their answers
N_FOLDS = 3
N_LARGE_FOLDS = 2  # of more items, if there is a network
AGAIN = 0.5  # of the steps, in which f is learned from the labels again
SMALLEST_LABEL = 1e-4  # probability of a class, where f is learned from labels
MIN_SHARE = 0.1  # of a time limit, which is left for the steps


def trained(
    settings: Any,
    X: Array,
    answers: Answers,
    gold: Array,
    blank_skills: Any,
    start: Callable[[], Start],
    posterior: Any,
) -> tuple[Learned, Trace]:
    """Learn it all, in 64 bits where it matters, without the user's settings changing.

    Parameters
    ----------
    settings : SparseGPClassifier
        The settings of the Gaussian process and of the steps.
    X : array (N, D)
        Features.
    answers : Answers
        What was said about the items.
    gold : array (N,)
        Codes of the classes known for certain, -1 elsewhere.
    blank_skills : LearnableSkills
        Annotators of the structure of those of the start, at no cost.
    start : function
        Returns where the fit begins.
    posterior : str or family
        Of the class of an item.
    """
    recipe = recipe_of(settings, X, posterior)
    scale = scaling(X, settings.scaling)
    data = Data(InMemory(scale.apply(X, settings.dtype)), answers, gold)
    task, schedule = task_of(settings, recipe, data), schedule_of(settings, len(X))
    keep = Checkpoint.of(settings, X, answers, gold)
    # The small matrices gain nothing from BLAS threads, and waiting ones starve JAX's.
    with jax.enable_x64(True), threadpool_limits(1, user_api="blas"):
        name = type(settings).__name__
        with Trace(name, schedule.n_steps, settings.progress) as trace:

            def blank(n_inducing: int) -> State:
                n_coordinates = recipe.kernel.n_embedded(X.shape[1])
                hyper = starting_hyper(task, np.zeros((n_inducing, n_coordinates)))
                return task.start(blank_skills, hyper)

            run, first, both = keep.resumed(lambda: blank(1)), None, None
            if run is None:
                some, rng = some_features(task)
                n_inducing = n_points(some, int(settings.n_inducing))
                began = time.perf_counter()
                with compiling(task, schedule, blank(n_inducing)):
                    first = start()
                    if recipe.kernel.embeds:
                        hyper = learned_hyper(task, settings, first.skills)
                    else:
                        points = inducing_points(some, n_inducing, rng)
                if recipe.kernel.embeds:
                    schedule = shortened(schedule, time.perf_counter() - began)
                else:
                    hyper = starting_hyper(task, points)
                run = Run(task.start(first.skills, hyper), task.seed, schedule.n_steps)
            run = completed_or_refused(task, schedule, run, trace, keep)
            if isinstance(run.state.skills, Trusted):
                end = ended_with_trusted(task, run.state)
            elif settings.dependence is None:
                end = ended_as_published(task, run.state)
            else:
                alone = (start() if first is None else first).alone
                run, end, both = ended_again(task, settings, run, alone)
    keep.remove()
    gp, place = run.state.gp, (scale, run.state.jitter, run.state.epsilon)
    record = record_of(gp.natural, gp.hyper, *place, end.sharpness)
    return learned(end, record._replace(beside=both)), trace


def recipe_of(settings: Any, X: Array, posterior: Any) -> Recipe:
    """Return what is fixed while fitting, from the settings."""
    check_not_forked()
    recipe = Recipe(
        kernel=kernels.as_kernel(settings.kernel),
        link=links.as_link(settings.link, settings.epsilon),
        family=class_posterior.as_family(posterior),
        shared=settings.shared_kernel,
        n_items=len(X),
    )
    recipe.kernel.check(X.shape[1])
    return recipe


def task_of(settings: Any, recipe: Recipe, data: Data) -> SVGPCRTask:
    """Return what the driver takes its steps with."""
    natural, adam = settings._rates(recipe.n_items)
    seed = settings._seed()
    return SVGPCRTask(recipe, data, natural, adam, settings.dtype, seed)


def ended_again(
    task: SVGPCRTask, settings: Any, run: Run, first: Agreed
) -> tuple[Run, Ended, Beside | None]:
    """Make the labels, learn f from them again, and make the final labels.

    Inside the loop f learns from the answers as if they were independent. The labels of
    the pool are better, so f learns from them once more, and small networks with it.
    """
    process, known = left_out(task, run.state), known_items(task, settings)

    def says(proba: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
        # The loop can end with all items in one class: a regression can mend that.
        if known is None or task.recipe.n_items > FEW_ITEMS:  # a round costs 4 fits
            return process
        return 0.5 * (process + known.by_regression(proba))

    end = ended(task, first, settings.dependence, says)
    task, n_steps = replace(task, learns=False), int(AGAIN * run.step)
    points = None if goes_on(task) else starting_points(task, settings)
    run = learned_from_labels(task, settings, run, end.proba, n_steps, points)
    if task.recipe.n_items <= CROSS_FITTED or task.recipe.kernel.embeds:
        alone = cross_fitted(task, settings, run, n_steps, points)
    else:
        alone = left_out(task, run.state)
    both = None
    if known is not None:
        both, alone = known.beside(end.proba, alone)
    return run, ended(task, first, settings.dependence, lambda proba: alone), both


def known_items(task: SVGPCRTask, settings: Any) -> KnownItems | None:
    """Return what small networks are learned from, if there are any."""
    if not settings.networks or not isinstance(task.recipe.link, links.Softmax):
        return None
    answers = task.data.answers
    known = (answers.n_per_item > 0) | (task.data.gold >= 0)
    return KnownItems.of(task.data.features, answers, known, task.seed)


def goes_on(task: SVGPCRTask) -> bool:
    """Return whether f goes on from the loop when it is learned from labels.

    With many items, or a network under the kernel, half of the steps are too few to
    begin anew.
    """
    return task.recipe.kernel.embeds or task.recipe.n_items > FEW_ITEMS


def learned_from_labels(
    task: SVGPCRTask,
    settings: Any,
    run: Run,
    proba: Float[np.ndarray, "N C"],
    n_steps: int,
    points: Float[np.ndarray, "M D"] | None,
) -> Run:
    """Learn f from labels: anew from these points, or, without points, going on.

    Anew, because the loop may have left f and the kernel where no step leads out: on
    answers that are far from independent it can put all items into one class.
    """
    schedule = schedule_again(settings, task.recipe.n_items, n_steps)
    settled: Any = Settled(np.log(np.maximum(proba, SMALLEST_LABEL)))
    if points is None:
        state = run.state._replace(skills=settled, evidence=task.evidence(settled))
    else:
        state = task.start(settled, starting_hyper(task, points))
    anew = Run(state, run.seed, schedule.n_steps)
    with Trace("from the labels", schedule.n_steps, settings.progress) as trace:
        return completed(task, task.recipe.n_items, schedule, anew, trace=trace)


def some_features(task: Any) -> tuple[Any, np.random.RandomState]:
    """Return the features that k-means sees, and its source of random numbers."""
    rng = np.random.RandomState(task.seed)
    some = rng.permutation(task.recipe.n_items)[:N_FOR_START]
    return task.data.features.batches(some[None])[0], rng


def starting_points(task: SVGPCRTask, settings: Any) -> Float[np.ndarray, "M D"]:
    """Return the inducing points to begin with."""
    some, rng = some_features(task)
    return inducing_points(some, n_points(some, int(settings.n_inducing)), rng)


def schedule_of(settings: Any, n_items: int) -> Schedule:
    """Return how long a fit of so many items takes at the most."""
    return Schedule.of(
        n_items,
        int(settings.batch_size),
        settings._n_steps(n_items),
        tol=None if settings.tol is None else float(settings.tol),
        time_limit=(
            None if settings.time_limit is None else float(settings.time_limit)
        ),
    )


def schedule_again(settings: Any, n_items: int, n_steps: int) -> Schedule:
    """Return a schedule of so many steps, in which f is learned from labels.

    They follow from the steps of the fit itself, so that a fit which its time limit has
    ended early is followed by few of them.
    """
    whole = schedule_of(settings, n_items)
    n_chunks = max(1, min(n_steps, whole.n_steps) // whole.chunk)
    return replace(whole, n_steps=n_chunks * whole.chunk, time_limit=None)


def shortened(schedule: Schedule, seconds: float) -> Schedule:
    """Return the schedule after some seconds of its time limit, if it has one."""
    limit = schedule.time_limit
    if limit is None:
        return schedule
    return replace(schedule, time_limit=max(limit - seconds, MIN_SHARE * limit))


def cross_fitted(
    task: SVGPCRTask,
    settings: Any,
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
            hyper = learned_hyper(other, settings, skills)
        else:
            hyper = starting_hyper(task, points)
        schedule = schedule_again(settings, other.recipe.n_items, n_steps)
        anew = Run(other.start(skills, hyper), run.seed, schedule.n_steps)
        name = f"without part {f + 1} of {n_folds}"
        with Trace(name, schedule.n_steps, settings.progress) as trace:
            done = completed(other, other.recipe.n_items, schedule, anew, trace=trace)
        if few:
            out[held] = left_out(other, done.state)[held]
        else:
            out[held] = predicted(other, done.state, task.data.features, held)
    return out


def predicted(
    task: SVGPCRTask,
    state: State,
    features: FeatureSource,
    held: Bool[np.ndarray, " N"],
) -> Float[np.ndarray, "n C"]:
    """Log predictive probability of items that nobody has answered."""
    rows = np.flatnonzero(held)
    out = []
    for first in range(0, len(rows), PIECE):
        X = features.batches(rows[None, first : first + PIECE])[0]
        nothing = np.zeros((len(X), state.proba.shape[1]), task.dtype)
        out.append(np.asarray(task.visited(state, X, nothing).log_left_out))
    return np.concatenate(out)


def without_items(task: SVGPCRTask, held: Bool[np.ndarray, " N"]) -> SVGPCRTask:
    """Return the task of the other items."""
    rows = np.flatnonzero(~held)
    data = Data(
        InMemory(task.data.features.batches(rows[None])[0]),
        task.data.answers.of_items(rows),
        task.data.gold[rows],
    )
    return replace(task, data=data, recipe=task.recipe._replace(n_items=len(rows)))


def without_answers(task: SVGPCRTask, held: Bool[np.ndarray, " N"]) -> SVGPCRTask:
    """Return the task without what is known about some items."""
    answers, gold = task.data.answers, task.data.gold
    data = replace(
        task.data,
        answers=answers.some(~held[answers.item]),
        gold=np.where(held, -1, gold),
    )
    return replace(task, data=data)


def starting_hyper(task: Any, points: Float[np.ndarray, "M E"]) -> Hyper:
    """Return the kernel's parameters to begin with, and these inducing points."""
    features, answers = task.data.features, task.data.answers
    kernel = model.starting_kernel(task.recipe, features.n_features, answers.n_classes)
    return Hyper(kernel, jnp.asarray(points, jnp.float64))


def learned_hyper(task: SVGPCRTask, settings: Any, skills: Any) -> Hyper:
    """Return a kernel whose network was trained, and inducing points in its space."""
    from wisecrowd.methods.svgpcr import network  # only who has a network needs it

    return network.starting_hyper(task, settings, skills)


def completed_or_refused(
    task: Any, schedule: Schedule, run: Run, trace: Trace, keep: Checkpoint
) -> Run:
    """Take all steps; where they fail, say what may be wrong with the features."""
    try:
        return completed(
            task, task.recipe.n_items, schedule, run, trace=trace, keep=keep.write
        )
    except FloatingPointError:
        n_some = min(N_FOR_START, task.recipe.n_items)
        some = task.data.features.batches(np.arange(n_some)[None])[0]
        raise InputError(what_is_wrong(some)) from None


def record_of(
    natural: sparse_gp.Natural,
    hyper: Hyper,
    scale: Scaling,
    jitter: float,
    epsilon: float,
    sharpness: float,
) -> SparseGP:
    """Return the record of a Gaussian process, in NumPy."""
    return SparseGP(
        shift=np.asarray(natural.shift),
        precision=np.asarray(natural.precision),
        kernel=jax.tree.map(np.asarray, hyper.kernel),
        inducing=np.asarray(hyper.inducing),
        scaling=scale,
        jitter=float(jitter),
        epsilon=float(epsilon),
        sharpness=sharpness,
    )


def learned(end: Ended, gp: SparseGP) -> Learned:
    """Return the record of a fit."""
    mean = end.proba.mean(0)
    return Learned(
        end.proba, mean, end.skills, gp, end.calibration, end.pool, end.witnesses
    )


def what_is_wrong(X: Array) -> str:
    """Return what to say about features whose covariance cannot be factorised."""
    return (
        f"the covariance of the inducing points could not be factorised, even with "
        f"more jitter. Of {len(X)} items {len(np.unique(X, axis=0))} are "
        f"distinct, and the scaled features reach {np.abs(X).max():.3g}. Remove "
        f"repeated items and outliers, or use fewer inducing points."
    )
