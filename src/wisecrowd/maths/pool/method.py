"""All of it: the labels of a method, made from all witnesses."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._checks import number
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, together
from wisecrowd.maths.pool.formula import (
    SMALLEST_PROBA,
    labels,
    log_labels,
    readings,
)
from wisecrowd.maths.pool.gold import rows_with_gold, ruled
from wisecrowd.maths.pool.learn import N_LEARN, fitted_exponent, learned_pool
from wisecrowd.maths.pool.records import DOUBTS, Doubts, Pool, Reading, Witnesses
from wisecrowd.metrics.calibration import Calibration


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


def exponent_for_new(alone: Float[np.ndarray, "N C"], found: Pooled) -> float:
    """Return the exponent of predictions for new items, in logs `alone`.

    It suits the labels of the items, which are certain where gold is known.
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


def checked_dependence(given: object) -> None:
    """Raise an error if the setting is neither "learn" nor a number from 0 to 1."""
    if given != "learn":
        wanted = "'learn' or from 0 to 1"
        number(given, "dependence", wanted, lambda v: 0 <= v <= 1)
