"""What was learned, computed once: files, terminal, notebook and page show the same."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from wisecrowd._checks import listed
from wisecrowd._types import Array
from wisecrowd._version import __version__
from wisecrowd.annotations import Annotations
from wisecrowd.base import CrowdClassifier
from wisecrowd.maths.crowd import posterior
from wisecrowd.metrics import reliability, scores
from wisecrowd.results import sentences
from wisecrowd.results.doubts import contradictions
from wisecrowd.results.flags import flagged, n_certain
from wisecrowd.results.ledger import ledger_table
from wisecrowd.results.notebook import of_model
from wisecrowd.results.review import to_review
from wisecrowd.results.settled import SETTLED_AT, expected_error, expected_error_high
from wisecrowd.results.stopped import stopped_early
from wisecrowd.results.tables import (
    annotator_table,
    class_table,
    confusion_table,
    label_table,
)

SCORES = ("accuracy", "mean_likelihood", "log_loss", "calibration_error")
MOST_CELLS = 2_000_000  # numbers in the ledger; of more, the least certain items
MOST_DISAGREEMENTS = 200


@dataclass(frozen=True, eq=False)
class Findings:
    """What a fitted model learned: tables, numbers and sentences.

    Attributes
    ----------
    model : fitted method
        Who says it.
    items, annotators, classes : DataFrames
        One row per item, annotator and class (docs/files.md).
    about : dict
        Settings, sizes, scores, in the types of JSON (docs/cli.md).
    said : dict
        The sentences, by topic.
    confused : dict
        How often an item of a class (row) is called another (column): "crowd", by the
        answers, (C, K); "classifier", by the features alone, (C, C), if there is one.
    reliability : DataFrame or None
        Accuracy by confidence against gold that the fit did not use.
    disagreements : DataFrame or None
        Items of which crowd and features say different things, the clearest first.
    ledger : DataFrame or None
        What speaks for the labels (:func:`~wisecrowd.results.ledger.ledger_table`), of
        all items or of the least certain ones; None for a model from a file.
    known : list
        Items with a gold class that the fit did not use.
    """

    model: Any
    items: pd.DataFrame
    annotators: pd.DataFrame
    classes: pd.DataFrame
    about: dict[str, Any]
    said: dict[str, str]
    confused: dict[str, Array]
    reliability: pd.DataFrame | None = None
    disagreements: pd.DataFrame | None = None
    ledger: pd.DataFrame | None = None
    known: Sequence[Any] = ()

    @cached_property
    def confusion(self) -> pd.DataFrame:
        """One row per annotator, true class and answer; made when it is needed."""
        return confusion_table(self.model)

    def to_review(self, budget: int = 100) -> pd.DataFrame:
        """Return the items whose review by an expert would help most.

        See :func:`~wisecrowd.results.review.to_review`.
        """
        return to_review(
            self.items, budget, disagreements=self.disagreements, known=self.known
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it."""
        return of_model(self.model, self)

    def summary(self) -> dict[str, Any]:
        """Return what ``--json`` prints, in the types of JSON (docs/cli.md)."""
        return {
            **self.about,
            "sentences": self.said,
            "classes": plain(self.model.classes_),
            "items_per_class": plain(self.classes),
            "labels": plain(self.items),
            "annotators": plain(self.annotators),
        }


def findings(
    model: Any, annotations: Annotations, *, settled_at: float | int = SETTLED_AT
) -> Findings:
    """Return all that a fitted model learned.

    Parameters
    ----------
    model : fitted method
        The model.
    annotations : Annotations
        The answers that it was fitted on, over the same items. Their gold classes, if
        there are any, are compared with the labels.
    settled_at : float
        Share of the settled items whose label may be expected to be wrong.

    Examples
    --------
    >>> import wisecrowd as wc
    >>> answers = wc.Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 1]])
    >>> found = findings(wc.MajorityVote().fit(answers), answers).summary()
    >>> found["method"], found["n_answers"], found["answers_per_item"]
    ('majority-vote', 9, 3.0)
    >>> found["labels"][1]["label"]
    1
    """
    items = label_table(model, annotations, settled_at)
    annotators = annotator_table(model)
    classes = class_table(items, model.classes_, n_gold_of(model))
    confused = {"crowd": confused_by_crowd(model.label_proba_, annotations)}
    alone, truth = said_by_features(model), gold_classes(model, annotations)
    if alone is not None:
        confused["classifier"] = shares_of_rows(model.label_proba_.T @ alone)
    about = plain(_about(model, annotations, items, annotators, settled_at))
    about["notes"] += stopped_early(model)
    return Findings(
        model, items, annotators, classes, about,
        said=sentences.all_of(about, model, annotators, confused["crowd"]),
        confused=confused,
        reliability=None if truth is None
        else reliability(truth, model.label_proba_, model.classes_).to_frame(),
        disagreements=None if alone is None else _disagreements(model, alone),
        ledger=_ledger(model, items),
        known=annotations.items[annotations.gold_codes >= 0].tolist(),
    )  # fmt: skip


def _about(
    model: Any,
    annotations: Annotations,
    items: pd.DataFrame,
    annotators: pd.DataFrame,
    settled_at: float | int,
) -> dict[str, Any]:
    report = annotations.report
    return {
        "wisecrowd": __version__,
        "method": model.method.name,
        "settings": settings_of(model),
        "read": None if report is None else _read(report),
        "notes": cautions(annotations),
        "contradictions": contradictions(
            model, annotations.codes, _gold_given(model), annotators
        ),
        "n_items": len(annotations.items),
        "n_annotators": len(annotations.annotators),
        "n_answers": len(annotations),
        "n_certain": n_certain(items),
        "settled_at": float(settled_at),
        "n_settled": int(items["settled"].sum()),
        "expected_error": expected_error(items),
        "expected_error_high": expected_error_high(items),
        "bound": model.trace_["bound"].iloc[-1],
        "seconds": model.trace_["seconds"].iloc[-1],
        "dependence": model.dependence_,
        "answers_per_item": answers_per_item(annotations),
        "independent_answers_per_item": model.worth_,
        "independent_answers_interval": model.worth_interval_,
        "gold": gold_scores(model, annotations),
        "calibration": model.calibration_ and model.calibration_._asdict(),
        **flagged(annotators),
    }


# -- numbers -------------------------------------------------------------------------


def n_gold_of(model: Any) -> int:
    """Return the number of items whose class the fit was given, if it used them."""
    return 0 if model.calibration_ is None else int(model.calibration_.n_gold)


def answers_per_item(annotations: Annotations) -> float:
    """Return the mean number of answers of items that have any."""
    n_answered = int((annotations.codes.n_per_item > 0).sum())
    return len(annotations) / max(n_answered, 1)


def cautions(annotations: Annotations) -> list[str]:
    """Return what a person should know before trusting any result."""
    notes = []
    n_given = annotations.counts("annotator").sum(0)
    unsaid = np.arange(len(n_given)) >= annotations.n_classes
    unsaid &= n_given == 0
    if unsaid.any():
        given = listed(annotations.answers[n_given > 0])
        notes.append(
            f"Nobody gave the answer {listed(annotations.answers[unsaid])}, which "
            f"answers= names. Check how it is written: the answers are {given}."
        )
    if (annotations.without_repeats().codes.n_per_item <= 1).all():
        notes.append(
            "No item was answered by two annotators, so the answers do not show who is "
            "right. The probabilities assume that most answers are right."
        )
    return notes


def gold_scores(model: Any, annotations: Annotations) -> dict[str, float] | None:
    """Return the scores of the labels against the gold classes; None without gold.

    A method without features knows nothing of an item that nobody answered: such items
    are not scored, and `n_unanswered` says how many there are.
    """
    truth = gold_classes(model, annotations)
    if truth is None:
        return None
    table = scores(truth, model.label_proba_, model.classes_)
    found = {name: float(table[name].loc["all"]) for name in ("n_items", *SCORES)}
    return {**found, "n_unanswered": len(annotations.gold) - found["n_items"]}


def gold_classes(model: Any, annotations: Annotations) -> list[Any] | None:
    """Return the class that each label is scored against, or None; None without any."""
    codes = annotations.gold_codes
    if not isinstance(model, CrowdClassifier):
        codes = np.where(annotations.codes.n_per_item > 0, codes, -1)
    if not (codes >= 0).any():
        return None
    return [annotations.classes[code] if code >= 0 else None for code in codes]


def _gold_given(model: Any) -> Array:
    """Return the codes of the gold classes of the fit; none of a model from a file."""
    given = getattr(model, "_given", None)
    return np.full(len(model.items_), -1) if given is None else given.gold_codes


def settings_of(model: Any) -> dict[str, Any]:
    """Return the constructor's settings; objects as text."""
    settings = model.get_params(deep=False)
    simple = (str, bool, int, float, type(None), np.generic)
    return {k: v if isinstance(v, simple) else str(v) for k, v in settings.items()}


def _read(report: Any) -> dict[str, Any]:
    names = ("path", "format", "n_rows", "left_out", "notes")
    found = {name: getattr(report, name) for name in names}
    return found | {"path": str(report.path), "left_out": dict(report.left_out)}


# -- who confuses what ---------------------------------------------------------------


def confused_by_crowd(
    proba: Float[np.ndarray, "N C"], annotations: Annotations
) -> Float[np.ndarray, "C K"]:
    """Return the shares of the answers to items of each class, Σ p(z = c) [y = k]."""
    return shares_of_rows(proba.T @ annotations.counts())


def shares_of_rows(table: Float[np.ndarray, "C K"]) -> Float[np.ndarray, "C K"]:
    """Divide every row by its sum; a row of zeros stays."""
    total = table.sum(1, keepdims=True)
    return np.divide(table, total, out=np.zeros_like(table), where=total > 0)


def said_by_features(model: Any) -> Float[np.ndarray, "N C"] | None:
    """Return what the features alone say about the items of the fit.

    Without the item's own answers; None for methods that do not know it.
    """
    witnesses = getattr(model, "_witnesses", None)
    if witnesses is None or witnesses.beyond is None:
        return None
    strength = getattr(model, "sharpness_", 1.0)
    return posterior(np.log(model.class_prior_) + strength * witnesses.beyond)[0]


def _disagreements(model: Any, alone: Float[np.ndarray, "N C"]) -> pd.DataFrame:
    """Return items of which answers and features say different things."""
    answers = model._witnesses.answers
    votes = answers.votes()
    n_votes = votes.sum(1)
    named, seen = votes.argmax(1), alone.argmax(1)
    share = votes.max(1) / np.maximum(n_votes, 1)
    where = np.flatnonzero((named != seen) & (n_votes > 0))
    clear = np.minimum(share, alone.max(1))[where]
    where = where[np.argsort(-clear, kind="stable")][:MOST_DISAGREEMENTS]
    return pd.DataFrame(
        {
            "item": model.items_[where],
            "label": model.labels_[where],
            "probability": model.label_proba_[where].max(1),
            "crowd": model.classes_[named[where]],
            "crowd_share": share[where],
            "features": model.classes_[seen[where]],
            "features_probability": alone.max(1)[where],
        }
    )


def _ledger(model: Any, items: pd.DataFrame) -> pd.DataFrame | None:
    """Return the ledger of all items; if that is too long, of the least certain."""
    if getattr(model, "_given", None) is None:
        return None
    order = np.argsort(items["probability"].to_numpy(), kind="stable")
    n_rows = items["n_answers"].to_numpy()[order] + 4
    n_cells = np.cumsum(n_rows) * len(model.classes_)
    where = order[: max(int((n_cells <= MOST_CELLS).sum()), 1)]
    return ledger_table(model, np.sort(where))


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
