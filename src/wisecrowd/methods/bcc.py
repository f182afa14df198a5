"""Bayesian classifier combination (Kim and Ghahramani 2012), by variational Bayes.

Dawid and Skene's model with a posterior instead of a point for every annotator:
π ~ Dir(1), R[a, c, :] ~ Dir(α[c, :]), q(Z) q(R) q(π). It is SVGPCR without the
Gaussian process; α may be given, or learned by empirical Bayes.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd.base import Aggregator, answer_matrix
from wisecrowd.data.annotations import Annotations
from wisecrowd.fit.em import climb
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, dirichlet


class State(NamedTuple):
    """q(Z) and the prior that the annotators share."""

    proba: Float[np.ndarray, "N C"]
    prior: Float[np.ndarray, "P C K"]


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
        prior = crowd.annotator_prior(
            self.annotator_prior, labels.annotators, n_classes, n_answers
        )
        learned = isinstance(self.annotator_prior, str) and (
            self.annotator_prior == "learned"
        )
        hyper = crowd.prior_hyper(n_classes, n_answers) if learned else None
        flat = np.ones(n_classes)

        def update(state: State) -> tuple[State, dict[str, float]]:
            counts = crowd.soft_counts(answers, state.proba, n_answers)
            prior = crowd.updated_prior(counts, state.prior, hyper)
            classes = flat + state.proba.sum(0)
            evidence = crowd.evidence_per_item(
                answers, dirichlet.mean_log(prior + counts)
            )
            log_class = dirichlet.mean_log(classes)
            joint = crowd.clamped(evidence + log_class, labels.gold_codes)
            proba, _ = crowd.posterior(joint)
            terms = {
                "labels": float((proba * evidence).sum()),
                "classes": float((proba @ log_class).sum()),
                "entropy": float(crowd.entropy(proba).sum()),
                "kl_classes": float(dirichlet.kl(classes, flat)),
                "kl_annotators": crowd.annotators_kl(prior + counts, prior, hyper),
            }
            bound = terms["labels"] + terms["classes"] + terms["entropy"]
            bound -= terms["kl_classes"] + terms["kl_annotators"]
            return State(proba, prior), {**terms, "bound": bound}

        votes = labels.counts()[:, :n_classes]
        start = State(crowd.vote_proba(votes, labels.gold_codes), prior)
        tol = None if self.tol is None else self.tol * len(labels)
        with Trace("BCC", self.max_iter, self.progress) as trace:
            end = climb(update, start, trace=trace, max_iter=self.max_iter, tol=tol)
        self.label_proba_ = end.proba
        self.class_prior_ = dirichlet.mean(flat + end.proba.sum(0))
        self.annotator_prior_ = end.prior
        counts = crowd.soft_counts(answers, end.proba, n_answers)
        self.confusion_counts_ = end.prior + counts
        self.trace_ = trace.frame()
