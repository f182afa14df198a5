"""Tables of features: which columns are ids, and the others as one array of numbers."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from wisecrowd._checks import InputError, listed, with_reasons
from wisecrowd._types import Array
from wisecrowd.annotations.headers import check_column
from wisecrowd.io import feature_roles as roles
from wisecrowd.io.ids import GivenIds
from wisecrowd.io.sources import NUMBER

ROW_NUMBERS = range(-(2**62), 2**62)
BATCH_ROWS = 2048  # vectors that are in memory twice while they are copied into X


class Asked(NamedTuple):
    """What the user said about the columns or arrays of a file."""

    item: str | None = None
    key: str | None = None
    columns: list[str] | None = None
    leave_out: tuple[str, ...] = ()
    ids: GivenIds | None = None

    @classmethod
    def by_user(
        cls,
        item: str | None,
        ids: GivenIds | None,
        key: str | None,
        columns: Sequence[str] | str | None,
        leave_out: Sequence[str] | str,
    ) -> "Asked":
        """Return the settings of `read_features`."""
        left = tuple(roles.wanted_columns(leave_out) or ())
        return cls(item, key, roles.wanted_columns(columns), left, ids)


class Parts(NamedTuple):
    """Features, ids, the names of the features, and the columns that are left out."""

    X: Array
    ids: Array | None
    names: list[str]
    left_out: dict[str, str]


class Columns(NamedTuple):
    """The columns of a file, read one at a time, whole or in batches of rows.

    `first` is the number of its first row, if it is a part of a file.
    """

    schema: Any
    n_rows: int
    column: Callable[[str], Any]
    batches: Callable[[str], Iterable[Any]]
    first: int = 0

    @classmethod
    def of_table(cls, table: Any, first: int = 0) -> "Columns":
        """Return the columns of a table in memory."""
        return cls(
            table.schema,
            table.num_rows,
            table.column,
            lambda name: table.column(name).chunks,
            first,
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


class Chosen(NamedTuple):
    """Which columns are the features, the ids of the rows, and what is left out."""

    columns: list[str]
    of_vectors: bool  # one column, whose values are vectors
    ids: Array | None
    left_out: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The names of the features; none for vectors."""
        return [] if self.of_vectors else self.columns

    def values(self, columns: Columns) -> Array:
        """Return the features: float32 if all of them are, else float64."""
        if self.of_vectors:
            return _vectors(columns, self.columns[0])
        return _numbers(columns, self.columns)

    def kind(self, schema: Any) -> Any:
        """Return the type of the features."""
        kinds = [schema.field(name).type for name in self.columns]
        return _float_type(*(k.value_type if self.of_vectors else k for k in kinds))


def features_and_ids(columns: Columns, asked: Asked) -> Parts:
    """Return the numbers and the ids; `asked.item` is the column of ids, if known."""
    found = chosen_columns(columns, asked)
    return Parts(found.values(columns), found.ids, found.names, found.left_out)


def chosen_columns(columns: Columns, asked: Asked) -> Chosen:
    """Return which columns are the features, and the ids."""
    if not columns.n_rows:
        raise InputError("there are no rows in it.")
    key, wanted, leave_out = asked.key, asked.columns, asked.leave_out
    for name in leave_out:
        check_column(name, columns.schema.names, "columns to leave out")
    named, text = _id_and_text(columns, asked)
    vectors = [f.name for f in columns.schema if _is_vector(f.type)]
    others = [n for n in columns.schema.names if n not in (named, *leave_out)]
    if key is not None or (vectors and wanted is None):
        name = _vector_name(columns, vectors, key)
        ids = None if named is None else _values(columns.column(named))
        unused = {n: "not the vectors" for n in others if n != name}
        return Chosen([name], True, ids, unused)
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
    return _columns_of_numbers(columns, named, others, asked)


def _id_and_text(columns: Columns, asked: Asked) -> tuple[str | None, list[str]]:
    """Return the column of ids, if any, and the other columns that are no numbers."""
    named, wanted, leave_out = asked.item, asked.columns, asked.leave_out
    used = [n for n in wanted or () if n != "all"]
    text = [
        f.name
        for f in columns.schema
        if not (_is_number(f.type) or _is_vector(f.type) or types.is_temporal(f.type))
        and f.name not in (named, *leave_out)
    ]
    if named is None and len(text) == 1 and text[0] not in used:
        return text[0], []
    return named, [name for name in text if not used or name in used]


def _columns_of_numbers(
    columns: Columns, named: str | None, others: list[str], asked: Asked
) -> Chosen:
    wanted = asked.columns

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
    unused |= dict.fromkeys(asked.leave_out, "leave_out=")
    if not names:
        shown = with_reasons(unused)
        raise InputError(
            f"there is no feature in it. Left out: {shown or 'nothing'}. To use such a "
            f"column all the same, name it with columns=."
        )
    return Chosen(names, False, ids, unused)


# -- inside ---------------------------------------------------------------------


def _values(column: Any) -> Array:
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _is_number(kind: Any) -> bool:
    plain = types.is_integer, types.is_floating, types.is_boolean
    return any(fits(kind) for fits in (*plain, types.is_null, types.is_decimal))


def _is_vector(kind: Any) -> bool:
    lists = types.is_list, types.is_large_list, types.is_fixed_size_list
    return any(fits(kind) for fits in lists)


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
        odd = np.flatnonzero(n_values != X.shape[1])  # -1 is no vector
        if len(odd):
            where = f"{columns.first + row + int(odd[0]) + 1:,}"
            n_odd = n_values[odd[0]]
            column = f"column {listed([name])}"
            raise InputError(
                f"row {where} has no vector ({column}). Drop the row."
                if n_odd < 0
                else f"the vectors in {column} differ in length: row 1 has "
                f"{X.shape[1]} values, row {where} has {n_odd}."
            )
        rows = slice(row, row + len(vectors))
        X[rows] = _floats(vectors.flatten(), X.dtype).reshape(len(vectors), X.shape[1])
        row = rows.stop
    return X


def _example(columns: Columns, name: str) -> str:
    """Return the first value of a column that is not a number, and its row."""
    for row, value in enumerate(columns.column(name).to_pylist(), start=1):
        if value is not None and not NUMBER.fullmatch(str(value).strip()):
            return f"{listed([name])} (such as {str(value)[:40]!r} in row {row:,})"
    return f"{listed([name])} ({columns.schema.field(name).type})"
