"""The two files of a saved model: both are written or none, and read if whole."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wisecrowd._checks import InputError
from wisecrowd._version import __version__

FORMAT = "wisecrowd-model"
VERSION = 2
"""Of the file format; raised when an older wisecrowd could not read a new file."""

JSON_NAME = "model.json"
TENSORS_NAME = "model.safetensors"


def write_files(folder: Path, content: dict[str, Any], numbers: bytes) -> None:
    """Write what a model says of itself and its packed tensors, with checksums."""
    body = {
        "format": FORMAT,
        "version": VERSION,
        "wisecrowd": __version__,
        **content,
        "tensors_sha256": _sha256(numbers),
    }
    body["sha256"] = body_sha256(body)
    text = json.dumps(body, allow_nan=False, indent=1).encode("ascii")
    _write_both(folder, {TENSORS_NAME: numbers, JSON_NAME: text})


def read_files(folder: Path) -> tuple[dict[str, Any], bytes]:
    """Return what `write_files` wrote, if both files are whole and known."""
    body = _checked_body(_read(folder, JSON_NAME), folder)
    numbers = _read(folder, TENSORS_NAME)
    if _sha256(numbers) != body["tensors_sha256"]:
        raise damaged(folder / TENSORS_NAME)
    return body, numbers


def damaged(path: Path) -> InputError:
    """Return the error to raise for a file that was cut off or altered."""
    return InputError(
        f"{path} is damaged: it was cut off or altered after it was saved. Copy the "
        f"run folder again, or fit and save the model again."
    )


def body_sha256(body: dict[str, Any]) -> str:
    """Return the checksum of all else that model.json holds, in one spelling."""
    rest = {key: value for key, value in body.items() if key != "sha256"}
    return _sha256(json.dumps(rest, allow_nan=False, sort_keys=True).encode("ascii"))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# -- reading ------------------------------------------------------------------------


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
        raise damaged(folder / JSON_NAME) from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise InputError(f"{folder / JSON_NAME} is not a model saved by wisecrowd.")
    version = body.get("version")
    if isinstance(version, int) and version > VERSION:
        raise InputError(
            f"{folder / JSON_NAME} has version {version} of the file format, and "
            f"wisecrowd {__version__} reads up to version {VERSION}. Update "
            f"wisecrowd."
        )
    try:
        whole = body.get("sha256") == body_sha256(body)
    except (ValueError, RecursionError) as error:
        raise damaged(folder / JSON_NAME) from error
    if not whole or not (isinstance(version, int) and 1 <= version <= VERSION):
        raise damaged(folder / JSON_NAME)
    return body


# -- writing ------------------------------------------------------------------------


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
