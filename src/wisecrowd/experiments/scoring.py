"""Fit a method to a data set once, and score it: what all experiments share."""

from typing import Any

import numpy as np
import pandas as pd

from wisecrowd.annotations.dataset import Dataset
from wisecrowd.datasets import load_crowd, load_labelme, load_sentiment
from wisecrowd.metrics import scores, truth_codes
from wisecrowd.registry import METHODS
from wisecrowd.results.limits import Cost, measured
from wisecrowd.simulation.crowds import Crowd

MEASURES = ("accuracy", "mean_likelihood", "log_loss", "calibration_error")


def data_of(name: str) -> Dataset:
    """Return a real crowd by its name."""
    named = {"labelme": load_labelme, "sentiment": load_sentiment}
    return named[name]() if name in named else load_crowd(name)


def halved(crowd: Crowd, n_items: int, name: str) -> Dataset:
    """Return a simulated crowd whose items from `n_items` on are new ones."""
    assert crowd.X is not None
    answers = crowd.answers.subset(items=crowd.answers.items[:n_items])
    names = crowd.classes[crowd.truth]
    return Dataset(
        name=name, answers=answers, classes=crowd.classes,
        gold=pd.Series(names[:n_items], answers.items, name="gold"),
        X=crowd.X[:n_items], X_test=crowd.X[n_items:], gold_test=names[n_items:],
        confusion=crowd.confusion,
    )  # fmt: skip


def with_settings(model: Any, **wanted: Any) -> Any:
    """Set what the method has of these settings, and return it."""
    own = model.get_params(deep=False)
    return model.set_params(**{k: v for k, v in wanted.items() if k in own})


def sees_features(model: Any) -> bool:
    """Return whether a method learns from features and predicts from them."""
    return bool(model.method.needs != "answers")


def fit(model: Any, data: Dataset, *, to: str = "crowd", seed: int = 0) -> Cost:
    """Fit a model to the answers, to gold, or to the votes as if they were gold.

    The seed decides ties of the votes. A method that needs no features sees none.
    """
    y: Any = data.answers
    X = data.X if sees_features(model) else None
    more: dict[str, Any] = {} if X is None else {"items": data.answers.items}
    if to == "gold":
        assert X is not None
        assert data.gold is not None
        truth = data.gold.reindex(data.answers.items)
        known = truth.notna().to_numpy()
        X, y, more = X[known], truth[known].to_numpy(), {}
    elif to == "votes":
        votes = METHODS["majority-vote"](random_state=seed).fit(data.answers).labels_
        y = np.asarray(votes)[:, None]
        more = {"gold": dict(enumerate(votes))}
    given = (y,) if X is None else (X, y)
    with measured() as cost:
        model.fit(*given, **more)
    return cost


def scored(model: Any, data: Dataset) -> dict[str, Any]:
    """Return the scores of new items ("test") and of the training labels ("label").

    Scores per class are lists, such as ``test_accuracy_of``.
    """
    found: dict[str, Any] = {}
    if data.X_test is not None and sees_features(model):
        proba = model.predict_proba(data.X_test)  # it may have to be compiled
        with measured() as testing:
            model.predict_proba(data.X_test)
        found |= _of(scores(data.gold_test, proba, model.classes_), "test")
        found["test_seconds"] = testing.seconds
    if data.gold is not None and len(model.label_proba_) == len(data.answers.items):
        truth = data.gold.reindex(data.answers.items)
        found |= _of(scores(truth, model.label_proba_, model.classes_), "label")
        codes = truth_codes(truth, model.classes_)
        wrong = (model.label_proba_.argmax(1) != codes) & (codes >= 0)
        found["wrong_labels"] = int(wrong.sum())
    return found


def _of(table: Any, part: str) -> dict[str, Any]:
    """Return the scores of all items, and those per class as lists."""
    total = {f"{part}_{name}": float(table.loc["all", name]) for name in MEASURES}
    each = {f"{part}_{name}_of": table[name].tolist()[:-1] for name in MEASURES[:2]}
    return total | each
