"""What a table is that a user hands in: a long table, triples or a matrix."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow.interchange import from_dataframe

from wisecrowd._checks import InputError, counted, listed
from wisecrowd._types import Array
from wisecrowd.annotations.headers import ALIASES, first_named

FEW = 4  # rows; fewer show nothing about how a table is made
HOW = (
    "If each row is an item, an annotator and an answer, pass "
    "Annotations.from_triples(item, annotator, answer), with the three columns. If "
    "there is one row per item and one column per annotator, pass "
    "Annotations.from_matrix(table, classes=[...])."
)


def has_columns(table: Any) -> bool:
    """Return whether this is a table with named columns, of whatever library.

    pandas, polars, pyarrow, DuckDB and others have the Arrow PyCapsule interface or the
    dataframe interchange protocol. A dictionary of columns, a list of records and a
    structured array are tables too.
    """
    if isinstance(table, pd.DataFrame):
        return True
    if isinstance(table, Mapping):
        return _is_dict_of_columns(table)
    if isinstance(table, np.ndarray):
        return table.dtype.names is not None
    if isinstance(table, list | tuple):
        return bool(table) and all(isinstance(row, Mapping) for row in table)
    # "or" would ask for the truth of an Index, which some libraries have here
    named = any(
        getattr(table, name, None) is not None for name in ("columns", "column_names")
    )
    return named and getattr(table, "ndim", 2) == 2


def as_frame(table: Any) -> pd.DataFrame:
    """Return a table with columns as a DataFrame of pandas."""
    if isinstance(table, pd.DataFrame):
        return table
    try:
        if isinstance(table, Mapping | np.ndarray | list | tuple):
            return pd.DataFrame(table)
        if isinstance(table, pa.Table | pa.RecordBatch):
            return table.to_pandas()
        if hasattr(table, "__arrow_c_stream__"):
            return pa.table(table).to_pandas()
        if hasattr(table, "__dataframe__"):
            return from_dataframe(table).to_pandas()
    except (ValueError, TypeError, NotImplementedError, RuntimeError) as error:
        raise InputError(
            f"the {type(table).__name__} cannot be read as a table of columns "
            f"({error}). Turn it into a pandas DataFrame first."
        ) from None
    raise InputError(
        f"a {type(table).__name__} has columns, but cannot be read as it is. Collect "
        f"it, or turn it into a pandas DataFrame, first."
    )


def is_indexed(answers: Any) -> bool:
    """Return whether the index of a Series says which item its answers are about.

    An index of one level is that of the rows, unless it is called like the items and
    has one of them twice.
    """
    if not isinstance(answers, pd.Series):
        return False
    index = answers.index
    named = first_named([index.name], ALIASES["item"]) is not None
    return index.nlevels > 1 or (named and not index.is_unique)


def series_frame(answers: "pd.Series[Any]") -> pd.DataFrame:
    """Return a Series whose index is the item and the annotator as a long table.

    Examples
    --------
    >>> names = ["task", "worker"]
    >>> pairs = pd.MultiIndex.from_tuples([(1, "a"), (1, "b")], names=names)
    >>> series_frame(pd.Series(["cat", "dog"], index=pairs)).columns.tolist()
    ['task', 'worker', 'answer']
    """
    names = answers.index.names
    known = [first_named(names, ALIASES[role]) for role in ("item", "annotator")]
    if None in known or answers.index.nlevels > 2:
        raise InputError(
            f"the answers are a Series with the index {listed(names)}: which is the "
            f"item, and which the annotator? Call two levels so, "
            f"answers.rename_axis(['item', 'annotator']), or pass a long table."
        )
    return answers.rename("answer").reset_index()


def is_long_table(frame: pd.DataFrame) -> bool:
    """Return whether a table has a column for the item, annotator and answer each."""
    return all(
        first_named(frame.columns, names) is not None for names in ALIASES.values()
    )


def as_array(rows: Any) -> Array:
    """Return a matrix or a target as an array; its rows have the same length."""
    try:
        made = np.asarray(rows)
        # NumPy turns 0 and NaN beside text into the texts "0" and "nan".
        is_text = made.dtype.kind in "US" and not isinstance(rows, np.ndarray)
        return np.asarray(rows, dtype=object) if is_text else made
    except ValueError:
        raise InputError(
            "the rows of the matrix do not have the same length. Fill the gaps with "
            "NaN, None or -1."
        ) from None


def triples_in(table: Any) -> list[pd.Series] | None:
    """Return the columns item, annotator, answer if the rows of a list are triples.

    Returns None for a matrix, with one row per item and one column per annotator. If
    the table could be both, that is an error which says how to choose.
    """
    columns = _three_columns(table)
    if columns is None or any(pd.isna(c).any() or _has_gaps(c) for c in columns):
        return None
    pairs = pd.MultiIndex.from_arrays(columns[:2])
    if pairs.duplicated().mean() > 0.05:
        return None
    kinds = [_kind(column) for column in columns]
    if len(set(kinds)) > 1 and "mixed" not in kinds:
        return columns  # the answers of a matrix have one type
    items, annotators, answers = (set(column) for column in columns)
    apart = not (items & answers or items & annotators or annotators & answers)
    of_tuples = isinstance(table, list | tuple) and isinstance(table[0], tuple)
    if kinds[0] == "text" and apart and len(columns[0]) >= FEW:
        return columns
    few_answers = len(items) >= 2 * len(answers) and not answers <= items
    numbered = len(items) >= 2 * len(answers) and len(columns[0]) >= 2 * FEW
    if of_tuples or (len(columns[0]) >= FEW and (few_answers or numbered)):
        raise InputError(
            f"this table has three columns and {counted(len(columns[0]), 'row')}: it "
            f"could be triples or a matrix of three annotators. {HOW}"
        )
    return None


def check_shared_answers(table: Array, present: Array) -> None:
    """Refuse a matrix in which each column has values of its own.

    Annotators who answer the same question share answers. Columns that share none are
    columns of different things, such as ids, names and answers.
    """
    columns = [set(table[present[:, a], a]) for a in range(table.shape[1])]
    columns = [values for values in columns if values]
    n_values = sum(map(len, columns))
    apart = len(set().union(*columns)) == n_values
    if len(columns) < 2 or len(table) < FEW or not apart or n_values == len(columns):
        return
    shown = "; ".join(listed(sorted(values, key=str), 3) for values in columns[:3])
    raise InputError(
        f"no two columns of this matrix share an answer ({shown}): they are not the "
        f"answers of annotators to one question. {HOW}"
    )


# -- inside ---------------------------------------------------------------------


def _is_dict_of_columns(table: Mapping[Any, Any]) -> bool:
    """Return whether a dictionary has columns, not {item: {annotator: answer}}."""
    if not table or any(isinstance(column, Mapping) for column in table.values()):
        return False
    return all(first_named(table, names) is not None for names in ALIASES.values())


def _three_columns(table: Any) -> list[pd.Series] | None:
    if isinstance(table, list | tuple):
        rows = isinstance(table[0], list | tuple) if len(table) else False
        if not rows or any(
            not isinstance(row, list | tuple) or len(row) != 3 for row in table
        ):
            return None
        return [pd.Series(list(c), dtype=object) for c in zip(*table, strict=True)]
    if not isinstance(table, np.ndarray) or table.ndim != 2 or table.shape[1] != 3:
        return None
    if not len(table) or table.dtype.kind not in "OUSiu":
        return None
    return [pd.Series(list(column), dtype=object) for column in table.T]


def _kind(column: pd.Series) -> str:
    kind = pd.api.types.infer_dtype(column, skipna=False)
    if kind in ("integer", "floating", "mixed-integer-float"):
        return "number"
    return {"string": "text", "mixed": "mixed", "mixed-integer": "mixed"}.get(
        kind, kind
    )


def _has_gaps(column: pd.Series) -> bool:
    """Return whether there is a -1, which stands for no answer in a matrix."""
    return any(value == -1 for value in column if not isinstance(value, str))
