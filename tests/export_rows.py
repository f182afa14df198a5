"""Rows of exports of the platforms, and what was read of them."""

import csv
import json


def rows_of(annotations):
    return list(annotations.to_frame().itertuples(index=False, name=None))


def write_table(path, rows, delimiter=","):
    """Write rows with different fields as one table."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, restval="", delimiter=delimiter)
        table.writeheader()
        table.writerows(rows)
    return path


def classification(subject, user, *values, **changes):
    """Return a row of an export; the values answer tasks T0, T1, ..."""
    given = [
        {"task": f"T{i}", "task_label": f"Question {i}?", "value": value}
        for i, value in enumerate(values)
    ]
    row = {
        "classification_id": "900",
        "user_name": user,
        "user_id": "" if user.startswith("not-logged-in") or not user else "7",
        "user_ip": "a1b2",
        "workflow_id": "10",
        "workflow_name": "Cats",
        "workflow_version": "3.10",
        "gold_standard": "",
        "annotations": json.dumps(given),
        "subject_data": json.dumps({str(subject): {"retired": None}}),
        "subject_ids": str(subject),
    }
    return row | changes


def survey(*choices):
    return [{"choice": c, "answers": {"HOWMANY": "1"}, "filters": {}} for c in choices]
