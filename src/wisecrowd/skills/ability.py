"""One ability per annotator, as in GLAD, with a Gaussian (Laplace) posterior."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import expit
from scipy.stats import norm

from wisecrowd._records import POSITIVE, record
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import ability as maths
from wisecrowd.maths import crowd
from wisecrowd.skills.summary import SPAMMER_PRIOR, informativeness


@record
@dataclass(frozen=True, eq=False)
class Ability:
    """Log odds of a right answer on an item of easiness one, per annotator.

    Attributes
    ----------
    mean, spread : arrays (A,)
        Posterior mode and standard deviation of each ability.
    prior_spread : float
        Standard deviation of the prior, whose mean is 1.
    easiness : float
        Of a typical item: what multiplies the ability there.
    n_classes, n_answers : int
        C and K.
    """

    mean: Float[np.ndarray, " A"]
    spread: Annotated[Float[np.ndarray, " A"], POSITIVE]
    prior_spread: Annotated[float, POSITIVE]
    easiness: Annotated[float, POSITIVE]
    n_classes: Annotated[int, "C"]
    n_answers: Annotated[int, "K"]

    def confusion(self) -> Float[np.ndarray, "A C K"]:
        """Return the matrices at the typical easiness: σ(x) on the diagonal."""
        accuracy = expit(self.easiness * self.mean)
        return maths.confusion(accuracy, self.n_classes, self.n_answers)

    def accuracy_interval(self, level: float) -> tuple[Array, Array]:
        """Return the interval of σ(easiness · ability)."""
        reach = norm.ppf(0.5 + level / 2) * self.spread
        low, high = (expit(self.easiness * (self.mean + s * reach)) for s in (-1, 1))
        return low, high

    def interval(self, level: float) -> tuple[Array, Array]:
        """Return the interval of every entry: they all move with the ability."""
        tables = [
            maths.confusion(accuracy, self.n_classes, self.n_answers)
            for accuracy in self.accuracy_interval(level)
        ]
        return np.minimum(*tables), np.maximum(*tables)

    def summary(
        self, class_prior: Float[np.ndarray, " C"], level: float
    ) -> pd.DataFrame:
        """Return one row per annotator."""
        low, high = self.accuracy_interval(level)
        spammer = self.spammer_proba()
        below_chance = norm.cdf((self.chance - self.mean) / self.spread)
        return pd.DataFrame(
            {
                "accuracy": expit(self.easiness * self.mean),
                "low": low,
                "high": high,
                "informativeness": informativeness(self.confusion(), class_prior),
                "spammer": spammer,
                "adversarial": (1 - spammer) * below_chance,
            }
        )

    @property
    def chance(self) -> float:
        """The ability of somebody who guesses: σ(easiness · ability) = 1 / C."""
        return -float(np.log(self.n_classes - 1)) / self.easiness

    def spammer_proba(self) -> Float[np.ndarray, " A"]:
        """Return the probability of an ability of exactly chance.

        The odds are the ratio of the posterior to the prior density there (Savage and
        Dickey), times the prior odds of a spammer.
        """
        after = norm.pdf(self.chance, self.mean, self.spread)
        before = norm.pdf(self.chance, maths.MEAN_ABILITY, self.prior_spread)
        odds = after / before * SPAMMER_PRIOR / (1 - SPAMMER_PRIOR)
        return odds / (1 + odds)

    def chosen(self, where: Int[np.ndarray, " B"]) -> "Ability":
        """Return the abilities of some annotators; one never seen has the prior's."""
        mean = np.append(self.mean, maths.MEAN_ABILITY)[where]
        spread = np.append(self.spread, self.prior_spread)[where]
        return replace(self, mean=mean, spread=spread)

    def label_proba(
        self, answers: Answers, log_prior: Float[np.ndarray, "#N C"]
    ) -> Float[np.ndarray, "N C"]:
        """p(z | answers) of items with the typical easiness."""
        named = answers.some(answers.answer < answers.n_classes)
        log_easiness = np.full(answers.n_items, np.log(self.easiness))
        x = maths.logits(maths.Params(self.mean, log_easiness), named)
        return crowd.posterior(maths.evidence_per_item(x, named) + log_prior)[0]
