"""Records that a saved model may hold, and whether a file's can have been fitted.

A checksum shows that a file is as it was written, and not by whom. So what is read is
checked against the annotations of the records' fields: they are the only declaration.
A name of `sizes` in the shape of an array has that size, another one any size; ``P`` is
1 or ``A``. `Annotated` adds what else holds: `Limits`, a class that the value has, or
the axis that a number is the size of. A record with a method ``unfit(sizes)`` says
there what annotations cannot, and returns "" if nothing is wrong.
"""

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)  # fmt: skip

import numpy as np

from wisecrowd._types import Array

CLOSE = 1e-3  # how far a sum of probabilities may be from one, in 32 bits
MAX_COUNT = 1e15  # of answers and pseudo-answers: with more, tables would have NaN
MAX_SIZE = 1e30  # of any number: products of larger ones would be infinite
Sizes = dict[str, int]
Kind = TypeVar("Kind", bound=type)

RECORDS: dict[str, type] = {}
"""The records whose modules are imported, by name."""


class Unfit(ValueError):
    """What was read cannot be a fitted model; the message says why."""


class Limits(NamedTuple):
    """What the numbers of a field have to be, besides finite.

    Attributes
    ----------
    least, above, most : float
        The smallest that they may be, or be above, and the largest absolute value.
    sums : bool
        Whether rows sum to one.
    """

    least: float = -np.inf
    above: float = -np.inf
    most: float = MAX_SIZE
    sums: bool = False


ANY = Limits()
NOT_NEGATIVE = Limits(least=0.0)
POSITIVE = Limits(above=1e-100)  # what is divided by less would be infinite
PROBA = Limits(least=0.0, most=1.0)
SHARES = Limits(least=-CLOSE, sums=True)
COUNT = Limits(least=0.0, most=MAX_COUNT)
PSEUDO_COUNT = Limits(above=0.0, most=MAX_COUNT)
LOG = Limits(most=300.0)  # of a kernel's variance and length-scale
LOG_32 = Limits(most=40.0)  # the same, where the kernel is computed in 32 bits
WEIGHT = Limits(most=1e6)  # of a network: its layers are multiplied, in 32 bits


def record(kind: Kind) -> Kind:
    """Let files hold records of this class: a NamedTuple or a frozen dataclass."""
    RECORDS[kind.__name__] = kind
    return kind


def is_record(value: Any) -> bool:
    """Return whether a value is a record that can be kept."""
    return RECORDS.get(type(value).__name__) is type(value)


def parts(value: Any) -> dict[str, Any]:
    """Return the fields of a record."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return dict(value._asdict())


def made(name: str, values: dict[str, Any]) -> Any:
    """Return the record of that name; an unknown name is a KeyError."""
    if name not in RECORDS:
        import_module(modules()[name])
    return RECORDS[name](**values)


@cache
def modules() -> dict[str, str]:
    """Return the module of every record, as the source files say.

    Most records come with the module of the method. A setting of the user may be one of
    another module, such as a kernel.
    """
    found, folder = {}, Path(__file__).parent
    for path in folder.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for name in re.findall(
            r"^@record\n(?:@.*\n)*class (\w+)", source, re.MULTILINE
        ):
            parts_of_path = path.relative_to(folder.parent).with_suffix("").parts
            found[name] = ".".join(parts_of_path).removesuffix(".__init__")
    return found


# -- checks -------------------------------------------------------------------------


def check_record(value: Any, name: str, sizes: Sizes) -> None:
    """Raise `Unfit` if this is no record, or one that could not have been fitted."""
    if not is_record(value):
        raise Unfit(f"{name} is a {type(value).__name__}")
    kind: Any = type(value)
    sizes, hints = dict(sizes), hints_of(kind)
    for field, part in parts(value).items():
        check(part, hints[field], field, sizes)
    why = value.unfit(sizes) if hasattr(value, "unfit") else ""
    if why:
        raise Unfit(why)


@cache
def hints_of(kind: Any) -> dict[str, Any]:
    """Return the annotations of a class, with what `Annotated` adds."""
    return get_type_hints(kind, include_extras=True)


def check(
    value: Any, hint: Any, name: str, sizes: Sizes, said: tuple[Any, ...] = ()
) -> None:
    """Raise `Unfit` unless a value is what an annotation says; `sizes` may grow."""
    if get_origin(hint) in _CHECKS:
        _CHECKS[get_origin(hint)](value, get_args(hint), name, sizes, said)
    elif hasattr(hint, "dim_str"):
        shape = _shape(hint.dim_str.split(), of_type(value, name, np.ndarray), sizes)
        check_array(value, name, shape, _limits(said))
    elif hint in (int, float):
        check_number(value, name, _limits(said), Integral if hint is int else Real)
    elif is_record(value) and isinstance(value, object if hint is Any else hint):
        check_record(value, name, sizes)
    elif isinstance(value, np.ndarray) and hint is Any:
        check_array(value, name, value.shape)
    elif isinstance(hint, type) and hint not in (Any, bool):
        of_type(value, name, hint)


def _check_annotated(
    value: Any, hints: tuple[Any, ...], name: str, sizes: Sizes, _: tuple[Any, ...]
) -> None:
    hint, *said = hints
    check(value, hint, name, sizes, tuple(said))
    for part in said:
        if isinstance(part, type | UnionType):
            of_type(value, name, part)
        if isinstance(part, str) and value != sizes[part]:
            raise Unfit(f"{name} is {value}, not {sizes[part]}")


def _check_one_of(
    value: Any, hints: tuple[Any, ...], name: str, sizes: Sizes, said: tuple[Any, ...]
) -> None:
    if value is None and NoneType in hints:
        return None
    errors = []
    for hint in hints:
        try:
            return check(value, hint, name, sizes, said)
        except Unfit as error:
            errors.append(error)
    raise errors[0]


def _check_tuple(
    value: Any, hints: tuple[Any, ...], name: str, sizes: Sizes, said: tuple[Any, ...]
) -> None:
    if Ellipsis in hints:
        hints = hints[:1] * len(of_type(value, name, tuple | list))
    if len(of_type(value, name, tuple | list)) != len(hints):
        raise Unfit(f"{name} has {len(value)} parts, not {len(hints)}")
    for part, hint in zip(value, hints, strict=True):
        check(part, hint, name, sizes, said)


def _check_dict(
    value: Any, hints: tuple[Any, ...], name: str, sizes: Sizes, said: tuple[Any, ...]
) -> None:
    for part in of_type(value, name, dict).values():
        check(part, hints[1], name, sizes, said)


def _check_plain_array(value: Any, _: Any, name: str, __: Sizes, said: Any) -> None:
    check_array(value, name, np.shape(value), _limits(said))


_CHECKS: dict[Any, Callable[..., None]] = {
    Annotated: _check_annotated, Union: _check_one_of, UnionType: _check_one_of,
    tuple: _check_tuple, dict: _check_dict, np.ndarray: _check_plain_array,
}  # fmt: skip


def _limits(said: tuple[Any, ...]) -> Limits:
    return next((part for part in said if isinstance(part, Limits)), ANY)


def _shape(axes: list[str], found: Array, sizes: Sizes) -> tuple[int, ...]:
    """Return the shape that an array should have; new axes are as they are."""
    for axis, n in zip(axes, found.shape, strict=False):
        sizes.setdefault(axis, n if axis != "P" or n == 1 else sizes["A"])
    return tuple(int(a) if a.isdigit() else sizes.get(a, 0) for a in axes)


def of_type(value: Any, name: str, kind: Any) -> Any:
    """Return the value if it is of that type."""
    if not isinstance(value, kind):
        wanted = getattr(kind, "__name__", kind)
        raise Unfit(f"{name} is a {type(value).__name__}, not a {wanted}")
    return value


def check_array(
    values: Any, name: str, shape: tuple[int, ...], limits: Limits = ANY
) -> None:
    """Refuse what is no array of finite numbers with that shape and these limits."""
    of_type(values, name, np.ndarray)
    if values.shape != shape:
        raise Unfit(f"{name} has the shape {values.shape}, not {shape}")
    if values.dtype.kind not in "fiub":
        raise Unfit(f"{name} has the type {values.dtype}")
    least, above, most, sums = limits
    for wrong, what in (
        (~np.isfinite(values), "that is not finite"),
        (np.abs(values) > most, f"above {most:g}"),
        (values < least, f"below {least:g}"),
        (values <= above, f"that is not above {above:g}"),
    ):
        if wrong.any():
            raise Unfit(f"{name} has an entry {what}")
    if sums and (abs(values.sum(-1) - 1) > CLOSE * values.shape[-1]).any():
        raise Unfit(f"{name} does not sum to one")


def check_number(value: Any, name: str, limits: Limits = ANY, kind: Any = Real) -> None:
    """Refuse what is no finite number with these limits."""
    if isinstance(value, bool) or not isinstance(value, kind):
        raise Unfit(f"{name} is a {type(value).__name__}")
    least, above, most, _ = limits
    too_long = isinstance(value, int) and abs(value) >= 2**63  # NumPy has no such type
    if not (least <= value and above < value and abs(value) <= most) or too_long:
        raise Unfit(f"{name} is {value}")
