"""The squared-exponential covariance in 64 bits, with its gradient.

For the methods that keep the covariance of all items (GPEP, VGPCR) and for Fourier
features. k(x, y) = v exp(−|x − y|² / (2 ℓ²)), with one length-scale for all features.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist


class SquaredExponential(NamedTuple):
    """The logarithms of the variance v and the length-scale ℓ."""

    log_variance: float
    log_scale: float


def starting_kernel(n_features: int) -> SquaredExponential:
    """Return v = 1 and ℓ = √D, about the distance between scaled items."""
    return SquaredExponential(0.0, 0.5 * float(np.log(n_features)))


def covariance(
    kernel: SquaredExponential, X: Float[np.ndarray, "N D"], Y: Float[np.ndarray, "M D"]
) -> Float[np.ndarray, "N M"]:
    """Return k(x, y) of every pair."""
    return of_distances(kernel, cdist(X, Y, "sqeuclidean"))


def of_distances(
    kernel: SquaredExponential, squared: Float[np.ndarray, "N M"]
) -> Float[np.ndarray, "N M"]:
    """Return k(x, y) of pairs whose squared distances are known.

    A loop has the distances once: with many features they cost more than the rest.
    """
    out = squared * (-0.5 * np.exp(-2 * kernel.log_scale))
    np.exp(out, out=out)
    out *= np.exp(kernel.log_variance)
    return out


def gradient(
    kernel: SquaredExponential,
    X: Float[np.ndarray, "N D"],
    by_covariance: Float[np.ndarray, "N N"],
) -> SquaredExponential:
    """Return the derivatives by the two logarithms, given those by k(X, X)."""
    squared = cdist(X, X, "sqeuclidean")
    return gradient_of_distances(
        kernel, squared, of_distances(kernel, squared), by_covariance
    )


def gradient_of_distances(
    kernel: SquaredExponential,
    squared: Float[np.ndarray, "N N"],
    covariance: Float[np.ndarray, "N N"],
    by_covariance: Float[np.ndarray, "N N"],
) -> SquaredExponential:
    """Return the same, with squared distances and covariance at hand.

    dk / d log v = k and dk / d log ℓ = k |x − y|² / ℓ².
    """
    product = covariance * by_covariance
    by_scale = float(np.vdot(product, squared) * np.exp(-2 * kernel.log_scale))
    return SquaredExponential(float(product.sum()), by_scale)
