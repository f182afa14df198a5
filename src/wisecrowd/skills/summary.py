"""How good each annotator is, and how sure that is, from counts of answers."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import expit, logit

from wisecrowd._types import Array
from wisecrowd.maths import crowd, dirichlet

SPAMMER_PRIOR = 0.1  # share of spammers before any answer is seen; stated in the docs
NOT_ABOVE = 0.1  # probability of an accuracy below chance, before anybody is flagged
COMPARED = 20  # answers on items that others answered too, before anybody is flagged
TOWARDS_GUESSING = 0.5  # answers per row, for rows that nobody has answered


def summary_of_counts(
    counts: Float[np.ndarray, "A C K"],
    prior: Float[np.ndarray, "#A C K"],
    hit_variance: Float[np.ndarray, " A"] | float,
    class_prior: Float[np.ndarray, " C"],
    level: float,
    *,
    doubt: float = 0.0,
    n_compared: Float[np.ndarray, " A"] | None = None,
) -> pd.DataFrame:
    """Return one row per annotator: accuracy with its interval, and what to flag.

    Parameters
    ----------
    counts, prior : arrays (A, C, K)
        Concentrations after and before the answers.
    hit_variance : array (A,)
        Variance of the number of right answers, because the labels are uncertain.
    class_prior : array (C,)
        The shares of the classes.
    level : float
        Of the intervals.
    doubt : float
        What the labels may be wrong by together, relative to one answer.
    n_compared : array (A,), optional
        Answers on items that others answered too; without them nobody is flagged.

    Columns
    -------
    accuracy, low, high
        Probability that an answer that names a class is right, on items such as those
        that the annotator saw, with its credible interval.
    informativeness
        Share of the class's uncertainty that one answer removes: 0 for a spammer,
        1 for an annotator without errors and also for a perfect adversary.
    spammer
        Probability that the answers do not depend on the class. 0 where the accuracy
        is above chance with a probability of 0.9.
    adversarial
        Probability that the answers do depend on the class, with an accuracy below
        chance.
    """
    hits, misses = dirichlet.hits_and_misses(counts, prior, class_prior)
    n = hits + misses
    together = doubt**2 * hits * misses / n * (n + 1)
    hits, misses = dirichlet.doubtful_beta(hits, misses, hit_variance + together)
    low, high = dirichlet.beta_interval(hits, misses, level)
    seen = counts - prior
    chance = chance_accuracy(seen, class_prior)
    below = dirichlet.beta_below(hits, misses, chance)
    # Nobody is accused whose accuracy is above chance, as far as it is known.
    spammer = np.where(below < NOT_ABOVE, 0.0, spammer_proba(seen))
    adversarial = (1 - spammer) * below
    if n_compared is not None:
        enough = n_compared >= COMPARED
        spammer = np.where(enough, spammer, np.minimum(spammer, SPAMMER_PRIOR))
        adversarial = np.where(enough, adversarial, 0.0)
    return pd.DataFrame(
        {
            "accuracy": hits / (hits + misses),
            "low": low,
            "high": high,
            "informativeness": informativeness_of_counts(seen, class_prior),
            "spammer": spammer,
            "adversarial": adversarial,
        }
    )


def chance_accuracy(
    seen: Float[np.ndarray, "A C K"], class_prior: Float[np.ndarray, " C"]
) -> Float[np.ndarray, " A"]:
    """Return the accuracy of somebody who gives the same answers to random items.

    1 / C for who names all classes equally often; the share of a class for who always
    names it. Answers that name no class do not count.
    """
    n_classes = len(class_prior)
    given = seen.sum(1)[:, :n_classes] + class_prior.sum() / n_classes
    return given / given.sum(1, keepdims=True) @ class_prior


def spammer_proba(seen: Float[np.ndarray, "A C K"]) -> Float[np.ndarray, " A"]:
    """Return the probability that one row explains the answers to all classes.

    The alternative is a diagonal prior, whatever the prior of the fit: a flat one
    expects no skill of anybody, and one learned from spammers expects spammers.
    """
    n_classes, n_answers = seen.shape[1:]
    skilled = crowd.diagonal_prior(n_classes, n_answers, 4.0, 1.0)[None]
    odds = dirichlet.log_odds_of_one_row(seen, skilled)
    return expit(odds + logit(SPAMMER_PRIOR))


def informativeness(confusion: Array, class_prior: Array) -> Array:
    """Return the mutual information of class and answer over the class's entropy."""
    information = dirichlet.mutual_information(confusion, class_prior)
    uncertainty = float(crowd.entropy(class_prior)) or 1.0  # 0: nothing to remove
    return information / uncertainty


def informativeness_of_counts(
    seen: Float[np.ndarray, "A C K"], class_prior: Float[np.ndarray, " C"]
) -> Float[np.ndarray, " A"]:
    """Return the informativeness that the answers themselves show, at least 0.

    A table of n random answers shows some information as well, (C' − 1)(K' − 1) / 2n
    nats with the C' classes and K' answers that occur. It is subtracted, from the
    uncertainty of the class too, so that a perfect annotator has 1.
    """
    given = seen.sum(1, keepdims=True)
    n = np.maximum(given.sum(2), 1e-9)
    rows = seen + TOWARDS_GUESSING * (given + 1e-9) / (given + 1e-9).sum(
        2, keepdims=True
    )
    found = dirichlet.mutual_information(dirichlet.mean(rows), class_prior)
    n_classes, n_answers = ((seen.sum(axis) > 0.5).sum(1) for axis in (2, 1))
    by_chance: Any = (n_classes - 1) * (n_answers - 1) / (2 * n[:, 0])
    unknown = float(crowd.entropy(class_prior)) - by_chance
    return np.where(unknown > 0, np.maximum(found - by_chance, 0.0), 0.0) / np.where(
        unknown > 0, unknown, 1.0
    )
