"""The files of a saved model and its run: all are written or none, and read if whole.

model.json is the file that commits: it names the run and has the checksums of the
others.
"""

import errno
import hashlib
import io
import json
import os
import re
import secrets
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from wisecrowd._checks import InputError, listed
from wisecrowd._files import complete, finish, sha256_of, staged, staged_file
from wisecrowd._version import __version__

FORMAT = "wisecrowd-model"
VERSION = 1
"""Of the file format; raised when an older wisecrowd could not read a new file."""

JSON_NAME = "model.json"
TENSORS_NAME = "model.safetensors"
RUN_ID = re.compile("[0-9a-f]{32}")
NAME = re.compile(r"[a-z]+\.[a-z]+")  # of a file in a run folder
MAX_HEADER = 100_000_000  # bytes; safetensors writes no longer ones
ATTEMPTS = 40  # to read a model that is being replaced

Writer = Callable[[Path], None]
"""Writes one more file of a run, such as a table, to the path that it gets."""


def write_files(
    folder: Path,
    content: dict[str, Any],
    tensors: Callable[[str], bytes],
    tables: Mapping[str, Writer] | None = None,
    *,
    force: bool = False,
) -> None:
    """Write what a model says of itself, its tensors, and the tables of its run.

    The rename of model.json commits them all. It names the run, and has the checksums
    of the other files. `tensors` packs the tensors, given the id of the run.
    """
    tables = tables or {}
    run = secrets.token_hex(16)
    numbers = tensors(run)
    with _errors_of_writing(folder), staged(folder, run, JSON_NAME, tables) as stage:
        finish(folder, manifest_of(folder).checksums(), stage)
        check_ours(folder, [JSON_NAME, TENSORS_NAME, *tables], force=force)
        for name, write in tables.items():
            write(stage / name)
        (stage / TENSORS_NAME).write_bytes(numbers)
        body = {
            "format": FORMAT,
            "version": VERSION,
            "wisecrowd": __version__,
            "run": run,
            **content,
            "files": _manifest(folder, stage, tables, run),
            "tensors_sha256": _sha256(numbers),
        }
        body["sha256"] = body_sha256(body)
        text = json.dumps(body, allow_nan=False, indent=1).encode("ascii")
        (stage / JSON_NAME).write_bytes(text)


def read_files(folder: Path) -> tuple[dict[str, Any], bytes]:
    """Return what `write_files` wrote, if the model is whole and known.

    Another process may write meanwhile: what does not fit together is read again.
    """
    before = None
    for attempt in range(ATTEMPTS):
        time.sleep(0.005 * attempt)
        text = _read(folder, JSON_NAME)
        body = _checked_body(text, folder)
        numbers = _tensors(folder, body)
        if numbers is not None:
            return body, numbers
        if text == before and attempt >= 3:
            break
        before = text
    raise _unfit(folder, io.BytesIO(_read(folder, TENSORS_NAME)), body)


def _tensors(folder: Path, body: dict[str, Any]) -> bytes | None:
    """Return the tensors of this model.json, in place or in the stage of its run."""
    places = [folder / TENSORS_NAME]
    if isinstance(body.get("run"), str) and RUN_ID.fullmatch(body["run"]):
        # Between two looks at one place the file may come from the other.
        places += [staged_file(folder, body["run"], TENSORS_NAME), *places]
    for place in places:
        with suppress(OSError):
            numbers = content_of(place)
            if _sha256(numbers) == body["tensors_sha256"]:
                return numbers
    return None


def _unfit(folder: Path, numbers: Any, body: dict[str, Any]) -> InputError:
    """Return the error for tensors that are not those of model.json."""
    other = _about_tensors(numbers).get("run")
    if other and body.get("run") and other != body["run"]:
        return InputError(
            f"{folder} is mixed: {TENSORS_NAME} and {JSON_NAME} belong to different "
            f"runs. Copy the whole folder again, or fit and save the model again."
        )
    return damaged(folder / TENSORS_NAME)


def warn_if_mixed(folder: Path, body: dict[str, Any]) -> None:
    """Warn of tables in the folder that are not those of the model.

    What a killed process has left in the stage of the run is put in place before.
    """
    manifest = _manifest_in(body)
    if complete(folder, manifest.checksums()):
        return
    mixed = [
        name
        for name, entry in manifest.files.items()
        if (folder / name).is_file()
        and (entry["run"] != body.get("run") or not _has_sha256(folder / name, entry))
    ]
    if mixed:
        warnings.warn(
            f"{folder} is mixed: {listed(mixed)} and the model do not belong to the "
            f"same run, or were changed later. The model is complete. To have tables "
            f"that fit, write the run again.",
            stacklevel=3,
        )


# -- whose files these are ----------------------------------------------------------


class Manifest(NamedTuple):
    """What model.json says of the files beside it; nothing if it is not ours."""

    run: str | None = None
    tensors_sha256: str | None = None
    files: dict[str, dict[str, str]] = {}  # noqa: RUF012  (never changed)

    def checksums(self) -> dict[str, str]:
        """Return the checksums of the files beside it."""
        tables = {name: entry["sha256"] for name, entry in self.files.items()}
        return {TENSORS_NAME: self.tensors_sha256 or "", **tables}


def manifest_of(folder: Path) -> Manifest:
    """Return what model.json in a folder says of the files there, if it is ours."""
    try:
        body = _checked_body(content_of(folder / JSON_NAME), folder)
    except (OSError, InputError):
        return Manifest()
    return _manifest_in(body)


def _manifest_in(body: dict[str, Any]) -> Manifest:
    run = body.get("run")
    known = isinstance(run, str) and RUN_ID.fullmatch(run)
    return Manifest(run if known else None, body["tensors_sha256"], _entries(body))


def check_ours(folder: Path, names: Iterable[str], *, force: bool) -> None:
    """Refuse to replace files in a folder that no run of wisecrowd has written.

    A file is ours if it is as model.json says. A table that was edited is not.
    """
    if force or not folder.is_dir():
        return
    manifest = manifest_of(folder)
    foreign = [name for name in names if not _is_ours(folder / name, manifest)]
    if foreign:
        raise InputError(
            f"{folder}: {listed(foreign)} would be replaced, but no run of wisecrowd "
            f"has written {'it' if len(foreign) == 1 else 'them'} in this form. Choose "
            f"another folder, or replace with force=True."
        )


def _is_ours(path: Path, manifest: Manifest) -> bool:
    if not os.path.lexists(path):
        return True
    if path.is_symlink() or not path.is_file():
        return False
    if path.name == JSON_NAME:
        return manifest.tensors_sha256 is not None
    if path.name == TENSORS_NAME:
        with path.open("rb") as file:
            return _about_tensors(file).get("format") == FORMAT
    entry = manifest.files.get(path.name)
    return entry is not None and _has_sha256(path, entry)


def _manifest(
    folder: Path, stage: Path, tables: Iterable[str], run: str
) -> dict[str, dict[str, str]]:
    """Return run and checksum of every table: the new ones, and old ones that stay."""
    old = {
        name: entry
        for name, entry in manifest_of(folder).files.items()
        if (folder / name).is_file()
    }
    new = {name: {"run": run, "sha256": sha256_of(stage / name)} for name in tables}
    return old | new


def _entries(body: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the files that model.json lists; what has another form is left out."""
    found = body.get("files")
    return {
        name: entry
        for name, entry in (found.items() if isinstance(found, dict) else ())
        if NAME.fullmatch(name)
        and isinstance(entry, dict)
        and isinstance(entry.get("sha256"), str)
        and isinstance(entry.get("run"), str)
        and RUN_ID.fullmatch(entry["run"])
    }


def _has_sha256(path: Path, entry: dict[str, str]) -> bool:
    try:
        return sha256_of(path) == entry["sha256"]
    except OSError:
        return False


def _about_tensors(file: Any) -> dict[str, str]:
    """Return the metadata of a safetensors file; nothing if it is none."""
    try:
        size = int.from_bytes(file.read(8), "little")
        about = json.loads(file.read(min(size, MAX_HEADER)))["__metadata__"]
        return {str(key): str(value) for key, value in about.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def damaged(path: Path, why: str = "") -> InputError:
    """Return the error to raise for a file that was cut off or altered."""
    return InputError(
        f"{path} is damaged: it was cut off or altered after it was saved"
        f"{f' ({why})' if why else ''}. Copy the run folder again, or fit and save the "
        f"model again."
    )


def body_sha256(body: dict[str, Any]) -> str:
    """Return the checksum of all else that model.json holds, in one spelling."""
    rest = {key: value for key, value in body.items() if key != "sha256"}
    return _sha256(json.dumps(rest, allow_nan=False, sort_keys=True).encode("ascii"))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# -- reading ------------------------------------------------------------------------


def content_of(path: Path) -> bytes:
    """Return the content of a file; a pipe, which could wait for ever, is an error."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "it is not a file")
    return path.read_bytes()


def _read(folder: Path, name: str) -> bytes:
    try:
        return content_of(folder / name)
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


@contextmanager
def _errors_of_writing(folder: Path) -> Iterator[None]:
    """Turn errors of the file system into a sentence that names the folder."""
    try:
        yield
    except (FileExistsError, NotADirectoryError):
        raise InputError(
            f"{folder} cannot be made: a file of that name is in the way. Choose "
            f"another folder, or move the file."
        ) from None
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {error.strerror or error}. What was there "
            f"before is unchanged."
        ) from error
