"""Bayesian classifier combination (Kim and Ghahramani 2012), by variational Bayes.

Dawid and Skene's model with a posterior instead of a point for every annotator:
π ~ Dir(1), R[a, c, :] ~ Dir(α[c, :]), q(Z) q(R) q(π). It is SVGPCR without the
Gaussian process; α may be given, or learned by empirical Bayes.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from wisecrowd._types import Array, Gold
from wisecrowd.annotations import Annotations
from wisecrowd.annotations.predictions import predictions_of
from wisecrowd.base import (
    Aggregator,
    Learned,
    Published,
    WithConfusionMatrices,
)
from wisecrowd.fit.collapse import lost_classes
from wisecrowd.fit.em import least_gain
from wisecrowd.fit.trace import Trace
from wisecrowd.fit.variational import Labelled, class_counts, combined
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.maths.pool import CLASS_PRIOR, bounded_log, pooled
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import ConfusionMatrices

__all__ = ["BCC"]


@dataclass(eq=False, repr=False, kw_only=True)
class BCC(Published, WithConfusionMatrices, Aggregator):
    """Bayesian classifier combination: labels and annotators with uncertainty.

    Parameters
    ----------
    annotator_prior : "learned", "flat", "diagonal", array or mapping
        Dirichlet concentrations of the rows. "learned" finds one table for the whole
        crowd from the data, which lends the skill of the crowd to annotators with few
        answers. A mapping from annotators to (C, K) concentrations takes over what is
        known of some of them.
    dependence : "learn", float or None
        The correlation ρ of the mistakes of two answers on one item: real annotators
        make the same ones, so n answers count as n / (1 + ρ (n - 1)) independent ones.
        "learn": from the answers; where they give reason to doubt the matrices, the
        plain votes count as well. Before an item is labelled, its own contribution is
        removed from the annotators' counts (leave-one-out, CVB0). 0: answers are
        independent given the class. None: the published posterior, which also keeps
        the item's own contribution and is far too sure.
    class_pseudo_items : float
        Items of each class that are assumed before the answers: the concentration of
        the Dirichlet prior of the shares of the classes. With 1, a small crowd of weak
        annotators ends with nearly all items in one class, and is sure of it.
    max_iter, tol, progress
        As in :class:`DawidSkene`.

    Notes
    -----
    With its defaults this is an extension of the published method, by a learned prior
    and the dependence; :meth:`as_published` is the method of Kim and Ghahramani.

    Examples
    --------
    >>> from wisecrowd.annotations import Annotations
    >>> answers = Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0]])
    >>> BCC(annotator_prior="diagonal").fit(answers).labels_.tolist()
    [0, 1, 0, 1]
    """

    annotator_prior: Any = "learned"
    dependence: float | int | str | None = "learn"
    class_pseudo_items: float | int = CLASS_PRIOR
    max_iter: int = 1000
    tol: float | int | None = 1e-7
    progress: bool | None = None

    published: ClassVar[dict[str, Any]] = {
        "annotator_prior": "flat",
        "dependence": None,
        "class_pseudo_items": 1,
    }

    method = MethodInfo(
        name="bcc",
        needs="answers",
        learns="a distribution of confusion matrices, whose prior the crowd shares",
        paper="Kim and Ghahramani, *AISTATS* 2012",
        bibtex="""\
@inproceedings{kim2012bcc,
  author = {Kim, Hyun-Chul and Ghahramani, Zoubin},
  title = {Bayesian classifier combination},
  booktitle = {Proceedings of the 15th International Conference on Artificial
    Intelligence and Statistics},
  pages = {619--627},
  year = {2012}
}""",
    )

    def fit(
        self,
        answers: Any,
        y: Any = None,
        *,
        gold: Gold | None = None,
        item: str | None = None,
        annotator: str | None = None,
        answer: str | None = None,
        proba: Any = None,
    ) -> "BCC":
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
        proba : array (N, C) or DataFrame, optional
            Class probabilities by any model, as one more witness. The model must not
            have seen the answers on the item that it predicts (use
            ``cross_val_predict``). Rows follow ``answers.items``, columns the classes;
            a DataFrame is joined by its index and columns. How much the predictions
            count is fitted to the answers; useless ones change nearly nothing. New
            items are labelled from their answers alone.
        """
        self._check_no_features(y)
        columns = {"item": item, "annotator": annotator, "answer": answer}
        annotations = self._checked(answers, gold, **columns)
        given = None if proba is None else predictions_of(proba, annotations)
        self._learn(
            annotations,
            lambda part, rows: self._fit(part, None if given is None else given[rows]),
        )
        return self

    def _fit(
        self, annotations: Annotations, predicted: Array | None = None
    ) -> tuple[Learned, Trace]:
        self._check_dependence()
        crowd.check_pseudo_items(self.class_pseudo_items, "class_pseudo_items")
        answers, gold = annotations.codes, annotations.gold_codes
        end, trace = self._combined(annotations)
        collapsed = predicted is None and len(lost_classes(answers, end.proba)) > 0
        if self.dependence is None or collapsed:  # base.py: WithPool mends the latter
            skills = end.skills.with_doubt(answers, end.proba)
            return Learned(end.proba, self._shares(end), skills), trace
        found = pooled(
            answers, gold, end.proba, end.skills.priors(), self.dependence,
            log_proba=None if predicted is None else bounded_log(predicted),
        )  # fmt: skip
        skills = end.skills.with_labels(answers, found)
        return Learned.of(found, self._shares(end), skills), trace

    def _shares(self, end: Labelled) -> Array:
        """Return the shares of the classes."""
        counts = class_counts(end.proba, float(self.class_pseudo_items))
        return dirichlet.mean(counts)

    def _combined(self, annotations: Annotations) -> tuple[Labelled, Trace]:
        """Alternate labels and annotators until the bound stands still."""
        answers = annotations.codes
        before = ConfusionMatrices.before_answers(
            self.annotator_prior, annotations.annotators, *answers.shape[2:]
        )
        with Trace("BCC", self.max_iter, self.progress) as trace:
            end = combined(
                answers,
                before,
                annotations.gold_codes,
                trace=trace,
                max_iter=self.max_iter,
                class_prior=float(self.class_pseudo_items),
                tol=least_gain(self.tol, len(answers)),
            )
        return end, trace
