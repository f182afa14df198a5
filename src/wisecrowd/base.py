"""What every method promises: one posterior of labels, one of every annotator."""

from abc import ABC, abstractmethod
from os import PathLike
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from wisecrowd._checks import InputError, listed
from wisecrowd._types import Array, Gold
from wisecrowd.data.annotations import Annotations
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.maths.dependence import weight_per_item

# Not typing.Self: beartype, which checks shapes in tests, refuses it on a method.
AnyAggregator = TypeVar("AnyAggregator", bound="Aggregator")
AnyClassifier = TypeVar("AnyClassifier", bound="CrowdClassifier")

TOGETHER = 2.0  # labels that share annotators are wrong together: see docs/choosing.md
SPAMMER_PRIOR = 0.1  # share of spammers before any answer is seen; stated in the docs


def as_annotations(labels: Any, gold: Gold | None = None) -> Annotations:
    """Annotations from whatever a user hands in, with the gold classes to use.

    Parameters
    ----------
    labels : Annotations, DataFrame, (N, A) matrix or 1-D target
        A DataFrame is a long table; a one-dimensional target is one annotator who
        answered every item.
    gold : dict or Series, optional
        Item to class. Gold that came with a file is used only when it is passed,
        ``gold=labels.gold``.
    """
    if not isinstance(labels, Annotations):
        labels = _make_annotations(labels)
    labels = labels.with_gold(gold if gold is not None else {})
    if labels.n_classes < 2:
        raise InputError(
            f"there is only one class, {listed(labels.classes)}: nothing is left to "
            f"decide. Name the classes that were possible with classes=[...]."
        )
    return labels


def _make_annotations(labels: Any) -> Annotations:
    if isinstance(labels, pd.DataFrame):
        return Annotations.from_frame(labels)
    if isinstance(labels, dict):
        return Annotations.from_dict(labels)
    if isinstance(labels, str | PathLike):
        raise InputError(
            f"{str(labels)!r} is text, not answers. If it is a file, read it first: "
            f"wisecrowd.read_annotations({str(labels)!r})."
        )
    table = np.asarray(labels)
    if not table.ndim:
        raise InputError(
            f"answers are Annotations, a long DataFrame, an items-by-annotators "
            f"matrix or {{item: {{annotator: label}}}}, not a {type(labels).__name__}."
        )
    if table.ndim == 1 and len(table):
        return Annotations.from_target(table)
    return Annotations.from_matrix(table)


def answer_matrix(labels: Annotations) -> crowd.AnswerMatrix:
    """Return the answers as one sparse matrix, items by (annotator, answer)."""
    shape = (len(labels.items), len(labels.annotators), len(labels.answers))
    return crowd.answer_matrix(labels.item, labels.annotator, labels.label, shape)


class CrowdModel(BaseEstimator, ABC):
    """Labels of items and skills of annotators, however they were inferred.

    Attributes
    ----------
    classes_, answers_, annotators_, items_ : arrays
        The vocabularies; the classes are the first answers.
    label_proba_ : array (N, C)
        Probability of every class for every training item.
    labels_ : array (N,)
        The most probable class of every training item.
    class_prior_ : array (C,)
        How frequent the classes are.
    confusion_counts_ : array (A, C, K)
        Dirichlet concentrations of every annotator's rows: true class, answer.
    annotator_prior_ : array (1 or A, C, K)
        The concentrations before any answer, given or learned.
    n_labels_ : array (A,)
        How many answers each annotator gave.
    hit_variance_ : array (A,)
        Variance of how many of them are right, as the labels are not certain.
    trace_ : DataFrame
        One row a step: the terms of the bound, their total, seconds.
    """

    dependence_: float = 0.0  # of the answers on one item; learned by SVGPCR

    def _remember_vocabularies(self, labels: Annotations) -> None:
        self.classes_ = labels.classes
        self.answers_ = labels.answers
        self.annotators_ = labels.annotators
        self.items_ = labels.items
        self.n_labels_ = np.bincount(labels.annotator, minlength=len(labels.annotators))

    def _remember_doubt(self, labels: Annotations) -> None:
        """Keep how uncertain it is which answers were right; after label_proba_."""
        n_others = len(labels.answers) - labels.n_classes  # such answers are not right
        proba = np.pad(self.label_proba_, ((0, 0), (0, n_others)))
        self.hit_variance_ = crowd.hit_variance(
            labels.annotator, proba[labels.item, labels.label], len(labels.annotators)
        )

    @property
    def labels_(self) -> Array:
        """The most probable class of every training item."""
        return self.classes_[self.label_proba_.argmax(1)]

    @property
    def confusion_(self) -> Array:
        """Posterior mean of the confusion matrices, (A, C, K); rows sum to one."""
        return dirichlet.mean(self.confusion_counts_)

    def confusion_interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the central credible interval of every entry, two (A, C, K) arrays."""
        check_is_fitted(self)
        _check_level(level)
        return dirichlet.interval(self.confusion_counts_, level)

    def annotator_summary(self, level: float = 0.95) -> pd.DataFrame:
        """Return one row an annotator: how good, how sure, and whether to worry.

        Columns
        -------
        annotator, n_labels
            Who, and how many answers.
        accuracy, low, high
            Probability of a right answer on items such as those that the annotator
            saw, with its credible interval.
        informativeness
            Share of the truth's uncertainty that one answer removes: 0 for a spammer,
            1 for an oracle and also for a perfect adversary.
        spammer
            Probability that the answers do not depend on the truth.
        adversarial
            Probability that the answers do depend on the truth, with an accuracy below
            chance, 1 / C.
        """
        check_is_fitted(self)
        _check_level(level)
        weights = self.class_prior_
        hits, misses = dirichlet.doubtful_beta(
            *dirichlet.hits_and_misses(
                self.confusion_counts_, self.annotator_prior_, weights
            ),
            TOGETHER * self.hit_variance_,
        )
        low, high = dirichlet.beta_interval(hits, misses, level)
        seen = self.confusion_counts_ - self.annotator_prior_
        # Whatever the prior of the fit: a flat one expects no skill of anybody, and one
        # learned from a crowd with spammers expects spammers.
        n_classes, n_answers = seen.shape[1], seen.shape[2]
        skilled = crowd.diagonal_prior(n_classes, n_answers, 4.0, 1.0)[None]
        odds = dirichlet.log_odds_of_one_row(seen, skilled)
        spammer = expit(odds + logit(SPAMMER_PRIOR))
        information = dirichlet.mutual_information(self.confusion_, weights)
        uncertainty = float(crowd.entropy(weights)) or 1.0  # 0: nothing to remove
        below_chance = dirichlet.beta_below(hits, misses, 1 / n_classes)
        return pd.DataFrame(
            {
                "annotator": self.annotators_,
                "n_labels": self.n_labels_,
                "accuracy": hits / (hits + misses),
                "low": low,
                "high": high,
                "informativeness": information / uncertainty,
                "spammer": spammer,
                "adversarial": (1 - spammer) * below_chance,
            }
        )

    def _evidence(self, annotations: Any) -> tuple[Array, Array]:
        """Return what answers say about new items, in my classes, and its weight.

        Given its class and everyone's skill the answers of a new item are independent,
        so the mean confusion is exact, or weigh less; a new annotator has the prior's.
        """
        given = self._in_my_words(annotations)
        prior = self.annotator_prior_.mean(0)
        tables = np.concatenate([self.confusion_counts_, prior[None]])
        known = pd.Index(self.annotators_).get_indexer(pd.Index(given.annotators))
        shape = (len(given.items), len(tables), len(self.answers_))
        who = known[given.annotator]  # -1, a new annotator, is the last table
        who = np.where(who < 0, len(tables) - 1, who)
        answers = crowd.answer_matrix(given.item, who, given.label, shape)
        said = crowd.evidence_per_item(answers, np.log(dirichlet.mean(tables)))
        return said, weight_per_item(answers, self.dependence_)

    def _in_my_words(self, annotations: Any) -> Annotations:
        if not isinstance(annotations, Annotations):
            annotations = _make_annotations(annotations)
        return annotations.recoded(classes=self.classes_, answers=self.answers_)


class Aggregator(CrowdModel):
    """A method that needs no features: labels from answers alone."""

    def fit(
        self: AnyAggregator, labels: Any, *, gold: Gold | None = None
    ) -> AnyAggregator:
        """Learn the labels of all items and the skill of all annotators.

        Parameters
        ----------
        labels : Annotations, DataFrame (long), or (N, A) matrix
            The answers.
        gold : dict or Series, optional
            Classes that are known for certain, used inside the fit.
        """
        annotations = as_annotations(labels, gold)
        self._remember_vocabularies(annotations)
        self._fit(annotations)
        self._remember_doubt(annotations)
        return self

    @abstractmethod
    def _fit(self, labels: Annotations) -> None: ...

    def fit_predict(self, labels: Any, *, gold: Gold | None = None) -> Array:
        """Fit, and return the most probable class of every item."""
        return self.fit(labels, gold=gold).labels_

    def fit_predict_proba(self, labels: Any, *, gold: Gold | None = None) -> Array:
        """Fit, and return the probability of every class for every item."""
        return self.fit(labels, gold=gold).label_proba_

    def predict_proba(self, annotations: Any) -> Array:
        """Return class probabilities of new items from their answers alone.

        Annotators who were not there at the fit are taken at the prior.
        """
        check_is_fitted(self)
        said, weight = self._evidence(annotations)
        return crowd.posterior(weight * (said + np.log(self.class_prior_)))[0]

    def predict(self, annotations: Any) -> Array:
        """Return the most probable class of new items from their answers alone."""
        return self.classes_[self.predict_proba(annotations).argmax(1)]


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"level={level!r} is not between 0 and 1, such as 0.95.")


class CrowdClassifier(ClassifierMixin, CrowdModel):
    """A method with features: labels of the items at hand, and of new ones."""

    def fit(
        self: AnyClassifier,
        X: Any,
        y: Any,
        *,
        items: Any = None,
        gold: Gold | None = None,
    ) -> AnyClassifier:
        """Learn labels, annotators and a classifier together.

        Parameters
        ----------
        X : array or DataFrame (N, D)
            Features, one row an item. Items without an answer are welcome.
        y : Annotations, DataFrame (long), (N, A) matrix or 1-D target
            The answers. A one-dimensional target is one annotator.
        items : sequence of length N, optional
            The ids of the rows of X. Default: a DataFrame's index, else row numbers.
        gold : dict or Series, optional
            Classes that are known for certain, used inside the fit.
        """
        features = checked_features(self, X, reset=True)
        ids = row_ids(X, items, len(features))
        labels = as_annotations(joined(y, ids), gold)
        self._remember_vocabularies(labels)
        self._fit(features, labels)
        return self

    @abstractmethod
    def _fit(self, X: Array, labels: Annotations) -> None: ...

    @abstractmethod
    def _predict_proba(self, X: Array) -> Array: ...

    def predict_proba(
        self, X: Any, annotations: Any = None, *, items: Any = None
    ) -> Array:
        """Return class probabilities of new items, with their answers if given.

        Parameters
        ----------
        X : array or DataFrame (n, D)
            Features of the new items.
        annotations : Annotations, DataFrame or (n, A) matrix, optional
            Answers on some of them; annotators who were not there at the fit are taken
            at the prior.
        items : sequence of length n, optional
            The ids of the rows of X, to join the annotations.
        """
        check_is_fitted(self)
        features = checked_features(self, X, reset=False)
        ids = row_ids(X, items, len(features))
        proba = self._predict_proba(features)
        if annotations is None:
            return proba
        said, weight = self._evidence(joined(annotations, ids))
        with np.errstate(divide="ignore"):
            return crowd.posterior(np.log(proba) + weight * said)[0]

    def predict(self, X: Any, annotations: Any = None, *, items: Any = None) -> Array:
        """Return the most probable class of new items."""
        proba = self.predict_proba(X, annotations, items=items)
        return self.classes_[proba.argmax(1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the answers that name the predicted class.

        Against the true classes that is the accuracy. Against the answers of a crowd
        it ranks models as the accuracy would, if annotators err independently of the
        features, and so works where nothing is known for certain.

        Parameters
        ----------
        X : array or DataFrame (n, D)
            Features of the items.
        y : 1-D target, (n, A) matrix, Annotations or long DataFrame
            The true classes, or the answers; those that are missing do not count.
        sample_weight : sequence of length n, optional
            How much the answers on each item count.

        Examples
        --------
        To choose settings by the classes that are known for certain, give
        ``GridSearchCV`` a DataFrame, whose index leads a scorer to them::

            def against_gold(model, X, answers):
                return model.score(X, gold.reindex(X.index))

            GridSearchCV(SVGPCR(), grid, scoring=against_gold).fit(X, answers)
        """
        predicted = self.predict(X)
        rows, said = _answers_by_row(y, row_ids(X, None, len(predicted)))
        if not len(rows):
            raise InputError("there is no answer to compare the predictions with.")
        weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
        return float(np.average(said == predicted[rows], weights=weights))


def _answers_by_row(y: Any, ids: Any) -> tuple[Array, Array]:
    """Return the row of every answer, and the answer; missing ones are left out."""
    if isinstance(y, Annotations | pd.DataFrame | dict) or np.ndim(y) != 1:
        answers = joined(y, ids)
        return answers.item, answers.answers[answers.label]
    target = checked_target(y, len(ids))
    rows = np.flatnonzero(~pd.isna(target))
    return rows, target[rows]


def joined(y: Any, ids: Any) -> Annotations:
    """Return the answers on the rows of X: by id, or row by row if they have none."""
    if isinstance(y, Annotations | pd.DataFrame | dict):
        return (y if isinstance(y, Annotations) else _make_annotations(y)).align(ids)
    return _make_annotations(checked_target(y, len(ids))).with_items(ids)


def row_ids(X: Any, items: Any, n_items: int) -> Any:
    """Return the ids of the rows: given, a DataFrame's index, or their numbers."""
    if items is None:
        return X.index if isinstance(X, pd.DataFrame) else np.arange(n_items)
    if len(items) != n_items:
        raise InputError(
            f"items= names {len(items)} rows, but X has {n_items}. Give one id a row."
        )
    return items


def checked_features(model: BaseEstimator, X: Any, *, reset: bool) -> Array:
    """Return the features as a finite (N, D) array, or say which entry is not."""
    table: Array = validate_data(
        model,
        X,
        reset=reset,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=2 if reset else 1,
    )
    bad = ~np.isfinite(table)
    if bad.any():
        row, column = (int(i[0]) for i in np.nonzero(bad))
        what = "NaN" if np.isnan(table[row, column]) else "infinity"
        raise InputError(
            f"X contains {what}: {int(bad.sum())} entries of {table.size} are NaN or "
            f"infinite, the first in row {row}, column {column}. Fill them in, or "
            f"leave those items out."
        )
    return table


def checked_target(y: Any, n_items: int) -> Array:
    """Return a target or a matrix of answers that has a row for each item."""
    if y is None:
        raise InputError(
            "this method requires y to be passed, but the target y is None: give "
            "Annotations, a long DataFrame, an (N, A) matrix or a 1-D target."
        )
    target = np.asarray(y)
    if not target.ndim or len(target) != n_items:
        n = len(target) if target.ndim else 1
        raise InputError(
            f"X and the labels have inconsistent numbers of samples: X has {n_items} "
            f"rows, the labels {n}. To join by id pass Annotations and items=."
        )
    return target
