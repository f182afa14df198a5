"""Tables of features: which columns are ids, and the others as one array of numbers."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wisecrowd._checks import InputError, listed, with_reasons
from wisecrowd._types import Array
from wisecrowd.annotations.headers import check_column
from wisecrowd.io import feature_roles as roles
from wisecrowd.io.sources import NUMBER, range_index

BATCH_ROWS = 2048  # vectors that are in memory twice while they are copied into X


class Parts(NamedTuple):
    """Features, ids, the names of the features, and the columns that are left out."""

    X: Array
    ids: Array | None
    names: list[str]
    left_out: dict[str, str]


class Columns(NamedTuple):
    """The columns of a file, read one at a time, whole or in batches of rows."""

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


def features_and_ids(
    columns: Columns,
    named: str | None = None,
    key: str | None = None,
    wanted: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
) -> Parts:
    """Return the numbers and the ids.

    `named` is the column of ids, if it is known, and `key` that of vectors. `wanted`
    are the features, in this order; ["all"] for all columns of numbers.
    """
    if not columns.n_rows:
        raise InputError("there are no rows in it.")
    for name in leave_out:
        check_column(name, columns.schema.names, "columns to leave out")
    named, text = _id_and_text(columns, named, wanted, leave_out)
    vectors = [f.name for f in columns.schema if _is_vector(f.type)]
    others = [n for n in columns.schema.names if n not in (named, *leave_out)]
    if key is not None or (vectors and wanted is None):
        name = _vector_name(columns, vectors, key)
        ids = None if named is None else _values(columns.column(named))
        unused = {n: "not the vectors" for n in others if n != name}
        return Parts(_vectors(columns, name), ids, [], unused)
    if text:
        raise InputError(
            f"{len(text)} columns hold no numbers: "
            f"{', '.join(_example(columns, name) for name in text[:5])}. Features are "
            f"numbers: leave those columns out (leave_out=), name the features "
            f"(columns=), or turn them into numbers (one-hot)."
            f"{'' if named else ' Name the column of item ids with item=.'}"
        )
    if not others:
        raise InputError(f"besides the item ids ({named!r}) there is no column.")
    return _columns_of_numbers(columns, named, others, wanted, leave_out)


def _id_and_text(
    columns: Columns,
    named: str | None,
    wanted: Sequence[str] | None,
    leave_out: Sequence[str],
) -> tuple[str | None, list[str]]:
    """Return the column of ids, if any, and the other columns that are no numbers."""
    used = [n for n in wanted or () if n != "all"]
    text = [
        f.name
        for f in columns.schema
        if not (_is_number(f.type) or _is_vector(f.type) or _is_time(f.type))
        and f.name not in (named, *leave_out)
    ]
    if named is None and len(text) == 1 and text[0] not in used:
        return text[0], []
    return named, [name for name in text if not used or name in used]


def _columns_of_numbers(
    columns: Columns,
    named: str | None,
    others: list[str],
    wanted: Sequence[str] | None,
    leave_out: Sequence[str],
) -> Parts:
    def values(name: str) -> Array:
        return _floats(columns.column(name), np.float64)

    kinds = columns.schema.field
    numbers = [n for n in others if _is_number(kinds(n).type)]
    if named is None and wanted is None:
        known = roles.left_out(numbers, columns.schema, values)
        could_be = [n for n in numbers if known.get(n, "ids") == "ids"]
        roles.check_no_unknown_ids(could_be, values)
    if named is None:
        named = roles.index_name([n for n in numbers if n not in (wanted or ())])
    ids = None if named is None else _values(columns.column(named))
    others = [n for n in others if n != named]
    if wanted is None:
        unused = roles.left_out(others, columns.schema, values)
        names = [n for n in others if n not in unused]
    else:
        names = roles.chosen([n for n in numbers if n != named], wanted)
        unused = {n: "not in columns=" for n in others if n not in names}
    unused |= dict.fromkeys(leave_out, "leave_out=")
    if not names:
        shown = with_reasons(unused)
        raise InputError(
            f"there is no feature in it. Left out: {shown or 'nothing'}. To use such a "
            f"column all the same, name it with columns=."
        )
    return Parts(_numbers(columns, names), ids, names, unused)


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


def _is_time(kind: Any) -> bool:
    return bool(pa.types.is_temporal(kind))


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
        raise InputError(
            f"the vectors in column {listed([name])} hold {kind}, not numbers."
        )
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
        raise InputError(
            f"row {row:,} has no vector (column {listed([name])}). Drop the row."
        )
    raise InputError(
        f"the vectors in column {listed([name])} differ in length: row 1 has {wanted} "
        f"values, row {row:,} has {n_odd}."
    )


def _example(columns: Columns, name: str) -> str:
    """Return the first value of a column that is not a number, and its row."""
    for row, value in enumerate(columns.column(name).to_pylist(), start=1):
        if value is not None and not NUMBER.fullmatch(str(value).strip()):
            return f"{listed([name])} (such as {str(value)[:40]!r} in row {row:,})"
    return f"{listed([name])} ({columns.schema.field(name).type})"
