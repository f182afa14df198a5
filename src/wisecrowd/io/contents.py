"""What text files hold: tables in batches of text columns, and JSON."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.json as pajson

from wisecrowd._checks import InputError, listed
from wisecrowd._text import unmarked
from wisecrowd.io.sources import (
    BLOCK_BYTES,
    LONE_SURROGATE,
    MISSING,
    NUMBER,
    TOO_DEEP,
    Source,
    bounded_lines,
    errors_that_name,
    open_bytes,
    open_text,
    where_not_utf8,
)

HEADER_AGAIN = "the header again"
NO_ROWS = "there are no rows below the header."
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
ARROW_TYPES = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float: pa.float64()}


# -- tables ---------------------------------------------------------------------


def table_batches(
    source: Source, columns: Sequence[str], *, missing: Sequence[str] = MISSING
) -> Iterator[Any]:
    """Yield Arrow batches of text columns, with each distinct value once per batch.

    All columns are text: types inferred from the first batch can be wrong later on.
    """
    text = pa.dictionary(pa.int32(), pa.string())
    convert = pacsv.ConvertOptions(
        include_columns=list(columns),
        column_types=dict.fromkeys(columns, text),
        null_values=list(missing),
        strings_can_be_null=bool(missing),
        quoted_strings_can_be_null=False,
    )
    for part in source.parts or (source,):
        with errors_that_name(part.shown) if part.named else nullcontext():
            try:
                with open_bytes(part.path) as stream:
                    yield from pacsv.open_csv(stream, *parse_options(part), convert)
            except pa.ArrowInvalid as error:
                raise InputError(table_trouble(part, str(error))) from None


def whole_table(
    source: Source, columns: Sequence[str], left_out: Counter[str] | None = None
) -> Any:
    """Return an Arrow table of text columns; raise an error if it has no rows.

    The marks that keep a spreadsheet from running a cell are taken off. A header that
    stands in the table again, as after ``cat a.csv b.csv``, is left out, and counted
    in `left_out`.
    """
    batches = list(text_batches(source, columns, left_out))
    if not sum(batch.num_rows for batch in batches):
        raise InputError(NO_ROWS)
    return pa.Table.from_batches(batches)


def text_batches(
    source: Source, columns: Sequence[str], left_out: Counter[str] | None = None
) -> Iterator[Any]:
    """Yield what :func:`whole_table` returns, one Arrow batch at a time."""
    for batch in table_batches(source, columns):
        kept = _without_header(batch, source)
        if left_out is not None and len(kept) < len(batch):
            left_out[HEADER_AGAIN] += len(batch) - len(kept)
        yield _without_marks(kept)


def parse_options(source: Source) -> tuple[Any, Any]:
    """Return the options with which Arrow reads this table."""
    names = None if source.with_header else list(source.columns)
    return (
        pacsv.ReadOptions(block_size=BLOCK_BYTES, column_names=names),
        pacsv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True),
    )


def table_rows(
    source: Source, columns: Sequence[str], left_out: Counter[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place of each row, such as "row 7", and its values as text.

    A header that stands in the table again is left out, and counted.
    """
    header = list(columns)
    for part in source.parts or (source,):
        number, file = 0, f" of {part.shown}" if source.parts else ""
        for batch in table_batches(part, columns, missing=()):
            values = [column.cast(pa.string()).to_pylist() for column in batch.columns]
            for row in zip(*values, strict=True):
                number += 1
                if row[-1] == header[-1] and list(row) == header:
                    left_out[HEADER_AGAIN] += 1
                    continue
                yield f"row {number:,}{file}", dict(zip(columns, row, strict=True))


def _without_header(batch: Any, source: Source) -> Any:
    """Return a batch without rows that are the header; refuse another order of it."""
    names = batch.schema.names
    if not source.with_header or all(NUMBER.fullmatch(name) for name in names):
        return batch
    known = pa.array([*names, *(f"\ufeff{name}" for name in names)])
    held = [pc.is_in(c.dictionary, value_set=known) for c in batch.columns]
    if not all(pc.any(one).as_py() for one in held):
        return batch
    in_rows = zip(held, batch.columns, strict=True)
    suspect = reduce(pc.and_, [one.take(column.indices) for one, column in in_rows])
    keep = np.ones(len(batch), dtype=bool)
    for row in np.flatnonzero(suspect.fill_null(False).to_numpy(zero_copy_only=False)):
        values = [
            str(column[int(row)]).removeprefix("\ufeff") for column in batch.columns
        ]
        keep[row] = values != names
        if values != names and sorted(values) == sorted(names):
            raise InputError(
                f"a row holds the names of the columns in another order "
                f"({listed(values)}): two tables seem to stand one below the other. "
                f"Give them as two files."
            )
    if keep.all():
        return batch
    # encoded again: the names in a header are no names of items
    columns = [
        column.filter(pa.array(keep)).cast(pa.string()).dictionary_encode()
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _without_marks(batch: Any) -> Any:
    """Return a batch of text columns with the cells that `marked` was given."""
    columns = [
        _unmarked_column(column)
        if pc.any(pc.starts_with(column.dictionary, "'")).as_py()
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _unmarked_column(column: Any) -> Any:
    words = [word and unmarked(word) for word in column.dictionary.to_pylist()]
    as_they_were = pa.array(words, type=pa.string())
    # encoded again, because two cells can have become the same
    return as_they_were.take(column.indices).dictionary_encode()


def table_trouble(source: Source, error: str) -> str:
    """Return why Arrow could not read the table; a second reading finds the place."""
    if "UTF8" in error:
        return where_not_utf8(source.path)
    if "Expected" in error:
        return _where_ragged(source) or f"it cannot be read: {error}."
    if "straddling" in error:
        return (
            f"a row is longer than {BLOCK_BYTES >> 20} MB; most likely a quotation "
            f"mark is opened and never closed. Look for a lone quotation mark."
        )
    return f"it cannot be read: {error}."


def _where_ragged(source: Source) -> str:
    with open_text(source.path) as file:
        lines = (line for _, line in bounded_lines(file))
        rows = csv.reader(lines, delimiter=source.delimiter)
        width = len(source.columns)
        whole = (row for row in rows if row)
        for number, row in enumerate(whole, start=1 - source.with_header):
            if len(row) != width:
                text = source.delimiter.join(row)
                lone = " Is a quotation mark opened and never closed?" * ("\n" in text)
                return (
                    f"row {number:,} has {len(row)} values where the header has "
                    f"{width}: {text[:80]!r}.{lone} Correct the row; a value that "
                    f"contains the separator needs quotation marks."
                )
    return ""


# -- JSON -----------------------------------------------------------------------


def json_records(source: Source) -> Iterator[tuple[int, Any]]:
    """Yield the number of each line of JSON lines, from 1, and its content."""
    with open_text(source.path) as lines:
        for number, line in bounded_lines(lines):
            if line.strip():
                yield number, parsed(line, f"line {number:,}", each_key_once=True)


def json_columns(source: Source, first: Mapping[str, Any]) -> Any:
    """Return an Arrow table of JSON lines, or None if Arrow cannot make one.

    `first` has the values in the first line, whose types are those of the columns:
    Arrow alone would turn text that looks like a time into a time. Lines with other
    types and broken lines are left to `json_records`, which names them.
    """
    if not {type(value) for value in first.values()} <= ARROW_TYPES.keys():
        return None
    schema = pa.schema([(name, ARROW_TYPES[type(v)]) for name, v in first.items()])
    options = pajson.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="ignore"
    )
    reading = pajson.ReadOptions(block_size=BLOCK_BYTES)
    try:
        with open_bytes(source.path) as stream:
            return pajson.read_json(stream, reading, options)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None


def json_content(source: Source) -> Any:
    """Return the content of a JSON file."""
    with open_text(source.path) as file:
        return parsed(file.read(), "the file", each_key_once=True)


def parsed(text: str, where: str, *, each_key_once: bool = False) -> Any:
    """Parse JSON; an error says where it is broken, or which key an object repeats."""
    try:
        hook = _each_once if each_key_once else None
        content = json.loads(text, object_pairs_hook=hook)
        if SURROGATE.search(text):
            json.dumps(content, ensure_ascii=False).encode()
        return content
    except RecursionError:
        raise InputError(f"{where}: {TOO_DEEP}") from None
    except UnicodeEncodeError:
        raise InputError(f"{where}: {LONE_SURROGATE}") from None
    except json.JSONDecodeError as error:
        near = text[max(error.pos - 20, 0) : error.pos + 20]
        line = f" of line {error.lineno:,}" if error.lineno > 1 else ""
        raise InputError(
            f"{where} holds broken JSON: {error.msg.removesuffix(' at')} at character "
            f"{error.colno:,}{line}, near {near!r}. The file may have been cut off, or "
            f"edited by hand. Export it again, or correct that place."
        ) from None
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except ValueError:  # of Python, which reads no integer of more than 4300 digits
        raise InputError(
            f"{where} holds a number with more than 4,300 digits. Write it as text."
        ) from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; a key that is there twice would hide a value."""
    made = dict(pairs)
    if len(made) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        again = [key for key, n in counts.items() if n > 1]
        raise InputError(
            f"an object has the same key twice: {listed(again, 5)}. One of the values "
            f"would be lost. Give the values as a list, or the keys other names."
        )
    return made
