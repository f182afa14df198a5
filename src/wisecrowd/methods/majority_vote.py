"""Majority vote: the class that most annotators named."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np

from wisecrowd._checks import one_of
from wisecrowd.annotations import Annotations
from wisecrowd.base import Aggregator, Learned
from wisecrowd.fit.trace import Trace
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import Tally, Votes
from wisecrowd.skills.tally import vote_shares

__all__ = ["MajorityVote"]


@dataclass(eq=False, repr=False, kw_only=True)
class MajorityVote(Aggregator):
    """The share of the votes, and the class with the most of them.

    Parameters
    ----------
    ties : {"random", "first"}
        Which class wins a tie: one drawn by `random_state`, or the first in order.
    random_state : int, RandomState or None
        Seed of the ties.

    Examples
    --------
    >>> from wisecrowd.annotations import Annotations
    >>> answers = Annotations.from_matrix([[0, 0, 1], [1, 1, -1]])
    >>> MajorityVote().fit(answers).labels_.tolist()
    [0, 1]
    """

    ties: Literal["random", "first"] = "random"
    random_state: Any = 0

    method = MethodInfo(
        name="majority-vote",
        needs="answers",
        learns="nothing: everybody has one vote",
    )
    copies = 1

    def _fit(self, annotations: Annotations) -> tuple[Learned, Trace]:
        one_of(self.ties, ("random", "first"), "ties")
        with Trace("majority vote", total=1, show=False) as trace:
            proba = vote_shares(
                annotations.codes, annotations.gold_codes, self.ties, self.random_state
            )
            log_share = np.log(np.where(proba > 0, proba, 1.0))
            trace.record(bound=float((proba * log_share).sum()))
        known = isinstance(self.random_state, Integral)  # NumPy's numbers too
        seed = int(self.random_state) if known else None
        votes = Votes(Tally.of(annotations.codes, proba), self.ties, seed)
        return Learned(proba, proba.mean(0), votes), trace
