"""Raykar et al. (2010): a logistic regression and a confusion matrix each, by EM.

p(z = c | x) = softmax_c(x W + b), p(y = k | z = c, annotator a) = R[a, c, k]. The loop
is Dawid and Skene's, with the regression in the place of the shares of the classes. It
finds the maximum a posteriori: Dirichlet priors on the rows of R, a Gaussian on W.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.base import CrowdClassifier, Learned, Published, WithConfusionMatrices
from wisecrowd.fit.em import climb, least_gain
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, dirichlet, logistic
from wisecrowd.maths.logistic import Logistic, Weights
from wisecrowd.maths.scaling import scaling
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import ConfusionMatrices

__all__ = ["Raykar"]

SMOOTHING = 0.01  # of an answer everywhere: every logarithm stays finite


class State(NamedTuple):
    """q(Z), and the weights that it was made with."""

    proba: Float[np.ndarray, "N C"]
    weights: Weights


class Raykar(Published, WithConfusionMatrices, CrowdClassifier):
    """Raykar's estimator: a logistic regression learned with the annotators, by EM.

    Two classes have one vector of weights, as published; more have a multinomial
    regression.

    Parameters
    ----------
    l2 : "auto" or float
        Precision of the Gaussian prior of the weights of the scaled features: the 1 / C
        of scikit-learn's LogisticRegression. "auto" is half the number of features.
        The bias has no prior.
    annotator_prior : "flat", "diagonal", (C, K) or (A, C, K) array, or mapping
        Dirichlet concentrations of the rows. "flat" is maximum likelihood, up to a
        hundredth of an answer. A mapping from annotators to (C, K) concentrations takes
        over what is known of some of them. What is below one counts as one: a mode
        needs it.
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
    coef_ : array (D, C)
        Weights of the features as they were given; the classes' columns sum to zero.
    intercept_ : array (C,)
        The bias.
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
    >>> truth = rng.integers(0, 2, 200)
    >>> X = truth[:, None] + 0.3 * rng.normal(size=(200, 2))
    >>> wrong = rng.random((200, 3)) < [0.1, 0.3, 0.5]  # three annotators
    >>> model = Raykar().fit(X, np.where(wrong, 1 - truth[:, None], truth[:, None]))
    >>> bool((model.labels_ == truth).mean() > 0.95)
    True
    >>> model.predict([[0.0, 0.0], [1.0, 1.0]]).tolist()
    [0, 1]
    """

    method = MethodInfo(
        name="raykar",
        needs="features",
        learns="a confusion matrix, while a logistic regression learns the classes",
        paper="Raykar et al., *JMLR* 11, 2010",
        bibtex="""\
@article{raykar2010,
  author = {Raykar, Vikas C. and Yu, Shipeng and Zhao, Linda H. and Valadez, Gerardo
    Hermosillo and Florin, Charles and Bogoni, Luca and Moy, Linda},
  title = {Learning from crowds},
  journal = {Journal of Machine Learning Research},
  volume = {11},
  pages = {1297--1322},
  year = {2010}
}""",
    )

    def __init__(
        self,
        *,
        l2: float | int | str = "auto",
        annotator_prior: Any = "flat",
        scaling: str = "auto",
        dependence: float | int | str | None = "learn",
        max_iter: int = 1000,
        tol: float | int | None = 1e-7,
        progress: bool | None = None,
    ) -> None:
        self.l2 = l2
        self.annotator_prior = annotator_prior
        self.scaling = scaling
        self.dependence = dependence
        self.max_iter = max_iter
        self.tol = tol
        self.progress = progress

    @property
    def coef_(self) -> Array:
        """Weights of the features as they were given, (D, C)."""
        found: Logistic = self.learned_.classifier
        return found.weights / found.scaling.spread[:, None]

    @property
    def intercept_(self) -> Array:
        """The bias, (C,), where the features are 0 in the user's units."""
        found: Logistic = self.learned_.classifier
        out: Array = found.bias - found.scaling.centre @ self.coef_
        return out

    @property
    def n_iter_(self) -> int:
        """The number of iterations."""
        return len(self.trace_)

    def _fit(self, X: Array, annotations: Annotations) -> tuple[Learned, Trace]:
        answers, gold = annotations.codes, annotations.gold_codes
        given = crowd.annotator_prior(
            self.annotator_prior, annotations.annotators, *answers.shape[2:]
        )
        prior = np.maximum(given, 1.0) + SMOOTHING
        scale = scaling(X, self.scaling)
        scaled = scale.apply(X, "float64")
        precision = logistic.precision_of_columns(
            self.l2, X.shape[1], answers.n_classes
        )
        unit = logistic.units(scaled, answers.n_classes, precision)

        def update(state: State) -> tuple[State, dict[str, float]]:
            log_rows = dirichlet.log_mode(
                crowd.soft_counts(answers, state.proba), prior
            )
            weights = logistic.better_weights(
                state.weights, scaled, state.proba, precision, unit
            )
            joint = crowd.evidence_per_item(answers, log_rows)
            joint += logistic.log_proba(weights, scaled)
            proba, log_likelihood = crowd.posterior(crowd.clamped(joint, gold))
            terms = {
                "log_likelihood": float(log_likelihood.sum()),
                "log_prior_annotators": float(((prior - 1) * log_rows).sum()),
                "log_prior_weights": logistic.log_prior(weights, precision),
            }
            return State(proba, weights), {**terms, "bound": sum(terms.values())}

        votes = crowd.vote_proba(answers.votes(), gold)
        start = State(votes, logistic.starting_weights(votes, X.shape[1]))
        tol = least_gain(self.tol, len(answers))
        with Trace("Raykar", self.max_iter, self.progress) as trace:
            end = climb(update, start, trace=trace, max_iter=self.max_iter, tol=tol)
        counts = given + crowd.soft_counts(answers, end.proba)
        skills = ConfusionMatrices(given, counts).with_doubt(answers, end.proba)
        regression = Logistic(*end.weights, scale)
        return Learned(end.proba, end.proba.mean(0), skills, regression), trace

    def _predict_proba(self, X: Array) -> Array:
        regression: Logistic = self.learned_.classifier
        return regression.proba(X)
