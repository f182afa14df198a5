"""What is believed about every item, settled: no annotator is learned any more."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from wisecrowd.answers import Answers
from wisecrowd.skills.part import NothingToLearn


@dataclass(frozen=True, eq=False)
class Settled(NothingToLearn):
    """Labels from which a classifier is learned again, as the part of the annotators.

    Attributes
    ----------
    log_proba : array (N, C)
        Log of the probability of every class.
    """

    log_proba: Float[np.ndarray, "N C"]

    def evidence(self, answers: Answers) -> Float[np.ndarray, "N C"]:
        """Return the labels in logs; 0 for items without an answer."""
        return np.where(answers.n_per_item[:, None] > 0, self.log_proba, 0.0)

    def of_items(self, items: Int[np.ndarray, " n"]) -> "Settled":
        """Return the labels of some items."""
        return Settled(self.log_proba[items])

    def statistics(
        self, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> Float[np.ndarray, "0 0 0"]:
        """Return nothing: there is nothing to learn."""
        return np.zeros((0, 0, 0))
