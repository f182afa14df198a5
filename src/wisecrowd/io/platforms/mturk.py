"""Amazon Mechanical Turk batch results: CSV, one row per assignment."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from wisecrowd.annotations.headers import GOLD_NAMES, check_column
from wisecrowd.io.questions import (
    Question,
    chosen_question,
    from_question,
    is_again,
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

    Parameters
    ----------
    source : Source
        The file of results.
    task : str, optional
        The name of the question: what follows "Answer.". Default: the one with the
        most answers.
    item : str, optional
        The column to use as the item's id, such as "Input.image_url". Default: HITId.
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
        n_silent += not given
        _add(questions, row, item_column, given)
    name, notes = chosen_question(questions, task)
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


# -- inside ---------------------------------------------------------------------


def _item_column(columns: tuple[str, ...], item: str | None) -> str:
    if item is not None:
        check_column(item, columns, "item")
    return item or "HITId"


def _is_gold(column: str) -> bool:
    return column.startswith("Input.") and column[6:].lower() in GOLD_NAMES


def _answers(
    row: dict[str, str], columns: list[str], place: str
) -> Iterator[tuple[str, str | None]]:
    """Yield question and answer; the answer is None if several were ticked."""
    ticked: dict[str, list[str]] = {}
    for column in columns:
        value = row[column]
        name, _, option = column[len(PREFIX) :].rpartition(".")
        if column == JSON_COLUMN:
            yield from _json_answers(value, place)
        elif name and value.lower() in TRUTH:
            ticked.setdefault(name, []).extend([option] * TRUTH[value.lower()])
        elif value and value != "{}":
            yield column[len(PREFIX) :].removesuffix(".label"), value
    yield from ((name, _only(options)) for name, options in ticked.items() if options)


def _only(options: list[str]) -> str | None:
    return options[0] if len(options) == 1 else None


def _json_answers(text: str, place: str) -> Iterator[tuple[str, str | None]]:
    """Yield the answers of a form made of crowd elements."""
    content = parsed(text or "[]", f"{place}, column {JSON_COLUMN!r},")
    for part in content if isinstance(content, list) else [content]:
        for name, value in part.items():
            yield from _json_answer(name, value)


def _json_answer(name: str, value: Any) -> Iterator[tuple[str, str | None]]:
    if not isinstance(value, dict):
        yield name, str(value)
    elif "label" in value:
        yield name, str(value["label"])
    elif any(value.values()):
        yield name, _only([str(option) for option, on in value.items() if on is True])


def _add(
    questions: dict[str, Question],
    row: dict[str, str],
    item_column: str,
    given: dict[str, str | None],
) -> None:
    for name, answer in given.items():
        question = questions.setdefault(name, Question())
        if answer is None:
            question.left_out["several answers to one question"] += 1
        else:
            question.add(row[item_column] or None, row["WorkerId"] or None, answer)
