"""How the time of a fit grows with the number of items, for every method with features.

Run: python experiments/scalability.py [--methods gpep raykar ...] [--limit 600]
     [--first 250] [--most 1000000] [--repeats 1] [--out FILE] [--plot FILE.svg]
     python experiments/scalability.py --read FILE [FILE ...] --plot FILE.svg
     [--measure processor]

A crowd of two classes with 10 features, as volunteers are: one annotator per 50 items
(at least 10), few of whom give most answers, a tenth of whom guess; 5 answers per item.
The number of items doubles from 250 until a fit takes longer than the limit. Each fit
has a process of its own, which is ended when its time is up. One JSON line per fit:
seconds of the fit alone (with compilation, without imports and data), the same in time
of the processor over all threads, which other jobs disturb less, memory at the peak,
AUC on 2,000 new items; or why there is no result.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import wisecrowd as wc

N_TEST = 2000
READY = "ready"
LABEL_ROOM = 1.15  # the axis ends so far beyond the last point
MEASURES = {
    "seconds": "seconds per fit",
    "processor": "seconds of the processor per fit",
}
CLOSEST = 0.055  # between two labels, as a share of the height


def drawn(n_items: int, seed: int) -> Any:
    """Draw the crowd; its last items are the new ones."""
    return wc.simulate(
        n_items + N_TEST, max(10, n_items // 50), 2,
        n_features=10, separation=3.0, random_state=seed,
    )  # fmt: skip


def one_fit(method: str, n_items: int, seed: int) -> dict[str, Any]:
    """Fit once, in this process."""
    from sklearn.metrics import roc_auc_score

    crowd = drawn(n_items, seed)
    answers = crowd.answers.subset(items=crowd.answers.items[:n_items])
    model = wc.METHODS[method]()
    print(READY, flush=True)
    began, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(crowd.X[:n_items], answers)
    seconds = time.perf_counter() - began
    processor = time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    proba = model.predict_proba(crowd.X[n_items:])[:, 1]
    auc = float(roc_auc_score(crowd.truth[n_items:], proba))
    return {
        "seconds": seconds, "processor": processor, "megabytes": peak, "auc": auc,
    }  # fmt: skip


def in_a_process(method: str, n_items: int, seed: int, limit: float) -> dict[str, Any]:
    """Fit in a process of its own, which is ended when its time is up."""
    about = {"method": method, "n_items": n_items, "seed": seed}
    command = [sys.executable, __file__, "--one", method, str(n_items), str(seed)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()  # READY: imports and data take no part in the limit
        try:
            said, complaint = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            child.kill()
            return {**about, "note": f"no result after {limit:g} seconds"}
    if child.returncode:
        last = complaint.strip().splitlines()[-1:] or [f"code {child.returncode}"]
        return {**about, "note": last[0]}
    return {**about, **json.loads(said.splitlines()[-1]), "note": ""}


def measured(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Double the number of items until a fit passes the limit."""
    rows = []
    for method in args.methods:
        n_items, longest = args.first, 0.0
        while longest <= args.limit and n_items <= args.most:
            for seed in range(args.repeats):
                row = in_a_process(method, n_items, seed, args.limit)
                longest = max(longest, row.get("seconds", np.inf))
                rows.append(row)
                print(json.dumps(row), flush=True)
                if args.out:
                    with args.out.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                if longest > args.limit:
                    break
            n_items *= 2
    return rows


# -- the figure ----------------------------------------------------------------------


def apart(heights: np.ndarray, closest: float) -> np.ndarray:
    """Return the heights, moved upwards where two labels would touch."""
    order = np.argsort(heights)
    out = heights[order].astype(float)
    for i in range(1, len(out)):
        out[i] = max(out[i], out[i - 1] + closest)
    out -= max(0.0, out[-1] - max(1.0, heights.max())) if len(out) else 0.0
    back = np.empty_like(out)
    back[order] = out
    return back


def plot(rows: pd.DataFrame, measure: str, path: Path) -> None:
    """Draw the mean time against the number of items, a line per method."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    lines = rows.dropna(subset=measure).groupby(["method", "n_items"])[measure]
    mean = lines.mean().unstack("method")
    figure, ax = plt.subplots(figsize=(7.2, 4.8), layout="constrained")
    colours = plt.get_cmap("tab10").colors
    marks = "osD^vP*X"
    last = {name: mean[name].dropna() for name in mean}
    for k, line in enumerate(last.values()):
        style = {"color": colours[k % 10], "marker": marks[k % len(marks)]}
        ax.plot(line.index, line, lw=1.6, ms=4.5, **style)
    ax.set(xscale="log", yscale="log", xlabel="items", ylabel=MEASURES[measure])
    ax.set_xlim(mean.index.min() / 1.15, mean.index.max() * LABEL_ROOM)
    sizes = mean.index[:: 1 + len(mean) // 8]
    ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
    ax.xaxis.minorticks_off()
    ax.yaxis.set_major_formatter("{x:g}")
    low, high = np.log(ax.get_ylim())
    ends = np.array([np.log(line.iloc[-1]) for line in last.values()])
    heights = apart((ends - low) / (high - low), CLOSEST)
    for k, (name, line) in enumerate(last.items()):
        place = (line.index[-1], line.iloc[-1])
        at = (1.02, heights[k])
        ax.annotate(
            name, place, at, "data", "axes fraction",
            color=colours[k % 10], va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colours[k % 10], "lw": 0.5,
                        "alpha": 0.6, "shrinkA": 1, "shrinkB": 3},
        )  # fmt: skip
    ax.grid(which="major", color="0.9", lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def main() -> None:
    known = [n for n in wc.METHODS if wc.METHODS.info(n).needs == "features"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=known, default=known)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--first", type=int, default=250)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--read", type=Path, nargs="+")
    parser.add_argument("--measure", choices=MEASURES, default="seconds")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        method, n_items, seed = args.one
        print(json.dumps(one_fit(method, int(n_items), int(seed))))
        return
    if args.read:
        rows = pd.concat([pd.read_json(path, lines=True) for path in args.read])
    else:
        rows = pd.DataFrame(measured(args))
    times = rows.pivot_table(index="n_items", columns="method", values=args.measure)
    print(times.round(2).to_string())
    if args.plot:
        plot(rows, args.measure, args.plot)


if __name__ == "__main__":
    main()
