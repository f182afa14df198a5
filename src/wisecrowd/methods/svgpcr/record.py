"""What SVGPCR learns about features, as plain arrays: loading it needs no JAX."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd._types import Array
from wisecrowd.maths.crowd import posterior
from wisecrowd.maths.logistic import Logistic, Weights, logits
from wisecrowd.maths.pool import bounded_log
from wisecrowd.maths.scaling import Scaling


class Beside(NamedTuple):
    """A regression beside a Gaussian process.

    Attributes
    ----------
    regression : Logistic
        The regression.
    exponents : array (2,)
        Of the process and of the regression, before the sharpness.
    reach : float
        The largest distance from the mean of an item that it was learned from, in the
        model's units.
    """

    regression: Logistic
    exponents: Float[np.ndarray, " 2"]
    reach: float

    def log_proba(
        self, process: Float[np.ndarray, "n C"], X: Float[np.ndarray, "n D"]
    ) -> Float[np.ndarray, "n C"]:
        """Return what both say, in logs up to a constant, if the process says this.

        Beyond its reach the regression says less and less, as the process does: a line
        would be certain there of what nobody has seen.
        """
        scaled = self.regression.scaling.apply(X, "float64")
        with np.errstate(over="ignore"):
            distance = np.linalg.norm(scaled, axis=1, keepdims=True)
        near = np.ones_like(distance)
        np.divide(self.reach, distance, out=near, where=distance > self.reach)
        weights = Weights(self.regression.weights, self.regression.bias)
        line = posterior(logits(weights, np.where(near > 0, near * scaled, 0.0)))[0]
        a, b = self.exponents
        return a * process + b * near * bounded_log(line)


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
    beside : Beside or None
        A regression whose predictions are multiplied with the process's.
    """

    shift: Array
    precision: Array
    kernel: dict[str, Any]
    inducing: Array
    scaling: Scaling
    jitter: float
    epsilon: float
    sharpness: float
    beside: Beside | None = None
