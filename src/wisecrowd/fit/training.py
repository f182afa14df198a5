"""One shell for the estimators that learn from minibatches: settings, plan and run."""

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
from wisecrowd.fit.stochastic import Run, Schedule, Task, completed
from wisecrowd.fit.trace import Trace
from wisecrowd.maths.scaling import SCALINGS


class Plan(NamedTuple):
    """How a fit is run: plain numbers, and the name that its progress bar shows."""

    name: str
    seed: int
    schedule: Schedule
    progress: bool | None = None


def trained(
    task: Task,
    plan: Plan,
    n_items: int,
    state: Any,
    *,
    keep: Checkpoint = NOWHERE,
    failure: str,
) -> tuple[Any, Trace]:
    """Return the state after all steps of a plan: from `state`, or from a checkpoint.

    `failure` says what to do if the bound is not finite, even after smaller steps.
    """
    schedule = plan.schedule
    with Trace(plan.name, schedule.n_steps, plan.progress) as trace:
        run = keep.resumed(lambda: state) or Run(state, plan.seed, schedule.n_steps)
        try:
            run = completed(task, n_items, schedule, run, trace=trace, keep=keep.write)
        except FloatingPointError:
            raise InputError(failure) from None
    return run.state, trace


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

    def _plan(self, n_items: int, seed: int) -> Plan:
        # Plain numbers: a grid's are NumPy's.
        batch, passes = min(int(self.batch_size), n_items), self.max_epochs
        if passes is None:
            passes = max(self.most_passes, -(-self.min_steps * batch // n_items))
        schedule = Schedule.of(
            n_items,
            batch,
            max(1, int(passes) * n_items // batch),
            tol=None if self.tol is None else float(self.tol),
            time_limit=None if self.time_limit is None else float(self.time_limit),
            cool_down=self.cool_down,
        )
        return Plan(type(self).__name__, seed, schedule, self.progress)
