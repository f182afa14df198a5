"""Bayesian classifier combination (Kim and Ghahramani 2012), by variational Bayes.

Dawid and Skene's model with a posterior instead of a point for every annotator:
π ~ Dir(1), R[a, c, :] ~ Dir(α[c, :]), q(Z) q(R) q(π). It is SVGPCR without the
Gaussian process; α may be given, or learned by empirical Bayes.
"""

from typing import Any

import numpy as np

from wisecrowd._types import Array
from wisecrowd.base import Aggregator, answer_matrix
from wisecrowd.data.annotations import Annotations
from wisecrowd.fit.combination import Combined, combine
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.maths.dependence import (
    checked_dependence,
    learned_dependence,
    weight_per_item,
)


class BCC(Aggregator):
    """Bayesian classifier combination: labels and annotators with uncertainty.

    Parameters
    ----------
    annotator_prior : "learned", "flat", "diagonal", array or mapping
        Dirichlet concentrations of the rows. "learned" finds one table for the whole
        crowd from the data, which lends the skill of the crowd to annotators with few
        answers. A mapping from annotators to (C, K) concentrations takes over what is
        known of some of them.
    dependence : "learn", float or None
        The correlation, given the class, of two answers on one item: real annotators
        err together. n answers are believed as n / (1 + dependence (n - 1)) would be,
        and no item adds to the skill by which it is judged. None: the textbook's
        posterior, which takes answers as independent and is far too sure.
    max_iter, tol, progress
        As in :class:`DawidSkene`.

    Attributes
    ----------
    dependence_ : float
        Given or learned; 0 if None.

    Examples
    --------
    >>> from wisecrowd.data.annotations import Annotations
    >>> labels = Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0]])
    >>> BCC(annotator_prior="diagonal").fit(labels).labels_.tolist()
    [0, 1, 0, 1]
    """

    def __init__(
        self,
        *,
        annotator_prior: Any = "learned",
        dependence: float | str | None = "learn",
        max_iter: int = 1000,
        tol: float | None = 1e-7,
        progress: bool | None = None,
    ) -> None:
        self.annotator_prior = annotator_prior
        self.dependence = dependence
        self.max_iter = max_iter
        self.tol = tol
        self.progress = progress

    def _fit(self, labels: Annotations) -> None:
        if self.dependence is not None:
            checked_dependence(self.dependence)
        n_classes, n_answers = labels.n_classes, len(labels.answers)
        answers = answer_matrix(labels)
        prior, hyper = crowd.prior_and_hyper(
            self.annotator_prior, labels.annotators, n_classes, n_answers
        )
        votes = labels.counts()[:, :n_classes]
        start = Combined(crowd.vote_proba(votes, labels.gold_codes), prior)
        with Trace("BCC", self.max_iter, self.progress) as trace:
            end = combine(
                answers,
                start,
                labels.gold_codes,
                hyper,
                trace=trace,
                max_iter=self.max_iter,
                tol=None if self.tol is None else self.tol * len(labels),
            )
        self.class_prior_ = dirichlet.mean(1.0 + end.proba.sum(0))
        self.annotator_prior_ = end.prior
        self.label_proba_ = end.proba
        self.dependence_ = 0.0  # and not that of an earlier fit
        if self.dependence is not None:
            self.label_proba_ = self._judged_by_others(
                answers, end, labels.gold_codes, self.dependence
            )
        counts = crowd.soft_counts(answers, self.label_proba_, n_answers)
        self.confusion_counts_ = end.prior + counts
        self.trace_ = trace.frame()

    def _judged_by_others(
        self,
        answers: crowd.AnswerMatrix,
        end: Combined,
        gold: Array,
        dependence: float | str,
    ) -> Array:
        """Return q(z) with an item's own part in everyone's skill left out.

        Then as many answers are believed as would be independent. The shares of the
        classes are believed no more than the answers, so that the labels stay.
        """
        counts = end.prior + crowd.soft_counts(answers, end.proba, end.prior.shape[2])
        said = crowd.evidence_of_others(answers, counts, end.proba)
        log_joint = said + np.log(self.class_prior_)
        if dependence == "learn":
            log_class = np.broadcast_to(np.log(self.class_prior_), said.shape)
            dependence = learned_dependence(
                answers, dirichlet.mean(counts), log_class, np.random.RandomState(0)
            )
        self.dependence_ = float(dependence)
        weight = weight_per_item(answers, self.dependence_)
        return crowd.posterior(crowd.clamped(weight * log_joint, gold))[0]
