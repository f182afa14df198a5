"""Whether labels with a confidence of 80 % are right in 80 % of the cases."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import ndtri

from wisecrowd._checks import counted, number, whole_number
from wisecrowd._types import Array, Ids
from wisecrowd.metrics.probability import bin_of, known_items

N_BINS = 10
LEVEL = 0.9  # of the intervals


@dataclass(frozen=True, eq=False, repr=False)
class Reliability:
    """Accuracy by confidence; what :func:`reliability` returns.

    Attributes
    ----------
    edges : array (n_bins + 1,)
        Where the bins of confidence begin and end; they have equal widths.
    n_items : array (n_bins,)
        Number of items per bin. Where it is 0, the next four are NaN.
    confidence : array (n_bins,)
        Mean confidence: the mean of the largest probability.
    accuracy : array (n_bins,)
        Share of the labels that are right.
    low, high : array (n_bins,)
        Wilson's interval of the accuracy.
    level : float
        Of the interval.

    Examples
    --------
    >>> found = reliability([0, 0, 1, 1], [[.9, .1], [.9, .1], [.9, .1], [.4, .6]])
    >>> found
    Reliability(4 items in 2 of 10 bins, calibration error 0.275)
    >>> print(found)
    confidence  items   mean  accuracy   90 % interval
    0.6 to 0.7      1  0.600     1.000  0.270 to 1.000
    0.9 to 1.0      3  0.900     0.667  0.254 to 0.922
    """

    edges: Float[np.ndarray, " E"]
    n_items: Int[np.ndarray, " bins"]
    confidence: Float[np.ndarray, " bins"]
    accuracy: Float[np.ndarray, " bins"]
    low: Float[np.ndarray, " bins"]
    high: Float[np.ndarray, " bins"]
    level: float

    @property
    def calibration_error(self) -> float:
        """Σ over bins of ``|accuracy − confidence|`` · items of the bin / items."""
        gap = np.abs(self.accuracy - self.confidence)
        return float(np.nansum(self.n_items * gap) / self.n_items.sum())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per bin, also of those without items.

        The columns are begin and end (of the bin), n_items, confidence, accuracy, low
        and high.
        """
        return pd.DataFrame(
            {
                "begin": self.edges[:-1],
                "end": self.edges[1:],
                "n_items": self.n_items,
                "confidence": self.confidence,
                "accuracy": self.accuracy,
                "low": self.low,
                "high": self.high,
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw accuracy by confidence with intervals, and how many items have which.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure. The histogram takes the lower part of
            the place; it is left out if the axes have no place in a grid of subplots.

        Returns
        -------
        Axes
            The axes of the curve; ``.figure.savefig("reliability.png")`` writes it.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        from wisecrowd.metrics.reliability_figure import drawn

        return drawn(self, ax)

    def __repr__(self) -> str:
        """Return the sizes and the calibration error."""
        n_filled = int((self.n_items > 0).sum())
        return (
            f"Reliability({counted(int(self.n_items.sum()), 'item')} in {n_filled} of "
            f"{len(self.n_items)} bins, calibration error {self.calibration_error:.3f})"
        )

    def __str__(self) -> str:
        """Return a table: one line per bin that has items."""
        rows: Any = self.to_frame()[self.n_items > 0].itertuples()
        digits = min(max(1, len(f"{self.edges[1]:.12g}") - 2), 3)  # of 0.1 or 0.125
        shown = {
            "confidence": lambda r: f"{r.begin:.{digits}f} to {r.end:.{digits}f}",
            "items": lambda r: f"{r.n_items:,}",
            "mean": lambda r: f"{r.confidence:.3f}",
            "accuracy": lambda r: f"{r.accuracy:.3f}",
            f"{self.level:.0%} interval".replace("%", " %"): (
                lambda r: f"{r.low:.3f} to {r.high:.3f}"
            ),
        }
        lines = [list(shown), *([cell(row) for cell in shown.values()] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True))
            for line in lines
        )


def reliability(
    truth: Any,
    proba: Any,
    classes: Ids | None = None,
    *,
    n_bins: int = N_BINS,
    level: float | int = LEVEL,
) -> Reliability:
    """Return how often labels are right, by their confidence.

    The confidence of an item is its largest probability. If probabilities are honest,
    the accuracy of the items in a bin is their mean confidence, up to chance: it is in
    the interval of about nine bins out of ten.

    Parameters
    ----------
    truth : sequence of length N
        The true classes: names if `classes` is given, else column numbers of `proba`.
        Items with an unknown class (NaN, None or -1) are left out.
    proba : array (N, C)
        Class probabilities.
    classes : sequence of length C, optional
        The names of the classes, in the order of the columns of `proba`.
    n_bins : int
        Number of bins of equal width.
    level : float
        Of the intervals of the accuracy.

    Examples
    --------
    >>> found = reliability([0, 0, 1], [[.9, .1], [.9, .1], [.9, .1]])
    >>> found.to_frame().iloc[-1][["n_items", "confidence", "accuracy"]].tolist()
    [3.0, 0.9, 0.667]
    """
    whole_number(n_bins, "n_bins")
    number(level, "level", "between 0 and 1, such as 0.9", lambda v: 0 < v < 1)
    codes, table = known_items(truth, proba, classes)
    confidence = table.max(1)
    where = bin_of(confidence, n_bins)
    n_items = np.bincount(where, minlength=n_bins)
    n = np.where(n_items, n_items, np.nan)
    accuracy = np.bincount(where, table.argmax(1) == codes, minlength=n_bins) / n
    low, high = wilson_interval(accuracy, n, level)
    return Reliability(
        edges=np.arange(n_bins + 1) / n_bins,
        n_items=n_items,
        confidence=np.bincount(where, confidence, minlength=n_bins) / n,
        accuracy=accuracy,
        low=low,
        high=high,
        level=float(level),
    )


def wilson_interval(
    share: Float[np.ndarray, " bins"], n: Float[np.ndarray, " bins"], level: float
) -> tuple[Array, Array]:
    """Return Wilson's interval: all p with |share − p| ≤ z √(p (1 − p) / n).

    z is the quantile of the normal distribution at (1 + level) / 2.
    """
    z = ndtri((1 + level) / 2)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2) / (1 + z**2 / n)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
