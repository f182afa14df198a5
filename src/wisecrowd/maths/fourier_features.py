"""Fourier features of the squared-exponential kernel, and a linear model in them.

With U = X Ωᵀ / ℓ and frequencies Ω ~ N(0, I), the 2 F features √(v / F) [cos U, sin U]
have φ(x)ᵀ φ(y) ≈ v exp(−|x − y|² / (2 ℓ²)) (Rahimi and Recht 2007). Then f = Φ w with
w ~ N(0, I). Nothing here is larger than N × 2 F.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cholesky, solve_triangular

from wisecrowd._types import Array
from wisecrowd.maths.cholesky import inverse_of
from wisecrowd.maths.jaakkola import Latent, Sites, both_classes
from wisecrowd.maths.scaling import Scaling

BLOCK = 10_000  # new items that are predicted at a time


class FourierKernel(NamedTuple):
    """The logarithms of the variance v and the length-scale ℓ, and the frequencies."""

    log_variance: float
    log_scale: float
    frequencies: Float[np.ndarray, "F D"]


class FourierProcess(NamedTuple):
    """A fitted linear model, and from which units to which it scales features."""

    log_variance: float
    log_scale: float
    frequencies: Array
    weights: Array  # the mean of w
    factor: Array  # L of L Lᵀ = its precision
    scaling: Scaling

    def proba(self, X: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n 2"]:
        """Return E σ(±f) of items in the user's units."""
        parts = [self._proba(X[i : i + BLOCK]) for i in range(0, len(X), BLOCK)]
        return np.concatenate(parts) if parts else np.zeros((0, 2))

    def _proba(self, X: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n 2"]:
        kernel = FourierKernel(self.log_variance, self.log_scale, self.frequencies)
        phi = features(kernel, self.scaling.apply(X, "float64"))
        part = solve_triangular(self.factor, phi.T, lower=True)
        return both_classes(phi @ self.weights, np.einsum("ij,ij->j", part, part))


def features(
    kernel: FourierKernel, X: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, "N G"]:
    """Return √(v / F) [cos U, sin U], with G = 2 F columns."""
    n_frequencies = len(kernel.frequencies)
    angle = X @ (kernel.frequencies.T * np.exp(-kernel.log_scale))
    out = np.empty((len(X), 2 * n_frequencies))
    np.cos(angle, out=out[:, :n_frequencies])
    np.sin(angle, out=out[:, n_frequencies:])
    out *= np.exp(0.5 * kernel.log_variance) / np.sqrt(n_frequencies)
    return out


class Solved(NamedTuple):
    """q(w) = N(m, P⁻¹), and what it says about the items."""

    weights: Float[np.ndarray, " G"]  # m
    factor: Float[np.ndarray, "G G"]  # L of L Lᵀ = P
    inverse: Float[np.ndarray, "G G"]
    mean: Float[np.ndarray, " N"]
    var: Float[np.ndarray, " N"]
    by_features: Float[np.ndarray, "N G"]


def solved(phi: Float[np.ndarray, "N G"], sites: Sites) -> Solved:
    """Return q(w): P = I + Φᵀ W Φ, m = P⁻¹ Φᵀ t, and the derivative by Φ.

    The variance of item n is φₙᵀ P⁻¹ φₙ. The derivative of :func:`log_integral` by Φ is
    (t − W Φ m) mᵀ − W Φ P⁻¹.
    """
    root = np.sqrt(sites.precision)
    weighted = phi * root[:, None]
    precision = weighted.T @ weighted
    precision[np.diag_indices_from(precision)] += 1.0
    factor = cholesky(precision, lower=True, check_finite=False)
    inverse = inverse_of(factor)
    weights = inverse @ (phi.T @ sites.shift)
    mean = phi @ weights
    by_phi = np.matmul(phi, inverse, out=weighted)
    var = np.einsum("ng,ng->n", by_phi, phi)
    by_phi *= -sites.precision[:, None]
    by_phi += np.outer(sites.shift - sites.precision * mean, weights)
    return Solved(weights, factor, inverse, mean, var, by_phi)


def log_det(found: Solved) -> float:
    """Return log |P|."""
    return 2 * float(np.log(np.diagonal(found.factor)).sum())


def divergence(found: Solved) -> float:
    """KL(q(w) ‖ p(w)) = (tr P⁻¹ + |m|² − G + log |P|) / 2."""
    trace = float(np.trace(found.inverse)) - len(found.weights)
    return 0.5 * (trace + float(found.weights @ found.weights) + log_det(found))


def log_integral(found: Solved, sites: Sites) -> float:
    """Log ∫ p(w) exp(sites) dw = (tᵀ Φ m − log |P|) / 2."""
    return 0.5 * (float(sites.shift @ found.mean) - log_det(found))


def gradient(
    kernel: FourierKernel,
    X: Float[np.ndarray, "N D"],
    phi: Float[np.ndarray, "N G"],
    by_features: Float[np.ndarray, "N G"],
) -> FourierKernel:
    """Return the derivatives by log v, log ℓ and Ω, given those by Φ.

    G are those by Φ, and H = G_sin ∘ Φ_cos − G_cos ∘ Φ_sin those by the angles U. They
    are Σ G ∘ Φ / 2, −Σ H ∘ U and Hᵀ X / ℓ. The second is −Σ Ω ∘ (Hᵀ X / ℓ), because
    U = X Ωᵀ / ℓ.
    """
    n_frequencies = len(kernel.frequencies)
    by_angle = by_features[:, n_frequencies:] * phi[:, :n_frequencies]
    by_angle -= by_features[:, :n_frequencies] * phi[:, n_frequencies:]
    by_frequencies = by_angle.T @ X
    by_frequencies *= np.exp(-kernel.log_scale)
    return FourierKernel(
        0.5 * float(np.vdot(by_features, phi)),
        -float(np.vdot(kernel.frequencies, by_frequencies)),
        by_frequencies,
    )


def latent(kernel: FourierKernel, X: Float[np.ndarray, "N D"], sites: Sites) -> Latent:
    """Return q(f) for a kernel and the scaled features of the items."""
    phi = features(kernel, X)
    found = solved(phi, sites)
    slope = gradient(kernel, X, phi, found.by_features)
    return Latent(
        found.mean,
        found.var,
        divergence(found),
        log_integral(found, sites),
        np.concatenate([slope[:2], slope.frequencies.ravel()]),
        (found.weights, found.factor),
    )
