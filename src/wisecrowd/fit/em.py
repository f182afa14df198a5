"""Alternate updates until the bound stands still."""

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from wisecrowd._checks import InputError, number, whole_number
from wisecrowd.fit.trace import Trace

State = TypeVar("State")

FEW = 2000  # rows: with fewer, threads of BLAS would mostly wait for one another


def threads_for(n_rows: int) -> threadpool_limits:
    """Return a context in which BLAS has one thread if the square matrices are small.

    For methods with matrices of items by items: a whole fit belongs in it, not only
    its loop. On a busy machine, 300 items took GPEP 94 s with two threads, and 2 s
    with one; 1,000 items took VGPCR 141 s and 4 s.
    """
    return threadpool_limits(1 if n_rows < FEW else None, user_api="blas")


def least_gain(tol: Any, n_answers: int) -> float | int | None:
    """Return the gain below which a loop stops, in nats, from the setting `tol`.

    Examples
    --------
    >>> least_gain(0.5, 10), least_gain(None, 10)
    (5.0, None)
    """
    if tol is None:
        return None
    number(tol, "tol", "at least 0, or None", lambda v: v >= 0)
    gain: float | int = tol * max(n_answers, 1)
    return gain


def climb(
    update: Callable[[State], tuple[State, dict[str, float]]],
    state: State,
    *,
    trace: Trace,
    max_iter: Any,  # of a user, and checked here
    tol: float | int | None,
    warn: bool = True,
    one_thread: bool = True,
) -> State:
    """Repeat `update` until the bound gains less than `tol`.

    Parameters
    ----------
    update : function
        From a state to the next one and the terms of the bound, with their total as
        ``bound``. The bound of an update must never be lower than the one before.
    state : any
        Where to start.
    trace : Trace
        Takes a row for every update.
    max_iter : int
        The most updates.
    tol : float or None
        The least gain, in nats; None runs all `max_iter` updates.
    warn : bool
        Whether to warn if the last update still gained more than `tol`.
    one_thread : bool
        Whether BLAS has one thread only. False where the matrices of an update may
        be large; see :func:`threads_for`.
    """
    whole_number(max_iter, "max_iter")
    last = float("-inf")
    # The vectors of an update are short: threads of BLAS would only wait for one
    # another (GLAD took three times as long, more on a busy machine).
    with threadpool_limits(1 if one_thread else None, user_api="blas"):
        for _ in range(max_iter):
            state, terms = update(state)
            trace.record(**terms)
            gain, last = terms["bound"] - last, terms["bound"]
            if np.isnan(last):
                raise InputError(
                    "the fit broke down: its bound is not a number. Settings or "
                    "features may be too large or too small. Try the defaults."
                )
            if tol is not None and gain < tol:
                return state
    if tol is not None and warn:
        warnings.warn(
            f"not converged after {max_iter} iterations: the last one still gained "
            f"{gain:.3g} nats, more than {tol:.3g}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return state
