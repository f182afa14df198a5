"""A Dirichlet posterior of every annotator's confusion matrix.

R[a, c, :] ~ Dir(α[c, :]); q(R[a, c, :]) = Dir(α[c, :] + n[a, c, :]), with n the soft
counts of the answers. α is given, or learned from the whole crowd.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dirichlet, gold_ruler, hard_items
from wisecrowd.maths.dependence import learned_dependence, weight_per_item
from wisecrowd.skills.summary import summary_of_counts


@dataclass(frozen=True, eq=False)
class ConfusionMatrices:
    """Dirichlet concentrations of every annotator's rows.

    Attributes
    ----------
    prior : array (1 or A, C, K)
        Concentrations before any answer: shared by all annotators, or one table each.
    counts : array (A, C, K)
        Concentrations after the answers.
    hyper : Hyperprior or None
        The prior of the prior, where that is learned.
    dependence : float
        ρ, the correlation of two answers on one item given its class.
    hard_share : float
        The share of hard items, which mislead several annotators at once.
    hit_variance : array (A,) or None
        Variance of the number of right answers per annotator, as the classes are
        uncertain; None: not computed yet.
    shared : float
        Correlation of the crowd's mistakes with those of the features; 0 without
        features.
    """

    prior: Float[np.ndarray, "P C K"]
    counts: Float[np.ndarray, "A C K"]
    hyper: crowd.Hyperprior | None = None
    dependence: float = 0.0
    hard_share: float = 0.0
    hit_variance: Float[np.ndarray, " A"] | None = None
    shared: float = 0.0

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

    def evidence_of_others(
        self, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> Float[np.ndarray, "N C"]:
        """Return the same, the item's own part removed from the counts (CVB0)."""
        return crowd.evidence_of_others(answers, self.counts, proba)

    def with_learned_hard_share(
        self,
        answers: Answers,
        log_class: Float[np.ndarray, "1 C"],
        proba: Float[np.ndarray, "N C"],
    ) -> "ConfusionMatrices":
        """Return the same skills, with the share of hard items learned from answers."""
        if not self.hard_share:
            return self
        some = hard_items.items_to_learn_from(answers.n_items)
        part = answers.of_items(some)
        weight = self._weight(part)
        given = crowd.given_others(part, self.counts, proba[some])
        share = hard_items.learned_share(part, given, weight, weight * log_class)
        return replace(self, hard_share=share)

    def final_labels(
        self,
        answers: Answers,
        log_class: Float[np.ndarray, "#N C"],
        gold: Int[np.ndarray, " N"],
        proba: Float[np.ndarray, "N C"] | None,
        of_features: float | Float[np.ndarray, "#N C"] = 0.0,
    ) -> hard_items.FinalLabels:
        """Return the labels: some items are hard, and answers depend on one another.

        `proba` are the labels that the skills were learned from; each item's own part
        in them is left out. None: the items are new. The shares of the classes,
        `log_class`, are discounted for dependence as the answers are, so that the
        discount changes no label. What is known `of_features` is not discounted.
        """
        weight = self._weight(answers)
        if proba is None:
            given = self.confusion()[answers.annotator, :, answers.answer]
        else:
            given = crowd.given_others(answers, self.counts, proba)
        prior = weight * log_class + of_features
        return hard_items.labels_with_decoys(
            answers, given, weight, prior, gold, self.hard_share
        )

    def _weight(self, answers: Answers) -> Float[np.ndarray, "N 1"]:
        return weight_per_item(answers, self.dependence, self.shared)

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

    def with_dependence(self, dependence: float | int | str) -> "ConfusionMatrices":
        """Return the same skills for this setting; "learn" begins with 0.

        With 0, answers are independent given the class, so there are no hard items.
        """
        known = 0.0 if dependence == "learn" else float(dependence)
        hard = hard_items.HARD_SHARE if dependence != 0 else 0.0
        return replace(self, dependence=known, hard_share=hard)

    def with_learned_dependence(
        self,
        answers: Answers,
        log_prior: Float[np.ndarray, "N C"],
        rng: np.random.RandomState,
    ) -> "ConfusionMatrices":
        """Return the same skills, with ρ estimated from the answers."""
        learned = learned_dependence(answers, self.confusion(), log_prior, rng)
        return replace(self, dependence=learned)

    def with_shared(self, shared: float) -> "ConfusionMatrices":
        """Return the same skills, with this correlation with the features."""
        return replace(self, shared=shared)

    def with_dials(self, dials: gold_ruler.Dials) -> "ConfusionMatrices":
        """Return the same skills, with the dependence and hard share of gold."""
        return replace(self, dependence=dials.dependence, hard_share=dials.hard_share)

    def with_doubt(
        self, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> "ConfusionMatrices":
        """Keep how uncertain it is which of each annotator's answers are right."""
        return replace(self, hit_variance=crowd.hit_variance(answers, proba))

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
        doubt: Any = 0.0 if self.hit_variance is None else self.hit_variance
        return summary_of_counts(self.counts, self.prior, doubt, class_prior, level)

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
        return replace(self, prior=prior, counts=counts, hit_variance=None)

    def _of_the_crowd(self, prior: Array) -> Array:
        """Return the mean confusion matrix of those who answered, as concentrations."""
        answered = self.counts.sum((1, 2)) > prior.sum()
        if not answered.any():
            return prior
        mean = dirichlet.mean(self.counts[answered]).mean(0, keepdims=True)
        return mean * prior.sum(-1, keepdims=True)

    def label_proba(
        self,
        answers: Answers,
        log_prior: Float[np.ndarray, "#N C"],
        *,
        of_features: bool,
    ) -> Float[np.ndarray, "N C"]:
        """p(z | answers): given the skills, the mean confusion is exact."""
        unknown = np.full(answers.n_items, -1)
        none = np.zeros((1, answers.n_classes))
        if not of_features:
            return self.final_labels(answers, log_prior, unknown, None).proba
        # Without answers, the prediction itself: there is nothing to be shared with.
        answered = answers.n_per_item[:, None] > 0
        features = log_prior / np.where(answered, 1 + self.shared, 1.0)
        return self.final_labels(answers, none, unknown, None, features).proba
