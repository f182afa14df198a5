"""Skills of methods that learn nothing about annotators: their answers are counted."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from wisecrowd._checks import random_numbers
from wisecrowd._records import CLOSE, MAX_COUNT, Limits, record
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.skills.part import ByConfusion, NothingToLearn
from wisecrowd.skills.summary import summary_of_counts

SMOOTHING = 1.0  # answers that everybody is granted in every cell
AnyCounted = TypeVar("AnyCounted", bound="Counted")


@record
@dataclass(frozen=True, eq=False)
class Tally:
    """How often each annotator gave each answer to the items of each class.

    The classes are the method's own labels: an accuracy is the agreement with them.
    """

    table: Annotated[Float[np.ndarray, "A C K"], Limits(-CLOSE, most=MAX_COUNT)]
    hit_variance: Float[np.ndarray, " A"]

    @classmethod
    def of(cls, answers: Answers, proba: Float[np.ndarray, "N C"]) -> "Tally":
        """Count the answers against the labels of a method."""
        counts = crowd.soft_counts(answers, proba)
        return cls(counts, crowd.hit_variance(answers, proba))

    @property
    def smoothed(self) -> Float[np.ndarray, "A C K"]:
        """Return the table with one more answer in every cell."""
        return self.table + SMOOTHING

    def confusion(self) -> Float[np.ndarray, "A C K"]:
        """Return the shares of the answers, smoothed."""
        return dirichlet.mean(self.smoothed)

    def interval(self, level: float) -> tuple[Array, Array]:
        """Return the interval of every share."""
        return dirichlet.interval(self.smoothed, level)

    def summary(
        self, class_prior: Float[np.ndarray, " C"], level: float
    ) -> pd.DataFrame:
        """Return one row per annotator."""
        flat = np.full((1, *self.table.shape[1:]), SMOOTHING)
        return summary_of_counts(
            self.smoothed, flat, self.hit_variance, class_prior, level
        )

    def chosen(self, where: Int[np.ndarray, " B"]) -> "Tally":
        """Return the counts of some annotators; zero for one never seen."""
        empty = np.zeros((1, *self.table.shape[1:]))
        doubt = np.append(self.hit_variance, 0.0)
        return Tally(np.concatenate([self.table, empty])[where], doubt[where])


class Counted:
    """Skills of which a report says how the answers agree with the labels.

    Attributes
    ----------
    tally : Tally
        The answers counted against the labels.
    """

    tally: Tally

    def confusion(self) -> Float[np.ndarray, "A C K"]:
        """Return the shares of the answers given the labels, smoothed."""
        return self.tally.confusion()

    def interval(self, level: float) -> tuple[Array, Array]:
        """Return the interval of every share."""
        return self.tally.interval(level)

    def summary(
        self, class_prior: Float[np.ndarray, " C"], level: float
    ) -> pd.DataFrame:
        """Return one row per annotator: the agreement with the labels."""
        return self.tally.summary(class_prior, level)

    def chosen(self: AnyCounted, where: Int[np.ndarray, " B"]) -> AnyCounted:
        """Return the skills of some annotators; for one never seen, nothing counts."""
        found: Any = self
        return replace(found, tally=self.tally.chosen(where))


@record
@dataclass(frozen=True, eq=False)
class Votes(Counted):
    """Every annotator has one vote.

    Attributes
    ----------
    tally : Tally
        What the labels say about the annotators.
    ties : {"random", "first"}
        Which class wins a tie.
    seed : int or None
        Of the ties.
    """

    tally: Tally
    ties: str = "random"
    seed: int | None = 0

    def label_proba(
        self, answers: Answers, log_prior: Float[np.ndarray, "#N C"]
    ) -> Float[np.ndarray, "N C"]:
        """Return the share of the votes for each class; uniform without a vote.

        Votes know no prior, so `log_prior` does not count.
        """
        unknown = np.full(answers.n_items, -1)
        return vote_shares(answers, unknown, self.ties, self.seed)


def vote_shares(
    answers: Answers, gold: Int[np.ndarray, " N"], ties: str, seed: Any
) -> Float[np.ndarray, "N C"]:
    """Return the share of the votes for each class; ties have a winner by a hair."""
    shares = crowd.vote_proba(answers.votes().astype(float), gold)
    if ties == "random":
        rng = random_numbers(seed)
        shares = shares + tie_breaks(len(shares), shares.shape[1], rng) * (shares > 0)
        shares /= shares.sum(1, keepdims=True)
    return shares


def tie_breaks(n_items: int, n_classes: int, rng: np.random.RandomState) -> Array:
    """Return tiny weights in a random order for each item: they decide ties only."""
    return np.argsort(rng.random_sample((n_items, n_classes)), axis=1) * 1e-9


@record
@dataclass(frozen=True, eq=False)
class Trusted(Counted, NothingToLearn, ByConfusion):
    """Every answer is right: what a classifier without a crowd takes its labels for.

    A new answer is not gold: it has the accuracy that the labels had.
    """

    tally: Tally

    def evidence(self, answers: Answers) -> Float[np.ndarray, "N C"]:
        """Return 0 for the class that was named and −∞ for the others."""
        votes = answers.votes()
        named = votes.sum(1, keepdims=True) > 0
        with np.errstate(divide="ignore"):
            return np.where(named & (votes == 0), -np.inf, 0.0)

    def statistics(
        self, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> Float[np.ndarray, "A C K"]:
        """Return the soft counts, for the report only."""
        return crowd.soft_counts(answers, proba)

    def with_doubt(
        self, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> "Trusted":
        """Count the answers against the final labels, for the report."""
        return Trusted(Tally.of(answers, proba))


@dataclass(frozen=True, eq=False)
class Settled(NothingToLearn):
    """Labels from which a classifier is learned again, as the part of the annotators.

    Attributes
    ----------
    log_proba : array (N, C)
        Log of the probability of every class.
    """

    log_proba: Float[np.ndarray, "N C"]

    def evidence(self, answers: Answers) -> Float[np.ndarray, "N C"]:
        """Return the labels in logs; 0 for items without an answer."""
        return np.where(answers.n_per_item[:, None] > 0, self.log_proba, 0.0)

    def of_items(self, items: Int[np.ndarray, " n"]) -> "Settled":
        """Return the labels of some items."""
        return Settled(self.log_proba[items])

    def statistics(
        self, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> Float[np.ndarray, "0 0 0"]:
        """Return nothing: there is nothing to learn."""
        return np.zeros((0, 0, 0))
