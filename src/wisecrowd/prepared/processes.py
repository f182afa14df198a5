"""Several processes on this machine that label one prepared folder together."""

import os
import pickle
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from wisecrowd._checks import InputError, whole_number
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
    address = f"127.0.0.1:{_free_port()}"
    job = {"model": model, "prepared": prepared, "out": Path(out), "force": force}
    command = [sys.executable, "-m", "wisecrowd.prepared.processes"]
    workers: list[Any] = []
    try:
        for rank in range(n_processes):
            pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
            worker = subprocess.Popen(command, **pipe, env=one_thread)  # type: ignore[call-overload]
            workers.append(worker)
            where = {"address": address, "size": n_processes, "rank": rank}
            worker.stdin.write(pickle.dumps({**job, "where": where}))
            worker.stdin.close()
        _wait(workers)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
            worker.stdout.close()
    return load(out)


def _wait(workers: list[Any]) -> None:
    """Wait until all have finished; raise an error as soon as one has failed."""
    while any(worker.poll() is None for worker in workers):
        if any(worker.poll() for worker in workers):
            time.sleep(POLL)  # the one that has failed may be another
            break
        time.sleep(POLL)
    for worker in workers:
        if worker.poll() is None:
            continue
        reply = worker.stdout.read()
        for sentence in pickle.loads(reply)["warnings"] if reply else []:
            warnings.warn(sentence, stacklevel=3)
        refused = pickle.loads(reply)["refused"] if reply else None
        if refused is not None and refused != PARTNER_DIED:
            raise InputError(refused)
    if any(worker.poll() != 0 for worker in workers):
        raise InputError(PARTNER_DIED)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def work() -> None:
    """Do the part of one process; the job comes on standard input."""
    job = pickle.load(sys.stdin.buffer)
    refused = None
    with warnings.catch_warnings(record=True) as said:
        try:
            partners = OverJax(**job["where"])
            folder = job["prepared"], job["out"]
            aggregate_prepared(job["model"], *folder, partners, force=job["force"])
            partners.part()
        except InputError as error:
            refused = str(error)
    told = [str(w.message) for w in said] if job["where"]["rank"] == 0 else []
    sys.stdout.buffer.write(pickle.dumps({"refused": refused, "warnings": told}))
    sys.stdout.flush()
    # Not by the usual way: JAX would wait for a partner that may be dead.
    os._exit(0 if refused is None else 2)


if __name__ == "__main__":
    work()
