"""The names by which the columns of a table are recognised."""

from collections.abc import Iterable
from typing import Any

from wisecrowd._checks import InputError, listed

ALIASES = {
    "item": ("item", "task", "subject", "item_id", "task_id", "subject_id", "question"),
    "annotator": (
        "annotator", "worker", "user", "rater", "volunteer",
        "annotator_id", "worker_id", "user_id", "user_name", "performer",
    ),
    "answer": ("answer", "label", "rating", "response", "annotation", "vote"),
}  # fmt: skip
"""The column names by which a long table is recognised, in order of preference."""

ROLES = tuple(ALIASES)

GOLD_NAMES = ("gold", "gold_label", "truth", "true_label", "ground_truth", "golden")
"""The names by which a column, or a field, of gold classes is recognised."""


def column_names(columns: Any, **given: str | None) -> list[str]:
    """Return the columns of item, annotator and answer: given, or found by name."""
    found, missing = [], []
    for role, aliases in ALIASES.items():
        name = given.get(role)
        if name is not None:
            check_column(name, columns, role)
        name = name or first_named(columns, aliases)
        if name is None:
            missing.append(role)
        else:
            found.append(name)
    if missing:
        raise InputError(
            f"no column for the {' and the '.join(missing)} was found; the columns are "
            f"{listed(columns, 20)}. Name it, e.g. {missing[0]}='...', or rename it."
        )
    return found


def first_named(columns: Iterable[Any], names: Iterable[str]) -> Any:
    """Return the column that has the first of these names that occurs, or None.

    Capitals, and blanks around a name, are ignored.

    Examples
    --------
    >>> first_named(["Width", " ID "], ["item", "id"])
    ' ID '
    """
    present = {str(c).strip().lower(): c for c in columns}
    return next((present[name] for name in names if name in present), None)


def check_column(name: str, columns: Iterable[Any], role: str, hint: str = "") -> None:
    """Raise an error if there is no column of this name."""
    columns = list(columns)
    if name not in columns:
        raise InputError(
            f"there is no column {name!r} for the {role}; the columns are "
            f"{listed(columns, 20)}.{hint}"
        )
