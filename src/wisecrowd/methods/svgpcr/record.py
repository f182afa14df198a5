"""What SVGPCR learns about features, as plain arrays: loading it needs no JAX."""

from typing import Any, NamedTuple

from wisecrowd._types import Array
from wisecrowd.maths.logistic import Logistic
from wisecrowd.maths.scaling import Scaling


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
    regression : Logistic or None
        A regression whose predictions are multiplied with the process's.
    exponents : array (2,) or None
        Of the process and of the regression, before the sharpness.
    """

    shift: Array
    precision: Array
    kernel: dict[str, Any]
    inducing: Array
    scaling: Scaling
    jitter: float
    epsilon: float
    sharpness: float
    regression: Logistic | None = None
    exponents: Array | None = None
