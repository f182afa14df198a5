"""Save a fitted model to a folder and load it again, without pickle.

A run folder holds ``model.json`` (the class, its settings, everything that is not a
number array) and ``model.safetensors`` (the number arrays, to the last bit). Both are
guarded by a checksum in ``model.json``. A class is found by its public name in
:mod:`wisecrowd` and nowhere else, so that a file can never choose what is imported.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors
from safetensors.numpy import load as unpacked
from safetensors.numpy import save as packed
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import wisecrowd
from wisecrowd._checks import InputError, listed
from wisecrowd._types import Array

FORMAT = "wisecrowd-model"
VERSION = 1
"""Of the file format; raised when an older wisecrowd could not read a new file."""

JSON_NAME = "model.json"
TENSORS_NAME = "model.safetensors"

Tensors = dict[str, Array]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model into a folder.

    The folder is made if need be; other files in it are left alone. A model that was
    there before is replaced only after the new one is written.

    Parameters
    ----------
    model : estimator
        A fitted method of wisecrowd.
    path : str or path
        The folder, such as ``"run/"``.

    Raises
    ------
    InputError
        If a setting cannot be kept in a file (a function, a random generator), or
        the folder cannot be written.

    Examples
    --------
    >>> import tempfile, wisecrowd as wc
    >>> model = wc.MajorityVote().fit([[0, 0, 1], [1, 1, -1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wc.save(model, folder)
    ...     wc.load(folder).labels_.tolist()
    [0, 1]
    """
    check_is_fitted(model)
    kind: Any = type(model)
    name = kind.__name__
    if kind is not _public_class(name):
        raise InputError(
            f"{name} is not a method of wisecrowd, so it could not be loaded again."
        )
    tensors: Tensors = {}
    settings = model.get_params(deep=False)
    body = {
        "format": FORMAT,
        "version": VERSION,
        "wisecrowd": wisecrowd.__version__,
        "class": name,
        "settings": _encoded_all(settings, "settings", tensors),
        "fitted": _encoded_all(_fitted_state(model), "fitted", tensors),
    }
    numbers = packed(tensors, metadata={"format": FORMAT})
    body["tensors_sha256"] = _sha256(numbers)
    body["sha256"] = _sha256(_canonical(body))
    text = json.dumps(body, allow_nan=False, indent=1).encode("ascii")
    _write_both(Path(path), {TENSORS_NAME: numbers, JSON_NAME: text})


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model that :func:`save` wrote into a folder.

    Predictions are those of the saved model, to the last bit.

    Parameters
    ----------
    path : str or path
        The folder, such as ``"run/"``.

    Raises
    ------
    InputError
        If the folder holds no model, or one that was cut off, altered, or written by
        a newer wisecrowd.
    """
    folder = Path(path)
    body = _checked_body(_read(folder, JSON_NAME), folder)
    numbers = _read(folder, TENSORS_NAME)
    if _sha256(numbers) != body["tensors_sha256"]:
        raise _damaged(folder / TENSORS_NAME)
    try:
        tensors = unpacked(numbers)
        settings = {k: _decoded(v, tensors) for k, v in body["settings"].items()}
        fitted = {k: _decoded(v, tensors) for k, v in body["fitted"].items()}
        return _rebuilt(body["class"], settings, fitted)
    except InputError:
        raise
    except (
        ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
        ValueError, safetensors.SafetensorError,
    ) as error:  # fmt: skip
        raise _damaged(folder / JSON_NAME) from error


# -- the object ---------------------------------------------------------------------


def _public_class(name: Any) -> type | None:
    """Return the estimator of that public name; the file's word is not trusted."""
    found = getattr(wisecrowd, name) if name in wisecrowd.__all__ else None
    is_method = isinstance(found, type) and issubclass(found, BaseEstimator)
    return found if is_method else None


def _fitted_state(model: Any) -> dict[str, Any]:
    settings = model.get_params(deep=False)
    return {k: v for k, v in vars(model).items() if k not in settings and _is_state(k)}


def _is_state(name: str) -> bool:
    return not name.startswith("__") and (name.endswith("_") or name.startswith("_"))


def _rebuilt(name: str, settings: dict[str, Any], fitted: dict[str, Any]) -> Any:
    found = _public_class(name)
    if found is None:
        raise InputError(
            f"the saved model is a {name!r}, which wisecrowd {wisecrowd.__version__} "
            f"does not have. Load it with the wisecrowd that saved it."
        )
    known = found._get_param_names()  # type: ignore[attr-defined]
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise InputError(
            f"the saved {name} has settings that {name} does not have in wisecrowd "
            f"{wisecrowd.__version__}: {listed(unknown)}. Load it with the wisecrowd "
            f"that saved it."
        )
    model = found(**settings)
    for attribute, value in fitted.items():
        if not _is_state(attribute):
            raise ValueError(f"{attribute!r} is not a fitted attribute")
        setattr(model, attribute, value)
    return model


# -- values to JSON and tensors -----------------------------------------------------


def _encoded_all(values: dict[str, Any], part: str, tensors: Tensors) -> dict[str, Any]:
    return {k: _encoded(v, f"{part}.{k}", tensors) for k, v in values.items()}


def _encoded(value: Any, where: str, tensors: Tensors) -> Any:
    """Return what JSON holds for a value; number arrays go to the tensors.

    Types are matched exactly: what would come back as something else is refused.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, np.generic):
        return _encoded_scalar(value, where)
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
    return InputError(
        f"the {what} {name} is a {kind}, which cannot be kept in a file: only numbers, "
        f"text, lists, dicts, arrays and tables can.{hint}"
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
}


# -- and back -----------------------------------------------------------------------


def _decoded(form: Any, tensors: Tensors) -> Any:
    if isinstance(form, list):
        return [_decoded(f, tensors) for f in form]
    if isinstance(form, dict):
        return _DECODERS[form["kind"]](form, tensors)
    return form


def _decoded_scalar(form: dict[str, Any], tensors: Tensors) -> Any:
    return np.frombuffer(bytes.fromhex(form["bytes"]), np.dtype(form["dtype"]))[0]


def _decoded_dict(form: dict[str, Any], tensors: Tensors) -> Any:
    return {_decoded(k, tensors): _decoded(v, tensors) for k, v in form["pairs"]}


def _decoded_array(form: dict[str, Any], tensors: Tensors) -> Any:
    # A copy, because what safetensors returns cannot be written to.
    return tensors[form["tensor"]].copy().transpose(np.argsort(form["axes"]))


def _decoded_text_array(form: dict[str, Any], tensors: Tensors) -> Any:
    flat = np.empty(len(form["values"]), dtype=np.dtype(form["dtype"]))
    for i, value in enumerate(form["values"]):
        flat[i] = _decoded(value, tensors)
    return flat.reshape(form["shape"])


def _decoded_frame(form: dict[str, Any], tensors: Tensors) -> Any:
    columns = {
        i: pd.Series(_decoded(column["values"], tensors), dtype=column["type"])
        for i, column in enumerate(form["columns"])
    }
    rows, names = (_decoded_index(form[axis], tensors) for axis in ("rows", "names"))
    frame = pd.DataFrame(columns, index=range(len(rows)))
    return frame.set_axis(rows, axis=0).set_axis(names, axis=1)


def _decoded_index(form: dict[str, Any], tensors: Tensors) -> Any:
    name = _decoded(form["name"], tensors)
    if "range" in form:
        return pd.RangeIndex(*form["range"]).rename(name)
    return pd.Index(_decoded(form["values"], tensors), dtype=form["type"], name=name)


_DECODERS: dict[str, Callable[[dict[str, Any], Tensors], Any]] = {
    "float": lambda form, _: float(form["value"]),
    "text": lambda form, _: np.str_(form["value"]),
    "scalar": _decoded_scalar,
    "tuple": lambda form, tensors: tuple(_decoded(form["values"], tensors)),
    "dict": _decoded_dict,
    "array": _decoded_array,
    "text_array": _decoded_text_array,
    "table": _decoded_frame,
}


# -- files --------------------------------------------------------------------------


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _canonical(body: dict[str, Any]) -> bytes:
    """Return the one spelling of the body that its checksum is taken of."""
    rest = {key: value for key, value in body.items() if key != "sha256"}
    return json.dumps(rest, allow_nan=False, sort_keys=True).encode("ascii")


def _damaged(path: Path) -> InputError:
    return InputError(
        f"{path} is damaged: it was cut off or altered after it was saved. Copy the "
        f"run folder again, or fit and save the model again."
    )


def _read(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except FileNotFoundError:
        what = f"holds no {name}" if folder.is_dir() else "does not exist"
        hint = "Give the folder that save(model, folder) or the command line wrote."
        raise InputError(f"{folder} {what}. {hint}") from None
    except NotADirectoryError:
        raise InputError(
            f"{folder} is a file; a saved model is a folder with {JSON_NAME} and "
            f"{TENSORS_NAME}. Give the folder."
        ) from None
    except OSError as error:
        raise InputError(
            f"{folder / name} cannot be read: {error.strerror}."
        ) from error


def _checked_body(text: bytes, folder: Path) -> dict[str, Any]:
    """Return what model.json says, if it is whole and of a version that we know."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(folder / JSON_NAME) from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise InputError(f"{folder / JSON_NAME} is not a model saved by wisecrowd.")
    version = body.get("version")
    if isinstance(version, int) and version > VERSION:
        raise InputError(
            f"{folder / JSON_NAME} has version {version} of the file format, and "
            f"wisecrowd {wisecrowd.__version__} reads up to version {VERSION}. Update "
            f"wisecrowd."
        )
    try:
        whole = body.get("sha256") == _sha256(_canonical(body))
    except (ValueError, RecursionError) as error:
        raise _damaged(folder / JSON_NAME) from error
    if not whole or version != VERSION:
        raise _damaged(folder / JSON_NAME)
    return body


def _write_both(folder: Path, contents: dict[str, bytes]) -> None:
    """Write files under temporary names, then put all of them in place, or none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _temporary_files(folder, contents) as written:
            _put_in_place(written)
    except (FileExistsError, NotADirectoryError):
        raise InputError(
            f"{folder} cannot be made: a file of that name is in the way. Choose "
            f"another folder, or move the file."
        ) from None
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}.") from error


@contextmanager
def _temporary_files(
    folder: Path, contents: dict[str, bytes]
) -> Iterator[dict[Path, Path]]:
    written = {folder / n: folder / f".{n}.{os.getpid()}.new" for n in contents}
    try:
        for temporary, content in zip(written.values(), contents.values(), strict=True):
            with open(temporary, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        yield written
    finally:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)


def _put_in_place(written: dict[Path, Path]) -> None:
    """Rename every temporary file to its target; on failure bring the old ones back."""
    old = {
        target: temporary.with_suffix(".old") for target, temporary in written.items()
    }
    try:
        for target, kept in old.items():
            if target.exists():
                os.replace(target, kept)
        for target, temporary in written.items():
            os.replace(temporary, target)
    except BaseException:
        for target, kept in old.items():
            if kept.exists():
                os.replace(kept, target)
            elif not written[target].exists():
                target.unlink()
        raise
    for kept in old.values():
        kept.unlink(missing_ok=True)
