"""Amazon Mechanical Turk batch results: CSV, one row per assignment."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from wisecrowd._checks import InputError
from wisecrowd.annotations.headers import GOLD_NAMES, check_column
from wisecrowd.io.questions import (
    Question,
    chosen_question,
    from_question,
    is_again,
    note_of_items,
)
from wisecrowd.io.raw import RawAnnotations
from wisecrowd.io.sources import Source, parsed, table_rows

NEEDED = ("HITId", "WorkerId")
ID = "AssignmentId"
PREFIX = "Answer."
JSON_COLUMN = "Answer.taskAnswers"
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
    item_column = _item_column(source.columns, item)
    answers = [c for c in source.columns if c.startswith(PREFIX)]
    gold = next((c for c in source.columns if _is_gold(c)), None)
    extra = [c for c in (ID, "AssignmentStatus", gold) if c and c in source.columns]
    used = list(dict.fromkeys([item_column, "WorkerId", *extra, *answers]))
    questions: dict[str, Question] = {}
    gold_of: dict[str, list[str]] = {}
    n_rows = n_rejected = n_silent = n_same = 0
    seen: set[int] = set()
    buttons = Buttons()
    again: Counter[str] = Counter()
    for place, row in table_rows(source, used, again):
        n_rows += 1
        if is_again(row, row.get(ID), seen):
            n_same += 1
            continue
        if gold and row[gold]:
            gold_of.setdefault(row[item_column], []).append(row[gold])
        if row.get("AssignmentStatus", "").lower() == "rejected":
            n_rejected += 1
            continue
        given = dict(_answers(row, answers, place))
        alone = {n: g for n, g in given.items() if isinstance(g, Button)}
        who = row[item_column] or None, row["WorkerId"] or None
        said = {n: g for n, g in given.items() if not isinstance(g, Button)}
        n_silent += not said and not any(button.ticked for button in alone.values())
        _add(questions, *who, said)
        buttons.add(*who, alone)
    buttons.add_to(questions)
    name, notes = chosen_question(questions, task)
    if item is None:
        fields = [c for c in source.columns if c.startswith("Input.") and c != gold]
        notes += note_of_items(item_column, fields)
    for item_id, classes in gold_of.items():
        questions[name].gold[item_id] = classes
    n_rows += again.total()
    made = from_question("MTurk batch results", questions[name], n_rows, notes)
    left = {
        **again,
        "the same assignment again": n_same,
        "assignment was rejected": n_rejected,
        "no answer": n_silent,
    }
    made.left_out.update({why: n for why, n in left.items() if n})
    return made


class Button(NamedTuple):
    """A question with one option, ticked or not: one button of several, or a box."""

    option: str
    ticked: bool


class Buttons:
    """Buttons with a name each: radio buttons are one question, boxes are many.

    A radio button of MTurk's crowd elements has its own name in the results, and one
    of them is ticked: ``{"yes": {"on": true}, "no": {"on": false}}``.
    """

    def __init__(self) -> None:
        self.rows: list[tuple[Any, Any, dict[str, Button]]] = []

    def add(self, item: Any, annotator: Any, alone: dict[str, Button]) -> None:
        """Add the buttons of one assignment."""
        if alone:
            self.rows.append((item, annotator, alone))

    def add_to(self, questions: dict[str, Question]) -> None:
        """Add the answers to the questions of a batch."""
        names = list(dict.fromkeys(name for *_, row in self.rows for name in row))
        options = {button.option for *_, row in self.rows for button in row.values()}
        n_ticked = [sum(b.ticked for b in row.values()) for *_, row in self.rows]
        radio = len(names) > 1 and max(n_ticked, default=0) == 1
        for item, annotator, row in self.rows:
            for name, button in row.items():
                if not button.ticked:
                    continue
                answer = name if len(options) == 1 and radio else button.option
                title = " / ".join(names) if radio else name
                questions.setdefault(title, Question()).add(item, annotator, answer)


Given = str | Button | None  # None: several were ticked


# -- inside ---------------------------------------------------------------------


def _item_column(columns: tuple[str, ...], item: str | None) -> str:
    if item is not None:
        check_column(item, columns, "item")
    return item or "HITId"


def _is_gold(column: str) -> bool:
    return column.startswith("Input.") and column[6:].lower() in GOLD_NAMES


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


def _only(options: list[str]) -> str | None:
    return options[0] if len(options) == 1 else None


def _ticks(name: str, options: dict[str, bool]) -> Iterator[tuple[str, Given]]:
    """Yield the option that is ticked, of several or of one."""
    if len(options) == 1:
        yield name, Button(*next(iter(options.items())))
    elif any(options.values()):
        yield name, _only([option for option, on in options.items() if on])


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


def _add(
    questions: dict[str, Question], item: Any, annotator: Any, given: dict[str, Any]
) -> None:
    for name, answer in given.items():
        question = questions.setdefault(name, Question())
        if answer is None:
            question.left_out["several answers to one question"] += 1
        else:
            question.add(item, annotator, answer)
