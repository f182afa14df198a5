"""The names by which the columns of a table are recognised: one table for all files."""

import re
from collections.abc import Iterable
from typing import Any

from wisecrowd._checks import InputError, listed, named

HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def plain(name: Any) -> str:
    """Return a name in small letters, its words joined by underscores.

    Examples
    --------
    >>> [plain(name) for name in ("WorkerId", "HITId", " Worker ID ", "image-name")]
    ['worker_id', 'hit_id', 'worker_id', 'image_name']
    """
    words = HUMPS.sub("_", str(name).strip())
    return re.sub(r"[\W_]+", "_", words).strip("_").lower()


def _folded(name: Any) -> str:
    return plain(name).replace("_", "")


def _forms(stems: str, endings: str) -> tuple[str, ...]:
    """Return each stem alone, then with each ending."""
    words = stems.split()
    return (*words, *(f"{stem}_{end}" for end in endings.split() for stem in words))


ROW_NAMES = ("id", "index", "idx", "row", "uid", "uuid", "key")
"""Names of ids that number items in one file, and rows in another."""
ID_ENDINGS = "id name nr no number idx index key uuid url path file"
THINGS = "item task subject hit question image img photo picture file filename"
ALIASES = {
    "item": (
        *_forms(f"{THINGS} document doc example instance object unit", ID_ENDINGS),
        *_forms("clip video audio recording frame slide scan pair query", ID_ENDINGS),
        *_forms("sample case record entity article page stimulus", ID_ENDINGS),
        *_forms("sentence text utterance passage tweet post prompt", ID_ENDINGS),
        *("patient", "patient_id", "subject_ids", "qid", "comment_id", "message_id"),
        *("review_id", "product_id", "data_id", "row_id"),
        *("url", "path", "title", *ROW_NAMES),
    ),
    "annotator": (
        *_forms(
            "annotator worker user rater volunteer performer judge labeler labeller "
            "coder reviewer participant respondent turker crowdworker contributor "
            "grader evaluator assessor tagger expert observer scorer voter reader "
            "person player member judge_model",
            "id name nr no number uuid email code",
        ),
        *("username", "login", "email", "who", "created_by", "completed_by"),
        *("annotated_by", "labeled_by", "labelled_by", "rated_by", "reviewed_by"),
        *_forms("llm model agent system source", "id name"),
    ),
    "answer": (
        *_forms("answer label rating response annotation vote", "value name text"),
        *_forms("class category choice verdict judgment judgement", "name label id"),
        *("decision", "classification", "opinion", "selection", "selected", "option"),
        *("labels", "answers", "given_label", "worker_label", "crowd_label"),
        *("assigned_label", "chosen_label", "user_label", "annotator_label"),
        *("worker_answer", "user_answer", "annotator_answer", "preference", "winner"),
        *("label_id", "assessment", "diagnosis", "species", "sentiment", "grade"),
        *("tag", "score", "value", "result", "output", "prediction"),
    ),
}
"""The column names by which a long table is recognised, in order of preference."""

ROLES = tuple(ALIASES)

GOLD_NAMES = (
    "gold", "gold_label", "truth", "true_label", "ground_truth", "golden",
    "gold_class", "true_class", "gold_answer", "true_answer", "correct_answer",
    "correct_label", "y_true",
)  # fmt: skip
"""The names by which a column, or a field, of gold classes is recognised."""


def column_names(columns: Any, **given: str | None) -> list[str]:
    """Return the columns of item, annotator and answer: given, or found by name.

    A column has one role: one that was given for one of them is not found for another.
    """
    columns = list(columns)
    for role in ROLES:
        if given.get(role) is not None:
            check_column(str(given[role]), columns, role)
    free = [c for c in columns if c not in given.values()]
    roles = {r: given.get(r) or first_named(free, ALIASES[r]) for r in ROLES}
    missing = [role for role, name in roles.items() if name is None]
    if missing:
        left = [c for c in free if c not in roles.values()]
        roles_said = [", ".join(missing[:-1])] * (len(missing) > 1) + missing[-1:]
        example = named(left[0]) if len(left) == len(missing) == 1 else "'...'"
        raise InputError(
            f"no column for the {' and '.join(roles_said)} was found; the columns are "
            f"{listed(columns, 20)}. Name it, e.g. {missing[0]}={example}, or rename "
            f"it."
        )
    return list(roles.values())


def first_named(columns: Iterable[Any], names: Iterable[str]) -> Any:
    """Return the column that has the first of these names that occurs, or None.

    Names are compared by their letters and digits: ``WorkerId``, ``worker id`` and
    ``workerid`` are one name. Of two such columns, the first is returned.

    Examples
    --------
    >>> first_named(["Width", " ID "], ["item", "id"])
    ' ID '
    >>> first_named(["HITId", "WorkerId"], ["worker", "worker_id"])
    'WorkerId'
    """
    present: dict[str, Any] = {}
    for column in columns:
        present.setdefault(_folded(column), column)
    return next((present[n] for n in map(_folded, names) if n in present), None)


def also_named(columns: Iterable[Any], role: str) -> list[Any]:
    """Return the columns that are called like this role."""
    known = {_folded(name) for name in ALIASES[role]}
    return [column for column in columns if _folded(column) in known]


def check_column(name: str, columns: Iterable[Any], role: str, hint: str = "") -> None:
    """Raise an error if there is no column of this name."""
    columns = list(columns)
    if name not in columns:
        raise InputError(
            f"there is no column {named(name)} for the {role}; the columns are "
            f"{listed(columns, 20)}.{hint}"
        )
