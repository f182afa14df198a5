"""Errors of estimated confusion matrices."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from wisecrowd._checks import InputError
from wisecrowd._types import Array, Ids


def confusion_error(
    estimated: Any, true: Any, weights: Any = None, *, annotators: Ids | None = None
) -> pd.DataFrame:
    """Errors of estimated confusion matrices, per annotator.

    Parameters
    ----------
    estimated, true : (A, C, K) arrays
        Axes: annotator, true class, answer.
    weights : (C,) or (A, C) array, optional
        The weight of each row of a matrix, such as the number of items of class c that
        an annotator answered. Default: equal weights.
    annotators : sequence of length A, optional
        Names for the rows of the result.

    Returns
    -------
    DataFrame
        One row per annotator. mean_absolute: mean absolute error of an entry.
        total_variation: half the sum of the absolute errors of a row, averaged over
        rows. max: the largest absolute error in a row with a weight above zero. NaN if
        all rows of an annotator have the weight zero.

    Examples
    --------
    >>> true, estimated = [[[.9, .1], [.2, .8]]], [[[.8, .2], [.2, .8]]]
    >>> errors = confusion_error(estimated, true, annotators=["ann"])
    >>> errors.loc["ann"].round(3).to_dict()
    {'mean_absolute': 0.05, 'total_variation': 0.05, 'max': 0.1}
    """
    left, right = np.asarray(estimated, float), np.asarray(true, float)
    if left.shape != right.shape or left.ndim != 3:
        raise InputError(
            f"estimated and true must be (annotators, classes, answers) arrays of "
            f"the same shape; their shapes are {left.shape} and {right.shape}."
        )
    error = np.abs(left - right)
    weight = _row_weights(weights, error.shape[:2])
    columns = {
        "mean_absolute": (weight * error.mean(2)).sum(1),
        "total_variation": (weight * error.sum(2)).sum(1) / 2,
        "max": np.where(weight > 0, error.max(2), 0).max(1),
    }
    names = range(len(error)) if annotators is None else annotators
    index = pd.Index(names, name="annotator")
    table = pd.DataFrame(columns, index=index)
    table[~(weight > 0).any(axis=1)] = np.nan
    return table


def _row_weights(weights: Any, shape: tuple[int, ...]) -> Float[Array, "A C"]:
    given = np.ones(shape) if weights is None else np.asarray(weights, float)
    if given.shape not in (shape, shape[1:]) or not (given >= 0).all():
        raise InputError(
            f"weights must be non-negative, of shape {shape[1:]} (one per class) or "
            f"{shape} (one per annotator and class); their shape is {given.shape}."
        )
    full = np.broadcast_to(given, shape)
    total = full.sum(1, keepdims=True)
    return np.divide(full, total, out=np.zeros(shape), where=total > 0)
