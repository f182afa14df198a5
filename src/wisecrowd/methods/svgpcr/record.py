"""What SVGPCR learns about features, as plain arrays: loading it needs no JAX."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from wisecrowd._types import Array
from wisecrowd.maths.pool import bounded_log
from wisecrowd.maths.scaling import Scaling


class Networks(NamedTuple):
    """E networks with one layer of relu units each.

    Attributes
    ----------
    inner : array (E, D, H)
    inner_bias : array (E, H)
        From the features, in the model's units, to the units.
    outer : array (E, H, C)
    outer_bias : array (E, C)
        From the units to the logits of the classes.
    """

    inner: Any
    inner_bias: Any
    outer: Any
    outer_bias: Any

    def logits(self, X: Any, kept: Any = 1) -> Any:
        """Return the logits (E, n, C) of items; `kept` multiplies the units.

        The same for arrays of NumPy, which predict, and of JAX, which learn.
        """
        units = X @ self.inner + self.inner_bias[:, None]
        return (kept * units * (units > 0)) @ self.outer + self.outer_bias[:, None]

    def proba(self, X: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "E n C"]:
        """Return the probabilities of the classes of items."""
        out: Array = softmax(self.logits(X.astype(np.float32)).astype(np.float64), 2)
        return out


class Beside(NamedTuple):
    """Small networks beside a Gaussian process.

    Attributes
    ----------
    networks : Networks
        What they say is their mean.
    exponents : array (2,)
        Of the process and of the networks, before the sharpness.
    reach : float
        The largest distance from the mean of an item that they were learned from, in
        the model's units.
    """

    networks: Networks
    exponents: Float[np.ndarray, " 2"]
    reach: float

    def log_proba(
        self, process: Float[np.ndarray, "n C"], X: Float[np.ndarray, "n D"]
    ) -> Float[np.ndarray, "n C"]:
        """Return what both say, in logs up to a constant, if the process says this.

        Beyond their reach the networks say less and less, as the process does: they
        would be certain there of what nobody has seen. X is in the model's units.
        """
        distance = np.linalg.norm(X, axis=1, keepdims=True)
        near = np.ones_like(distance)
        np.divide(self.reach, distance, out=near, where=distance > self.reach)
        said = self.networks.proba(near * X).mean(0)
        a, b = self.exponents
        return a * process + b * near * bounded_log(said)


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
        Networks whose predictions are multiplied with the process's.
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
