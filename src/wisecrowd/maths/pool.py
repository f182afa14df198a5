"""The pool: labels made in one place, from what each witness says about an item.

Witnesses are the answers, read in two ways (confusion matrices under two priors, each
item's own part left out), the plain votes, the predictions of a classifier that has
not seen the item's answers, and gold. How much each counts is one small record,
:class:`Pool`. The log-probability of class c of an item with n answers is, up to a
constant,

    t [(1 − v) mean_m (log π_m[c] / √d̄ + Σ log R_m[a, c, y] / d(n)) + v log votes[c]]
      + x log features[c] + b[c] + Σ l[a] log R[a, c, y] / d(n),

with d(n) = 1 + ρ (n − 1), the design effect of survey statistics: n answers whose
mistakes have the correlation ρ carry as much information as n / d(n) independent ones,
never more than 1 / ρ. Without gold t = 1, b = 0 and l = 0.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp

from wisecrowd._checks import number
from wisecrowd._records import COUNT, LOG, PROBA, record
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dirichlet, together
from wisecrowd.metrics.calibration import Calibration, calibration

CLASS_PRIOR = 10.0
"""Items of each class that are assumed before the answers. With one, as is usual, a
small crowd of weak annotators ends with nearly all items in one class, sure of it."""
N_LEARN = 20_000  # most items that a number is learned from
N_GOLD = 2000  # most items with gold that are used
N_FOLDS = 5
LIKELY = 1.35  # nats below the highest log-likelihood: a 90 % interval
RATES = np.append(0.0, np.exp(np.linspace(np.log(0.01), np.log(5), 16)))
LOG_EXPONENT = (-4.0, 1.4)
BESIDE = [(-3.0, 0.0), LOG_EXPONENT]  # logs of exponents of crowd and features
N_BESIDE = 5000  # most items from which they are learned
SMALLEST_PREDICTION = 1e-4  # of a classifier's, for a class
SMALLEST_PROBA = 1e-12  # of a class, in logarithms of probabilities


class Doubts(NamedTuple):
    """The constants that change a label. `experiments/crowds.py` has their evidence.

    Attributes
    ----------
    left_out : float
        How many times the rate is taken that left-out answers show: answers that are
        wrong together look right to one another.
    excess : float
        The excess agreement of pairs at which the rate rises by ½. It rises by no more
        than 1, because the excess does not say how wrong the crowd is.
    few : float
        The rate that is added with two answers per item, which cannot show their
        dependence; divided by the number of answers beyond one.
    votes : float
        The largest weight of the votes.
    half : float
        The rate at which the votes have half of that weight.
    gold : float
        Standard deviation, before gold, of log t, b and log x.
    annotator : float
        Standard deviation, before gold, of the weight of one annotator, l.
    """

    left_out: float = 2.0
    excess: float = 0.1
    few: float = 0.5
    votes: float = 0.5
    half: float = 0.3
    gold: float = 0.5
    annotator: float = 1.0


DOUBTS = Doubts()


@record
class Pool(NamedTuple):
    """How much each witness counts.

    Attributes
    ----------
    dependence : float
        ρ, the correlation of the mistakes of two answers on one item.
    between : tuple of float
        The ends of its 90 % interval.
    votes : float
        v, the weight of the plain votes.
    features : float
        x, the exponent of what a classifier predicts.
    explained : float
        The share of what the crowd's labels know about the classes that the
        classifier explains.
    exponent : float
        t, the exponent of what the crowd says.
    shift : array (C,)
        b, what is added for each class.
    lean : array (A,)
        l, what is added to the weight of each annotator.
    selective : array (A,)
        Probability that whether the annotator answers is the evidence.
    n_mean : float
        Mean number of answers of the items that have any.
    """

    dependence: Annotated[float, PROBA]
    between: Annotated[tuple[float, float], PROBA]
    votes: Annotated[float, PROBA]
    features: Annotated[float, COUNT]
    explained: Annotated[float, PROBA]
    exponent: Annotated[float, COUNT]
    shift: Annotated[Float[np.ndarray, " C"], LOG]
    lean: Annotated[Float[np.ndarray, " A"], LOG]
    selective: Annotated[Float[np.ndarray, " A"], PROBA]
    n_mean: Annotated[float, COUNT]

    def of(self, annotators: Int[np.ndarray, " B"]) -> "Pool":
        """Return the pool for some annotators; -1 stands for one never seen."""
        return self._replace(
            lean=np.append(self.lean, 0.0)[annotators],
            selective=np.append(self.selective, 0.0)[annotators],
        )

    def worth(self, dependence: float) -> float:
        """Return how many independent answers the mean number of answers is worth."""
        return self.n_mean / float(design_effect(self.n_mean, dependence))


class Reading(NamedTuple):
    """The answers as one model of the annotators reads them.

    Attributes
    ----------
    counts : array (A, C, K)
        Dirichlet concentrations of the rows.
    totals : array (A, C)
        What the counts of a row are divided by.
    log_class : array (C,)
        Log of the shares of the classes.
    """

    counts: Float[np.ndarray, "A C K"]
    totals: Float[np.ndarray, "A C"]
    log_class: Float[np.ndarray, " C"]


class Witnesses(NamedTuple):
    """What is known about the items, their gold aside.

    Attributes
    ----------
    answers : Answers
        The answers, no repeats.
    weight : array (L,)
        The weight of every answer; below 1 for copies.
    proba : array (N, C) or None
        The labels that the readings were learned from, whose own part is left out.
        None: the items are new.
    readings : tuple of Reading
        The models of the annotators.
    beyond : array (N, C) or None
        What a classifier says beyond the shares of the classes, in logs, without
        having seen the item's answers.
    verdict : array (N, C) or None
        Log of the labels of a method that cannot leave an item's own part out. It
        stands for what the readings say about the items.
    """

    answers: Answers
    weight: Float[np.ndarray, " L"]
    proba: Float[np.ndarray, "N C"] | None
    readings: tuple[Reading, ...]
    beyond: Float[np.ndarray, "N C"] | None = None
    verdict: Float[np.ndarray, "N C"] | None = None

    def of_items(self, items: Int[np.ndarray, " n"]) -> "Witnesses":
        """Return what is known about some items, whose numbers are in order."""
        rows = np.isin(self.answers.item, items)
        return self._replace(
            answers=self.answers.of_items(items),
            weight=self.weight[rows],
            proba=None if self.proba is None else self.proba[items],
            beyond=None if self.beyond is None else self.beyond[items],
            verdict=None if self.verdict is None else self.verdict[items],
        )

    @property
    def n_each(self) -> Float[np.ndarray, " N"]:
        """The number of answers of every item; copies count as one."""
        n_each: Float[np.ndarray, " N"] = self.answers.per_item @ self.weight
        return n_each


# -- readings ----------------------------------------------------------------------


def readings(
    answers: Answers,
    proba: Float[np.ndarray, "N C"],
    priors: tuple[Float[np.ndarray, "P C K"], ...],
    selective: Float[np.ndarray, " A"],
) -> tuple[Reading, ...]:
    """Return what these labels teach about the annotators, under each prior."""
    seen = crowd.soft_counts(answers, proba)
    return readings_by(seen, proba.sum(0), priors, selective)


def readings_by(
    seen: Float[np.ndarray, "A C K"],
    n_each: Float[np.ndarray, " C"],
    priors: tuple[Float[np.ndarray, "P C K"], ...],
    selective: Float[np.ndarray, " A"],
) -> tuple[Reading, ...]:
    """Return :func:`readings`, from sums over the items.

    `seen` are the soft counts of the answers, `n_each` the items of each class.
    """
    shares = dirichlet.mean(CLASS_PRIOR + n_each)
    return tuple(
        Reading(
            prior + seen,
            row_totals(prior + seen, prior, shares, selective),
            np.log(shares),
        )
        for prior in priors
    )


def row_totals(
    counts: Float[np.ndarray, "A C K"],
    prior: Float[np.ndarray, "#A C K"],
    shares: Float[np.ndarray, " C"],
    selective: Float[np.ndarray, " A"],
) -> Float[np.ndarray, "A C"]:
    """Return what the counts of a row are divided by.

    As a rule their sum: p(answer | class, it was answered). Of an annotator who
    answers selectively, what would be expected if the items were drawn at random, so
    that it is p(answer, and answered | class) up to a constant.
    """
    totals: Float[np.ndarray, "A C"] = counts.sum(2)
    some = np.flatnonzero(selective)
    if len(some):
        own = np.broadcast_to(prior, counts.shape)[some].sum(2)
        n_given = (totals[some] - own).sum(1, keepdims=True)
        drawn = n_given * shares + own
        power = selective[some, None]
        totals[some] = drawn**power * totals[some] ** (1 - power)
    return totals


def log_given(
    reading: Reading,
    answers: Answers,
    proba: Float[np.ndarray, "N C"] | None,
    rows: slice,
) -> Float[np.ndarray, "rows C"]:
    """Return log p(y | z = c) of some answers, the item's own part left out."""
    return np.log(
        crowd.given_others(answers, reading.counts, proba, rows, reading.totals)
    )


def evidence(
    witnesses: Witnesses,
    reading: Reading,
    lean: Float[np.ndarray, " A"] | None = None,
) -> Float[np.ndarray, "N C"]:
    """Σ over an item's answers of weight × log p(y | z = c), or of lean × that."""
    answers = witnesses.answers
    weight = witnesses.weight
    if lean is not None:
        weight = weight * lean[answers.annotator]
    out = np.empty((answers.n_items, answers.n_classes))
    for first in range(0, answers.n_items, crowd.BLOCK):  # what fits into a cache
        start = answers.row_start[first : first + crowd.BLOCK + 1]
        rows = slice(start[0], start[-1])
        said = log_given(reading, answers, witnesses.proba, rows)
        add_up = sparse.csr_array(
            (weight[rows], np.arange(len(said)), start - start[0]),
            (len(start) - 1, len(said)),
        )
        out[first : first + crowd.BLOCK] = add_up @ said
    return out


# -- labels ------------------------------------------------------------------------


def design_effect(
    n_answers: Float[np.ndarray, "*N"] | float, dependence: float
) -> Float[np.ndarray, "*N"]:
    """Return 1 + ρ (n − 1): by how much n answers are worth less than n."""
    return np.asarray(1 + dependence * np.maximum(np.asarray(n_answers, float) - 1, 0))


def log_votes(witnesses: Witnesses) -> Float[np.ndarray, "N C"]:
    """Return the log of the share of the votes, with one vote spread over all."""
    answers = witnesses.answers
    named = answers.answer < answers.n_classes
    cell = answers.item[named].astype(np.int64) * answers.n_classes
    size = answers.n_items * answers.n_classes
    counts = np.bincount(cell + answers.answer[named], witnesses.weight[named], size)
    votes = counts.reshape(answers.n_items, -1) + 1 / answers.n_classes
    share: Float[np.ndarray, "N C"] = votes / votes.sum(1, keepdims=True)
    return np.log(share)


def said_by_crowd(witnesses: Witnesses, pool: Pool) -> Float[np.ndarray, "N C"]:
    """Return what the crowd says about every class, in normalised logs."""
    n_each = witnesses.n_each
    divided = design_effect(n_each, pool.dependence)[:, None]
    of_shares = float(design_effect(pool.n_mean, pool.dependence)) ** 0.5
    total: Float[np.ndarray, "N C"] = pool.votes * log_votes(witnesses)
    if witnesses.verdict is not None:
        return normalised(total + (1 - pool.votes) * witnesses.verdict / divided)
    for reading in witnesses.readings:
        said = reading.log_class / of_shares + evidence(witnesses, reading) / divided
        total += (1 - pool.votes) / len(witnesses.readings) * normalised(said)
    return normalised(total)


def normalised(log_joint: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
    """Return logs of probabilities that sum to one."""
    return log_joint - logsumexp(log_joint, axis=1, keepdims=True)


def log_labels(witnesses: Witnesses, pool: Pool) -> Float[np.ndarray, "N C"]:
    """Return log p(class) of every item, its gold not used, up to a constant."""
    out = pool.exponent * said_by_crowd(witnesses, pool) + pool.shift
    if witnesses.beyond is not None:
        out += pool.features * witnesses.beyond
    if pool.lean.any():
        n_each = witnesses.n_each
        divided = design_effect(n_each, pool.dependence)[:, None]
        for reading in witnesses.readings:
            more = evidence(witnesses, reading, pool.lean)
            out += more / divided / len(witnesses.readings)
    return out


def labels(
    witnesses: Witnesses, pool: Pool, gold: Int[np.ndarray, " N"]
) -> Float[np.ndarray, "N C"]:
    """Return p(class) of every item; certain where it is known."""
    return crowd.posterior(crowd.clamped(log_labels(witnesses, pool), gold))[0]


# -- how much each witness counts ----------------------------------------------------


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


# -- gold ----------------------------------------------------------------------------


def pool_with_gold(
    witnesses: Witnesses,
    pool: Pool,
    gold: Int[np.ndarray, " G"],
    doubts: Doubts = DOUBTS,
) -> Pool:
    """Return the most probable pool, given the classes of these items.

    Maximises Σ log p(gold | witnesses) over log t, b, log x and l, which are normal
    before the gold. Each item is predicted as if its class were not known.
    """
    n_classes, who = witnesses.answers.n_classes, np.unique(witnesses.answers.annotator)
    said = said_by_crowd(witnesses, pool)
    features = np.zeros_like(said) if witnesses.beyond is None else witnesses.beyond
    by_annotator = weighted_answers(witnesses, pool)
    n_fixed = 2 + n_classes
    spread = np.full(n_fixed + len(who), doubts.gold)
    spread[n_fixed:] = doubts.annotator
    place = np.searchsorted(who, witnesses.answers.annotator)
    rows = np.arange(len(gold))
    add_up = witnesses.answers.per_item

    def unlikely(z: Float[np.ndarray, " n"]) -> tuple[float, Float[np.ndarray, " n"]]:
        theta = spread * z
        exponent = pool.exponent * np.exp(theta[0])
        of_features = pool.features * np.exp(theta[1])
        lean = theta[n_fixed:][place]
        joint = exponent * said + of_features * features + theta[2:n_fixed]
        joint = normalised(joint + add_up @ (lean[:, None] * by_annotator))
        off = np.exp(joint)
        off[rows, gold] -= 1
        slope = np.concatenate(
            [
                [exponent * (off * said).sum(), of_features * (off * features).sum()],
                off.sum(0),
                np.bincount(
                    place,
                    (off[witnesses.answers.item] * by_annotator).sum(1),
                    minlength=len(who),
                ),
            ]
        )
        loss = 0.5 * (z**2).sum() - joint[rows, gold].sum()
        return float(loss), spread * slope + z

    best = minimize(unlikely, np.zeros(len(spread)), jac=True, method="L-BFGS-B")
    theta = spread * best.x
    lean = np.zeros(witnesses.answers.n_annotators)
    lean[who] = theta[n_fixed:]
    return pool._replace(
        exponent=pool.exponent * float(np.exp(theta[0])),
        features=pool.features * float(np.exp(theta[1])),
        shift=theta[2:n_fixed],
        lean=lean,
    )


def unturned(pool: Pool) -> Pool:
    """Return the pool with no annotator's weight, (1 − v) t + l, below 0.

    One wrong gold class would else turn the labels of all items around. Who answers
    wrongly on purpose is known by the readings, and needs no negative weight.
    """
    return pool._replace(lean=np.maximum(pool.lean, -(1 - pool.votes) * pool.exponent))


def weighted_answers(witnesses: Witnesses, pool: Pool) -> Float[np.ndarray, "L C"]:
    """Return log p(y | z = c) of every answer, as much as it counts."""
    answers = witnesses.answers
    n_each = witnesses.n_each
    weight = witnesses.weight / design_effect(n_each, pool.dependence)[answers.item]
    said = [
        log_given(reading, answers, witnesses.proba, slice(None))
        for reading in witnesses.readings
    ]
    mean: Float[np.ndarray, "L C"] = np.mean(said, axis=0)
    return weight[:, None] * mean


def cross_fitted(
    witnesses: Witnesses, pool: Pool, gold: Int[np.ndarray, " G"], doubts: Doubts
) -> Float[np.ndarray, "G C"]:
    """Return p(class) of every item, by a pool that the gold of others has set."""
    fold = np.random.RandomState(0).permutation(len(gold)) % N_FOLDS
    out = np.empty((len(gold), witnesses.answers.n_classes))
    for f in np.unique(fold):
        held, others = np.flatnonzero(fold == f), np.flatnonzero(fold != f)
        of_others = pool
        if len(others):
            part = witnesses.of_items(others)
            of_others = unturned(pool_with_gold(part, pool, gold[others], doubts))
        said = log_labels(witnesses.of_items(held), of_others)
        out[held] = crowd.posterior(said)[0]
    return out


# -- all of it -----------------------------------------------------------------------


class Pooled(NamedTuple):
    """Labels, how much each witness counted, and how honest the labels are by gold.

    Also the witnesses themselves, by which a label can be explained.
    """

    proba: Float[np.ndarray, "N C"]
    pool: Pool
    calibration: Calibration | None
    witnesses: Witnesses | None = None


def pooled(  # noqa: PLR0913  its settings are its arguments
    answers: Answers,
    gold: Int[np.ndarray, " N"],
    proba: Float[np.ndarray, "N C"],
    priors: tuple[Float[np.ndarray, "P C K"], ...],
    dependence: float | int | str,
    *,
    log_proba: Float[np.ndarray, "N C"] | None = None,
    own_labels: bool = False,
    group: Int[np.ndarray, " A"] | None = None,
    doubts: Doubts = DOUBTS,
) -> Pooled:
    """Return the labels of a method, made from all witnesses.

    Parameters
    ----------
    answers, gold
        What is known about the items.
    proba : array (N, C)
        The labels of the method, from which the annotators' matrices are learned.
    priors : tuple of arrays (1 or A, C, K)
        The prior of each reading.
    dependence : "learn" or float
        ρ; with a number, the votes do not count.
    log_proba : array (N, C), optional
        Log of predictions that have not seen the item's answers.
    own_labels : bool
        Whether the labels of the method stand for what the answers say: it cannot
        leave an item's own part out.
    group : array (A,), optional
        Families of annotators, of which each has one vote per item. None: copies are
        found.
    """
    answers = answers.distinct()
    member = np.arange(answers.n_annotators)
    if dependence == "learn" and group is None:
        answers, member = together.as_one(answers, together.copies(answers))
    found = witnesses_of(answers, proba, priors, dependence, group)
    if log_proba is not None:
        found = found._replace(beyond=beyond_shares(log_proba))
    if own_labels:
        found = found._replace(verdict=np.log(np.maximum(proba, SMALLEST_PROBA)))
    pool = learned_pool(found, together.selective(answers), dependence, doubts)
    # Nothing is said about an item without answers and features: it tests nothing.
    silent = (answers.n_per_item == 0) & (log_proba is None)
    known = rows_with_gold(np.where(silent, -1, gold))
    honest = None
    if len(known):
        ruler = found.of_items(known)
        pool, honest = ruled(ruler, pool, gold[known], dependence, doubts)
    return Pooled(labels(found, pool, gold), pool.of(member), honest, found)


def rows_with_gold(gold: Int[np.ndarray, " N"]) -> Int[np.ndarray, " G"]:
    """Return the items with gold, in order; of more than `N_GOLD`, some."""
    known = np.flatnonzero(gold >= 0)
    return np.sort(np.random.RandomState(0).permutation(known)[:N_GOLD])


def ruled(
    witnesses: Witnesses,
    pool: Pool,
    gold: Int[np.ndarray, " G"],
    dependence: float | int | str,
    doubts: Doubts = DOUBTS,
) -> tuple[Pool, Calibration]:
    """Return the pool that gold has set, and how honest labels are by it."""
    if dependence != "learn":
        predicted = crowd.posterior(log_labels(witnesses, pool))[0]
        return pool, calibration(gold, predicted)
    predicted = cross_fitted(witnesses, pool, gold, doubts)
    after = unturned(pool_with_gold(witnesses, pool, gold, doubts))
    return after, calibration(gold, predicted)


def witnesses_of(
    answers: Answers,
    proba: Float[np.ndarray, "N C"],
    priors: tuple[Float[np.ndarray, "P C K"], ...],
    dependence: float | int | str,
    group: Int[np.ndarray, " A"] | None = None,
) -> Witnesses:
    """Return what distinct answers say, the annotators learned from these labels."""
    weight = np.ones(len(answers))
    if group is not None or dependence == "learn":
        group = np.arange(answers.n_annotators) if group is None else group
        weight = together.weight_of_copies(answers, group)
    found = readings(answers, proba, priors, together.selective(answers))
    return Witnesses(answers, weight, proba, found)


def exponent_for_new(
    alone: Float[np.ndarray, "N C"], found: Pooled, gold: Int[np.ndarray, " N"]
) -> float:
    """Return the exponent of predictions for new items, in logs `alone`.

    It suits the labels of the items; gold labels count as what they are.
    """
    some = np.random.RandomState(0).permutation(len(alone))[:N_LEARN]
    return fitted_exponent(alone[some], found.proba[some])[0]


def with_predictions(
    found: Pooled,
    answers: Answers,
    gold: Int[np.ndarray, " N"],
    log_proba: Float[np.ndarray, "N C"],
) -> Pooled:
    """Return the labels, with items that nobody answered predicted like new ones."""
    new = (answers.n_per_item == 0) & (gold < 0)
    predicted = crowd.posterior(log_proba)[0]
    return found._replace(proba=np.where(new[:, None], predicted, found.proba))


def labels_of_new(
    answers: Answers,
    reading: Reading,
    pool: Pool,
    beyond: Float[np.ndarray, "N C"] | None,
) -> Float[np.ndarray, "N C"]:
    """Return p(class) of new items from their answers, and from predictions."""
    answers = answers.distinct()
    new = Witnesses(answers, np.ones(len(answers)), None, (reading,), beyond)
    return crowd.posterior(log_labels(new, pool))[0]


def beyond_shares(log_proba: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
    """Return log p − log p̄: what predictions add to the shares of the classes.

    The answers show the shares as well; p̄ is the mean of p over the items.
    """
    out: Float[np.ndarray, "N C"] = log_proba - np.log(np.exp(log_proba).mean(0))
    return out


def bounded_log(proba: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
    """Return the log of predictions: no model rules out a class for certain."""
    kept = np.maximum(proba, SMALLEST_PREDICTION)
    out: Float[np.ndarray, "N C"] = np.log(kept / kept.sum(1, keepdims=True))
    return out


def checked_dependence(given: object) -> None:
    """Raise an error if the setting is neither "learn" nor a number from 0 to 1."""
    if given != "learn":
        wanted = "'learn' or from 0 to 1"
        number(given, "dependence", wanted, lambda v: 0 <= v <= 1)
