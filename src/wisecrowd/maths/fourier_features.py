"""Fourier features of the squared-exponential kernel, and a linear model in them.

With U = X Ωᵀ / ℓ and frequencies Ω ~ N(0, I), the 2 F features √(v / F) [cos U, sin U]
have φ(x)ᵀ φ(y) ≈ v exp(−|x − y|² / (2 ℓ²)) (Rahimi and Recht 2007). Then f = Φ w with
w ~ N(0, I). Nothing here is larger than N × 2 F.
"""

from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cholesky, solve_triangular

from wisecrowd._records import LOG, Sizes, record
from wisecrowd.maths.cholesky import inverse_of, unfit_factor
from wisecrowd.maths.jaakkola import Latent, Sites, both_classes
from wisecrowd.maths.scaling import Scaling

BLOCK = 1000  # items at a time: what fits into a cache is twice as fast


class FourierKernel(NamedTuple):
    """The logarithms of the variance v and the length-scale ℓ, and the frequencies."""

    log_variance: float
    log_scale: float
    frequencies: Float[np.ndarray, "F D"]


@record
class FourierProcess(NamedTuple):
    """A fitted linear model, and from which units to which it scales features."""

    log_variance: Annotated[float, LOG]
    log_scale: Annotated[float, LOG]
    frequencies: Float[np.ndarray, "F D"]
    weights: Float[np.ndarray, " G"]  # the mean of w
    factor: Float[np.ndarray, "G G"]  # L of L Lᵀ = its precision
    scaling: Scaling

    def unfit(self, sizes: Sizes) -> str:
        """Return what is wrong with a process from a file."""
        if len(self.weights) != 2 * len(self.frequencies):
            return "weights does not have two for every frequency"
        return unfit_factor(self.factor)

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
    kernel: FourierKernel,
    X: Float[np.ndarray, "N D"],
    out: Float[np.ndarray, "N G"] | None = None,
) -> Float[np.ndarray, "N G"]:
    """Return √(v / F) [cos U, sin U], with G = 2 F columns; in `out` if it is given."""
    n_frequencies = len(kernel.frequencies)
    if out is None:
        out = np.empty((len(X), 2 * n_frequencies))
    angle = X @ (kernel.frequencies.T * np.exp(-kernel.log_scale))
    np.cos(angle, out=out[:, :n_frequencies])
    np.sin(angle, out=out[:, n_frequencies:])
    out *= np.exp(0.5 * kernel.log_variance) / np.sqrt(n_frequencies)
    return out


class Solved(NamedTuple):
    """q(w) = N(m, P⁻¹)."""

    weights: Float[np.ndarray, " G"]  # m
    factor: Float[np.ndarray, "G G"]  # L of L Lᵀ = P
    inverse: Float[np.ndarray, "G G"]


def solved(
    gram: Float[np.ndarray, "G G"], projected: Float[np.ndarray, " G"]
) -> Solved:
    """Return q(w) from Φᵀ W Φ and Φᵀ t: P = I + Φᵀ W Φ and m = P⁻¹ Φᵀ t."""
    precision = gram + np.eye(len(gram))
    factor = cholesky(precision, lower=True, check_finite=False)
    inverse = inverse_of(factor)
    return Solved(inverse @ projected, factor, inverse)


def log_det(found: Solved) -> float:
    """Return log |P|."""
    return 2 * float(np.log(np.diagonal(found.factor)).sum())


def divergence(found: Solved) -> float:
    """KL(q(w) ‖ p(w)) = (tr P⁻¹ + |m|² − G + log |P|) / 2."""
    trace = float(np.trace(found.inverse)) - len(found.weights)
    return 0.5 * (trace + float(found.weights @ found.weights) + log_det(found))


def log_integral(found: Solved, projected: Float[np.ndarray, " G"]) -> float:
    """Log ∫ p(w) exp(sites) dw = (tᵀ Φ m − log |P|) / 2."""
    return 0.5 * (float(projected @ found.weights) - log_det(found))


def moments_and_slope(
    found: Solved, phi: Float[np.ndarray, "B G"], sites: Sites
) -> tuple[Float[np.ndarray, " B"], Float[np.ndarray, " B"], Float[np.ndarray, "B G"]]:
    """Return mean and variance of f, and the derivative of the integral by Φ.

    The mean is Φ m, the variance of item n is φₙᵀ P⁻¹ φₙ, and the derivative of
    :func:`log_integral` is (t − W Φ m) mᵀ − W Φ P⁻¹.
    """
    mean = phi @ found.weights
    by_phi = phi @ found.inverse
    var = np.einsum("ng,ng->n", by_phi, phi)
    by_phi *= -sites.precision[:, None]
    by_phi += np.outer(sites.shift - sites.precision * mean, found.weights)
    return mean, var, by_phi


def by_angles(
    phi: Float[np.ndarray, "B G"], by_phi: Float[np.ndarray, "B G"]
) -> Float[np.ndarray, "B F"]:
    """Return G_sin ∘ Φ_cos − G_cos ∘ Φ_sin: the derivative by U, given G, that by Φ."""
    half = phi.shape[1] // 2
    out = by_phi[:, half:] * phi[:, :half]
    out -= by_phi[:, :half] * phi[:, half:]
    return out


def latent(
    kernel: FourierKernel,
    X: Float[np.ndarray, "N D"],
    sites: Sites,
    space: Float[np.ndarray, "N G"] | None = None,
) -> Latent:
    """Return q(f) for a kernel and the scaled features of the items.

    Two passes over the items, some thousand at a time. With G the derivative by Φ and H
    that by U, the derivatives by log v, log ℓ and Ω are Σ G ∘ Φ / 2, −Σ H ∘ U and
    Hᵀ X / ℓ. The second is −Σ Ω ∘ (Hᵀ X / ℓ), because U = X Ωᵀ / ℓ. A loop gives the
    `space` for Φ, which is then not allocated every time.
    """
    size = 2 * len(kernel.frequencies)
    phi = np.empty((len(X), size)) if space is None else space
    gram, projected = np.zeros((size, size)), np.zeros(size)
    blocks = [slice(i, i + BLOCK) for i in range(0, len(X), BLOCK)]
    for rows in blocks:
        part = features(kernel, X[rows], phi[rows])
        projected += part.T @ sites.shift[rows]
        weighted = part * np.sqrt(sites.precision[rows])[:, None]
        gram += weighted.T @ weighted
    found = solved(gram, projected)
    mean, var = np.empty(len(X)), np.empty(len(X))
    by_variance, by_frequencies = 0.0, np.zeros_like(kernel.frequencies)
    for rows in blocks:
        some = Sites(sites.shift[rows], sites.precision[rows])
        mean[rows], var[rows], by_phi = moments_and_slope(found, phi[rows], some)
        by_variance += 0.5 * float(np.vdot(by_phi, phi[rows]))
        by_frequencies += by_angles(phi[rows], by_phi).T @ X[rows]
    by_frequencies *= np.exp(-kernel.log_scale)
    by_scale = -float(np.vdot(kernel.frequencies, by_frequencies))
    return Latent(
        mean,
        var,
        divergence(found),
        log_integral(found, projected),
        np.concatenate([[by_variance, by_scale], by_frequencies.ravel()]),
        (found.weights, found.factor),
    )
