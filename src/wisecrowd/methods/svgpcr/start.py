"""Where a fit begins: the scale of the features and the inducing points."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.cluster import KMeans

from wisecrowd._checks import InputError, one_of

N_FOR_START = 20_000  # items that k-means sees: more of them move no centre
SCALINGS = ("auto", "each", "one", "none")
FAR = 1e7  # in the model's units; fourth powers of more would overflow in 32 bits
LARGEST = 1e150  # of a feature in the user's units, as it is squared
COMMENSURATE = 30.0  # spreads within this factor of the median are of one kind


class Scaling(NamedTuple):
    """What is taken from the features, and what they are divided by."""

    centre: Float[np.ndarray, " D"]
    spread: Float[np.ndarray, " D"]

    def apply(self, X: np.ndarray, dtype: str) -> np.ndarray:
        """Return the features in the model's units, none farther than `FAR`."""
        scaled = (X - self.centre) / self.spread
        return np.clip(scaled, -FAR, FAR, out=scaled).astype(dtype, copy=False)

    def undo(self, X: np.ndarray) -> np.ndarray:
        """Return the features in the user's units."""
        return X * self.spread + self.centre


def scaling(X: Float[np.ndarray, "N D"], kind: str) -> Scaling:
    """Return the centre and the spread of the features.

    Features of one kind, such as pixels or the outputs of a network, are divided by
    one number: dividing each by its own spread would blow up those that hardly vary.
    Features in different units are divided each by its own. Constant ones become zero.
    """
    one_of(kind, SCALINGS, "scaling")
    wide = X.astype(np.float64)
    largest = np.maximum(wide.max(0), -wide.min(0))
    most = FAR if kind == "none" else LARGEST
    if (largest > most).any():
        column = int(np.argmax(largest))
        raise InputError(
            f"column {column} of X reaches {largest[column]:.3g}; scaling={kind!r} "
            f"takes up to {most:g}. Give the features in a larger unit"
            f"{', or use another scaling' if kind == 'none' else ''}."
        )
    centre, spread = wide.mean(0), wide.std(0)
    if kind == "none":
        return Scaling(np.zeros_like(centre), np.ones_like(spread))
    # What rounding leaves of a constant column is no spread.
    varies = spread > 1e-7 * np.maximum(largest, np.finfo(float).tiny)
    if not varies.any():
        return Scaling(centre, np.ones_like(spread))
    common = np.sqrt((spread[varies] ** 2).mean())
    # The lower of two: the mean of one small and one huge would be alike to the huge.
    median = np.quantile(spread[varies], 0.5, method="lower")
    alike = spread.max() <= COMMENSURATE * median
    if kind == "one" or (kind == "auto" and alike):
        return Scaling(centre, np.full_like(spread, common))
    return Scaling(centre, np.where(varies, spread, 1.0))


def inducing_points(
    X: Float[np.ndarray, "N D"], n_inducing: int, rng: np.random.RandomState
) -> Float[np.ndarray, "M D"]:
    """Return the centres of k-means; all distinct items, where there are fewer."""
    some = X[rng.permutation(len(X))[:N_FOR_START]]
    distinct = np.unique(some, axis=0)
    if len(distinct) <= n_inducing:
        return distinct.astype(np.float64)
    centres = KMeans(n_inducing, n_init=1, max_iter=30, random_state=rng).fit(some)
    return centres.cluster_centers_.astype(np.float64)
