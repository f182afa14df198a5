"""Yan et al. (2010, 2014): annotators whose reliability depends on the item's features.

p(z = c | x) = softmax_c(x W + b), p(y = z | x, annotator a) = σ(w[a] · x + γ[a]). With
two classes this is the published model; with more, every wrong class is equally likely.
EM for the maximum a posteriori, with Gaussian priors on the weights.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd._checks import number
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.base import CrowdClassifier, Learned, LearnedByEM, Published
from wisecrowd.feature_source import checked_features
from wisecrowd.fit.em import Steps, Terms, with_bound
from wisecrowd.maths import ability, logistic
from wisecrowd.maths import reliability_by_features as reliability
from wisecrowd.maths.logistic import Logistic, Weights
from wisecrowd.maths.reliability_by_features import Params, Precision
from wisecrowd.maths.scaling import scaling
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import ByFeatures, Tally

__all__ = ["Yan"]

RELIABILITY_VARIANCE = 0.5
"""Prior variance of w · x if D features have variance one, for annotator_l2="auto"."""
OFFSET_PRECISION = 0.25  # of γ: an annotator without errors keeps finite log odds


class State(NamedTuple):
    """q(Z), and the parameters that it was made with."""

    proba: Float[np.ndarray, "N C"]
    weights: Weights
    annotators: Params


def annotator_precision(l2: float | int | str, n_features: int) -> Precision:
    """Return the precisions of the annotators' priors; "auto" for w is D / ½."""
    if l2 == "auto":
        l2 = n_features / RELIABILITY_VARIANCE
    wanted = "at least 0 and at most 1e100, or 'auto'"
    number(l2, "annotator_l2", wanted, lambda v: 0 <= v <= 1e100)
    return Precision(float(l2), OFFSET_PRECISION)


class YanSteps(Steps[State]):
    """The loop, with the features and the settings of a model."""

    def __init__(self, X: Array, annotations: Annotations, model: "Yan") -> None:
        super().__init__(annotations)
        self.all_answers = self.answers
        self.answers = ability.class_answers(self.answers, "Yan")
        n_features, n_classes = X.shape[1], self.answers.n_classes
        self.of_classes = logistic.precision_of_columns(model.l2, n_features, n_classes)
        self.of_annotators = annotator_precision(model.annotator_l2, n_features)
        self.scaling = scaling(X, model.scaling)
        self.X = self.scaling.apply(X, "float64")
        self.unit = logistic.units(self.X, n_classes, self.of_classes)
        self.own_unit = reliability.units(self.X, self.answers, self.of_annotators)

    def start(self) -> State:
        """Return the votes, and weights of zero."""
        votes, n_annotators = self.votes(), self.answers.n_annotators
        weights = np.zeros((n_annotators, self.X.shape[1]))
        offset = np.full(n_annotators, ability.MEAN_ABILITY)
        of_classes = logistic.starting_weights(votes, self.X.shape[1])
        return State(votes, of_classes, Params(weights, offset))

    def update(self, state: State) -> tuple[State, Terms]:
        """Learn both regressions from the classes, and the classes from them."""
        right = self.answers.right_proba(state.proba)
        annotators = reliability.better_params(
            state.annotators, right, self.X, self.answers, self.of_annotators,
            self.own_unit,
        )  # fmt: skip
        weights = logistic.better_weights(
            state.weights, self.X, state.proba, self.of_classes, self.unit
        )
        s = reliability.logits(annotators, self.X, self.answers)
        joint = ability.evidence_per_item(s, self.answers)
        joint += logistic.log_proba(weights, self.X)
        proba, log_likelihood = self.e_step(joint)
        of_annotators = reliability.log_prior(annotators, self.of_annotators)
        return State(proba, weights, annotators), with_bound(
            log_likelihood=log_likelihood,
            log_prior_annotators=of_annotators,
            log_prior_weights=logistic.log_prior(weights, self.of_classes),
        )

    def learned(self, end: State) -> Learned:
        """Return both regressions; all answers are counted against the labels."""
        tally = Tally.of(self.all_answers, end.proba)
        skills = ByFeatures(tally, *end.annotators, self.scaling)
        regression = Logistic(*end.weights, self.scaling)
        return Learned(end.proba, end.proba.mean(0), skills, regression)


@dataclass(eq=False, repr=False, kw_only=True)
class Yan(LearnedByEM, Published, CrowdClassifier):
    """Yan's estimator: who is right depends on the item, by EM.

    A logistic (two classes, as published) or multinomial regression learns the classes.
    Another one per annotator learns on which items the annotator is right. Answers that
    are not classes (such as "can't tell") are left out, with a warning. The confusion
    matrices are counts of the answers against the labels.

    Parameters
    ----------
    l2 : "auto" or float
        Precision of the Gaussian prior of the classifier's weights; see
        :class:`Raykar`.
    annotator_l2 : "auto" or float
        Precision of the Gaussian prior of the annotators' weights. "auto" is twice the
        number of features.
    scaling
        As in :class:`Raykar`.
    dependence, max_iter, tol, progress
        As in :class:`DawidSkene`.

    Attributes
    ----------
    n_iter_ : int
        The number of iterations.
    n_features_in_ : int
        Number of features at the fit.
    feature_names_in_ : array
        Their names, where X was a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 300)
    >>> X = np.c_[truth + 0.4 * rng.normal(size=300), rng.normal(size=300)]
    >>> good = X[:, 1] > 0  # the first two annotators guess on the other items
    >>> right = np.c_[good, good, ~good] | (rng.random((300, 3)) < 0.5)
    >>> model = Yan().fit(X, np.where(right, truth[:, None], 1 - truth[:, None]))
    >>> bool((model.labels_ == truth).mean() > 0.9)
    True
    >>> first, second = model.right_proba([[0.5, 2.0], [0.5, -2.0]])[:, 0]
    >>> bool(first > second)
    True
    """

    l2: float | int | str = "auto"
    annotator_l2: float | int | str = "auto"
    scaling: str = "auto"
    dependence: float | int | str | None = "learn"
    max_iter: int = 1000
    tol: float | int | None = 1e-6
    progress: bool | None = None

    method = MethodInfo(
        name="yan",
        needs="features",
        learns="a probability of being right that depends on the features",
        paper="Yan et al., *Machine Learning* 95, 2014",
        bibtex="""\
@article{yan2014,
  author = {Yan, Yan and Rosales, R{\\'o}mer and Fung, Glenn and Subramanian,
    Ramanathan and Dy, Jennifer},
  title = {Learning from multiple annotators with varying expertise},
  journal = {Machine Learning},
  volume = {95},
  pages = {291--327},
  year = {2014}
}""",
    )

    def right_proba(self, X: Any) -> Array:
        """Return the probability that each annotator is right on new items, (n, A)."""
        skills: ByFeatures = self.learned_.skills
        return skills.right_proba(checked_features(self, X, reset=False))

    def _steps(self, X: Array, annotations: Annotations) -> YanSteps:
        return YanSteps(X, annotations, self)
