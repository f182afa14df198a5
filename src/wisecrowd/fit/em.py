"""Alternate updates until the bound stands still."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
from jaxtyping import Float
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from wisecrowd._checks import InputError, number, whole_number
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.answers import Answers
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.maths import scaling as scalings
from wisecrowd.skills import ConfusionMatrices

State = TypeVar("State")
Terms = dict[str, float]

SMOOTHING = 0.01
"""Of an answer everywhere: every logarithm stays finite, and no answer is ruled out
because it was not seen. It moves no figure of Dawid and Skene's paper."""

FEW = 2000  # rows: with fewer, threads of BLAS would mostly wait for one another


class Steps(ABC, Generic[State]):
    """What a method that learns by EM or variational Bayes says of itself.

    Attributes
    ----------
    answers : Answers
        The answers of the fit.
    gold : array (N,)
        Codes of the classes known for certain, -1 elsewhere.
    n_rows : int
        Rows of the largest square matrix; see :func:`threads_for`.
    """

    n_rows = 0

    def __init__(self, annotations: Annotations) -> None:
        self.answers, self.gold = annotations.codes, annotations.gold_codes

    @abstractmethod
    def start(self) -> State:
        """Return where the loop begins."""

    @abstractmethod
    def update(self, state: State) -> tuple[State, Terms]:
        """Return the next state, and the terms of its bound with their total."""

    @abstractmethod
    def learned(self, state: State) -> Any:
        """Return what the fit learned: a `base.Learned`."""

    def votes(self) -> Float[np.ndarray, "N C"]:
        """Return the share of the votes for each class."""
        return crowd.vote_proba(self.answers.votes(), self.gold)

    def e_step(self, log_joint: Float[np.ndarray, "N C"]) -> tuple[Array, float]:
        """Return q(Z) and the log-likelihood, if this is log p(z, answers)."""
        proba, log_norm = crowd.posterior(crowd.clamped(log_joint, self.gold))
        return proba, float(log_norm.sum())


class MatrixSteps(Steps[State]):
    """Steps with the most probable confusion matrices, R ∝ n + α − 1.

    What is below one in a prior counts as one, because a mode needs it.
    """

    def __init__(self, annotations: Annotations, prior: crowd.PriorSpec) -> None:
        super().__init__(annotations)
        self.given = crowd.annotator_prior(
            prior, annotations.annotators, *self.answers.shape[2:]
        )
        self.prior = np.maximum(self.given, 1.0) + SMOOTHING

    def log_rows(self, proba: Array) -> Float[np.ndarray, "A C K"]:
        """Return log R for these classes of the items."""
        return dirichlet.log_mode(crowd.soft_counts(self.answers, proba), self.prior)

    def log_prior(self, log_rows: Float[np.ndarray, "A C K"]) -> float:
        """Return the log density of the prior, without its constant."""
        return float(((self.prior - 1) * log_rows).sum())

    def skills(self, answers: Answers, proba: Array) -> ConfusionMatrices:
        """Return the matrices for the final labels, with the prior as it was given."""
        counts = self.given + crowd.soft_counts(answers, proba)
        return ConfusionMatrices(self.given, counts).with_doubt(answers, proba)


class ProcessSteps(MatrixSteps[State]):
    """Steps with a process on the items that have answers or gold.

    The others would change nothing, and make every matrix larger. The process predicts
    them at the end.
    """

    def __init__(
        self, X: Array, annotations: Annotations, prior: crowd.PriorSpec, scaling: str
    ) -> None:
        super().__init__(annotations, prior)
        self.X, self.all_answers = X, self.answers
        self.told = np.flatnonzero((self.answers.n_per_item > 0) | (self.gold >= 0))
        self.answers, self.gold = self.answers.of_items(self.told), self.gold[self.told]
        self.scaling = scalings.scaling(X, scaling)
        self.items = self.scaling.apply(X[self.told], "float64")

    def of_all_items(
        self, proba: Float[np.ndarray, "n C"], process: Any
    ) -> Float[np.ndarray, "N C"]:
        """Return the labels of all items, given those of the items of the loop."""
        out = np.empty((len(self.X), proba.shape[1]))
        out[self.told] = proba
        rest = np.setdiff1d(np.arange(len(out)), self.told)
        if len(rest):
            out[rest] = process.proba(self.X[rest])
        return out


def with_bound(**terms: float) -> Terms:
    """Return the terms of a bound and their total, from which KLs are subtracted."""
    bound = sum(-v if name.startswith("kl_") else v for name, v in terms.items())
    return {**terms, "bound": bound}


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
    update: Callable[[State], tuple[State, Terms]],
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
