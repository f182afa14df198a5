"""Amazon Mechanical Turk batch results: CSV, one row per assignment."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from wisecrowd._checks import InputError
from wisecrowd.annotations.headers import GOLD_NAMES, check_column
from wisecrowd.io.contents import HEADER_AGAIN, parsed
from wisecrowd.io.questions import SAME, Export, chosen_question, note_of_items
from wisecrowd.io.raw import RawAnnotations
from wisecrowd.io.sources import Source

NEEDED = ("HITId", "WorkerId")
ID = "AssignmentId"
PREFIX = "Answer."
JSON_COLUMN = "Answer.taskAnswers"
REJECTED, SILENT = "assignment was rejected", "no answer"
REASONS = HEADER_AGAIN, SAME, REJECTED, SILENT
SEVERAL = "several answers to one question"
TRUTH = {"true": True, "false": False}


def recognises(columns: tuple[str, ...]) -> bool:
    """Return whether these are the columns of a batch result."""
    return set(NEEDED) <= set(columns) and any(c.startswith(PREFIX) for c in columns)


def read(
    source: Source, *, task: str | None = None, item: str | None = None
) -> RawAnnotations:
    """Read the answers to one question of a batch.

    `task` is what follows "Answer.". `item` is a column such as "Input.image_url";
    without it, an item is a HITId.
    """
    if item is not None:
        check_column(item, source.columns, "item")
    items = item or "HITId"
    answers = [c for c in source.columns if c.startswith(PREFIX)]
    fields = [c for c in source.columns if c.startswith("Input.")]
    gold = next((c for c in fields if c[6:].lower() in GOLD_NAMES), None)
    export = Export(left_out=Counter(dict.fromkeys(REASONS, 0)))
    gold_of: dict[str, list[str]] = {}
    buttons: list[tuple[Any, Any, dict[str, Button]]] = []
    used = [items, "WorkerId", ID, "AssignmentStatus", gold or items, *answers]
    for place, row in export.rows(source, used, ID):
        if gold and row[gold]:
            gold_of.setdefault(row[items], []).append(row[gold])
        if row.get("AssignmentStatus", "").lower() == "rejected":
            export.left_out[REJECTED] += 1
            continue
        who = row[items] or None, row["WorkerId"] or None
        alone = _add(export, *who, dict(_answers(row, answers, place)))
        if alone:
            buttons.append((*who, alone))
    _add_buttons(export, buttons)
    name, notes = chosen_question(export.questions, task)
    if item is None:
        notes += note_of_items(items, [field for field in fields if field != gold])
    export.questions[name].gold |= gold_of
    return export.found("MTurk batch results", name, notes)


class Button(NamedTuple):
    """A question with one option, ticked or not: one button of several, or a box."""

    option: str
    ticked: bool


Given = str | Button | None  # None: several were ticked


# -- inside ---------------------------------------------------------------------


def _add(
    export: Export, item: Any, annotator: Any, given: dict[str, Given]
) -> dict[str, Button]:
    """Add the answers of one assignment; return the buttons, which come at the end."""
    alone = {n: g for n, g in given.items() if isinstance(g, Button)}
    for name, answer in given.items():
        if answer is None:
            export.questions[name].left_out[SEVERAL] += 1
        elif name not in alone:
            export.questions[name].add(item, annotator, answer)
    if len(alone) == len(given) and not any(b.ticked for b in alone.values()):
        export.left_out[SILENT] += 1
    return alone


def _add_buttons(
    export: Export, rows: list[tuple[Any, Any, dict[str, Button]]]
) -> None:
    """Add buttons with a name each: radio buttons are one question, boxes are many.

    A radio button of MTurk's crowd elements has its own name in the results, and one
    of them is ticked: ``{"yes": {"on": true}, "no": {"on": false}}``.
    """
    names = list(dict.fromkeys(name for *_, row in rows for name in row))
    options = {button.option for *_, row in rows for button in row.values()}
    n_ticked = [sum(b.ticked for b in row.values()) for *_, row in rows]
    radio = len(names) > 1 and max(n_ticked, default=0) == 1
    for item, annotator, row in rows:
        for name, button in row.items():
            if button.ticked:
                answer = name if len(options) == 1 and radio else button.option
                title = " / ".join(names) if radio else name
                export.questions[title].add(item, annotator, answer)


def _answers(
    row: dict[str, str], columns: list[str], place: str
) -> Iterator[tuple[str, Given]]:
    """Yield question and answer; the answer is None if several were ticked."""
    ticked: dict[str, dict[str, bool]] = {}
    for column in columns:
        value = row[column]
        name, _, option = column[len(PREFIX) :].rpartition(".")
        if column == JSON_COLUMN:
            yield from _json_answers(value, place)
        elif name and value.lower() in TRUTH:
            ticked.setdefault(name, {})[option] = TRUTH[value.lower()]
        elif value and value != "{}":
            yield column[len(PREFIX) :].removesuffix(".label"), value
    for name, options in ticked.items():
        yield from _ticks(name, options)


def _ticks(name: str, options: dict[str, bool]) -> Iterator[tuple[str, Given]]:
    """Yield the option that is ticked, of several or of one."""
    ticked = [option for option, on in options.items() if on]
    if len(options) == 1:
        yield name, Button(*next(iter(options.items())))
    elif ticked:
        yield name, ticked[0] if len(ticked) == 1 else None


def _json_answers(text: str, place: str) -> Iterator[tuple[str, Given]]:
    """Yield the answers of a form made of crowd elements."""
    content = parsed(text or "[]", f"{place}, column {JSON_COLUMN!r},")
    for part in content if isinstance(content, list) else [content]:
        if not isinstance(part, dict):
            raise InputError(
                f"{place}, column {JSON_COLUMN!r}: an object with names and answers "
                f"was expected, and there is {str(part)[:60]!r}."
            )
        for name, value in part.items():
            yield from _json_answer(name, value)


def _json_answer(name: str, value: Any) -> Iterator[tuple[str, Given]]:
    if not isinstance(value, dict):
        yield name, str(value)
    elif "label" in value:
        yield name, str(value["label"])
    else:
        yield from _ticks(name, {str(o): on is True for o, on in value.items()})
