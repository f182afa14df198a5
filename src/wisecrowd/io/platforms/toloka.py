"""Toloka assignments: TSV, one row per answered task, prefixes in the header."""

from collections.abc import Sequence

from wisecrowd.annotations.headers import check_column
from wisecrowd.io.questions import Export, chosen_question, note_of_items
from wisecrowd.io.raw import RawAnnotations
from wisecrowd.io.sources import Source

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
    inputs, fields = (
        [c for c in source.columns if c.startswith(prefix)]
        for prefix in ("INPUT:", "OUTPUT:")
    )
    items = _item_column(source.columns, inputs, item)
    names = [field.removeprefix("OUTPUT:") for field in fields]
    golden = [name for name in names if f"GOLDEN:{name}" in source.columns]
    export = Export()
    questions = {name: export.questions[name] for name in names}
    used = [items, WORKER, STATUS, ID, TASK, *fields, *(f"GOLDEN:{g}" for g in golden)]
    for _, row in export.rows(source, used, ID):
        item_id = row[items] or None
        for name in golden:
            known, gold = row[f"GOLDEN:{name}"], questions[name].gold
            if known and item_id:
                gold[item_id] = [*gold.get(item_id, [])[:1], known]
        why = UNUSED.get(row.get(STATUS, "").upper())
        if why:
            export.left_out[why] += 1
            continue
        for name, question in questions.items():
            question.add(item_id, row[WORKER] or None, row[f"OUTPUT:{name}"] or None)
    name, notes = chosen_question(questions, task)
    notes.append(f"the item ids are in the column {items!r}.")
    made = export.found("Toloka assignments (TSV)", name, notes)
    if made.gold:
        made.notes.append(f"{len(made.gold):,} gold classes are from 'GOLDEN:{name}'.")
    if item is None:
        made.notes += note_of_items(items, inputs)
    return made


def _item_column(columns: Sequence[str], inputs: list[str], item: str | None) -> str:
    wanted = item if item is None or item in columns else f"INPUT:{item}"
    found = wanted or (inputs[0] if len(inputs) == 1 else TASK)
    check_column(found, columns, "item", " Name one with item=.")
    return found
