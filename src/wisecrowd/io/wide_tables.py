"""Wide tables, one row per item and one column per annotator: text and Parquet."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wisecrowd._checks import InputError, listed
from wisecrowd._text import unmarked
from wisecrowd._types import Array
from wisecrowd.annotations.headers import ALIASES, GOLD_NAMES, check_column, first_named
from wisecrowd.io.columns import Coded, Coder, coded
from wisecrowd.io.raw import RawAnnotations, gold_of_rows
from wisecrowd.io.sources import NUMBER, Source, whole_table

ITEM_NAMES = {*ALIASES["item"], "", "id", "index", "name", "image", "file", "filename"}
"""The names that the first column of a wide table may have."""
Given = Mapping[str, str | None]  # the column of items, if the user named it


def wide_text(source: Source, given: Given) -> RawAnnotations:
    """Read a text table, with a header or without."""
    columns = whole_table(source, source.columns)
    form = f"wide {source.form}"
    if not source.with_header:
        return _found(columns, None, form + " without a header")
    item = _item_column(source.columns, given)
    people = {name: unmarked(name) for name in source.columns if name != item}
    if len({item, *people.values()}) == columns.num_columns:
        columns = columns.rename_columns([people.get(c, c) for c in source.columns])
    return _found(columns, item, form)


def wide_parquet(file: Any, given: Given) -> RawAnnotations:
    """Read a Parquet file; answers keep their types, and so do items except text."""
    name = _item_column(file.schema_arrow.names, given)
    found = _found(file.read(), name, "wide Parquet")
    text = isinstance(found.item.names[0], str)
    found.typed = frozenset({"answer"} if text else {"item", "answer"})
    return found


def looks_wide(source: Source, rows: Sequence[Sequence[Any]], item: str | None) -> bool:
    """Return whether the first column has ids and the others share a few values."""
    lower = [c.strip().lower() for c in source.columns]
    others = {*ALIASES["annotator"], *ALIASES["answer"]}
    if source.with_header and (
        others & set(lower) or not (item or lower[0] in ITEM_NAMES) or len(lower) < 3
    ):
        return False
    rows = [row for row in rows if len(row) == len(lower)]
    columns = list(zip(*rows, strict=True))
    ids = columns.pop(0) if source.with_header and columns else ()
    values = [{v for v in column if v not in ("", None)} for column in columns]
    shared = set().union(*values)
    n_filled = sum(v not in ("", None) for column in columns for v in column)
    few = len(shared) <= min(n_filled / 2, 2 * max(map(len, values), default=0))
    return few and len(set(ids)) == len(ids) and not any(map(_is_measure, shared))


# -- inside ---------------------------------------------------------------------


def _is_measure(value: Any) -> bool:
    """Return whether this is a number that is not whole."""
    if isinstance(value, str):
        if not NUMBER.fullmatch(value):
            return False
        value = float(value)
    is_finite = isinstance(value, float) and bool(np.isfinite(value))
    return is_finite and value != round(value)


def _item_column(columns: Sequence[str], given: Given) -> str:
    name = given.get("item") or columns[0]
    check_column(name, columns, "item")
    return name


def _found(columns: Any, item_name: str | None, form: str) -> RawAnnotations:
    """Turn columns of annotators into rows, one per answer."""
    gold_name = first_named(columns.column_names, GOLD_NAMES)
    people = [c for c in columns.column_names if c not in (item_name, gold_name)]
    item = _items(columns, item_name)
    answer, rows = Coder(), []
    for person in people:
        column = coded(columns[person])
        present = np.flatnonzero((column.codes >= 0) & _answered(column))
        for value in column.names[column.codes[present]].tolist():
            answer.append(value)
        rows.append(present)
    lengths = [len(present) for present in rows]
    who = np.repeat(np.arange(len(people), dtype=np.int32), lengths)
    where = np.concatenate(rows) if rows else np.empty(0, dtype=int)
    found = RawAnnotations(
        form,
        Coded(item.codes[where], item.names),
        Coded(who, np.array(people, dtype=object)),
        answer.coded(),
        columns.num_rows,
        keep_annotators=True,
        notes=[_note(columns, people, len(where), item_name)],
    )
    if gold_name:
        found.gold = gold_of_rows(item, coded(columns[gold_name]))
    return found


def _answered(column: Coded) -> Array:
    """Return which rows have an answer; -1 stands for no answer, as in a matrix."""
    none = np.array([str(name) in ("-1", "-1.0") for name in column.names] + [True])
    return ~none[column.codes]


def _items(columns: Any, item_name: str | None) -> Coded:
    if item_name is None:
        rows = np.arange(columns.num_rows)
        return Coded(rows, rows.astype(str).astype(object))
    item = coded(columns[item_name])
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
            f"long table."
        )
    return item


def _note(columns: Any, people: list[str], n_given: int, item: str | None) -> str:
    n_cells = columns.num_rows * len(people)
    named = "items are row numbers" if item is None else f"items are in {item!r}"
    return (
        f"{named}, {len(people):,} columns are annotators ({listed(people, 3)}); "
        f"{n_cells - n_given:,} of {n_cells:,} cells hold no answer."
    )
