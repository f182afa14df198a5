"""How good each annotator is, and how sure that is, from Dirichlet counts."""

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import expit, logit

from wisecrowd._types import Array
from wisecrowd.maths import crowd, dirichlet

TOGETHER = 2.0  # labels that share annotators are wrong together: see docs/choosing.md
SPAMMER_PRIOR = 0.1  # share of spammers before any answer is seen; stated in the docs


def summary_of_counts(
    counts: Float[np.ndarray, "A C K"],
    prior: Float[np.ndarray, "#A C K"],
    hit_variance: Float[np.ndarray, " A"] | float,
    class_prior: Float[np.ndarray, " C"],
    level: float,
) -> pd.DataFrame:
    """Return one row per annotator: accuracy with its interval, and what to flag.

    Columns
    -------
    accuracy, low, high
        Probability of a right answer on items such as those that the annotator
        saw, with its credible interval.
    informativeness
        Share of the class's uncertainty that one answer removes: 0 for a spammer,
        1 for an annotator without errors and also for a perfect adversary.
    spammer
        Probability that the answers do not depend on the class.
    adversarial
        Probability that the answers do depend on the class, with an accuracy below
        chance, 1 / C.
    """
    doubt = np.broadcast_to(TOGETHER * np.asarray(hit_variance), len(counts))
    hits, misses = dirichlet.doubtful_beta(
        *dirichlet.hits_and_misses(counts, prior, class_prior), doubt
    )
    low, high = dirichlet.beta_interval(hits, misses, level)
    spammer = spammer_proba(counts - prior)
    below_chance = dirichlet.beta_below(hits, misses, 1 / counts.shape[1])
    return pd.DataFrame(
        {
            "accuracy": hits / (hits + misses),
            "low": low,
            "high": high,
            "informativeness": informativeness(dirichlet.mean(counts), class_prior),
            "spammer": spammer,
            "adversarial": (1 - spammer) * below_chance,
        }
    )


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
