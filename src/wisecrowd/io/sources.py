"""Files: which there are, what they hold by their first bytes, and how they open."""

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from wisecrowd._checks import InputError, listed

MISSING = ("", "NaN", "nan", "NA", "N/A", "<NA>", "null", "NULL")
"""The words for a missing value in a text table, unless in quotation marks."""
LONE_SURROGATE = (
    "a text in it holds half of a character (a lone surrogate, such as \\ud800), which "
    "cannot be written. Correct that text."
)
TOO_DEEP = "it is nested too deeply: no such form is known."
NOT_UTF_8 = "the text is not in UTF-8. Save it as UTF-8."
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
FORMS = {",": "CSV", "\t": "TSV", " ": "table separated by blanks"}


@dataclass(frozen=True)
class Source:
    """A file, and what is known from its first bytes.

    `kind` is "parquet", "npy", "hdf5", "zip", "json", "jsonl" or "table". A text has a
    `head`, a table a `delimiter` and names of columns: numbers, if its first line has
    no names. `parts` are files that are read as one table, and then `columns` are those
    of all of them. `shown` is what the user called the file; `named` files are named by
    every message, because they are some of several.
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
        return FORMS.get(self.delimiter, f"CSV separated by {self.delimiter!r}")


# -- errors ---------------------------------------------------------------------


class NamedError(InputError):
    """An error whose message begins with the name of its file."""


SENTENCES: tuple[tuple[Any, str], ...] = (
    (InputError, "{error}"),
    (
        (EOFError, zlib.error, gzip.BadGzipFile),
        "the compressed file is broken ({error}). Download it again.",
    ),
    (UnicodeEncodeError, LONE_SURROGATE),
    (RecursionError, TOO_DEEP),
    (
        (MemoryError, pa.ArrowMemoryError),
        "it does not fit into the memory, or it is broken and declares a size that it "
        "does not have.",
    ),
    (
        (pa.ArrowException, csv.Error),
        "it cannot be read ({first}). The file may be broken, or a column may have an "
        "unusual type. Write it again.",
    ),
    (
        PermissionError,
        "there is no permission to open it. Change its permissions, or choose another "
        "place.",
    ),
    (OSError, "{reason}."),
)
"""What went wrong with a file, by the first kind of error that fits."""


@contextmanager
def errors_that_name(path: Any) -> Iterator[None]:
    """Put the name of the file before the message of an error, unless it is there."""
    try:
        yield
    except NamedError:
        raise
    except UnicodeDecodeError:
        raise NamedError(f"{path}: {where_not_utf8(Path(path))}") from None
    except Exception as error:
        for kinds, sentence in SENTENCES:
            if isinstance(error, kinds):
                said = sentence.format(
                    error=error,
                    first=first_line(error),
                    reason=getattr(error, "strerror", None) or error,
                )
                raise NamedError(f"{path}: {said}") from None
        raise


@contextmanager
def errors_of_parquet() -> Iterator[None]:
    """Turn errors of Arrow into a sentence about a broken Parquet file."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"the Parquet file is broken ({first_line(error)}). Write it again."
        ) from None


def first_line(error: Exception) -> str:
    """Return the beginning of what an error says."""
    return (str(error).splitlines() or ["no reason given"])[0][:200]


def where_not_utf8(path: Path) -> str:
    """Return a sentence about the first byte that is not UTF-8."""
    path = _copies.get(path, path)
    if not path.is_file():
        return NOT_UTF_8
    with open_bytes(path) as file:
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
    return NOT_UTF_8


# -- which file -----------------------------------------------------------------


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
    with open_bytes(path) as file:
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
    parts = [replace(source, named=True) for source in sources]
    return replace(sources[0], columns=tuple(common), parts=tuple(parts))


def open_bytes(path: Path) -> Any:
    """Open a file, unpacking gzip."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if zipped else path.open("rb")


def open_text(path: Path) -> io.TextIOBase:
    """Open a text file, unpacking gzip."""
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="")


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


def sample_rows(source: Source, most: int = 1000) -> list[list[str]]:
    """Return the first rows of a table."""
    rows = list(_csv_rows(source.head, source.delimiter))
    if len(source.head) > HEAD_BYTES // 2:
        rows = rows[:-1]  # the last one may be cut
    return rows[int(source.with_header) :][:most]


# -- pipes and other texts --------------------------------------------------------

_copies: dict[Path, Path] = {}


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
        pipe = nullcontext(getattr(sys.stdin, "buffer", None) or io.BytesIO())
        if str(path) == "-" and sys.stdin is not None and sys.stdin.isatty():
            raise InputError("nothing comes from standard input. Send a file into it.")
        made = _new_file()
        with (
            made.open("wb") as copy,
            pipe if str(path) == "-" else path.open("rb") as p,
        ):
            shutil.copyfileobj(p, copy)
        _copies[path] = made
    return _copies[path]


def _in_utf8(path: Path) -> Path:
    """Return a copy of a text in UTF-16, which spreadsheets call Unicode."""
    copy = _new_file()
    try:
        with (
            io.TextIOWrapper(open_bytes(path), "utf-16", newline="") as text,
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


# -- what kind of text ------------------------------------------------------------


def _nearby(path: Path) -> str:
    if not path.parent.exists():
        return f" There is no directory {str(path.parent)!r} either."
    names = [p.name for p in path.parent.iterdir()]
    close = get_close_matches(path.name, names, n=3)
    return f" Did you mean {listed(close)}?" if close else ""


def _head(path: Path) -> str:
    with open_bytes(path) as file:
        start = file.read(HEAD_BYTES)
    if b"\0" in start[:1000]:
        raise InputError(
            f"this is not text (there is a NUL, byte {start.index(0) + 1}), and not a "
            f"known binary format."
        )
    return getincrementaldecoder("utf-8-sig")().decode(start)


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
    text, blanks = io.StringIO(head, newline=""), delimiter == " "
    rows = csv.reader(text, delimiter=delimiter, skipinitialspace=blanks)
    return (row for row in rows if row)


def _delimiter(head: str) -> str:
    """Return the separator for which most rows have as many values as the first."""

    def fit(delimiter: str) -> tuple[int, int]:
        rows = list(islice(_csv_rows(head, delimiter), 20))
        width = len(rows[0])
        return (sum(len(r) == width for r in rows), width) if width > 1 else (0, 0)

    found = max(("\t", ",", ";", "|"), key=fit)
    found = found if fit(found) > (0, 0) else " "
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
    whole = all(re.fullmatch(r"\d+", value) for value in given)
    if len(set(given)) < len(given) or not whole:
        return True
    return any(value in MISSING for value in values[1:])
