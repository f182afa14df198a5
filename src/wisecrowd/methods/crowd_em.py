"""CrowdEM: any classifier of scikit-learn, learned from the answers of a crowd.

Two steps in turn: a clone of the classifier predicts every item without having seen
its label (K folds), and the predictions are combined with the answers as one more
witness, with a fitted sharpness, which gives labels and annotators. The labels of every
round are made as in BCC and SVGPCR: dependent answers, hard items, leave-one-out.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from wisecrowd._checks import random_numbers, whole_number
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.base import (
    CrowdClassifier,
    Learned,
    WithConfusionMatrices,
    WithHardItems,
)
from wisecrowd.fit.ending import (
    Ended,
    Known,
    ended,
    exponents_for_labels,
    known_again,
    learned_again,
    set_by_gold,
    with_predictions,
)
from wisecrowd.fit.soft_labels import check_estimator, learned_from, out_of_fold
from wisecrowd.fit.trace import Trace
from wisecrowd.fit.variational import CLASS_PRIOR, of_answers_alone
from wisecrowd.fit.witness import (
    FROM_NOTHING,
    beyond_shares,
    bounded_log,
    heard,
    log_likelihood,
)
from wisecrowd.maths import crowd
from wisecrowd.maths.dependence import checked_dependence
from wisecrowd.registry import MethodInfo

__all__ = ["CrowdEM"]

MAX_START = 200  # iterations of BCC before the first round


def exponent_of_predictions(
    known: Known, end: Ended, alone: Float[np.ndarray, "N C"]
) -> float:
    """Return the exponent of predictions for new items.

    The geometric mean of those that suit the final labels and the answers alone: a
    classifier of any kind may be far too sure, or far too modest.
    """
    exponent = float(np.sqrt(np.prod(exponents_for_labels(known, end, alone))))
    return set_by_gold(exponent, known, end, alone)


def likelihood_of(known: Known, skills: Any) -> float:
    """Return the log-likelihood of the answers, each item's own part left out."""
    said = skills.evidence_of_others(known.answers, known.proba)
    log_prior = known.log_class + known.sharpness * known.beyond
    return float(log_likelihood(log_prior, said).sum())


class CrowdEM(WithHardItems, WithConfusionMatrices, CrowdClassifier):
    """A classifier of your own, learned from the answers of a crowd.

    Parameters
    ----------
    estimator : classifier or None
        A classifier of scikit-learn with predict_proba, such as LogisticRegression, a
        Pipeline or gradient boosting. It is cloned, never changed. Soft labels are
        passed as weights, or by repeating rows if it takes no sample_weight. None: a
        multinomial regression with the prior of :class:`Raykar`.
    n_rounds : int
        Rounds of predictions, then labels and annotators. From the second round on,
        classifier and annotators are learned from the final labels of the round before,
        as far as the features explain the classes.
    n_folds : int
        Parts of the items. Each part is predicted by a classifier that was learned from
        the others.
    annotator_prior : "learned", "flat", "diagonal", array or mapping
        Dirichlet concentrations of the annotators' rows; see :class:`BCC`.
    dependence : "learn" or float
        The correlation ρ, given the class, of two answers on one item; see
        :class:`BCC`. 0: annotators are independent.
    random_state : int, RandomState or None
        Seed of the folds.
    progress : bool or None
        Whether to draw a progress bar. None: on a terminal.

    Attributes
    ----------
    estimator_ : object
        The fitted classifier, learned from all items: of scikit-learn, with codes of
        the classes as its classes, or a record if `estimator` is None.
    sharpness_ : float
        The exponent of predictions for new items. It calibrates predictions for the
        training items by classifiers that have not seen their labels.
    n_features_in_ : int
        Number of features at the fit.
    feature_names_in_ : array
        Their names, where X was a DataFrame.

    Notes
    -----
    A model with an `estimator` of your own cannot be saved by ``wc.save``, which writes
    no pickles. The trace has one row per round; its bound is the log-likelihood of the
    answers, given predictions and skills that have not seen them, and may fall.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 200)
    >>> X = truth[:, None] + 0.3 * rng.normal(size=(200, 2))
    >>> wrong = rng.random((200, 3)) < [0.1, 0.3, 0.5]  # three annotators
    >>> answers = np.where(wrong, 1 - truth[:, None], truth[:, None])
    >>> model = CrowdEM(GaussianNB()).fit(X, answers)
    >>> bool((model.labels_ == truth).mean() > 0.95)
    True
    >>> model.predict([[0.0, 0.0], [1.0, 1.0]]).tolist()
    [0, 1]
    """

    method = MethodInfo(
        name="crowd-em",
        needs="features",
        learns="as BCC, while any classifier of scikit-learn learns the classes",
    )

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_rounds: int = 3,
        n_folds: int = 5,
        annotator_prior: Any = "learned",
        dependence: float | int | str = "learn",
        random_state: Any = 0,
        progress: bool | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_rounds = n_rounds
        self.n_folds = n_folds
        self.annotator_prior = annotator_prior
        self.dependence = dependence
        self.random_state = random_state
        self.progress = progress

    @property
    def estimator_(self) -> Any:
        """The fitted classifier."""
        found = self.learned_.classifier
        return getattr(found, "estimator", found)

    def _fit(self, X: Array, annotations: Annotations) -> tuple[Learned, Trace]:
        check_estimator(self.estimator)
        checked_dependence(self.dependence)
        whole_number(self.n_rounds, "n_rounds")
        whole_number(self.n_folds, "n_folds", least=2)
        answers, gold = annotations.codes, annotations.gold_codes
        rng = np.random.RandomState(
            random_numbers(self.random_state).randint(2**31 - 1)
        )
        fold = rng.permutation(len(X)) % min(int(self.n_folds), len(X))
        proba, skills = of_answers_alone(
            annotations, self.annotator_prior, MAX_START, CLASS_PRIOR
        )
        # As in fit/em.py: threads of BLAS would mostly wait for one another.
        with (
            Trace("CrowdEM", self.n_rounds, self.progress) as trace,
            threadpool_limits(1, user_api="blas"),
        ):
            for number in range(self.n_rounds):
                alone = bounded_log(out_of_fold(self.estimator, X, proba, fold))
                beyond = beyond_shares(alone)
                if number == 0:
                    found = heard(
                        answers, gold, beyond, proba, skills, rng, bounds=FROM_NOTHING
                    )
                    skills = found.skills
                    known = first = Known.of_features(answers, gold, beyond, found)
                else:
                    known = known_again(known, proba, skills, beyond, rng, FROM_NOTHING)
                end = ended(known, skills, self.dependence, rng)
                trace.record(
                    sharpness=known.sharpness, bound=likelihood_of(known, skills)
                )
                proba, skills = learned_again(first, known, end)
            classifier = learned_from(self.estimator, X, end.proba)
        self.sharpness_ = exponent_of_predictions(known, end, alone)
        proba = with_predictions(end.proba, known, self.sharpness_, alone)
        skills = end.skills.with_statistics(crowd.soft_counts(answers, proba))
        skills = skills.with_doubt(answers, proba)
        learned = Learned(
            proba, proba.mean(0), skills, classifier,
            end.calibration, end.labels.hard,
        )  # fmt: skip
        return learned, trace

    def _predict_proba(self, X: Array) -> Array:
        said = bounded_log(self.learned_.classifier.proba(X))
        return crowd.posterior(self.sharpness_ * said)[0]
