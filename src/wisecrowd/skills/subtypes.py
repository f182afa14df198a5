"""Confusion matrices for every subtype of a class, as in EBCC."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from wisecrowd._records import POSITIVE, PSEUDO_COUNT, Sizes, record
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.skills.confusion_matrices import ConfusionMatrices


@record
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
    prior: Annotated[Float[np.ndarray, "P CM K"], PSEUDO_COUNT]
    counts: Annotated[Float[np.ndarray, "A CM K"], PSEUDO_COUNT]
    shares: Annotated[Float[np.ndarray, "C M"], POSITIVE._replace(sums=True)]

    def unfit(self, sizes: Sizes) -> str:
        """Return what is wrong with skills from a file."""
        alike = self.prior.shape[1] == self.shares.size
        return "" if alike else "shares is of another number of subtypes"

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
        self, answers: Answers, log_prior: Float[np.ndarray, "#N C"]
    ) -> Float[np.ndarray, "N C"]:
        """p(z | answers) ∝ Σₘ p(z) p(m | z) Π E[v], the sum over the subtypes of z."""
        said = crowd.evidence_per_item(answers, np.log(dirichlet.mean(self.counts)))
        said = said.reshape(len(said), *self.shares.shape) + np.log(self.shares)
        joint = said + log_prior[:, :, None]
        proba, _ = crowd.posterior(joint.reshape(len(said), -1))
        return proba.reshape(said.shape).sum(-1)
