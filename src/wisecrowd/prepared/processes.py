"""Several processes on this machine that label one prepared folder together."""

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE
from threading import Thread
from typing import Any, NamedTuple

from wisecrowd._checks import InputError, whole_number
from wisecrowd._files import temporary_folder
from wisecrowd.persist import load
from wisecrowd.prepared.aggregate import aggregate_prepared
from wisecrowd.prepared.folder import Prepared
from wisecrowd.prepared.partners import PARTNER_DIED, OverJax

POLL = 0.05  # seconds between two looks at the processes


def aggregate_in_processes(
    model: Any, prepared: Prepared, out: str | Path, n_processes: int, *, force: bool
) -> Any:
    """Do what :func:`.aggregate_prepared` does, in several processes of this machine.

    Parameters
    ----------
    model, prepared, out, force
        As there.
    n_processes : int
        How many, at most one per shard.

    Returns
    -------
    model
        The fitted method, from the folder.
    """
    whole_number(n_processes, "n_processes")
    if n_processes == 1:
        return aggregate_prepared(model, prepared, out, force=force)
    prepared.part(0, n_processes)  # refused if there are too few shards
    out = Path(out)
    where = {"address": f"127.0.0.1:{_free_port()}", "size": n_processes}
    workers: list[Any] = []
    with temporary_folder(out) as scratch:
        how = {"scratch": scratch, "force": force}
        try:
            for rank in range(n_processes):
                job = Job((model, prepared, out), how, {**where, "rank": rank})
                workers.append(_started(job))
            _wait(workers)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
                for pipe in (worker.stdin, worker.stdout):
                    with suppress(OSError):
                        pipe.close()
    return load(out)


class Job(NamedTuple):
    """What one process is told: what to do, how, and which of them it is."""

    given: tuple[Any, Prepared, Path]
    how: dict[str, Any]
    where: dict[str, Any]


class Reply(NamedTuple):
    """What it says at the end: why it gave up, and what it warns of."""

    refused: str | None
    warnings: list[str]


def _started(job: Job) -> Any:
    command = [sys.executable, "-m", "wisecrowd.prepared.processes"]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    worker = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, env=one_thread)
    pipe: Any = worker.stdin  # stays open: a worker ends when this process does
    with suppress(OSError):
        pipe.write(pickle.dumps(tuple(job)))
        pipe.flush()
    return worker


def _wait(workers: list[Any]) -> None:
    """Wait until all have finished; raise an error as soon as one has failed."""
    while any(worker.poll() is None for worker in workers):
        if any(worker.poll() for worker in workers):
            time.sleep(POLL)  # the one that has failed may be another
            break
        time.sleep(POLL)
    texts = [worker.stdout.read() for worker in workers if worker.poll() is not None]
    replies = [Reply(*pickle.loads(text)) for text in texts if text]
    for reply in replies:
        if reply.refused not in (None, PARTNER_DIED):
            raise InputError(reply.refused)
        for sentence in reply.warnings:
            warnings.warn(sentence, stacklevel=3)
    if any(worker.poll() != 0 for worker in workers):
        raise InputError(PARTNER_DIED)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _end_with_parent() -> None:
    sys.stdin.buffer.read()  # nothing comes but the end
    os._exit(2)


def work() -> None:
    """Do the part of one process; the job comes on standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it decides
    job = Job(*pickle.load(sys.stdin.buffer))
    Thread(target=_end_with_parent, daemon=True).start()
    refused = None
    with warnings.catch_warnings(record=True) as said:
        try:
            partners = OverJax(**job.where)
            aggregate_prepared(*job.given, partners, **job.how)
            partners.part()
        except InputError as error:
            refused = str(error)
    told = [str(w.message) for w in said] if job.where["rank"] == 0 else []
    sys.stdout.buffer.write(pickle.dumps((refused, told)))
    sys.stdout.flush()
    # Not by the usual way: JAX would wait for a partner that may be dead.
    os._exit(0 if refused is None else 2)


if __name__ == "__main__":
    work()
