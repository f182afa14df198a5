"""What a notebook shows of a fitted model and of a comparison."""

from typing import Any

import pandas as pd

from wisecrowd import _html
from wisecrowd.results.sentences import percent
from wisecrowd.results.tables import annotator_table, uncertain_items

MOST = 5  # rows of a table


def of_model(model: Any, found: Any = None) -> str:
    """Return what a fitted model learned, as HTML.

    Parameters
    ----------
    model : fitted method
        The model.
    found : Findings, optional
        What it learned; a model from a file has none.
    """
    name = type(model).__name__
    title = (
        f"{name}: {len(model.items_):,} items, {len(model.annotators_):,} annotators, "
        f"{len(model.classes_):,} classes"
    )
    if found is None:
        said = "Loaded from a file, which does not hold the answers."
        people = annotator_table(model)
        return _html.block(title, _html.paragraph(said), annotators(people))
    said = "model.report('report.html') writes a page with all of it."
    return _html.block(
        title,
        *(_html.paragraph(sentence) for sentence in found.said.values()),
        annotators(found.annotators),
        items(found.items),
        _html.paragraph(said, _html.SOFT),
    )


def annotators(table: pd.DataFrame) -> str:
    """Return the flagged annotators, and the most active of the others."""
    order = table.assign(calm=table["flag"] == "").sort_values(
        ["calm", "n_answers"], ascending=[True, False], kind="stable"
    )
    each: Any = order.head(MOST).itertuples()
    rows = [
        (
            row.annotator,
            row.flag,
            f"{row.n_answers:,}",
            percent(row.accuracy),
            f"{percent(row.low)} to {percent(row.high)}",
        )
        for row in each
    ]
    columns = ("<annotator", "<flag", "answers", "right", "95 % interval")
    return _html.table("Annotators: flagged, then most active", columns, rows)


def items(table: pd.DataFrame) -> str:
    """Return the least certain items."""
    each: Any = uncertain_items(table, MOST).itertuples()
    rows = [
        (
            row.item,
            row.label,
            f"{row.probability:.3f}",
            row.next_label,
            f"{row.n_answers:,}",
        )
        for row in each
    ]
    columns = ("<item", "<label", "probability", "<next", "answers")
    return _html.table("Least certain items", columns, rows)


def of_comparison(scores: pd.DataFrame) -> str:
    """Return the mean scores of several methods, as HTML."""
    shown = {
        "accuracy": "accuracy",
        "log_loss": "log loss",
        "calibration_error": "calibration error",
        "unseen_answers": "unseen answers",
        "seconds": "seconds",
    }
    kept = [name for name in shown if scores[name].notna().any()]
    means = scores.groupby("method", sort=False)[kept].mean()
    rows = [
        (method, *(f"{v:.3f}" if pd.notna(v) else "–" for v in row))
        for method, row in zip(means.index, means.to_numpy(), strict=True)
    ]
    columns = ("<method", *(shown[name] for name in kept))
    return _html.block(
        "Comparison of methods",
        _html.table("Means over the seeds", columns, rows),
        _html.paragraph("Higher is better: accuracy, unseen answers.", _html.SOFT),
    )
