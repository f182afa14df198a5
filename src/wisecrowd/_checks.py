"""Every check of what a user hands in: what was seen, where, and what to do."""

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from wisecrowd._text import shortened
from wisecrowd._types import Array

TIMES = ("datetime64", "datetime", "date", "time", "timedelta64", "timedelta", "period")
"""What pandas calls dates and times."""


class InputError(ValueError):
    """What was handed in cannot be used; the message says why and what to do."""


def listed(names: Iterable[Any], most: int = 8) -> str:
    """Names as a person would list them: the first few, then how many more.

    Examples
    --------
    >>> listed(["a", "b"])
    "'a', 'b'"
    >>> listed(range(5), most=2)
    '0, 1 and 3 more'
    >>> len(listed(["x" * 20_000]))
    102
    """
    names = [n.item() if isinstance(n, np.generic) else n for n in names]
    return _first([named(n) for n in names], most)


def _first(texts: list[str], most: int) -> str:
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def named(name: Any) -> str:
    """Return a name in quotation marks, and a long one without its end."""
    return repr(shortened(name) if isinstance(name, str) else name)


def with_reasons(reasons: Mapping[str, str], most: int = 20) -> str:
    """Return names with a reason each: the first few, then how many more.

    Examples
    --------
    >>> with_reasons({"count": "a summary", "note": "text"}, most=1)
    "'count' (a summary) and 1 more"
    """
    return _first([f"{named(n)} ({why})" for n, why in reasons.items()], most)


def counted(n: int, word: str) -> str:
    """Return a number with its word, in the plural if it needs one.

    Examples
    --------
    >>> counted(1, "item"), counted(2000, "class")
    ('1 item', '2,000 classes')
    """
    plural = word + "es" if word.endswith("s") else word + "s"
    return f"{n:,} {word if n == 1 else plural}"


def vocabulary_values(values: Any, what: str) -> Array:
    """Ids or labels as a flat array of one kind: integers, text or booleans.

    Whole numbers stored as floats (what a table makes of integers beside a gap)
    become integers. Dates and times become text. Missing values and a mix of numbers
    and text are refused.
    """
    series = as_series(values, what).reset_index(drop=True)
    missing = series.isna().to_numpy()
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise InputError(
            f"{int(missing.sum())} of {len(series)} rows have no {what} "
            f"(the first is row {row}). Drop those rows or fill them in."
        )
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.cat.categories.dtype)
    kind = pd.api.types.infer_dtype(series, skipna=False)
    if kind in ("floating", "mixed-integer-float", "decimal"):
        return _whole_numbers(series.to_numpy(dtype=float), what)
    if kind == "integer":
        return _whole_numbers(series.to_numpy(), what)
    if kind == "boolean":
        return series.to_numpy(dtype=bool)
    if kind in TIMES:
        return np.array([time_text(value) for value in series], dtype=object)
    if kind not in ("string", "empty"):
        raise InputError(_mixed(series, what))
    names = series.to_numpy(dtype=object)
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        raise InputError(_half_character(what)) from None
    return np.asarray(names)


# The hash tables of pandas 2 read a text up to its first NUL: "a\0b" would be "a\0c".
TEXT_ENDS_AT_NUL = pd.factorize(np.array(["a\0b", "a\0c"], object))[0][1] == 0


def as_series(values: Any, what: str) -> Any:
    """Return values as a Series; refuse text that cannot be written or compared."""
    try:
        series = values if isinstance(values, pd.Series) else pd.Series(values)
    except UnicodeEncodeError:
        raise InputError(_half_character(what)) from None
    except OverflowError:  # of pandas 2; later ones keep such a number as an object
        raise InputError(
            f"one of the {what} ids is a number that does not fit into 64-bit "
            f"integers. Give it as text."
        ) from None
    if TEXT_ENDS_AT_NUL and any(isinstance(v, str) and "\0" in v for v in series):
        raise InputError(
            f"a text in {what} has the character NUL, which pandas {pd.__version__} "
            f"cannot tell from the end of a text. Install pandas 3 or later, or take "
            f"the character out."
        )
    return series


def _half_character(what: str) -> str:
    return (
        f"a text among the {what}s holds half of a character (a lone surrogate, such "
        f"as \\ud800), which cannot be written. Correct that text."
    )


def time_text(value: Any) -> str:
    """Return a date or a time as text, as it is in a CSV file.

    Examples
    --------
    >>> time_text(pd.Timestamp("2024-05-01")), time_text(pd.Timestamp(0))
    ('2024-05-01', '1970-01-01')
    >>> time_text(pd.Timestamp("2024-05-01 12:30"))
    '2024-05-01 12:30:00'
    """
    return str(value).removesuffix(" 00:00:00")


def _whole_numbers(numbers: Array, what: str) -> Array:
    """Return 64-bit integers; refuse what is broken or would be another number."""
    if numbers.dtype.kind == "f":
        whole = np.isfinite(numbers) & (numbers == np.round(numbers))
        if not whole.all():
            row = int(whole.argmin())
            raise InputError(
                f"the {what} in row {row} is {float(numbers[row])}: a {what} is a name "
                f"or a whole number, so this looks like a measurement (continuous "
                f"values are not classes). Unknown label type: continuous."
            )
    fits = (numbers >= -(2**63)) & (numbers < 2**63)
    if not fits.all():
        row = int(fits.argmin())
        is_long = abs(numbers[row]) > 1e40  # Python prints at most 4300 digits
        shown = "with more than 40 digits" if is_long else listed([numbers[row]])
        raise InputError(
            f"the {what} in row {row}, {shown}, is too large for a 64-bit number. "
            f"Turn the column into text, e.g. with .astype(str)."
        )
    return numbers.astype(np.int64)


def _mixed(series: Any, what: str) -> str:
    kinds = sorted({type(v).__name__ for v in series})
    if len(kinds) == 1:
        return (
            f"the {what} column holds values of type {kinds[0]}; they must be whole "
            f"numbers or text. Convert it first, e.g. with .astype(str)."
        )
    return (
        f"the {what} column mixes types ({', '.join(kinds)}), so 1 and '1' would be "
        f"two different values. Convert it first, e.g. with .astype(str)."
    )


def one_of(value: Any, allowed: Iterable[Any], name: str) -> None:
    """Refuse a setting that is not one of the allowed words."""
    allowed = list(allowed)
    if not any(value is a or value == a for a in allowed):
        raise InputError(f"{name}={value!r} is not one of {listed(allowed, 20)}.")


def number(
    value: Any, name: str, wanted: str, fits: Callable[[Any], bool], kind: type = Real
) -> None:
    """Refuse a setting that is no number of that kind, or one that does not fit."""
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if not (is_number and fits(value)):
        raise InputError(f"{name}={value!r} must be {wanted}.")


def whole_number(
    value: Any, name: str, least: int = 1, most: int | None = None
) -> None:
    """Refuse a setting that is not a whole number, or too small or large a one."""
    wanted = f"a whole number, at least {least}"
    wanted += f" and at most {most:,}" if most is not None else ""
    top = np.inf if most is None else most
    number(value, name, wanted, lambda v: least <= v <= top, Integral)


def random_numbers(random_state: Any) -> np.random.RandomState:
    """Return the source of random numbers that the setting `random_state` means."""
    try:
        return check_random_state(random_state)
    except ValueError:
        raise InputError(
            f"random_state={random_state!r} must be a whole number from 0 to "
            f"{2**32 - 1}, None, or a numpy.random.RandomState."
        ) from None
