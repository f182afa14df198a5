"""A fitted model to a folder, and a model from it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors
from safetensors.numpy import load as unpacked
from safetensors.numpy import save as packed
from sklearn.utils.validation import check_is_fitted

from wisecrowd._checks import InputError, listed
from wisecrowd._records import (
    Sizes,
    Unfit,
    check,
    check_record,
    hints_of,
    is_record,
    of_type,
)  # fmt: skip
from wisecrowd._shown import IN_MEMORY
from wisecrowd._version import __version__
from wisecrowd.base import WithConfusionMatrices
from wisecrowd.persist.encoding import Tensors, decoded_all, encoded_all
from wisecrowd.persist.files import (
    FORMAT,
    JSON_NAME,
    Writer,
    damaged,
    read_files,
    warn_if_mixed,
    write_files,
)
from wisecrowd.registry import METHODS, entries
from wisecrowd.skills import ConfusionMatrices


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    tables: Mapping[str, Writer] | None = None,
    force: bool = False,
) -> None:
    """Write a fitted model into a folder.

    The folder is made if need be; other files in it are left alone. A model that was
    there before is replaced by one rename after the new one is written: a process
    that is killed, or a full disk, leaves the old model or the new one.

    Parameters
    ----------
    model : estimator
        A fitted method of wisecrowd.
    path : str or path
        The folder, such as ``"run/"``.
    tables : dict, optional
        More files of the run: from a name, such as "labels.csv", to a function that
        writes the file to the path that it gets.
    force : bool, default False
        Whether to replace files of the same names that wisecrowd did not write.

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
    kind: Any = type(model)
    name = kind.__name__
    if kind is not _public_class(name):
        raise InputError(
            f"{name} is not a method of wisecrowd, so it could not be loaded again."
            f"{_said_of_steps(model)}"
        )
    check_is_fitted(model)
    if not str(path):
        raise InputError("the name of the folder is empty. Give one, such as 'run/'.")
    tensors: Tensors = {}
    settings = model.get_params(deep=False)
    content = {
        "class": name,
        "settings": encoded_all(settings, "settings", tensors),
        "fitted": encoded_all(_fitted_state(model, settings), "fitted", tensors),
    }

    def numbers(run: str) -> bytes:
        found: bytes = packed(tensors, metadata={"format": FORMAT, "run": run})
        return found

    write_files(Path(path).expanduser(), content, numbers, tables, force=force)


def _said_of_steps(model: Any) -> str:
    """Say how to save a Pipeline that ends in a method of wisecrowd."""
    steps = getattr(model, "steps", None)
    if not isinstance(steps, list) or not steps:
        return ""
    last = type(steps[-1][1]).__name__
    if _public_class(last) is None:
        return ""
    return (
        f" Save its last step, wc.save(pipeline[-1], ...), which is {last}, and the "
        f"others with joblib or skops."
    )


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
    folder = Path(path).expanduser()
    body, numbers = read_files(folder)
    warn_if_mixed(folder, body)
    try:
        tensors = unpacked(numbers)
        settings = decoded_all(body["settings"], tensors)
        fitted = decoded_all(body["fitted"], tensors)
        model = _rebuilt(body["class"], settings, fitted)
        _check_model(model)
        return model
    except InputError:
        raise
    except Unfit as error:
        raise damaged(folder / JSON_NAME, str(error)) from error
    except (
        ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError,
        TypeError, ValueError, safetensors.SafetensorError,
    ) as error:  # fmt: skip
        raise damaged(folder / JSON_NAME) from error


# -- the object ---------------------------------------------------------------------


def _public_class(name: Any) -> type | None:
    """Return the method of that class name; no other class is ever imported."""
    names = {entry.kind: method for method, entry in entries().items()}
    return METHODS[names[name]] if name in names else None


def _fitted_state(model: Any, settings: dict[str, Any]) -> dict[str, Any]:
    left_out = {*settings, *IN_MEMORY}
    return {k: v for k, v in vars(model).items() if k not in left_out and _is_state(k)}


def _is_state(name: str) -> bool:
    return not name.startswith("__") and (name.endswith("_") or name.startswith("_"))


def _rebuilt(name: str, settings: dict[str, Any], fitted: dict[str, Any]) -> Any:
    found = _public_class(name)
    if found is None:
        raise InputError(
            f"the saved model is a {name!r}, which wisecrowd {__version__} "
            f"does not have. Load it with the wisecrowd that saved it."
        )
    known = found._get_param_names()  # type: ignore[attr-defined]
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise InputError(
            f"the saved {name} has settings that {name} does not have in wisecrowd "
            f"{__version__}: {listed(unknown)}. Load it with the wisecrowd "
            f"that saved it."
        )
    model = found(**settings)
    for attribute, value in fitted.items():
        if not _is_state(attribute):
            raise ValueError(f"{attribute!r} is not a fitted attribute")
        setattr(model, attribute, value)
    return model


# -- whether a file's model can have been fitted ------------------------------------


def _check_model(model: Any) -> None:
    """Raise `Unfit` if a model could not have been fitted.

    Its fitted attributes are what the annotations of its class and of its records say.
    """
    kind: Any = type(model)
    sizes, hints = _check_vocabularies(model), hints_of(kind)
    fitted = {k: hint for k, hint in hints.items() if k.endswith("_") and k != "_"}
    if "n_features_in_" in fitted:
        n_features = _attribute(model, "n_features_in_")
        check(n_features, fitted["n_features_in_"], "n_features_in_", sizes)
        sizes["D"] = n_features
        names = getattr(model, "feature_names_in_", None)
        if names is not None and np.shape(names) != (n_features,):
            raise Unfit("feature_names_in_ does not name every feature")
    if hasattr(model, "_check_settings"):
        model._check_settings()
    for name, value in model.get_params(deep=False).items():
        if is_record(value):
            check_record(value, name, sizes)
    for name, hint in fitted.items():
        check(_attribute(model, name), hint, name, sizes)
    if "n_features_in_" in fitted:
        check_record(model.learned_.classifier, "classifier", sizes)
    if isinstance(model, WithConfusionMatrices):
        of_type(model.learned_.skills, "skills", ConfusionMatrices)
    model._check_file(sizes)


def _check_vocabularies(model: Any) -> Sizes:
    names = {"C": "classes_", "K": "answers_", "A": "annotators_", "N": "items_"}
    sizes = {}
    for axis, name in names.items():
        values = of_type(_attribute(model, name), name, np.ndarray)
        if values.ndim != 1 or not len(values) or values.dtype.kind not in "OUiubM":
            raise Unfit(f"{name} is not a list of names")
        if not pd.Index(values).is_unique:
            raise Unfit(f"{name} has a name twice")
        sizes[axis] = len(values)
    if not np.array_equal(model.answers_[: sizes["C"]], model.classes_):
        raise Unfit("the classes are not the first answers")
    return sizes


def _attribute(model: Any, name: str) -> Any:
    if name not in vars(model):
        raise Unfit(f"{name} is missing")
    return vars(model)[name]
