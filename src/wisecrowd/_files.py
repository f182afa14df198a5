"""Every file that wisecrowd writes: complete, or not at all.

A file is written under a temporary name in the folder of its target, and put in place
by one rename. Whoever looks sees the old file or the new one, and never a part of one.
A temporary name is random and made anew, so that nobody can plant a link there. A
process that is killed leaves its temporary file; the next one that writes the same
target removes it. A living writer holds a lock on its temporary file.

Several files that belong together are `staged` in a folder inside their own. One
rename, that of the committing file, makes them valid; the others follow.
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

commit_lock = threading.RLock()
"""Held while files are put in place: do not end the process by force meanwhile."""
committed: list[Path] = []
"""The files that this process has put in place, and the folders of runs."""
_unfinished: set[Path] = set()


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
    """Return a new, locked file beside `path`, and the permissions it should end with.

    Nobody else can read it while it is written.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
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
        names = [n for n in os.listdir(path.parent) if leftover.fullmatch(n)]
        for name in names:
            _remove_if_dead(path.with_name(name))


def _remove_if_dead(path: Path) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                return
            if fcntl is None and time.time() - found.st_mtime < STALE:
                return
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
    """Give a folder for what nobody needs at the end, after a signal neither.

    Parameters
    ----------
    place : path
        The folder that it is in; made if need be.
    """
    folder = place / f".work-{secrets.token_hex(8)}"
    _unfinished.add(folder)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        _remove(folder)


# -- several files that belong together ---------------------------------------------


@contextmanager
def staged(folder: Path, run: str, committing: str) -> Iterator[Path]:
    """Give a folder to write files into; at the end all of them move to `folder`.

    The rename of the file `committing` makes them valid: before it the old files are
    in place, and after it whoever reads that file finds the others in place or still
    in the stage. One process writes at a time; another one waits.

    Parameters
    ----------
    folder : path
        Made if need be.
    run : str
        What names the stage; the committing file says it, for `staged_file`.
    committing : str
        The name of the file that is put in place first.
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
            _put_in_place(stage, committing)
        finally:
            if stage in _unfinished:
                _remove(stage)


def staged_file(folder: Path, run: str, name: str) -> Path:
    """Return where a file of a run is until it is put in place."""
    return folder / f"{STAGE}{run}" / name


def finish(stage: Path, run: str | None, sha256: Mapping[str, str]) -> None:
    """Complete what a killed writer has committed; remove what it has not.

    Parameters
    ----------
    stage : path
        The stage of this process, which stays: nobody else writes meanwhile.
    run : str or None
        The run that the committing file names.
    sha256 : mapping
        The checksums of the files of that run. Anything else in its stage, such as a
        link that somebody has put there, is removed.
    """
    for old in _stages(stage.parent):
        if old.name == f"{STAGE}{run}":
            _move_files(old, sha256)
        if old != stage:
            _remove(old)


def complete(folder: Path, run: str, sha256: Mapping[str, str]) -> bool:
    """Complete what a killed writer has committed, as `finish` does.

    Returns
    -------
    bool
        Whether a writer is at work, who will do it.
    """
    stage = folder / f"{STAGE}{run}"
    if fcntl is None or stage not in _stages(folder):
        return False
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle)
        _move_files(stage, sha256)
        _remove(stage)
    except BlockingIOError:
        return True
    except OSError:
        return False  # a folder that may only be read
    finally:
        os.close(handle)
    return False


def _move_files(stage: Path, sha256: Mapping[str, str]) -> None:
    """Put the files of a stage in place that are the ones that were committed."""
    with commit_lock:
        for path in sorted(stage.iterdir()):
            known = sha256.get(path.name)
            if is_regular(path) and known is not None and sha256_of(path) == known:
                os.replace(path, stage.parent / path.name)


def is_regular(path: Path) -> bool:
    """Return whether this is a file: no link, no folder, no pipe."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _put_in_place(stage: Path, committing: str) -> None:
    folder = stage.parent
    names = [p.name for p in sorted(stage.iterdir()) if p.name != committing]
    with commit_lock:
        for name in names:  # what would stop a later rename stops it before the commit
            if (folder / name).is_dir():
                raise IsADirectoryError(21, "Is a directory", str(folder / name))
        os.replace(stage / committing, folder / committing)
        committed.append(folder)
        # What is committed is not abandoned: its other files may still be needed.
        _unfinished.discard(stage)
        for name in names:
            os.replace(stage / name, folder / name)
        os.rmdir(stage)
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
    handle = os.open(folder, os.O_RDONLY)
    try:
        _wait_for_lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _wait_for_lock(handle: int, folder: Path) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return _lock(handle)
        except BlockingIOError:
            if time.monotonic() > until:
                raise InputError(
                    f"{folder}: another process is writing this folder. Wait until it "
                    f"has ended, or choose another folder."
                ) from None
        except OSError:
            return None  # a file system without locks
        time.sleep(0.002)


# -- what may be replaced -----------------------------------------------------------


def sha256_of(path: Path) -> str:
    """Return the checksum of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_outputs(
    outputs: Iterable[Path], inputs: Iterable[Path | None], *, force: bool
) -> None:
    """Refuse to write over an input, and without force over any file.

    Parameters
    ----------
    outputs : paths
        The files that will be written.
    inputs : paths
        The files that are read; None stands for one that was not given.
    force : bool
        Whether other files may be replaced.
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
