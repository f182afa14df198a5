"""Dawid and Skene (1979): class frequencies and a confusion matrix each, by EM.

p(z = c) = π[c], p(y = k | z = c, annotator a) = R[a, c, k]. With Dirichlet priors on
the rows of R the same loop finds the maximum a posteriori instead of the maximum
likelihood.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.base import (
    Aggregator,
    Learned,
    LearnedByEM,
    Published,
    WithConfusionMatrices,
)
from wisecrowd.fit.em import SMOOTHING, MatrixSteps, Terms, with_bound
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.maths.pool import pooled
from wisecrowd.registry import MethodInfo

__all__ = ["DawidSkene"]


class Params(NamedTuple):
    """Logs of the class frequencies and of the confusion matrices."""

    log_class: Float[np.ndarray, " C"]
    log_confusion: Float[np.ndarray, "A C K"]


def most_probable_params(
    proba: Float[np.ndarray, "N C"],
    counts: Float[np.ndarray, "A C K"],
    prior: Float[np.ndarray, "#A C K"],
) -> Params:
    """Return the M-step: π ∝ Σₙ q + s,  R ∝ n + α − 1 (modes; s = `SMOOTHING`)."""
    return Params(np.log(class_shares(proba)), dirichlet.log_mode(counts, prior))


def class_shares(proba: Float[np.ndarray, "N C"]) -> Float[np.ndarray, " C"]:
    """π ∝ Σₙ q + s: no class is impossible, even if no item has it."""
    mass = np.einsum("nc->c", proba) + SMOOTHING  # faster than sum(0)
    return mass / mass.sum()


def log_prior(params: Params, prior: Float[np.ndarray, "#A C K"]) -> float:
    """Return the log density of the priors, without their constants."""
    rows = ((prior - 1) * params.log_confusion).sum()
    return float(rows + SMOOTHING * params.log_class.sum())


class DawidSkeneSteps(MatrixSteps[Array]):
    """The loop; its state is q(Z)."""

    def __init__(self, annotations: Annotations, prior: Any, dependence: Any) -> None:
        super().__init__(annotations, prior)
        self.dependence = dependence

    def start(self) -> Array:
        """Return the votes."""
        return self.votes()

    def update(self, proba: Array) -> tuple[Array, Terms]:
        """Learn the parameters from the classes, and the classes from them."""
        counts = crowd.soft_counts(self.answers, proba)
        params = most_probable_params(proba, counts, self.prior)
        joint = crowd.evidence_per_item(self.answers, params.log_confusion)
        joint += params.log_class
        proba, log_likelihood = self.e_step(joint)
        return proba, with_bound(
            log_likelihood=log_likelihood, log_prior=log_prior(params, self.prior)
        )

    def learned(self, proba: Array) -> Learned:
        """Return the labels, which the pool makes."""
        answers, classes = self.answers, class_shares(proba)
        skills = self.skills(answers, proba)
        if self.dependence is None:
            return Learned(proba, classes, skills)
        diagonal = crowd.diagonal_prior(*answers.shape[2:], 4.0, 1.0)[None]
        found = pooled(answers, self.gold, proba, (diagonal,), self.dependence)
        return Learned.of(found, classes, skills.with_labels(answers, found))


@dataclass(eq=False, repr=False, kw_only=True)
class DawidSkene(LearnedByEM, Published, WithConfusionMatrices, Aggregator):
    """Dawid and Skene's estimator: EM from the votes.

    Parameters
    ----------
    annotator_prior : "flat", "diagonal", (C, K) or (A, C, K) array, or mapping
        Dirichlet concentrations of the rows. "flat" (one everywhere) is maximum
        likelihood, up to a hundredth of an answer. A mapping from annotators to
        (C, K) concentrations takes over what is known of some of them. What is below
        one counts as one: a mode needs it.
    dependence : "learn", float or None
        How the labels are made at the end; see :class:`BCC`. None: the published
        posterior, which is far too sure on real crowds.
    max_iter : int
        The most iterations.
    tol : float or None
        Stop when an iteration gains less than this many nats per answer;
        None runs all iterations.
    progress : bool or None
        Draw a progress bar; None: on a terminal.

    Examples
    --------
    >>> from wisecrowd.annotations import Annotations
    >>> answers = Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0]])
    >>> model = DawidSkene().fit(answers)
    >>> model.labels_.tolist()
    [0, 1, 0, 1]
    >>> model.annotator_summary()["accuracy"].round(2).tolist()
    [0.78, 0.78, 0.22]
    """

    annotator_prior: Any = "flat"
    dependence: float | int | str | None = "learn"
    max_iter: int = 1000
    tol: float | int | None = 1e-7
    progress: bool | None = None

    method = MethodInfo(
        name="dawid-skene",
        needs="answers",
        learns="a confusion matrix",
        paper="Dawid and Skene, *Applied Statistics* 28(1), 1979",
        bibtex="""\
@article{dawid1979,
  author = {Dawid, A. P. and Skene, A. M.},
  title = {Maximum likelihood estimation of observer error-rates using the {EM}
    algorithm},
  journal = {Applied Statistics},
  volume = {28},
  number = {1},
  pages = {20--28},
  year = {1979}
}""",
    )

    def _steps(self, annotations: Annotations) -> DawidSkeneSteps:
        self._check_dependence()
        return DawidSkeneSteps(annotations, self.annotator_prior, self.dependence)
