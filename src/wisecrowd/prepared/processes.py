"""Several processes on this machine that share a fit, or label a prepared folder."""

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE
from tempfile import TemporaryFile
from threading import Thread
from traceback import format_exc
from typing import Any

from wisecrowd._checks import InputError, whole_number
from wisecrowd._files import by_others, temporary_folder
from wisecrowd.fit.partners import OverJax, PartnerDied, shared_by
from wisecrowd.persist import load
from wisecrowd.prepared.aggregate import aggregate_prepared
from wisecrowd.prepared.folder import Prepared

POLL = 0.05  # seconds between two looks at the processes


def aggregate_in_processes(
    model: Any, prepared: Prepared, out: str | Path, n_processes: int, *, force: bool
) -> Any:
    """Do what :func:`.aggregate_prepared` does, in several processes of this machine.

    They are at most as many as there are shards. The fitted method is read from `out`.
    """
    whole_number(n_processes, "n_processes")
    if n_processes == 1:
        return aggregate_prepared(model, prepared, out, force=force)
    prepared.part(0, n_processes)  # refused if there are too few shards
    out = Path(out)
    with temporary_folder(out) as scratch:
        how = {"scratch": scratch, "force": force}
        in_processes(_aggregate, n_processes, model, prepared, out, how)
    return load(out)


def _aggregate(
    partners: OverJax, model: Any, prepared: Prepared, out: Path, how: dict[str, Any]
) -> None:
    aggregate_prepared(model, prepared, out, partners, **how)


def fit_in_processes(model: Any, n_processes: int, *given: Any, **more: Any) -> Any:
    """Return the method fitted, ``model.fit(*given, **more)``, by several processes."""
    check_shared(model)
    whole_number(n_processes, "n_processes")
    if n_processes == 1:
        return model.fit(*given, **more)
    if model.checkpoint is not None:
        by_others.append(Path(model.checkpoint).expanduser())
    return in_processes(fit_with, n_processes, model, given, more)


def fit_with(
    partners: OverJax, model: Any, given: tuple[Any, ...], more: dict[str, Any]
) -> Any:
    """Fit as one of several processes; the first one speaks, and returns the method."""
    with shared_by(partners), warnings.catch_warnings():
        if partners.rank > 0:
            model.progress = False
            warnings.simplefilter("ignore")
        model.fit(*given, **more)
    return model if partners.rank == 0 else None


def check_shared(model: Any) -> None:
    """Refuse a method that processes cannot share."""
    if not getattr(model, "shares_steps", False):
        raise InputError(
            f"{type(model).__name__} learns in one process with these settings. What "
            f"several can share is SVGPCR with inference='natural', and SVGP, both "
            f"without a network under the kernel."
        )


# -- a function in several processes --------------------------------------------------

Job = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""What to do, with what, and which of the processes it is."""


def in_processes(function: Callable[..., Any], n_processes: int, *given: Any) -> Any:
    """Return what ``function(partners, *given)`` returns in the first process.

    All processes call it. The function is that of a module, and what it is given can be
    pickled.
    """
    where = {"address": f"127.0.0.1:{_free_port()}", "size": n_processes}
    workers: list[Any] = []
    with ExitStack() as files:
        try:
            for rank in range(n_processes):
                said = files.enter_context(TemporaryFile())
                workers.append(_started(rank, n_processes, said))
            for rank, worker in enumerate(workers):  # all are on their way by now
                _tell(worker, (function, given, {**where, "rank": rank}))
            return _wait(workers)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
                with suppress(OSError):
                    worker.stdin.close()


def _started(rank: int, n_processes: int, said: Any) -> Any:
    """Start a process; what it says goes to a file, because it can be long.

    JAX complains at length if the first one dies. Nothing of the others is shown.
    """
    # It imports what this process imports, and nothing else: "-m" alone would take a
    # random.py of the folder for Python's.
    command = [sys.executable, "-P", "-m", "wisecrowd.prepared.processes"]
    found_in = os.pathsep.join(map(os.path.abspath, sys.path))
    # NPROC is what XLA takes for the number of cores.
    affinity = getattr(os, "sched_getaffinity", None)  # not everywhere
    n_cores = (os.cpu_count() or 1) if affinity is None else len(affinity(0))
    n_own = max(1, n_cores // n_processes)
    own = {"OMP_NUM_THREADS": "1", "NPROC": str(n_own), "PYTHONPATH": found_in}
    shown, env = DEVNULL if rank else None, {**os.environ, **own}
    worker: Any = subprocess.Popen(
        command, stdin=PIPE, stdout=said, stderr=shown, env=env
    )
    worker.said = said
    return worker


def _tell(worker: Any, job: Job) -> None:
    try:
        pickle.dump(job, worker.stdin)
        worker.stdin.flush()  # and stays open: a worker ends when this process does
    except OSError:
        pass  # it has died, which is seen soon
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise _not_sent(error) from None


def _not_sent(error: Exception) -> InputError:
    return InputError(
        f"what is fitted cannot be sent to other processes ({error}). A function, such "
        f"as a kernel, has to be that of a module: write it into a file of its own, "
        f"beside the script, and import it from there."
    )


def _wait(workers: list[Any]) -> Any:
    """Wait until all have finished; raise an error as soon as one has failed."""
    while any(worker.poll() is None for worker in workers):
        if any(worker.poll() for worker in workers):
            time.sleep(POLL)  # the one that has failed may be another
            break
        time.sleep(POLL)
    returned = None
    for worker in workers:
        if worker.poll() is None:
            continue
        worker.said.seek(0)
        if not (text := worker.said.read()):
            continue
        refused, warned, found = pickle.loads(text)
        if not isinstance(refused, PartnerDied | None):
            raise refused
        for sentence in warned:
            warnings.warn(sentence, stacklevel=4)  # whoever called this module
        returned = returned if found is None else found
    if any(worker.poll() != 0 for worker in workers):
        raise PartnerDied
    return returned


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _end_with_parent() -> None:
    sys.stdin.buffer.read()  # nothing comes but the end
    os._exit(2)


def _job() -> Job:
    try:
        job: Job = pickle.load(sys.stdin.buffer)
    except (AttributeError, ImportError) as error:
        raise _not_sent(error) from None
    return job


@contextmanager
def _no_proxies() -> Iterator[None]:
    """Connect directly: a proxy does not reach the processes of this machine."""
    names = [name for name in os.environ if name.lower().endswith("_proxy")]
    kept = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(kept)


def _sendable(error: Exception) -> Exception:
    """Return the error, or one of Python's that says the same, if pickle loses it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _hand_over(file: int, at_end: tuple[Exception | None, list[str], Any]) -> None:
    """Write the end of a process to a temporary file; if it is full, write that."""
    text = pickle.dumps(at_end)
    try:
        while text:
            text = text[os.write(file, text) :]
    except OSError as error:
        refused = InputError(
            f"what was learned could not be handed over: {error.strerror} in "
            f"the folder of temporary files. Make room there, or let TMPDIR name "
            f"another folder."
        )
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, pickle.dumps((refused, [], None)))


def work() -> None:
    """Do the part of one process; the job comes on standard input.

    At the end it says why it gave up, or None, what it warns of, and what it returns.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it decides
    # What a function of the user prints is no part of what is returned.
    said_at_end = os.dup(1)
    os.dup2(2, 1)
    refused: Exception | None = None
    found = None
    told: list[str] = []
    with warnings.catch_warnings(record=True) as said:
        try:
            function, given, where = _job()
            Thread(target=_end_with_parent, daemon=True).start()
            with _no_proxies():
                partners = OverJax(**where)
            found = function(partners, *given)
            partners.part()
            if partners.rank == 0:
                told = [str(w.message) for w in said]
            else:
                found = None
        except Exception as error:
            refused = _sendable(error)
            refused.add_note(format_exc())
    sys.stdout.flush()
    _hand_over(said_at_end, (refused, told, found))
    # Not by the usual way: JAX would wait for a partner that may be dead.
    os._exit(0 if refused is None else 2)


if __name__ == "__main__":
    work()
