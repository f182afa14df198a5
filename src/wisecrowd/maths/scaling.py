"""From the user's units to a model's: what features are divided by."""

from functools import reduce
from typing import Annotated, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd._checks import InputError, one_of
from wisecrowd._records import POSITIVE, record
from wisecrowd._types import Array
from wisecrowd.feature_source import as_source

ROWS = 10_000  # at a time, where all features are visited
FAR = 1e7  # in the model's units; fourth powers of more would overflow in 32 bits
SCALINGS = ("auto", "each", "one", "none")
LARGEST = 1e150  # of a feature in the user's units, as it is squared
COMMENSURATE = 30.0  # spreads within this factor of the median are of one kind


@record
class Scaling(NamedTuple):
    """What is subtracted from the features, and what they are divided by."""

    centre: Float[np.ndarray, " D"]
    spread: Annotated[Float[np.ndarray, " D"], POSITIVE]

    def apply(self, X: Array, dtype: str) -> Array:
        """Return the features in the model's units, none farther than `FAR`.

        Some thousand rows at a time: the result is the only copy of the features.
        """
        out = np.empty(X.shape, dtype)
        for i in range(0, len(X), ROWS):
            scaled = (X[i : i + ROWS] - self.centre) / self.spread
            out[i : i + ROWS] = np.clip(scaled, -FAR, FAR)
        return out

    def undo(self, X: Array) -> Array:
        """Return the features in the user's units."""
        return X * self.spread + self.centre


class Moments(NamedTuple):
    """Least and largest value, mean and sum of squared distances of every column."""

    n_items: int
    low: Float[np.ndarray, " D"]
    high: Float[np.ndarray, " D"]
    mean: Float[np.ndarray, " D"]
    squares: Float[np.ndarray, " D"]

    @classmethod
    def of(cls, X: Float[np.ndarray, "n D"]) -> "Moments":
        """Return those of some items, in 64 bits."""
        mean = X.mean(0, dtype=np.float64)
        low, high = X.min(0).astype(np.float64), X.max(0).astype(np.float64)
        return cls(len(X), low, high, mean, ((X - mean) ** 2).sum(0))

    def and_of(self, other: "Moments") -> "Moments":
        """Return those of both together (Chan, Golub and LeVeque 1983)."""
        n_items = self.n_items + other.n_items
        apart = other.mean - self.mean
        between = apart**2 * (self.n_items * other.n_items / n_items)
        return Moments(
            n_items,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.mean + apart * (other.n_items / n_items),
            self.squares + other.squares + between,
        )


def scaling(X: Any, kind: str) -> Scaling:
    """Return the centre and the spread of features: an array, or a source.

    Features of one kind, such as pixels or the outputs of a network, are divided by
    one number: dividing each by its own spread would blow up those that hardly vary.
    Features in different units are divided each by its own. Constant ones become zero.
    """
    one_of(kind, SCALINGS, "scaling")
    with np.errstate(over="ignore", invalid="ignore"):  # too large: said below
        found = reduce(
            Moments.and_of, (Moments.of(X) for _, X in as_source(X).pieces())
        )
    largest = np.maximum(found.high, -found.low)
    most = FAR if kind == "none" else LARGEST
    if (largest > most).any():
        column = int(np.argmax(largest))
        raise InputError(
            f"column {column} of X reaches {largest[column]:.3g}; scaling={kind!r} "
            f"takes up to {most:g}. Give the features in a larger unit"
            f"{', or use another scaling' if kind == 'none' else ''}."
        )
    centre, spread = found.mean, np.sqrt(found.squares / found.n_items)
    if kind == "none":
        return Scaling(np.zeros_like(centre), np.ones_like(spread))
    # What rounding leaves of a constant column is no spread.
    varies = spread > 1e-7 * np.maximum(largest, np.finfo(float).tiny)
    if not varies.any():
        _check_constant(found)
        return Scaling(centre, np.ones_like(spread))
    common = np.sqrt((spread[varies] ** 2).mean())
    # The lower of two: the mean of one small and one huge would be alike to the huge.
    median = np.quantile(spread[varies], 0.5, method="lower")
    alike = spread.max() <= COMMENSURATE * median
    if kind == "one" or (kind == "auto" and alike):
        return Scaling(centre, np.full_like(spread, common))
    return Scaling(centre, np.where(varies, spread, 1.0))


def _check_constant(found: Moments) -> None:
    """Refuse features that vary, but so little that their squares are zero."""
    largest = np.maximum(found.high, -found.low)
    varies = np.flatnonzero((found.high > found.low) & (largest < 1 / LARGEST))
    if len(varies):
        raise InputError(
            f"column {varies[0]} of X varies, but all its values are below "
            f"{1 / LARGEST:g}, too small to be squared. Give the features in a smaller "
            f"unit."
        )
