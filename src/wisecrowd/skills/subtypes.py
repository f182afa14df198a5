"""Confusion matrices for every subtype of a class, as in EBCC."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.skills.confusion_matrices import ConfusionMatrices


@dataclass(frozen=True, eq=False)
class Subtypes:
    """A Dirichlet posterior of every annotator's answers to every subtype.

    A class has M subtypes of items. Given the subtype, annotators are independent.
    Given only the class they are not: they err together on the same subtypes.

    Attributes
    ----------
    matrices : ConfusionMatrices
        The same answers, counted by class: what is reported about an annotator.
    prior : array (1 or A, C * M, K)
        Concentrations before any answer.
    counts : array (A, C * M, K)
        Concentrations after the answers; the subtypes of a class are neighbours.
    shares : array (C, M)
        The share of each subtype in its class.
    """

    matrices: ConfusionMatrices
    prior: Float[np.ndarray, "P CM K"]
    counts: Float[np.ndarray, "A CM K"]
    shares: Float[np.ndarray, "C M"]

    def confusion(self) -> Float[np.ndarray, "A C K"]:
        """Return the posterior mean, over all subtypes of a class."""
        return self.matrices.confusion()

    def interval(self, level: float) -> tuple[Array, Array]:
        """Return the central credible interval of every entry."""
        return self.matrices.interval(level)

    def summary(
        self, class_prior: Float[np.ndarray, " C"], level: float
    ) -> pd.DataFrame:
        """Return one row per annotator."""
        return self.matrices.summary(class_prior, level)

    def chosen(self, where: Int[np.ndarray, " B"]) -> "Subtypes":
        """Return the skills of some annotators; one never seen has the prior's."""
        prior = self.prior.mean(0, keepdims=True)
        counts = self.counts[where]
        counts[np.asarray(where) < 0] = prior
        return replace(
            self, matrices=self.matrices.chosen(where), prior=prior, counts=counts
        )

    def label_proba(
        self,
        answers: Answers,
        log_prior: Float[np.ndarray, "#N C"],
        *,
        of_features: bool,
    ) -> Float[np.ndarray, "N C"]:
        """p(z | answers) ∝ Σₘ p(z) p(m | z) Π E[v], the sum over the subtypes of z."""
        said = crowd.evidence_per_item(answers, np.log(dirichlet.mean(self.counts)))
        said = said.reshape(len(said), *self.shares.shape) + np.log(self.shares)
        joint = said + log_prior[:, :, None]
        proba, _ = crowd.posterior(joint.reshape(len(said), -1))
        return proba.reshape(said.shape).sum(-1)
