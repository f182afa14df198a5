"""One shell for the estimators that learn from minibatches: settings, plan and run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from wisecrowd._checks import (
    InputError,
    number,
    one_of,
    random_numbers,
    whole_number,
)
from wisecrowd.fit.checkpoint import NOWHERE, Checkpoint
from wisecrowd.fit.partners import partners
from wisecrowd.fit.stochastic import Run, Schedule, Task, completed
from wisecrowd.fit.trace import Trace
from wisecrowd.maths.scaling import SCALINGS


class StepBudget(NamedTuple):
    """How many steps are taken at the most.

    Attributes
    ----------
    given : int or None
        Passes over the items, as somebody asked for them.
    least_steps, most : int
        Otherwise: the most steps of a small crowd, the most passes over a large one.
    faster : int
        Otherwise: so many times fewer steps, which are so many times larger.
    """

    given: int | None
    least_steps: int
    most: int
    faster: int = 1

    def n_steps(self, n_items: int, batch_size: int) -> int:
        """Return the steps for so many items."""
        passes = self.given
        if passes is None:
            passes = max(self.most, -(-self.least_steps * batch_size // n_items))
            passes = -(-passes // self.faster)
        return max(1, passes * n_items // batch_size)


class Plan(NamedTuple):
    """How a fit is run: plain numbers, and the name that its progress bar shows."""

    name: str
    seed: int
    n_items: int
    schedule: Schedule
    progress: bool | None = None


def trained(
    task: Task,
    plan: Plan,
    start: Callable[[], Any],
    *,
    like: Callable[[], Any] | None = None,
    keep: Checkpoint = NOWHERE,
    start_counts: bool = False,
) -> tuple[Run, Trace]:
    """Return the run after all steps of a plan: from its start, or from a checkpoint.

    `start` returns the state before the first step, `like` one of the same structure
    with less work. With `start_counts`, a time limit is for start and steps together.
    """
    schedule = plan.schedule
    with Trace(plan.name, schedule.n_steps, plan.progress) as trace:
        run = keep.resumed(like or start)
        if run is None:
            state = partners().broadcast(start())  # k-means may differ by machine
            run = Run(state, plan.seed, schedule.n_steps)
            if start_counts:
                schedule = schedule.shortened(trace.seconds)
        run = completed(task, plan.n_items, schedule, run, trace=trace, keep=keep.write)
    return run, trace


@dataclass(eq=False, repr=False, kw_only=True)
class TrainingSettings:
    """The settings that all estimators share that learn from minibatches.

    `min_steps` are the most steps of a small crowd, `most_passes` the most passes over
    a large one; the rates fall in the last `cool_down` of the steps.
    """

    scaling: str = "auto"
    batch_size: int = 500
    max_epochs: int | None = None
    tol: float | int | None = 3e-4
    time_limit: float | int | None = None
    learning_rate: float | int = 0.03
    random_state: Any = 0
    progress: bool | None = None
    checkpoint: Any = None
    checkpoint_seconds: float | int = 30.0
    resume: bool = False

    min_steps: ClassVar[int] = 300
    most_passes: ClassVar[int] = 20
    cool_down: ClassVar[float] = 0.6

    def _check_settings(self) -> None:
        one_of(self.scaling, SCALINGS, "scaling")
        whole_number(self.batch_size, "batch_size")
        wanted = "a number, at least 0"
        number(self.learning_rate, "learning_rate", wanted, lambda v: 0 <= v < np.inf)
        if self.max_epochs is not None:
            whole_number(self.max_epochs, "max_epochs")
        if self.tol is not None:
            number(self.tol, "tol", "at least 0, or None", lambda v: v >= 0)
        if self.time_limit is not None:
            wanted = "seconds above 0, or None"
            number(self.time_limit, "time_limit", wanted, lambda v: v > 0)
        wanted = "seconds, at least 0"
        number(self.checkpoint_seconds, "checkpoint_seconds", wanted, lambda v: v >= 0)
        if self.resume and self.checkpoint is None:
            raise InputError("resume=True needs checkpoint=, the file to go on from.")

    def _seed(self) -> int:
        return int(random_numbers(self.random_state).randint(2**31 - 1))

    def _budget(self, n_items: int) -> StepBudget:
        # Plain numbers: a grid's are NumPy's.
        given = None if self.max_epochs is None else int(self.max_epochs)
        return StepBudget(given, self.min_steps, self.most_passes)

    def _plan(self, n_items: int, seed: int) -> Plan:
        batch = min(int(self.batch_size), n_items)
        schedule = Schedule.of(
            n_items,
            batch,
            self._budget(n_items).n_steps(n_items, batch),
            tol=None if self.tol is None else float(self.tol),
            time_limit=None if self.time_limit is None else float(self.time_limit),
            cool_down=self.cool_down,
        )
        return Plan(type(self).__name__, seed, n_items, schedule, self.progress)
