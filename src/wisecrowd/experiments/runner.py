"""Run jobs one after the other, and keep a row of each: a killed run can go on.

A row says what was run (experiment, method, seed, settings), on what (commit, versions,
machine, date), what the fit took (seconds by the clock and of the processor, megabytes)
and what came out (scores). Rows are lines of JSON in ``rows.jsonl``. Arrays for figures
are beside them, in ``arrays/``.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from wisecrowd._checks import InputError
from wisecrowd._files import committed, replacing, write_whole
from wisecrowd._types import Array
from wisecrowd._version import __version__
from wisecrowd.results.limits import Cost

PACKAGES = ("numpy", "scipy", "scikit-learn", "jax", "equinox", "optax")
ROWS = "rows.jsonl"
OUT_OF_TIME = "no result after"
FAILED = "failed:"


class Outcome(NamedTuple):
    """What a job has found: numbers for tables, arrays for figures, its cost."""

    scores: Mapping[str, Any]
    cost: Cost
    arrays: Mapping[str, Array] = {}


class Job(NamedTuple):
    """One fit, or whatever takes time: ``task(method, seed, **settings)``.

    All but the task tell this job from all others.
    """

    experiment: str
    method: str
    seed: int
    settings: Mapping[str, Any]  # numbers and words
    task: Callable[..., Outcome]  # importable by its name, by another process

    @property
    def key(self) -> str:
        """What is looked for in the file of rows.

        Examples
        --------
        >>> Job("mnist", "bcc", 0, {"n_items": 9}, print).key
        '["mnist", "bcc", 0, {"n_items": 9}]'
        """
        settings = dict(self.settings)
        about = [self.experiment, self.method, self.seed, settings]
        return json.dumps(about, sort_keys=True)

    def __str__(self) -> str:
        chosen = [f"{name}={value}" for name, value in self.settings.items()]
        return ", ".join([f"{self.experiment}: {self.method}", *chosen])


class NoRows(Exception):
    """There are no rows, or no arrays, yet for a table or a figure."""


class Rows:
    """The rows of a folder, and their arrays.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Rows(Path(folder)).frame()
    Empty DataFrame
    Columns: []
    Index: []
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.rows = _read(self.folder / ROWS)

    def frame(self, experiment: str | None = None) -> pd.DataFrame:
        """Return a row per job that has a result: settings and scores are columns."""
        chosen = [
            {**row, **row["settings"], **row["scores"]}
            for row in self.rows.values()
            if not row["note"] and experiment in (None, row["experiment"])
        ]
        return pd.DataFrame(chosen).drop(
            columns=["settings", "scores"], errors="ignore"
        )

    def arrays(self, name: str) -> dict[str, Array]:
        """Return the arrays of the row whose column `arrays` has this name.

        Rows can be copied without their arrays, which are large: then `NoRows`.
        """
        try:
            with np.load(self.folder / "arrays" / name) as file:
                return dict(file)
        except FileNotFoundError:
            raise NoRows from None

    def added_to(self, path: Path) -> "Rows":
        """Add these rows to those of a file; return all, with the arrays of these."""
        both = Rows(self.folder)
        both.rows = {**_read(path), **self.rows}
        text = "".join(f"{json.dumps(row)}\n" for row in both.rows.values())
        write_whole(path, text.encode())
        return both

    def add(self, job: Job, found: Outcome | str) -> dict[str, Any]:
        """Write the row of a job, or the note that says why there is no result."""
        row = {**job._asdict(), "settings": dict(job.settings), "note": "", **about()}
        del row["task"]
        if isinstance(found, str):
            row["note"] = found
        else:
            costs = ("seconds", "processor", "megabytes")
            row |= {name: getattr(found.cost, name) for name in costs}
            scores = {k: np.asarray(v).tolist() for k, v in found.scores.items()}
            row |= {"scores": scores, "arrays": ""}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not isinstance(found, str) and found.arrays:
                row["arrays"] = self._save(job, found.arrays)
            _append(self.folder / ROWS, json.dumps(row))
        except OSError as error:
            raise InputError(
                f"{error.filename or self.folder}: the row could not be written "
                f"({error.strerror or error}). {len(self.rows)} rows are kept: make "
                f"room and run the same command again to go on from there."
            ) from error
        self.rows[job.key] = row
        return row

    def _save(self, job: Job, arrays: Mapping[str, Array]) -> str:
        digest = hashlib.sha256(job.key.encode()).hexdigest()[:12]
        path = self.folder / "arrays" / f"{job.experiment}-{job.seed}-{digest}.npz"
        path.parent.mkdir(exist_ok=True)
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        return path.name


def run(
    jobs: Iterable[Job],
    folder: Path,
    *,
    limit: float | None = None,
    apart: bool = True,
    say: Callable[[str], None] = lambda line: None,
) -> Rows:
    """Run the jobs whose rows are not in the folder yet, or failed; return all rows.

    Each job has a process of its own, so that memory and seconds are its own; it is
    ended after `limit` seconds, imports not counted. With ``apart=False`` all jobs are
    run in this process, without a limit. `say` takes lines about each job.
    """
    rows, jobs = Rows(folder), list(jobs)
    for place, job in enumerate(jobs, 1):
        old = rows.rows.get(job.key)
        if old is not None and not old["note"].startswith(FAILED):
            continue
        say(f"{place}/{len(jobs)} {job}, seed {job.seed}")
        row = rows.add(job, _in_a_process(job, limit) if apart else _done(job))
        say(f"    {row['note'] or _told(row)}")
    return rows


def command(doc: str | None) -> argparse.ArgumentParser:
    """Return the parser of a script whose help is its docstring."""
    as_it_is = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(description=doc, formatter_class=as_it_is)


def on_stderr(line: str) -> None:
    """Say a line where no table is printed."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def kept_in(folder: Path | None) -> Iterator[Path]:
    """Give the folder; None: one that is removed at the end."""
    with tempfile.TemporaryDirectory() as temporary:
        yield folder or Path(temporary)


# -- a job ---------------------------------------------------------------------------


def _done(job: Job) -> Outcome | str:
    """Run a job in this process; what cannot be run is a note."""
    try:
        return job.task(job.method, job.seed, **job.settings)
    except InputError as error:
        return f"{FAILED} {error}"
    except MemoryError:
        return f"{FAILED} there was not enough memory."


def _in_a_process(job: Job, limit: float | None) -> Outcome | str:
    """Run a job in a process of its own, which is ended when its time is up."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(there, job), daemon=True)
    child.start()
    there.close()
    try:
        here.recv()  # it begins now: imports take no part in the limit
        if not here.poll(limit):
            return f"{OUT_OF_TIME} {limit:g} seconds."
        found: Outcome | str = here.recv()
        return found
    except EOFError:
        child.join()
        return f"{FAILED} its process ended with code {child.exitcode}."
    finally:
        child.kill()  # Ctrl-C too: no fit goes on alone
        child.join()


def _child(pipe: Any, job: Job) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    pipe.send("ready")
    try:
        found = _done(job)
    except Exception as error:  # the other jobs go on
        found = f"{FAILED} {type(error).__name__}: {error}"
    pipe.send(found)


def _end_with_parent() -> None:
    """End this process when the one that started it has ended, killed or not."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _told(row: Mapping[str, Any]) -> str:
    """Return a line about a row.

    Examples
    --------
    >>> _told({"scores": {"accuracy": 0.97, "of_class": [1.0]}, "seconds": 61.0})
    'accuracy 0.97, 61.0 s'
    """
    numbers = {k: v for k, v in row["scores"].items() if isinstance(v, int | float)}
    said = [f"{k.replace('_', ' ')} {v:.4g}" for k, v in list(numbers.items())[:5]]
    return ", ".join([*said, f"{row['seconds']:.1f} s"])


# -- the file ------------------------------------------------------------------------


@cache
def about() -> dict[str, Any]:
    """Return on what a job runs: commit, versions, machine, date."""
    return {
        "commit": _commit(),
        "versions": {
            "wisecrowd": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
        },
        "date": datetime.now(UTC).date().isoformat(),
    }


def _commit() -> str:
    """Return the commit of the source, with a + if it was changed since; or ""."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        command = ["git", "-C", str(here), *words]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return ""
        return done.stdout.strip()

    name = git("rev-parse", "--short=12", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", ".")
    return name + "+" * bool(name and changed)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1] for line in lines if line.startswith("model name")]
    return names[0].strip() if names else platform.processor()


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the rows by key, the last of each; a line cut by a kill is left out."""
    if not path.is_file():
        return {}
    rows = {}
    for place, line in enumerate(path.read_text().splitlines(), 1):
        try:
            row = json.loads(line)
            parts = [row[name] for name in ("experiment", "method", "seed", "settings")]
        except (ValueError, KeyError, TypeError):
            if not line.startswith("{"):
                raise InputError(
                    f"{path}: line {place} is not a row of an experiment. Give another "
                    f"folder with --out."
                ) from None
            continue
        rows[json.dumps(parts, sort_keys=True)] = row
    return rows


def _append(path: Path, line: str) -> None:
    """Add a line to a file; if the disk is full, the file stays as it was."""
    torn = path.is_file() and path.read_bytes()[-1:] not in (b"", b"\n")
    left = b"\n" * torn + line.encode() + b"\n"
    with path.open("ab", buffering=0) as file:
        size = file.tell()
        try:
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise
    committed.append(path)
