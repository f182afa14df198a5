"""What a notebook shows of a fitted model and of a comparison."""

from typing import Any

import pandas as pd

from wisecrowd import _html
from wisecrowd.results.sentences import cells, number
from wisecrowd.results.tables import annotator_table, uncertain_items

MOST = 5  # rows of a table
ANNOTATORS = (
    ("<annotator", "{annotator}"),
    ("<flag", "{flag}"),
    ("answers", "{n_answers:,}"),
    ("right", "{accuracy:percent}"),
    ("95 % interval", "{low:percent} to {high:percent}"),
)
ITEMS = (
    ("<item", "{item}"),
    ("<label", "{label}"),
    ("probability", "{probability:.3f}"),
    ("<next", "{next_label}"),
    ("answers", "{n_answers:,}"),
)
SCORES = {
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "calibration_error": "calibration error",
    "unseen_answers": "unseen answers",
    "seconds": "seconds",
}


def of_model(model: Any, found: Any = None) -> str:
    """Return what a fitted model learned (`found`), as HTML; one from a file has none.

    The table of annotators has the flagged ones, and the most active of the others.
    """
    title = (
        f"{type(model).__name__}: {len(model.items_):,} items, "
        f"{len(model.annotators_):,} annotators, {len(model.classes_):,} classes"
    )
    people = annotator_table(model) if found is None else found.annotators
    people = people.assign(calm=people["flag"] == "").sort_values(
        ["calm", "n_answers"], ascending=[True, False], kind="stable"
    )
    shown = cells(people.head(MOST), ANNOTATORS)
    annotators = _html.table("Annotators: flagged, then most active", *shown)
    if found is None:
        said = "Loaded from a file, which does not hold the answers."
        return _html.block(title, _html.paragraph(said), annotators)
    items = cells(uncertain_items(found.items, MOST), ITEMS)
    said = "model.report('report.html') writes a page with all of it."
    return _html.block(
        title,
        *(_html.paragraph(sentence) for sentence in found.said.values()),
        *(_html.paragraph(note, _html.WARN) for note in against(found.about)),
        annotators,
        _html.table("Least certain items", *items),
        _html.paragraph(said, _html.SOFT),
    )


def against(about: dict[str, Any]) -> list[str]:
    """Return what a person should know before trusting the result."""
    notes: list[str] = about["notes"] + about.get("contradictions", [])
    return notes


def of_comparison(scores: pd.DataFrame) -> str:
    """Return the mean scores of several methods, as HTML."""
    kept = [name for name in SCORES if scores[name].notna().any()]
    means = scores.groupby("method", sort=False)[kept].mean()
    rows = [(method, *map(number, row)) for method, *row in means.itertuples()]
    columns = ("<method", *(SCORES[name] for name in kept))
    return _html.block(
        "Comparison of methods",
        _html.table("Means over the seeds", columns, rows),
        _html.paragraph("Higher is better: accuracy, unseen answers.", _html.SOFT),
    )
