"""Columns of a file as codes: each distinct value is stored once, with one type."""

from array import array
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from wisecrowd._checks import InputError, listed, time_text
from wisecrowd._types import Array
from wisecrowd.annotations.vocabulary import Coded

WHOLE = r"^(0|-?[1-9][0-9]{0,17})(\.0+)?$"  # no leading zero: "007" is a name
DIGITS = r"^-?[0-9]+(\.0+)?$"  # a whole number, or a name such as "01"
DECIMAL = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"


class Coder:
    """A column that is built value by value."""

    def __init__(self) -> None:
        self.codes = array("i")
        self._code_of: dict[tuple[type, Hashable], int] = {}

    def append(self, value: Any) -> None:
        """Add a value; None and NaN are missing values."""
        if value is None or value != value:  # noqa: PLR0124  (NaN)
            self.codes.append(-1)
            return
        if isinstance(value, dict | list):
            raise InputError(
                f"a {type(value).__name__} stands where a name or a number was "
                f"expected: {str(value)[:60]}."
            )
        # 1, 1.0 and True are one key of a dict
        key = (type(value), value)
        self.codes.append(self._code_of.setdefault(key, len(self._code_of)))

    def know(self, value: Any) -> None:
        """Add a name to the distinct values, without an entry in the column."""
        if value is not None:
            self._code_of.setdefault((type(value), value), len(self._code_of))

    def extend(self, other: "Coder") -> None:
        """Add the entries and the names of another column."""
        code_of = self._code_of
        where = [code_of.setdefault(key, len(code_of)) for key in other._code_of]
        where.append(-1)  # the code -1 is the last
        self.codes.extend(where[code] for code in other.codes)

    @property
    def n_names(self) -> int:
        """The number of distinct values."""
        return len(self._code_of)

    def coded(self) -> Coded:
        """Return the column."""
        names = np.empty(len(self._code_of), dtype=object)
        names[:] = [value for _, value in self._code_of]
        return Coded(np.array(self.codes, dtype=np.int32), names)

    def __len__(self) -> int:
        return len(self.codes)


def check_record(record: Any, where: str) -> None:
    """Refuse what is no record of JSON."""
    if not isinstance(record, dict):
        raise InputError(
            f'{where} is not a record such as {{"item": ..., ...}}: '
            f"{str(record)[:60]!r}."
        )


def coded(column: Any, *, empty_is_name: bool = False) -> Coded:
    """Return an Arrow column (chunked) as codes into its distinct values.

    An empty text is a missing value, unless `empty_is_name`.
    """
    if not len(column):
        return Coded(np.empty(0, dtype=np.int32), np.empty(0, dtype=object))
    column = _plain_type(column)
    if pa.types.is_dictionary(column.type):
        n_names = sum(len(chunk.dictionary) for chunk in column.chunks)
        if n_names <= len(column):
            column = column.unify_dictionaries()
        else:  # most names are in several chunks: decoding is faster
            column = column.cast(column.type.value_type)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    # all chunks share the names by now
    names = column.chunk(0).dictionary.to_numpy(zero_copy_only=False)
    parts = [
        chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        for chunk in column.chunks
    ]
    present = ~pd.isna(names)
    if not empty_is_name:
        present &= names != ""
    rank = np.append(np.where(present, np.cumsum(present) - 1, -1), -1)
    return Coded(rank.astype(np.int32)[np.concatenate(parts)], names[present])


def retyped(names: Any) -> Array:
    """Return whole numbers as integers, true and false as booleans, the rest as text.

    Examples
    --------
    >>> retyped(["1", "20"]).tolist(), retyped(["007", "8"]).tolist()
    ([1, 20], ['007', '8'])
    >>> retyped(["True", "False"]).tolist()
    [True, False]
    """
    text = pa.array(names, type=pa.string())
    if not len(text):
        return np.empty(0, dtype=object)
    if pc.all(pc.match_substring_regex(text, WHOLE)).as_py():
        whole = pc.replace_substring_regex(text, r"\.0+$", "")
        return whole.cast(pa.int64()).to_numpy()
    lower = pc.utf8_lower(text)
    if pc.all(pc.is_in(lower, pa.array(["true", "false"]))).as_py():
        return pc.equal(lower, "true").to_numpy(zero_copy_only=False)
    return np.asarray(text.to_numpy(zero_copy_only=False), dtype=object)


def retyped_column(
    column: Coded, what: str, more: Sequence[Any] = ()
) -> tuple[Coded, list[Any]]:
    """Return a column of text in the type of its values, and `more` likewise."""
    values = retyped(np.append(column.names, np.array(more, dtype=object)))
    if what == "answer" and values.dtype.kind == "O":
        _check_not_measured(column)
    n_names = len(column.names)
    return merged(column, values[:n_names]), values[n_names:].tolist()


def checked_column(column: Coded, what: str) -> Coded:
    """Return a column that has types; raise an error if they are mixed."""
    _check_one_type(column, what)
    return merged(column, _numbers_as_such(column, what))


def _plain_type(column: Any) -> Any:
    """Return times, decimals and bytes as text or numbers; refuse lists and records."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind):
        raise InputError(
            f"a column of names holds values of the type {kind}. Names are text or "
            f"whole numbers."
        )
    if pa.types.is_temporal(kind):
        values = column.to_pandas()
        texts = [None if pd.isna(v) else time_text(v) for v in values]
        return pa.chunked_array([pa.array(texts, type=pa.string())])
    if pa.types.is_decimal(kind):
        return column.cast(pa.float64())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return column.cast(pa.string())
    return column


# -- inside ---------------------------------------------------------------------


def merged(column: Coded, names: Array) -> Coded:
    """Return the column with other names, sorted; equal names get one code."""
    back, unique = pd.factorize(names)
    order = pc.sort_indices(pa.array(unique)).to_numpy()
    rank = np.full(len(order) + 1, -1, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return Coded(rank[np.append(back, -1)][column.codes], np.asarray(unique)[order])


def _numbers_as_such(column: Coded, what: str) -> Array:
    """Return the names, with whole numbers as integers."""
    names = column.names
    if not len(names) or _family(names[0]) != "a number":
        return names
    numbers = np.array(names.tolist())
    if numbers.dtype.kind == "i":
        return numbers
    if numbers.dtype.kind != "f":
        raise InputError(
            f"one of the {what}s is too large for a 64-bit number. Write them as text."
        )
    broken = numbers != np.round(numbers)
    if broken.any():
        row = int(np.append(broken, False)[column.codes].argmax())
        raise InputError(
            f"the {what} in row {row + 1:,} is {numbers[column.codes[row]]}: a {what} "
            f"is a name or a whole number, and this looks like a measurement. Round "
            f"it, or write it as text."
        )
    return numbers.astype(np.int64)


def _check_not_measured(column: Coded) -> None:
    """Raise an error if the answers are numbers and some of them are not whole."""
    text = pa.array(column.names, type=pa.string())
    if not len(text) or not pc.all(pc.match_substring_regex(text, DECIMAL)).as_py():
        return
    broken = ~pc.match_substring_regex(text, DIGITS).to_numpy(zero_copy_only=False)
    if not broken.any():
        return
    row = int(np.flatnonzero(np.append(broken, False)[column.codes])[0])
    raise InputError(
        f"the answer in row {row + 1:,} is {column.names[column.codes[row]]}: the "
        f"answers look like measurements, not classes. Round them, or, if they are "
        f"names, pass them as text: classes=[{listed(column.names[:3])}, ...]."
    )


def _check_one_type(column: Coded, what: str) -> None:
    if not pd.api.types.infer_dtype(column.names).startswith("mixed"):
        return
    families = np.array([_family(v) for v in column.names], dtype=object)
    kinds = pd.unique(families)
    if len(kinds) < 2:
        return
    rows = [
        int(np.isin(column.codes, np.flatnonzero(families == k)).argmax())
        for k in kinds
    ]
    seen = " and ".join(
        f"{kind} in row {row + 1:,} ({column.names[column.codes[row]]!r})"
        for kind, row in zip(kinds, rows, strict=True)
    )
    raise InputError(
        f"the {what} is {seen}, so 1 and '1' would be two different values. Write all "
        f"of them in the same way."
    )


def _family(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true or false"
    if isinstance(value, int | float | np.number):
        return "a number"
    return "text" if isinstance(value, str) else f"a {type(value).__name__}"
