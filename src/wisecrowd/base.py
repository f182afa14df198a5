"""What every method promises: labels of items and skills of annotators."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from wisecrowd._checks import InputError, counted, listed
from wisecrowd._records import NOT_NEGATIVE, SHARES, Limits, Sizes, record
from wisecrowd._shown import IN_MEMORY, Shown
from wisecrowd._types import Array, Gold
from wisecrowd.annotations import Annotations
from wisecrowd.annotations.sizes import check_memory, check_no_free_text
from wisecrowd.annotations.tables import (
    as_array,
    as_frame,
    has_columns,
    is_indexed,
    is_long_table,
    series_frame,
    triples_in,
)
from wisecrowd.annotations.vocabulary import positions
from wisecrowd.feature_source import (
    FeatureSource,
    checked_features,
    checked_target,
    n_rows,
    row_ids,
)
from wisecrowd.fit.collapse import said_of_lost
from wisecrowd.fit.em import FEW, Steps, climb, least_gain, threads_for
from wisecrowd.fit.trace import Trace
from wisecrowd.io.read import platform_of
from wisecrowd.maths import crowd, pool
from wisecrowd.maths.pool import Pool, Pooled, Witnesses
from wisecrowd.metrics.calibration import Calibration
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import ConfusionMatrices, SeeingSkills, Skills, Votes

# Not typing.Self: beartype, which checks shapes in tests, refuses it on a method.
AnyAggregator = TypeVar("AnyAggregator", bound="Aggregator")
AnyClassifier = TypeVar("AnyClassifier", bound="CrowdClassifier")
AnyPublished = TypeVar("AnyPublished", bound="Published")


@record
class Learned(NamedTuple):
    """All that a fit learns, and what a file keeps.

    Only `proba` grows with the number of items.

    Attributes
    ----------
    proba : array (N, C)
        Probability of every class for every training item.
    class_prior : array (C,)
        How frequent the classes are.
    skills : Skills
        The model of the annotators.
    classifier : record or None
        What predicts the class from features, where the method has features.
    calibration : Calibration or None
        How right and how sure the labels are, estimated from the gold of the fit.
    pool : Pool or None
        How much each witness counts in the labels; None for published posteriors.
    witnesses : Witnesses or None
        What the labels were made from; large, so a model keeps it in memory only.
    """

    proba: Annotated[Float[np.ndarray, "N C"], SHARES]
    class_prior: Annotated[Float[np.ndarray, " C"], SHARES]
    skills: Annotated[Any, Skills]
    classifier: Any = None
    calibration: Calibration | None = None
    pool: Pool | None = None
    witnesses: Witnesses | None = None

    @classmethod
    def of(
        cls, found: Pooled, class_prior: Array, skills: Any, classifier: Any = None
    ) -> "Learned":
        """Return what was learned, with labels from the pool."""
        return cls(
            class_prior=class_prior,
            skills=skills,
            classifier=classifier,
            **found._asdict(),
        )


def as_annotations(
    answers: Any, gold: Gold | None = None, **columns: str | None
) -> Annotations:
    """Annotations from whatever a user hands in, with the gold classes to use.

    Parameters
    ----------
    answers : Annotations, table, triples, (N, A) matrix or 1-D target
        Whatever has columns (pandas, polars, pyarrow, ...) is a long table; triples are
        (item, annotator, answer); a one-dimensional target is one annotator who
        answered every item.
    gold : dict or Series, optional
        Item to class. Gold that came with a file is used only when it is passed,
        ``gold=answers.gold``.
    **columns : str
        The columns item, annotator and answer of a long table, if they do not have
        usual names.
    """
    made = made_annotations(answers, **columns)
    made = made.with_gold(gold if gold is not None else {})
    check_no_free_text(made)
    if made.n_classes < 2:
        only = (
            f"only one class, {listed(made.classes)}" if made.n_classes else "no class"
        )
        raise InputError(
            f"there is {only}: nothing is left to decide. Name the classes that were "
            f"possible with classes=[...]."
        )
    return made


def made_annotations(answers: Any, **columns: str | None) -> Annotations:
    """Return Annotations from a table, triples, a matrix, a dictionary or a target.

    Whatever has columns is a long table: of pandas, polars, pyarrow or another library.
    So is a Series with an index of item and annotator.
    """
    if is_indexed(answers):
        answers = series_frame(answers)
    if has_columns(answers):
        return _from_columns(as_frame(answers), **columns)
    named = [f"{role}={name!r}" for role, name in columns.items() if name is not None]
    if named:
        raise InputError(
            f"{named[0]} names a column of a long table, and the answers are a "
            f"{type(answers).__name__}."
        )
    if isinstance(answers, Annotations):
        return answers
    if isinstance(answers, dict):
        return Annotations.from_dict(answers)
    if isinstance(answers, str | PathLike):
        raise InputError(
            f"{str(answers)!r} is text, not answers. If it is a file, read it first: "
            f"wisecrowd.read_annotations({str(answers)!r})."
        )
    triples = triples_in(answers)
    if triples is not None:
        return Annotations.from_triples(*triples)
    table = as_array(answers)
    if not table.ndim:
        raise InputError(
            f"answers are Annotations, a long DataFrame, an items-by-annotators "
            f"matrix or {{item: {{annotator: answer}}}}, not a "
            f"{type(answers).__name__}."
        )
    if table.ndim == 1 and len(table):
        return Annotations.from_target(table)
    return Annotations.from_matrix(table)


def _from_columns(frame: pd.DataFrame, **columns: str | None) -> Annotations:
    """Return the answers of a long table; refuse an export, which is more than that."""
    platform = platform_of(frame.columns)
    if platform is not None and columns.get("answer") is None:
        raise InputError(
            f"this table is an export ({platform}), with several questions, rejected "
            f"or repeated rows. Read its file, wisecrowd.read_annotations(path), or "
            f"name the columns of a long table with item=, annotator= and answer=."
        )
    return Annotations.from_frame(frame, **columns)


def answers_of_rows(y: Any, ids: Any, **columns: str | None) -> Annotations:
    """Return the answers over the rows of X, whose ids these are, in their order."""
    if not _names_items(y):
        return made_annotations(checked_target(y, len(ids))).with_items(ids)
    made = made_annotations(y, **columns)
    try:
        return made.align(ids)
    except InputError as error:
        if "features" not in str(error):
            raise
        raise InputError(
            f"{error} Rows of X are named by items=, or by the index of a DataFrame; "
            f"otherwise they are items 0, 1, 2, ..."
        ) from None


def _names_items(y: Any) -> bool:
    """Return whether these answers name their items, so that they are joined by id.

    A matrix and a target do not: their rows are those of X.
    """
    named = isinstance(y, Annotations | dict) or has_columns(y) or is_indexed(y)
    return named or triples_in(y) is not None


class CrowdModel(Shown, BaseEstimator, ABC):
    """Labels of items and skills of annotators, however they were inferred.

    Attributes
    ----------
    classes_, answers_, annotators_, items_ : arrays
        The vocabularies; the classes are the first answers.
    learned_ : Learned
        All that was learned, one record; the attributes below are parts of it.
    label_proba_ : array (N, C)
        Probability of every class for every training item.
    labels_ : array (N,)
        The most probable class of every training item.
    class_prior_ : array (C,)
        How frequent the classes are.
    confusion_ : array (A, C, K)
        Confusion matrices: annotator, true class, answer; rows sum to one.
    n_answers_ : array (A,)
        How many answers each annotator gave.
    dependence_ : float
        The correlation of the mistakes of two answers on one item, where the method
        has one; else 0.
    worth_ : float
        How many independent answers the answers of an average item are worth.
    worth_interval_ : tuple of float
        Its 90 % interval.
    calibration_ : Calibration or None
        How right and how sure the labels are, estimated from the gold of the fit.
    trace_ : DataFrame
        One row per iteration, or per chunk of steps: the terms of the bound, seconds.
    """

    method: ClassVar[MethodInfo]
    per_item: ClassVar[tuple[str, ...]] = ()  # other attributes with a row per item
    copies: ClassVar[int] = 7  # of its largest table that a fit holds: was measured
    learned_: Learned
    trace_: pd.DataFrame
    n_answers_: Annotated[Int[np.ndarray, " A"], NOT_NEGATIVE]
    _gold_beside: Gold  # of the file of answers: it only tests the labels

    def _checked(
        self, answers: Any, gold: Gold | None, **columns: str | None
    ) -> Annotations:
        """Return the answers for a fit, for which there is enough memory."""
        made = made_annotations(answers, **columns)
        annotations = as_annotations(made, gold)
        check_memory(annotations, self.copies)
        self._gold_beside = made.gold if gold is None else {}  # IN_MEMORY
        return annotations

    def _learn(
        self,
        annotations: Annotations,
        fit: Callable[[Annotations, Any], Any],
        *,
        as_given: bool = False,
    ) -> None:
        """Fit to the items in the order of their names, and remember them as given.

        The answers of an item are in order too. So the order of the rows of a table,
        which sums and random draws would follow, changes nothing.

        Parameters
        ----------
        annotations : Annotations
            The answers.
        fit : function
            From the answers in order, and which rows these are, to what was learned
            and the trace.
        as_given : bool
            Whether the items stay in their order: that of files beyond memory.
        """
        annotations = replace(annotations, codes=annotations.codes.ordered())
        order = np.argsort(annotations.items, kind="stable")
        if as_given or (order[1:] > order[:-1]).all():
            learned, trace = fit(annotations, slice(None))
            self._remember(annotations, learned, trace)
            return
        in_order = annotations.subset(items=annotations.items[order])
        learned, trace = fit(in_order, order)
        self._remember(in_order, learned, trace)
        self.items_, back = annotations.items, np.argsort(order)
        proba = self.learned_.proba[back]
        self.learned_ = self.learned_._replace(proba=proba)
        for name in self.per_item:
            setattr(self, name, getattr(self, name)[back])

    def _check_file(self, sizes: Sizes) -> None:
        """Raise `Unfit` for what annotations of a model from a file do not say."""

    def _remember(self, annotations: Annotations, learned: Learned, trace: Any) -> None:
        """Set all fitted attributes: the only place where that happens."""
        lost = said_of_lost(
            annotations.codes, learned.proba, annotations.classes,
            has_prior=hasattr(self, "annotator_prior"),
        )  # fmt: skip
        if isinstance(self, WithPool) and learned.pool is None:
            learned = self._with_pooled_labels(annotations, learned, lost=bool(lost))
            if lost and learned.pool is not None:
                lost += " The labels are therefore made from the answers alone."
        self.classes_ = annotations.classes
        self.answers_ = annotations.answers
        self.annotators_ = annotations.annotators
        self.items_ = annotations.items
        self.n_answers_ = annotations.codes.n_per_annotator
        self.learned_ = learned._replace(witnesses=None)
        self._given, self._witnesses = annotations, learned.witnesses  # IN_MEMORY
        self.trace_ = trace.frame()
        for said in [lost] * bool(lost) + self._stopped_early():
            warnings.warn(said, stacklevel=3)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: not the data of the fit."""
        state: dict[str, Any] = super().__getstate__()
        return {name: v for name, v in state.items() if name not in IN_MEMORY}

    @property
    def label_proba_(self) -> Array:
        """Probability of every class for every training item, (N, C).

        Use it for the training items instead of ``predict_proba``, which takes its
        items for new ones.
        """
        return self.learned_.proba

    @property
    def labels_(self) -> Array:
        """The most probable class of every training item."""
        return self.classes_[self.learned_.proba.argmax(1)]

    @property
    def class_prior_(self) -> Array:
        """How frequent the classes are, (C,)."""
        return self.learned_.class_prior

    @property
    def confusion_(self) -> Array:
        """Confusion matrices, (A, C, K): annotator, true class, answer."""
        return self._skills().confusion()

    @property
    def dependence_(self) -> float:
        """The correlation of the mistakes of two answers on one item; 0 without."""
        return 0.0 if self.learned_.pool is None else self.learned_.pool.dependence

    @property
    def worth_(self) -> float:
        """How many independent answers the answers of an average item are worth.

        Annotators make the same mistakes, so n answers are worth n / (1 + ρ (n − 1))
        independent ones. It is the mean number of answers per item where the method
        takes them as independent.
        """
        if self.learned_.pool is None:
            return float(self.n_answers_.sum() / max(len(self.items_), 1))
        return self.learned_.pool.worth(self.learned_.pool.dependence)

    @property
    def worth_interval_(self) -> tuple[float, float]:
        """The 90 % interval of `worth_`, as far as left-out answers show it."""
        if self.learned_.pool is None:
            return self.worth_, self.worth_
        low, high = self.learned_.pool.between
        return self.learned_.pool.worth(high), self.learned_.pool.worth(low)

    @property
    def calibration_(self) -> Calibration | None:
        """How right and how sure the labels are, by the gold that the fit was given.

        Every item with gold is predicted as if its class were not known. None without
        gold, and for methods that keep no estimate.
        """
        return self.learned_.calibration

    def _skills(self) -> Skills:
        skills: Skills = self.learned_.skills
        return skills

    def confusion_interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the central credible interval of every entry, two (A, C, K) arrays."""
        check_is_fitted(self)
        _check_level(level)
        return self._skills().interval(level)

    def annotator_summary(self, level: float = 0.95) -> pd.DataFrame:
        """Return one row per annotator: how good, how sure, and whether to worry.

        Returns
        -------
        DataFrame
            annotator, n_answers
                Who, and how many answers.
            accuracy, low, high
                Probability of a right answer on items such as those that the annotator
                saw, with its credible interval.
            informativeness
                Share of the class's uncertainty that one answer removes: 0 for a
                spammer, 1 for an annotator without errors and also for a perfect
                adversary.
            spammer
                Probability that the answers do not depend on the class.
            adversarial
                Probability that the answers do depend on the class, with an accuracy
                below chance, 1 / C.
        """
        check_is_fitted(self)
        _check_level(level)
        table = self._skills().summary(self.class_prior_, level)
        table.insert(0, "n_answers", self.n_answers_)
        table.insert(0, "annotator", self.annotators_)
        return table

    def known_annotators(self, annotations: Any) -> "pd.Series[bool]":
        """Return which annotators were there at the fit, by their names.

        Numbers and text are compared as text: 7 and "7" are the same person.

        Parameters
        ----------
        annotations : Annotations, DataFrame (long), or (n, A) matrix
            Answers to predict with.

        Examples
        --------
        >>> import wisecrowd as wc
        >>> model = wc.BCC().fit({"x": {1: 0, 2: 0}, "y": {1: 1, 2: 1}})
        >>> model.known_annotators({"z": {"1": 0, "guest": 1}}).to_dict()
        {'1': True, 'guest': False}
        """
        check_is_fitted(self)
        names = made_annotations(annotations).annotators
        return pd.Series(positions(names, self.annotators_) >= 0, index=names)

    def _posterior(
        self,
        annotations: Any,
        log_prior: Array,
        *,
        features: Any = None,
    ) -> Any:
        """Return class probabilities of new items, given their answers.

        An annotator who was not there at the fit is described by the prior. Skills that
        depend on the features of the items see them.
        """
        given = made_annotations(annotations)
        given = given.recoded(classes=self.classes_, answers=self.answers_)
        known = positions(given.annotators, self.annotators_)
        skills = self._skills().chosen(known)
        if isinstance(skills, SeeingSkills) and features is not None:
            if isinstance(features, FeatureSource):
                raise InputError(
                    f"{type(self).__name__} reads the features of items with answers "
                    f"at once. Give X in memory: wisecrowd.read_features(path)."
                )
            skills = skills.seeing(features)
        if (known < 0).mean() > 0.5 and not isinstance(skills, Votes):
            warnings.warn(
                f"{said_of_annotators(known >= 0)}. What the model knows about "
                f"annotators is not used for new ones. If they are the same people, "
                f"give them the names that they had at the fit, such as "
                f"{listed(self.annotators_, 2)}.",
                stacklevel=3,
            )
        shares = self.learned_.pool
        if shares is None:
            return skills.label_proba(given.codes, log_prior)
        return self._pooled(given.codes, skills, shares.of(known), log_prior)

    def _pooled(
        self, answers: Any, skills: Skills, shares: Pool, log_prior: Array
    ) -> Array:
        """Return class probabilities of new items from the pool.

        `log_prior` has one row for all items, or what a classifier says of each.
        """
        confusion = skills.confusion()
        log_class = np.log(self.class_prior_)
        totals = np.ones(confusion.shape[:2])
        if isinstance(skills, ConfusionMatrices):
            confusion = skills.counts
            totals = pool.row_totals(
                skills.counts, skills.prior, self.class_prior_, shares.selective
            )
        reading = pool.Reading(confusion, totals, log_class)
        if len(log_prior) == 1:
            return pool.labels_of_new(answers, reading, shares, None)
        # The pool's exponent is of predictions as they are, without their sharpness.
        beyond = (log_prior - log_class) / getattr(self, "sharpness_", 1.0)
        found = pool.labels_of_new(answers, reading, shares, beyond)
        answered = answers.n_per_item[:, None] > 0
        return np.where(answered, found, crowd.posterior(log_prior)[0])


def said_of_annotators(known: Any) -> str:
    """Return how many annotators were there at the fit, in words.

    Examples
    --------
    >>> said_of_annotators(np.array([True, True, False]))
    '3 annotators: 2 known, 1 new'
    """
    n, n_known = len(known), int(np.sum(known))
    return f"{counted(n, 'annotator')}: {n_known:,} known, {n - n_known:,} new"


class WithConfusionMatrices:
    """The attributes of methods whose skills are Dirichlet confusion matrices.

    Attributes
    ----------
    confusion_counts_ : array (A, C, K)
        Dirichlet concentrations of every annotator's rows: true class, answer.
    annotator_prior_ : array (1 or A, C, K)
        The concentrations before any answer, given or learned.
    """

    learned_: Learned

    @property
    def confusion_counts_(self) -> Array:
        """Dirichlet concentrations of every annotator's rows, (A, C, K)."""
        skills: ConfusionMatrices = self.learned_.skills
        return skills.counts

    @property
    def annotator_prior_(self) -> Array:
        """The concentrations before any answer, (1 or A, C, K)."""
        skills: ConfusionMatrices = self.learned_.skills
        return skills.prior


class WithKernel:
    """The attributes of methods with one squared-exponential kernel.

    Attributes
    ----------
    variance_, length_scale_ : float
        Of the kernel, for scaled features.
    """

    learned_: Learned

    @property
    def variance_(self) -> float:
        """The variance of the kernel."""
        return float(np.exp(self.learned_.classifier.log_variance))

    @property
    def length_scale_(self) -> float:
        """The length-scale of the kernel, in units of the scaled features."""
        return float(np.exp(self.learned_.classifier.log_scale))


class WithPool:
    """Methods whose labels are made by the pool.

    The pool (docs/theory.md) discounts answers whose mistakes are shared, and averages
    what the method says with the plain votes where the crowd gives reason to doubt it.
    """

    dependence: Any

    def _check_dependence(self) -> None:
        pool.checked_dependence(self.dependence)

    def _with_pooled_labels(
        self, annotations: Annotations, learned: Learned, *, lost: bool
    ) -> Learned:
        """Return what was learned, with labels from the pool.

        For methods that cannot leave an item's own part out: their own labels,
        discounted, are the witness. If these have lost a class, the answers are.
        """
        if self.dependence is None:
            return learned
        self._check_dependence()
        answers, gold = annotations.codes, annotations.gold_codes
        prior = crowd.diagonal_prior(*answers.shape[2:], 4.0, 1.0)[None]
        proba = crowd.vote_proba(answers.votes(), gold) if lost else learned.proba
        found = pool.pooled(
            answers, gold, proba, (prior,), self.dependence, own_labels=not lost
        )
        skills = learned.skills
        if isinstance(skills, ConfusionMatrices):
            skills = skills.with_labels(answers, found)
        if lost:
            learned = learned._replace(class_prior=found.proba.mean(0))
        return learned._replace(skills=skills, **found._asdict())


class LearnedByEM:
    """Methods that repeat the updates of a `Steps` until the bound stands still.

    Attributes
    ----------
    n_iter_ : int
        The number of iterations.
    """

    trace_: pd.DataFrame
    max_iter: Any
    tol: Any
    progress: bool | None

    @property
    def n_iter_(self) -> int:
        """The number of iterations."""
        return len(self.trace_)

    def _steps(self, *data: Any) -> Steps[Any]:
        """Return start, update and end for the answers, or features and answers."""
        raise NotImplementedError

    def _fit(self, *data: Any) -> tuple[Learned, Trace]:
        steps = self._steps(*data)
        end, trace = self._climbed(steps, type(self).__name__)
        return steps.learned(end), trace

    def _climbed(self, steps: Steps[Any], name: str) -> tuple[Any, Trace]:
        tol = least_gain(self.tol, len(steps.answers))
        threads, few = threads_for(steps.n_rows), steps.n_rows < FEW
        with threads, Trace(name, self.max_iter, self.progress) as trace:
            end = climb(
                steps.update, steps.start(), trace=trace, max_iter=self.max_iter,
                tol=tol, one_thread=few,
            )  # fmt: skip
        return end, trace


class Published(WithPool):
    """Methods of the literature: `dependence` None keeps the posterior of their own.

    ``as_published()`` is the method of the paper.
    """

    published: ClassVar[dict[str, Any]] = {"dependence": None}

    @classmethod
    def as_published(cls: type[AnyPublished], **settings: Any) -> AnyPublished:
        """Return the method of its paper, with the posterior of its own model."""
        return cls(**{**cls.published, **settings})

    def _check_dependence(self) -> None:
        if self.dependence is not None:
            super()._check_dependence()


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"level={level!r} is not between 0 and 1, such as 0.95.")


class Aggregator(CrowdModel):
    """A method that needs no features: labels from answers alone."""

    def fit(
        self: AnyAggregator,
        answers: Any,
        y: Any = None,
        *,
        gold: Gold | None = None,
        item: str | None = None,
        annotator: str | None = None,
        answer: str | None = None,
    ) -> AnyAggregator:
        """Learn the labels of all items and the skill of all annotators.

        Parameters
        ----------
        answers : Annotations, DataFrame (long), or (N, A) matrix
            The answers.
        y : None
            Not used: this method learns from answers alone.
        gold : dict or Series, optional
            Classes that are known for certain, used inside the fit.
        item, annotator, answer : str, optional
            The columns of a long table, if they do not have usual names.
        """
        self._check_no_features(y)
        columns = {"item": item, "annotator": annotator, "answer": answer}
        annotations = self._checked(answers, gold, **columns)
        self._learn(annotations, lambda part, _: self._fit(part))
        return self

    def _check_no_features(self, y: Any) -> None:
        if y is not None:
            name = type(self).__name__
            raise InputError(
                f"{name} learns from answers alone: {name}().fit(answers). For "
                f"features and answers, use a classifier: SVGPCR().fit(X, answers)."
            )

    @abstractmethod
    def _fit(self, annotations: Annotations) -> tuple[Learned, Any]:
        """Return what was learned, and the trace."""

    def fit_predict(self, answers: Any, **options: Any) -> Array:
        """Fit, and return the most probable class of every item."""
        return self.fit(answers, **options).labels_

    def fit_predict_proba(self, answers: Any, **options: Any) -> Array:
        """Fit, and return the probability of every class for every item."""
        return self.fit(answers, **options).label_proba_

    def predict_proba(self, annotations: Any) -> Array:
        """Return class probabilities of new items from their answers alone.

        An annotator who was not there at the fit is described by the prior.

        For the training items use ``label_proba_``. ``predict_proba`` of their answers
        differs from it: it takes them for new items. So it uses annotators' skills to
        which the same answers have contributed (they count twice), it does not see gold
        classes, and what a method learned about single items (the easiness of GLAD) is
        not used.
        """
        check_is_fitted(self)
        log_prior = np.log(self.class_prior_)[None]
        return self._posterior(annotations, log_prior)

    def predict(self, annotations: Any) -> Array:
        """Return the most probable class of new items from their answers alone."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(annotations).argmax(1)]


class CrowdClassifier(ClassifierMixin, CrowdModel):
    """A method with features: labels of the items at hand, and of new ones.

    Attributes
    ----------
    n_features_in_ : int
        Number of features at the fit.
    feature_names_in_ : array
        Their names, where X was a DataFrame.
    """

    n_features_in_: Annotated[int, Limits(least=1.0)]
    fits_in_pieces: ClassVar[bool] = False  # from features beyond memory

    def fit(
        self: AnyClassifier,
        X: Any,
        y: Any,
        *,
        items: Any = None,
        gold: Gold | None = None,
        item: str | None = None,
        annotator: str | None = None,
        answer: str | None = None,
    ) -> AnyClassifier:
        """Learn labels, annotators and a classifier together.

        Parameters
        ----------
        X : array or DataFrame (N, D)
            Features, one row per item. Items without an answer are welcome. SVGPCR and
            SVGP also take features beyond memory, :func:`wisecrowd.features`.
        y : Annotations, long table, triples, (N, A) matrix or 1-D target
            The answers. Whatever has columns (pandas, polars, pyarrow, ...) is a long
            table. A one-dimensional target is one annotator.
        items : sequence of length N, optional
            The ids of the rows of X. Default: a DataFrame's index, else row numbers.
        gold : dict or Series, optional
            Classes that are known for certain, used inside the fit.
        item, annotator, answer : str, optional
            The columns of a long table, if they do not have usual names.
        """
        check_features_first(X, y)
        features = checked_features(self, X, reset=True)
        ids = row_ids(X, items, n_rows(features))
        columns = {"item": item, "annotator": annotator, "answer": answer}
        annotations = self._checked(answers_of_rows(y, ids, **columns), gold)
        if isinstance(features, FeatureSource):
            in_pieces: Any = features
            self._learn(
                annotations, lambda part, _: self._fit(in_pieces, part), as_given=True
            )
        else:
            self._learn(annotations, lambda part, rows: self._fit(features[rows], part))
        return self

    @abstractmethod
    def _fit(self, X: Any, annotations: Annotations) -> tuple[Learned, Any]:
        """Return what was learned, and the trace."""

    def _predict_proba(self, X: Array) -> Array:
        """Return what the classifier alone says about new items."""
        proba: Array = self.learned_.classifier.proba(X)
        return proba

    def predict_proba(
        self, X: Any, annotations: Any = None, *, items: Any = None
    ) -> Array:
        """Return class probabilities of new items, with their answers if given.

        For the training items use ``label_proba_``, which is the posterior of the fit:
        it counts their answers once and respects gold classes. Given the training
        answers, ``predict_proba`` differs from it, because it takes them for answers on
        new items, and classifier and skills have learned from the same answers before.

        Parameters
        ----------
        X : array or DataFrame (n, D)
            Features of the new items, or :func:`wisecrowd.features` beyond memory.
        annotations : Annotations, long table, triples or (n, A) matrix, optional
            Answers on some of them. An annotator who was not there at the fit is
            described by the prior.
        items : sequence of length n, optional
            The ids of the rows of X, to join the annotations.
        """
        check_is_fitted(self)
        features = checked_features(self, X, reset=False)
        ids = row_ids(X, items, n_rows(features))
        if isinstance(features, FeatureSource):
            pieces = [self._predict_proba(piece) for _, piece in features.pieces()]
            proba = np.concatenate(pieces)
        else:
            proba = self._predict_proba(features)
        if annotations is None:
            return proba
        # Far from the items of the fit it can round to 0, of which no log is finite.
        log_proba = np.log(np.maximum(proba, np.finfo(proba.dtype).tiny))
        given = answers_of_rows(annotations, ids)
        return self._posterior(given, log_proba, features=features)

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
        y : 1-D target, (n, A) matrix, Annotations, long table or triples
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
        rows, said = self._said_by_row(y, row_ids(X, None, len(predicted)))
        if not len(rows):
            raise InputError("there is no answer to compare the predictions with.")
        weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
        return float(np.average(said == predicted[rows], weights=weights))

    def _said_by_row(self, y: Any, ids: Any) -> tuple[Array, Array]:
        """Return the row of every answer, and the answer; missing ones are left out."""
        if _names_items(y) or np.ndim(y) != 1:
            given = answers_of_rows(y, ids)
            return given.item, given.answers[given.answer]
        target = checked_target(y, len(ids))
        rows = np.flatnonzero(~pd.isna(target))
        return rows, target[rows]


def check_features_first(X: Any, y: Any) -> None:
    """Refuse answers where the features should be."""
    if isinstance(X, Annotations) or (
        isinstance(X, pd.DataFrame)
        and not isinstance(y, Annotations)
        and is_long_table(X)
    ):
        raise InputError(
            "the first argument has answers, not features: fit(X, answers) takes the "
            "features first."
        )


class BinaryClassifier(CrowdClassifier):
    """A method with features that takes two classes, and no more."""

    def _check_two_classes(self, annotations: Annotations) -> None:
        if annotations.n_classes > 2:
            raise InputError(
                f"{type(self).__name__} needs two classes, and there are "
                f"{annotations.n_classes}. Only binary classification is supported. "
                f"Use SVGPCR, Raykar, Yan, CrowdEM or AggNet, which take more classes."
            )

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
