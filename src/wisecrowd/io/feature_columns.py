"""Tables of features: which columns are ids, and the others as one array of numbers."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wisecrowd._checks import InputError, listed
from wisecrowd._types import Array
from wisecrowd.annotations.headers import ALIASES, first_named
from wisecrowd.io.sources import NUMBER, range_index

ITEM_NAMES = (
    *ALIASES["item"], "items", "ids", "id", "index", "name", "names",
    "filename", "unnamed: 0", "__index_level_0__", "",
)  # fmt: skip
"""The names by which a column, or an array, of item ids is recognised."""
BATCH_ROWS = 2048  # vectors that are in memory twice while they are copied into X

Parts = tuple[Array, Array | None, list[str]]  # features, ids, names of the columns


class Columns(NamedTuple):
    """The columns of a file, read one at a time, whole or in batches of rows.

    Attributes
    ----------
    schema : Arrow schema
        Names and types.
    n_rows : int
        The number of rows.
    column : function
        From a name to an Arrow column.
    batches : function
        From a name to an Arrow column in pieces.
    """

    schema: Any
    n_rows: int
    column: Callable[[str], Any]
    batches: Callable[[str], Iterable[Any]]

    @classmethod
    def of_table(cls, table: Any) -> "Columns":
        """Return the columns of a table in memory."""
        return cls(
            table.schema,
            table.num_rows,
            table.column,
            lambda name: table.column(name).chunks,
        )

    @classmethod
    def of_parquet(cls, file: Any) -> "Columns":
        """Return the columns of a Parquet file, and the index of its DataFrame."""
        n_rows, schema = file.metadata.num_rows, file.schema_arrow
        index = range_index(schema, n_rows)
        for name, ids in index.items():
            schema = schema.append(pa.field(name, ids.type))
        return cls(
            schema,
            n_rows,
            lambda name: index.get(name) or file.read([name]).column(name),
            lambda name: (
                b[name] for b in file.iter_batches(BATCH_ROWS, columns=[name])
            ),
        )


def features_and_ids(columns: Columns, named: str | None, key: str | None) -> Parts:
    """Return the numbers and the ids; `named` is the column of ids, if it is known."""
    if not columns.n_rows:
        raise InputError("there are no rows in it.")
    vectors = [f.name for f in columns.schema if _is_vector(f.type)]
    text = [
        f.name
        for f in columns.schema
        if not (_is_number(f.type) or _is_vector(f.type) or f.name == named)
    ]
    if named is None and len(text) == 1:
        named, text = text[0], []
    ids = None if named is None else _values(columns.column(named))
    if key is not None or vectors:
        return _vectors(columns, _vector_name(columns, vectors, key)), ids, []
    if text:
        raise InputError(
            f"{len(text)} columns hold no numbers: "
            f"{', '.join(_example(columns, name) for name in text[:5])}. Features are "
            f"numbers: drop those columns or turn them into numbers (one-hot)."
            f"{'' if named else ' Name the column of item ids with item=.'}"
        )
    names = [name for name in columns.schema.names if name != named]
    if not names:
        raise InputError(f"besides the item ids ({named!r}) there is no column.")
    return _numbers(columns, names), ids, names


def usual_id_name(columns: Sequence[str]) -> str | None:
    """Return the column that is called as ids usually are."""
    return first_named(reversed(columns), ITEM_NAMES)  # of "id" and "ID", the first


# -- inside ---------------------------------------------------------------------


def _values(column: Any) -> Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _is_number(kind: Any) -> bool:
    return any(
        is_kind(kind)
        for is_kind in (
            pa.types.is_integer, pa.types.is_floating,
            pa.types.is_boolean, pa.types.is_null, pa.types.is_decimal,
        )
    )  # fmt: skip


def _is_vector(kind: Any) -> bool:
    return (
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
    )


def _float_type(*kinds: Any) -> Any:
    """Return float32 if all of these Arrow types are, otherwise float64."""
    return np.float32 if set(kinds) == {pa.float32()} else np.float64


def _floats(values: Any, kind: Any) -> Array:
    """Return an Arrow array as NumPy's; missing values are NaN."""
    return _values(values.cast(pa.from_numpy_dtype(kind), safe=False))


def _numbers(columns: Columns, names: list[str]) -> Array:
    """Return the columns side by side; float32 if all of them are."""
    kind = _float_type(*(columns.schema.field(name).type for name in names))
    X = np.empty((columns.n_rows, len(names)), dtype=kind)
    for i, name in enumerate(names):
        X[:, i] = _floats(columns.column(name), kind)
    return X


def _vector_name(columns: Columns, vectors: list[str], key: str | None) -> str:
    if key is not None and key in vectors:
        return key
    if key is None and len(vectors) == 1:
        return vectors[0]
    raise InputError(
        f"the features should be one column of vectors, and these are: "
        f"{listed(vectors) or 'none'} (of {listed(columns.schema.names, 20)}). "
        f"Choose one with key=."
    )


def _vectors(columns: Columns, name: str) -> Array:
    """Return a column of vectors as an array, copied from Arrow's flat values.

    Python lists of the same numbers would take nine times the memory.
    """
    kind = columns.schema.field(name).type.value_type
    if not _is_number(kind):
        raise InputError(f"the vectors in column {name!r} hold {kind}, not numbers.")
    X = np.empty((columns.n_rows, 0))
    row = 0
    for vectors in columns.batches(name):
        n_values = pc.list_value_length(vectors).fill_null(-1).to_numpy()
        if not row and len(vectors):
            X = np.empty((columns.n_rows, max(n_values[0], 0)), _float_type(kind))
        _check_lengths(n_values, X.shape[1], row, name)
        rows = slice(row, row + len(vectors))
        X[rows] = _floats(vectors.flatten(), X.dtype).reshape(len(vectors), X.shape[1])
        row = rows.stop
    return X


def _check_lengths(n_values: Array, wanted: int, first_row: int, name: str) -> None:
    """Refuse vectors that do not have as many values as the first; -1 is no vector."""
    odd = np.flatnonzero(n_values != wanted)
    if not len(odd):
        return
    row, n_odd = first_row + int(odd[0]) + 1, n_values[odd[0]]
    if n_odd < 0:
        raise InputError(f"row {row:,} has no vector (column {name!r}). Drop the row.")
    raise InputError(
        f"the vectors in column {name!r} differ in length: row 1 has {wanted} values, "
        f"row {row:,} has {n_odd}."
    )


def _example(columns: Columns, name: str) -> str:
    """Return the first value of a column that is not a number, and its row."""
    for row, value in enumerate(columns.column(name).to_pylist(), start=1):
        if value is not None and not NUMBER.fullmatch(str(value).strip()):
            return f"{name!r} (such as {str(value)[:40]!r} in row {row:,})"
    return f"{name!r} ({columns.schema.field(name).type})"
