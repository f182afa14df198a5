"""The ledger of a label: what each witness adds to the log-probability of a class.

The formula of :mod:`wisecrowd.maths.pool` is a sum, so every label can be taken apart
without a rest. Constants that are the same for all classes are left out.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd.maths import pool as pools


class Parts(NamedTuple):
    """The terms of the log-probability of every class, for some items.

    Attributes
    ----------
    shares : array (N, C)
        How frequent the classes are: what is left of the log-probability, which is
        t (1 − v) times the mean of the discounted log π_m for every item.
    shift : array (C,)
        b, what gold showed about the classes.
    answers : array (L, C)
        (t (1 − v) + l[a]) mean_m log R_m[a, c, y] / d(n) of every answer.
    weight : array (L,)
        What an answer counts: that factor, times the weight of copies.
    votes : array (N, C)
        t v log votes.
    features : array (N, C)
        x log features; 0 without.
    verdict : array (N, C)
        t (1 − v) / d(n) times the log of the labels of a method that cannot leave an
        item's own part out; 0 for the others.
    """

    shares: Float[np.ndarray, "N C"]
    shift: Float[np.ndarray, " C"]
    answers: Float[np.ndarray, "L C"]
    weight: Float[np.ndarray, " L"]
    votes: Float[np.ndarray, "N C"]
    features: Float[np.ndarray, "N C"]
    verdict: Float[np.ndarray, "N C"]


def parts(witnesses: pools.Witnesses, pool: pools.Pool) -> Parts:
    """Take the labels of these items apart; the terms add up to ``log_labels``."""
    answers, own = witnesses.answers, witnesses.verdict
    nothing = np.zeros((answers.n_items, answers.n_classes))
    of_crowd = pool.exponent * (1 - pool.votes)
    divided = pools.design_effect(witnesses.n_each, pool.dependence)
    counts = (of_crowd if own is None else 0.0) + pool.lean[answers.annotator]
    beyond = witnesses.beyond
    found = Parts(
        shares=nothing,
        shift=pool.shift,
        answers=counts[:, None] * pools.weighted_answers(witnesses, pool),
        weight=counts * witnesses.weight / divided[answers.item],
        votes=pool.exponent * pool.votes * pools.log_votes(witnesses),
        features=nothing if beyond is None else pool.features * beyond,
        verdict=nothing if own is None else of_crowd * own / divided[:, None],
    )
    if own is not None:
        return found
    others = found.shift + found.votes + found.features
    others += answers.per_item @ found.answers
    left = pools.log_labels(witnesses, pool) - others
    return found._replace(shares=left - left.mean(1, keepdims=True))
