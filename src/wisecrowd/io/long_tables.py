"""Long tables, with one row per answer: text, Parquet and JSON."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from wisecrowd._checks import InputError, listed, named
from wisecrowd.annotations.headers import (
    ALIASES,
    GOLD_NAMES,
    ROLES,
    ROW_NAMES,
    also_named,
    check_column,
    column_names,
    first_named,
    plain,
)
from wisecrowd.annotations.vocabulary import Coded
from wisecrowd.io.columns import Coder, check_record, coded
from wisecrowd.io.raw import EMPTY_IS_NAME, METADATA, RawAnnotations, gold_of_rows
from wisecrowd.io.sources import Source, json_columns, json_records, parsed, whole_table

ID_NAMES = ("classification_id", "assignment_id", "annotation_id", "answer_id")
"""The columns that number the answers: exports that overlap have some of them twice."""
TABLE_KEYS = {"columns", "index", "data", "schema", "index_names", "column_names"}
FEW = 4  # rows; fewer show nothing about how a table is made
Names = Mapping[str, str]  # from item, annotator, answer (and gold) to a column name
Given = Mapping[str, str | None]  # the columns that the user named


def long_text(source: Source, given: Given) -> RawAnnotations:
    """Read a text table; the types are recognised later."""
    names = long_columns(source.columns, given)
    again: Counter[str] = Counter()
    table = whole_table(source, list(dict.fromkeys(names.values())), again)
    columns = {role: coded(table[name]) for role, name in names.items()}
    found = _found(columns, names, f"long {source.form}", typed=False)
    found.left_out.update(again)
    found.n_rows += again.total()
    return _checked_roles(found, names, source.columns, given)


def long_parquet(path: Path, schema: Any, given: Given) -> RawAnnotations:
    """Read a Parquet file, and the list of classes that wisecrowd may have stored."""
    names = long_columns(schema.names, given)
    kept = stored_names(schema)
    # One column at a time: text takes more memory than codes.
    columns = {
        role: coded(
            pq.read_table(path, columns=[name])[name], empty_is_name=kept is not None
        )
        for role, name in names.items()
    }
    found = _found(columns, names, "long Parquet")
    found.options = kept or {}
    return _checked_roles(found, names, schema.names, given)


def stored_names(schema: Any) -> dict[str, Any] | None:
    """Return the classes in a file that wisecrowd wrote, None in other files."""
    kept = (schema.metadata or {}).get(METADATA)
    if kept is None:
        return None
    content = parsed(kept.decode(errors="replace"), "the metadata")
    lists = isinstance(content, dict) and all(
        isinstance(names, list | None) for names in content.values()
    )
    if not lists:
        raise InputError("the metadata of the file is broken. Write it again.")
    return {str(name): names for name, names in content.items()}


def long_json_lines(source: Source, given: Given) -> RawAnnotations:
    """Read JSON lines with Arrow; line by line if a column has several types."""
    _, first = next(json_records(source))
    if isinstance(first, dict):
        names = long_columns(first, given)
        table = json_columns(source, {name: first.get(name) for name in names.values()})
        if table is not None:
            empty_is_name = first.get(EMPTY_IS_NAME) is True
            columns = {
                role: coded(table[name], empty_is_name=empty_is_name)
                for role, name in names.items()
            }
            return _found(columns, names, "long JSON lines")
    return _records(json_records(source), given, "long JSON lines", "line")


def long_json(records: Iterable[Any], given: Given) -> RawAnnotations:
    """Read a list of records."""
    return _records(enumerate(records, start=1), given, "long JSON", "record")


def json_rows(content: Any) -> list[Any] | None:
    """Return the rows of a table in JSON, whichever way it was written.

    These are a list of records, and what ``DataFrame.to_json`` and ``to_dict`` write
    with each `orient`: columns with a list or an object of rows, rows by their index,
    split, table. None if it is no table, such as {item: {annotator: answer}}.
    """
    if isinstance(content, list):
        return content if content and isinstance(content[0], dict) else None
    if not isinstance(content, dict) or not content:
        return None
    if isinstance(content.get("data"), list) and content.keys() <= TABLE_KEYS:
        return _split_rows(content)
    if _has_roles(content) or _is_numbered(content):
        return _rows(content)
    rows = list(content.values())
    by_index = all(isinstance(row, dict) and _has_roles(row) for row in rows)
    counted = list(content) == [str(i) for i in range(len(rows))]
    return rows if by_index or (counted and _all_name_items(rows)) else None


def long_columns(columns: Iterable[str], given: Given) -> dict[str, str]:
    """Return the names of the columns of item, annotator, answer and, if any, gold."""
    columns = list(columns)
    roles = {role: given.get(role) for role in ROLES}
    gold = given.get("gold")
    if gold is not None:
        check_column(gold, columns, "gold class")
    names = dict(
        zip(
            ROLES, column_names([c for c in columns if c != gold], **roles), strict=True
        )
    )
    others = [name for name in columns if name not in names.values()]
    more = {
        "gold": gold or first_named(others, GOLD_NAMES),
        "id": first_named(others, ID_NAMES),
    }
    return names | {role: name for role, name in more.items() if name is not None}


# -- inside ---------------------------------------------------------------------


def _found(
    columns: Mapping[str, Coded], names: Names, form: str, *, typed: bool = True
) -> RawAnnotations:
    n_rows = len(columns["item"].codes)
    columns = _without_same(columns)
    item, annotator, answer = (columns[role] for role in ROLES)
    used = listed(names[role] for role in ROLES)
    found = RawAnnotations(
        form,
        item,
        annotator,
        answer,
        n_rows=n_rows,
        notes=[f"item, annotator and answer are the columns {used}."],
        typed=frozenset(ROLES if typed else ()),
    )
    n_same = n_rows - len(item.codes)
    if n_same:
        found.left_out[f"the same {names['id']} again"] = n_same
    if "gold" in columns:
        found.gold = gold_of_rows(item, columns["gold"])
        found.notes.append(
            f"{len(found.gold):,} gold classes are from the column {names['gold']!r}."
        )
    return found


def _checked_roles(
    found: RawAnnotations, names: Names, columns: Iterable[str], given: Given
) -> RawAnnotations:
    """Say which other columns could be meant; refuse numbers of rows as items."""
    others = [name for name in columns if name not in names.values()]
    item, n_rows = names["item"], len(found.item.codes)
    by_name = given.get("item") is None and plain(item) in ROW_NAMES
    if others and by_name and n_rows >= FEW and len(found.item.names) == n_rows:
        raise InputError(
            f"the column {named(item)} is different in every row: it numbers the rows, "
            f"not the items. The others are {listed(others, 20)}. Name the column of "
            f"the items with item=."
        )
    for role in ROLES:
        spare = also_named(others, role, names.values())
        if spare and given.get(role) is None:
            found.notes.append(
                f"{listed(spare, 5)} could be the {role} too. Choose with {role}=."
            )
    return found


def _without_same(columns: Mapping[str, Coded]) -> Mapping[str, Coded]:
    """Return the columns without rows whose id and content were in an earlier row."""
    if "id" not in columns:
        return columns
    rows = pd.DataFrame({role: columns[role].codes for role in (*ROLES, "id")})
    again = rows.duplicated().to_numpy() & (columns["id"].codes >= 0)
    if not again.any():
        return columns
    return {role: c._replace(codes=c.codes[~again]) for role, c in columns.items()}


def _has_roles(names: Iterable[str]) -> bool:
    """Return whether these are the columns of a long table."""
    try:
        column_names(names)
    except InputError:
        return False
    return True


def _is_numbered(content: Mapping[str, Any]) -> bool:
    """Return whether these are columns of a wide table, each with all rows.

    ``DataFrame.to_json`` numbers the rows of every column: "0", "1", "2", ...
    """
    columns = list(content.values())
    if first_named(content, ALIASES["item"]) is None or len(columns) < 2:
        return False
    if all(isinstance(column, list) for column in columns):
        return len({len(column) for column in columns}) == 1
    if not all(isinstance(column, dict) and column for column in columns):
        return False
    rows = [str(i) for i in range(len(columns[0]))]
    return all(list(column) == rows for column in columns)


def _all_name_items(rows: Iterable[Any]) -> bool:
    return all(
        isinstance(row, dict) and first_named(row, ALIASES["item"]) is not None
        for row in rows
    )


def _split_rows(content: Mapping[str, Any]) -> list[Any]:
    """Return the rows of ``to_json(orient="split")`` or ``orient="table"``."""
    names, data = content.get("columns"), content["data"]
    if not isinstance(names, list):
        return data
    if any(not isinstance(row, list) or len(row) != len(names) for row in data):
        raise InputError(
            f"each row of 'data' should have {len(names)} values, one per column of "
            f"'columns', and here one has not. Write the table again."
        )
    ids = content.get("index")
    known = isinstance(ids, list) and len(ids) == len(data)
    if known and ids != [*range(len(data))] and not first_named(names, ALIASES["item"]):
        names = ["item", *names]
        data = [[i, *row] for i, row in zip(ids or (), data, strict=True)]
    return [dict(zip(names, row, strict=True)) for row in data]


def _rows(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Turn columns, each a list or a dict by row, into records."""
    columns = [c.values() if isinstance(c, dict) else c for c in content.values()]
    lengths = {
        name: len(c) if isinstance(c, list | dict) else 1 for name, c in content.items()
    }
    whole = all(isinstance(c, list | dict) for c in content.values())
    if not whole or len(set(lengths.values())) > 1:
        raise InputError(
            f"the columns are lists of the same length, and here they are not: "
            f"{str(lengths)[:200]}."
        )
    rows = zip(*columns, strict=True)
    return [dict(zip(content, row, strict=True)) for row in rows]


def _records(
    records: Iterable[tuple[int, Any]], given: Given, form: str, word: str
) -> RawAnnotations:
    """Return the annotations in a list of records."""
    columns, names = record_columns(records, lambda r: long_columns(r, given), word)
    return _found(columns, names, form)


def record_columns(
    records: Iterable[tuple[int, Any]], named: Callable[[Any], Names], word: str
) -> tuple[dict[str, Coded], Names]:
    """Return the columns of numbered JSON records, and their names.

    `named` returns the name of each column, from the first record. `word` is what a
    record is called in messages: line or record. An empty text is a missing value,
    unless the first record says otherwise.
    """
    names: Names = {}
    missing: Any = ""
    coders: dict[str, Coder] = {}
    for number, record in records:
        check_record(record, f"{word} {number:,}")
        if not names:
            names = named(record)
            coders = {role: Coder() for role in names}
            missing = None if record.get(EMPTY_IS_NAME) is True else ""
        for role, name in names.items():
            value = record.get(name)
            if isinstance(value, dict | list):
                raise InputError(
                    f"the {role} in {word} {number:,} is a {type(value).__name__}: "
                    f"{str(value)[:60]}. A name or a number was expected."
                )
            coders[role].append(None if value == missing else value)
    if not names:
        raise InputError("the file is empty: there is no record in it.")
    return {role: coder.coded() for role, coder in coders.items()}, names
