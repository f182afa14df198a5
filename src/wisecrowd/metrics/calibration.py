"""How right and how sure labels are, estimated from some items of a known class."""

from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import beta

from wisecrowd._records import COUNT, PROBA, Limits, record
from wisecrowd.metrics.probability import SMALLEST_PROBABILITY

DIFFERENCE = Limits(most=1.0)  # of two probabilities


@record
class Calibration(NamedTuple):
    """An estimate from `n_gold` items, each predicted as if its class were not known.

    Attributes
    ----------
    n_gold : int
        Number of items with a known class.
    accuracy, accuracy_low, accuracy_high : float
        The share of right labels, with its interval.
    confidence : float
        The mean probability of the label.
    overconfidence, overconfidence_low, overconfidence_high : float
        Confidence minus accuracy, with its interval: above 0, labels are too sure.
    log_loss : float
        Mean of −log p(true class), in nats.
    level : float
        Probability that an interval holds the figure of all items.
    """

    n_gold: Annotated[int, COUNT]
    accuracy: Annotated[float, PROBA]
    accuracy_low: Annotated[float, PROBA]
    accuracy_high: Annotated[float, PROBA]
    confidence: Annotated[float, PROBA]
    overconfidence: Annotated[float, DIFFERENCE]
    overconfidence_low: Annotated[float, DIFFERENCE]
    overconfidence_high: Annotated[float, DIFFERENCE]
    log_loss: Annotated[float, COUNT]
    level: Annotated[float, PROBA]


def calibration(
    truth: Int[np.ndarray, " G"], proba: Float[np.ndarray, "G C"], level: float = 0.9
) -> Calibration:
    """Return how right and how sure predictions are, with Jeffreys' intervals.

    Parameters
    ----------
    truth : array (G,)
        Codes of the true classes.
    proba : array (G, C)
        Predictions of these items that did not use their classes.
    level : float
        Of the intervals.

    Examples
    --------
    >>> proba = np.tile([0.8, 0.2], (10, 1))
    >>> found = calibration(np.array([0, 0, 0, 0, 0, 0, 0, 1, 1, 1]), proba)
    >>> found.accuracy, round(found.overconfidence, 3)
    (0.7, 0.1)
    >>> round(found.accuracy_low, 2), round(found.accuracy_high, 2)
    (0.44, 0.88)
    """
    n = len(truth)
    n_right = int((proba.argmax(1) == truth).sum())
    tails = (1 - level) / 2, (1 + level) / 2
    low, high = (
        float(beta.ppf(tail, n_right + 0.5, n - n_right + 0.5)) for tail in tails
    )
    low, high = (0.0 if n_right == 0 else low), (1.0 if n_right == n else high)
    confidence = float(proba.max(1).mean())
    at_truth = np.maximum(proba[np.arange(n), truth], SMALLEST_PROBABILITY)
    return Calibration(
        n_gold=n,
        accuracy=n_right / n,
        accuracy_low=low,
        accuracy_high=high,
        confidence=confidence,
        overconfidence=confidence - n_right / n,
        overconfidence_low=confidence - high,
        overconfidence_high=confidence - low,
        log_loss=float(-np.log(at_truth).mean()),
        level=level,
    )
