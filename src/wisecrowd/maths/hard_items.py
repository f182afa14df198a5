"""Labels of items of which some are hard: they mislead several annotators at once.

An item of class z is easy, or hard with a *decoy* w, a class that it looks like. On a
hard item a part λ of every answer is given as if the item were of class w:

    p(y | z, easy) = R[a, z, y],    p(y | z, w) = (1 − λ) R[a, z, y] + λ R[a, w, y].

A share h of the items is hard, and all decoys are equally probable before the answers.
Summed over the decoys, the evidence for z is

    log[(1 − h) Π p(y | z, easy)^t + h / (C − 1) Σ_{w ≠ z} Π p(y | z, w)^t].

The exponent t is the weight of dependent answers (`maths/dependence.py`). A decoy that
nobody named explains no answer, so only classes that were named are summed over.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit, logit

from wisecrowd.answers import Answers
from wisecrowd.maths import crowd

HARD_SHARE = 0.04  # h; chosen on eight real crowds, each scored with the others' choice
DECOY_PART = 0.5  # λ
HELD = 2000  # items that a learned share is held at `HARD_SHARE` by
N_LEARN, LEARN_STEPS = 20_000, 5  # items it is learned from, and steps of EM


class HardItems(NamedTuple):
    """Which items are hard, and what they are mistaken for.

    Attributes
    ----------
    proba : array (N,)
        Probability that the item is hard.
    decoy : array (N,)
        Code of the most probable decoy if the item is hard and its label is right; -1
        where nobody named another class than the label.
    """

    proba: Float[np.ndarray, " N"]
    decoy: Int[np.ndarray, " N"]


class FinalLabels(NamedTuple):
    """What the answers say about every item.

    Attributes
    ----------
    proba : array (N, C)
        Probability of every class.
    hard : HardItems or None
        Which items are hard; None where no item can be.
    """

    proba: Float[np.ndarray, "N C"]
    hard: HardItems | None


def labels_with_decoys(
    answers: Answers,
    given: Float[np.ndarray, "L C"],
    weight: Float[np.ndarray, "N 1"],
    log_prior: Float[np.ndarray, "#N C"],
    gold: Int[np.ndarray, " N"],
    hard_share: float = HARD_SHARE,
) -> FinalLabels:
    """Return q(z) of every item, with hard items and their decoys summed over.

    Parameters
    ----------
    answers : Answers
        The answers on the items.
    given : array (L, C)
        p(y | z = c, easy) of every answer.
    weight : array (N, 1)
        The exponent t.
    log_prior : array (N or 1, C)
        What is known of the classes besides the answers.
    gold : array (N,)
        Codes of the classes known for certain, -1 elsewhere.
    hard_share : float
        h; 0 where answers are independent given the class.
    """
    n_items, n_classes = answers.n_items, answers.n_classes
    prior = crowd.clamped(np.broadcast_to(log_prior, (n_items, n_classes)), gold)
    easy = np.log1p(-hard_share) + _if_easy(answers, given, weight, prior)
    if not hard_share:
        return FinalLabels(crowd.posterior(easy)[0], None)
    total = easy.copy()
    best, decoy = np.full(easy.shape, -np.inf), np.full(easy.shape, -1, np.int32)
    log_share = np.log(hard_share / (n_classes - 1))
    for items, named in decoys(answers):
        joint = log_share + prior[items] + _misled(answers, given, weight, items, named)
        total[items] = np.logaddexp(total[items], joint)
        better = joint > best[items]
        best[items] = np.maximum(joint, best[items])
        decoy[items] = np.where(better, named[:, None], decoy[items])
    proba, norm = crowd.posterior(total)
    all_easy = np.logaddexp.reduce(easy, axis=1)
    hard = np.clip(1 - np.exp(all_easy - norm), 0.0, 1.0)
    of_label = decoy[np.arange(len(proba)), proba.argmax(1)]
    return FinalLabels(proba, HardItems(hard, of_label))


def learned_share(
    answers: Answers,
    given: Float[np.ndarray, "L C"],
    weight: Float[np.ndarray, "N 1"],
    log_prior: Float[np.ndarray, "N C"],
) -> float:
    """Return the share of hard items by a few steps of EM, under a Beta prior.

    The prior has the mean `HARD_SHARE` and the weight of `HELD` items: a small crowd
    keeps it, and a large one whose answers are independent has hardly any hard items.
    """
    log_odds = evidence_of_hard(answers, given, weight, log_prior)
    share = HARD_SHARE
    for _ in range(LEARN_STEPS):
        hard = expit(log_odds + logit(share))
        share = (hard.sum() + HELD * HARD_SHARE) / (answers.n_items + HELD)
    return float(share)


def items_to_learn_from(n_items: int) -> Int[np.ndarray, " n"]:
    """Return the items that the share of hard ones is learned from: all, or some."""
    some = np.random.RandomState(0).permutation(n_items)[:N_LEARN]
    return np.sort(some)


def evidence_of_hard(
    answers: Answers,
    given: Float[np.ndarray, "L C"],
    weight: Float[np.ndarray, "N 1"],
    log_prior: Float[np.ndarray, "N C"],
) -> Float[np.ndarray, " N"]:
    """Return log p(answers | hard) − log p(answers | easy), classes summed over.

    The share of hard items is learned from it: it does not depend on the share.
    """
    easy = np.logaddexp.reduce(_if_easy(answers, given, weight, log_prior), axis=1)
    hard = np.full(answers.n_items, -np.inf)
    for items, named in decoys(answers):
        joint = log_prior[items] + _misled(answers, given, weight, items, named)
        hard[items] = np.logaddexp(hard[items], np.logaddexp.reduce(joint, axis=1))
    return hard - np.log(answers.n_classes - 1) - easy


def _if_easy(
    answers: Answers,
    given: Float[np.ndarray, "L C"],
    weight: Float[np.ndarray, "N 1"],
    log_prior: Float[np.ndarray, "N C"],
) -> Float[np.ndarray, "N C"]:
    """Return log p(z) + t log p(answers | z, easy)."""
    return log_prior + weight * (answers.per_item @ np.log(given))


def decoys(
    answers: Answers,
) -> list[tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]]:
    """Return pairs of items and a class that was named on each, every pair once.

    The first entry has the first named class of every item, the second the second one
    of the items that have two, and so on.
    """
    item, named = np.nonzero(answers.votes())
    first = np.searchsorted(item, item)  # where the item's classes begin
    rank = np.arange(len(item)) - first
    return [
        (item[rank == r], named[rank == r]) for r in range(rank.max(initial=-1) + 1)
    ]


def _misled(
    answers: Answers,
    given: Float[np.ndarray, "L C"],
    weight: Float[np.ndarray, "N 1"],
    items: Int[np.ndarray, " n"],
    named: Int[np.ndarray, " n"],
) -> Float[np.ndarray, "n C"]:
    """Return t log p(answers | z, this decoy); −∞ where z is the decoy."""
    place = np.full(answers.n_items, -1)
    place[items] = np.arange(len(items))
    rows = np.flatnonzero(place[answers.item] >= 0)
    at = place[answers.item[rows]]  # sorted, as items and answers are
    own = given[rows]
    decoy = own[np.arange(len(rows)), named[at]][:, None]
    mixed = np.log((1 - DECOY_PART) * own + DECOY_PART * decoy)
    starts = np.searchsorted(at, np.arange(len(items)))
    said = np.add.reduceat(mixed, starts, axis=0)
    out = weight[items] * said
    out[np.arange(len(items)), named] = -np.inf
    return out
