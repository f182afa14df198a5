"""Answers beyond memory: seconds and peak memory of prepare and aggregate.

    python benchmarks/prepared.py 1e6 --folder beyond/ --method bcc

simulates so many answers (ten per item), straight to Parquet in scattered order, and
runs both commands in processes of their own. Prints one line of JSON per command.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from multiprocessing import Process
from pathlib import Path

N_ANNOTATORS, N_CLASSES, PER_ITEM, CHUNK = 3000, 5, 10, 1_000_000
PRIME = 982_451_653  # rows go through the items in steps of this: no order is left


def simulate(n_answers: int, path: Path) -> None:
    """Write item, annotator and answer; an annotator is right with .4 to .95."""
    import numpy as np  # here: a child counts the memory of its parent
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_items = n_answers // PER_ITEM
    skill = np.random.default_rng(0).uniform(0.4, 0.95, N_ANNOTATORS)
    schema = pa.schema(
        [("item", pa.int64()), ("annotator", pa.int32()), ("answer", pa.int8())]
    )
    with pq.ParquetWriter(path, schema) as file:
        for first in range(0, n_answers, CHUNK):
            rng = np.random.default_rng([1, first])
            row = np.arange(first, min(first + CHUNK, n_answers))
            item = row * PRIME % n_items
            who = (N_ANNOTATORS * rng.random(len(row)) ** 2).astype(np.int32)
            truth = (item * 2_654_435_761 >> 7) % N_CLASSES
            wrong = rng.random(len(row)) > skill[who]
            shift = rng.integers(1, N_CLASSES, len(row))
            answer = (truth + wrong * shift) % N_CLASSES
            columns = [item, who, answer.astype(np.int8)]
            file.write_table(pa.table(list(map(pa.array, columns)), schema=schema))


def measured(*arguments: str) -> None:
    """Run a command of wisecrowd; print its seconds and its peak memory."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "wisecrowd", *arguments]
    child = subprocess.Popen(command)
    _, status, used = os.wait4(child.pid, 0)
    seconds = round(time.perf_counter() - began, 1)
    print(
        json.dumps(
            {
                "command": " ".join(arguments),
                "exit": status,
                "seconds": seconds,
                "peak_mb": round(used.ru_maxrss / 1024),
                "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
            }
        ),
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_answers", type=float)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--method", default="bcc")
    parser.add_argument("--shards", default="4")
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=[])
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    answers, prepared = given.folder / "answers.parquet", given.folder / "prepared"
    if not answers.exists():
        work = Process(target=simulate, args=(int(given.n_answers), answers))
        work.start()
        work.join()
    if not prepared.exists():
        measured("prepare", str(answers), "-q", "--out", str(prepared),
                 "--shards", given.shards)  # fmt: skip
    measured("aggregate", str(prepared), "-q", "--out", str(given.folder / "run"),
             "--method", given.method, *given.more)  # fmt: skip
