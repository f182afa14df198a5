"""Ids of items: of the rows of a feature file that has none, or in a file of ids."""

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from wisecrowd._checks import InputError
from wisecrowd._types import Array
from wisecrowd.annotations.headers import ALIASES, first_named
from wisecrowd.io.columns import retyped
from wisecrowd.io.contents import parsed, whole_table
from wisecrowd.io.sources import (
    MAGIC,
    bounded_lines,
    errors_that_name,
    existing_file,
    open_text,
    recognised,
)

FORMS = "ids are read from text (one per line), a table, a JSON list or .npy."
SEPARATOR = r"[,;\t|]"
GivenIds = str | PathLike[str] | Sequence[Any] | Array


def given_ids(ids: GivenIds, n_rows: int) -> Array:
    """Return the ids of so many rows: a list, or those in a file of any known form."""
    if isinstance(ids, str | PathLike):
        with errors_that_name(ids):
            return _counted(_read(existing_file(ids), n_rows), n_rows)
    return _counted(list(ids), n_rows)


def read_ids(path: str | PathLike[str]) -> Any:
    r"""Return the ids in a file, however many there are.

    Parameters
    ----------
    path : path
        The forms of :func:`given_ids`. The first line is a header if it is, or has, a
        usual name of the items, such as ``item``.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "retired.csv"
    >>> _ = path.write_text("subject_id,reason\n17,blurred\n4,empty\n")
    >>> read_ids(path).tolist()
    [17, 4]
    """
    with errors_that_name(path):
        return _read(existing_file(path))


def _counted(ids: Any, n_rows: int) -> Array:
    """Return ids as an array, without a common type for numbers and text."""
    if len(ids) != n_rows:
        raise InputError(
            f"there are {len(ids):,} ids for {n_rows:,} rows of features. Give one per "
            f"row, in the same order."
        )
    if isinstance(ids, np.ndarray):
        return ids
    made = np.empty(len(ids), dtype=object)
    made[:] = ids
    return made


def _read(path: Path, n_rows: int | None = None) -> Any:
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(b"\x93NUMPY"):
        return _array(path)
    if any(start.startswith(magic) for magic in MAGIC):
        raise InputError(FORMS)
    with open_text(path) as file:
        lines = [line.strip() for _, line in bounded_lines(file)]
    lines = [line for line in lines if line]
    if lines and lines[0].startswith("["):
        content = parsed("\n".join(lines), "the file")
        return content if isinstance(content, list) else []
    named = bool(lines) and _names_items(lines[0])
    has_header = named if n_rows is None else len(lines) == n_rows + 1
    if has_header and re.search(SEPARATOR, lines[0]):
        source = recognised(path)
        if source.kind != "table":
            raise InputError(FORMS)
        name = first_named(source.columns, ALIASES["item"]) or source.columns[0]
        lines = whole_table(source, [name])[name].cast("string").to_pylist()
    elif has_header and named:
        lines = lines[1:]
    return retyped(lines)


def _array(path: Path) -> Array:
    try:
        ids = np.load(path, allow_pickle=False)
    except ValueError as error:
        raise InputError(
            f"the array of ids cannot be read ({error}). Save it as text, e.g. "
            f"np.array(ids, dtype=str)."
        ) from None
    if ids.ndim != 1:
        raise InputError(f"ids have one axis, and this array has {ids.ndim}.")
    return ids.astype(object) if ids.dtype.kind in "US" else ids


def _names_items(header: str) -> bool:
    cells = [cell.strip(" '\"") for cell in re.split(SEPARATOR, header)]
    return first_named(cells, ALIASES["item"]) is not None
