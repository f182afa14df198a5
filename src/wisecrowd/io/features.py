"""Feature tables from files: rows are items, columns are numbers."""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any
from zipfile import BadZipFile

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from wisecrowd._checks import InputError, listed, vocabulary_values
from wisecrowd._types import Array
from wisecrowd.annotations.headers import check_column
from wisecrowd.features import first_not_finite
from wisecrowd.io.columns import retyped
from wisecrowd.io.feature_columns import (
    ITEM_NAMES,
    Columns,
    Parts,
    features_and_ids,
    usual_id_name,
)
from wisecrowd.io.sources import (
    MISSING,
    Source,
    errors_of_parquet,
    errors_that_name,
    parse_options,
    recognised,
    table_trouble,
)

FEATURE_NAMES = ("x", "features", "embeddings", "data", "arr_0")


def read_features(
    path: str | PathLike[str], *, item: str | None = None, key: str | None = None
) -> tuple[Array, Array | None]:
    r"""Read a table of features, and the ids of its rows if the file has ids.

    Parameters
    ----------
    path : path
        A ``.npy``, ``.npz``, CSV, TSV, Parquet or HDF5 file, recognised by its content.
    item : str, optional
        The column (or array) of the item ids. Default: the one called item, task,
        subject, id, index, filename or similar, otherwise the only column of text.
    key : str, optional
        The array of features in an npz or HDF5 file, or the column of vectors in a
        Parquet file. Default: the only one, or the one called X, features, embeddings
        or data.

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
    X, items, _ = named_features(path, item, key)
    return X, items


def named_features(
    path: str | PathLike[str], item: str | None = None, key: str | None = None
) -> tuple[Array, Array | None, list[str] | None]:
    """Return what :func:`read_features` does, and the names of the columns.

    None if the columns have no names: in arrays, in vectors, without a header.
    """
    with errors_that_name(path):
        source = recognised(path)
        if source.kind not in READERS:
            raise InputError(
                f"this is {source.kind}, and features are read from npy, npz, CSV, "
                f"Parquet or HDF5 files."
            )
        X, items, names = READERS[source.kind](source, item, key)
        if items is not None:
            items = _checked_ids(items, len(X))
        named = names and (source.kind != "table" or source.with_header)
        return _checked_features(X, items, names), items, names if named else None


# -- checks ---------------------------------------------------------------------


def _checked_ids(items: Array, n_rows: int) -> Array:
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
    kept = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    X = np.asarray(X, dtype=kept)
    _check_finite(X, items, names)
    return X


def _check_finite(X: Array, items: Array | None, names: list[str]) -> None:
    place = first_not_finite(X)
    if place is None:
        return
    row, column = place
    n_bad = int((~np.isfinite(X)).sum())
    who = "" if items is None else f" (item {listed([items[row]])})"
    which = f"column {names[column]!r}" if names else f"column {column}"
    raise InputError(
        f"{n_bad:,} of {X.size:,} values are missing or not finite; the "
        f"first is {X[row, column]} in row {row + 1:,}{who}, {which}. Fill them in "
        f"(for example with the column's mean) or leave those items out."
    )


# -- arrays ---------------------------------------------------------------------


def _from_npy(source: Source, item: str | None, key: str | None) -> Parts:
    try:
        return np.load(source.path, allow_pickle=False), None, []
    except ValueError as error:
        raise InputError(_load_trouble(error)) from None


def _from_npz(source: Source, item: str | None, key: str | None) -> Parts:
    try:
        # opened here: NumPy leaves a broken file open
        with source.path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            arrays = {name: np.asarray(kept[name]) for name in kept.files}
    except (ValueError, KeyError, BadZipFile) as error:
        raise InputError(_load_trouble(error)) from None
    shapes = {name: array.shape for name, array in arrays.items()}
    return _from_arrays(shapes, arrays.__getitem__, item, key)


def _load_trouble(error: Exception) -> str:
    if "allow_pickle" in str(error):
        return (
            "an array in it holds Python objects, which are not loaded for safety. "
            "Save ids as text, e.g. np.array(ids, dtype=str), and features as numbers."
        )
    return f"the file is broken, or not an array of NumPy: {error}. Save it again."


def _from_hdf5(source: Source, item: str | None, key: str | None) -> Parts:
    with h5py.File(source.path, "r") as file:
        shapes: dict[str, tuple[int, ...]] = {}
        file.visititems(
            lambda name, node: (
                shapes.update({name: node.shape})
                if isinstance(node, h5py.Dataset)
                else None
            )
        )
        return _from_arrays(shapes, lambda name: _h5_values(file[name]), item, key)


def _h5_values(dataset: Any) -> Array:
    if h5py.check_string_dtype(dataset.dtype) is not None:
        return np.asarray(dataset.asstr()[()], dtype=object)
    return np.asarray(dataset[()])


def _from_arrays(
    shapes: Mapping[str, tuple[int, ...]],
    load: Callable[[str], Array],
    item: str | None,
    key: str | None,
) -> Parts:
    name = _feature_key(shapes, key)
    X = load(name)
    ids = _id_key(shapes, item, name, len(X))
    return X, None if ids is None else _decoded(load(ids)), []


def _feature_key(shapes: Mapping[str, tuple[int, ...]], key: str | None) -> str:
    """Return the name of the array: given, the only one with two axes, or usual."""
    shown = ", ".join(f"{name!r} {shape}" for name, shape in shapes.items())
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
    shapes: Mapping[str, tuple[int, ...]], item: str | None, used: str, n_rows: int
) -> str | None:
    if item is not None:
        if item not in shapes:
            raise InputError(f"there is no array {item!r}; there are {listed(shapes)}.")
        return item
    lists = {
        name.rsplit("/")[-1].lower(): name
        for name, shape in shapes.items()
        if shape == (n_rows,) and name != used
    }
    return next((lists[name] for name in ITEM_NAMES if name in lists), None)


def _decoded(ids: Array) -> Array:
    """Return ids as integers or text; bytes are decoded."""
    if ids.dtype.kind == "S":
        return np.char.decode(ids, "utf-8").astype(object)
    return ids.astype(object) if ids.dtype.kind == "U" else ids


# -- tables ---------------------------------------------------------------------


def _from_table(source: Source, item: str | None, key: str | None) -> Parts:
    if item is not None:
        check_column(item, source.columns, "item")
    elif source.with_header:
        item = usual_id_name(source.columns)
    convert = pacsv.ConvertOptions(
        column_types={} if item is None else {item: pa.string()},
        null_values=list(MISSING),
        strings_can_be_null=True,
    )
    try:
        table = pacsv.read_csv(str(source.path), *parse_options(source), convert)
    except pa.ArrowInvalid as error:
        raise InputError(table_trouble(source, str(error))) from None
    X, ids, names = features_and_ids(Columns.of_table(table), item, key)
    is_text = ids is not None and ids.dtype.kind == "O"
    return X, retyped(ids) if is_text else ids, names


def _from_parquet(source: Source, item: str | None, key: str | None) -> Parts:
    with (
        errors_of_parquet(),
        pq.ParquetFile(source.path, buffer_size=1 << 16, pre_buffer=False) as file,
    ):
        columns = Columns.of_parquet(file)
        if item is not None:
            check_column(item, columns.schema.names, "item")
        item = item or _pandas_index(columns) or usual_id_name(columns.schema.names)
        return features_and_ids(columns, item, key)


def _pandas_index(columns: Columns) -> str | None:
    """Return the column that was the index of a DataFrame."""
    known = (columns.schema.pandas_metadata or {}).get("index_columns", [])
    names = [name for name in known if isinstance(name, str)]
    return names[0] if len(names) == 1 and names[0] in columns.schema.names else None


READERS: dict[str, Callable[[Source, str | None, str | None], Parts]] = {
    "npy": _from_npy,
    "zip": _from_npz,
    "hdf5": _from_hdf5,
    "parquet": _from_parquet,
    "table": _from_table,
}
