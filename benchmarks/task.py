"""One measured task in a fresh process: prints one line of JSON.

Run by run.py in the environment of the benchmarks, where the peers are; a process of
its own makes the peak memory that task's, and nobody else's.
"""

import argparse
import json
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

N_CHUNKS = 3  # of steps that are timed, after the one that compiles


def simulated(shape: dict[str, int], seed: int) -> pd.DataFrame:
    """A crowd of LIGO's kind: few people give most answers, .75 of them right."""
    rng = np.random.default_rng(seed)
    n_items, n_annotators = shape["items"], shape["annotators"]
    n_classes, n_answers = shape["classes"], shape["answers"]
    activity = (np.arange(n_annotators) + 10.0) ** -1.1
    who = rng.choice(n_annotators, n_answers, p=activity / activity.sum())
    more = rng.integers(0, n_items, n_answers - n_items)
    item = np.concatenate([np.arange(n_items), more])  # everything is seen once
    truth = rng.choice(n_classes, n_items, p=rng.dirichlet(np.full(n_classes, 2.0)))
    right = rng.random(n_answers) < rng.beta(6, 2, n_annotators)[who]
    other = (truth[item] + rng.integers(1, n_classes, n_answers)) % n_classes
    label = np.where(right, truth[item], other)
    table = {"task": item, "worker": who, "label": label, "truth": truth[item]}
    return pd.DataFrame(table)


class TimeIsUp(Exception):
    """The limit has passed."""


def limited(model: Any, table: pd.DataFrame, limit: int) -> Any:
    """Fit until done or until the limit; what is done by then stays in the model."""

    def stop(*_: Any) -> None:
        raise TimeIsUp

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        model.fit(table)
    except TimeIsUp:
        pass
    finally:
        signal.alarm(0)
    return model


@contextmanager
def timed() -> Iterator[dict[str, Any]]:
    """Seconds of the block, by the clock and of the processor."""
    found: dict[str, Any] = {}
    began, busy = time.perf_counter(), time.process_time()
    yield found
    found["seconds"] = time.perf_counter() - began
    found["cpu_seconds"] = time.process_time() - busy


Fit = Callable[[pd.DataFrame], tuple[int, pd.Series | None]]


def ours(args: argparse.Namespace) -> Fit:
    import wisecrowd as wc

    model = getattr(wc, args.method)(max_iter=args.iterations, tol=None, progress=False)

    def fit(table: pd.DataFrame) -> tuple[int, pd.Series | None]:
        model.fit(wc.Annotations.from_frame(table))
        return len(model.trace_), pd.Series(model.labels_, index=model.items_)

    return fit


def theirs(args: argparse.Namespace) -> Fit:
    from crowdkit import aggregation

    options: dict[str, Any] = {"n_iter": args.iterations, "tol": -np.inf}
    if args.method == "GLAD":
        options["silent"] = True
    model = getattr(aggregation, args.method)(**options)

    def fit(table: pd.DataFrame) -> tuple[int, pd.Series | None]:
        limited(model, table, args.limit)
        return len(getattr(model, "loss_history_", ())), getattr(model, "labels_", None)

    return fit


def fitted(args: argparse.Namespace) -> dict[str, Any]:
    """Time from the long table to the labels; imports are not counted."""
    table = pd.read_parquet(args.folder / f"{args.crowd}.parquet")
    truth = table.drop_duplicates("task").set_index("task")["truth"]
    table = table[["task", "worker", "label"]]
    fit = (ours if args.package == "wisecrowd" else theirs)(args)
    with timed() as result:
        n_done, found = fit(table)
    result["iterations"] = n_done
    if found is not None:
        result["accuracy"] = float((found.reindex(truth.index) == truth).mean())
    return result


def step(args: argparse.Namespace) -> dict[str, Any]:
    """Seconds per step of SVGPCR: `package` is one of our links, or gpflow."""
    from one_step import crowd_with_features, measured_step

    table = pd.read_parquet(args.folder / f"{args.crowd}.parquet")
    crowd = crowd_with_features(table, args.seed)
    return measured_step(crowd, args.package, N_CHUNKS, args.seed)


def read(args: argparse.Namespace) -> dict[str, Any]:
    from wisecrowd.io.read import read_annotations

    with timed() as result:
        labels = read_annotations(args.folder / f"{args.crowd}-long.{args.method}")
    return {**result, "rows": len(labels)}


def simulate(args: argparse.Namespace) -> dict[str, Any]:
    began = time.perf_counter()
    table = simulated(json.loads(args.method), args.seed)
    table.to_parquet(args.folder / f"{args.crowd}.parquet")
    long = table[["task", "worker", "label"]]
    long.to_parquet(args.folder / f"{args.crowd}-long.parquet")
    long.to_csv(args.folder / f"{args.crowd}-long.csv", index=False)
    return {"seconds": time.perf_counter() - began, "rows": len(long)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["fit", "step", "read", "simulate"])
    parser.add_argument("method")
    parser.add_argument("--package", default="wisecrowd")
    parser.add_argument("--crowd", default="ligo")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    tasks = {"fit": fitted, "step": step, "read": read, "simulate": simulate}
    result = tasks[args.what](args)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kilobytes; macOS: bytes
    scale = 1e6 if sys.platform == "darwin" else 1e3
    print(json.dumps({**result, "peak_mb": round(peak / scale)}))


if __name__ == "__main__":
    main()
