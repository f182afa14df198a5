"""Compile the steps while BCC and k-means prepare the first one.

Compiling takes longer than the start, and needs only the shapes. So both run at once,
on two cores. Nothing is executed here: two threads that execute can block each other in
JAX, where there are only two cores.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import jax
import numpy as np

from wisecrowd.fit.stochastic import Run, Schedule
from wisecrowd.methods.svgpcr import steps
from wisecrowd.methods.svgpcr.task import State, SVGPCRTask


@contextmanager
def compiling(task: SVGPCRTask, schedule: Schedule, blank: State) -> Iterator[None]:
    """Compile all that a fit needs, beside what the block does.

    `blank` is a state of the right shapes; its values do not count.
    """
    threads = [
        threading.Thread(target=work, args=(task, schedule, blank), daemon=True)
        for work in (compile_steps, compile_watching)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:  # a process must not end while it compiles
        for thread in threads:
            thread.join()


def compile_steps(task: SVGPCRTask, schedule: Schedule, blank: State) -> None:
    """Compile a chunk of steps."""
    with jax.enable_x64(True):  # the setting belongs to a thread
        rates = task.rates(schedule.pace(Run(blank, task.seed, schedule.n_steps)))
        rows = np.zeros((schedule.chunk, schedule.batch_size), int)
        steps.steps.lower(*task.for_steps(blank, rows, rates)).compile()


def compile_watching(task: SVGPCRTask, schedule: Schedule, blank: State) -> None:
    """Compile what watches the bound; at the end it also leaves out items."""
    with jax.enable_x64(True):
        X, evidence = task.for_watched(blank)
        given = task.for_visited(blank, X, evidence)
        steps.visited.lower(*given).compile()
        terms = jax.tree.map(  # of the items without filling
            lambda term: jax.ShapeDtypeStruct((len(X),), term.dtype),
            jax.eval_shape(steps.visited, *given).terms,
        )
        divergence = task.divergence(blank)
        steps.bound.lower(task.recipe, terms, blank.gp.natural, divergence).compile()
