"""A Gaussian process on all items under quadratic sites: one Cholesky factor per q(f).

p(f) = N(0, K), and the sites are exp(Σₙ tₙ fₙ − wₙ fₙ² / 2). With S = diag(√w) and
B = I + S K S, whose eigenvalues are at least one, nothing is divided by K:

    q(f) = N(μ, Σ),  Σ = K − K S B⁻¹ S K,  μ = Σ t = K a,  a = S B⁻¹ S⁻¹ t.
"""

from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cholesky, solve_triangular

from wisecrowd._records import LOG, NOT_NEGATIVE, Sizes, record
from wisecrowd.maths import squared_exponential
from wisecrowd.maths.cholesky import inverse_of, unfit_factor
from wisecrowd.maths.jaakkola import Latent, Sites, both_classes
from wisecrowd.maths.scaling import Scaling
from wisecrowd.maths.squared_exponential import SquaredExponential

BLOCK = 1000  # new items that are predicted at a time


@record
class FullProcess(NamedTuple):
    """A fitted process, and from which units to which it scales features."""

    log_variance: Annotated[float, LOG]
    log_scale: Annotated[float, LOG]
    X: Float[np.ndarray, "n D"]  # of the training items, scaled
    weights: Float[np.ndarray, " n"]  # a
    root: Annotated[Float[np.ndarray, " n"], NOT_NEGATIVE]  # √w
    factor: Float[np.ndarray, "n n"]  # L of L Lᵀ = B
    scaling: Scaling

    def unfit(self, sizes: Sizes) -> str:
        """Return what is wrong with a process from a file."""
        return unfit_factor(self.factor)

    def proba(self, X: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n 2"]:
        """Return E σ(±f) of items in the user's units."""
        parts = [self._proba(X[i : i + BLOCK]) for i in range(0, len(X), BLOCK)]
        return np.concatenate(parts) if parts else np.zeros((0, 2))

    def _proba(self, X: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n 2"]:
        kernel = SquaredExponential(self.log_variance, self.log_scale)
        scaled = self.scaling.apply(X, "float64")
        across = squared_exponential.covariance(kernel, self.X, scaled)
        return both_classes(*predicted(self, across))


class Solved(NamedTuple):
    """q(f) for one covariance: what all that is asked of it is made of."""

    mean: Float[np.ndarray, " N"]
    var: Float[np.ndarray, " N"]
    weights: Float[np.ndarray, " N"]
    root: Float[np.ndarray, " N"]
    factor: Float[np.ndarray, "N N"]
    inverse: Float[np.ndarray, "N N"]  # of B
    log_det: float  # of B


def solved(covariance: Float[np.ndarray, "N N"], sites: Sites) -> Solved:
    """Return μ, the diagonal of Σ, and the parts of B.

    Σₙₙ = (1 − (B⁻¹)ₙₙ) / wₙ. The inverse of B is accurate, because B ≥ I, and the
    gradient by the kernel needs all of it.
    """
    root = np.sqrt(sites.precision)
    b = covariance * root
    b *= root[:, None]
    b[np.diag_indices_from(b)] += 1.0
    factor = cholesky(b.T, lower=True, overwrite_a=True, check_finite=False)
    inverse = inverse_of(factor)
    weights = root * (inverse @ (sites.shift / root))
    var = np.maximum((1 - np.diagonal(inverse)) / sites.precision, 0.0)
    log_det = 2 * float(np.log(np.diagonal(factor)).sum())
    return Solved(covariance @ weights, var, weights, root, factor, inverse, log_det)


def divergence(found: Solved) -> float:
    """KL(q(f) ‖ p(f)) = (tr B⁻¹ + μᵀ a − N + log |B|) / 2."""
    trace = float(np.trace(found.inverse)) - len(found.mean)
    return 0.5 * (trace + float(found.mean @ found.weights) + found.log_det)


def log_integral(found: Solved, sites: Sites) -> float:
    """Log ∫ p(f) exp(sites) df = (tᵀ μ − log |B|) / 2."""
    return 0.5 * (float(sites.shift @ found.mean) - found.log_det)


def by_covariance(found: Solved) -> Float[np.ndarray, "N N"]:
    """Return the derivative of :func:`log_integral` by K, (a aᵀ − S B⁻¹ S) / 2."""
    out = found.inverse * -found.root
    out *= found.root[:, None]
    out += np.outer(found.weights, found.weights)
    out *= 0.5
    return out


def latent(
    kernel: SquaredExponential, squared: Float[np.ndarray, "N N"], sites: Sites
) -> Latent:
    """Return q(f) for a kernel and the squared distances between the items."""
    covariance = squared_exponential.of_distances(kernel, squared)
    found = solved(covariance, sites)
    slope = squared_exponential.gradient_of_distances(
        kernel, squared, covariance, by_covariance(found)
    )
    return Latent(
        found.mean,
        found.var,
        divergence(found),
        log_integral(found, sites),
        np.array(slope),
        found._replace(inverse=np.zeros((0, 0))),
    )


def predicted(
    process: FullProcess, across: Float[np.ndarray, "N n"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return mean and variance of f at new items, k* being the columns of `across`.

    They are k*ᵀ a and v − |L⁻¹ S k*|².
    """
    mean = across.T @ process.weights
    part = solve_triangular(process.factor, process.root[:, None] * across, lower=True)
    var = np.exp(process.log_variance) - np.einsum("ij,ij->j", part, part)
    return mean, np.maximum(var, 0.0)
