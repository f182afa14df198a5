"""Feature tables from files: rows are items, columns are numbers."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from wisecrowd._checks import InputError, listed, named, vocabulary_values
from wisecrowd._text import unmarked
from wisecrowd._types import Array
from wisecrowd.annotations.headers import check_column
from wisecrowd.feature_source import not_finite
from wisecrowd.io.columns import retyped
from wisecrowd.io.contents import parse_options, table_trouble
from wisecrowd.io.feature_columns import (
    Asked,
    Columns,
    Parts,
    features_and_ids,
    index_columns,
)
from wisecrowd.io.feature_roles import (
    CLASS_NAMES,
    ITEM_NAMES,
    usual_id_name,
)
from wisecrowd.io.ids import GivenIds, given_ids
from wisecrowd.io.sources import (
    MISSING,
    Source,
    errors_of_parquet,
    errors_that_name,
    recognised,
)

MOST_PACKED = 1100  # deflate makes data at most 1032 times smaller
OBJECTS = (
    "an array in it holds Python objects, which are not loaded for safety. Save ids as "
    "text, e.g. np.array(ids, dtype=str), and features as numbers."
)
FEATURE_NAMES = ("x", "features", "embeddings", "data", "arr_0")


def read_features(
    path: str | PathLike[str],
    *,
    item: str | None = None,
    ids: GivenIds | None = None,
    key: str | None = None,
    columns: Sequence[str] | str | None = None,
    leave_out: Sequence[str] | str = (),
) -> tuple[Array, Array | None]:
    r"""Read a table of features, and the ids of its rows if the file has ids.

    Parameters
    ----------
    path : path
        A ``.npy``, ``.npz``, CSV, TSV, Parquet or HDF5 file, recognised by its content.
    item : str, optional
        The column (or array) of the item ids. Default: the one called item, task,
        subject, id, index, filename or similar, otherwise the only column of text.
    ids : sequence or path, optional
        The ids of the rows, if the file has none (such as ``.npy``): a list, or a file
        with one per line.
    key : str, optional
        The array of features in an npz or HDF5 file, or the column of vectors in a
        Parquet file. Default: the only one, or the one called X, features, embeddings
        or data.
    columns : sequence of str, optional
        The columns of a table that are the features, in this order; "all" for all
        columns of numbers. Default: the columns of numbers, except those that are
        called like a class (gold, label, ...), other ids, the index of a DataFrame,
        and times. :func:`read_feature_table` returns the names.
    leave_out : sequence of str, optional
        Columns that are not features.

    Returns
    -------
    X : array of shape (N, D)
        The features: float32 if they are float32 in the file, otherwise float64.
    items : array of length N, or None
        The ids: whole numbers or text.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "features.csv"
    >>> _ = path.write_text("item,width,height\na,1,2.5\nb,3,4\n")
    >>> X, items = read_features(path)
    >>> X.tolist(), items.tolist()
    ([[1.0, 2.5], [3.0, 4.0]], ['a', 'b'])
    """
    asked = Asked.by_user(item, ids, key, columns, leave_out)
    found = features_in(path, asked)
    return found.X, found.ids


def features_in(path: str | PathLike[str], asked: Asked) -> Parts:
    """Return the features and ids of a file, with the names of the columns."""
    with errors_that_name(path):
        source = recognised(path)
        if source.kind not in READERS:
            raise InputError(
                f"this is {source.kind}, and features are read from npy, npz, CSV, "
                f"Parquet or HDF5 files."
            )
        found = READERS[source.kind](source, asked)
        ids = ids_of_rows(found.ids, asked, len(found.X))
        return found._replace(X=_checked_features(found.X, ids, found.names), ids=ids)


# -- checks ---------------------------------------------------------------------


def ids_of_rows(found: Array | None, asked: Asked, n_rows: int) -> Array | None:
    """Return the ids of the rows: given, or found in the file; one per row."""
    items = found if asked.ids is None else given_ids(asked.ids, n_rows)
    if items is None:
        return None
    if len(items) != n_rows:
        raise InputError(f"there are {len(items):,} item ids for {n_rows:,} rows.")
    ids = vocabulary_values(items, "item")
    twice = pd.Series(ids).duplicated().to_numpy()
    if twice.any():
        first = int(twice.argmax())
        raise InputError(
            f"{int(twice.sum()):,} item ids occur more than once: "
            f"{listed(pd.unique(ids[twice]), 5)} (row {first + 1:,} is the first "
            f"repeat). Keep one row per item."
        )
    return ids


def _checked_features(X: Array, items: Array | None, names: list[str]) -> Array:
    if X.ndim != 2:
        raise InputError(
            f"features have two axes (items, features); this array has {X.ndim} (shape "
            f"{X.shape}). Reshape it, e.g. X.reshape(len(X), -1), and save it again."
        )
    if X.dtype.kind not in "fiub":
        raise InputError(f"features are numbers; this array has the type {X.dtype}.")
    if not X.size:
        raise InputError(f"the table is empty: its shape is {X.shape}.")
    X = np.asarray(X, np.float32 if X.dtype == np.float32 else np.float64)
    odd = not_finite(X)
    if odd is None:
        return X
    row, column, n_bad = odd
    who = "" if items is None else f" (item {listed([items[row]])})"
    which = f"column {names[column]!r}" if names else f"column {column}"
    raise InputError(
        f"{n_bad:,} of {X.size:,} values are missing or not finite; the "
        f"first is {X[row, column]} in row {row + 1:,}{who}, {which}. Fill them in "
        f"(for example with the column's mean) or leave those items out."
    )


# -- arrays ---------------------------------------------------------------------


@contextmanager
def broken_in_one_sentence() -> Iterator[None]:
    """Say what is wrong with a file of NumPy, whatever error a broken one causes."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if "allow_pickle" in str(error) or "Python objects" in str(error):
            raise InputError(OBJECTS) from None
        raise InputError(
            f"the file is broken, or not an array of NumPy: {error}. Save it again."
        ) from None


def _from_npy(source: Source, asked: Asked) -> Parts:
    check_one_array(asked)
    with broken_in_one_sentence():
        with source.path.open("rb") as file:
            checked_shape(file, "the array", source.path.stat().st_size)
        # Mapped first: a shape that the file does not have is then an error.
        mapped = np.load(source.path, mmap_mode="r", allow_pickle=False)
        return Parts(np.array(mapped), None, [], {})


def check_one_array(asked: Asked) -> None:
    """Refuse names of columns for an array, which has none."""
    _check_no_columns(asked)
    if asked.item is not None:
        raise InputError(
            f"item={asked.item!r} cannot be used: this is one array, without names. "
            f"Give the ids of its rows as a list, or in a file, with ids=."
        )


def _check_no_columns(asked: Asked) -> None:
    if asked.columns or asked.leave_out:
        raise InputError(
            "columns= and leave_out= are for tables, and these are arrays. Choose an "
            "array with key=."
        )


def _from_npz(source: Source, asked: Asked) -> Parts:
    with (
        broken_in_one_sentence(),
        source.path.open("rb") as file,  # opened here: NumPy leaves a broken file open
        np.load(file, allow_pickle=False) as kept,
    ):
        _check_sizes(kept.zip)
        arrays = {name: np.asarray(kept[name]) for name in kept.files}
    shapes = {name: array.shape for name, array in arrays.items()}
    return _from_arrays(shapes, arrays.__getitem__, asked)


def _check_sizes(archive: Any) -> None:
    """Refuse an archive that is larger, unpacked, than its bytes can make it."""
    for member in archive.infolist():
        if not member.filename.endswith(".npy"):
            continue
        if member.file_size > MOST_PACKED * (member.compress_size + 1024):
            raise InputError(
                f"the array {member.filename!r} declares {member.file_size:,} bytes, "
                f"which {member.compress_size:,} bytes cannot hold. The file is broken."
            )
        with archive.open(member) as file:
            checked_shape(file, f"the array {member.filename!r}", member.file_size)


def checked_shape(file: Any, what: str, n_stored: int) -> tuple[Any, bool, Any]:
    """Return shape, whether columns come first, and type of an array of NumPy.

    Refuse one whose header declares more bytes than there are.
    """
    version = np.lib.format.read_magic(file)
    header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, by_column, kind = header(file)
    n_bytes = math.prod(shape) * kind.itemsize
    if n_bytes > n_stored and not kind.hasobject:
        raise InputError(
            f"{what} declares the shape {shape}, {n_bytes:,} bytes, and has "
            f"{n_stored:,}. The file is broken."
        )
    return shape, by_column, kind


def _from_hdf5(source: Source, asked: Asked) -> Parts:
    shapes: dict[str, tuple[int, ...]] = {}

    def visit(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset) and node.shape is not None:
            shapes[name] = node.shape

    try:
        with h5py.File(source.path, "r") as file:
            file.visititems(visit)
            return _from_arrays(shapes, lambda name: _h5_values(file[name]), asked)
    except InputError:
        raise
    except (OSError, KeyError, RuntimeError, ValueError, TypeError) as error:
        raise InputError(
            f"the HDF5 file is broken ({error}). Write it again."
        ) from None


def _h5_values(dataset: Any) -> Array:
    if dataset.external or dataset.is_virtual:
        raise InputError(
            f"the array {dataset.name!r} takes its numbers from another file of this "
            f"machine, which is not read for safety. Save a copy with all numbers in "
            f"one file."
        )
    n_bytes, n_stored = dataset.nbytes, dataset.id.get_storage_size()
    if n_bytes > MOST_PACKED * (n_stored + 1024):
        raise InputError(
            f"the array {dataset.name!r} declares the shape {dataset.shape}, "
            f"{n_bytes:,} bytes, and the file holds {n_stored:,} of them."
        )
    if h5py.check_string_dtype(dataset.dtype) is not None:
        return np.asarray(dataset.asstr()[()], dtype=object)
    return np.asarray(dataset[()])


def _from_arrays(
    shapes: Mapping[str, tuple[int, ...]], load: Callable[[str], Array], asked: Asked
) -> Parts:
    _check_no_columns(asked)
    key = _feature_key(shapes, asked.key)
    X = load(key)
    names = _names_key(shapes, key)
    ids = _id_key(shapes, asked.item, (key, names), len(X))
    others = [name for name in shapes if name not in (key, ids, names)]
    return Parts(
        X,
        None if ids is None else _decoded(load(ids)),
        [] if names is None else [str(name) for name in _decoded(load(names))],
        {
            n: "the class" if _last(n) in CLASS_NAMES else "another array"
            for n in others
        },
    )


def _last(name: str) -> str:
    """Return the name of an array without its groups."""
    return name.rsplit("/", maxsplit=1)[-1].lower()


def _names_key(shapes: Mapping[str, tuple[int, ...]], key: str) -> str | None:
    """Return the array of the names of the features: one for each column."""
    n_rows, n_features = shapes[key] if len(shapes[key]) == 2 else (0, 0)
    for name, shape in shapes.items():
        usual = _last(name) in ("feature_names", "columns") or (
            _last(name) in ("names", "name") and n_rows != n_features
        )
        if usual and shape == (n_features,):
            return name
    return None


def _feature_key(shapes: Mapping[str, tuple[int, ...]], key: str | None) -> str:
    """Return the name of the array: given, the only one with two axes, or usual."""
    shown = ", ".join(f"{named(name)} {shape}" for name, shape in shapes.items())
    if not shapes:
        raise InputError(
            "there is no array of numbers in it. (Links to other files are not "
            "followed.) Save the features in this file."
        )
    if key is not None:
        if key not in shapes:
            raise InputError(f"there is no array {key!r}; there are {shown}.")
        return key
    tables = [name for name, shape in shapes.items() if len(shape) == 2]
    usual = [n for n in tables if n.rsplit("/")[-1].lower() in FEATURE_NAMES]
    for names in (tables, usual):
        if len(names) == 1:
            return names[0]
    if not tables:
        raise InputError(
            f"no array in it has two axes (items, features); there are {shown}. "
            f"Reshape one and save it again."
        )
    raise InputError(
        f"several arrays could be the features: {shown}. Choose one with key=."
    )


def _id_key(
    shapes: Mapping[str, tuple[int, ...]],
    item: str | None,
    used: Sequence[str | None],
    n_rows: int,
) -> str | None:
    if item is not None:
        if item not in shapes:
            raise InputError(f"there is no array {item!r}; there are {listed(shapes)}.")
        return item
    usual = {_last(name): name for name in shapes if name not in used}
    lists = {k: name for k, name in usual.items() if shapes[name] == (n_rows,)}
    found = next((lists[name] for name in ITEM_NAMES if name in lists), None)
    wrong = next((usual[name] for name in ITEM_NAMES if name in usual), None)
    if found is None and wrong is not None:
        raise InputError(
            f"the array {wrong!r} is called like item ids, and its shape is "
            f"{shapes[wrong]} where {n_rows:,} ids were expected, one per row. Correct "
            f"it, give it another name, or name the ids with item=."
        )
    return found


def _decoded(ids: Array) -> Array:
    """Return ids as integers or text; bytes are decoded."""
    if ids.dtype.kind == "S":
        return np.char.decode(ids, "utf-8").astype(object)
    return ids.astype(object) if ids.dtype.kind == "U" else ids


# -- tables ---------------------------------------------------------------------


def _from_table(source: Source, asked: Asked) -> Parts:
    item, columns = asked.item, asked.columns
    if item is not None:
        check_column(item, source.columns, "item")
    elif source.with_header:
        item = usual_id_name([c for c in source.columns if c not in (columns or ())])
    else:
        columns = columns or ["all"]  # without names there is nothing to go by
    convert = pacsv.ConvertOptions(
        column_types={} if item is None else {item: pa.string()},
        null_values=list(MISSING),
        strings_can_be_null=True,
    )
    try:
        table = pacsv.read_csv(str(source.path), *parse_options(source), convert)
    except pa.ArrowInvalid as error:
        raise InputError(table_trouble(source, str(error))) from None
    found = features_and_ids(
        Columns.of_table(table), asked._replace(item=item, columns=columns)
    )
    ids = found.ids
    if ids is not None and ids.dtype.kind == "O":
        ids = retyped([unmarked(i) if isinstance(i, str) else i for i in ids])
    return found._replace(ids=ids, names=found.names if source.with_header else [])


def _from_parquet(source: Source, asked: Asked) -> Parts:
    with (
        errors_of_parquet(),
        pq.ParquetFile(source.path, buffer_size=1 << 16, pre_buffer=False) as file,
    ):
        columns = Columns.of_parquet(file)
        return features_and_ids(columns, asked_of_parquet(columns, asked))


def asked_of_parquet(columns: Columns, asked: Asked) -> Asked:
    """Return what was asked for, with the column of ids: named, an index, or usual."""
    known = columns.schema.names
    if asked.item is not None:
        check_column(asked.item, known, "item")
    index = [name for name in index_columns(columns.schema) if isinstance(name, str)]
    item = index[0] if len(index) == 1 and index[0] in known else None
    free = [name for name in known if name not in (asked.columns or ())]
    return asked._replace(item=asked.item or item or usual_id_name(free))


READERS: dict[str, Callable[[Source, Asked], Parts]] = {
    "npy": _from_npy,
    "zip": _from_npz,
    "hdf5": _from_hdf5,
    "parquet": _from_parquet,
    "table": _from_table,
}
