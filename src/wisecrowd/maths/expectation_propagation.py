"""Expectation propagation: a Gaussian process seen through the answers of a crowd.

f ~ N(0, K), p(z = 1 | f) = Φ(f), and the two classes are summed out. So the likelihood
of the answers on an item is ℓ(f) = ℓ₀ Φ(−f) + ℓ₁ Φ(f), where ℓ_c = p(answers | z = c).
EP replaces it by a site exp(ν f − s f² / 2). Where answers contradict the neighbours,
the precision s of a site is negative; nothing here clips it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.lapack import dtrtri
from scipy.special import log_ndtr

from wisecrowd._types import Array

LOG_ROOT_TWO_PI = 0.5 * float(np.log(2 * np.pi))
WEAK = 1e-3  # site precision times prior variance below which a difference cancels
LARGEST_STEP = 0.8  # share of the way to the new sites; with 1, EP can flip for ever
SHORTER, LONGER = 0.5, 1.2  # of the step, after moves that grew or shrank
SMALLEST_STEP = 1e-3


class Sites(NamedTuple):
    """The sites exp(ν f − s f² / 2): precision s, of either sign, and shift ν."""

    precision: Float[np.ndarray, " N"]
    shift: Float[np.ndarray, " N"]


class Moments(NamedTuple):
    """Mean and variance of a Gaussian for every item."""

    mean: Float[np.ndarray, " N"]
    variance: Float[np.ndarray, " N"]


class SignedFactor(NamedTuple):
    """L⁻¹ of D + √|S| K √|S| = L J Lᵀ, where D = J = sign(S); see `signed_factor`."""

    inverse: Float[np.ndarray, "N N"]
    order: Int[np.ndarray, " N"]
    sign: Float[np.ndarray, " N"]
    root: Float[np.ndarray, " N"]


class Posterior(NamedTuple):
    """q(f) ∝ N(f; 0, K) Π sites: its marginals, and log det(I + K S)."""

    marginal: Moments
    log_det: float
    factor: SignedFactor


class Tilted(NamedTuple):
    """A cavity times the likelihood of an item: log norm, its slopes, p(z = 1)."""

    log_norm: Float[np.ndarray, " N"]
    slope: Float[np.ndarray, " N"]
    curvature: Float[np.ndarray, " N"]
    proba: Float[np.ndarray, " N"]


class Approximation(NamedTuple):
    """Where EP arrived."""

    sites: Sites
    posterior: Posterior
    tilted: Tilted
    log_evidence: float
    n_sweeps: int
    converged: bool


# -- one item ----------------------------------------------------------------------


def tilted(cavity: Moments, log_likelihood: Float[np.ndarray, "N C"]) -> Tilted:
    """Return log Z, its derivatives by the cavity mean m, and the posterior of z.

    With t = m / √(1 + v), ∫ ℓ(f) N(f; m, v) df = Z = ℓ₀ Φ(−t) + ℓ₁ Φ(t). So
    g = d log Z / dm = (ℓ₁ − ℓ₀) N(t) / (Z √(1 + v)) and
    h = d² log Z / dm² = −g (g + t / √(1 + v)).
    """
    wide = np.sqrt(1 + cavity.variance)
    t = cavity.mean / wide
    joint = log_likelihood + np.stack([log_ndtr(-t), log_ndtr(t)], 1)
    log_norm = np.logaddexp(joint[:, 0], joint[:, 1])
    density = -0.5 * t * t - LOG_ROOT_TWO_PI - log_norm
    less, more = np.exp(log_likelihood + density[:, None]).T
    slope = (more - less) / wide
    curvature = -slope * (slope + t / wide)
    return Tilted(log_norm, slope, curvature, np.exp(joint[:, 1] - log_norm))


def matched_sites(cavity: Moments, found: Tilted) -> Sites:
    """Return the sites that give the cavity the moments of the tilted distribution.

    Those are m + v g and v + v² h, so s = −h / (1 + v h), ν = (g − m h) / (1 + v h).
    """
    shrink = 1 + cavity.variance * found.curvature  # variance after / before
    return Sites(
        -found.curvature / shrink,
        (found.slope - cavity.mean * found.curvature) / shrink,
    )


# -- all items ---------------------------------------------------------------------


def signed_factor(
    K: Float[np.ndarray, "N N"], precision: Float[np.ndarray, " N"]
) -> SignedFactor:
    """Factorise D + √|S| K √|S| = L J Lᵀ, items with negative precision last.

    For positive precisions that is the Cholesky factor of I + √S K √S. The items Q with
    a negative precision have the block −I + A_QQ, and what the other items P leave of
    it is −L_Q L_Qᵀ, where L_Q L_Qᵀ = I − A_QQ + A_QP (I + A_PP)⁻¹ A_PQ. It exists as
    long as K⁻¹ + S is positive definite; otherwise there is a LinAlgError.
    """
    negative = precision < 0
    order = np.argsort(negative, kind="stable")
    n = len(order) - int(negative.sum())
    root = np.sqrt(np.abs(precision[order]))
    A = K[np.ix_(order, order)]
    A *= root
    A *= root[:, None]
    factor = np.zeros(A.shape, order="F")
    factor[:n, :n] = _cholesky(A[:n, :n] + np.eye(n))
    if n < len(order):
        across = solve_triangular(factor[:n, :n], A[:n, n:], lower=True)
        factor[n:, :n] = across.T
        rest = across.T @ across - A[n:, n:]
        factor[n:, n:] = _cholesky(rest + np.eye(len(rest)))
    inverse, _ = dtrtri(factor, lower=1, overwrite_c=1)
    return SignedFactor(inverse, order, np.where(negative[order], -1.0, 1.0), root)


def _cholesky(matrix: Array) -> Array:
    if not len(matrix):
        return matrix
    if not np.isfinite(matrix).all():
        raise LinAlgError("the sites are not finite")
    return cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)


def whitened(
    factor: SignedFactor, columns: Float[np.ndarray, "N n"]
) -> Float[np.ndarray, "N n"]:
    """Return L⁻¹ √|S| times the columns, whose rows are items.

    With V of that name for K, the covariance of q(f) is K − Vᵀ J V.
    """
    scaled = factor.root[:, None] * columns[factor.order]
    out: Array = factor.inverse @ scaled
    return out


def posterior(K: Float[np.ndarray, "N N"], sites: Sites) -> Posterior:
    """Return q(f) = N(Σ ν, Σ), Σ = (K⁻¹ + S)⁻¹: its marginals and log det(I + K S).

    √|S| Σ √|S| = D − (D + √|S| K √|S|)⁻¹, so the diagonal needs L⁻¹ only. Where the
    precision is near zero, that difference cancels and K − Vᵀ J V is used instead.
    """
    factor = signed_factor(K, sites.precision)
    own = np.einsum("j,ji,ji->i", factor.sign, factor.inverse, factor.inverse)
    strength = np.square(factor.root)
    weak = np.flatnonzero(strength * np.diagonal(K)[factor.order] < WEAK)
    strength[weak] = 1.0
    variance = np.empty(len(own))
    variance[factor.order] = (factor.sign - own) / strength
    if len(weak):
        items = factor.order[weak]
        V = whitened(factor, K[:, items])
        left = np.einsum("j,ji,ji->i", factor.sign, V, V)
        variance[items] = np.diagonal(K)[items] - left
    mean = K @ (sites.shift - _solved(factor, K @ sites.shift))
    log_det = -2 * float(np.log(np.diagonal(factor.inverse)).sum())
    return Posterior(Moments(mean, variance), log_det, factor)


def _solved(factor: SignedFactor, values: Array) -> Array:
    """(K + S⁻¹)⁻¹ times the values: √|S| L⁻ᵀ J L⁻¹ √|S|."""
    inner = factor.sign * whitened(factor, values[:, None])[:, 0]
    out = np.empty(len(values))
    out[factor.order] = factor.root * (factor.inverse.T @ inner)
    return out


def cavities(marginal: Moments, sites: Sites) -> tuple[Moments, Bool[np.ndarray, " N"]]:
    """Return every item's marginal without its own site, and which of them exist.

    1 / v = 1 / σ² − s and m / v = μ / σ² − ν. While the sites are on their way, 1 / v
    can be negative; then the marginal is returned, and the site has to wait.
    """
    precision = 1 / marginal.variance - sites.precision
    exists = (precision > 0) & (marginal.variance > 0)
    variance = np.where(exists, 1 / np.where(exists, precision, 1.0), 1.0)
    variance = np.where(exists, variance, np.abs(marginal.variance))
    mean = variance * (marginal.mean / marginal.variance - sites.shift)
    return Moments(np.where(exists, mean, marginal.mean), variance), exists


def log_evidence(q: Posterior, sites: Sites, cavity: Moments, found: Tilted) -> float:
    """Return EP's log p(answers) (Rasmussen and Williams, eq. 3.65).

    Σ log Z + Σ ½ [log(v / σ²) − μ² / σ² + m² / v] − ½ log det(I + K S) + ½ νᵀ μ. It is
    stationary in the sites where EP has converged.
    """
    mean, variance = q.marginal
    each = np.log(cavity.variance / variance)
    each += cavity.mean**2 / cavity.variance - mean**2 / variance
    total = found.log_norm.sum() + 0.5 * each.sum()
    return float(total - 0.5 * q.log_det + 0.5 * sites.shift @ mean)


def by_covariance(q: Posterior, sites: Sites) -> Float[np.ndarray, "N N"]:
    """∂ log evidence / ∂K = ½ (b bᵀ − (K + S⁻¹)⁻¹), b = ν − S μ = K⁻¹ μ.

    Rasmussen and Williams, eq. 5.27, for precisions of either sign. Right only where EP
    has converged: there the sites and cavities may be held.
    """
    factor = q.factor
    b = sites.shift - sites.precision * q.marginal.mean
    scaled = factor.inverse * factor.root
    W = scaled.T @ (factor.sign[:, None] * scaled)
    out = np.empty_like(W)
    out[np.ix_(factor.order, factor.order)] = W
    np.subtract(np.outer(b, b), out, out=out)
    out *= 0.5
    return out


# -- the loop ----------------------------------------------------------------------


def flat_sites(n_items: int) -> Sites:
    """Return sites that say nothing."""
    return Sites(np.zeros(n_items), np.zeros(n_items))


def propagated(
    K: Float[np.ndarray, "N N"],
    log_likelihood: Float[np.ndarray, "N C"],
    sites: Sites,
    *,
    tol: float = 1e-3,
    max_sweeps: int = 200,
) -> Approximation:
    """Update all sites at once until no marginal moves by more than `tol`.

    Damping: sites go only a step of the way. The step is halved whenever the moves
    grow, so that sites which oscillate come to rest. It grows again afterwards: a step
    that could only shrink takes several times as many sweeps.
    """
    sites, q = started(K, sites)
    step, last, move = LARGEST_STEP, np.inf, np.inf
    n_sweeps = 0
    while move >= tol and n_sweeps < max_sweeps:
        cavity, exists = cavities(q.marginal, sites)
        target = matched_sites(cavity, tilted(cavity, log_likelihood))
        before = q.marginal
        sites, q = moved(K, (sites, q), target, exists, step)
        last, move = move, largest_move(before, q.marginal, exists) / step
        step *= SHORTER if move > last else LONGER
        step = float(np.clip(step, SMALLEST_STEP, LARGEST_STEP))
        n_sweeps += 1
    cavity, _ = cavities(q.marginal, sites)
    found = tilted(cavity, log_likelihood)
    value = log_evidence(q, sites, cavity, found)
    return Approximation(sites, q, found, value, n_sweeps, bool(move < tol))


def started(K: Float[np.ndarray, "N N"], sites: Sites) -> tuple[Sites, Posterior]:
    """Return the sites and q(f); another K may not allow the negative precisions."""
    try:
        return sites, posterior(K, sites)
    except LinAlgError:
        sites = Sites(np.maximum(sites.precision, 0.0), sites.shift)
        return sites, posterior(K, sites)


def largest_move(
    before: Moments, after: Moments, exists: Bool[np.ndarray, " N"]
) -> float:
    """Return max(|Δμ| / σ, |Δσ²| / σ²); infinite while a cavity does not exist.

    Not the moves of sites: many small ones of near items add up to a large one of q(f).
    """
    mean = np.abs(after.mean - before.mean) / np.sqrt(np.abs(after.variance))
    variance = np.abs(before.variance / after.variance - 1)
    moves = np.maximum(mean, variance)
    return float(np.where(exists, moves, np.inf).max(initial=0.0))


def moved(
    K: Float[np.ndarray, "N N"],
    now: tuple[Sites, Posterior],
    target: Sites,
    exists: Bool[np.ndarray, " N"],
    step: float,
) -> tuple[Sites, Posterior]:
    """Go a part of the way to the new sites, as far as q(f) remains a Gaussian."""
    sites = now[0]
    while step >= SMALLEST_STEP:
        new = Sites(
            *(
                np.where(exists, (1 - step) * old + step * to, old)
                for old, to in zip(sites, target, strict=True)
            )
        )
        try:
            return new, posterior(K, new)
        except LinAlgError:
            step *= 0.5
    return now


def predicted(
    q: Posterior,
    sites: Sites,
    across: Float[np.ndarray, "N n"],
    prior_variance: float,
) -> Moments:
    """Return the moments of f at new items, whose covariances with the items these are.

    The mean is k*ᵀ (ν − S μ), the variance k** − k*ᵀ (K + S⁻¹)⁻¹ k*.
    """
    b = sites.shift - sites.precision * q.marginal.mean
    V = whitened(q.factor, across)
    variance = prior_variance - np.einsum("j,ji,ji->i", q.factor.sign, V, V)
    return Moments(across.T @ b, np.maximum(variance, 0.0))
