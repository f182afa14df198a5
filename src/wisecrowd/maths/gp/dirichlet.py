"""Dirichlet distributions that a gradient goes through: `maths/dirichlet.py` in JAX."""

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Float, Int

N_SHIFTED = 6  # ψ is shifted by so much; its series is then right to eleven digits


@jax.custom_jvp
def digamma(x: Float[Array, "*rows"]) -> Float[Array, "*rows"]:
    """ψ(x) for x > 0, with a slope that is cheap: JAX's own sums a zeta function.

    ψ(x) = ψ(y) − Σ_{i < 6} 1 / (x + i) with y = x + 6, and
    ψ(y) ≈ log y − 1/(2y) − 1/(12y²) + 1/(120y⁴) − 1/(252y⁶) + 1/(240y⁸) − 1/(132y¹⁰).
    """
    y = x + N_SHIFTED
    w = 1 / (y * y)
    tail = w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w / 132)))
    out = jnp.log(y) - 0.5 / y - w * (1 / 12 - tail)
    for i in range(N_SHIFTED):
        out -= 1 / (x + i)
    return out


@digamma.defjvp
def _digamma_slope(
    primals: tuple[Array], tangents: tuple[Array]
) -> tuple[Float[Array, "*rows"], Float[Array, "*rows"]]:
    return digamma(primals[0]), trigamma(primals[0]) * tangents[0]


def trigamma(x: Float[Array, "*rows"]) -> Float[Array, "*rows"]:
    """ψ′(x) for x > 0, by the same shift and the slope of the same series."""
    y = x + N_SHIFTED
    v, w = 1 / y, 1 / (y * y)
    tail = w * (1 / 30 - w * (1 / 42 - w * (1 / 30 - w * 5 / 66)))
    out = v * (1 + v / 2 + w * (1 / 6 - tail))
    for i in range(N_SHIFTED):
        out += 1 / ((x + i) * (x + i))
    return out


def mean_log_of(
    counts: Float[Array, "A C K"], annotator: Int[Array, " P"], answer: Int[Array, " P"]
) -> Float[Array, "P C"]:
    """E[log R[a, :, y]] for some answers y of annotators a:  ψ(α[a, :, y]) − ψ(Σ α)."""
    of_all = digamma(counts.sum(-1))
    return digamma(counts[annotator, :, answer]) - of_all[annotator]


@jax.custom_jvp
def kl(
    counts: Float[Array, "A C K"], prior: Float[Array, "#A C K"]
) -> Float[Array, "A C"]:
    """KL(Dir(α̃) ‖ Dir(α)) = log B(α) − log B(α̃) + Σₖ (α̃ₖ − αₖ) E[log Rₖ]."""
    mean_log = digamma(counts) - digamma(counts.sum(-1, keepdims=True))
    moved = ((counts - prior) * mean_log).sum(-1)
    return log_norm(prior) - log_norm(counts) + moved


@kl.defjvp
def _kl_slope(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Float[Array, "A C"], Float[Array, "A C"]]:
    """Of α̃ₖ: (α̃ₖ − αₖ) ψ′(α̃ₖ) − ψ′(Σ α̃) Σⱼ (α̃ⱼ − αⱼ); the rest cancels."""
    counts, prior = primals
    more = counts - prior
    shared = trigamma(counts.sum(-1)) * more.sum(-1)
    slope = more * trigamma(counts) - shared[..., None]
    return kl(counts, prior), (slope * tangents[0]).sum(-1)


def log_norm(counts: Float[Array, "*rows K"]) -> Float[Array, "*rows"]:
    """Return log B(α) = Σₖ log Γ(αₖ) − log Γ(Σₖ αₖ)."""
    return gammaln(counts).sum(-1) - gammaln(counts.sum(-1))
