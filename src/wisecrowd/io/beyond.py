"""Features beyond memory: Parquet and npy files, or a folder of them, by blocks."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Int
from pyarrow import fs

from wisecrowd._checks import InputError, listed
from wisecrowd._types import Array
from wisecrowd.annotations.headers import check_column
from wisecrowd.blocks import BLOCK, OnDisk, Part
from wisecrowd.feature_source import PIECE
from wisecrowd.io.feature_columns import Asked, Chosen, Columns, chosen_columns
from wisecrowd.io.features import (
    asked_of_parquet,
    broken_in_one_sentence,
    check_one_array,
    checked_shape,
    ids_of_rows,
)
from wisecrowd.io.ids import GivenIds
from wisecrowd.io.sources import (
    MAGIC,
    NamedError,
    errors_of_parquet,
    errors_that_name,
    existing_file,
)

MOST_BLOCK = 256 << 20  # bytes of a row group, which is read whole
SPARSE = 16  # rows are read one by one if there are so many times more in the block
NO_FORM = (
    "features beyond memory are read from Parquet and npy files. Read this file into "
    "memory with wisecrowd.read_features, or write it as one of these."
)


class File(NamedTuple):
    """A file, and how it was when it was opened first."""

    system: Any
    path: str
    size: int
    time: int | None

    @property
    def is_local(self) -> bool:
        """Whether a single row is quickly read."""
        return isinstance(self.system, fs.LocalFileSystem)

    def opened(self) -> Any:
        """Open the file; refuse one that is another by now."""
        with errors_that_name(self.path):
            now = self.system.get_file_info(self.path)
            if now.type != fs.FileType.File:
                self._changed("is not there any more")
            if (now.size, now.mtime_ns) != (self.size, self.time):
                self._changed(
                    f"was changed (it had {self.size:,} bytes, now {now.size:,})"
                )
            return self.system.open_input_file(self.path)

    def _changed(self, what: str) -> None:
        raise NamedError(
            f"{self.path}: the file {what} since its features were opened. Leave the "
            f"files as they are until the fit has ended, and begin again."
        )


class NpyPart(NamedTuple):
    """Some rows of an array of NumPy."""

    file: File
    n_rows: int
    offset: int  # of the first row, in bytes
    n_features: int
    dtype: Any

    def read(self, rows: Int[np.ndarray, " n"] | None = None) -> Array:
        """Return all rows, or some."""
        with errors_that_name(self.file.path), self.file.opened() as file:
            alone = rows is not None and SPARSE * len(rows) < self.n_rows
            if rows is None or not alone or not self.file.is_local:
                X = self._from(file, 0, self.n_rows)
                X = X if rows is None else X[rows]
            else:
                X = np.concatenate([self._from(file, row, 1) for row in rows.tolist()])
        return X.astype(float_type(self.dtype), copy=False)

    def _from(self, file: Any, row: int, n_rows: int) -> Array:
        """Return some rows, one after the other in the file."""
        X = np.empty((n_rows, self.n_features), self.dtype)
        file.seek(self.offset + row * self.n_features * self.dtype.itemsize)
        if file.readinto(X.view(np.uint8).reshape(-1)) < X.nbytes:
            raise InputError("the file ends too early. It is broken: save it again.")
        return X


class ParquetPart(NamedTuple):
    """Some row groups of a Parquet file."""

    file: File
    metadata: Any
    groups: list[int]
    first: int  # row of the whole source
    n_rows: int
    n_features: int
    chosen: Chosen

    def read(self, rows: Int[np.ndarray, " n"] | None = None) -> Array:
        """Return all rows, or some."""
        with errors_that_name(self.file.path):
            names = self.chosen.columns
            with parquet(self.file, self.metadata) as file:
                table = file.read_row_groups(self.groups, names, use_threads=False)
            X = self.chosen.values(Columns.of_table(table, self.first))
            if X.shape != (self.n_rows, self.n_features):
                raise InputError(
                    f"the vectors from row {self.first + 1:,} on have {X.shape[1]} "
                    f"values, those before have {self.n_features}."
                )
        return X if rows is None else X[rows]


def features(
    path: str | PathLike[str],
    ids: GivenIds | None = None,
    *,
    item: str | None = None,
    key: str | None = None,
    columns: Sequence[str] | str | None = None,
    leave_out: Sequence[str] | str = (),
) -> OnDisk:
    r"""Open features that are larger than the memory; `fit` reads them in pieces.

    SVGPCR and SVGP learn from them, and every classifier predicts from them.

    Parameters
    ----------
    path : path or URI
        A Parquet or ``.npy`` file, or a folder of them, which are read in the order of
        their names. ``s3://bucket/folder`` and other URIs of ``pyarrow.fs`` are
        object storage.
    ids : sequence or path, optional
        The ids of the rows, if the files have none: a list, or a file with one per
        line. Default: the column of a Parquet file, as in :func:`read_features`, else
        the rows are items 0, 1, 2, ...
    item, key, columns, leave_out
        The columns of a Parquet file, as in :func:`read_features`.

    Returns
    -------
    OnDisk
        What `fit` and `predict_proba` take as X. It has `items`, `names` and `shape`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "part-0.npy"
    >>> np.save(path, np.zeros((3, 2), np.float32))
    >>> X = features(path.parent, ids=["a", "b", "c"])
    >>> X.shape, X.items.tolist()
    ((3, 2), ['a', 'b', 'c'])
    """
    asked = Asked.by_user(item, ids, key, columns, leave_out)
    with errors_that_name(path):
        files = files_at(path)
        kinds = {kind_of(file) for file in files}
        if kinds not in ({"npy"}, {"parquet"}):
            raise InputError(NO_FORM)
        made = of_npy if kinds == {"npy"} else of_parquet
        return made(path, files, asked)


def files_at(path: str | PathLike[str]) -> list[File]:
    """Return the file, or the files of the folder in the order of their names."""
    if "://" in str(path):
        system, place = fs.FileSystem.from_uri(str(path))
    else:
        system, place = fs.LocalFileSystem(), str(Path(path).expanduser())
    found = [system.get_file_info(place)]
    if found[0].type == fs.FileType.Directory:
        inside = system.get_file_info(fs.FileSelector(place))
        found = [f for f in inside if f.type == fs.FileType.File]
        found = [f for f in found if not f.base_name.startswith((".", "_"))]
        found.sort(key=lambda f: f.base_name)
    elif found[0].type != fs.FileType.File:
        existing_file(place)  # says what is there instead
        raise InputError("there is no such file.")
    if not found:
        raise InputError("there is no file in this folder.")
    return [File(system, f.path, f.size, f.mtime_ns) for f in found]


def kind_of(file: File) -> str:
    """Return what kind of file this is, by its content."""
    with file.opened() as opened:
        magic = opened.read(8)
    known = [kind for start, kind in MAGIC.items() if magic.startswith(start)]
    if known not in (["npy"], ["parquet"]):
        raise NamedError(f"{file.path}: {NO_FORM}")
    return known[0]


def float_type(dtype: Any) -> Any:
    """Return float32 if it is, otherwise float64."""
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def source(
    path: Any, files: Sequence[File], parts: Sequence[Part], asked: Asked, **about: Any
) -> OnDisk:
    """Return the source of these parts, with the ids of all rows."""
    n_rows = sum(part.n_rows for part in parts)
    ids = ids_of_rows(about.pop("ids", None), asked, n_rows)
    stamp = [(Path(file.path).name, file.size, file.time) for file in files]
    return OnDisk(
        path,
        parts,
        items=np.arange(n_rows) if ids is None else ids,
        with_ids=ids is not None,
        stamp=hashlib.sha256(repr(stamp).encode()).hexdigest(),
        **about,
    )


# -- npy ------------------------------------------------------------------------


def of_npy(path: Any, files: Sequence[File], asked: Asked) -> OnDisk:
    """Return the rows of several arrays of NumPy, one after the other."""
    check_one_array(asked)
    parts: list[NpyPart] = []
    for file in files:
        with errors_that_name(file.path):
            shape, dtype, offset = header_of(file)
            first = parts[0] if parts else None
            if first and (shape[1], dtype) != (first.n_features, first.dtype):
                raise InputError(
                    f"the array has {shape[1]} columns of {dtype}, that of "
                    f"{first.file.path} has {first.n_features} of {first.dtype}. Save "
                    f"them alike."
                )
        row_bytes = shape[1] * dtype.itemsize
        step = max(1, BLOCK // row_bytes)
        step = step if step < PIECE else step // PIECE * PIECE
        for row in range(0, shape[0], step):
            n_rows = min(step, shape[0] - row)
            at = offset + row * row_bytes
            parts.append(NpyPart(file, n_rows, at, shape[1], dtype))
    found = {"n_features": parts[0].n_features, "dtype": float_type(parts[0].dtype)}
    return source(path, files, parts, asked, **found)


def header_of(file: File) -> tuple[tuple[int, int], Any, int]:
    """Return shape, type and offset of an array of NumPy with two axes of numbers."""
    with file.opened() as opened, broken_in_one_sentence():
        shape, by_column, dtype = checked_shape(opened, "the array", file.size)
        offset = opened.tell()
    if len(shape) != 2 or not shape[0] * shape[1]:
        raise InputError(
            f"features have two axes (items, features), and this array has the shape "
            f"{shape}. Reshape it, e.g. X.reshape(len(X), -1), and save it again."
        )
    if dtype.kind not in "fiub":
        raise InputError(f"features are numbers; this array has the type {dtype}.")
    if by_column:
        raise InputError(
            "the array is saved column by column, so an item cannot be read alone. "
            "Save np.ascontiguousarray(X)."
        )
    return shape, dtype, offset


# -- Parquet --------------------------------------------------------------------


@contextmanager
def parquet(file: File, metadata: Any = None) -> Iterator[Any]:
    """Open a Parquet file, and close it."""
    with errors_of_parquet(), file.opened() as opened:
        yield pq.ParquetFile(opened, metadata=metadata, pre_buffer=False)


def of_parquet(path: Any, files: Sequence[File], asked: Asked) -> OnDisk:
    """Return the rows of several Parquet files, one after the other."""
    metadata = []
    for file in files:
        with errors_that_name(file.path), parquet(file) as opened:
            metadata.append(opened.metadata)
    with parquet(files[0], metadata[0]) as opened:
        columns = Columns.of_parquet(opened)
        if len(files) > 1:
            columns = all_columns(opened.schema_arrow, files, metadata)
        asked = asked_of_parquet(columns, asked)
        chosen = chosen_columns(columns, asked)
    check_alike(columns.schema, chosen, files, metadata)
    dtype = np.dtype(chosen.kind(columns.schema))
    n_features = width(metadata[0], chosen)
    parts: list[ParquetPart] = []
    for file, about in zip(files, metadata, strict=True):
        sizes = [about.row_group(g).num_rows for g in range(about.num_row_groups)]
        for groups in blocks_of(sizes, n_features * dtype.itemsize, file):
            first = parts[-1].first + parts[-1].n_rows if parts else 0
            n_rows = sum(sizes[g] for g in groups)
            part = file, about, groups, first, n_rows, n_features, chosen
            parts.append(ParquetPart(*part))
    return source(
        path,
        files,
        parts,
        asked,
        ids=chosen.ids,
        n_features=n_features,
        dtype=dtype,
        names=chosen.names or None,
        left_out=chosen.left_out,
    )


def all_columns(schema: Any, files: Sequence[File], metadata: Sequence[Any]) -> Columns:
    """Return the columns of several files, one below the other."""

    def column(name: str) -> Any:
        chunks = []
        for file, about in zip(files, metadata, strict=True):
            with errors_that_name(file.path), parquet(file, about) as opened:
                check_column(name, opened.schema_arrow.names, "features")
                chunks += opened.read([name]).column(name).chunks
        return pa.chunked_array(chunks)

    n_rows = sum(about.num_rows for about in metadata)
    return Columns(schema, n_rows, column, lambda name: column(name).chunks)


def check_alike(
    schema: Any, chosen: Chosen, files: Sequence[File], metadata: Sequence[Any]
) -> None:
    """Refuse a file whose features are not those of the first one."""
    for file, about in zip(files[1:], metadata[1:], strict=True):
        own = about.schema.to_arrow_schema()
        for name in chosen.columns:
            found = own.field(name).type if name in own.names else "no such column"
            if found != schema.field(name).type:
                raise NamedError(
                    f"{file.path}: column {listed([name])} is {found}, and in "
                    f"{files[0].path} it is {schema.field(name).type}. Write the files "
                    f"alike."
                )


def width(about: Any, chosen: Chosen) -> int:
    """Return how many features there are: columns, or values of the first vector."""
    if not chosen.of_vectors:
        return len(chosen.columns)
    name, group = chosen.columns[0], about.row_group(0)
    every = [group.column(i) for i in range(group.num_columns)]
    own = next(c for c in every if c.path_in_schema.split(".")[0] == name)
    return max(1, int(own.num_values // max(1, group.num_rows)))


def blocks_of(sizes: Sequence[int], row_bytes: int, file: File) -> list[list[int]]:
    """Return which row groups are read together: as many as `BLOCK` bytes hold."""
    largest = max(sizes, default=0) * row_bytes
    if largest > MOST_BLOCK:
        raise NamedError(
            f"{file.path}: a row group has {largest >> 20:,} MB of features, and is "
            f"read whole; at most {MOST_BLOCK >> 20} MB are read at a time. Write the "
            f"file with row_group_size={max(1, BLOCK // row_bytes):,} rows."
        )
    blocks: list[list[int]] = []
    room = 0
    for group, n_rows in enumerate(sizes):
        if not n_rows:
            continue
        if room < n_rows * row_bytes:
            blocks.append([])
            room = BLOCK
        blocks[-1].append(group)
        room -= n_rows * row_bytes
    return blocks
