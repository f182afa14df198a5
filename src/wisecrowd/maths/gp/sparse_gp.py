"""Sparse variational Gaussian processes in whitened coordinates.

u = L w with L Lᵀ = K_uu, so that p(w) = N(0, I) whatever the kernel. For every class
q(w_c) = N(m_c, S_c) is kept by its natural parameters: shift_c = S_c⁻¹ m_c and
precision_c = S_c⁻¹.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from wisecrowd.maths.gp.kernels import Kernel, Params

JITTER = 1e-6  # relative to the mean variance of the inducing points
MIN_VAR = 1e-10  # a variance that rounding made negative


class Natural(NamedTuple):
    """Natural parameters of q(w), for every class."""

    shift: Float[Array, "C M"]
    precision: Float[Array, "C M M"]


class Moments(NamedTuple):
    """Mean and covariance of q(w), for every class."""

    mean: Float[Array, "C M"]
    cov: Float[Array, "C M M"]


class Rooted(NamedTuple):
    """Mean and root of the covariance of q(w), S = root rootᵀ, for every class.

    Only what is on and below the diagonal of `root` counts.
    """

    mean: Float[Array, "C M"]
    root: Float[Array, "C M M"]


class Latent(NamedTuple):
    """Mean and variance of every f_c at every point."""

    mean: Float[Array, "B C"]
    var: Float[Array, "B C"]


def prior_natural(n_classes: int, n_inducing: int) -> Natural:
    """Return q(w) = p(w) = N(0, I)."""
    eye = jnp.eye(n_inducing)
    return Natural(jnp.zeros((n_classes, n_inducing)), jnp.tile(eye, (n_classes, 1, 1)))


def inverse_root(matrix: Float[Array, "C M M"]) -> Float[Array, "C M M"]:
    """L⁻¹ of every L Lᵀ = matrix; NaN where a matrix is not positive definite.

    One matrix after another: LAPACK solves a single triangle, while the solver for
    batches of them is fifty times slower on a CPU.
    """
    eye = jnp.eye(matrix.shape[-1], dtype=matrix.dtype)

    def one(matrix: Float[Array, "M M"]) -> Float[Array, "M M"]:
        root = jnp.linalg.cholesky(matrix)
        return jax.lax.linalg.triangular_solve(root, eye, left_side=True, lower=True)

    return jax.lax.map(one, matrix)


def to_moments(natural: Natural) -> Moments:
    """S = precision⁻¹, m = S shift."""
    inverse = inverse_root(natural.precision)
    cov = jnp.swapaxes(inverse, 1, 2) @ inverse
    return Moments((cov @ natural.shift[:, :, None])[:, :, 0], cov)


def kl_to_prior(natural: Natural) -> Float[Array, ""]:
    """Σ_c KL(N(m, S) ‖ N(0, I)) = ½ Σ_c (tr S + mᵀm − M + log |S⁻¹|)."""
    moments = to_moments(natural)
    root = jnp.linalg.cholesky(natural.precision)
    log_det = 2 * jnp.log(jnp.diagonal(root, axis1=1, axis2=2)).sum()
    trace = jnp.trace(moments.cov, axis1=1, axis2=2).sum()
    return 0.5 * (trace + (moments.mean**2).sum() - moments.mean.size + log_det)


def rooted_moments(rooted: Rooted) -> Moments:
    """S = root rootᵀ."""
    root = jnp.tril(rooted.root)
    return Moments(rooted.mean, root @ jnp.swapaxes(root, 1, 2))


def rooted_natural(rooted: Rooted) -> Natural:
    """Return S⁻¹ m and S⁻¹."""
    moments = rooted_moments(rooted)
    inverse = inverse_root(moments.cov)
    precision = jnp.swapaxes(inverse, 1, 2) @ inverse
    return Natural((precision @ moments.mean[:, :, None])[:, :, 0], precision)


def rooted_kl_to_prior(rooted: Rooted) -> Float[Array, ""]:
    """Return the same from the root: |S| is the squared product of its diagonal."""
    root = jnp.tril(rooted.root)
    log_det = 2 * jnp.log(jnp.abs(jnp.diagonal(root, axis1=1, axis2=2))).sum()
    squares = (root**2).sum() + (rooted.mean**2).sum()
    return 0.5 * (squares - rooted.mean.size - log_det)


def rooted_slopes(rooted: Rooted, site: Natural) -> Rooted:
    """Return the slopes of the bound by mean and root, from its natural gradient.

    The slope of the likelihood is shift − precision m by m, and −½ precision by S.
    """
    root = jnp.tril(rooted.root)
    diagonal = jnp.diagonal(root, axis1=1, axis2=2)
    inverse = jax.vmap(jnp.diag)(1 / diagonal)
    pulled = (site.precision @ rooted.mean[:, :, None])[:, :, 0]
    return Rooted(
        site.shift - pulled - rooted.mean,
        jnp.tril(inverse - site.precision @ root - root),
    )


def projection(
    kernel: Kernel,
    params: Params,
    inducing: Float[Array, "M D"],
    X: Float[Array, "B D"],
    jitter: float = JITTER,
) -> tuple[Float[Array, "M B"], Float[Array, " B"]]:
    """Return A = L⁻¹ K_uf, and what w leaves of f's variance: k(x, x) − |a|².

    K_uu is factorised in 64 bits; what is as long as the batch has the precision of X.
    """
    wide = inducing.astype(jnp.float64)
    cov = kernel(_cast(params, wide), wide, wide)
    jittered = cov + jitter * jnp.diag(cov).mean() * jnp.eye(len(cov), dtype=cov.dtype)
    inverse = inverse_root(jittered[None])[0]
    narrow = _cast(params, X)
    project = inverse @ kernel(narrow, inducing.astype(X.dtype), X).astype(cov.dtype)
    left = kernel.diagonal(narrow, X).astype(cov.dtype) - (project * project).sum(0)
    return project.astype(X.dtype), jnp.maximum(left, 0).astype(X.dtype)


def _cast(params: Params, like: Float[Array, "..."]) -> Params:
    return jax.tree.map(lambda p: p.astype(like.dtype), params)


# The projection has a leading axis P: 1 for a kernel that all classes share, else C.


def _spread(
    moments: Moments, project: Float[Array, "P M B"]
) -> tuple[Float[Array, "P B M"], Float[Array, "C B M"]]:
    """Return Aᵀ and Aᵀ S; the axis that will be summed last, where it is fast."""
    across = jnp.swapaxes(project, 1, 2)
    return across, across @ moments.cov.astype(project.dtype)


def latent_moments(
    moments: Moments, project: Float[Array, "P M B"], left: Float[Array, "P B"]
) -> Latent:
    """Mean aᵀm and variance k(x, x) − |a|² + aᵀ S a of f, a a column of A."""
    mean = moments.mean.astype(project.dtype)[:, None, :] @ project  # [C, 1, B]
    across, spread = _spread(moments, project)
    var = left + (across * spread).sum(2)
    return Latent(mean[:, 0].T, jnp.maximum(var, MIN_VAR).T)


def projection_slopes(
    moments: Moments, project: Float[Array, "P M B"], slope: Latent
) -> tuple[Float[Array, "P M B"], Float[Array, "P B"]]:
    """Return the slopes by A and by the variance left: m gᵀ + 2 S A diag(h), and h.

    What differentiating `latent_moments` gives, with S A used again: S is symmetric.
    """
    g, h = slope.mean.T, slope.var.T  # [C, B]
    _, spread = _spread(moments, project)
    mean = moments.mean.astype(project.dtype)
    if len(project) == 1:  # one kernel, and so one A, for all classes
        by_project = mean.T @ g + 2 * jnp.einsum("cbm,cb->mb", spread, h)
        return by_project[None], h.sum(0, keepdims=True)
    each = mean[:, :, None] * g[:, None, :]
    return each + 2 * jnp.einsum("cbm,cb->cmb", spread, h), h


def site_parameters(
    project: Float[Array, "P M B"],
    latent: Latent,
    slope: Latent,
    scale: float | Float[Array, ""],
) -> Natural:
    """Return the natural gradient of the expected log-likelihood.

    With slopes g, h of the bound by mean and variance: shift A(g − 2hμ), precision
    −2 A diag(h) Aᵀ, times `scale` = N/B.
    """
    pull = scale * (slope.mean - 2 * slope.var * latent.mean).T  # [C, B]
    bend = -2 * scale * slope.var.T
    outer = (project * bend[:, None, :]) @ jnp.swapaxes(project, 1, 2)
    shift = (project @ pull[:, :, None])[:, :, 0]
    return Natural(shift.astype(jnp.float64), outer.astype(jnp.float64))


def natural_step(
    natural: Natural, site: Natural, rate: float | Float[Array, ""]
) -> Natural:
    """θ + ρ (θ_prior + site − θ): a step along the natural gradient of the bound."""
    eye = jnp.eye(natural.precision.shape[-1])[None]
    return Natural(
        natural.shift + rate * (site.shift - natural.shift),
        natural.precision + rate * (eye + site.precision - natural.precision),
    )


def is_valid(natural: Natural) -> Bool[Array, ""]:
    """Whether every precision is positive definite."""
    return jnp.isfinite(jnp.linalg.cholesky(natural.precision)).all()


def cavity(latent: Latent, left: Float[Array, "P B"], slope: Latent) -> Latent:
    """Return q(f) without the pull of an item's own term of the bound.

    The term is a Gaussian site on what w says of f, aᵀw: precision −2h and shift
    g − 2hμ, with g and h its slopes by mean and variance. The variance that w leaves is
    none of its doing. A site that bends upwards is taken as flat, and a cavity keeps at
    least a thousandth of the precision.
    """
    inner = jnp.maximum(latent.var - left.T, MIN_VAR)
    bend = jnp.maximum(-2 * slope.var, 0)
    pull = slope.mean + bend * latent.mean
    precision = jnp.maximum(1 / inner - bend, 1e-3 / inner)
    mean = (latent.mean / inner - pull) / precision
    return Latent(mean, 1 / precision + left.T)
