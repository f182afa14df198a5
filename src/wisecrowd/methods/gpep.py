"""Rodrigues et al. (2014): a Gaussian process and two rates per annotator, by EP.

f ~ GP(0, k), p(z = 1 | f) = Φ(f), p(y = k | z = c, annotator a) = R[a, c, k]. Two
classes, which are summed out: expectation propagation approximates the posterior of f
given the answers. Sensitivities and specificities are learned again from the posterior
of z, and the kernel from EP's evidence.
"""

import warnings
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.special import ndtr
from sklearn.exceptions import ConvergenceWarning

from wisecrowd._records import LOG, record
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
from wisecrowd.fit.em import ProcessSteps, Terms, with_bound
from wisecrowd.maths import crowd
from wisecrowd.maths import expectation_propagation as ep
from wisecrowd.maths.expectation_propagation import Approximation, Sites
from wisecrowd.maths.scaling import Scaling
from wisecrowd.maths.squared_exponential import (
    SquaredExponential,
    covariance,
    gradient,
    starting_kernel,
)
from wisecrowd.registry import MethodInfo

__all__ = ["GPEP"]

KERNEL_STEPS = 3  # of L-BFGS between two updates of the annotators
UNIT = 0.3  # of log v and log ℓ: about how far the first of these steps goes
STEEP = 0.05  # nats per `UNIT`: where the slope is less, the kernel stays
SMALL_GAIN = 1e-6  # of the evidence, relative: less is not worth another step
VARIANCES = (0.01, 25.0)  # with more, Φ(f) is a step, and EP often does not converge
SCALES = (0.02, 50.0)  # times the start: shorter, and no item says much of another
STARTS = ((1.0, 1.0), (1.0, 0.5), (1.0, 0.25), (0.2, 2.0))
"""Variance, and length-scale times √D: the evidence has several maxima. The last one is
for weak features, where the others end with items that say nothing of one another."""
MAX_SWEEPS = 100
PENALTY = 10.0  # nats: by how much a kernel is worse for which EP does not converge
NOT_CONVERGED = (
    f"expectation propagation has not converged after {MAX_SWEEPS} sweeps, because "
    f"answers contradict the features too strongly. Labels and predictions may be "
    f"wrong. Compare them with another method, such as SVGPCR."
)
BLOCK = 1000  # new items at a time


class State(NamedTuple):
    """The posterior of z of the items with answers or gold; kernel and sites."""

    proba: Float[np.ndarray, "N C"]
    kernel: SquaredExponential
    sites: Sites
    converged: bool  # whether EP has


@record
class EPProcess(NamedTuple):
    """A fitted process: scaled items with answers or gold, their sites, the kernel.

    The factor of an N × N matrix is computed again for predictions, instead of kept.
    """

    log_variance: Annotated[float, LOG]
    log_scale: Annotated[float, LOG]
    items: Float[np.ndarray, "n D"]
    precision: Float[np.ndarray, " n"]
    shift: Float[np.ndarray, " n"]
    scaling: Scaling

    def latent_moments(self, X: Float[np.ndarray, "n D"]) -> ep.Moments:
        """Return mean and variance of f at items in the user's units."""
        kernel = SquaredExponential(self.log_variance, self.log_scale)
        sites = Sites(self.precision, self.shift)
        sites, q = ep.started(covariance(kernel, self.items, self.items), sites)
        scaled = self.scaling.apply(X, "float64")
        prior = float(np.exp(self.log_variance))
        parts = []
        for first in range(0, len(X), BLOCK):
            across = covariance(kernel, self.items, scaled[first : first + BLOCK])
            parts.append(ep.predicted(q, sites, across, prior))
        return ep.Moments(
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.variance for part in parts]),
        )

    def proba(self, X: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n 2"]:
        """p(z = 1 | x) = E Φ(f) = Φ(mean / √(1 + variance))."""
        mean, variance = self.latent_moments(X)
        t = mean / np.sqrt(1 + variance)
        return np.stack([ndtr(-t), ndtr(t)], 1)


class Step(NamedTuple):
    """A kernel, and where EP arrived with it."""

    kernel: SquaredExponential
    found: Approximation

    @property
    def value(self) -> float:
        """The evidence, less where EP has not converged and it means little."""
        return self.found.log_evidence - (0 if self.found.converged else PENALTY)


def better_kernel(
    kernel: SquaredExponential,
    sites: Sites,
    X: Float[np.ndarray, "N D"],
    log_likelihood: Float[np.ndarray, "N 2"],
    n_steps: int = KERNEL_STEPS,
) -> Step:
    """Climb EP's evidence by a few steps of L-BFGS; every value is that of a whole EP.

    Each EP begins with the sites of the best kernel so far.
    """
    best: Step | None = None

    def loss(scaled: Array) -> tuple[float, Array]:
        nonlocal best
        at = SquaredExponential(*map(float, UNIT * scaled))
        begun = sites if best is None else best.found.sites
        K = covariance(at, X, X)
        found = ep.propagated(K, log_likelihood, begun, max_sweeps=MAX_SWEEPS)
        step = Step(at, found)
        if best is None or step.value > best.value:
            best = step
        if not found.converged:  # a smaller variance helps
            return -best.value + PENALTY, np.array([UNIT, 0.0])
        slope = gradient(at, X, ep.by_covariance(found.posterior, found.sites))
        return -step.value, -UNIT * np.array(slope)

    first = starting_kernel(X.shape[1]).log_scale
    bounds: Any = np.stack([np.log(VARIANCES), first + np.log(SCALES)]) / UNIT
    minimize(
        loss,
        np.array(kernel) / UNIT,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": n_steps, "gtol": STEEP, "ftol": SMALL_GAIN},
    )
    assert best is not None
    return best


def best_start(
    X: Float[np.ndarray, "N D"], log_likelihood: Float[np.ndarray, "N 2"]
) -> Step:
    """Return the best of a few kernels, `STARTS`."""
    first = starting_kernel(X.shape[1]).log_scale
    steps = []
    for variance, factor in np.log(STARTS).tolist():
        kernel = SquaredExponential(variance, first + factor)
        K = covariance(kernel, X, X)
        steps.append(
            Step(kernel, ep.propagated(K, log_likelihood, ep.flat_sites(len(X))))
        )
    return max(steps, key=lambda step: step.value)


class GPEPSteps(ProcessSteps[State]):
    """The loop; its state has kernel and sites."""

    def __init__(self, X: Array, annotations: Annotations, model: "GPEP") -> None:
        super().__init__(X, annotations, model.annotator_prior, model.scaling)
        self.n_rows = len(self.told)

    def annotators_from(self, proba: Array) -> tuple[Array, Array]:
        """Return the logs of the rates, and of the likelihood of the answers."""
        log_rows = self.log_rows(proba)
        like = crowd.evidence_per_item(self.answers, log_rows)
        return log_rows, crowd.clamped(like, self.gold)

    def start(self) -> State:
        """Return the votes, and the best of a few kernels."""
        votes = self.votes()
        kernel, found = best_start(self.items, self.annotators_from(votes)[1])
        return State(votes, kernel, found.sites, found.converged)

    def update(self, state: State) -> tuple[State, Terms]:
        """Learn the rates from the classes, and kernel and classes from them."""
        log_rows, like = self.annotators_from(state.proba)
        kernel, found = better_kernel(state.kernel, state.sites, self.items, like)
        proba = two_columns(found.tilted.proba)
        return State(proba, kernel, found.sites, found.converged), with_bound(
            log_evidence=found.log_evidence,
            log_prior_annotators=self.log_prior(log_rows),
        )

    def learned(self, end: State) -> Learned:
        """Return rates and process, which predicts the other items."""
        if not end.converged:
            warnings.warn(NOT_CONVERGED, ConvergenceWarning, stacklevel=4)
        process = EPProcess(*end.kernel, self.items, *end.sites, self.scaling)
        proba = self.of_all_items(end.proba, process)
        skills = self.skills(self.all_answers, proba)
        return Learned(proba, proba.mean(0), skills, process)


@dataclass(eq=False, repr=False, kw_only=True)
class GPEP(LearnedByEM, WithKernel, Published, WithConfusionMatrices, BinaryClassifier):
    """Rodrigues's estimator: a Gaussian process classifier learned with the annotators.

    Two classes, as published. The time grows with the cube of the number of items that
    have answers or gold: some thousand are possible.

    Parameters
    ----------
    annotator_prior : "flat", "diagonal", (C, K) or (A, C, K) array, or mapping
        Beta concentrations of sensitivity and specificity, as rows of confusion
        matrices; see :class:`Raykar`. "flat" is the paper's maximum likelihood, up to a
        hundredth of an answer.
    scaling, dependence
        As in :class:`Raykar`.
    max_iter : int
        The most updates of the annotators. Between two of them, the kernel climbs the
        evidence by a few steps.
    tol : float or None
        The fit ends when an update gains less than this, in nats per answer. None: all
        updates.
    progress : bool or None
        Whether to draw a progress bar; None: on a terminal.

    Attributes
    ----------
    sensitivity_ : array (A,)
        Probability of answering the second class where it is right.
    specificity_ : array (A,)
        Probability of answering the first class where it is right.
    variance_ : float
        The variance of the kernel.
    length_scale_ : float
        The length-scale of the kernel, in units of the scaled features.
    n_iter_ : int
        The number of updates.
    n_features_in_ : int
        Number of features at the fit.
    feature_names_in_ : array
        Their names, where X was a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 2))
    >>> truth = (np.hypot(*X.T) > 1.2).astype(int)  # a ring around a disc
    >>> wrong = rng.random((120, 3)) < [0.1, 0.2, 0.3]  # three annotators
    >>> model = GPEP().fit(X, np.where(wrong, 1 - truth[:, None], truth[:, None]))
    >>> bool((model.labels_ == truth).mean() > 0.95)
    True
    >>> model.predict([[0.0, 0.0], [2.0, 0.0]]).tolist()
    [0, 1]
    """

    annotator_prior: Any = "flat"
    scaling: str = "auto"
    dependence: float | int | str | None = "learn"
    max_iter: int = 100
    tol: float | int | None = 1e-5
    progress: bool | None = None

    method = MethodInfo(
        name="gpep",
        needs="features",
        two_classes=True,
        learns="sensitivity and specificity, while a Gaussian process learns two "
        "classes",
        paper="Rodrigues et al., *ICML* 2014",
        bibtex="""\
@inproceedings{rodrigues2014,
  author = {Rodrigues, Filipe and Pereira, Francisco C. and Ribeiro, Bernardete},
  title = {Gaussian process classification and active learning with multiple
    annotators},
  booktitle = {Proceedings of the 31st International Conference on Machine Learning},
  pages = {433--441},
  year = {2014}
}""",
    )

    @property
    def sensitivity_(self) -> Array:
        """Probability of answering the second class where it is right, (A,)."""
        return self.confusion_[:, 1, 1]

    @property
    def specificity_(self) -> Array:
        """Probability of answering the first class where it is right, (A,)."""
        return self.confusion_[:, 0, 0]

    def _steps(self, X: Array, annotations: Annotations) -> GPEPSteps:
        self._check_two_classes(annotations)
        return GPEPSteps(X, annotations, self)


def two_columns(proba: Float[np.ndarray, " N"]) -> Float[np.ndarray, "N 2"]:
    """Return the probabilities of both classes from those of the second."""
    return np.stack([1 - proba, proba], 1)
