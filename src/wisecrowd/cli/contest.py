"""Several methods on the same answers, side by side."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from wisecrowd.io.gold import truth_of
from wisecrowd.annotations import Annotations
from wisecrowd.metrics import scores

SCORES = ["accuracy", "mean_likelihood", "log_loss", "calibration_error"]
HELD_OUT = 0.1
"""The share of the answers that is hidden to be predicted."""


def contest(
    models: Mapping[str, Any], labels: Annotations, gold: pd.Series, *, seed: int
) -> pd.DataFrame:
    """Fit all models; one row each: scores against gold, held-out answers, seconds.

    ``unseen_answers`` is the mean log probability of answers that were hidden from a
    second fit: nearer to zero is better, and no gold is needed.
    """
    hidden = np.random.default_rng(seed).random(len(labels)) < HELD_OUT
    truth = truth_of(labels, gold)
    rows = []
    for name, model in models.items():
        began = time.perf_counter()
        model.fit(labels)
        seconds = time.perf_counter() - began
        row: dict[str, Any] = {"method": name}
        if len(gold):
            found = scores(truth, model.label_proba_, model.classes_)
            row |= {name: found[name].loc["all"] for name in SCORES}
        row["unseen_answers"] = log_likelihood_of_hidden(model, labels, hidden)
        rows.append({**row, "seconds": seconds})
    return pd.DataFrame(rows)


def agreement(models: Mapping[str, Any]) -> pd.DataFrame:
    """Return the share of items to which two fitted models give the same label."""
    names = list(models)
    found = [models[name].labels_ for name in names]
    share = [[float((a == b).mean()) for b in found] for a in found]
    return pd.DataFrame(share, index=names, columns=names)


def log_likelihood_of_hidden(model: Any, labels: Annotations, hidden: Any) -> float:
    """Return the mean of log Σ_c q(z = c) R[a, c, y] over answers not used in the fit.

    NaN if there is none, or nothing would be left to learn from.
    """
    if hidden.all() or not hidden.any():
        return float("nan")
    fitted = clone(model).fit(_rows(labels, ~hidden))
    proba = fitted.label_proba_[labels.item[hidden]]
    skill = fitted.confusion_[labels.annotator[hidden], :, labels.label[hidden]]
    return float(np.log((proba * skill).sum(1)).mean())


def _rows(labels: Annotations, kept: Any) -> Annotations:
    """Return some of the annotations, in the same vocabularies."""
    return Annotations.from_frame(
        labels.to_frame()[kept],
        items=labels.items,
        annotators=labels.annotators,
        classes=labels.classes,
        answers=labels.answers,
    )
