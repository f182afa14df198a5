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
from typing import Any

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

    They are at most as many as there are shards. The fitted method is read from `out`.
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
                job = (model, prepared, out), how, {**where, "rank": rank}
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


Job = tuple[tuple[Any, Prepared, Path], dict[str, Any], dict[str, Any]]
"""What to do, how, and which of the processes it is."""


def _started(job: Job) -> Any:
    """Start a process, and tell it its job."""
    command = [sys.executable, "-m", "wisecrowd.prepared.processes"]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    worker = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, env=one_thread)
    pipe: Any = worker.stdin  # stays open: a worker ends when this process does
    with suppress(OSError):
        pipe.write(pickle.dumps(job))
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
    for refused, said in (pickle.loads(text) for text in texts if text):
        if refused not in (None, PARTNER_DIED):
            raise InputError(refused)
        for sentence in said:
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
    """Do the part of one process; the job comes on standard input.

    At the end it says why it gave up, or None, and what it warns of.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it decides
    job: Job = pickle.load(sys.stdin.buffer)
    given, how, where = job
    Thread(target=_end_with_parent, daemon=True).start()
    refused = None
    with warnings.catch_warnings(record=True) as said:
        try:
            partners = OverJax(**where)
            aggregate_prepared(*given, partners, **how)
            partners.part()
        except InputError as error:
            refused = str(error)
    told = [str(w.message) for w in said] if where["rank"] == 0 else []
    sys.stdout.buffer.write(pickle.dumps((refused, told)))
    sys.stdout.flush()
    # Not by the usual way: JAX would wait for a partner that may be dead.
    os._exit(0 if refused is None else 2)


if __name__ == "__main__":
    work()
