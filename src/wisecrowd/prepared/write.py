"""``wisecrowd prepare``: answers from files of any size to a prepared folder.

DuckDB collects the names and sorts the answers by item, on disk where memory ends.
The sorted rows are read once: items get their codes as they come.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wisecrowd._checks import InputError, listed, whole_number
from wisecrowd._files import temporary_folder, write_whole
from wisecrowd._types import Array, Ids
from wisecrowd.annotations.headers import ROLES
from wisecrowd.annotations.vocabulary import answer_names, positions
from wisecrowd.io.columns import WHOLE, retyped
from wisecrowd.io.contents import text_batches
from wisecrowd.io.long_tables import long_columns, stored_names
from wisecrowd.io.read import files_in
from wisecrowd.io.sources import errors_that_name, recognised
from wisecrowd.prepared.folder import (
    ABOUT,
    ANNOTATORS,
    FORMAT,
    VERSION,
    Prepared,
    file_name,
    moved,
    opened,
)

MEMORY = "2GB"  # that DuckDB may use before it sorts on disk
LEAST_ROWS, MOST_ROWS = 1 << 18, 1 << 22
"""Answers of a row group. As many as a table of annotators by answers has cells, so
that adding a group to the table takes no longer than reading it."""
SCHEMA = pa.schema(
    [("item", pa.int64()), ("annotator", pa.int32()), ("answer", pa.int32())]
)


def prepare(
    paths: Any,
    out: str | Path,
    *,
    shards: int = 1,
    classes: Ids | None = None,
    answers: Ids | None = None,
    force: bool = False,
    **columns: str | None,
) -> Prepared:
    """Write the answers in long tables as a prepared folder.

    Parameters
    ----------
    paths : path or sequence of paths
        Long tables, with one row per answer: CSV, TSV (also gzipped) or Parquet.
    out : path
        The folder to write.
    shards : int
        In how many parts; each is read by one process.
    classes, answers : sequences, optional
        The classes, in order, and answers that are not classes.
    force : bool
        Whether to replace a prepared folder.
    **columns : str
        The columns item, annotator and answer, if they do not have usual names.
    """
    whole_number(shards, "shards")
    out = Path(out)
    _check_place(out, force=force)
    files = files_in(paths)
    with temporary_folder(out) as work, _database(work) as database:
        stored = _gather(database, files, columns)
        if classes is None and answers is None:
            classes, answers = stored
        about = _written(database, work, shards, classes, answers)
        about = {"format": FORMAT, "version": VERSION, **about}
        # First and last: no reader takes a mixture of files for a folder.
        (out / ABOUT).unlink(missing_ok=True)
        moved("*.parquet", work, out)
        write_whole(out / ABOUT, json.dumps(about, indent=1).encode())
    return opened(out)


def _check_place(out: Path, *, force: bool) -> None:
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file, but a folder is needed. Choose another.")
    ours = (out / ABOUT).is_file()
    if out.is_dir() and any(out.iterdir()) and not (force and ours):
        hint = " or pass --force" if ours else ""
        raise InputError(f"{out} is not empty. Choose a new folder{hint}.")


@contextmanager
def _database(work: Path) -> Iterator[Any]:
    """Give a database that works on disk, in this folder."""
    try:
        import duckdb
    except ImportError:
        raise InputError(
            "prepare needs DuckDB, which is not installed: pip install "
            "'wisecrowd[scale]'."
        ) from None
    with duckdb.connect(f"{work}/answers.duckdb") as database:
        database.execute(f"SET memory_limit = '{MEMORY}'")
        database.execute(f"SET temp_directory = '{_quoted(work)}'")
        database.execute("SET preserve_insertion_order = false")
        yield database


# -- reading -----------------------------------------------------------------------


class Part(NamedTuple):
    """The answers of one file."""

    name: str  # of the table or view in the database
    are_whole: list[bool]  # item, annotator and answer; else they are text
    stored: dict[str, Any]  # classes and other answers, if wisecrowd wrote the file


def _gather(
    database: Any, files: Sequence[Any], columns: Any
) -> tuple[Ids | None, Ids | None]:
    """Make the table `given` of all files; return the classes that one has stored."""
    parts = []
    for place, path in enumerate(files):
        with errors_that_name(path):
            part = _parquet if recognised(path).kind == "parquet" else _text
            parts.append(part(database, path, f"file_{place}", columns))
    same = [all(kind) for kind in zip(*(p.are_whole for p in parts), strict=True)]
    chosen = ", ".join(
        role if is_number else f"CAST({role} AS VARCHAR) AS {role}"
        for role, is_number in zip(ROLES, same, strict=True)
    )
    united = " UNION ALL ".join(f"SELECT {chosen} FROM {part.name}" for part in parts)
    database.execute(f"CREATE VIEW given AS {united}")
    stored = parts[0].stored if len(parts) == 1 else {}
    return stored.get("classes"), stored.get("answers")


def _parquet(database: Any, path: Any, name: str, columns: Any) -> Part:
    """Make a view of a Parquet file."""
    schema = pq.read_schema(path)
    names, stored = long_columns(schema.names, columns), stored_names(schema)
    are_whole = [pa.types.is_integer(schema.field(names[r]).type) for r in ROLES]
    file = f"read_parquet('{_quoted(path)}')"
    rows = _rows_of(file, names, are_whole, empty_is_name=stored is not None)
    database.execute(f"CREATE VIEW {name} AS {rows}")
    return Part(name, are_whole, stored or {})


def _text(database: Any, path: Any, name: str, columns: Any) -> Part:
    """Copy a text table into the database, one batch at a time."""
    source = recognised(path)
    if source.kind != "table":
        raise InputError(
            f"this is {source.kind}, and prepare reads long tables: CSV, TSV or "
            f"Parquet with one row per answer. Write it as one first: wc."
            f"write_annotations(wc.read_annotations({str(path)!r}), 'answers.parquet')."
        )
    names = long_columns(source.columns, columns)
    wanted = list(dict.fromkeys(names.values()))
    schema = pa.schema([(column, pa.string()) for column in wanted])
    wrong: list[InputError] = []

    def batches() -> Iterator[Any]:
        try:
            for batch in text_batches(source, wanted):
                yield batch.cast(schema)
        except InputError as error:  # DuckDB would make an error of its own of it
            wrong.append(error)

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    database.register("batches", reader)
    are_whole = [False] * len(ROLES)
    rows = _rows_of("batches", names, are_whole)
    database.execute(f"CREATE TABLE {name} AS {rows}")
    database.unregister("batches")
    if wrong:
        raise wrong[0]
    return Part(name, are_whole, {})


def _rows_of(
    source: str,
    names: dict[str, str],
    are_whole: list[bool],
    *,
    empty_is_name: bool = False,
) -> str:
    """Return the query for the rows that have an item, an annotator and an answer.

    An empty text is a missing value, unless wisecrowd wrote the file. Where the
    answers are numbered, one that is there twice counts once.
    """
    chosen = ", ".join(
        f"{_column(names[role])} AS {role}"
        if is_whole or empty_is_name
        else f"nullif(CAST({_column(names[role])} AS VARCHAR), '') AS {role}"
        for role, is_whole in zip(ROLES, are_whole, strict=True)
    )
    present = " AND ".join(f"{role} IS NOT NULL" for role in ROLES)
    if "id" not in names:
        return f"SELECT * FROM (SELECT {chosen} FROM {source}) WHERE {present}"
    return (
        f"SELECT {', '.join(ROLES)} FROM (SELECT DISTINCT {chosen}, "
        f"{_column(names['id'])} AS id FROM {source}) WHERE {present}"
    )


# -- writing -----------------------------------------------------------------------


def _written(
    database: Any, out: Path, shards: int, classes: Ids | None, extra: Ids | None
) -> dict[str, Any]:
    """Write all files but the one that says what is in them, and return that."""
    ((n_answers,),) = database.execute("SELECT count(*) FROM given").fetchall()
    if not n_answers:
        raise InputError("there are no answers in the files.")
    given = {role: _distinct(database, role) for role in ("annotator", "answer")}
    annotators = np.unique(retyped_names(given["annotator"]))
    said = retyped_names(given["answer"])
    answers, n_classes = answer_names(np.unique(said), classes, extra, None)
    _check_answers(said, answers, n_classes)
    _encode(database, "annotator", given["annotator"], annotators)
    _encode(database, "answer", given["answer"], answers)
    pq.write_table(pa.table({"annotator": annotators.tolist()}), out / ANNOTATORS)
    n_rows = int(np.clip(len(annotators) * len(answers), LEAST_ROWS, MOST_ROWS))
    n_rows = min(n_rows, -(-n_answers // shards))
    groups = whole_items(_sorted_rows(database, n_rows), n_rows)
    n_items, n_shards = _write_shards(groups, out, n_answers / shards)
    return {
        "n_items": n_items, "n_annotators": len(annotators), "n_answers": n_answers,
        "n_shards": n_shards, "classes": answers[:n_classes].tolist(),
        "answers": answers.tolist(),
    }  # fmt: skip


def _distinct(database: Any, role: str) -> list[Any]:
    found = database.execute(f"SELECT DISTINCT {role} FROM given").fetchall()
    return [name for (name,) in found]


def retyped_names(names: list[Any]) -> Array:
    """Return names as the reader of smaller files has them: numbers where all are."""
    return retyped(names) if isinstance(names[0], str) else np.array(names)


def _check_answers(said: Array, answers: Array, n_classes: int) -> None:
    unknown = said[positions(said, answers) < 0]
    if len(unknown):
        raise InputError(
            f"{listed(unknown, 5)} were answered, and are not among the known answers "
            f"({listed(answers)}). Add them to classes=, or to answers= if they are "
            f"no classes."
        )
    if n_classes < 2:
        raise InputError(
            f"there is only one class, {listed(answers[:n_classes])}. Name the classes "
            f"that were possible with classes=[...]."
        )


def _encode(database: Any, role: str, given: list[Any], names: Array) -> None:
    """Make a table of the codes of these names, as they are given."""
    code = positions(retyped_names(given), names)
    table = pa.table({"name": given, "code": pa.array(code, pa.int32())})
    database.register(f"{role}_codes", table)


def _sorted_rows(database: Any, n_rows: int) -> Iterable[Any]:
    """Return the answers as Arrow batches, sorted: item (a name), codes."""
    item = "item"
    kinds = dict(database.execute("DESCRIBE given").fetchall()[i][:2] for i in range(3))
    if kinds["item"] == "VARCHAR":
        whole = f"SELECT bool_and(regexp_full_match(item, '{WHOLE}')) FROM given"
        ((all_whole,),) = database.execute(whole).fetchall()
        if all_whole:
            item = "CAST(regexp_replace(item, '\\.0+$', '') AS BIGINT)"
    query = (
        f"SELECT {item} AS item, a.code AS annotator, k.code AS answer FROM given "
        f"JOIN annotator_codes a ON given.annotator = a.name "
        f"JOIN answer_codes k ON given.answer = k.name ORDER BY 1, 2, 3"
    )
    reader: Iterable[Any] = database.sql(query).to_arrow_reader(n_rows)
    return reader


def whole_items(batches: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """Yield tables of whole items, of `n_rows` rows and those of the last item.

    Examples
    --------
    >>> batch = pa.record_batch({"item": [7, 7, 8, 8, 8, 9]})
    >>> [table["item"].to_pylist() for table in whole_items([batch], 3)]
    [[7, 7, 8, 8, 8], [9]]
    """
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        while sum(map(len, held)) > n_rows:
            table = pa.Table.from_batches(held).combine_chunks()
            starts = _starts(table)
            place = int(np.searchsorted(starts, n_rows))
            if place == len(starts):  # the last item may go on
                break
            yield table[: starts[place]]
            held = table[starts[place] :].to_batches()
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


def _starts(table: Any) -> Array:
    """Return the first row of every item of a table that is sorted by item."""
    (item,) = table["item"].chunks
    new = pc.not_equal(item[1:], item[:-1]).to_numpy(zero_copy_only=False)
    return np.flatnonzero(np.append(True, new))


def _write_shards(groups: Iterable[Any], out: Path, n_each: float) -> tuple[int, int]:
    """Write the groups, with about `n_each` answers per shard; count items, shards."""
    n_items = n_answers = n_shards = 0
    files: list[Any] = []
    for table in groups:
        starts = _starts(table)
        names = table.select(["item"]).take(starts)
        n_each_item = np.diff(np.append(starts, len(table)))
        code = np.repeat(n_items + np.arange(len(starts)), n_each_item)
        if not files or n_answers >= n_shards * n_each:
            for file in files:
                file.close()
            files = [
                pq.ParquetWriter(out / file_name("answers", n_shards), SCHEMA),
                pq.ParquetWriter(out / file_name("items", n_shards), names.schema),
            ]
            n_shards += 1
        columns = [pa.array(code), table["annotator"], table["answer"]]
        coded = pa.Table.from_arrays(columns, schema=SCHEMA)
        for file, rows in zip(files, (coded, names), strict=True):
            file.write_table(rows, row_group_size=len(rows))
        n_items += len(starts)
        n_answers += len(table)
    for file in files:
        file.close()
    return n_items, n_shards


def _quoted(path: Any) -> str:
    return str(path).replace("'", "''")


def _column(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
