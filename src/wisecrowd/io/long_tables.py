"""Long tables, with one row per answer: text, Parquet and JSON."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
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
from wisecrowd.io.contents import json_columns, json_records, parsed, whole_table
from wisecrowd.io.raw import EMPTY_IS_NAME, METADATA, RawAnnotations, gold_of_rows
from wisecrowd.io.sources import Source

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
    found = _found(columns, names, f"long {source.form}", source.columns, given)
    found.left_out.update(again)
    found.n_rows += again.total()
    return replace(found, typed=frozenset())


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
    found = _found(columns, names, "long Parquet", schema.names, given)
    return replace(found, options=kept or {})


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


def long_json(rows: Source | list[Any], given: Given) -> RawAnnotations:
    """Read a list of records, or JSON lines: with Arrow, or else line by line.

    Arrow reads no column that has several types.
    """
    if not isinstance(rows, Source):
        numbered = enumerate(rows, start=1)
        return _found(*record_columns(numbered, given, "record"), "long JSON")
    _, first = next(json_records(rows))
    if isinstance(first, dict):
        names = long_columns(first, given)
        table = json_columns(rows, {name: first.get(name) for name in names.values()})
        if table is not None:
            empty_is_name = first.get(EMPTY_IS_NAME) is True
            columns = {
                role: coded(table[name], empty_is_name=empty_is_name)
                for role, name in names.items()
            }
            return _found(columns, names, "long JSON lines")
    records = json_records(rows)
    return _found(*record_columns(records, given, "line"), "long JSON lines")


def json_rows(content: Any, asked: Collection[str] = ()) -> list[Any] | None:
    """Return the rows of a table in JSON, whichever way it was written.

    These are a list of records, and what ``DataFrame.to_json`` and ``to_dict`` write
    with each `orient`: columns with a list or an object of rows, rows by their index,
    split, table. None if it is no table, such as {item: {annotator: answer}}. Columns
    are known by their usual names, or are those that the user `asked` for.
    """
    if isinstance(content, list):
        return content if content and isinstance(content[0], dict) else None
    if not isinstance(content, dict) or not content:
        return None
    if isinstance(content.get("data"), list) and content.keys() <= TABLE_KEYS:
        return _split_rows(content)
    if _has_roles(content, asked) or _is_numbered(content):
        return _rows(content)
    rows = list(content.values())
    by_index = all(isinstance(row, dict) and _has_roles(row, asked) for row in rows)
    numbered = list(content) == [str(i) for i in range(len(rows))] and all(
        isinstance(row, dict) and first_named(row, ALIASES["item"]) is not None
        for row in rows
    )
    return rows if by_index or numbered else None


def long_columns(columns: Iterable[str], given: Given) -> dict[str, str]:
    """Return the names of the columns of item, annotator, answer and, if any, gold."""
    columns, gold = list(columns), given.get("gold")
    if gold is not None:
        check_column(gold, columns, "gold class")
    roles = {role: given.get(role) for role in ROLES}
    found = column_names([c for c in columns if c != gold], **roles)
    names = dict(zip(ROLES, found, strict=True))
    others = [name for name in columns if name not in found]
    more = {
        "gold": gold or first_named(others, GOLD_NAMES),
        "id": first_named(others, ID_NAMES),
    }
    return names | {role: name for role, name in more.items() if name is not None}


# -- inside ---------------------------------------------------------------------


def _found(
    columns: Mapping[str, Coded],
    names: Names,
    form: str,
    known: Iterable[str] = (),
    given: Given = MappingProxyType({}),
) -> RawAnnotations:
    """Return what was found; `known` are all columns, some of which could be meant.

    A row whose id and content were in an earlier row is left out.
    """
    n_rows = len(columns["item"].codes)
    again = np.zeros(n_rows, dtype=bool)
    if "id" in columns:
        rows = pd.DataFrame({role: columns[role].codes for role in (*ROLES, "id")})
        again = rows.duplicated().to_numpy() & (columns["id"].codes >= 0)
    if again.any():
        columns = {k: c._replace(codes=c.codes[~again]) for k, c in columns.items()}
    found = RawAnnotations(
        form,
        columns["item"],
        columns["annotator"],
        columns["answer"],
        n_rows=n_rows,
        notes=[
            f"item, annotator and answer are the columns "
            f"{listed(names[role] for role in ROLES)}."
        ],
        typed=frozenset(ROLES),
    )
    if again.any():
        found.left_out[f"the same {names['id']} again"] = int(again.sum())
    if "gold" in columns:
        found.gold = gold_of_rows(found.item, columns["gold"])
        found.notes.append(
            f"{len(found.gold):,} gold classes are from the column {names['gold']!r}."
        )
    others = [name for name in known if name not in names.values()]
    item, n_left = names["item"], len(found.item.codes)
    by_name = given.get("item") is None and plain(item) in ROW_NAMES
    if others and by_name and n_left >= FEW and len(found.item.names) == n_left:
        raise InputError(
            f"the column {named(item)} is different in every row: it numbers the rows, "
            f"not the items. The others are {listed(others, 20)}. Name the column of "
            f"the items with item=."
        )
    for role in ROLES:
        spare = also_named(others, role)
        if spare and given.get(role) is None:
            found.notes.append(
                f"{listed(spare, 5)} could be the {role} too. Choose with {role}=."
            )
    return found


def _has_roles(names: Collection[str], asked: Collection[str]) -> bool:
    """Return whether these are the columns of a long table, or have those asked for."""
    if asked and set(asked) <= set(names):
        return True
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
    whole = all(isinstance(c, list | dict) for c in content.values())
    lengths = {
        name: len(c) if isinstance(c, list | dict) else 1 for name, c in content.items()
    }
    if not whole or len(set(lengths.values())) > 1:
        raise InputError(
            f"the columns are lists of the same length, and here they are not: "
            f"{str(lengths)[:200]}."
        )
    columns = [c.values() if isinstance(c, dict) else c for c in content.values()]
    return [dict(zip(content, row, strict=True)) for row in zip(*columns, strict=True)]


def record_columns(
    records: Iterable[tuple[int, Any]],
    given: Given,
    word: str,
    named_in: Callable[[Any, Given], Names] = long_columns,
) -> tuple[dict[str, Coded], Names]:
    """Return the columns of numbered JSON records, and their names.

    `named_in` finds them in the first record. `word` is what a record is called in
    messages: line or record. An empty text is a missing value, unless the first record
    says otherwise.
    """
    names: Names = {}
    missing: Any = ""
    coders: dict[str, Coder] = {}
    for number, record in records:
        check_record(record, f"{word} {number:,}")
        if not names:
            names = named_in(record, given)
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
