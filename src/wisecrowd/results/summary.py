"""All that a fitted model says, as one dictionary in the types of JSON."""

import math
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from wisecrowd._checks import listed
from wisecrowd.annotations import Annotations
from wisecrowd.base import CrowdClassifier
from wisecrowd.metrics import scores
from wisecrowd.results.flags import flagged, n_certain
from wisecrowd.results.tables import (
    annotator_table,
    class_table,
    label_table,
)

SCORES = ("accuracy", "mean_likelihood", "log_loss", "calibration_error")


def summarise(model: Any, annotations: Annotations) -> dict[str, Any]:
    """Return all that a fitted model says, in the types of JSON.

    Parameters
    ----------
    model : fitted method
        The model.
    annotations : Annotations
        The answers that it was fitted on, over the same items. Their gold classes, if
        there are any, are compared with the labels.

    Returns
    -------
    dict
        Its keys are explained in docs/cli.md. What is not a number is None.

    Examples
    --------
    >>> import wisecrowd as wc
    >>> answers = wc.Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 1]])
    >>> found = summarise(wc.MajorityVote().fit(answers), answers)
    >>> found["method"], found["n_answers"], found["answers_per_item"]
    ('majority-vote', 9, 3.0)
    >>> found["labels"][1]["label"]
    1
    """
    items, annotators = label_table(model, annotations), annotator_table(model)
    return plain(
        {
            "method": model.method.name,
            "settings": settings_of(model),
            "read": _read(annotations),
            "notes": cautions(annotations),
            "n_items": len(annotations.items),
            "n_annotators": len(annotations.annotators),
            "n_answers": len(annotations),
            "n_certain": n_certain(items),
            "bound": model.trace_["bound"].iloc[-1],
            "seconds": model.trace_["seconds"].iloc[-1],
            "dependence": model.dependence_,
            "answers_per_item": answers_per_item(annotations),
            "independent_answers_per_item": model.worth_,
            "independent_answers_interval": model.worth_interval_,
            "gold": gold_scores(model, annotations),
            "calibration": model.calibration_ and model.calibration_._asdict(),
            **flagged(annotators),
            "classes": model.classes_,
            "items_per_class": class_table(items, model.classes_),
            "labels": items,
            "annotators": annotators,
        }
    )


def answers_per_item(annotations: Annotations) -> float:
    """Return the mean number of answers of items that have any."""
    n_answered = int((annotations.codes.n_per_item > 0).sum())
    return len(annotations) / max(n_answered, 1)


def cautions(annotations: Annotations) -> list[str]:
    """Return what a person should know before trusting any result."""
    notes = []
    n_given = annotations.counts("annotator").sum(0)
    unsaid = annotations.answers[annotations.n_classes :][
        n_given[annotations.n_classes :] == 0
    ]
    if len(unsaid):
        given = listed(annotations.answers[n_given > 0])
        notes.append(
            f"Nobody gave the answer {listed(unsaid)}, which answers= names. Check how "
            f"it is written: the answers are {given}."
        )
    if (annotations.without_repeats().codes.n_per_item > 1).any():
        return notes
    return [
        *notes,
        "No item was answered by two annotators, so the answers do not show who is "
        "right. The probabilities assume that most answers are right.",
    ]


def gold_scores(model: Any, annotations: Annotations) -> dict[str, float] | None:
    """Return the scores of the labels against the gold classes; None without gold.

    A method without features knows nothing of an item that nobody answered: such items
    are not scored, and `n_unanswered` says how many there are.
    """
    codes = annotations.gold_codes
    if not isinstance(model, CrowdClassifier):
        codes = gold_of_answered(annotations)
    n_unanswered = int(((annotations.gold_codes >= 0) & (codes < 0)).sum())
    if not (codes >= 0).any():
        return None
    truth = [annotations.classes[code] if code >= 0 else None for code in codes]
    table = scores(truth, model.label_proba_, model.classes_)
    found = {name: float(table[name].loc["all"]) for name in ("n_items", *SCORES)}
    return {**found, "n_unanswered": float(n_unanswered)}


def gold_of_answered(annotations: Annotations) -> Int[np.ndarray, " N"]:
    """Return the code of the gold class of every item with an answer, -1 for others."""
    answered = annotations.codes.n_per_item > 0
    return np.where(answered, annotations.gold_codes, -1).astype(np.int32)


def settings_of(model: Any) -> dict[str, Any]:
    """Return the constructor's settings; objects as text."""
    settings = model.get_params(deep=False)
    simple = (str, bool, int, float, type(None), np.generic)
    return {
        name: value if isinstance(value, simple) else str(value)
        for name, value in settings.items()
    }


def _read(annotations: Annotations) -> dict[str, Any] | None:
    report = annotations.report
    if report is None:
        return None
    return {
        "path": str(report.path),
        "format": report.format,
        "n_rows": report.n_rows,
        "left_out": dict(report.left_out),
        "notes": list(report.notes),
    }


def plain(value: Any) -> Any:
    """Return the same content in the types of JSON: a table is a list of records.

    Examples
    --------
    >>> plain({"a": np.int64(3), "b": [float("nan"), np.array([0.5])]})
    {'a': 3, 'b': [None, [0.5]]}
    """
    if isinstance(value, pd.DataFrame):
        return [plain(record) for record in value.to_dict("records")]
    if isinstance(value, dict):
        return {str(key): plain(v) for key, v in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
