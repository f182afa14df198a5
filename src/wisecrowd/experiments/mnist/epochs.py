"""Figure: what a pass over the training digits costs, by batch size and precision."""

from typing import Any

from wisecrowd.experiments.mnist.fits import NAMES
from wisecrowd.experiments.mnist.paper import fits
from wisecrowd.experiments.parts import COLOURS, MARKS, axes
from wisecrowd.experiments.runner import Rows

LINES = {"float32": "-", "float64": "--"}


def cost_of_an_epoch(rows: Rows) -> Any:
    """Draw the seconds of an epoch against the batch size, and those of the test."""
    table = fits(rows, "mnist-epoch")
    if table.empty:
        return None
    figure, ((left, right),) = axes(1, 2, size=(8.2, 3.2), width_ratios=[1.5, 1])
    bars = {}
    groups = table.groupby(["order", "device", "dtype"])
    for k, ((_, device, dtype), some) in enumerate(groups):
        colour = COLOURS[sorted(set(table["order"])).index(some["order"].iloc[0])]
        mean = some.groupby("batch_size")[["epoch_seconds", "test_seconds"]].mean()
        said = f"{NAMES[some['method'].iloc[0]]}, {device}, {dtype}"
        style = {
            "color": colour,
            "ls": LINES[str(dtype)],
            "marker": MARKS[k % len(MARKS)],
        }
        left.plot(mean.index, mean["epoch_seconds"], label=said, **style)
        bars[said] = (mean["test_seconds"].mean(), colour, dtype == "float64")
    left.set(xlabel="batch size", ylabel="training, seconds per epoch", xscale="log")
    sizes = sorted(table["batch_size"].unique())
    left.set_xticks(sizes, map(str, sizes))
    left.xaxis.minorticks_off()
    left.set_ylim(bottom=0)
    left.legend(fontsize="small")
    for n, (seconds, colour, double) in enumerate(bars.values()):
        right.barh(n, seconds, color=colour, alpha=0.55 if double else 1.0)
    right.set_yticks(range(len(bars)), bars, fontsize=7)
    right.invert_yaxis()
    right.set_xlabel("test, seconds for all digits")
    right.grid(axis="y", visible=False)
    return figure
