"""The annotators' half of the inference: q(R), its prior, and their evidence."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd.maths import crowd, dirichlet
from wisecrowd.maths.dependence import learned_dependence, weight_per_item


class Annotators(NamedTuple):
    """What is known of the annotators: nothing (gold labels only) if no answers."""

    answers: crowd.AnswerMatrix | None
    gold: Int[np.ndarray, " N"]
    prior: Float[np.ndarray, "P C K"]
    counts: Float[np.ndarray, "A C K"]
    hyper: crowd.Hyperprior | None
    dependence: float = 0.0
    learn_dependence: bool = False

    def learn(self, proba: Float[np.ndarray, "N C"]) -> "Annotators":
        """q(R) and its prior, given q(Z): prior + soft counts."""
        if self.answers is None:
            return self
        seen = crowd.soft_counts(self.answers, proba, self.prior.shape[2])
        prior = crowd.updated_prior(seen, self.prior, self.hyper)
        return self._replace(prior=prior, counts=prior + seen)

    def depending(
        self, log_prior: Float[np.ndarray, "N C"], rng: np.random.RandomState
    ) -> "Annotators":
        """Learn how far the answers on one item depend on one another."""
        if self.answers is None or not self.learn_dependence:
            return self
        mean = dirichlet.mean(self.counts)
        learned = learned_dependence(self.answers, mean, log_prior, rng)
        return self._replace(dependence=learned)

    def believed(self, said: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
        """Return how much of the evidence to believe; gold rules out all else."""
        if self.answers is not None:
            said = said * weight_per_item(self.answers, self.dependence)
        return crowd.clamped(said, self.gold)

    def evidence(self) -> Float[np.ndarray, "N C"]:
        """Σ E log R[a, c, y] for every item, as far as it is believed."""
        if self.answers is None:
            return self.believed(np.zeros((len(self.gold), self.prior.shape[1])))
        log_confusion = dirichlet.mean_log(self.counts)
        return self.believed(crowd.evidence_per_item(self.answers, log_confusion))

    def evidence_of_others(
        self, proba: Float[np.ndarray, "N C"]
    ) -> Float[np.ndarray, "N C"]:
        """Return what the answers say of every item, its own part in R left out."""
        if self.answers is None:
            return self.evidence()
        return self.believed(crowd.evidence_of_others(self.answers, self.counts, proba))

    def kl(self) -> float:
        """KL(q(R) ‖ p(R)), less the log of the prior's own prior."""
        if self.answers is None:
            return 0.0
        return crowd.annotators_kl(self.counts, self.prior, self.hyper)
