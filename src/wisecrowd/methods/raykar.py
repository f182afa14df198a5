"""Raykar et al. (2010): a logistic regression and a confusion matrix each, by EM.

p(z = c | x) = softmax_c(x W + b), p(y = k | z = c, annotator a) = R[a, c, k]. The loop
is Dawid and Skene's, with the regression in the place of the shares of the classes. It
finds the maximum a posteriori: Dirichlet priors on the rows of R, a Gaussian on W.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.base import (
    CrowdClassifier,
    Learned,
    LearnedByEM,
    Published,
    WithConfusionMatrices,
)
from wisecrowd.fit.em import MatrixSteps, Terms, with_bound
from wisecrowd.maths import crowd, logistic
from wisecrowd.maths.logistic import Logistic, Weights
from wisecrowd.maths.scaling import scaling
from wisecrowd.registry import MethodInfo

__all__ = ["Raykar"]


class State(NamedTuple):
    """q(Z), and the weights that it was made with."""

    proba: Float[np.ndarray, "N C"]
    weights: Weights


class RaykarSteps(MatrixSteps[State]):
    """The loop, with the features and the settings of a model."""

    def __init__(self, X: Array, annotations: Annotations, model: "Raykar") -> None:
        super().__init__(annotations, model.annotator_prior)
        n_classes = self.answers.n_classes
        self.scaling = scaling(X, model.scaling)
        self.X = self.scaling.apply(X, "float64")
        self.precision = logistic.precision_of_columns(model.l2, X.shape[1], n_classes)
        self.unit = logistic.units(self.X, n_classes, self.precision)

    def start(self) -> State:
        """Return the votes, and weights of zero."""
        votes = self.votes()
        return State(votes, logistic.starting_weights(votes, self.X.shape[1]))

    def update(self, state: State) -> tuple[State, Terms]:
        """Learn matrices and weights from the classes, and the classes from them."""
        log_rows = self.log_rows(state.proba)
        weights = logistic.better_weights(
            state.weights, self.X, state.proba, self.precision, self.unit
        )
        joint = crowd.evidence_per_item(self.answers, log_rows)
        joint += logistic.log_proba(weights, self.X)
        proba, log_likelihood = self.e_step(joint)
        return State(proba, weights), with_bound(
            log_likelihood=log_likelihood,
            log_prior_annotators=self.log_prior(log_rows),
            log_prior_weights=logistic.log_prior(weights, self.precision),
        )

    def learned(self, end: State) -> Learned:
        """Return the matrices and the regression."""
        skills = self.skills(self.answers, end.proba)
        regression = Logistic(*end.weights, self.scaling)
        return Learned(end.proba, end.proba.mean(0), skills, regression)


@dataclass(eq=False, repr=False, kw_only=True)
class Raykar(LearnedByEM, Published, WithConfusionMatrices, CrowdClassifier):
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
    dependence, max_iter, tol, progress
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

    l2: float | int | str = "auto"
    annotator_prior: Any = "flat"
    scaling: str = "auto"
    dependence: float | int | str | None = "learn"
    max_iter: int = 1000
    tol: float | int | None = 1e-7
    progress: bool | None = None

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

    def _steps(self, X: Array, annotations: Annotations) -> RaykarSteps:
        return RaykarSteps(X, annotations, self)
