"""GLAD (Whitehill et al. 2009): the ability of annotators, the easiness of items.

p(y = z) = σ(x), x = ability[a] · exp(log_easiness[n]); a wrong answer is any other
class alike. Two facts keep everything linear in the answers: log σ(x) − log σ(−x) = x,
so an answer adds x + log(C − 1) to the class that it names and nothing to the others;
and σ is the derivative of what is lost, so a gradient is a sum of q − σ(x).
"""

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.utils.validation import check_is_fitted

from wisecrowd._checks import InputError, one_of
from wisecrowd._types import Array
from wisecrowd.base import Aggregator, answer_matrix
from wisecrowd.data.annotations import Annotations
from wisecrowd.fit.em import climb
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd

MEAN_ABILITY = 1.0  # Whitehill's prior: σ(1) = .73 right for two classes
SMOOTHING = 0.01  # of an item for every class: its logarithm stays finite
MOST_LOG_EASINESS = 30.0  # only a wild line search gets there: exp stays finite
INNER_STEPS = 5  # L-BFGS iterations an M-step: it need not arrive, only climb


class Answers(NamedTuple):
    """Answers that name a class: who said which class of what."""

    item: Int[np.ndarray, " L"]
    annotator: Int[np.ndarray, " L"]
    label: Int[np.ndarray, " L"]


class Params(NamedTuple):
    """What an annotator can do, and how easy an item is."""

    ability: Float[np.ndarray, " A"]
    log_easiness: Float[np.ndarray, " N"]


class Spread(NamedTuple):
    """Standard deviations of the Gaussian priors."""

    ability: float
    log_easiness: float


class State(NamedTuple):
    """q(Z) and the parameters that it was made with."""

    proba: Float[np.ndarray, "N C"]
    params: Params


# -- formulas ----------------------------------------------------------------------


def logits(params: Params, answers: Answers) -> Float[np.ndarray, " L"]:
    """Log odds of a right answer: x = ability[a] · exp(log_easiness[n])."""
    return params.ability[answers.annotator] * _easiness(params)[answers.item]


def _easiness(params: Params) -> Float[np.ndarray, " N"]:
    return np.exp(np.minimum(params.log_easiness, MOST_LOG_EASINESS))


def evidence_per_item(
    x: Float[np.ndarray, " L"], answers: Answers, shape: tuple[int, int]
) -> Float[np.ndarray, "N C"]:
    """Return log p(answers of n | z = c), for `shape` = (N, C).

    Σ over n's answers of log σ(−x) − log(C − 1), for every class alike, and
    Σ over the answers y = c of x + log(C − 1).
    """
    n_items, n_classes = shape
    others = np.log(n_classes - 1)
    named = answers.item.astype(np.int64) * n_classes + answers.label
    gain = np.bincount(named, x + others, minlength=n_items * n_classes)
    wrong = np.bincount(answers.item, log_expit(-x) - others, minlength=n_items)
    return gain.reshape(shape) + wrong[:, None]


def log_prior(params: Params, spread: Spread) -> float:
    """−½ Σ ((ability − 1) / s)² − ½ Σ (log_easiness / s′)², without constants."""
    ability = (params.ability - MEAN_ABILITY) / spread.ability
    easiness = params.log_easiness / spread.log_easiness
    return -0.5 * float((ability**2).sum() + (easiness**2).sum())


def expected_log_joint(
    params: Params, right: Float[np.ndarray, " L"], answers: Answers, spread: Spread
) -> tuple[float, Params]:
    """Return E_q log p(y, params | z), without constants, and its gradient.

    `right` is q(z = y), the probability that each answer is right:
    Σ q x + log σ(−x) + log_prior, with d/dx = q − σ(x).
    """
    x = logits(params, answers)
    value = float((right * x + log_expit(-x)).sum()) + log_prior(params, spread)
    surplus = right - expit(x)
    of_ability = surplus * _easiness(params)[answers.item]
    n_annotators, n_items = len(params.ability), len(params.log_easiness)
    ability = np.bincount(answers.annotator, of_ability, minlength=n_annotators)
    easiness = np.bincount(answers.item, surplus * x, minlength=n_items)
    pull_ability = (params.ability - MEAN_ABILITY) / spread.ability**2
    pull_easiness = params.log_easiness / spread.log_easiness**2
    return value, Params(ability - pull_ability, easiness - pull_easiness)


def curvature(params: Params, answers: Answers, spread: Spread) -> Params:
    """Return the expected curvature, Σ σ(x) σ(−x) (dx/dθ)² + 1 / s²."""
    x = logits(params, answers)
    weight = expit(x) * expit(-x)
    slope = _easiness(params)[answers.item]
    n_annotators, n_items = len(params.ability), len(params.log_easiness)
    ability = np.bincount(answers.annotator, weight * slope**2, minlength=n_annotators)
    easiness = np.bincount(answers.item, weight * x**2, minlength=n_items)
    return Params(ability + spread.ability**-2.0, easiness + spread.log_easiness**-2.0)


def better_params(
    params: Params, right: Float[np.ndarray, " L"], answers: Answers, spread: Spread
) -> Params:
    """Climb the expected log joint by a few steps of L-BFGS; it never falls.

    The steps are taken in units of each parameter's own curvature: an annotator with
    a thousand answers and an item with three are then alike.
    """
    n_annotators = len(params.ability)
    unit = 1 / np.sqrt(np.concatenate(curvature(params, answers, spread)))

    def split(scaled: Array) -> Params:
        flat = scaled * unit
        return Params(flat[:n_annotators], flat[n_annotators:])

    def loss(scaled: Array) -> tuple[float, Array]:
        value, slope = expected_log_joint(split(scaled), right, answers, spread)
        return -value, -np.concatenate(slope) * unit

    start = np.concatenate(params) / unit
    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": INNER_STEPS},
    )
    return split(found.x) if found.fun <= loss(start)[0] else params


def class_answers(labels: Annotations) -> Answers:
    """Return the answers that name a class; warn of those that do not."""
    names_class = labels.label < labels.n_classes
    n_others = int((~names_class).sum())
    if n_others:
        warnings.warn(
            f"{n_others} of {len(labels)} answers do not name a class, and say nothing "
            f"in GLAD: a wrong answer is any other class. They are left out.",
            UserWarning,
            stacklevel=2,
        )
    columns = labels.item, labels.annotator, labels.label
    return Answers(*(column[names_class] for column in columns))


# -- the estimator -----------------------------------------------------------------


class GLAD(Aggregator):
    """GLAD: an ability for every annotator, an easiness for every item, by EM.

    Finds the maximum a posteriori. Answers that are not classes (such as "can't
    tell") say nothing here and are left out of the likelihood, with a warning; they
    are still counted in ``confusion_counts_``.

    Parameters
    ----------
    class_prior : {"uniform", "learned"}
        Whether the classes are equally frequent, as in the paper, or their
        frequencies are learned. Learned ones can run away with a crowd of little
        ability: one class explains all answers.
    ability_spread, easiness_spread : float
        Standard deviations of the Gaussian priors on the ability (mean 1) and on the
        log easiness (mean 0).
    max_iter, tol, progress
        As in :class:`DawidSkene`.

    Attributes
    ----------
    ability_ : array (A,)
        The log odds of a right answer on an item of easiness one: 0 tells nothing
        of two classes, below 0 is an adversary.
    easiness_ : array (N,)
        What multiplies the ability on each item; above one is easier than most.

    Examples
    --------
    >>> from wisecrowd.data.annotations import Annotations
    >>> labels = Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> model = GLAD().fit(labels)
    >>> model.labels_.tolist()
    [0, 1, 0, 1]
    >>> bool(model.ability_[0] > model.ability_[2])
    True
    >>> bool(model.easiness_[2] > model.easiness_[0])
    True
    """

    def __init__(
        self,
        *,
        class_prior: Literal["uniform", "learned"] = "uniform",
        ability_spread: float = 1.0,
        easiness_spread: float = 1.0,
        max_iter: int = 1000,
        tol: float | None = 1e-7,
        progress: bool | None = None,
    ) -> None:
        self.class_prior = class_prior
        self.ability_spread = ability_spread
        self.easiness_spread = easiness_spread
        self.max_iter = max_iter
        self.tol = tol
        self.progress = progress

    def _fit(self, labels: Annotations) -> None:
        one_of(self.class_prior, ("learned", "uniform"), "class_prior")
        answers = class_answers(labels)
        shape = len(labels.items), labels.n_classes
        spread = Spread(float(self.ability_spread), float(self.easiness_spread))
        if not min(spread) > 0:
            raise InputError(
                f"ability_spread={self.ability_spread} and easiness_spread="
                f"{self.easiness_spread} are standard deviations: above 0."
            )

        def update(state: State) -> tuple[State, dict[str, float]]:
            right = state.proba[answers.item, answers.label]
            params = better_params(state.params, right, answers, spread)
            log_class = np.log(self._class_prior(state.proba))
            evidence = evidence_per_item(logits(params, answers), answers, shape)
            joint = crowd.clamped(evidence + log_class, labels.gold_codes)
            proba, log_likelihood = crowd.posterior(joint)
            terms = {
                "log_likelihood": float(log_likelihood.sum()),
                "log_prior": log_prior(params, spread)
                + SMOOTHING * float(log_class.sum()),
            }
            return State(proba, params), {**terms, "bound": sum(terms.values())}

        votes = labels.counts()[:, : labels.n_classes]
        average = Params(
            np.full(len(labels.annotators), MEAN_ABILITY), np.zeros(len(labels.items))
        )
        start = State(crowd.vote_proba(votes, labels.gold_codes), average)
        tol = None if self.tol is None else self.tol * max(len(answers.item), 1)
        with Trace("GLAD", self.max_iter, self.progress) as trace:
            end = climb(update, start, trace=trace, max_iter=self.max_iter, tol=tol)
        self._remember(labels, end)
        self.trace_ = trace.frame()

    def _remember(self, labels: Annotations, end: State) -> None:
        n_answers = len(labels.answers)
        self.label_proba_ = end.proba
        self.class_prior_ = self._class_prior(end.proba)
        self.ability_ = end.params.ability
        self.easiness_ = np.exp(end.params.log_easiness)
        self.annotator_prior_ = np.ones((1, labels.n_classes, n_answers))
        counts = crowd.soft_counts(answer_matrix(labels), end.proba, n_answers)
        self.confusion_counts_ = self.annotator_prior_ + counts

    def _class_prior(self, proba: Float[np.ndarray, "N C"]) -> Array:
        mass = proba.sum(0) + SMOOTHING
        if self.class_prior == "uniform":
            mass = np.ones_like(mass)
        return mass / mass.sum()

    def predict_proba(self, annotations: Any) -> Array:
        """Return class probabilities of new items from their answers alone.

        A new item has the average log easiness of the training items, a new
        annotator the ability of the prior.
        """
        check_is_fitted(self)
        given = self._in_my_words(annotations)
        known = pd.Index(self.annotators_).get_indexer(pd.Index(given.annotators))
        ability = np.where(known < 0, MEAN_ABILITY, self.ability_[known])
        average = np.log(self.easiness_).mean()
        params = Params(ability, np.full(len(given.items), average))
        answers = class_answers(given)
        shape = len(given.items), len(self.classes_)
        evidence = evidence_per_item(logits(params, answers), answers, shape)
        return crowd.posterior(evidence + np.log(self.class_prior_))[0]
