"""Every file that wisecrowd writes: complete, or not at all.

A file is written under a random temporary name beside its target, where nobody can
plant a link, and put in place by one rename. A living writer holds a lock on its
temporary file; that of a killed one is removed by the next writer of the same target.

Several files that belong together are `staged` in a folder inside their own. One
rename, that of the committing file, makes them valid; the others follow. Old tables are
taken away before: a table in the folder is never that of another committing file.
"""

import hashlib
import os
import re
import secrets
import shutil
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from wisecrowd._checks import InputError

try:
    import fcntl
except ImportError:  # Windows: leftovers are recognised by their age
    fcntl = None  # type: ignore[assignment]

PATIENCE = 60.0  # seconds to wait for another process that writes the same folder
STALE = 86_400.0  # seconds after which a file is a leftover, where there are no locks
STAGE = ".wisecrowd-"  # and the id of the run: the folder of files not yet in place
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
RETIRED = "old"  # in a stage: the tables of the run before, until the commit

commit_lock = threading.RLock()
"""Held while files are put in place: do not end the process by force meanwhile."""
committed: list[Path] = []
"""The files that this process has put in place, and the folders of runs."""
by_others: list[Path] = []
"""The files that processes of this one put in place, if they got so far."""
_unfinished: set[Path] = set()


def in_place() -> list[Path]:
    """Return the files that this process and its own processes have put in place."""
    return [*committed, *(path for path in by_others if path.exists())]


def abandon() -> None:
    """Remove the temporary files of this process, which is about to end."""
    for path in list(_unfinished):
        _remove(path)
        _unfinished.add(path)  # it may be made again until the process has ended


# -- one file -----------------------------------------------------------------------


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file to write; at the end it takes the place of `path`.

    If anything fails, the old file stays as it was. A link is replaced, and what it
    points to is left alone. The new file has the permissions of the old one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "table.csv")) as temporary:
    ...         _ = temporary.write_text("a,b")
    ...     [file.name for file in Path(folder).iterdir()]
    ['table.csv']
    """
    remove_leftovers(path)
    temporary, handle, mode = _temporary_file(path)
    try:
        yield temporary
        _make_durable(temporary)
        with commit_lock:
            os.chmod(temporary, _mode(path, mode))
            os.replace(temporary, path)
            committed.append(path)
        _make_durable(path.parent)
    finally:
        _remove(temporary)
        os.close(handle)


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in place by one rename, so that nobody ever sees a part of it."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def _temporary_file(path: Path) -> tuple[Path, int, int]:
    """Return a new, locked, private file beside `path`, its handle and its mode."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_LINK
    while True:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
        _unfinished.add(temporary)
        handle = os.open(temporary, flags, 0o666)
        mode = stat.S_IMODE(os.fstat(handle).st_mode)  # as the umask has it
        os.chmod(temporary, 0o600)
        _lock(handle)
        # Another process may have taken it for a leftover before it was locked.
        if os.fstat(handle).st_nlink:
            return temporary, handle, mode
        _unfinished.discard(temporary)
        os.close(handle)


def _mode(path: Path, new: int) -> int:
    """Return the permissions of the old file, or those of a new one."""
    with suppress(OSError):
        old = os.lstat(path)
        if stat.S_ISREG(old.st_mode):
            return stat.S_IMODE(old.st_mode) & 0o777
    return new


def remove_leftovers(path: Path) -> None:
    """Remove temporary files for this target whose writer is dead."""
    leftover = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{16}}\.new")
    with suppress(OSError):
        for name in filter(leftover.fullmatch, os.listdir(path.parent)):
            with suppress(OSError):
                _remove_if_dead(path.with_name(name))


def _remove_if_dead(path: Path) -> None:
    handle = os.open(path, os.O_RDWR | NO_LINK)
    try:
        found = os.fstat(handle)
        is_old = fcntl is not None or time.time() - found.st_mtime >= STALE
        if stat.S_ISREG(found.st_mode) and is_old:
            _lock(handle)
            path.unlink()
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    """Lock an open file or folder, or raise OSError if somebody else has it."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _make_durable(path: Path) -> None:
    """Have the disk write a file, or the names in a folder."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    _unfinished.discard(path)


@contextmanager
def temporary_folder(place: Path) -> Iterator[Path]:
    """Give a folder in `place` for what nobody needs at the end, nor after a signal."""
    folder = place / f".work-{secrets.token_hex(8)}"
    _unfinished.add(folder)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        _remove(folder)


# -- several files that belong together ---------------------------------------------


@contextmanager
def staged(
    folder: Path, run: str, committing: str, tables: Iterable[str] = ()
) -> Iterator[Path]:
    """Give a folder to write files into; at the end all of them move to `folder`.

    The rename of the file `committing` makes them valid: before it the old files are
    in place, and after it whoever reads that file finds the others in place or still
    in the stage, which `run` names (`staged_file`). Old `tables`, which people open by
    themselves, are taken away before. One process writes at a time; another one waits.

    A process that is killed within these renames can leave tables in the stage, old or
    new ones. `complete` and `finish` put them in place.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        stage = folder / f"{STAGE}{run}"
        _unfinished.add(stage)
        os.mkdir(stage)
        try:
            yield stage
            for path in stage.iterdir():
                _make_durable(path)
            _make_durable(stage)
            _put_in_place(stage, committing, tables)
        finally:
            if stage in _unfinished:
                _remove(stage)


def staged_file(folder: Path, run: str, name: str) -> Path:
    """Return where a file of a run is until it is put in place."""
    return folder / f"{STAGE}{run}" / name


def finish(folder: Path, sha256: Mapping[str, str], own: Path | None = None) -> None:
    """Put in place what killed writers have left in their stages; remove the rest.

    `sha256` has the checksums of the files that belong to the committing file, old or
    new; anything else, such as a link that somebody has put there, is removed. `own` is
    the stage of this process, which stays. Nobody else may write meanwhile.
    """
    for stage in _stages(folder):
        if stage != own:
            _move_files(stage, sha256)
            _remove(stage)


def complete(folder: Path, sha256: Mapping[str, str]) -> bool:
    """Do what `finish` does, if nobody writes; return whether a writer will do it."""
    if fcntl is None or not _stages(folder):
        return False
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle)
        finish(folder, sha256)
    except BlockingIOError:
        return True
    except OSError:
        return False  # a folder that may only be read
    finally:
        os.close(handle)
    return False


def _move_files(stage: Path, sha256: Mapping[str, str]) -> None:
    """Put the files of a stage in place that belong to the committing file."""
    retired = stage / RETIRED
    held = retired.iterdir() if retired.is_dir() and not retired.is_symlink() else ()
    with commit_lock:
        for path in [*stage.iterdir(), *held]:
            known = sha256.get(path.name)
            if is_regular(path) and known is not None and sha256_of(path) == known:
                os.replace(path, stage.parent / path.name)


def is_regular(path: Path) -> bool:
    """Return whether this is a file: no link, no folder, no pipe."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _put_in_place(stage: Path, committing: str, tables: Iterable[str]) -> None:
    folder, retired = stage.parent, stage / RETIRED
    names = [p.name for p in sorted(stage.iterdir()) if p.name != committing]
    with commit_lock:
        for name in names:  # what would stop a later rename stops it before the commit
            if (folder / name).is_dir():
                raise IsADirectoryError(21, "Is a directory", str(folder / name))
        try:
            retired.mkdir()
            for name in filter(lambda name: os.path.lexists(folder / name), tables):
                os.replace(folder / name, retired / name)
            os.replace(stage / committing, folder / committing)
        except BaseException:
            for path in retired.iterdir():
                os.replace(path, folder / path.name)
            raise
        committed.append(folder)
        # What is committed is not abandoned: its other files may still be needed.
        _unfinished.discard(stage)
        for name in names:
            os.replace(stage / name, folder / name)
        shutil.rmtree(stage, ignore_errors=True)
    _make_durable(folder)


def _stages(folder: Path) -> list[Path]:
    return [
        path
        for path in folder.iterdir()
        if re.fullmatch(rf"{re.escape(STAGE)}[0-9a-f]{{32}}", path.name)
        and path.is_dir()
        and not path.is_symlink()
    ]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; wait for another process that has it."""
    if fcntl is None:
        yield
        return
    handle, until = os.open(folder, os.O_RDONLY), time.monotonic() + PATIENCE
    try:
        while not _taken(handle):
            if time.monotonic() > until:
                raise InputError(
                    f"{folder}: another process is writing this folder. Wait until it "
                    f"has ended, or choose another folder."
                )
            time.sleep(0.002)
        yield
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    """Return whether a lock is ours, or the file system has none."""
    try:
        _lock(handle)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


# -- what may be replaced -----------------------------------------------------------


def sha256_of(path: Path) -> str:
    """Return the checksum of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_outputs(
    outputs: Iterable[Path], inputs: Iterable[Path | None], *, force: bool
) -> None:
    """Refuse to write over an input, and without force over any file.

    An input that is None was not given.
    """
    given = [path for path in inputs if path is not None]
    for output in outputs:
        for path in given:
            if _same_file(output, path):
                raise InputError(
                    f"{output}: this file is an input ({path}), so writing the results "
                    f"there would destroy it. Choose another name or folder."
                )
        if not force and os.path.lexists(output):
            raise InputError(
                f"{output}: this file exists already. Choose another name, or replace "
                f"it with force=True."
            )


def _same_file(one: Path, other: Path) -> bool:
    """Return whether two paths are one file, also through links."""
    one, other = one.expanduser(), other.expanduser()
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)
