"""Yan et al. (2010, 2014): annotators whose reliability depends on the item's features.

p(z = c | x) = softmax_c(x W + b), p(y = z | x, annotator a) = σ(w[a] · x + γ[a]). With
two classes this is the published model; with more, every wrong class is equally likely.
EM for the maximum a posteriori, with Gaussian priors on the weights.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd._checks import number
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.base import CrowdClassifier, Learned, Published
from wisecrowd.features import checked_features
from wisecrowd.fit.em import climb, least_gain
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import ability, crowd, logistic
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


class Yan(Published, CrowdClassifier):
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
    scaling : {"auto", "each", "one", "none"}
        Divide each feature by its own standard deviation, or all by one number. "auto"
        uses one number if the standard deviations are similar.
    dependence : "learn", float or None
        How the labels are made at the end; see :class:`BCC`. None: the published
        posterior, which is far too sure on real crowds.
    max_iter, tol, progress
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

    def __init__(
        self,
        *,
        l2: float | int | str = "auto",
        annotator_l2: float | int | str = "auto",
        scaling: str = "auto",
        dependence: float | int | str | None = "learn",
        max_iter: int = 1000,
        tol: float | int | None = 1e-6,
        progress: bool | None = None,
    ) -> None:
        self.l2 = l2
        self.annotator_l2 = annotator_l2
        self.scaling = scaling
        self.dependence = dependence
        self.max_iter = max_iter
        self.tol = tol
        self.progress = progress

    @property
    def n_iter_(self) -> int:
        """The number of iterations."""
        return len(self.trace_)

    def right_proba(self, X: Any) -> Array:
        """Return the probability that each annotator is right on new items, (n, A)."""
        skills: ByFeatures = self.learned_.skills
        return skills.right_proba(checked_features(self, X, reset=False))

    def _fit(self, X: Array, annotations: Annotations) -> tuple[Learned, Trace]:
        gold = annotations.gold_codes
        answers = ability.class_answers(annotations.codes, "Yan")
        n_features, n_classes = X.shape[1], answers.n_classes
        of_classes = logistic.precision_of_columns(self.l2, n_features, n_classes)
        of_annotators = annotator_precision(self.annotator_l2, n_features)
        scale = scaling(X, self.scaling)
        scaled = scale.apply(X, "float64")
        unit = logistic.units(scaled, n_classes, of_classes)
        own_unit = reliability.units(scaled, answers, of_annotators)

        def update(state: State) -> tuple[State, dict[str, float]]:
            right = answers.right_proba(state.proba)
            annotators = reliability.better_params(
                state.annotators, right, scaled, answers, of_annotators, own_unit
            )
            weights = logistic.better_weights(
                state.weights, scaled, state.proba, of_classes, unit
            )
            s = reliability.logits(annotators, scaled, answers)
            joint = ability.evidence_per_item(s, answers)
            joint += logistic.log_proba(weights, scaled)
            proba, log_likelihood = crowd.posterior(crowd.clamped(joint, gold))
            terms = {
                "log_likelihood": float(log_likelihood.sum()),
                "log_prior_annotators": reliability.log_prior(
                    annotators, of_annotators
                ),
                "log_prior_weights": logistic.log_prior(weights, of_classes),
            }
            bound = sum(terms.values())
            return State(proba, weights, annotators), {**terms, "bound": bound}

        votes = crowd.vote_proba(answers.votes(), gold)
        start = State(
            votes,
            logistic.starting_weights(votes, n_features),
            Params(
                np.zeros((answers.n_annotators, n_features)),
                np.full(answers.n_annotators, ability.MEAN_ABILITY),
            ),
        )
        tol = least_gain(self.tol, len(answers))
        with Trace("Yan", self.max_iter, self.progress) as trace:
            end = climb(update, start, trace=trace, max_iter=self.max_iter, tol=tol)
        tally = Tally.of(annotations.codes, end.proba)
        skills = ByFeatures(tally, *end.annotators, scale)
        regression = Logistic(*end.weights, scale)
        return Learned(end.proba, end.proba.mean(0), skills, regression), trace

    def _predict_proba(self, X: Array) -> Array:
        regression: Logistic = self.learned_.classifier
        return regression.proba(X)
