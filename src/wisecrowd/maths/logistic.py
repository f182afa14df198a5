"""Logistic and multinomial regression on soft labels, with a Gaussian prior.

p(z = c | x) = softmax_c(x W + b). The weights W have a Gaussian prior. The bias b has
none, but for every class a hundredth of an item at x = 0, which keeps the bias of a
class without items finite. With features that are all 0, the shares of the classes are
then those of Dawid and Skene's method.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from wisecrowd._checks import number
from wisecrowd._records import record
from wisecrowd._types import Array
from wisecrowd.maths import crowd
from wisecrowd.maths.scaling import Scaling

SMOOTHING = 0.01  # of an item for every class, at x = 0
INNER_STEPS = 5  # L-BFGS iterations of one M-step: it need not arrive, only climb
MAX_STEPS = 500  # L-BFGS iterations where the labels are fixed
LOGIT_VARIANCE = 2.0
"""Prior variance of x w if D features have variance one. With 2, Raykar has the highest
accuracy on new items on LabelMe and on simulated crowds of 2 to 200 features."""


class Weights(NamedTuple):
    """Of the scaled features, and the bias."""

    weights: Float[np.ndarray, "D C"]
    bias: Float[np.ndarray, " C"]


@record
class Logistic(NamedTuple):
    """A fitted regression, and from which units to which it scales features."""

    weights: Float[np.ndarray, "D C"]
    bias: Float[np.ndarray, " C"]
    scaling: Scaling

    def proba(self, X: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n C"]:
        """Return p(z | x) of items in the user's units."""
        scaled = self.scaling.apply(X, "float64")
        return crowd.posterior(logits(Weights(self.weights, self.bias), scaled))[0]


def precision_of_columns(
    l2: float | int | str, n_features: int, n_classes: int
) -> float:
    """Return the precision of the prior of each column of W.

    Two classes have one vector of weights, w, with penalty l2 |w|² / 2. Here it is the
    difference of two columns, ∓w / 2, whose squares sum to |w|² / 2. "auto" is
    D / `LOGIT_VARIANCE`.
    """
    if l2 == "auto":
        l2 = n_features / LOGIT_VARIANCE
    number(
        l2, "l2", "at least 0 and at most 1e100, or 'auto'", lambda v: 0 <= v <= 1e100
    )
    return float(2 * l2 if n_classes == 2 else l2)


def logits(params: Weights, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N C"]:
    """Return x W + b."""
    out: Array = X @ params.weights
    out += params.bias
    return out


def log_proba(params: Weights, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N C"]:
    """Return log p(z = c | x) = (x W + b)_c − log Σ exp(x W + b)."""
    at = logits(params, X)
    at -= crowd.posterior(at)[1][:, None]
    return at


def log_prior(params: Weights, precision: float) -> float:
    """−precision |W|² / 2 + s Σ_c log softmax_c(b), s = `SMOOTHING`."""
    log_class = params.bias - crowd.posterior(params.bias[None])[1]
    penalty = 0.5 * precision * np.square(params.weights).sum()
    return float(SMOOTHING * log_class.sum() - penalty)


def expected_log_joint(
    params: Weights,
    X: Float[np.ndarray, "N D"],
    proba: Float[np.ndarray, "N C"],
    precision: float,
) -> tuple[float, Weights]:
    """Σₙ Σ_c q(z = c) log p(z = c | x) + `log_prior`, and its gradient.

    The gradient by W is Xᵀ (q − p) − precision W, by b Σₙ (q − p) + s (1 − C p₀), where
    p₀ is the prediction at x = 0. Rows of q that sum to w count as w items.
    """
    at = logits(params, X)
    n_each = np.einsum("nc->n", proba)
    predicted, log_norm = crowd.posterior(at)
    value = float(np.vdot(proba, at) - n_each @ log_norm)
    predicted *= n_each[:, None]
    missing = np.subtract(proba, predicted, out=predicted)
    at_zero = crowd.posterior(params.bias[None])[0][0]
    slope = Weights(
        X.T @ missing - precision * params.weights,
        missing.sum(0) + SMOOTHING * (1 - len(at_zero) * at_zero),
    )
    return value + log_prior(params, precision), slope


class Units(NamedTuple):
    """The units in which steps are taken: L of L Lᵀ ≈ the curvature, and b's."""

    factor: Float[np.ndarray, "D D"]
    bias: float


def units(X: Float[np.ndarray, "N D"], n_classes: int, precision: float) -> Units:
    """Return units in which the curvature is about one in all directions.

    At equal probabilities the curvature of each column of W is (C − 1) / C² XᵀX plus
    the precision. Without these units, L-BFGS needs many times as many steps.
    """
    share = (n_classes - 1) / n_classes**2
    curvature = np.asarray(share * (X.T @ X), np.float64)
    least = 1e-6 * max(1.0, float(np.trace(curvature)) / len(curvature))
    curvature[np.diag_indices_from(curvature)] += max(precision, least)
    factor: Array = cholesky(curvature, lower=True)
    return Units(factor, float(np.sqrt(share * len(X))))


def better_weights(
    params: Weights,
    X: Float[np.ndarray, "N D"],
    proba: Float[np.ndarray, "N C"],
    precision: float,
    unit: Units,
    n_steps: int = INNER_STEPS,
) -> Weights:
    """Climb the expected log joint by a few steps of L-BFGS; it never falls."""
    shape = params.weights.shape

    def split(flat: Array) -> Weights:
        weights = flat[: -shape[1]].reshape(shape)
        weights = solve_triangular(unit.factor, weights, lower=True, trans="T")
        return Weights(weights, flat[-shape[1] :] / unit.bias)

    def loss(flat: Array) -> tuple[float, Array]:
        value, slope = expected_log_joint(split(flat), X, proba, precision)
        weights = solve_triangular(unit.factor, slope.weights, lower=True)
        return -value, -np.append(weights.ravel(), slope.bias / unit.bias)

    start = np.append((unit.factor.T @ params.weights).ravel(), params.bias * unit.bias)
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": n_steps}
    )
    return split(found.x) if found.fun <= loss(start)[0] else params


def starting_weights(proba: Float[np.ndarray, "N C"], n_features: int) -> Weights:
    """Return weights of zero, and the bias that gives the shares of the classes."""
    mass = np.einsum("nc->c", proba) + SMOOTHING
    shape = n_features, proba.shape[1]
    bias = np.log(mass / mass.sum())
    return Weights(np.zeros(shape), bias - bias.mean())
