"""Values of a model as JSON and tensors, and back, to the last bit."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from wisecrowd import _records as records
from wisecrowd._checks import InputError
from wisecrowd._types import Array

Tensors = dict[str, Array]
WASTE = 400  # bytes of an array of texts per character that it has
SMALL = 100_000  # characters, or rows; fewer need no care
_SCALAR = re.compile("[<>|=]?[biufc][0-9]{1,2}")
_TEXT = re.compile(r"\|O|[<>]U[0-9]{1,9}")
_COLUMN = re.compile(
    r"bool|object|str|string(\[\w+\])?|complex64|u?int(8|16|32|64)|float(16|32|64)"
)


def encoded_all(values: dict[str, Any], part: str, tensors: Tensors) -> dict[str, Any]:
    """Return what JSON holds for named values of a part; arrays go to the tensors."""
    return {k: _encoded(v, f"{part}.{k}", tensors) for k, v in values.items()}


def decoded_all(forms: dict[str, Any], tensors: Tensors) -> dict[str, Any]:
    """Return the values of which `encoded_all` made these forms and tensors."""
    return {k: _decoded(v, tensors) for k, v in forms.items()}


# -- to JSON and tensors ------------------------------------------------------------


def _encoded(value: Any, where: str, tensors: Tensors) -> Any:
    """Return what JSON holds for a value; number arrays go to the tensors.

    Types are matched exactly: what would come back as something else is refused.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, np.generic):
        return _encoded_scalar(value, where)
    if records.is_record(value):
        values = records.parts(value)
        found = {k: _encoded(v, f"{where}.{k}", tensors) for k, v in values.items()}
        return {"kind": "record", "name": type(value).__name__, "fields": found}
    encode = _ENCODERS.get(type(value))
    if encode is None:
        raise _unsavable(value, where)
    return encode(value, where, tensors)


def _unsavable(value: Any, where: str) -> InputError:
    part, name = where.split(".", 1)
    what = "setting" if part == "settings" else "fitted attribute"
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        kind += f" of {value.dtype}"
    hint = " Use a whole number as the seed." if "random" in name else ""
    if hasattr(value, "predict_proba"):
        hint = (
            " A classifier of another library would need a pickle. Keep labels_ and "
            "estimator_ yourself, or fit without an estimator."
        )
    if name == "network":
        hint = (
            " A module of your own would need a pickle. Keep labels_ and the arrays of "
            "network_.weights yourself, or describe the network by MLP or ConvNet."
        )
    return InputError(
        f"the {what} {name} is a {kind}, which cannot be kept in a file: only numbers, "
        f"text, lists, dicts, arrays, tables and wisecrowd's own records can.{hint}"
    )


def _encoded_float(value: float, where: str, tensors: Tensors) -> Any:
    return value if math.isfinite(value) else {"kind": "float", "value": repr(value)}


def _encoded_scalar(value: np.generic, where: str) -> Any:
    if isinstance(value, np.str_):
        return {"kind": "text", "value": str(value)}
    if value.dtype.kind not in "biufc":
        raise _unsavable(value, where)
    return {
        "kind": "scalar",
        "dtype": value.dtype.str,
        "bytes": value.tobytes().hex(),
    }


def _encoded_list(value: list[Any], where: str, tensors: Tensors) -> Any:
    return [_encoded(v, f"{where}[{i}]", tensors) for i, v in enumerate(value)]


def _encoded_tuple(value: tuple[Any, ...], where: str, tensors: Tensors) -> Any:
    return {"kind": "tuple", "values": _encoded_list(list(value), where, tensors)}


def _encoded_dict(value: dict[Any, Any], where: str, tensors: Tensors) -> Any:
    pairs = [
        [_encoded(k, where, tensors), _encoded(v, f"{where}[{k!a}]", tensors)]
        for k, v in value.items()
    ]
    return {"kind": "dict", "pairs": pairs}


def _encoded_array(value: Array, where: str, tensors: Tensors) -> Any:
    if value.dtype.kind in "OU":
        if not _fits(value.dtype, value.ravel().tolist()):
            raise _unsavable(value, where)
        return {
            "kind": "text_array",
            "dtype": value.dtype.str,
            "shape": list(value.shape),
            "values": _encoded_list(value.ravel().tolist(), where, tensors),
        }
    if value.dtype.name not in _TENSOR_DTYPES:
        raise _unsavable(value, where)
    # Sums depend on the order in memory in their last bit, so it is kept.
    axes = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
    name = where
    while name in tensors:
        name += "'"
    dtype = value.dtype.newbyteorder("<")
    tensors[name] = np.array(value.transpose(axes), dtype=dtype, order="C")
    return {"kind": "array", "tensor": name, "axes": axes}


_TENSOR_DTYPES = {
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    "float16", "float32", "float64", "complex64",
}  # fmt: skip


def _encoded_frame(value: pd.DataFrame, where: str, tensors: Tensors) -> Any:
    columns = [
        _encoded_column(value.iloc[:, i], f"{where}[{i}]", tensors)
        for i in range(value.shape[1])
    ]
    return {
        "kind": "table",
        "rows": _encoded_index(value.index, f"{where}.rows", tensors),
        "names": _encoded_index(value.columns, f"{where}.names", tensors),
        "columns": columns,
    }


def _encoded_series(value: pd.Series, where: str, tensors: Tensors) -> Any:
    table = _encoded_frame(value.to_frame("values"), where, tensors)
    name = _encoded(value.name, where, tensors)
    return {"kind": "series", "name": name, "table": table}


def _encoded_index(value: Any, where: str, tensors: Tensors) -> Any:
    name = _encoded(value.name, where, tensors)
    if isinstance(value, pd.RangeIndex):
        return {"name": name, "range": [value.start, value.stop, value.step]}
    return {"name": name, **_encoded_column(value, where, tensors)}


def _encoded_column(value: Any, where: str, tensors: Tensors) -> dict[str, Any]:
    """Return the form of a Series or an Index: its values and the name of its type."""
    numpy_type = isinstance(value.dtype, np.dtype)
    if not (numpy_type or isinstance(value.dtype, pd.StringDtype)):
        raise _unsavable(value, where)
    values = value.to_numpy() if numpy_type else value.to_numpy(dtype=object)
    return {"type": str(value.dtype), "values": _encoded(values, where, tensors)}


_ENCODERS: dict[type, Callable[[Any, str, Tensors], Any]] = {
    float: _encoded_float,
    list: _encoded_list,
    tuple: _encoded_tuple,
    dict: _encoded_dict,
    np.ndarray: _encoded_array,
    pd.DataFrame: _encoded_frame,
    pd.Series: _encoded_series,
}


# -- and back -----------------------------------------------------------------------


def _decoded(form: Any, tensors: Tensors) -> Any:
    if isinstance(form, list):
        return [_decoded(f, tensors) for f in form]
    if isinstance(form, dict):
        return _DECODERS[form["kind"]](form, tensors)
    return form


def _decoded_scalar(form: dict[str, Any], tensors: Tensors) -> Any:
    if not _SCALAR.fullmatch(form["dtype"]):
        raise ValueError("not the type of a number")
    return np.frombuffer(bytes.fromhex(form["bytes"]), np.dtype(form["dtype"]))[0]


def _decoded_dict(form: dict[str, Any], tensors: Tensors) -> Any:
    return {_decoded(k, tensors): _decoded(v, tensors) for k, v in form["pairs"]}


def _decoded_array(form: dict[str, Any], tensors: Tensors) -> Any:
    # Each tensor is used once: a short file could else ask for any amount of memory.
    # A copy, because what safetensors returns cannot be written to.
    return tensors.pop(form["tensor"]).copy().transpose(np.argsort(form["axes"]))


def _decoded_text_array(form: dict[str, Any], tensors: Tensors) -> Any:
    dtype, values = form["dtype"], [_decoded(v, tensors) for v in form["values"]]
    if not (_TEXT.fullmatch(dtype) and _fits(np.dtype(dtype), values)):
        raise ValueError("not the type of these texts")
    flat = np.empty(len(values), dtype=np.dtype(dtype))
    for i, value in enumerate(values):
        flat[i] = value
    return flat.reshape(form["shape"])


def _fits(dtype: Any, values: list[Any]) -> bool:
    """Return whether an array of texts needs memory in proportion to the texts."""
    if dtype.kind == "O":
        return True
    n_characters = sum(len(v) for v in values if isinstance(v, str))
    return dtype.itemsize * len(values) <= WASTE * (n_characters + SMALL)


def _decoded_frame(form: dict[str, Any], tensors: Tensors) -> Any:
    columns = {
        i: pd.Series(_decoded(column["values"], tensors), dtype=_column_type(column))
        for i, column in enumerate(form["columns"])
    }
    rows, names = (_decoded_index(form[axis], tensors) for axis in ("rows", "names"))
    lengths = {len(column) for column in columns.values()}
    if lengths - {len(rows)} or (not columns and len(rows) > SMALL):
        raise ValueError("columns and rows of a table differ")
    frame = pd.DataFrame(columns, index=range(len(rows)))
    return frame.set_axis(rows, axis=0).set_axis(names, axis=1)


def _decoded_series(form: dict[str, Any], tensors: Tensors) -> Any:
    table = _decoded_frame(form["table"], tensors)
    return table["values"].rename(_decoded(form["name"], tensors))


def _decoded_index(form: dict[str, Any], tensors: Tensors) -> Any:
    name = _decoded(form["name"], tensors)
    if "range" in form:
        return pd.RangeIndex(*form["range"]).rename(name)
    values = _decoded(form["values"], tensors)
    return pd.Index(values, dtype=_column_type(form), name=name)


def _column_type(form: dict[str, Any]) -> str:
    found: str = form["type"]
    if not _COLUMN.fullmatch(found):
        raise ValueError("not the type of a column")
    return found


def _decoded_record(form: dict[str, Any], tensors: Tensors) -> Any:
    return records.made(form["name"], decoded_all(form["fields"], tensors))


_DECODERS: dict[str, Callable[[dict[str, Any], Tensors], Any]] = {
    "float": lambda form, _: float(form["value"]),
    "text": lambda form, _: np.str_(form["value"]),
    "scalar": _decoded_scalar,
    "tuple": lambda form, tensors: tuple(_decoded(form["values"], tensors)),
    "dict": _decoded_dict,
    "array": _decoded_array,
    "text_array": _decoded_text_array,
    "table": _decoded_frame,
    "series": _decoded_series,
    "record": _decoded_record,
}
