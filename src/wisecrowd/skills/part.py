"""What a model of annotators can do, whichever it is."""

from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd

AnySkills = TypeVar("AnySkills", bound="Skills")
AnyLearnable = TypeVar("AnyLearnable", bound="LearnableSkills")


@runtime_checkable
class Skills(Protocol):
    """What a fitted model knows about its annotators."""

    def confusion(self) -> Float[np.ndarray, "A C K"]:
        """Return p(answer | class) of every annotator; rows sum to one."""

    def interval(self, level: float) -> tuple[Array, Array]:
        """Return the central interval of every entry of the confusion matrices."""

    def summary(
        self, class_prior: Float[np.ndarray, " C"], level: float
    ) -> pd.DataFrame:
        """Return one row per annotator.

        The columns are accuracy, low, high, informativeness, spammer, adversarial.
        """

    def chosen(self: AnySkills, where: Int[np.ndarray, " B"]) -> AnySkills:
        """Return the skills of some annotators; -1 stands for one never seen."""

    def label_proba(
        self, answers: Answers, log_prior: Float[np.ndarray, "#N C"]
    ) -> Float[np.ndarray, "N C"]:
        """Return p(class | answers) of new items.

        `log_prior` is what is known besides the answers: the shares of the classes, or
        what a classifier says of the features.
        """


@runtime_checkable
class SeeingSkills(Skills, Protocol):
    """Skills that depend on the features of an item."""

    def seeing(self: AnySkills, X: Float[np.ndarray, "N D"]) -> AnySkills:
        """Return the skills on items with these features, in the user's units."""


@runtime_checkable
class LearnableSkills(Protocol):
    """What a classifier is learned with: annotators, or labels that are settled."""

    def evidence(self, answers: Answers) -> Float[np.ndarray, "N C"]:
        """Return E log p(answers on the item | class), for every item and class."""

    def statistics(
        self, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> Float[np.ndarray, "A C K"]:
        """Return what an update needs: sums over items, which add up over shards."""

    def updated(
        self: AnyLearnable, statistics: Float[np.ndarray, "A C K"]
    ) -> AnyLearnable:
        """Return the best skills for these statistics."""

    def divergence(self) -> float:
        """KL(q ‖ p) of the skills, which the bound subtracts."""

    def log_hyperprior(self) -> float:
        """Return the log density of a learned prior, which the bound adds."""


class ByConfusion:
    """Skills whose confusion matrices are all that a new answer needs."""

    def label_proba(
        self, answers: Answers, log_prior: Float[np.ndarray, "#N C"]
    ) -> Float[np.ndarray, "N C"]:
        """p(z | answers) ∝ p(z) Π R[a, z, y]."""
        confusion: Array = self.confusion()  # type: ignore[attr-defined]
        said = crowd.evidence_per_item(answers, np.log(confusion))
        return crowd.posterior(log_prior + said)[0]


class NothingToLearn:
    """Skills that stay as they are: what the annotators say is settled."""

    def updated(
        self: AnyLearnable, statistics: Float[np.ndarray, "A C K"]
    ) -> AnyLearnable:
        """Return the same."""
        return self

    with_statistics = updated

    def divergence(self) -> float:
        """Return 0: nothing is uncertain."""
        return 0.0

    def log_hyperprior(self) -> float:
        """Return 0: there is no prior."""
        return 0.0
