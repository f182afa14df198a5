"""Features beyond memory: seconds and peak memory of a fit of SVGPCR.

    python benchmarks/beyond_memory.py 1e6 --features 256 --folder beyond/

writes so many items (three answers each, five classes) to disk, and fits in processes
of their own: from the file, and from two features in memory. The second has the same
answers, labels and other tables with a row per item, so the difference is what the
features cost. Prints one line of JSON per fit. Files that are there are used again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

N_ANNOTATORS, N_CLASSES, PER_ITEM, CHUNK = 100, 5, 3, 10_000
APART = 1.0  # distance of the class centres, in all features together


def simulated(first: int, last: int, n_features: int) -> tuple:
    """Return the classes and the features of some items."""
    import numpy as np  # here: a child counts the memory of its parent

    centres = np.random.default_rng(0).normal(size=(N_CLASSES, n_features))
    centres *= 4 * APART / np.linalg.norm(centres, axis=1, keepdims=True)
    rng = np.random.default_rng([1, first])
    truth = rng.integers(0, N_CLASSES, last - first)
    X = rng.standard_normal((last - first, n_features), dtype=np.float32)
    return truth, X + centres[truth].astype(np.float32)


def write(path: Path, n_items: int, n_features: int) -> None:
    """Write the features, some thousand items at a time."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    places = [(i, min(i + CHUNK, n_items)) for i in range(0, n_items, CHUNK)]
    if path.suffix == ".npy":
        with path.open("wb") as file:
            about = {"descr": "<f4", "fortran_order": False}
            shape = {"shape": (n_items, n_features)}
            np.lib.format.write_array_header_1_0(file, about | shape)
            for place in places:
                simulated(*place, n_features)[1].tofile(file)
        return
    schema = pa.schema(
        [("item", pa.int64()), ("x", pa.list_(pa.float32(), n_features))]
    )
    with pq.ParquetWriter(path, schema, compression="none") as file:
        for place in places:
            X = pa.array(simulated(*place, n_features)[1].ravel())
            vectors = pa.FixedSizeListArray.from_arrays(X, n_features)
            columns = [pa.array(range(*place)), vectors]
            file.write_table(pa.table(columns, schema=schema))


def answers_of(n_items: int, n_features: int) -> tuple:
    """Return the classes, and the answers: annotators are right with .5 to .9."""
    import numpy as np

    import wisecrowd as wc

    places = [(i, min(i + CHUNK, n_items)) for i in range(0, n_items, CHUNK)]
    drawn = [np.random.default_rng([1, place[0]]) for place in places]
    sizes = [last - first for first, last in places]
    truth = np.concatenate(
        [r.integers(0, N_CLASSES, n) for r, n in zip(drawn, sizes, strict=True)]
    )
    rng = np.random.default_rng(2)
    item = np.repeat(np.arange(n_items), PER_ITEM)
    who = rng.integers(0, N_ANNOTATORS, len(item))
    wrong = rng.random(len(item)) > rng.uniform(0.5, 0.9, N_ANNOTATORS)[who]
    shift = wrong * rng.integers(1, N_CLASSES, len(item))
    answer = (truth[item] + shift) % N_CLASSES
    return truth, wc.Annotations.from_triples(item, who, answer, drop_repeats="first")


def fit(path: Path, n_items: int, n_features: int, how: str, **settings: Any) -> None:
    """Fit, and print what it took."""
    import wisecrowd as wc

    truth, answers = answers_of(n_items, n_features)
    if how == "two":
        X = simulated(0, n_items, 2)[1]
    else:
        X = wc.features(path) if how == "disk" else wc.read_features(path)[0]
    before, began = peak_mb(), time.perf_counter()
    model = wc.SVGPCR(tol=None, progress=False, **settings).fit(X, answers)
    seconds = time.perf_counter() - began
    used = os.times()
    found = {
        "features": how,
        "file": path.suffix,
        "n_items": n_items,
        "n_features": n_features,
        "gb": round(4e-9 * n_items * n_features, 2),
        "peak_mb": peak_mb(),
        "before_fit_mb": before,
        "seconds": round(seconds),
        "cpu_seconds": round(used.user + used.system),
        "accuracy": round(float((model.labels_ == truth).mean()), 4),
    }
    print(json.dumps(found), flush=True)


def peak_mb() -> int:
    """Return the most memory that this process had, in MB."""
    status = Path("/proc/self/status").read_text().split("VmHWM:")[1]
    return int(status.split()[0]) // 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_items", type=float)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--file", choices=["npy", "parquet"], default="npy")
    parser.add_argument("--max-epochs", type=int, default=1)
    parser.add_argument("--inducing", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=500)
    parser.add_argument("--no-networks", action="store_true")
    parser.add_argument("--how", nargs="*", default=["disk", "two"],
                        choices=["disk", "two", "memory", "write"])  # fmt: skip
    parser.add_argument("--child", action="store_true")
    given = parser.parse_args()
    n, d = int(given.n_items), given.features
    given.folder.mkdir(parents=True, exist_ok=True)
    path = given.folder / f"{n}x{d}.{given.file}"
    if given.child and given.how == ["write"]:
        write(path, n, d)
    elif given.child:
        settings = {
            "max_epochs": given.max_epochs,
            "n_inducing": given.inducing,
            "batch_size": given.batch_size,
            "networks": not given.no_networks,
        }
        fit(path, n, d, given.how[0], **settings)
    else:
        hows = given.how if path.exists() else ["write", *given.how]
        for how in hows:
            command = [sys.executable, *sys.argv, "--child", "--how", how]
            subprocess.run(command, check=True)
