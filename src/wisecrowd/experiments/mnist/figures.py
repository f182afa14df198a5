"""The figures of section 4.1: annotators, digits, inducing points, and costs."""

from typing import Any

import numpy as np

from wisecrowd.experiments.mnist.fits import NAMES
from wisecrowd.experiments.mnist.tables import (
    LARGEST_VARIANCE,
    SHOWN,
    by_method,
    fits,
    of_tables,
)
from wisecrowd.experiments.parts import (
    COLOURS,
    MARKS,
    axes,
    logarithmic,
    picture,
    short,
)
from wisecrowd.experiments.runner import Rows

WHO = ("95 % right", "90 % right", "80 % right", "spammer", "adversary")
LINES = {"float32": "-", "float64": "--"}
N_POINTS, N_DIGITS = 3, 6  # inducing points per class, and wrong digits
PANELS = {
    "test_accuracy": "test accuracy",
    "test_mean_likelihood": "test likelihood",
    "processor": "training, seconds of the processor",
    "test_seconds": "test, seconds",
}


def confusion(rows: Rows) -> Any:
    """Draw a row of matrices for the truth, and one for every method."""
    lines: list[tuple[str, Any]] = []
    for method, some in by_method(of_tables(rows), *SHOWN).items():
        row = some.iloc[0]
        arrays = rows.arrays(row["arrays"])
        said = f"{NAMES[method]}\nlargest variance {short(row['largest_variance'])}"
        lines += [] if lines else [("true", arrays["true_confusion"])]
        lines.append((said, arrays["confusion"]))
    figure, places = axes(len(lines), len(WHO), size=(9, 1.65 * len(lines) + 0.4))
    for line, (said, matrices) in zip(places, lines, strict=True):
        for ax, matrix in zip(line, matrices, strict=True):
            picture(ax, matrix, vmin=0, vmax=1)
        line[0].set_ylabel(said, fontsize=8)
    for ax, who in zip(places[0], WHO, strict=True):
        ax.set_title(who)
    places[-1, 0].set_xlabel("answer", fontsize=8)
    shade = places[0, 0].images[0]
    figure.colorbar(shade, ax=places, shrink=0.6, label="probability of the answer")
    paper = short(LARGEST_VARIANCE)
    figure.suptitle(
        f"Row: true digit, column: answer (paper: largest variance {paper})"
    )
    return figure


def wrong_digits(rows: Rows) -> Any:
    """Draw the digits of two methods, with the probabilities of the classes below."""
    found = by_method(of_tables(rows), *SHOWN)
    figure, places = axes(
        2 * len(found), N_DIGITS, size=(1.5 * N_DIGITS, 2.9 * len(found)),
        height_ratios=[1.5, 1] * len(found),
    )  # fmt: skip
    for k, (method, some) in enumerate(found.items()):
        arrays = rows.arrays(some["arrays"].iloc[0])
        n_wrong = int(some["wrong_labels"].iloc[0])
        for n in range(N_DIGITS):
            above, below = places[2 * k, n], places[2 * k + 1, n]
            if n >= len(arrays["wrong"]):
                above.set_axis_off()
                below.set_axis_off()
                continue
            truth = int(arrays["wrong_class"][n])
            pixels = arrays["wrong"][n].reshape(28, 28)
            picture(above, pixels, f"class {truth}", cmap="Greys")
            colours = np.where(np.arange(10) == truth, COLOURS[1], COLOURS[0])
            below.bar(np.arange(10), arrays["wrong_proba"][n], color=colours)
            below.set(ylim=(0, 1), xticks=range(10))
            below.tick_params(labelsize=6)
            below.grid(axis="x", visible=False)
        places[2 * k, 0].set_axis_on()
        said = f"{NAMES[method]}\n{n_wrong} wrong"
        places[2 * k, 0].set_ylabel(said, fontsize=8)
        places[2 * k + 1, 0].set_ylabel("probability", fontsize=8)
    return figure


def inducing_points(rows: Rows) -> Any:
    """Draw three inducing points of every class, for two methods."""
    found = by_method(of_tables(rows), *SHOWN)
    size = (8, (0.85 * N_POINTS + 0.3) * len(found))
    figure, places = axes(N_POINTS * len(found), 10, size=size)
    for k, (method, some) in enumerate(found.items()):
        arrays = rows.arrays(some["arrays"].iloc[0])
        block = places[N_POINTS * k : N_POINTS * (k + 1)]
        for digit in range(10):
            points = arrays["inducing"][arrays["inducing_class"] == digit]
            for n, ax in enumerate(block[:, digit]):
                ax.set(xticks=[], yticks=[])
                if n >= len(points):
                    ax.set_axis_off()
                    continue
                pixels = np.clip(points[n], 0, 1).reshape(28, 28)
                title = str(digit) if n == 0 else ""
                picture(ax, pixels, title, cmap="Greys", vmin=0, vmax=1)
        block[0, 0].set_ylabel(NAMES[method], fontsize=8)
    return figure


def influence_of_m(rows: Rows) -> Any:
    """Draw scores and seconds against the number of inducing points."""
    found = by_method(fits(rows), *SHOWN)
    figure, places = axes(2, 2, size=(7.2, 5.0))
    for ax, (score, said) in zip(places.flat, PANELS.items(), strict=True):
        for k, (method, some) in enumerate(found.items()):
            mean = some.groupby("n_inducing")[score].mean()
            style = {"color": COLOURS[k], "marker": MARKS[k]}
            ax.plot(mean.index, mean, label=NAMES[method], **style)
            ax.set_xticks(mean.index, map(str, mean.index))
        ax.set(xlabel="inducing points M", ylabel=said)
        ax.tick_params(axis="x", labelsize=7)
    places[0, 0].legend()
    logarithmic(places[1, 0], "y")
    places[1, 1].set_ylim(bottom=0)
    return figure


def over_time(rows: Rows) -> Any:
    """Draw the test accuracy of longer and longer fits, a line per M."""
    shorter, table = fits(rows, "mnist-time"), fits(rows, "mnist-time", "mnist")
    table = table[table["seed"] == shorter["seed"].min()]
    found = by_method(table, *[m for m in SHOWN if m in set(shorter["method"])])
    figure, places = axes(1, len(found), size=(4.2 * len(found), 3.4), sharey=True)
    for ax, (method, some) in zip(places.flat, found.items(), strict=True):
        for k, (n_inducing, line) in enumerate(some.groupby("n_inducing")):
            one = line.sort_values("steps")
            style = {"color": COLOURS[k], "marker": MARKS[k]}
            ax.plot(one["processor"], one["test_accuracy"], label=n_inducing, **style)
        ax.set(xlabel="training, seconds of the processor", title=NAMES[method])
        logarithmic(ax, "x")
    places[0, 0].set_ylabel("test accuracy")
    places[0, -1].legend(title="M")
    return figure


def cost_of_an_epoch(rows: Rows) -> Any:
    """Draw the seconds of an epoch against the batch size, and those of the test."""
    table = fits(rows, "mnist-epoch")
    figure, ((left, right),) = axes(1, 2, size=(8.2, 3.2), width_ratios=[1.5, 1])
    bars = {}
    groups = table.groupby(["order", "device", "dtype"])
    for k, ((_, device, dtype), some) in enumerate(groups):
        colour = COLOURS[sorted(set(table["order"])).index(some["order"].iloc[0])]
        mean = some.groupby("batch_size")[["epoch_seconds", "test_seconds"]].mean()
        said = f"{NAMES[some['method'].iloc[0]]}, {device}, {dtype}"
        style = {"color": colour, "ls": LINES[str(dtype)]}
        style["marker"] = MARKS[k % len(MARKS)]
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
