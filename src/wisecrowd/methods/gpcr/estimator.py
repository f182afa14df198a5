"""What the three estimators share: checks, the loop, the labels."""

from abc import abstractmethod
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd._checks import number
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.base import (
    BinaryClassifier,
    Learned,
    Published,
    WithConfusionMatrices,
)
from wisecrowd.fit.em import climb, least_gain, threads_for
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd
from wisecrowd.maths.jaakkola import Latent
from wisecrowd.maths.scaling import Scaling, scaling
from wisecrowd.maths.squared_exponential import SquaredExponential, starting_kernel
from wisecrowd.methods.gpcr import loop
from wisecrowd.skills import ConfusionMatrices

RANGE = " (from 1e-100 to 1e100)"  # outside, squares and exponentials overflow


def _in_range(value: float | int) -> bool:
    return 1e-100 <= value <= 1e100


class Process(NamedTuple):
    """A prior of f on some items: how to evaluate it, where its kernel starts."""

    evaluate: loop.Evaluate
    theta: Float[np.ndarray, " P"]
    climbs: list[loop.Climb]  # one after the other, each until it converges
    n_rows: int  # of its largest square matrix


class BinaryGPCR(Published, WithConfusionMatrices, BinaryClassifier):
    """A binary Gaussian process with a logistic link, learned with the annotators."""

    annotator_prior: Any
    length_scale: float | int | str
    variance: float | int
    learn_kernel: bool
    scaling: str
    max_iter: int
    tol: float | int | None
    progress: bool | None

    @property
    def variance_(self) -> float:
        """The variance of the kernel."""
        return float(np.exp(self.learned_.classifier.log_variance))

    @property
    def length_scale_(self) -> float:
        """The length-scale of the kernel, in units of the scaled features."""
        return float(np.exp(self.learned_.classifier.log_scale))

    @property
    def n_iter_(self) -> int:
        """The number of iterations."""
        return len(self.trace_)

    @abstractmethod
    def _process(self, X: Array, kernel: SquaredExponential) -> Process:
        """Return the prior of f on items with these scaled features."""

    @abstractmethod
    def _record(self, theta: Array, latent: Latent, X: Array, scale: Scaling) -> Any:
        """Return what predicts new items."""

    def _fit(self, X: Array, annotations: Annotations) -> tuple[Learned, Trace]:
        self._check_two_classes(annotations)
        kernel = self._starting_kernel(X.shape[1])
        scale = scaling(X, self.scaling)
        # Without answers and gold, z is integrated out exactly: the item adds nothing.
        answered = annotations.codes.counts().any(1) | (annotations.gold_codes >= 0)
        rows = np.flatnonzero(answered)
        answers = annotations.codes.of_items(rows)
        gold = annotations.gold_codes[rows]
        scaled = scale.apply(X[rows], "float64")
        prior = crowd.annotator_prior(
            self.annotator_prior, annotations.annotators, *answers.shape[2:]
        )
        before = ConfusionMatrices(prior, prior)
        process = self._process(scaled, kernel)
        update = partial(
            loop.updated,
            answers=answers,
            before=before,
            gold=gold,
            evaluate=process.evaluate,
        )
        still = process.climbs[0]._replace(free=process.climbs[0].free[:0])
        votes = crowd.vote_proba(answers.votes(), gold)
        xi = np.full(len(rows), np.exp(0.5 * kernel.log_variance))
        starts = [loop.State(votes, xi, at, None) for at in self._starts(process.theta)]
        tol = least_gain(self.tol, len(answers))
        with (
            threads_for(process.n_rows),
            Trace(type(self).__name__, self.max_iter, self.progress) as trace,
        ):
            end = loop.warmed_up(partial(update, climb=still), starts)
            for part in process.climbs:
                end = climb(
                    partial(update, climb=part),
                    end,
                    trace=trace,
                    max_iter=self.max_iter,
                    tol=tol,
                    warn=part is process.climbs[-1],
                    one_thread=False,
                )
        skills = before.learned_from(answers, end.proba)
        skills = skills.with_doubt(answers, end.proba)
        assert end.latent is not None
        found = self._record(end.theta, end.latent, scaled, scale)
        proba = np.empty((len(X), 2))
        proba[rows] = end.proba
        proba[~answered] = found.proba(X[~answered])
        return Learned(proba, proba.mean(0), skills, found), trace

    def _starting_kernel(self, n_features: int) -> SquaredExponential:
        number(self.variance, "variance", f"above 0{RANGE}", _in_range)
        start = starting_kernel(n_features)._replace(
            log_variance=float(np.log(float(self.variance)))
        )
        if self.length_scale == "auto":
            return start
        wanted = f"above 0{RANGE}, or 'auto'"
        number(self.length_scale, "length_scale", wanted, _in_range)
        return start._replace(log_scale=float(np.log(float(self.length_scale))))

    def _starts(self, theta: Array) -> list[Array]:
        """Return the parameters of the kernels that the loop may start with."""
        if self.length_scale != "auto":
            return [theta]
        second = np.arange(len(theta)) == 1  # log ℓ
        return [theta + np.log(r) * second for r in loop.SCALES]

    def _predict_proba(self, X: Array) -> Array:
        proba: Array = self.learned_.classifier.proba(X)
        return proba


def limits(
    kernel: SquaredExponential,
) -> tuple[Float[np.ndarray, " 2"], Float[np.ndarray, " 2"]]:
    """Return the smallest and largest logarithms that a learned kernel may have."""
    far = np.log([loop.LARGEST_VARIANCE, loop.LARGEST_SCALE])
    return np.array(kernel) - far, np.array(kernel) + far
