"""Wide tables, one row per item and one column per annotator: text, Parquet, JSON."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wisecrowd._checks import InputError, counted, listed, named, with_reasons
from wisecrowd._text import unmarked
from wisecrowd._types import Array
from wisecrowd.annotations.headers import (
    ALIASES,
    GOLD_NAMES,
    check_column,
    first_named,
    plain,
)
from wisecrowd.annotations.vocabulary import Coded
from wisecrowd.io.columns import Coder, check_record, coded
from wisecrowd.io.contents import whole_table
from wisecrowd.io.raw import RawAnnotations, gold_of_rows
from wisecrowd.io.sources import NUMBER, Source

INDEX_NAMES = ("", "unnamed: 0", "__index_level_0__")
ITEM_NAMES = (*ALIASES["item"], *INDEX_NAMES, "name")
"""The names that the first column of a wide table may have."""
SUMMARIES = {
    "majority", "majority_vote", "majority_label", "consensus", "mode", "mean",
    "median", "average", "agreement", "count", "n", "total", "votes", "n_votes",
    "num_votes", "n_answers", "n_annotators", "entropy", "confidence", "final",
    "final_label", "aggregated", "aggregate", "std", "sd", "min", "max", "sum",
}  # fmt: skip
"""The names of columns that sum up those of the annotators."""
PEOPLE = {"human", "humans", "expert", "experts", "author", "reference", "correct"}
"""The names of columns that may be the right classes, or one more annotator."""
COMMON = "value in common with the others"
FEW = 4  # rows; fewer show nothing about how a table is made
Given = Mapping[str, Any]
"""What the user named: the columns of items, gold, annotators, and others."""
Columns = Mapping[str, Coded]


def wide_text(source: Source, given: Given) -> RawAnnotations:
    """Read a text table, with a header or without."""
    again: Counter[str] = Counter()
    table = whole_table(source, source.columns, again)
    form = f"wide {source.form}"
    columns = {name: coded(table[name]) for name in source.columns}
    if not source.with_header:
        found = _found(columns, None, form + " without a header", given)
        return replace(found, typed=frozenset())
    item = _item_column(source.columns, given)
    named = {name: unmarked(name) if name != item else name for name in columns}
    if len(set(named.values())) == len(columns):
        columns = {named[name]: column for name, column in columns.items()}
    found = _found(columns, item, form, given)
    found.left_out.update(again)
    found.n_rows += again.total()
    return replace(found, typed=frozenset())


def wide_parquet(file: Any, given: Given) -> RawAnnotations:
    """Read a Parquet file; answers keep their types, and so do items except text."""
    name = _item_column(file.schema_arrow.names, given)
    table = file.read()
    columns = {c: coded(table[c]) for c in table.column_names}
    return _found(columns, name, "wide Parquet", given)


def wide_json(records: Sequence[Any], given: Given) -> RawAnnotations:
    """Read a list of records, one per item."""
    names = keys_of(records)
    coders = {name: Coder() for name in names}
    item = _item_column(names, given)
    for record in records:
        for name, coder in coders.items():
            value = record.get(name)
            # A list or an object is no answer, and its text shares no value.
            coder.append(str(value) if isinstance(value, dict | list) else value)
    columns = {name: coder.coded() for name, coder in coders.items()}
    return _found(columns, item, "wide JSON", given)


def rows_of_objects(columns: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of {annotator: {item: answer}}, the columns of a wide table.

    ``DataFrame.to_json()`` writes a table so whose index has the items.
    """
    items = dict.fromkeys(item for column in columns.values() for item in column)
    return [
        {"item": item, **{name: c.get(item) for name, c in columns.items()}}
        for item in items
    ]


def keys_of(records: Sequence[Any]) -> list[str]:
    """Return all keys of a list of records, in the order in which they occur."""
    for number, record in enumerate(records, start=1):
        check_record(record, f"record {number:,}")
    return list(dict.fromkeys(key for record in records for key in record))


def looks_wide(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    given: Given,
    *,
    with_header: bool = True,
) -> bool:
    """Return whether one column has ids and several others share a few values."""
    rows = [row for row in rows if len(row) == len(columns)]
    if not rows:
        return False
    values = dict(zip(columns, zip(*rows, strict=True), strict=True))
    seen = {name: set(filled(column)) for name, column in values.items()}
    ids: Sequence[Any] = ()
    people = list(columns)
    if with_header:
        item = _item_column(columns, given)
        ids = values[item]
        others = {name: seen[name] for name in columns if name != item}
        others.pop(_gold_column(columns, given), None)
        n_given = {name: len(filled(values[name])) for name in others}
        people, unused = _people(others, n_given, given)
        roles = (*ALIASES["annotator"], *ALIASES["answer"])
        if first_named(people, roles) or first_named(unused, roles) or len(people) < 2:
            return False
        said = [seen[name] for name in people]
        alike = len(set().union(*said)) < sum(map(len, said))
        usual = first_named([item], ITEM_NAMES) is not None or given.get("item")
        with_numbers = any(_is_number(value) for values in said for value in values)
        if not (alike or (usual and len(rows) < FEW)) or (with_numbers and not usual):
            return False
    shared = set().union(*(seen[name] for name in people))
    n_filled = sum(len(filled(values[name])) for name in people)
    most = max((len(seen[name]) for name in people), default=0)
    few = len(shared) <= min(n_filled / 2, 2 * most)
    return few and len(set(ids)) == len(ids) and not any(map(_is_measure, shared))


def filled(column: Sequence[Any]) -> list[Any]:
    """Return the values of a column that are not missing."""
    return [str(v) for v in column if v not in ("", None) and v == v]  # noqa: PLR0124


# -- inside ---------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return bool(NUMBER.fullmatch(str(value)))


def _is_measure(value: Any) -> bool:
    """Return whether this is a number that is not whole."""
    if not _is_number(value):
        return False
    number = float(value)
    return bool(np.isfinite(number)) and number != round(number)


def _item_column(columns: Sequence[str], given: Given) -> str:
    """Return the column of the items: named, the first, or one with a usual name.

    The first column can be the index of a DataFrame, which is better than nothing.
    """
    name = given.get("item")
    if name is not None:
        check_column(name, columns, "item")
        return str(name)
    usual = [name for name in ALIASES["item"] if name not in ("index", "idx", "row")]
    if first_named(columns[:1], usual) is not None:
        return columns[0]
    return first_named(columns, usual) or columns[0]


def _gold_column(columns: Sequence[str], given: Given) -> Any:
    name = given.get("gold")
    if name is not None:
        check_column(name, columns, "gold class")
    return name or first_named(columns, GOLD_NAMES)


def _people(
    seen: Mapping[str, set[Any]], n_given: Mapping[str, int], given: Given
) -> tuple[list[str], dict[str, str]]:
    """Return the columns that are annotators, and why the others are not.

    Annotators who answer one question share answers: they are the largest set of
    columns that are linked by common values. A column with one answer shows nothing,
    and stays.
    """
    if given.get("annotators"):
        for name in given["annotators"]:
            check_column(name, seen, "annotator")
        others = (name for name in seen if name not in given["annotators"])
        return list(given["annotators"]), dict.fromkeys(others, "not in annotators=")
    unused: dict[str, str] = {}
    for name in given.get("leave_out") or ():
        gold = given.get("gold") or first_named([name], GOLD_NAMES)
        if name in seen or name != gold:  # which is no annotator anyway
            check_column(name, seen, "columns to leave out")
            unused[name] = "leave_out="
    for name in seen:
        if plain(name) in SUMMARIES:
            unused.setdefault(name, "a summary, by its name")
    left = {name: values for name, values in seen.items() if name not in unused}
    linked = _largest_linked(left, n_given)
    if len(linked) < 2:
        return list(left), unused
    for name, values in left.items():
        if name not in linked and max(len(values), n_given.get(name, 0)) > 1:
            shared = any(values & seen[other] for other in linked)
            unused[name] = f"{'hardly a' if shared else 'no'} {COMMON}"
    return [name for name in left if name not in unused], unused


def _largest_linked(
    seen: Mapping[str, set[Any]], n_given: Mapping[str, int]
) -> set[str]:
    """Return the largest set of columns that are linked by common values.

    Seconds from 0 to 100 share a 0 with answers 0 and 1. But who has given many answers
    knows most classes: a column with four times as many values is something else.
    """
    root = {name: name for name in seen}

    def top(name: str) -> str:
        while root[name] != name:
            root[name] = name = root[root[name]]
        return name

    before: dict[Any, str] = {}  # of the columns with a value, the next smaller
    for name in sorted(seen, key=lambda name: len(seen[name])):
        n_values = len(seen[name])
        for value in seen[name]:
            other = before.setdefault(value, name)
            if n_values <= 4 * len(seen[other]) or n_values > n_given[other]:
                root[top(name)] = top(other)
            before[value] = name
    groups: dict[str, set[str]] = {}
    for name in seen:
        groups.setdefault(top(name), set()).add(name)
    # Of two sets of one size, answers are those with fewer different values.
    fewest = {g: -sum(len(seen[name]) for name in names) for g, names in groups.items()}
    best = max(groups, key=lambda g: (len(groups[g]), fewest[g]), default=None)
    return set() if best is None else groups[best]


def _found(
    columns: Columns, item_name: str | None, form: str, given: Given
) -> RawAnnotations:
    """Turn columns of annotators into rows, one per answer."""
    gold_name = _gold_column(list(columns), given) if item_name is not None else None
    others = {n: c for n, c in columns.items() if n not in (item_name, gold_name)}
    rows = {name: np.flatnonzero(_answered(column)) for name, column in others.items()}
    people, unused = list(others), dict[str, str]()
    if item_name is not None:
        seen = {
            name: set(map(str, c.names[np.unique(c.codes[rows[name]])].tolist()))
            for name, c in others.items()
        }
        people, unused = _people(seen, {n: len(r) for n, r in rows.items()}, given)
        told = () if gold_name is None else columns[gold_name].names
        if len(set().union(*(seen[p] for p in people))) < 2 or _is_none(told).any():
            # without -1 there would be one class, or the gold would be no answer
            rows = {p: np.flatnonzero(others[p].codes >= 0) for p in people}
    n_rows = len(next(iter(columns.values())).codes)
    item = _items(columns, item_name, n_rows)
    answer = Coder()
    for person in people:
        column = others[person]
        for value in column.names[column.codes[rows[person]]].tolist():
            answer.append(value)
    who = np.repeat(np.arange(len(people)), [len(rows[p]) for p in people])
    where = np.concatenate([np.empty(0, dtype=int), *(rows[p] for p in people)])
    text = not len(item.names) or isinstance(item.names[0], str)
    found = RawAnnotations(
        form,
        Coded(item.codes[where], item.names),
        Coded(who, np.array(people, dtype=object)),
        answer.coded(),
        n_rows,
        keep_annotators=True,
        notes=_notes(n_rows, people, unused, len(where), item_name),
        typed=frozenset({"answer"} if text else {"item", "answer"}),
    )
    if item_name is not None:  # in a matrix of numbers, everybody writes -1
        found.notes += _note_of_minus_one([others[p] for p in people], len(where))
    if gold_name is not None:
        found.gold = gold_of_rows(item, columns[gold_name])
        found.notes.append(
            f"{counted(len(found.gold), 'gold class')} from the column {gold_name!r}."
        )
    return found


def _answered(column: Coded) -> Array:
    """Return which rows have an answer; -1 stands for no answer, as in a matrix."""
    return ~np.append(_is_none(column.names), True)[column.codes]


def _is_none(names: Any) -> Array:
    """Return which names can stand for no answer."""
    return np.array([str(name) in ("-1", "-1.0") for name in names], dtype=bool)


def _note_of_minus_one(people: list[Coded], n_given: int) -> list[str]:
    """Say that cells with -1 were taken for cells without an answer."""
    n_filled = sum(int((column.codes >= 0).sum()) for column in people)
    return [] if n_filled == n_given else [
        f"{counted(n_filled - n_given, 'cell')} with -1: taken as no answer. If -1 is "
        f"a class, write a word for it, such as 'negative'."
    ]  # fmt: skip


def _items(columns: Columns, item_name: str | None, n_rows: int) -> Coded:
    if item_name is None:
        rows = np.arange(n_rows)
        return Coded(rows, rows.astype(str).astype(object))
    item = columns[item_name]
    counts = np.bincount(item.codes[item.codes >= 0])
    if (item.codes < 0).any():
        raise InputError(
            f"row {int((item.codes < 0).argmax()) + 1:,} has no item (column "
            f"{item_name!r}). Fill it in."
        )
    if (counts > 1).any():
        raise InputError(
            f"{int((counts > 1).sum()):,} items have more than one row in this wide "
            f"table: {listed(item.names[counts > 1], 5)}. Merge these rows, or write a "
            f"long table. If {item_name!r} is not the column of the items, name theirs "
            f"with item=."
        )
    return item


def _notes(
    n_rows: int, people: list[str], unused: dict[str, str], n_given: int, item: Any
) -> list[str]:
    n_cells = n_rows * len(people)
    where = f"items are in {named(item) if item else 'the column without a name'}"
    where = "items are row numbers" if item is None else where
    notes = [
        f"{where}, {counted(len(people), 'column')} are annotators "
        f"({listed(people, 20)}); {n_cells - n_given:,} of {n_cells:,} cells hold no "
        f"answer."
    ]
    if unused:
        notes.append(
            f"not annotators: {with_reasons(unused)}. Choose with annotators= or "
            f"leave_out=."
        )
    right = next((name for name in people if plain(name).split("_")[0] in PEOPLE), None)
    if right is not None and item is not None:
        notes.append(
            f"{named(right)} is read as an annotator. If it has the right classes, "
            f"pass gold={named(right)}."
        )
    return notes
