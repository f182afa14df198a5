"""Gold labels as a ruler: what an ending assumes is set by items of a known class.

How far answers are discounted for their dependence (ρ), which share of the items is
hard (h) and how sharp the features are (t) can only be guessed from answers alone.
Where the classes of some items are known, each of those items is predicted as if its
class were not known, and the values are taken that maximise

    Σₙ log p(zₙ = goldₙ | ρ, h, t) − ½ Σ_k ((θ_k − θ⁰_k) / s_k)²,

with θ = (log(ρ + .02), logit h, log t). θ⁰ are the values without gold: three items
with gold change little, three hundred decide. Without features, ρ is a temperature: it
multiplies all logarithms of an item by one number.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit, logsumexp

from wisecrowd.answers import Answers
from wisecrowd.maths.dependence import weight_per_item
from wisecrowd.maths.hard_items import labels_with_decoys

SPREADS = np.array([0.3, 0.3, 0.3])  # s; three items with gold then change little
ORIGIN = 0.02  # added to ρ, which may be 0, before the logarithm
N_GOLD = 2000  # most items with gold that are used
N_FOLDS = 5


class Dials(NamedTuple):
    """What an ending assumes."""

    dependence: float
    hard_share: float
    sharpness: float = 1.0

    def theta(self) -> Float[np.ndarray, " 3"]:
        """Return the numbers that the prior is normal in."""
        return np.array(
            [
                np.log(self.dependence + ORIGIN),
                logit(self.hard_share),
                np.log(self.sharpness),
            ]
        )

    @classmethod
    def of(cls, theta: Float[np.ndarray, " 3"]) -> "Dials":
        """Return what these numbers stand for."""
        dependence = np.clip(np.exp(theta[0]) - ORIGIN, 0.0, 1.0)
        return cls(float(dependence), float(expit(theta[1])), float(np.exp(theta[2])))


class Ruler(NamedTuple):
    """The items with gold, as a model sees them that does not know their classes.

    Attributes
    ----------
    answers : Answers
        The answers on these items.
    given : array (L, C)
        p(y | z = c) of each of these answers, the item's own part left out.
    log_class : array (1, C)
        Log of the shares of the classes.
    beyond : array (G, C)
        What the features say beyond the shares, in logs; 0 without features.
    gold : array (G,)
        The codes of the classes.
    shared : float
        Correlation of the crowd's mistakes with those of the features.
    """

    answers: Answers
    given: Float[np.ndarray, "L C"]
    log_class: Float[np.ndarray, "1 C"]
    beyond: Float[np.ndarray, "G C"]
    gold: Int[np.ndarray, " G"]
    shared: float = 0.0

    def some(self, items: Int[np.ndarray, " g"]) -> "Ruler":
        """Return the ruler of some of the items, whose numbers are in order."""
        rows = np.isin(self.answers.item, items)
        return Ruler(
            self.answers.of_items(items),
            self.given[rows],
            self.log_class,
            self.beyond[items],
            self.gold[items],
            self.shared,
        )


def predicted(ruler: Ruler, dials: Dials) -> Float[np.ndarray, "G C"]:
    """Return p(z) of every item of the ruler, its own gold not used."""
    weight = weight_per_item(ruler.answers, dials.dependence, ruler.shared)
    log_prior = weight * ruler.log_class + dials.sharpness * ruler.beyond
    unknown = np.full(ruler.answers.n_items, -1)
    return labels_with_decoys(
        ruler.answers, ruler.given, weight, log_prior, unknown, dials.hard_share
    ).proba


def log_density(ruler: Ruler, start: Dials, dials: Dials) -> float:
    """Return the log-likelihood of the gold, and the log density of the prior."""
    proba = predicted(ruler, dials)
    at_gold = proba[np.arange(len(ruler.gold)), ruler.gold]
    off = (dials.theta() - start.theta()) / SPREADS
    return float(np.log(np.maximum(at_gold, 1e-300)).sum() - 0.5 * (off**2).sum())


def measured(ruler: Ruler, start: Dials) -> Dials:
    """Return the most probable values, given the gold."""
    origin = start.theta()
    scale = max(1.0, len(ruler.gold))

    def unlikely(z: Float[np.ndarray, " 3"]) -> float:
        return -log_density(ruler, start, Dials.of(origin + SPREADS * z)) / scale

    best = minimize(unlikely, np.zeros(3), method="L-BFGS-B", bounds=[(-3, 3)] * 3)
    return Dials.of(origin + SPREADS * best.x)


def measured_exponent(
    log_proba: Float[np.ndarray, "G C"], gold: Int[np.ndarray, " G"], start: float
) -> float:
    """Return the exponent t of predictions that the gold makes the most probable.

    Σₙ log softmax_c(t log p)[goldₙ], with log t ~ N(log start, s²).
    """

    def unlikely(off: float) -> float:
        at = start * np.exp(off) * log_proba
        at_gold = at[np.arange(len(gold)), gold] - logsumexp(at, axis=1)
        return float(0.5 * (off / SPREADS[2]) ** 2 - at_gold.sum())

    best = minimize_scalar(unlikely, bounds=(-1.5, 1.5), method="bounded")
    return float(start * np.exp(best.x))


def cross_fitted(ruler: Ruler, start: Dials) -> Float[np.ndarray, "G C"]:
    """Return p(z) of every item, by values that the gold of other items has set."""
    fold = np.random.RandomState(0).permutation(len(ruler.gold)) % N_FOLDS
    out = np.empty((len(ruler.gold), ruler.log_class.shape[1]))
    for f in np.unique(fold):
        held, others = np.flatnonzero(fold == f), np.flatnonzero(fold != f)
        dials = measured(ruler.some(others), start) if len(others) else start
        out[held] = predicted(ruler.some(held), dials)
    return out
