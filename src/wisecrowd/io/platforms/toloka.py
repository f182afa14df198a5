"""Toloka assignments: TSV, one row per answered task, prefixes in the header."""

from collections import Counter

from wisecrowd.annotations.headers import check_column
from wisecrowd.io.questions import (
    Question,
    chosen_question,
    from_question,
    is_again,
    note_of_items,
)
from wisecrowd.io.raw import RawAnnotations
from wisecrowd.io.sources import HEADER_AGAIN, Source, table_rows

WORKER = "ASSIGNMENT:worker_id"
STATUS = "ASSIGNMENT:status"
ID = "ASSIGNMENT:assignment_id"
TASK = "ASSIGNMENT:task_id"
UNUSED = {
    "REJECTED": "assignment was rejected",
    "SKIPPED": "skipped by the annotator",
    "EXPIRED": "assignment expired",
    "ACTIVE": "assignment is not finished",
}


def recognises(columns: tuple[str, ...]) -> bool:
    """Return whether these are the columns of assignments."""
    return WORKER in columns and any(c.startswith("OUTPUT:") for c in columns)


def read(
    source: Source, *, task: str | None = None, item: str | None = None
) -> RawAnnotations:
    """Read the answers to one output field.

    `task` is what follows "OUTPUT:". Without `item`, the only ``INPUT:`` column names
    the items, or else ``ASSIGNMENT:task_id``.
    """
    item_column = _item_column(source.columns, item)
    fields = [
        c.removeprefix("OUTPUT:") for c in source.columns if c.startswith("OUTPUT:")
    ]
    golden = [f for f in fields if f"GOLDEN:{f}" in source.columns]
    used = [
        item_column,
        WORKER,
        *(c for c in (STATUS, ID, TASK) if c in source.columns),
    ]
    used += [f"OUTPUT:{f}" for f in fields] + [f"GOLDEN:{f}" for f in golden]
    questions = {field: Question() for field in fields}
    unused: Counter[str] = Counter()
    n_rows = 0
    seen: set[int] = set()
    for _, row in table_rows(source, list(dict.fromkeys(used)), unused):
        n_rows += 1
        if is_again(row, row.get(ID), seen):
            unused["the same assignment again"] += 1
            continue
        _add_gold(questions, golden, row, row[item_column])
        why = UNUSED.get(row.get(STATUS, "").upper())
        if why:
            unused[why] += 1
        else:
            _add(questions, row, row[item_column])
    n_rows += unused[HEADER_AGAIN]
    made = _finished(questions, task, n_rows, +unused, item_column)
    if item is None:
        inputs = [c for c in source.columns if c.startswith("INPUT:")]
        made.notes += note_of_items(item_column, inputs)
    return made


# -- inside ---------------------------------------------------------------------


def _item_column(columns: tuple[str, ...], item: str | None) -> str:
    inputs = [c for c in columns if c.startswith("INPUT:")]
    wanted = item if item is None or item in columns else f"INPUT:{item}"
    found = wanted or (inputs[0] if len(inputs) == 1 else TASK)
    check_column(found, columns, "item", " Name one with item=.")
    return found


def _add_gold(
    questions: dict[str, Question], golden: list[str], row: dict[str, str], item: str
) -> None:
    for field in golden:
        if row[f"GOLDEN:{field}"] and item:
            questions[field].gold[item] = [
                *questions[field].gold.get(item, [])[:1], row[f"GOLDEN:{field}"],
            ]  # fmt: skip


def _add(questions: dict[str, Question], row: dict[str, str], item: str) -> None:
    for field, question in questions.items():
        answer = row[f"OUTPUT:{field}"] or None
        question.add(item or None, row[WORKER] or None, answer)


def _finished(
    questions: dict[str, Question],
    task: str | None,
    n_rows: int,
    unused: Counter[str],
    item_column: str,
) -> RawAnnotations:
    name, notes = chosen_question(questions, task)
    notes.append(f"the item ids are in the column {item_column!r}.")
    made = from_question("Toloka assignments (TSV)", questions[name], n_rows, notes)
    made.left_out.update(unused)
    if made.gold:
        made.notes.append(f"{len(made.gold):,} gold classes are from 'GOLDEN:{name}'.")
    return made
