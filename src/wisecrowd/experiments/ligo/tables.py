"""Tables 4 and 5, and all scores over all classes."""

from typing import Any

import pandas as pd

from wisecrowd._types import Array
from wisecrowd.experiments.ligo import paper
from wisecrowd.experiments.ligo.fits import KINDS, largest
from wisecrowd.experiments.parts import mean_and_deviation, short
from wisecrowd.experiments.runner import Rows
from wisecrowd.simulation.glitches.items import CLASSES


def per_class(rows: Rows, score: str, published: Array) -> Any:
    """Return a table with three lines per class: the paper's numbers and ours."""
    frame = largest(rows)
    if frame.empty:
        return None
    lines = []
    for c, name in enumerate([*CLASSES, "all"]):
        cells = {m: _cell(*published[c, i]) for i, m in enumerate(paper.METHODS)}
        lines.append({"class": name, "": "paper", **cells})
        for kind in KINDS:
            some = frame[frame["kind"] == kind]
            found = {}
            for method in paper.METHODS:
                runs = some[some["method"] == method]
                values = runs[score] if name == "all" else runs[f"{score}_of"].str[c]
                found[method] = mean_and_deviation(values)
            lines.append({"class": "", "": kind, **found})
    return pd.DataFrame(lines)


def _cell(mean: float, deviation: float) -> str:
    return f"{short(mean)} ({short(deviation)})"


def table_4(rows: Rows) -> Any:
    """Accuracy per class."""
    return per_class(rows, "test_accuracy", paper.ACCURACY)


def table_5(rows: Rows) -> Any:
    """Mean likelihood per class."""
    return per_class(rows, "test_mean_likelihood", paper.LIKELIHOOD)


def summary(rows: Rows) -> Any:
    """All scores of all methods, over all classes."""
    frame = largest(rows)
    if frame.empty:
        return None
    columns = {
        "accuracy": ("test_accuracy", 4),
        "likelihood": ("test_mean_likelihood", 4),
        "log loss": ("test_log_loss", 4),
        "calibration error": ("test_calibration_error", 4),
        "accuracy, usual items": ("usual_accuracy", 4),
        "their log loss": ("usual_log_loss", 4),
        "training labels": ("label_accuracy", 4),
        "log loss of labels": ("label_log_loss", 4),
        "error of matrices": ("matrix_error", 4),
        "seconds": ("seconds", 0),
        "of the processor": ("processor", 0),
        "test seconds": ("test_seconds", 2),
        "MB": ("megabytes", 0),
    }
    lines = []
    for i, method in enumerate(paper.METHODS):
        said = {
            "accuracy": _cell(*paper.ACCURACY[-1, i]),
            "likelihood": _cell(*paper.LIKELIHOOD[-1, i]),
        }
        blank = dict.fromkeys(columns, "")
        lines.append({"method": method, "": "paper", **blank, **said})
        for kind in KINDS:
            runs = frame[(frame["method"] == method) & (frame["kind"] == kind)]
            found = {
                name: mean_and_deviation(runs.get(column, []), digits)
                for name, (column, digits) in columns.items()
            }
            lines.append({"method": "", "": kind, **found})
    return pd.DataFrame(lines)
