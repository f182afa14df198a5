"""Files: recognised by their first bytes, and read in chunks."""

import atexit
import csv
import gzip
import io
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.json as pajson

from wisecrowd._checks import InputError, listed
from wisecrowd._text import unmarked

MISSING = ("", "NaN", "nan", "NA", "N/A", "<NA>", "null", "NULL")
"""The words for a missing value in a text table, unless in quotation marks."""
LONE_SURROGATE = (
    "a text in it holds half of a character (a lone surrogate, such as \\ud800), which "
    "cannot be written. Correct that text."
)
TOO_DEEP = "it is nested too deeply: no such form is known."
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
HEADER_AGAIN = "the header again"
NO_ROWS = "there are no rows below the header."
ROW_NUMBERS = range(-(2**62), 2**62)
MOST_LINE = 1 << 26  # characters of a line; real exports have a few thousand
HEAD_BYTES = 1 << 20  # enough for a header of some thousand annotators
BLOCK_BYTES = 1 << 22  # one row has to fit; Arrow reads 32 blocks ahead, so 128 MB
MAGIC = {
    b"PAR1": "parquet",
    b"\x93NUMPY": "npy",
    b"\x89HDF": "hdf5",
    b"PK\x03\x04": "zip",
}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # how such a text begins
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|nan|inf", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """A file, and what is known from its first bytes.

    Attributes
    ----------
    path : Path
        The file.
    kind : str
        "parquet", "npy", "hdf5", "zip", "json", "jsonl" or "table".
    head : str
        The beginning of a text file.
    delimiter, columns, with_header
        For a table: the separator of values, the names of the columns, and whether its
        first line has names. If it has not, the columns are numbered.
    parts : tuple of Source
        Files that are read one after the other as if they were one, and then `columns`
        are those that all of them have. Empty for a single file.
    shown, named
        What the user called the file, and whether a message has to say it: one of
        several files.
    """

    path: Path
    kind: str
    head: str = ""
    delimiter: str = ","
    columns: tuple[str, ...] = ()
    with_header: bool = True
    parts: tuple["Source", ...] = ()
    shown: Any = ""
    named: bool = False

    @property
    def form(self) -> str:
        """The usual name of such a table: CSV, TSV, ..."""
        names = {",": "CSV", "\t": "TSV", " ": "table separated by blanks"}
        return names.get(self.delimiter, f"CSV separated by {self.delimiter!r}")


class NamedError(InputError):
    """An error whose message begins with the name of its file."""


@contextmanager
def errors_that_name(path: Any) -> Iterator[None]:
    """Put the name of the file before the message of an error, unless it is there."""
    try:
        yield
    except NamedError:
        raise
    except InputError as error:
        raise NamedError(f"{path}: {error}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise NamedError(
            f"{path}: the compressed file is broken ({error}). Download it again."
        ) from None
    except UnicodeDecodeError:
        raise NamedError(f"{path}: {_where_not_utf8(Path(path))}") from None
    except (UnicodeEncodeError, RecursionError) as error:
        lone = isinstance(error, UnicodeEncodeError)
        raise NamedError(f"{path}: {LONE_SURROGATE if lone else TOO_DEEP}") from None
    except (MemoryError, pa.ArrowMemoryError):
        raise NamedError(
            f"{path}: it does not fit into the memory, or it is broken and declares a "
            f"size that it does not have."
        ) from None
    except (pa.ArrowException, csv.Error) as error:
        first = (str(error).splitlines() or ["no reason given"])[0][:200]
        raise NamedError(
            f"{path}: it cannot be read ({first}). The file may be broken, or a column "
            f"may have an unusual type. Write it again."
        ) from None
    except PermissionError:
        raise NamedError(
            f"{path}: there is no permission to open it. Change its permissions, or "
            f"choose another place."
        ) from None
    except OSError as error:
        raise NamedError(f"{path}: {error.strerror or error}.") from None


@contextmanager
def errors_of_parquet() -> Iterator[None]:
    """Turn errors of Arrow into a sentence about a broken Parquet file."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        first = (str(error).splitlines() or ["no reason given"])[0][:200]
        raise InputError(
            f"the Parquet file is broken ({first}). Write it again."
        ) from None


def range_index(schema: Any, n_rows: int) -> dict[str, Any]:
    """Return the index of a DataFrame that its Parquet file keeps as a range.

    pandas writes an index such as 1, 2, 3, ... into the metadata only. The result has
    one column, or none: an index without a name that counts the rows from 0 is no id.
    """
    for index in index_columns(schema):
        if isinstance(index, dict) and index.get("kind") == "range":
            ends: list[Any] = [index.get(name) for name in ("start", "stop", "step")]
            if not all(isinstance(end, int) and end in ROW_NUMBERS for end in ends):
                continue
            ids, name = range(ends[0], ends[1], ends[2] or 1), index.get("name")
            if len(ids) == n_rows and (name or ids != range(n_rows)):
                return {str(name) if name else "__index_level_0__": pa.array(ids)}
    return {}


def index_columns(schema: Any) -> list[Any]:
    """Return what pandas wrote into a Parquet file about the index of a DataFrame."""
    try:
        known = (schema.pandas_metadata or {}).get("index_columns", [])
    except (ValueError, AttributeError, RecursionError):  # metadata that are broken
        return []
    return known if isinstance(known, list) else []


def existing_file(path: Any) -> Path:
    """Return the path of a file that exists and is not empty.

    A pipe is copied, and so is a text in UTF-16, to UTF-8.
    """
    path = Path(path).expanduser()
    if _is_pipe(path):
        path = _copied(path)
    if path.is_dir():
        inside = sorted(p.name for p in path.iterdir())
        files = f"Name one of the files in it: {listed(inside)}."
        raise InputError(
            f"this is a directory, not a file. {files if inside else 'It is empty.'}"
        )
    if not path.exists():
        raise InputError(f"there is no such file.{_nearby(path)}")
    if not path.is_file():
        raise InputError("this is a device, not a file.")
    if not path.stat().st_size:
        raise InputError("the file is empty (0 bytes).")
    with _open_bytes(path) as file:
        return _in_utf8(path) if file.read(2) in UTF_16 else path


def recognised(path: Any) -> Source:
    """Return what kind of file this is, by its content."""
    shown, path = path, existing_file(path)
    with path.open("rb") as file:
        magic = file.read(8)
    for start, kind in MAGIC.items():
        if magic.startswith(start):
            return Source(path, kind, shown=shown)
    head = _head(path)
    if not head.strip():
        raise InputError("the file is empty: there are only blanks in it.")
    kind = _text_kind(head)
    source = Source(path, kind, head, shown=shown)
    return _table(source) if kind == "table" else source


def chained(sources: Sequence[Source]) -> Source:
    """Return several tables as one, with the columns that all of them have."""
    if len(sources) == 1:
        return sources[0]
    common = [c for c in sources[0].columns if all(c in s.columns for s in sources)]
    return replace(sources[0], columns=tuple(common), parts=tuple(sources))


def open_text(path: Path) -> io.TextIOBase:
    """Open a text file, unpacking gzip."""
    return io.TextIOWrapper(_open_bytes(path), encoding="utf-8-sig", newline="")


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
        said = source.parts or source.named
        with errors_that_name(part.shown) if said else nullcontext():
            try:
                with _open_bytes(part.path) as stream:
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
        alone = replace(part, named=bool(source.parts))
        for batch in table_batches(alone, columns, missing=()):
            values = [column.cast(pa.string()).to_pylist() for column in batch.columns]
            for row in zip(*values, strict=True):
                number += 1
                if row[-1] == header[-1] and list(row) == header:
                    left_out[HEADER_AGAIN] += 1
                    continue
                yield f"row {number:,}{file}", dict(zip(columns, row, strict=True))


def json_records(source: Source) -> Iterator[tuple[int, Any]]:
    """Yield the number of each line of JSON lines, from 1, and its content."""
    with open_text(source.path) as lines:
        for number, line in bounded_lines(lines):
            if line.strip():
                yield number, parsed(line, f"line {number:,}", each_key_once=True)


def bounded_lines(file: Any) -> Iterator[tuple[int, Any]]:
    """Yield the number of each line, from 1, and the line; refuse an endless one."""
    number = 0
    while line := file.readline(MOST_LINE):
        number += 1
        if len(line) == MOST_LINE:
            raise InputError(
                f"line {number:,} is longer than {MOST_LINE >> 20} MB. Is this a table "
                f"with line breaks?"
            )
        yield number, line


def json_columns(source: Source, first: Mapping[str, Any]) -> Any:
    """Return an Arrow table of JSON lines, or None if Arrow cannot make one.

    `first` has the values in the first line, whose types are those of the columns:
    Arrow alone would turn text that looks like a time into a time. Lines with other
    types and broken lines are left to `json_records`, which names them.
    """
    kinds = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float: pa.float64()}
    if not {type(value) for value in first.values()} <= kinds.keys():
        return None
    schema = pa.schema([(name, kinds[type(v)]) for name, v in first.items()])
    options = pajson.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="ignore"
    )
    reading = pajson.ReadOptions(block_size=BLOCK_BYTES)
    try:
        with _open_bytes(source.path) as stream:
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


def sample_rows(source: Source, most: int = 1000) -> list[list[str]]:
    """Return the first rows of a table."""
    rows = list(_csv_rows(source.head, source.delimiter))
    if len(source.head) > HEAD_BYTES // 2:
        rows = rows[:-1]  # the last one may be cut
    return rows[int(source.with_header) :][:most]


# -- inside ---------------------------------------------------------------------


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


def _is_pipe(path: Path) -> bool:
    """Return whether this is standard input or a pipe, which can be read only once."""
    if str(path) == "-":
        return True
    try:
        return stat.S_ISFIFO(path.stat().st_mode) or stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False


def _copied(path: Path) -> Path:
    """Return a file with what came through a pipe; it is removed at the end."""
    if path not in _copies:
        if str(path) == "-" and sys.stdin is not None and sys.stdin.isatty():
            raise InputError("nothing comes from standard input. Send a file into it.")
        made = _new_file()
        with made.open("wb") as copy, _pipe(path) as pipe:
            shutil.copyfileobj(pipe, copy)
        _copies[path] = made
    return _copies[path]


def _in_utf8(path: Path) -> Path:
    """Return a copy of a text in UTF-16, which spreadsheets call Unicode."""
    copy = _new_file()
    try:
        with (
            io.TextIOWrapper(_open_bytes(path), "utf-16", newline="") as text,
            copy.open("w", encoding="utf-8", newline="") as made,
        ):
            shutil.copyfileobj(text, made)
    except UnicodeDecodeError:
        raise InputError(
            "the text is in UTF-16, and broken. Save it as UTF-8: in a spreadsheet, "
            "'CSV UTF-8'."
        ) from None
    return copy


def _new_file() -> Path:
    """Return an empty file that is removed when the process ends."""
    handle, name = tempfile.mkstemp(prefix="wisecrowd-")
    os.close(handle)
    atexit.register(Path(name).unlink, missing_ok=True)
    return Path(name)


def _pipe(path: Path) -> Any:
    if str(path) != "-":
        return path.open("rb")
    return nullcontext(getattr(sys.stdin, "buffer", None) or io.BytesIO())


_copies: dict[Path, Path] = {}


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
    rows = np.flatnonzero(suspect.fill_null(False).to_numpy(zero_copy_only=False))
    again = []
    for row in rows.tolist():
        values = [str(column[row]).removeprefix("\ufeff") for column in batch.columns]
        if values == names:
            again.append(row)
        elif sorted(values) == sorted(names):
            raise InputError(
                f"a row holds the names of the columns in another order "
                f"({listed(values)}): two tables seem to stand one below the other. "
                f"Give them as two files."
            )
    if not again:
        return batch
    keep = np.ones(len(batch), dtype=bool)
    keep[again] = False
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
        return _where_not_utf8(source.path)
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


def _nearby(path: Path) -> str:
    if not path.parent.exists():
        return f" There is no directory {str(path.parent)!r} either."
    names = [p.name for p in path.parent.iterdir()]
    close = get_close_matches(path.name, names, n=3)
    return f" Did you mean {listed(close)}?" if close else ""


def _open_bytes(path: Path) -> Any:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if zipped else path.open("rb")


def _head(path: Path) -> str:
    with _open_bytes(path) as file:
        start = file.read(HEAD_BYTES)
    if b"\0" in start[:1000]:
        raise InputError(
            f"this is not text (there is a NUL, byte {start.index(0) + 1}), and not a "
            f"known binary format."
        )
    return getincrementaldecoder("utf-8-sig")().decode(start)


def _where_not_utf8(path: Path) -> str:
    """Return a sentence about the first byte that is not UTF-8."""
    path = _copies.get(path, path)
    if not path.is_file():
        return "the text is not in UTF-8. Save it as UTF-8."
    with _open_bytes(path) as file:
        for number, line in bounded_lines(file):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                guess = line.decode("cp1252", errors="replace")
                near = guess[max(error.start - 10, 0) : error.start + 10].strip()
                return (
                    f"line {number:,} is not in UTF-8: byte {line[error.start]:#04x}, "
                    f"near {near!r} if it is Windows-1252. Save the file as UTF-8: in "
                    f"a spreadsheet, 'CSV UTF-8'; in Python, "
                    f"open(path, encoding='cp1252') and write it back."
                )
    return "the text is not in UTF-8. Save it as UTF-8."


def _text_kind(head: str) -> str:
    start = head.lstrip()
    if start[0] not in "[{":
        return "table"
    first, _, rest = start.partition("\n")
    if start[0] == "[" or (len(head) > HEAD_BYTES // 2 and not rest):
        return "json"
    return "jsonl" if _is_record(first, alone=not rest.strip()) else "json"


def _is_record(line: str, *, alone: bool) -> bool:
    """Return whether this is one of several JSON lines, not the start of one object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        # a broken first line of several that each look whole
        return line.rstrip().endswith("}") and not alone
    nested = all(isinstance(v, dict | list) for v in record.values())
    return not (alone and nested)


def _csv_rows(head: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(max(csv.field_size_limit(), BLOCK_BYTES))
    rows = csv.reader(
        io.StringIO(head, newline=""),
        delimiter=delimiter,
        skipinitialspace=delimiter == " ",
    )
    return (row for row in rows if row)


def _delimiter(head: str) -> str:
    """Return the separator for which most rows have as many values as the first."""

    def fit(delimiter: str) -> tuple[int, int]:
        rows = [
            row for row, _ in zip(_csv_rows(head, delimiter), range(20), strict=False)
        ]
        width = len(rows[0])
        return (sum(len(r) == width for r in rows), width) if width > 1 else (0, 0)

    found = max(("\t", ",", ";", "|"), key=fit)
    if fit(found) == (0, 0):
        found = " "
    if fit(found) == (0, 0):
        first = head.strip().splitlines()[0]
        raise InputError(
            f"this is not a table: its first line, {first[:80]!r}, holds one value. "
            f"Several columns, separated by commas, semicolons, tabs or blanks, were "
            f"expected."
        )
    return found


def _table(source: Source) -> Source:
    delimiter = _delimiter(source.head)
    first = next(_csv_rows(source.head, delimiter))
    headless = _is_row_of_numbers(first)
    columns = [str(i) for i in range(len(first))] if headless else first
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise InputError(
            f"{len(twice)} column names occur more than once: {listed(twice)}. "
            f"Rename them."
        )
    return replace(
        source, delimiter=delimiter, columns=tuple(columns), with_header=not headless
    )


def _is_row_of_numbers(first: Sequence[str]) -> bool:
    """Return whether the first line of a table holds answers or features, not names.

    Numbers, all whole and different, can be names of annotators. So can they after an
    empty cell, which is the index of a DataFrame.
    """
    values = [value.strip() for value in first]
    given = [value for value in values if value not in MISSING]
    if not given or not all(NUMBER.fullmatch(value) for value in given):
        return False
    if len(set(given)) < len(given) or not _all_whole(given):
        return True
    return any(value in MISSING for value in values[1:])


def _all_whole(values: Iterable[str]) -> bool:
    return all(re.fullmatch(r"\s*\d+\s*", value) for value in values)
