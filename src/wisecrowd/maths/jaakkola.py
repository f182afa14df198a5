"""The quadratic bound on the logistic function, and a latent Gaussian under it.

Jaakkola and Jordan (2000): for every ξ,

    log σ(s) ≥ log σ(ξ) + (s − ξ) / 2 − λ(ξ) (s² − ξ²),   λ(ξ) = tanh(ξ / 2) / (4 ξ),

with equality at s = ±ξ. With s = ±f it is quadratic in the latent value f, so a
Gaussian prior of f has a Gaussian posterior.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from wisecrowd._types import Array

SMALLEST_XI = 1e-6  # λ(ξ) is 1/8 there to twelve digits, and tanh(ξ / 2) / ξ is exact

NORMALS = np.array([
    [0.003246343272134, 1.365340806296348],
    [0.051517477033972, 1.059523971016916],
    [0.195077912673858, 0.830791313765644],
    [0.315569823632818, 0.650732166639391],
    [0.274149576158423, 0.508135425366489],
    [0.131076880695470, 0.396313345166341],
    [0.027912418727972, 0.308904252267995],
    [0.001449567805354, 0.238212616409306],
])  # fmt: skip
"""Weights and scales of the normal distribution functions whose mixture is σ (Monahan
and Stefanski 1992); their largest difference is below 3e-9."""


class Sites(NamedTuple):
    """What the answers say about f: Σₙ shiftₙ fₙ − precisionₙ fₙ² / 2."""

    shift: Float[np.ndarray, " N"]
    precision: Float[np.ndarray, " N"]


class Latent(NamedTuple):
    """The best Gaussian q(f) for given sites, and what the kernel needs to climb."""

    mean: Float[np.ndarray, " N"]
    var: Float[np.ndarray, " N"]
    divergence: float  # KL(q(f) ‖ p(f))
    value: float  # log ∫ p(f) exp(sites) df
    slope: Float[np.ndarray, " P"]  # of the value, by the parameters of the kernel
    posterior: Any  # what predicts new items


def curvature(xi: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """λ(ξ) = tanh(ξ / 2) / (4 ξ); at 0 it is 1/8."""
    xi = np.maximum(np.abs(xi), SMALLEST_XI)
    return np.tanh(xi / 2) / (4 * xi)


def log_logistic(x: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """Return log σ(x)."""
    return -np.logaddexp(0.0, -x)


def tangent_point(
    mean: Float[np.ndarray, " N"], var: Float[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """Return the best ξ = √(m² + v) where f ~ N(m, v)."""
    return np.sqrt(np.square(mean) + var)


def sites(proba: Float[np.ndarray, "N 2"], xi: Float[np.ndarray, " N"]) -> Sites:
    """Return the sites of q(z) and ξ: shift q(z = 1) − 1/2, precision 2 λ(ξ)."""
    return Sites(proba[:, 1] - 0.5, 2 * curvature(xi))


def log_classes(
    mean: Float[np.ndarray, " N"],
    var: Float[np.ndarray, " N"],
    xi: Float[np.ndarray, " N"],
) -> Float[np.ndarray, "N 2"]:
    """Return the bound on E log p(z | f) of both classes, where f ~ N(m, v).

    log σ(ξ) ± m / 2 − ξ / 2 − λ(ξ) (m² + v − ξ²): plus for class 1.
    """
    common = log_logistic(xi) - xi / 2
    common -= curvature(xi) * (np.square(mean) + var - np.square(xi))
    return np.stack([common - mean / 2, common + mean / 2], axis=1)


def mean_logistic(
    mean: Float[np.ndarray, " N"], var: Float[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """E σ(f) where f ~ N(m, v), to eight digits.

    σ(f) ≈ Σᵢ pᵢ Φ(sᵢ f), and E Φ(s f) = Φ(s m / √(1 + s² v)).
    """
    out: Array = np.zeros_like(mean)
    for weight, scale in NORMALS:
        out += weight * ndtr(scale * mean / np.sqrt(1 + scale**2 * var))
    return out


def both_classes(
    mean: Float[np.ndarray, " n"], var: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "n 2"]:
    """Return E σ(−f) and E σ(f)."""
    out = np.stack([mean_logistic(-mean, var), mean_logistic(mean, var)], axis=1)
    return out / out.sum(1, keepdims=True)
