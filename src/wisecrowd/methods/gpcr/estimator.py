"""What the three estimators share: checks, the loop, the labels."""

from abc import abstractmethod
from dataclasses import dataclass
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
    LearnedByEM,
    Published,
    WithConfusionMatrices,
    WithKernel,
)
from wisecrowd.fit.em import ProcessSteps, Terms, climb, least_gain, threads_for
from wisecrowd.fit.trace import Trace
from wisecrowd.maths.jaakkola import Latent
from wisecrowd.maths.scaling import Scaling
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


class GPCRSteps(ProcessSteps[loop.State]):
    """The loop of a model, whose kernel starts here."""

    def __init__(
        self,
        X: Array,
        annotations: Annotations,
        model: "BinaryGPCR",
        kernel: SquaredExponential,
    ) -> None:
        super().__init__(X, annotations, model.annotator_prior, model.scaling)
        self.model, self.before = model, ConfusionMatrices(self.given, self.given)
        self.process = model._process(self.items, kernel)
        self.n_rows = self.process.n_rows
        self.xi = np.full(len(self.told), np.exp(0.5 * kernel.log_variance))

    def start(self) -> loop.State:
        """Return the best start, after a few updates with the kernel held."""
        first, votes = self.process.climbs[0], self.votes()
        thetas = self.model._starts(self.process.theta)
        starts = [loop.State(votes, self.xi, theta, None) for theta in thetas]
        held = first._replace(free=first.free[:0])
        return loop.warmed_up(partial(self.update, climb=held), starts)

    def update(
        self, state: loop.State, climb: loop.Climb | None = None
    ) -> tuple[loop.State, Terms]:
        """Update annotators, kernel with q(f), ξ and classes."""
        return loop.updated(
            state,
            self.answers,
            self.before,
            self.gold,
            self.process.evaluate,
            climb or self.process.climbs[-1],
        )

    def learned(self, end: loop.State) -> Learned:
        """Return matrices and process, which predicts the other items."""
        assert end.latent is not None
        found = self.model._record(end.theta, end.latent, self.items, self.scaling)
        proba = self.of_all_items(end.proba, found)
        skills = self.skills(self.all_answers, proba)
        return Learned(proba, proba.mean(0), skills, found)


# A dataclass only for its constructor, which scikit-learn reads the settings from.
@dataclass(eq=False, repr=False, kw_only=True)
class BinaryGPCR(
    LearnedByEM, WithKernel, Published, WithConfusionMatrices, BinaryClassifier
):
    """A binary Gaussian process with a logistic link, learned with the annotators."""

    annotator_prior: Any = "flat"
    length_scale: float | int | str = "auto"
    variance: float | int = 1.0
    learn_kernel: bool = True
    scaling: str = "auto"
    dependence: float | int | str | None = "learn"
    max_iter: int = 500
    tol: float | int | None = 1e-5
    progress: bool | None = None

    @abstractmethod
    def _process(self, X: Array, kernel: SquaredExponential) -> Process:
        """Return the prior of f on items with these scaled features."""

    @abstractmethod
    def _record(self, theta: Array, latent: Latent, X: Array, scale: Scaling) -> Any:
        """Return what predicts new items."""

    def _steps(self, X: Array, annotations: Annotations) -> GPCRSteps:
        self._check_two_classes(annotations)
        return GPCRSteps(X, annotations, self, self._starting_kernel(X.shape[1]))

    def _climbed(self, steps: Any, name: str) -> tuple[loop.State, Trace]:
        """Let the kernel climb in several ways, one after the other."""
        tol = least_gain(self.tol, len(steps.answers))
        threads = threads_for(steps.n_rows)
        with threads, Trace(name, self.max_iter, self.progress) as trace:
            end = steps.start()
            for part in steps.process.climbs:
                end = climb(
                    partial(steps.update, climb=part),
                    end,
                    trace=trace,
                    max_iter=self.max_iter,
                    tol=tol,
                    warn=part is steps.process.climbs[-1],
                    one_thread=False,
                )
        return end, trace

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


def limits(
    kernel: SquaredExponential,
) -> tuple[Float[np.ndarray, " 2"], Float[np.ndarray, " 2"]]:
    """Return the smallest and largest logarithms that a learned kernel may have."""
    far = np.log([loop.LARGEST_VARIANCE, loop.LARGEST_SCALE])
    return np.array(kernel) - far, np.array(kernel) + far
