"""Soft labels for any classifier of scikit-learn: weighted rows, or repeated rows."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from wisecrowd._checks import InputError
from wisecrowd._types import Array
from wisecrowd.maths import logistic
from wisecrowd.maths.logistic import Logistic
from wisecrowd.maths.scaling import scaling

FLOOR = 0.01  # a class that is less probable has no row
N_COPIES = 5  # rows per item, for a classifier that takes no weights


@runtime_checkable
class Predictor(Protocol):
    """A fitted classifier."""

    def proba(self, X: Array) -> Array:
        """Return the class probabilities of items, (n, C)."""


class Rows(NamedTuple):
    """One row per item and class: which item, which class, and its weight."""

    item: Int[np.ndarray, " R"]
    label: Int[np.ndarray, " R"]
    weight: Float[np.ndarray, " R"]


def weighted_rows(proba: Float[np.ndarray, "N C"]) -> Rows:
    """Return a row for every class above `FLOOR`; the weights of an item sum to one."""
    kept = np.where(proba >= FLOOR, proba, 0.0)
    kept /= kept.sum(1, keepdims=True)
    item, label = np.nonzero(kept)
    return Rows(item, label, kept[item, label])


def repeated_rows(proba: Float[np.ndarray, "N C"], n_copies: int = N_COPIES) -> Rows:
    """Return every item `n_copies` times, its classes as often as they are probable.

    Copy j has the class whose cumulative probability first reaches (j + ½) / n.
    """
    reached = np.cumsum(proba, 1)
    at = (np.arange(n_copies) + 0.5) / n_copies
    label = (reached[:, None, :-1] < at[:, None]).sum(-1)  # [N, n_copies]
    item = np.repeat(np.arange(len(proba)), n_copies)
    return Rows(item, label.ravel(), np.ones(label.size))


def weight_parameter(estimator: Any) -> str | None:
    """Return the name under which `fit` takes weights; None if it takes none.

    The last step of a Pipeline gets them, as ``step__sample_weight``.
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


class Wrapped(NamedTuple):
    """A fitted classifier of scikit-learn, whose classes are codes 0 to C − 1."""

    estimator: Any
    n_classes: int

    def proba(self, X: Array) -> Array:
        """Return the class probabilities; 0 for a class that it has not seen."""
        out = np.zeros((len(X), self.n_classes))
        out[:, self.estimator.classes_] = self.estimator.predict_proba(X)
        return out


class Constant(NamedTuple):
    """The shares of the classes, whatever the features."""

    shares: Array

    def proba(self, X: Array) -> Array:
        """Return the shares for every item."""
        return np.repeat(self.shares[None], len(X), 0)


def learned_from(estimator: Any, X: Array, proba: Array) -> Predictor:
    """Return a clone of the estimator, fitted to soft labels.

    None is the regression of :mod:`wisecrowd.maths.logistic`.
    """
    if estimator is None:
        return regression(X, proba)
    name = weight_parameter(estimator)
    rows = repeated_rows(proba) if name is None else weighted_rows(proba)
    if len(np.unique(rows.label)) < 2:  # most classifiers refuse a single class
        return Constant(proba.mean(0))
    weights = {} if name is None else {name: rows.weight}
    made = clone(estimator).fit(X[rows.item], rows.label, **weights)
    return Wrapped(made, proba.shape[1])


def in_own_space(X: Array) -> tuple[Array, Array | None]:
    """Return items in coordinates of the space that they span, and the way back.

    With more features than items, weights with the same prior in all directions are
    sums of items: they are found in this space. Otherwise X and None.
    """
    if X.shape[1] <= len(X):
        return X, None
    directions, triangle = np.linalg.qr(X.T)
    return triangle.T, directions


def regression(X: Array, proba: Array) -> Logistic:
    """Return a multinomial regression with the prior "auto", fitted to soft labels."""
    scale = scaling(X, "auto")
    scaled, back = in_own_space(scale.apply(X, "float64"))
    n_classes = proba.shape[1]
    precision = logistic.precision_of_columns("auto", X.shape[1], n_classes)
    found = logistic.better_weights(
        logistic.starting_weights(proba, scaled.shape[1]),
        scaled,
        proba,
        precision,
        logistic.units(scaled, n_classes, precision),
        logistic.MAX_STEPS,
    )
    if back is not None:
        found = found._replace(weights=back @ found.weights)
    return Logistic(*found, scale)


def out_of_fold(
    estimator: Any, X: Array, proba: Array, fold: Int[np.ndarray, " N"]
) -> Float[np.ndarray, "N C"]:
    """Return predictions for every item, by a clone that has not seen its label."""
    out = np.empty(proba.shape)
    for f in np.unique(fold):
        held = fold == f
        out[held] = learned_from(estimator, X[~held], proba[~held]).proba(X[held])
    return out


def check_estimator(estimator: Any) -> None:
    """Refuse what is no classifier with probabilities."""
    if estimator is None:
        return
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputError(
            f"estimator={estimator!r} is not a classifier. Pass one of scikit-learn's, "
            f"made and not fitted, such as LogisticRegression()."
        )
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"{type(estimator).__name__} has no predict_proba, and the labels need "
            f"probabilities. Wrap it: CalibratedClassifierCV({type(estimator).__name__}"
            f"())."
        )
