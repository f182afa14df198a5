"""A crowd to try methods on: answers, true classes, features."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from wisecrowd._types import Array, Confusion
from wisecrowd.annotations.annotations import Annotations


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """The answers of a crowd, and the true classes as far as they are known.

    Attributes
    ----------
    name : str
        The name of the data set.
    answers : Annotations
        The answers, without gold. If there are features, item n is row n of `X`.
    classes : array of length C
        The names of the classes, in order.
    gold : Series or None
        From item to true class.
    X : (N, D) float32 array or None
        Features of the annotated items.
    X_test, gold_test, X_valid, gold_valid : arrays or None
        Features and true classes of items without answers.
    confusion : (A, C, K) array or None
        The true confusion matrices, if the annotators are simulated.
    """

    name: str
    answers: Annotations
    classes: Array
    gold: pd.Series | None = None
    X: Float[np.ndarray, "N D"] | None = None
    X_test: Float[np.ndarray, "T D"] | None = None
    gold_test: Array | None = None
    X_valid: Float[np.ndarray, "V D"] | None = None
    gold_valid: Array | None = None
    confusion: Confusion | None = None

    def __repr__(self) -> str:
        features = "no features" if self.X is None else f"{self.X.shape[1]} features"
        return f"Dataset({self.name!r}, {self.answers!r}, {features})"
