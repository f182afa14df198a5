"""Signs that annotators are not independent given the class, in the answers alone.

Three signs, none of which needs a known class: annotators whose answers are copies of
one another's, pairs who agree more than one skill per annotator explains, and
annotators who give one answer only, so that *whether* they answer is the evidence.
"""

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.special import betaln, expit

from wisecrowd.answers import Answers

MOST_PAIRS = 2e7  # ordered pairs of answers on one item that are counted at the most
COMMON = 20  # items that two annotators share before one can be called a copy
SAME = 0.98  # share of them with the same answer
ODD = 5  # of these answers, those that most others on the item contradict
LEAST_COMMON = 10  # items that a pair shares before its agreement is looked at
MOST_COMMON = 200  # items beyond which a pair counts no more
HELD = 5.0  # weight at which one annotator's skill is held at the mean of all
ROUNDS = 30  # of fitting one skill per annotator
NEARLY = 0.5  # of the way from the crowd's share of an answer to all answers
SKILLED = (4.0, 1.0)  # right and wrong answers that are assumed of an annotator


Sign = TypeVar("Sign")


def once(sign: Callable[[Answers], Sign]) -> Callable[[Answers], Sign]:
    """Compute a sign once per crowd: labels are made in several rounds.

    A sign that holds the answers themselves would keep them in memory for ever.
    """
    known: WeakKeyDictionary[Answers, Sign] = WeakKeyDictionary()

    @wraps(sign)
    def kept(answers: Answers) -> Sign:
        if answers not in known:
            known[answers] = sign(answers)
        return known[answers]

    return kept


class Pairs(NamedTuple):
    """Pairs of annotators with enough items in common.

    Attributes
    ----------
    first, second : arrays (P,)
        The annotators.
    common : array (P,)
        Number of items that both answered.
    agree : array (P,)
        Number of them on which they gave the same answer.
    """

    first: Int[np.ndarray, " P"]
    second: Int[np.ndarray, " P"]
    common: Float[np.ndarray, " P"]
    agree: Float[np.ndarray, " P"]


def some_items(answers: Answers, n_pairs: float = MOST_PAIRS) -> Answers:
    """Return the answers on so many items that their pairs can be counted."""
    n_each = answers.n_per_item.astype(float)
    order = np.random.RandomState(0).permutation(answers.n_items)
    kept = order[np.cumsum(n_each[order] ** 2) <= n_pairs]
    return answers if len(kept) == answers.n_items else answers.of_items(np.sort(kept))


def pairs(answers: Answers, least: int = LEAST_COMMON) -> Pairs:
    """Return how often two annotators agree; every pair of annotators once."""
    size = answers.n_annotators, answers.n_items
    ones = np.ones(len(answers))
    seen = sparse.csr_array((ones, (answers.annotator, answers.item)), size)
    common = sparse.triu(seen @ seen.T, 1).tocoo()
    enough = common.data >= least
    first, second = common.row[enough], common.col[enough]
    agree = sparse.csr_array((answers.n_annotators,) * 2)
    for k in range(answers.n_answers):
        rows = answers.answer == k
        said = (ones[rows], (answers.annotator[rows], answers.item[rows]))
        gave = sparse.csr_array(said, size)
        agree = agree + gave @ gave.T
    both = np.asarray(agree[first, second]).ravel()
    return Pairs(first, second, common.data[enough], both)


@once
def excess_agreement(answers: Answers) -> float | None:
    """Return by how much pairs agree in other ways than one skill each explains.

    Annotators who are independent given the class, each with a skill s, agree beyond
    chance by s s' (Cohen's κ). One s per annotator is fitted to the κ of all pairs; the
    root mean square of what is left, beyond sampling noise, is returned. It is 0 for
    simulated annotators who are independent, and above 0 where some err together. None
    if no three pairs share enough items.
    """
    found = pairs(some_items(answers))
    if len(found.first) < 3:
        return None
    kappa = beyond_chance(answers, found)
    skill = skills_of_pairs(found, kappa, answers.n_annotators)
    left = kappa - skill[found.first] * skill[found.second]
    noise = np.maximum(1 - kappa**2, 0.05) / found.common
    weight = np.minimum(found.common, MOST_COMMON)
    return float(np.sqrt(max(np.average(left**2 - noise, weights=weight), 0.0)))


def beyond_chance(answers: Answers, found: Pairs) -> Float[np.ndarray, " P"]:
    """Cohen's κ of every pair; chance is two draws from their own shares of answers."""
    shares = answers.counts().sum(0) / len(answers)
    own = answers.counts("annotator") + shares
    own = own / own.sum(1, keepdims=True)
    chance = (own[found.first] * own[found.second]).sum(1)
    kappa: Float[np.ndarray, " P"] = (found.agree / found.common - chance) / np.maximum(
        1 - chance, 0.05
    )
    return kappa


def skills_of_pairs(
    found: Pairs, kappa: Float[np.ndarray, " P"], n_annotators: int
) -> Float[np.ndarray, " A"]:
    """Return s of every annotator, so that s s' is close to κ; robust least squares."""
    first, second = found.first, found.second
    error = 1 / np.sqrt(found.common)
    n_pairs = sums(
        first, second, np.ones(len(first)), np.ones(len(first)), n_annotators
    )
    start = np.sqrt(max(np.average(kappa, weights=1 / error), 0.01))
    skill = np.full(n_annotators, start)
    for _ in range(ROUNDS):
        left = kappa - skill[first] * skill[second]
        weight = 1 / np.maximum(np.abs(left), error) / error
        mean = np.average(skill, weights=n_pairs)
        pull = sums(first, second, weight * kappa * skill[second],
                    weight * kappa * skill[first], n_annotators)  # fmt: skip
        size = sums(first, second, weight * skill[second] ** 2,
                    weight * skill[first] ** 2, n_annotators)  # fmt: skip
        # Half of the way: if all skills are too large, whole steps make them too small.
        better = (pull + HELD * mean) / (size + HELD)
        skill = np.clip((skill + better) / 2, -0.99, 0.99)
    return skill


def sums(
    first: Int[np.ndarray, " P"],
    second: Int[np.ndarray, " P"],
    of_first: Float[np.ndarray, " P"],
    of_second: Float[np.ndarray, " P"],
    n_annotators: int,
) -> Float[np.ndarray, " A"]:
    """Add up the values that the pairs of every annotator have for it."""
    return np.bincount(first, of_first, n_annotators) + np.bincount(
        second, of_second, n_annotators
    )


@once
def copies(answers: Answers) -> Int[np.ndarray, " A"]:
    """Return the group of every annotator; copies of one another are in one group.

    Two annotators are copies if they gave the same answer on nearly all common items,
    and on several of them one that most others contradict: good annotators agree too,
    but not in their mistakes. Who gives one answer only is nobody's copy.
    """
    n_annotators = answers.n_annotators
    found = pairs(some_items(answers), COMMON)
    same = found.agree >= SAME * found.common
    varied = answers.counts("annotator")
    varied = varied.max(1) < SAME * varied.sum(1)
    kept = np.flatnonzero(same & varied[found.first] & varied[found.second])
    linked = [p for p in kept.tolist() if _share_odd_answers(answers, found, p)]
    links = (np.ones(len(linked)), (found.first[linked], found.second[linked]))
    graph = sparse.csr_array(links, (n_annotators, n_annotators))
    group = sparse.csgraph.connected_components(graph, directed=False)[1]
    return np.asarray(group)


def _share_odd_answers(answers: Answers, found: Pairs, pair: int) -> bool:
    """Return whether two annotators gave the same odd answers on several items."""
    rows = np.flatnonzero(answers.annotator == found.first[pair])
    other = answers.annotator == found.second[pair]
    said = np.full(answers.n_items, -1)
    said[answers.item[other]] = answers.answer[other]
    rows = rows[said[answers.item[rows]] == answers.answer[rows]]
    item, named = answers.item[rows], answers.answer[rows]
    votes = answers.counts()
    others = votes[item].sum(1) - 2
    agree = votes[item, named] - 2
    return int(((others > 0) & (2 * agree < others)).sum()) >= ODD


def as_one(
    answers: Answers, group: Int[np.ndarray, " A"]
) -> tuple[Answers, Int[np.ndarray, " A"]]:
    """Return the answers as if those of a group were its first member's, each once.

    Then the first member of the group of every annotator.
    """
    _, first, where = np.unique(group, return_index=True, return_inverse=True)
    member = first[where]
    if (member == np.arange(len(group))).all():
        return answers, member
    columns = answers.item, member[answers.annotator], answers.answer
    return Answers.from_codes(*columns, answers.shape).distinct(), member


def weight_of_copies(
    answers: Answers, group: Int[np.ndarray, " A"]
) -> Float[np.ndarray, " L"]:
    """Return 1 / (answers of the same group on the item): a group has one vote."""
    key = answers.item.astype(np.int64) * (int(group.max(initial=0)) + 1)
    _, where, n_each = np.unique(
        key + group[answers.annotator], return_inverse=True, return_counts=True
    )
    return 1 / n_each[where]


def selective(answers: Answers) -> Float[np.ndarray, " A"]:
    """Return the probability that whether an annotator answers is the evidence.

    An annotator who gives one answer nearly always either gives it to everything (a
    spammer, whose answers say nothing), or was shown, or answers, mostly items of one
    class (a rule, a volunteer with a run of photographs of one species). The others on
    the same items decide: do they name that class more often than elsewhere? Where
    most answers come from annotators who give one answer only, nobody can be compared,
    and all of them are taken as selective. 0 for everybody whose answers vary.
    """
    counts = answers.counts("annotator")
    return selective_by(counts, *agreeing(answers, counts.argmax(1)))


def selective_by(
    counts: Int[np.ndarray, "A K"],
    n_agree: Float[np.ndarray, " A"],
    n_seen: Float[np.ndarray, " A"],
) -> Float[np.ndarray, " A"]:
    """Return :func:`selective`, from sums over the items.

    `counts` are the answers of every annotator, the others are those of
    :func:`agreeing`.
    """
    top, total, n_answers = counts.argmax(1), counts.sum(1), counts.sum()
    largest = counts.max(1)
    only = (largest == total) & (total > 0)
    if total @ only > 0.5 * n_answers:
        return only.astype(float)
    share = np.clip(counts.sum(0) / max(n_answers, 1), 0.02, 0.98)[top]
    a, b = SKILLED
    log_odds = betaln(a + n_agree, b + n_seen - n_agree) - betaln(a, b)
    log_odds -= n_agree * np.log(share) + (n_seen - n_agree) * np.log1p(-share)
    nearly = (largest - share * total >= NEARLY * (1 - share) * total) & (total > 0)
    return np.where(nearly, expit(log_odds), 0.0)


def agreeing(
    answers: Answers, named: Int[np.ndarray, " A"]
) -> tuple[Float[np.ndarray, " A"], Float[np.ndarray, " A"]]:
    """Return on how many items of an annotator others name a class, and of how many.

    An item counts by the share of its other answers that name the class.
    """
    item, who = answers.item, answers.annotator
    votes = answers.counts().astype(float)
    others = votes.sum(1)[item] - 1
    agree = votes[item, named[who]] - (answers.answer == named[who])
    agree = np.divide(agree, others, out=np.zeros(len(answers)), where=others > 0)
    n_agree = np.bincount(who, agree, answers.n_annotators)
    return n_agree, np.bincount(who, others > 0, answers.n_annotators).astype(float)
