"""CrowdEM: any classifier of scikit-learn, learned from the answers of a crowd.

Two steps in turn: a clone of the classifier predicts every item without having seen
its label (K folds), and the pool makes labels from the predictions and the answers.
"""

from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any

import numpy as np
from threadpoolctl import threadpool_limits

from wisecrowd._checks import InputError, random_numbers, whole_number
from wisecrowd._records import NOT_NEGATIVE
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.base import CrowdClassifier, Learned, WithConfusionMatrices, WithPool
from wisecrowd.fit.consensus import MAX_ITERATIONS, agreed, in_rounds
from wisecrowd.fit.soft_labels import check_estimator, learned_from, out_of_fold
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd
from wisecrowd.maths.pool import (
    bounded_log,
    exponent_for_new,
    with_predictions,
)
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import ConfusionMatrices

__all__ = ["CrowdEM"]


@dataclass(eq=False, repr=False)
class CrowdEM(WithPool, WithConfusionMatrices, CrowdClassifier):
    """A classifier of your own, learned from the answers of a crowd.

    Parameters
    ----------
    estimator : classifier or None
        A classifier of scikit-learn with predict_proba, such as LogisticRegression, a
        Pipeline or gradient boosting. It is cloned, never changed. Soft labels are
        passed as weights, or by repeating rows if it takes no sample_weight. None: a
        multinomial regression with the prior of :class:`Raykar`.
    n_rounds : int
        Rounds of predictions, then labels. From the second round on, the annotators
        are learned from the labels of the round before, as far as the features explain
        the classes.
    n_folds : int
        Parts of the items. Each part is predicted by a classifier that was learned from
        the others.
    annotator_prior : "learned", "flat", "diagonal", array or mapping
        Dirichlet concentrations of the annotators' rows; see :class:`BCC`.
    dependence : "learn" or float
        The correlation of the mistakes of two answers on one item; see :class:`BCC`.
        0: annotators are independent.
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
    no pickles. The trace has one row per iteration of :class:`Consensus`, where it
    begins.

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

    estimator: Any = None
    _: KW_ONLY
    n_rounds: int = 3
    n_folds: int = 5
    annotator_prior: Any = "learned"
    dependence: float | int | str = "learn"
    random_state: Any = 0
    progress: bool | None = None
    sharpness_: Annotated[float, NOT_NEGATIVE] = field(init=False)

    method = MethodInfo(
        name="crowd-em",
        needs="features",
        learns="a distribution of confusion matrices, while any classifier of "
        "scikit-learn learns the classes",
    )

    def set_params(self, **params: Any) -> "CrowdEM":
        """Set settings; those of the classifier are ``estimator__NAME``."""
        inner = [name for name in params if name.startswith("estimator__")]
        if inner and params.get("estimator", self.estimator) is None:
            raise InputError(
                f"{inner[0]} cannot be set: CrowdEM has no classifier of its own. Give "
                f"it one, such as CrowdEM(LogisticRegression())."
            )
        super().set_params(**params)
        return self

    @property
    def estimator_(self) -> Any:
        """The fitted classifier."""
        found = self.learned_.classifier
        return getattr(found, "estimator", found)

    def _fit(self, X: Array, annotations: Annotations) -> tuple[Learned, Trace]:
        check_estimator(self.estimator)
        self._check_dependence()
        whole_number(self.n_rounds, "n_rounds")
        whole_number(self.n_folds, "n_folds", least=2)
        answers, gold = annotations.codes, annotations.gold_codes
        before = ConfusionMatrices.before_answers(
            self.annotator_prior, annotations.annotators, *answers.shape[2:]
        )
        rng = np.random.RandomState(
            random_numbers(self.random_state).randint(2**31 - 1)
        )
        fold = rng.permutation(len(X)) % min(int(self.n_folds), len(X))
        # As in fit/em.py: threads of BLAS would mostly wait for one another.
        with (
            Trace("CrowdEM", MAX_ITERATIONS, self.progress) as trace,
            threadpool_limits(1, user_api="blas"),
        ):
            first = agreed(answers, gold, before, max_iter=MAX_ITERATIONS, trace=trace)
            end, alone = in_rounds(
                answers, gold, first, self.dependence,
                lambda proba: bounded_log(out_of_fold(self.estimator, X, proba, fold)),
                int(self.n_rounds),
            )  # fmt: skip
            classifier = learned_from(self.estimator, X, end.proba)
        self.sharpness_ = exponent_for_new(alone, end)
        end = with_predictions(end, answers, gold, self.sharpness_ * alone)
        skills = first.skills.with_labels(answers, end)
        return Learned.of(end, end.proba.mean(0), skills, classifier), trace

    def _predict_proba(self, X: Array) -> Array:
        said = bounded_log(self.learned_.classifier.proba(X))
        return crowd.posterior(self.sharpness_ * said)[0]
