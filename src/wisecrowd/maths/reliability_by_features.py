"""Reliability of annotators that depends on the features of an item (Yan et al. 2010).

p(y = z | x, annotator a) = σ(s), s = w[a] · x + γ[a]; every wrong class is equally
likely. With two classes this is the published model. Given the probabilities that
answers are right, every annotator is a logistic regression.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths.ability import MEAN_ABILITY

BLOCK = 20_000  # answers whose features are held at a time
INNER_STEPS = 5  # L-BFGS iterations of one M-step: it need not arrive, only climb


class Params(NamedTuple):
    """Weights of the scaled features, and the log odds of a right answer at x = 0."""

    weights: Float[np.ndarray, "A D"]
    offset: Float[np.ndarray, " A"]


class Precision(NamedTuple):
    """Of the Gaussian priors: weights around 0, offsets around `MEAN_ABILITY`."""

    weights: float
    offset: float


def logits(
    params: Params, X: Float[np.ndarray, "N D"], answers: Answers
) -> Float[np.ndarray, " L"]:
    """Log odds of a right answer, s = w[a] · x[n] + γ[a], for every answer."""
    out = params.offset[answers.annotator]
    for first in range(0, len(answers), BLOCK):
        rows = slice(first, first + BLOCK)
        x, w = X[answers.item[rows]], params.weights[answers.annotator[rows]]
        out[rows] += np.einsum("ld,ld->l", x, w)
    return out


def log_prior(params: Params, precision: Precision) -> float:
    """−½ λ |w|² − ½ λ′ Σ (γ − 1)², without constants."""
    weights = precision.weights * np.square(params.weights).sum()
    offset = precision.offset * np.square(params.offset - MEAN_ABILITY).sum()
    return -0.5 * float(weights + offset)


def expected_log_joint(
    params: Params,
    right: Float[np.ndarray, " L"],
    X: Float[np.ndarray, "N D"],
    answers: Answers,
    precision: Precision,
) -> tuple[float, Params]:
    """Σ q s + log σ(−s) + `log_prior`, and its gradient; q = q(z = y).

    The gradient by w[a] is Σ (q − σ(s)) x − λ w[a], over the answers of annotator a.
    """
    s = logits(params, X, answers)
    value = float((right * s + log_expit(-s)).sum()) + log_prior(params, precision)
    surplus = right - expit(s)
    shape = answers.n_annotators, answers.n_items
    by_item = sparse.csr_matrix((surplus, (answers.annotator, answers.item)), shape)
    total = np.bincount(answers.annotator, surplus, minlength=answers.n_annotators)
    return value, Params(
        by_item @ X - precision.weights * params.weights,
        total - precision.offset * (params.offset - MEAN_ABILITY),
    )


def units(
    X: Float[np.ndarray, "N D"], answers: Answers, precision: Precision
) -> Params:
    """Return one over the square root of the curvature, at σ(s) σ(−s) = ¼."""
    ones = np.ones(len(answers))
    shape = answers.n_annotators, answers.n_items
    by_item = sparse.csr_matrix((ones, (answers.annotator, answers.item)), shape)
    each = by_item @ np.square(X) / 4 + precision.weights
    offset = answers.n_per_annotator / 4 + precision.offset
    least = np.finfo(float).eps  # a constant feature without a prior
    return Params(1 / np.sqrt(np.maximum(each, least)), 1 / np.sqrt(offset))


def better_params(
    params: Params,
    right: Float[np.ndarray, " L"],
    X: Float[np.ndarray, "N D"],
    answers: Answers,
    precision: Precision,
    unit: Params,
) -> Params:
    """Climb the expected log joint by a few steps of L-BFGS; it never falls."""
    shape, size = params.weights.shape, params.weights.size

    def split(flat: Array) -> Params:
        weights = flat[:size].reshape(shape) * unit.weights
        return Params(weights, flat[size:] * unit.offset)

    def loss(flat: Array) -> tuple[float, Array]:
        value, slope = expected_log_joint(split(flat), right, X, answers, precision)
        weights = (slope.weights * unit.weights).ravel()
        return -value, -np.append(weights, slope.offset * unit.offset)

    start = np.append(
        (params.weights / unit.weights).ravel(), params.offset / unit.offset
    )
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": INNER_STEPS}
    )
    return split(found.x) if found.fun <= loss(start)[0] else params
