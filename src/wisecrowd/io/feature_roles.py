"""Which columns of a table are ids, which are features, and which are neither."""

import csv
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from wisecrowd._checks import InputError, listed, named
from wisecrowd._types import Array
from wisecrowd.annotations.headers import (
    ALIASES,
    GOLD_NAMES,
    THINGS,
    check_column,
    first_named,
    plain,
)

INDEX_NAMES = ("unnamed: 0", "__index_level_0__", "")
"""The names that the index of a DataFrame gets in a file, if it has none."""
ITEM_NAMES = (
    *THINGS.split(),
    *(name for name in ALIASES["item"] if name.endswith("_id")),
    *("items", "ids", "id", "index", "name", "names", *INDEX_NAMES),
)
"""The names by which a column, or an array, of item ids is recognised."""
NEVER_FEATURES = ("item", "task", "subject", "question", "id", "items", "ids", "index")
CLASS_NAMES = (
    *GOLD_NAMES,
    "label",
    "labels",
    "class",
    "classes",
    "target",
    "answer",
)
"""The names of columns that hold the class, which is not a feature."""
LIKE_IDS = re.compile(
    r"(^|.*[_ .-])(id|ids|nr|no|num|number|key|uuid|image|photo|file|object|sample)$"
)
LIKE_TIMES = re.compile(r".*(time|date|created|updated|_at|timestamp)$|^time.*|^date.*")
EPOCHS = ((1e8, 1e10), (1e11, 1e13), (1e14, 1e16), (1e17, 1e19))  # s, ms, us, ns
MANY_ROWS = 10  # so many whole numbers, all different, are hardly a measurement

Values = Callable[[str], Array]  # from the name of a column to its numbers


def wanted_columns(columns: Sequence[str] | str | None) -> list[str] | None:
    """Return the names in ``columns=``; ["all"] stands for all columns of numbers."""
    if isinstance(columns, str):
        columns = next(csv.reader([columns], skipinitialspace=True), [])
    return None if columns is None else [str(name) for name in columns]


def usual_id_name(columns: Sequence[str]) -> str | None:
    """Return the column that is called as ids usually are; not an unnamed index."""
    usual = [name for name in ITEM_NAMES if name not in INDEX_NAMES]
    return first_named(columns, usual)


def index_name(columns: Sequence[str]) -> str | None:
    """Return the column that is the index of a DataFrame without a name."""
    return first_named(columns, INDEX_NAMES)


def check_no_unknown_ids(names: Sequence[str], values: Values) -> None:
    """Refuse a table without ids in which a column of numbers looks like ids."""
    for place, name in enumerate(names):
        called = bool(LIKE_IDS.fullmatch(plain(name)))
        if (called or place == 0) and _are_ids(
            values(name), 2 if called else MANY_ROWS
        ):
            raise InputError(
                f"column {named(name)} looks like ids (whole numbers, all different), "
                f"and no other column has ids. If these are the ids of the items, pass "
                f"item={named(name)}. If it is a feature, pass columns='all', or name "
                f"the features with columns=."
            )


def left_out(names: Sequence[str], schema: Any, values: Values) -> dict[str, str]:
    """Return the columns of numbers and times that are no features, and why."""
    why = {name: _reason(name, schema.field(name).type, values) for name in names}
    return {name: reason for name, reason in why.items() if reason}


def chosen(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the columns that the user named as features, in that order."""
    if list(wanted) == ["all"]:
        return list(names)
    for name in wanted:
        check_column(name, names, "features")
    if len(set(wanted)) < len(wanted):
        raise InputError(f"columns= names a column twice: {listed(wanted, 20)}.")
    return list(wanted)


# -- inside ---------------------------------------------------------------------


def _reason(name: str, kind: Any, values: Values) -> str:
    """Return why a column is no feature; an empty text if it is one."""
    lower = plain(name)
    if lower in CLASS_NAMES:
        return "the class"
    if name.strip().lower() in INDEX_NAMES:
        return "row numbers"
    if pa.types.is_temporal(kind):
        return "times"
    if lower in NEVER_FEATURES or lower.endswith("_id"):
        return "ids"
    if LIKE_IDS.fullmatch(lower) and _are_ids(values(name), 2):
        return "ids"
    is_time = LIKE_TIMES.fullmatch(lower) and _are_times(values(name))
    return "times" if is_time else ""


def _are_ids(numbers: Array, least: int) -> bool:
    """Return whether these are whole numbers, all different, and not too few."""
    return (
        len(numbers) >= least
        and bool(np.isfinite(numbers).all())
        and bool((numbers == np.round(numbers)).all())
        and len(np.unique(numbers)) == len(numbers)
    )


def _are_times(numbers: Array) -> bool:
    """Return whether these are seconds (or parts of them) since 1970."""
    known = numbers[np.isfinite(numbers)]
    return bool(len(known)) and any(
        low <= known.min() and known.max() <= high for low, high in EPOCHS
    )
