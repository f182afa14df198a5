"""Label Studio exports: JSON, a list of tasks with their annotations."""

from typing import Any

from wisecrowd._checks import InputError, listed
from wisecrowd.io.questions import (
    Export,
    chosen_question,
    is_again,
    note_gold_answers,
    note_of_items,
)
from wisecrowd.io.raw import RawAnnotations

LISTS = ("annotations", "completions")  # the second in exports before version 1.0
GROUND_TRUTH = "ground truth"


def recognises(content: Any) -> bool:
    """Return whether this is a list of tasks."""
    return (
        isinstance(content, list)
        and bool(content)
        and isinstance(content[0], dict)
        and any(isinstance(content[0].get(name), list) for name in LISTS)
    )


def read(
    content: Any, *, task: str | None = None, item: str | None = None
) -> RawAnnotations:
    """Read the choices of one control tag of an export (JSON, not JSON-MIN).

    `task` is the tag's ``from_name``. `item` is a field of the tasks' data that names
    the items, in place of the tasks' numbers.
    """
    if not recognises(content):
        raise InputError(
            "this is not a Label Studio export: a list of tasks, each with "
            "'annotations', was expected. Export as JSON (not JSON-MIN)."
        )
    export = Export()
    bare = []
    for number, entry in enumerate(content, start=1):
        _check_task(entry, number)
        item_id = _item_id(entry, item, number)
        given = [a for name in LISTS for a in entry.get(name) or []]
        export.n_rows += max(len(given), 1)
        for annotation in given:
            if is_again((item_id, annotation), annotation.get("id"), export.seen):
                export.left_out["the same annotation again"] += 1
            else:
                _add(export, item_id, annotation)
        if not given:
            bare.append(item_id)
    if not export.questions:
        raise InputError(f"none of its {export.n_rows:,} annotations holds a choice.")
    name, notes = chosen_question(export.questions, task)
    if item is None:
        notes += note_of_items("id", content[0].get("data") or {})
    for item_id in bare:
        export.questions[name].add(item_id, None, None)
    made = export.found("Label Studio JSON", name, notes)
    made.typed = frozenset({"item", "annotator"})
    note_gold_answers(made, GROUND_TRUTH, "marked as ground truth")
    return made


# -- inside ---------------------------------------------------------------------


def _check_task(entry: Any, number: int) -> None:
    """Refuse a task whose lists and records are something else."""
    given = [
        a
        for name in LISTS
        if isinstance(entry, dict) and isinstance(entry.get(name), list)
        for a in entry[name]
    ]
    results = [a.get("result") or [] for a in given if isinstance(a, dict)]
    whole = (
        isinstance(entry, dict)
        and all(isinstance(entry.get(name) or [], list) for name in LISTS)
        and isinstance(entry.get("data") or {}, dict)
        and not isinstance(entry.get("id"), list | dict)
        and all(isinstance(a, dict) for a in given)
        and all(isinstance(r, list) for r in results)
        and all(isinstance(p, dict) for r in results for p in r)
        and all(isinstance(p.get("value") or {}, dict) for r in results for p in r)
    )
    if not whole:
        raise InputError(
            f"task {number:,} is not as Label Studio writes it: 'annotations' is a "
            f"list of annotations, each with a list 'result' of records, and the task "
            f"has one 'id'. Export the project again."
        )


def _item_id(entry: dict[str, Any], field: str | None, number: int) -> Any:
    if field is None:
        return entry.get("id", number)
    data = entry.get("data") or {}
    if field not in data:
        raise InputError(
            f"task {number:,} has no field {field!r} in its data; it has "
            f"{listed(data) or 'none'}."
        )
    if isinstance(data[field], list | dict):
        raise InputError(
            f"the field {field!r} of task {number:,} is a "
            f"{type(data[field]).__name__}, not an id."
        )
    return data[field]


def _add(export: Export, item: Any, annotation: dict[str, Any]) -> None:
    """Add the answers in one annotation, or the reason why there is none."""
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    parts = [p for p in annotation.get("result") or [] if "from_name" in p]
    skipped = annotation.get("was_cancelled")
    if skipped or not parts:
        export.left_out["skipped by the annotator" if skipped else "no answer"] += 1
        return
    for part in parts:
        question = export.questions[str(part["from_name"])]
        answer, problem = _answer(part.get("value") or {})
        if problem:
            question.left_out[problem] += 1
        elif annotation.get("ground_truth"):
            question.left_out[GROUND_TRUTH] += 1
            question.add_gold(item, answer)
        else:
            question.add(item, who, answer)


def _answer(value: dict[str, Any]) -> tuple[str | None, str]:
    """Return the answer, or the reason why there is none."""
    if "rating" in value:
        return str(value["rating"]), ""
    chosen = value.get("choices", value.get("taxonomy"))
    if chosen is None:
        return None, "a region or a text, not a choice"
    if not isinstance(chosen, list):
        chosen = [chosen]
    if len(chosen) != 1:
        return None, "several choices" if chosen else "no answer"
    only = chosen[0]
    return (" > ".join(map(str, only)) if isinstance(only, list) else str(only)), ""
