"""How the time of a fit grows with the number of items, for methods with features.

Run: python -m wisecrowd.experiments.scalability [--methods gpep raykar ...]
     [--limit 600] [--first 250] [--most 1000000] [--seeds 1] [--out FOLDER]
     [--measure seconds|processor]

A crowd of two classes with 10 features, as volunteers are: one annotator per 50 items
(at least 10), few of whom give most answers, a tenth of whom guess; 5 answers per item.
The number of items doubles until a fit takes longer than the limit. One row per fit:
seconds of the fit alone (with compilation, without imports), the same in time of the
processor over all threads, which other jobs disturb less, memory at the peak, AUC on
2,000 new items. The folder gets the figure, ``scalability.png``.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import wisecrowd as wc
from wisecrowd.annotations.dataset import Dataset
from wisecrowd.experiments.parts import COLOURS, MARKS, axes, figure_style, save
from wisecrowd.experiments.runner import Job, Outcome, Rows, command, run
from wisecrowd.experiments.scoring import fit, halved
from wisecrowd.metrics import auc

N_TEST = 2000
MEASURES = {
    "seconds": "seconds per fit",
    "processor": "seconds of the processor per fit",
}
CLOSEST = 0.055  # between two labels, as a share of the height


def drawn(n_items: int, seed: int) -> Dataset:
    """Draw the crowd, and new items."""
    crowd = wc.simulate(
        n_items + N_TEST, max(10, n_items // 50), 2,
        n_features=10, separation=3.0, random_state=seed,
    )  # fmt: skip
    return halved(crowd, n_items, "scalability")


def fitted(method: str, seed: int, *, n_items: int) -> Outcome:
    """Fit once."""
    data = drawn(n_items, seed)
    model = wc.METHODS[method]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cost = fit(model, data)
    area = auc(data.gold_test, model.predict_proba(data.X_test), model.classes_)
    return Outcome({"auc": area}, cost)


def grown(args: Any) -> Rows:
    """Double the number of items until a fit passes the limit."""
    rows = Rows(args.out)
    for method in args.methods:
        n_items, longest = args.first, 0.0
        while longest <= args.limit and n_items <= args.most:
            settings = {"n_items": n_items}
            jobs = [
                Job("scalability", method, seed, settings, fitted)
                for seed in range(args.seeds)
            ]
            rows = run(jobs, args.out, limit=args.limit, say=print)
            found = [rows.rows[job.key].get("seconds", np.inf) for job in jobs]
            longest, n_items = max(found), 2 * n_items
    return rows


# -- the figure ----------------------------------------------------------------------


def apart(heights: np.ndarray, closest: float) -> np.ndarray:
    """Return the heights, moved upwards where two labels would touch.

    Examples
    --------
    >>> apart(np.array([0.5, 0.5, 0.1]), 0.1).tolist()
    [0.5, 0.6, 0.1]
    """
    order = np.argsort(heights, kind="stable")
    out = heights[order].astype(float)
    for i in range(1, len(out)):
        out[i] = max(out[i], out[i - 1] + closest)
    out -= max(0.0, out[-1] - max(1.0, heights.max())) if len(out) else 0.0
    back = np.empty_like(out)
    back[order] = out
    return back


def figure(rows: pd.DataFrame, measure: str) -> Any:
    """Draw the mean time against the number of items, a line per method."""
    lines = rows.dropna(subset=measure).groupby(["method", "n_items"])[measure]
    mean = lines.mean().unstack("method")
    drawing, ((ax,),) = axes(size=(7.2, 4.8))
    last = {name: mean[name].dropna() for name in mean}
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(last))]
    for k, line in enumerate(last.values()):
        mark = MARKS[k % len(MARKS)]
        ax.plot(line.index, line, color=colours[k], marker=mark)
    ax.set(xscale="log", yscale="log", xlabel="items", ylabel=MEASURES[measure])
    sizes = mean.index[:: 1 + len(mean) // 8]
    ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
    ax.xaxis.minorticks_off()
    ax.yaxis.set_major_formatter("{x:g}")
    low, high = np.log(ax.get_ylim())
    ends = np.array([np.log(line.iloc[-1]) for line in last.values()])
    heights = apart((ends - low) / (high - low), CLOSEST)
    for k, (name, line) in enumerate(last.items()):
        ax.annotate(
            name, (line.index[-1], line.iloc[-1]), (1.02, heights[k]),
            "data", "axes fraction", color=colours[k], va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colours[k], "lw": 0.5,
                        "alpha": 0.6, "shrinkA": 1, "shrinkB": 3},
        )  # fmt: skip
    return drawing


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    known = [n for n in wc.METHODS if wc.METHODS.info(n).needs == "features"]
    parser = command(__doc__)
    parser.add_argument("--methods", nargs="+", choices=known, default=known)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--first", type=int, default=250)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/scalability"))
    parser.add_argument("--measure", choices=MEASURES, default="seconds")
    args = parser.parse_args(arguments)
    rows = grown(args).frame("scalability")
    times = rows.pivot_table(index="n_items", columns="method", values=args.measure)
    print(times.round(2).to_string())
    with figure_style():
        save(figure(rows, args.measure), args.out / "scalability.png")


if __name__ == "__main__":
    main()
