"""What SVGPCR learns about features, as plain arrays: loading it needs no JAX."""

from typing import Any, NamedTuple

import numpy as np

from wisecrowd._types import Array

ROWS = 10_000  # at a time, where all features are visited
FAR = 1e7  # in the model's units; fourth powers of more would overflow in 32 bits


class Scaling(NamedTuple):
    """What is subtracted from the features, and what they are divided by."""

    centre: Array
    spread: Array

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


class SparseGP(NamedTuple):
    """A sparse Gaussian process classifier.

    Attributes
    ----------
    shift : array (C, M)
    precision : array (C, M, M)
        Natural parameters of q(w), the whitened inducing values.
    kernel : dict
        The kernel's parameters, logs of what is positive; leading axis 1 or C.
    inducing : array (M, D)
        The inducing points, in the model's units.
    scaling : Scaling
        From the user's units to the model's.
    jitter : float
        What was added to the diagonal, relative to the mean variance.
    epsilon : float
        Of robust max.
    sharpness : float
        The exponent of the predicted probabilities.
    """

    shift: Array
    precision: Array
    kernel: dict[str, Any]
    inducing: Array
    scaling: Scaling
    jitter: float
    epsilon: float
    sharpness: float
