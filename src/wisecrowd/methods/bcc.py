"""Bayesian classifier combination (Kim and Ghahramani 2012), by variational Bayes.

Dawid and Skene's model with a posterior instead of a point for every annotator:
π ~ Dir(1), R[a, c, :] ~ Dir(α[c, :]), q(Z) q(R) q(π). It is SVGPCR without the
Gaussian process; α may be given, or learned by empirical Bayes.
"""

from typing import Any

from wisecrowd.base import Aggregator, answer_matrix
from wisecrowd.data.annotations import Annotations
from wisecrowd.fit.combination import Combined, combine
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, dirichlet


class BCC(Aggregator):
    """Bayesian classifier combination: labels and annotators with uncertainty.

    Parameters
    ----------
    annotator_prior : "learned", "flat", "diagonal", array or mapping
        Dirichlet concentrations of the rows. "learned" finds one table for the whole
        crowd from the data, which lends the skill of the crowd to annotators with few
        answers. A mapping from annotators to (C, K) concentrations takes over what is
        known of some of them.
    max_iter, tol, progress
        As in :class:`DawidSkene`.

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
        max_iter: int = 1000,
        tol: float | None = 1e-7,
        progress: bool | None = None,
    ) -> None:
        self.annotator_prior = annotator_prior
        self.max_iter = max_iter
        self.tol = tol
        self.progress = progress

    def _fit(self, labels: Annotations) -> None:
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
        self.label_proba_ = end.proba
        self.class_prior_ = dirichlet.mean(1.0 + end.proba.sum(0))
        self.annotator_prior_ = end.prior
        counts = crowd.soft_counts(answers, end.proba, n_answers)
        self.confusion_counts_ = end.prior + counts
        self.trace_ = trace.frame()
