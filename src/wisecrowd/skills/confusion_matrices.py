"""A Dirichlet posterior of every annotator's confusion matrix.

R[a, c, :] ~ Dir(α[c, :]); q(R[a, c, :]) = Dir(α[c, :] + n[a, c, :]), with n the soft
counts of the answers. α is given, or learned from the whole crowd.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from wisecrowd._records import (
    CLOSE,
    NOT_NEGATIVE,
    PROBA,
    PSEUDO_COUNT,
    Sizes,
    record,
)
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.maths.pool import Pooled
from wisecrowd.skills.part import ByConfusion
from wisecrowd.skills.summary import summary_of_counts

DOUBT = 0.5
"""Times the weight of the votes: by how much labels are wrong together. The votes count
where the crowd gives reason to doubt its matrices."""


@record
@dataclass(frozen=True, eq=False)
class ConfusionMatrices(ByConfusion):
    """Dirichlet concentrations of every annotator's rows.

    Attributes
    ----------
    prior : array (1 or A, C, K)
        Concentrations before any answer: shared by all annotators, or one table each.
    counts : array (A, C, K)
        Concentrations after the answers.
    hyper : Hyperprior or None
        The prior of the prior, where that is learned.
    hit_variance : array (A,) or None
        Variance of the number of right answers per annotator, as the classes are
        uncertain; None: not computed yet.
    n_compared : array (A,) or None
        Answers of each annotator on items that others answered too.
    doubt : float
        Standard deviation of the share of right answers that all annotators have in
        common, because the labels may be wrong together; relative to that of one
        answer.
    """

    prior: Annotated[Float[np.ndarray, "P C K"], PSEUDO_COUNT]
    counts: Annotated[Float[np.ndarray, "A C K"], PSEUDO_COUNT]
    hyper: crowd.Hyperprior | None = None
    hit_variance: Annotated[Float[np.ndarray, " A"] | None, NOT_NEGATIVE] = None
    n_compared: Annotated[Float[np.ndarray, " A"] | None, NOT_NEGATIVE] = None
    doubt: Annotated[float, PROBA] = 0.0

    def unfit(self, sizes: Sizes) -> str:
        """Return what is wrong with matrices from a file: counts begin at the prior."""
        least = self.prior.sum(-1) * (1 - CLOSE)
        return "counts is below prior" if (self.counts.sum(-1) < least).any() else ""

    @classmethod
    def before_answers(
        cls, spec: crowd.PriorSpec, annotators: Array, n_classes: int, n_answers: int
    ) -> "ConfusionMatrices":
        """Return the prior that a setting describes, as the skill of everybody."""
        prior, hyper = crowd.prior_and_hyper(spec, annotators, n_classes, n_answers)
        counts = np.broadcast_to(prior, (len(annotators), n_classes, n_answers))
        return cls(prior, counts, hyper)

    # -- inside a fit -----------------------------------------------------------

    def evidence(self, answers: Answers) -> Float[np.ndarray, "N C"]:
        """Σ E log R[a, c, y] of every item, as if answers were independent."""
        log_mean = dirichlet.mean_log(self.counts, self.prior)
        return crowd.evidence_per_item(answers, log_mean)

    def statistics(
        self, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> Float[np.ndarray, "A C K"]:
        """n[a, c, k] = Σ over a's answers k of q(z = c)."""
        return crowd.soft_counts(answers, proba)

    def updated(self, statistics: Float[np.ndarray, "A C K"]) -> "ConfusionMatrices":
        """Return prior + soft counts, with a step of the prior where it is learned."""
        prior = crowd.updated_prior(statistics, self.prior, self.hyper)
        return replace(self, prior=prior, counts=prior + statistics)

    def with_statistics(
        self, statistics: Float[np.ndarray, "A C K"]
    ) -> "ConfusionMatrices":
        """Return prior + soft counts; the prior stays as it is."""
        return replace(self, counts=self.prior + statistics)

    def learned_from(
        self, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> "ConfusionMatrices":
        """Return the skills for these class probabilities of the items."""
        return self.updated(self.statistics(answers, proba))

    def with_doubt(
        self,
        answers: Answers,
        proba: Float[np.ndarray, "N C"],
        doubt: float = 0.0,
    ) -> "ConfusionMatrices":
        """Keep how uncertain it is which of each annotator's answers are right."""
        return replace(
            self,
            hit_variance=crowd.hit_variance(answers, proba),
            n_compared=crowd.n_compared(answers),
            doubt=doubt,
        )

    def priors(self) -> tuple[Array, ...]:
        """Return the priors under which the pool reads the answers.

        A learned one knows which classes the crowd confuses. A diagonal one beside it
        expects everybody to be good, so that a busy guesser does not decide what the
        classes are. A prior that was given stands alone.
        """
        if self.hyper is None:
            return (self.prior,)
        n_classes, n_answers = self.prior.shape[1:]
        return self.prior, crowd.diagonal_prior(n_classes, n_answers, 4.0, 1.0)[None]

    def with_labels(self, answers: Answers, found: Pooled) -> "ConfusionMatrices":
        """Return the skills for the final labels; the prior stays as it is."""
        seen = self.with_statistics(self.statistics(answers, found.proba))
        return seen.with_doubt(answers, found.proba, DOUBT * found.pool.votes)

    def divergence(self) -> float:
        """Σ KL(Dir(counts) ‖ Dir(prior)) over annotators and classes."""
        return float(dirichlet.kl(self.counts, self.prior).sum())

    def log_hyperprior(self) -> float:
        """Return log p(α) where the prior is learned, else 0."""
        return crowd.log_hyperprior(self.prior, self.hyper)

    # -- what is known ----------------------------------------------------------

    def confusion(self) -> Float[np.ndarray, "A C K"]:
        """Return the posterior mean."""
        return dirichlet.mean(self.counts)

    def interval(self, level: float) -> tuple[Array, Array]:
        """Return the central credible interval of every entry."""
        return dirichlet.interval(self.counts, level)

    def summary(
        self, class_prior: Float[np.ndarray, " C"], level: float
    ) -> pd.DataFrame:
        """Return one row per annotator."""
        variance: Any = 0.0 if self.hit_variance is None else self.hit_variance
        return summary_of_counts(
            self.counts, self.prior, variance, class_prior, level,
            doubt=self.doubt, n_compared=self.n_compared,
        )  # fmt: skip

    # -- new items --------------------------------------------------------------

    def chosen(self, where: Int[np.ndarray, " B"]) -> "ConfusionMatrices":
        """Return the skills of some annotators; one never seen has the prior's.

        A flat prior knows nothing of how people answer: with it, an annotator without
        answers has the mean confusion matrix of those who answered.
        """
        prior = self.prior.mean(0, keepdims=True)
        counts = self.counts[where]
        unknown = np.asarray(where) < 0
        if np.ptp(prior, axis=1).any():
            counts[unknown] = prior
        else:
            silent = counts.sum((1, 2)) <= prior.sum()
            counts[unknown | silent] = self._of_the_crowd(prior)
        return replace(
            self, prior=prior, counts=counts, hit_variance=None, n_compared=None
        )

    def _of_the_crowd(self, prior: Array) -> Array:
        """Return the mean confusion matrix of those who answered, as concentrations."""
        answered = self.counts.sum((1, 2)) > prior.sum()
        if not answered.any():
            return prior
        mean = dirichlet.mean(self.counts[answered]).mean(0, keepdims=True)
        return mean * prior.sum(-1, keepdims=True)
