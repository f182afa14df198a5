"""How well a classifier labels items that it has not seen, fold by fold."""

import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold

from wisecrowd._checks import InputError, whole_number
from wisecrowd._types import Array, Gold
from wisecrowd.annotations import Annotations
from wisecrowd.base import Aggregator, answers_of_rows, check_features_first
from wisecrowd.feature_source import FeatureSource, row_ids
from wisecrowd.io.gold import matched_gold
from wisecrowd.metrics import scores
from wisecrowd.results.findings import SCORES


def cross_validate(
    model: Any,
    X: Any,
    answers: Any,
    *,
    items: Any = None,
    gold: Gold | None = None,
    n_splits: int = 5,
    random_state: int | None = 0,
) -> pd.DataFrame:
    """Fit a classifier to some items with their answers, and label the others.

    The items are split, not the answers: all answers on an item are in one fold. The
    items of a fold are predicted from their features alone.

    Parameters
    ----------
    model : classifier
        Such as ``wc.SVGPCR()``, or a scikit-learn Pipeline that ends in one. It is
        copied and stays as it is.
    X : array or DataFrame (N, D)
        Features, one row per item.
    answers : Annotations, DataFrame (long), (N, A) matrix or 1-D target
        The answers.
    items : sequence of length N, optional
        The ids of the rows of X. Default: a DataFrame's index, else row numbers.
    gold : dict or Series, optional
        Known classes to compare with. The fits do not see them. Default: those of the
        answers, if they have any.
    n_splits : int
        Number of folds.
    random_state : int or None
        Seed of the folds.

    Returns
    -------
    DataFrame
        One row per fold, with these columns.

        fold, n_items, n_gold
            Which fold, its items, and how many of them have a gold class.
        accuracy, mean_likelihood, log_loss, calibration_error
            Scores of the predictions against the gold classes; NaN without gold.
        agreement
            Share of the crowd's answers on the fold that name the predicted class. It
            needs no gold, and ranks models as the accuracy does if annotators err
            independently of the features.
        seconds
            Time of the fit.

    Examples
    --------
    >>> import wisecrowd as wc
    >>> crowd = wc.simulate(60, 7, 2, n_features=2, separation=8.0, random_state=0)
    >>> model = wc.SVGPCR(n_inducing=5, max_epochs=20)
    >>> table = wc.cross_validate(model, crowd.X, crowd.answers, n_splits=2)
    >>> table[["fold", "n_items"]].values.tolist()
    [[0, 30], [1, 30]]
    """
    _check_classifier(model)
    check_features_first(X, answers)
    if isinstance(X, FeatureSource):
        raise InputError(
            "cross_validate takes rows out of X, and X is a source of features on "
            "disk. Read them into memory: X, items = wisecrowd.read_features(path)."
        )
    whole_number(n_splits, "n_splits", 2)
    ids = row_ids(X, items, len(X))
    if n_splits > len(ids):
        raise InputError(f"n_splits={n_splits} is more than the {len(ids)} items.")
    annotations = answers_of_rows(answers, ids)
    if gold is not None:
        known, _ = matched_gold(pd.Series(gold), annotations)
        annotations = annotations.with_gold(known)
    folds = KFold(n_splits, shuffle=True, random_state=random_state).split(ids)
    rows = [
        {"fold": fold, **_scores_of_fold(clone(model), X, annotations, train, test)}
        for fold, (train, test) in enumerate(folds)
    ]
    return pd.DataFrame(rows)


def _check_classifier(model: Any) -> None:
    """Refuse what cannot predict items from their features."""
    if isinstance(model, type) or not hasattr(model, "fit"):
        raise InputError(
            f"{model!r} is not a model. Give an estimator, such as wisecrowd.SVGPCR()."
        )
    if isinstance(model, Aggregator):
        raise InputError(
            f"{type(model).__name__} learns from answers alone, and new items have "
            f"none. Cross-validate a classifier, such as SVGPCR(), or compare "
            f"aggregators with wc.compare."
        )


def _scores_of_fold(
    model: Any, X: Any, annotations: Annotations, train: Array, test: Array
) -> dict[str, Any]:
    began = time.perf_counter()
    model.fit(_rows(X, train), _numbered(annotations, train))
    seconds = time.perf_counter() - began
    proba = model.predict_proba(_rows(X, test))
    asked = _numbered(annotations, test)
    said = asked.answers[asked.answer] == model.classes_[proba.argmax(1)][asked.item]
    codes = asked.gold_codes
    found = dict.fromkeys(SCORES, float("nan"))
    if (codes >= 0).any():
        truth = [asked.classes[code] if code >= 0 else None for code in codes]
        table = scores(truth, proba, model.classes_)
        found = {name: float(table[name].loc["all"]) for name in SCORES}
    return {
        "n_items": len(test),
        "n_gold": int((codes >= 0).sum()),
        **found,
        "agreement": float(said.mean()) if len(said) else float("nan"),
        "seconds": seconds,
    }


def _numbered(annotations: Annotations, rows: Array) -> Annotations:
    """Return the answers on some rows, as items 0, 1, ...: a Pipeline drops ids."""
    part = annotations.subset(items=annotations.items[rows])
    return part.with_items(np.arange(len(rows)))


def _rows(X: Any, rows: Array) -> Any:
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows].reset_index(drop=True)
    return np.asarray(X)[rows]
