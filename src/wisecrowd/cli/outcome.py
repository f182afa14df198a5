"""What a fit leaves, whichever command asked for it: tables, JSON, a run folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from wisecrowd.cli import show
from wisecrowd.io.gold import read_gold, truth_of
from wisecrowd.cli.run_folder import check_folder, label_table, write_run
from wisecrowd.annotations import Annotations
from wisecrowd.maths.dependence import weight_of_answers
from wisecrowd.metrics import scores

WORTH_SAYING = 0.02  # less than that is noise

Fit = Callable[[pd.Series | None], Any]  # from known classes to the fitted model


def fit_and_report(
    fit: Fit,
    labels: Annotations,
    *,
    out: Path | None,
    gold: Path | None,
    as_json: bool,
    quiet: bool,
    notes: tuple[str, ...] = (),
) -> None:
    """Fit, print what was read and what was found, write the run folder.

    Parameters
    ----------
    fit : function
        Takes the known classes, or None, and returns the fitted model.
    labels : Annotations
        What it is fitted on, over all items of the model.
    out, gold : path or None
        The run folder to write; a file of known classes, used inside the fit.
    as_json, quiet : bool
        One JSON object instead of tables; no messages.
    notes : tuple of str
        What else there is to say about what was read.
    """
    check_folder(out)
    known = None
    if gold is not None:
        known, more = read_gold(gold, labels)
        notes = (*notes, *more)
    if not quiet:
        show.say_read(labels, notes)
    model = fit(known)
    if out is not None:
        write_run(model, labels, out)
    if as_json:
        _show_json(model, labels, out)
    elif not quiet:
        _show(model, labels, known)
    if not quiet:
        said = "nothing was written; add --out RUN to keep it" if out is None else None
        show.say(said or f"wrote {out}: labels, annotators, confusion, trace, model")


def _show(model: Any, labels: Annotations, known: pd.Series | None) -> None:
    items = label_table(model, labels)
    show.show_classes(items, model.classes_)
    show.show_items(items)
    show.show_annotators(model.annotator_summary())
    if model.dependence_ >= WORTH_SAYING:
        show.say(_said_of_dependence(model.dependence_, labels))
    if known is None and len(labels.gold):
        score = _gold_scores(model, labels)
        show.say(
            f"against the gold in the file ({score['n_items']:,.0f} items), which the "
            f"fit did not use: accuracy {score['accuracy']:.3f}, "
            f"log loss {score['log_loss']:.3f}"
        )


def _said_of_dependence(dependence: float, labels: Annotations) -> str:
    n_each = len(labels) / max(len(np.unique(labels.item)), 1)
    worth = n_each * weight_of_answers(np.array([n_each]), dependence)[0]
    return (
        f"people err together on hard items (correlation {dependence:.2f}): "
        f"{n_each:.1f} answers an item are worth {worth:.1f}, and were believed so"
    )


def _gold_scores(model: Any, labels: Annotations) -> dict[str, float]:
    truth = truth_of(labels, labels.gold)
    table = scores(truth, model.label_proba_, model.classes_)
    return {str(name): float(table[name].loc["all"]) for name in table}


def _show_json(model: Any, labels: Annotations, out: Path | None) -> None:
    report: Any = labels.report
    summary = model.annotator_summary()
    show.show_json(
        {
            "method": type(model).__name__,
            "read": {
                "path": str(report.path),
                "format": report.format,
                "n_rows": report.n_rows,
                "left_out": dict(report.left_out),
                "notes": list(report.notes),
            },
            "n_items": len(labels.items),
            "n_annotators": len(labels.annotators),
            "n_annotations": len(labels),
            "classes": model.classes_,
            "bound": model.trace_["bound"].iloc[-1],
            "seconds": model.trace_["seconds"].iloc[-1],
            "dependence": model.dependence_,
            **show.flagged(summary),
            "labels": label_table(model, labels),
            "annotators": summary,
            "run": None if out is None else str(out),
        }
    )
