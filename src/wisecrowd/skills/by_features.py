"""Skills that depend on the features of an item, as in Yan et al."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from wisecrowd._records import record
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import ability, crowd
from wisecrowd.maths.reliability_by_features import Params, logits
from wisecrowd.maths.scaling import Scaling
from wisecrowd.skills.tally import Counted, Tally


@record
@dataclass(frozen=True, eq=False)
class ByFeatures(Counted):
    """Log odds of a right answer, w[a] · x + γ[a], per annotator.

    Attributes
    ----------
    tally : Tally
        The answers counted against the labels: what is reported about an annotator.
    weights : array (A, D)
        w, of the scaled features.
    offset : array (A,)
        γ.
    scaling : Scaling
        From the user's units to the model's.
    features : array (N, D) or None
        Scaled features of the items at hand; None: all are at the centre.
    """

    tally: Tally
    weights: Float[np.ndarray, "A D"]
    offset: Float[np.ndarray, " A"]
    scaling: Scaling
    features: Float[np.ndarray, "N D"] | None = None

    def chosen(self, where: Int[np.ndarray, " B"]) -> "ByFeatures":
        """Return the skills of some annotators; one never seen has the prior's."""
        weights = np.vstack([self.weights, np.zeros_like(self.weights[:1])])
        return replace(
            self,
            tally=self.tally.chosen(where),
            weights=weights[where],
            offset=np.append(self.offset, ability.MEAN_ABILITY)[where],
        )

    def seeing(self, X: Float[np.ndarray, "N D"]) -> "ByFeatures":
        """Return the skills on items with these features, in the user's units."""
        return replace(self, features=self.scaling.apply(X, "float64"))

    def right_proba(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N A"]:
        """p(y = z | x, a) of every annotator on items in the user's units."""
        out: Array = expit(
            self.scaling.apply(X, "float64") @ self.weights.T + self.offset
        )
        return out

    def label_proba(
        self, answers: Answers, log_prior: Float[np.ndarray, "#N C"]
    ) -> Float[np.ndarray, "N C"]:
        """p(z | x, answers); answers that do not name a class say nothing."""
        named = answers.some(answers.answer < answers.n_classes)
        X = self.features
        if X is None:
            X = np.zeros((answers.n_items, self.weights.shape[1]))
        s = logits(Params(self.weights, self.offset), X, named)
        return crowd.posterior(ability.evidence_per_item(s, named) + log_prior)[0]
