"""How much each witness counts, as far as the answers show it."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from wisecrowd._types import Array
from wisecrowd.maths import crowd, together
from wisecrowd.maths.pool.formula import (
    SMALLEST_PROBA,
    log_given,
    normalised,
    said_by_crowd,
)
from wisecrowd.maths.pool.records import (
    DOUBTS,
    Doubts,
    Pool,
    Witnesses,
    design_effect,
)

N_LEARN = 20_000  # most items that a number is learned from
LIKELY = 1.35  # nats below the highest log-likelihood: a 90 % interval
RATES = np.append(0.0, np.exp(np.linspace(np.log(0.01), np.log(5), 16)))
LOG_EXPONENT = (-4.0, 1.4)
BESIDE = [(-3.0, 0.0), LOG_EXPONENT]  # logs of exponents of crowd and features
N_BESIDE = 5000  # most items from which they are learned


def left_out(
    witnesses: Witnesses, selective: Float[np.ndarray, " A"], most: int = N_LEARN
) -> "LeftOut | None":
    """Return the answers that the others on their items predict; None without any.

    Answers of annotators who give one answer only are left out: they are predicted
    whatever the others say.
    """
    several = np.flatnonzero(witnesses.answers.n_per_item > 1)
    items = np.random.RandomState(0).permutation(several)[:most]
    part = witnesses.of_items(np.sort(items))
    answers = part.answers
    rows = np.flatnonzero(selective[answers.annotator] < 0.5)
    if not len(rows):
        return None
    n_others = part.n_each[answers.item] - part.weight
    given, rest = [], []
    for reading in part.readings:
        said = log_given(reading, answers, part.proba, slice(None))
        weighted = said * part.weight[:, None]
        all_of_them = (answers.per_item @ weighted)[answers.item]
        given.append(np.minimum(np.exp(said[rows]), 1.0))
        rest.append((reading.log_class + all_of_them - weighted)[rows])
    beyond = 0.0 if part.beyond is None else part.beyond[answers.item[rows]]
    return LeftOut(np.array(given), np.array(rest), n_others[rows], beyond)


class LeftOut(NamedTuple):
    """Answers, as the other answers on the same item predict them.

    Attributes
    ----------
    given : array (M, n, C)
        p(y | z = c), for every reading.
    others : array (M, n, C)
        What the others say about the class, in logs.
    n_others : array (n,)
        How many they are.
    beyond : array (n, C) or 0
        What a classifier says about the class, in logs.
    """

    given: Float[np.ndarray, "M n C"]
    others: Float[np.ndarray, "M n C"]
    n_others: Float[np.ndarray, " n"]
    beyond: Float[np.ndarray, "n C"] | float = 0.0

    def log_likelihood(
        self, rate: float, exponent: float = 1.0, features: float = 0.0
    ) -> Float[np.ndarray, " n"]:
        """Return log p(y | the others) of every answer, if this rate were right.

        With the exponents of what the others and a classifier say.
        """
        divided = design_effect(self.n_others, rate / (1 + rate))
        said = exponent * self.others / divided[:, None] + features * self.beyond
        said = np.exp(said - said.max(2, keepdims=True))
        chance = (said * self.given).sum(2) / said.sum(2)
        return np.log(np.maximum(chance.mean(0), SMALLEST_PROBA))


def likely_rates(found: LeftOut | None, n_items: int) -> tuple[float, float, float]:
    """Return the rate by which the others predict left-out answers best; 0 without.

    Then the smallest and the largest rate whose log-likelihood is less than `LIKELY`
    below, the answers of an item counted as one.
    """
    if found is None:
        return 0.0, 0.0, 0.0
    means = np.array([found.log_likelihood(rate).mean() for rate in RATES])
    likely = RATES[n_items * (means.max() - means) < LIKELY]
    return float(RATES[means.argmax()]), float(likely.min()), float(likely.max())


class Signs(NamedTuple):
    """What the answers show of mistakes that annotators share.

    Attributes
    ----------
    left_out : tuple of float
        The rate by which the others predict left-out answers best, and its interval.
    excess : float
        By how much pairs agree in other ways than one skill each explains.
    n_several : float
        The mean number of answers of the items that have more than one.
    """

    left_out: tuple[float, float, float]
    excess: float
    n_several: float

    def rates(self, doubts: Doubts) -> Float[np.ndarray, " 3"]:
        """Return ρ / (1 − ρ) that the signs give reason for, and its ends."""
        more = self.excess / (self.excess + doubts.excess)
        few = doubts.few / max(self.n_several - 1, 1.0)
        return doubts.left_out * np.array(self.left_out) + more + few


def signs_of(witnesses: Witnesses, selective: Float[np.ndarray, " A"]) -> Signs:
    """Return the three signs of shared mistakes."""
    return Signs(
        likely_rates(left_out(witnesses, selective), int((witnesses.n_each > 1).sum())),
        together.excess_agreement(witnesses.answers) or 0.0,
        n_several(witnesses),
    )


def n_several(witnesses: Witnesses) -> float:
    """Return the mean number of answers of items with more than one; 1 without."""
    n_each = witnesses.n_each
    several = n_each[n_each > 1]
    return float(several.mean()) if len(several) else 1.0


def learned_pool(
    witnesses: Witnesses,
    selective: Float[np.ndarray, " A"],
    dependence: float | int | str,
    doubts: Doubts = DOUBTS,
    signs: Signs | None = None,
) -> Pool:
    """Return how much each witness counts, as far as the answers show it."""
    if dependence == "learn":
        rates = (signs or signs_of(witnesses, selective)).rates(doubts)
        correlation, low, high = (rates / (1 + rates)).tolist()
        votes = float(doubts.votes * rates[0] / (rates[0] + doubts.half))
    else:
        correlation, low, high, votes = (*[float(dependence)] * 3, 0.0)
    n_each = witnesses.n_each
    pool = Pool(
        dependence=correlation,
        between=(low, high),
        votes=votes,
        features=0.0,
        explained=0.0,
        exponent=1.0,
        shift=np.zeros(witnesses.answers.n_classes),
        lean=np.zeros(witnesses.answers.n_annotators),
        selective=selective,
        n_mean=float(n_each[n_each > 0].mean()) if (n_each > 0).any() else 1.0,
    )
    if witnesses.beyond is None:
        return pool
    some = np.random.RandomState(0).permutation(len(witnesses.beyond))[:N_LEARN]
    part = witnesses.of_items(np.sort(some))
    exponent, explained = exponent_of_features(part, pool)
    beside = exponents_beside(witnesses, pool, exponent)
    return pool._replace(
        exponent=beside[0], features=beside[1] * explained**0.5, explained=explained
    )


def exponents_beside(
    witnesses: Witnesses, pool: Pool, features: float
) -> tuple[float, float]:
    """Return the exponents of the crowd, at most 1, and of features beside it.

    With these, left-out answers are predicted best, from the others on the item and
    from the features. The search begins at `features`; if no item has two answers, it
    also ends there.
    """
    found = left_out(witnesses, pool.selective, N_BESIDE)
    if found is None:
        return 1.0, features
    rate = pool.dependence / max(1 - pool.dependence, SMALLEST_PROBA)

    def loss(logs: Float[np.ndarray, " 2"]) -> float:
        return float(-found.log_likelihood(rate, *np.exp(logs)).mean())

    start = np.clip(np.log([0.7, features]), *np.transpose(BESIDE))
    wanted: Any = {"xatol": 0.01, "fatol": 1e-6}
    best = minimize(loss, start, method="Nelder-Mead", bounds=BESIDE, options=wanted)
    exponent, of_features = np.exp(best.x).tolist()
    return exponent, of_features


def exponent_of_features(witnesses: Witnesses, pool: Pool) -> tuple[float, float]:
    """Return the exponent of predictions that suits the crowd's labels, and a share.

    The share of what these labels know about the classes that the predictions explain:
    (H − cross-entropy) / (H − mean entropy of the labels), H the entropy of the shares
    of the classes. The exponent in the labels is multiplied by the root of the share:
    predictions that explain little are no independent witness, they repeat what the
    crowd gets wrong.
    """
    answered = witnesses.answers.n_per_item > 0
    if witnesses.beyond is None or not answered.any():
        return 1.0, 0.0
    crowd_says = np.exp(said_by_crowd(witnesses, pool))[answered]
    beyond = witnesses.beyond[answered]
    shares = crowd_says.mean(0)
    log_shares = np.log(np.maximum(shares, SMALLEST_PROBA))
    exponent, cross = fitted_exponent(beyond, crowd_says, log_shares)
    unknown = float(crowd.entropy(shares))
    known = unknown - float(crowd.entropy(crowd_says).mean())
    explained = float(np.clip((unknown - cross) / max(known, 1e-9), 0.0, 1.0))
    return exponent, explained


def fitted_exponent(
    log_proba: Float[np.ndarray, "N C"],
    proba: Float[np.ndarray, "N C"],
    log_shares: Float[np.ndarray, " C"] | float = 0.0,
) -> tuple[float, float]:
    """Return the exponent of predictions that suits labels, and the cross-entropy.

    p is proportional to shares · exp(log_proba)^e.
    """

    def loss(log_power: Float[np.ndarray, " 1"]) -> tuple[float, Array]:
        power = np.exp(log_power)
        said = normalised(log_shares + power * log_proba)
        off = (np.exp(said) - proba) / len(proba)
        return -float((proba * said).sum(1).mean()), power * (log_proba * off).sum()

    limits = [LOG_EXPONENT]
    best = minimize(loss, np.zeros(1), jac=True, method="L-BFGS-B", bounds=limits)
    return float(np.exp(best.x[0])), float(best.fun)
