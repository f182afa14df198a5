"""One driver for every method that learns from minibatches.

Three things are kept apart. *The data* (answers, gold, a source of features) are large
and never saved. *The state* is the method's own pytree: what was learned and the memory
of its optimiser. *The run* is the state and how far the schedule is: saving it is a
checkpoint, and continuing from it is a resumed fit.

The rows of a step follow from the seed and the number of the step alone. So a run that
was interrupted goes on exactly as if it had not been. Of features beyond memory, whole
blocks come together, and are read while the steps before them are taken.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._checks import InputError
from wisecrowd.blocks import Blocks
from wisecrowd.feature_source import PIECE
from wisecrowd.fit.partners import partners
from wisecrowd.fit.trace import Trace

MAX_CHUNK = 100  # steps between two updates of what is not learned by steps
MIN_CHUNK = 10
WINDOW = 40  # steps, for which a gain of the bound is given
LOOK_BACK = 20  # steps over which it is measured
RAMP = 20  # steps in which the rates come up to their full height
MAX_FAILURES = 3
NOTHING = np.empty((0, 0), int)  # rows
MIN_SHARE = 0.1  # of a time limit, which is left for the steps


class Watched(NamedTuple):
    """The bound, estimated from a fixed sample of items.

    `terms` are the terms of the bound and their total, ``bound``. `per_item` is what
    each watched item adds; `constant` what all items share.
    """

    terms: dict[str, float]
    per_item: Float[np.ndarray, " W"]
    constant: float


@runtime_checkable
class Task(Protocol):
    """What a method brings to the driver."""

    def steps(self, state: Any, rows: Int[np.ndarray, "T B"], pace: "Pace") -> Any:
        """Return the state after some steps."""

    def between(self, state: Any, place: "Place") -> Any:
        """Return the state after what is done between two chunks of steps."""

    def watched(self, state: Any) -> Watched:
        """Return the bound on the watched items."""

    def may_converge(self, place: "Place") -> bool:
        """Return whether the bound may be taken as converged, if it stands still."""

    def recovered(self, state: Any) -> Any:
        """Return a safer state after a step that was not finite."""

    def what_is_wrong(self) -> str:
        """Return what to say if smaller steps are not finite either."""


@runtime_checkable
class TaskInBlocks(Task, Protocol):
    """A task whose features may be beyond memory; `blocks` is None if they are not."""

    @property
    def blocks(self) -> Blocks | None:
        """Where the blocks of the features are."""

    def expect(self, rows: Int[np.ndarray, "T B"]) -> None:
        """Begin to read the features of the next chunk of steps."""


class Pace(NamedTuple):
    """How fast each step goes: shares of the full rates, between 0 and 1.

    `cooling` falls from one to zero while the run cools down, `ramp` rises to one in
    its first steps, and `rate` is smaller after a failure.
    """

    cooling: Float[np.ndarray, " T"]
    ramp: Float[np.ndarray, " T"]
    rate: float


class Place(NamedTuple):
    """Where a run stands in its schedule."""

    step: int
    n_steps: int
    every_item_seen: bool

    @property
    def share(self) -> float:
        """The share of the steps that are done."""
        return self.step / self.n_steps


@dataclass(frozen=True)
class Schedule:
    """How long to learn, and how fast.

    For the last `cool_down` of the steps the rates fall, which averages the noise of
    the batches. Cooling starts early when the bound stands still, and takes the same
    share of the steps then; it also starts early when time runs short.

    Attributes
    ----------
    n_steps, batch_size, chunk : int
        The most steps; items per step; steps between two updates of the rest.
    tol : float or None
        The gain of the bound, in nats per item in `WINDOW` steps, below which it
        stands still. None: all steps are taken.
    time_limit : float or None
        Seconds.
    """

    n_steps: int
    batch_size: int
    chunk: int
    tol: float | None = None
    time_limit: float | None = None
    cool_down: float = 0.6

    @classmethod
    def of(cls, n_items: int, batch_size: int, n_steps: int, **more: Any) -> "Schedule":
        """Return a schedule in chunks of one size, of no more than `n_steps`."""
        batch = min(batch_size, n_items)
        per_pass = -(-n_items // batch)
        chunk = int(np.clip(per_pass, MIN_CHUNK, MAX_CHUNK))
        chunk = n_steps // -(-n_steps // chunk)
        return cls(n_steps // chunk * chunk, batch, chunk, **more)

    def shortened(self, seconds: float) -> "Schedule":
        """Return the schedule after some seconds of its time limit, if it has one."""
        limit = self.time_limit
        if limit is None:
            return self
        return replace(self, time_limit=max(limit - seconds, MIN_SHARE * limit))

    def pace(self, run: "Run") -> Pace:
        """Return how fast the next chunk of steps goes."""
        at = run.step + np.arange(self.chunk)
        cooling = np.clip((1 - at / run.n_steps) / self.cool_down, 0, 1)
        return Pace(cooling, np.minimum(1, (at + 1) / RAMP), run.rate)

    def cooled(self, step: int) -> int:
        """Return how many steps there are in all, if cooling starts at this one."""
        total = math.ceil(step / (1 - self.cool_down))
        return -(-total // self.chunk) * self.chunk


class Run(NamedTuple):
    """A state and where it stands: all that a checkpoint holds."""

    state: Any
    seed: int
    n_steps: int
    step: int = 0
    rate: float = 1.0  # what all rates are multiplied with, after a failure
    failures: int = 0
    history: tuple[Any, ...] = ()  # (per_item, constant) at the last chunks
    rows: tuple[dict[str, float], ...] = ()  # of the trace
    seconds: float = 0.0

    @property
    def done(self) -> bool:
        """Whether all steps were taken."""
        return self.step >= self.n_steps


def watched_items(n_items: int, seed: int) -> Int[np.ndarray, " W"]:
    """Return the items on which the bound is watched: all, or a sample of them."""
    if n_items <= PIECE:
        return np.arange(n_items)
    order = np.random.default_rng([seed, 0]).permutation(n_items)
    return np.sort(order[:PIECE])


def rows_of_chunk(
    seed: int,
    n_items: int,
    step: int,
    chunk: int,
    batch_size: int,
    blocks: Blocks | None = None,
) -> Int[np.ndarray, "T B"]:
    """Return the items of the next steps: every item once before any again."""
    blocks = blocks or Blocks(np.array([0, n_items]))
    flat = blocks.order(seed, step * batch_size, (step + chunk) * batch_size)
    return flat.reshape(chunk, batch_size)


def rows_of_next(
    task: Task, n_items: int, schedule: Schedule, run: Run
) -> Int[np.ndarray, "T B"]:
    """Return the items of the next steps, and let the task expect those after them."""
    blocks = task.blocks if isinstance(task, TaskInBlocks) else None
    chunk, batch_size = schedule.chunk, schedule.batch_size

    def rows_at(step: int) -> Int[np.ndarray, "T B"]:
        return rows_of_chunk(run.seed, n_items, step, chunk, batch_size, blocks)

    if blocks is not None and isinstance(task, TaskInBlocks):
        after = run.step + chunk
        task.expect(rows_at(after) if after < run.n_steps else NOTHING)
    return rows_at(run.step)


def advanced(task: Task, n_items: int, schedule: Schedule, run: Run) -> Run:
    """Return the run after one more chunk of steps, and what it led to."""
    began = time.perf_counter()
    rows = rows_of_next(task, n_items, schedule, run)
    state = task.steps(run.state, rows, schedule.pace(run))
    step = run.step + schedule.chunk
    seen = step * schedule.batch_size >= n_items
    place = Place(step, run.n_steps, seen)
    state = task.between(state, place)
    watched = task.watched(state)
    seconds = run.seconds + time.perf_counter() - began
    watched, seconds = of_first(watched, seconds)
    if not np.isfinite(watched.terms["bound"]):
        return failed(task, run)
    row = {"step": step, **watched.terms, "seconds": seconds}
    keep = -(-LOOK_BACK // schedule.chunk) + 1
    run = run._replace(
        state=state,
        step=step,
        history=(*run.history, (watched.per_item, watched.constant))[-keep:],
        rows=(*run.rows, row),
        seconds=seconds,
    )
    return run._replace(n_steps=steps_to_take(task, n_items, schedule, run, place))


def of_first(watched: Watched, seconds: float) -> tuple[Watched, float]:
    """Return what the first process has: all go on, and end, as it does."""
    names, numbers = zip(*watched.terms.items(), strict=True)  # JAX would sort a dict
    mine = numbers, watched.per_item, watched.constant, seconds
    numbers, per_item, constant, seconds = partners().broadcast(mine)
    terms = dict(zip(names, numbers, strict=True))
    return Watched(terms, per_item, constant), seconds


def steps_to_take(
    task: Task, n_items: int, schedule: Schedule, run: Run, place: Place
) -> int:
    """Return how many steps there will be in all: fewer when the end is near."""
    n_steps = run.n_steps
    gain = gain_per_item(run.history, n_items, schedule.chunk)
    if schedule.tol is not None and gain < schedule.tol and task.may_converge(place):
        n_steps = min(n_steps, schedule.cooled(run.step))
    if schedule.time_limit is not None:
        # Seconds per step, the first compilation included: rather early than late.
        afford = (schedule.time_limit - run.seconds) / (run.seconds / run.step)
        afford = min(afford, n_steps + schedule.chunk)  # a limit may be infinite
        chunks = max(0, int(afford)) // schedule.chunk
        n_steps = min(n_steps, run.step + chunks * schedule.chunk)
    return n_steps


def gain_per_item(history: tuple[Any, ...], n_items: int, chunk: int) -> float:
    """Return how much the bound may have gained in `WINDOW` steps, in nats per item.

    The same items are compared with themselves. So the noise is that of their changes,
    and not that of the items. One standard error of it is added: a gain that may be
    large is not yet small (on MNIST, stopping without it cost .01 of accuracy).
    """
    if len(history) < -(-LOOK_BACK // chunk) + 1:
        return math.inf
    (before, constant_before), (after, constant_after) = history[0], history[-1]
    change = after - before
    error = change.std() / math.sqrt(len(change)) if len(change) < n_items else 0.0
    gain = change.mean() + (constant_after - constant_before) / n_items
    return float(gain + error) * WINDOW / (chunk * (len(history) - 1))


def failed(task: Task, run: Run) -> Run:
    """Return the run before the chunk that failed, with smaller steps."""
    if run.failures >= MAX_FAILURES:
        raise InputError(task.what_is_wrong())
    return run._replace(
        state=task.recovered(run.state), rate=run.rate / 3, failures=run.failures + 1
    )


def completed(
    task: Task,
    n_items: int,
    schedule: Schedule,
    run: Run,
    *,
    trace: Trace,
    keep: Callable[[Run], None] | None = None,
) -> Run:
    """Take all steps that are left.

    Parameters
    ----------
    task : Task
        The method.
    n_items : int
        N.
    schedule : Schedule
        How long, and how fast.
    run : Run
        Where to begin: a new run, or one that was kept.
    trace : Trace
        Takes a row for every chunk of steps.
    keep : function, optional
        Called with the run after every chunk: where checkpoints are written.
    """
    for row in run.rows:  # of an earlier session
        trace.add(row)
    while not run.done:
        before = len(run.rows)
        run = advanced(task, n_items, schedule, run)
        for row in run.rows[before:]:
            trace.add(row, done=run.step, total=run.n_steps)
        if keep is not None:
            keep(run)
    return run
