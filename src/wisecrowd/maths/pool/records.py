"""How much each witness counts, and what the witnesses are: plain records."""

from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._records import COUNT, LOG, PROBA, record
from wisecrowd.answers import Answers


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


def design_effect(
    n_answers: Float[np.ndarray, "*N"] | float, dependence: float
) -> Float[np.ndarray, "*N"]:
    """Return 1 + ρ (n − 1): by how much n answers are worth less than n."""
    return np.asarray(1 + dependence * np.maximum(np.asarray(n_answers, float) - 1, 0))


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
