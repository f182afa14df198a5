"""Majority vote: the class that most annotators named."""

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from wisecrowd._checks import one_of
from wisecrowd._types import Array
from wisecrowd.base import Aggregator, answer_matrix
from wisecrowd.data.annotations import Annotations
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd


def tie_shares(n_items: int, n_classes: int, rng: np.random.RandomState) -> Array:
    """Return tiny weights in a random order for each item: they decide ties only."""
    order = np.argsort(rng.random_sample((n_items, n_classes)), axis=1)
    return order * 1e-9


class MajorityVote(Aggregator):
    """The share of the votes, and the class with the most of them.

    Parameters
    ----------
    ties : {"random", "first"}
        Who wins a tie: a class drawn by `random_state`, or the first in order.
    random_state : int, RandomState or None
        Seed of the ties.

    Examples
    --------
    >>> from wisecrowd.data.annotations import Annotations
    >>> labels = Annotations.from_matrix([[0, 0, 1], [1, 1, -1]])
    >>> MajorityVote().fit(labels).labels_.tolist()
    [0, 1]
    """

    def __init__(
        self, *, ties: Literal["random", "first"] = "random", random_state: Any = 0
    ) -> None:
        self.ties = ties
        self.random_state = random_state

    def _fit(self, labels: Annotations) -> None:
        one_of(self.ties, ("random", "first"), "ties")
        with Trace("majority vote", total=1, show=False) as trace:
            proba = self._shares(labels)
            log_share = np.log(np.where(proba > 0, proba, 1.0))
            trace.record(bound=float((proba * log_share).sum()))
        answers = answer_matrix(labels)
        self.label_proba_ = proba
        self.class_prior_ = proba.mean(0)
        self.annotator_prior_ = np.ones((1, labels.n_classes, len(labels.answers)))
        counts = crowd.soft_counts(answers, proba, len(labels.answers))
        self.confusion_counts_ = self.annotator_prior_ + counts
        self.trace_ = trace.frame()

    def predict_proba(self, annotations: Any) -> Array:
        """Return the share of the votes for each class; uniform without a vote."""
        check_is_fitted(self)
        return self._shares(self._in_my_words(annotations))

    def _shares(self, labels: Annotations) -> Array:
        votes = labels.counts()[:, : labels.n_classes].astype(float)
        shares = crowd.vote_proba(votes, labels.gold_codes)
        if self.ties == "random":
            rng = check_random_state(self.random_state)
            edge = tie_shares(len(shares), labels.n_classes, rng)
            shares = shares + edge * (shares > 0)
            shares /= shares.sum(1, keepdims=True)
        return shares
