"""Figures: the influence of M, and test accuracy against training time."""

from typing import Any

import pandas as pd

from wisecrowd.experiments.mnist.fits import NAMES
from wisecrowd.experiments.mnist.paper import SHOWN, by_method, fits
from wisecrowd.experiments.parts import COLOURS, MARKS, axes, logarithmic
from wisecrowd.experiments.runner import Rows

PANELS = {
    "test_accuracy": "test accuracy",
    "test_mean_likelihood": "test likelihood",
    "processor": "training, seconds of the processor",
    "test_seconds": "test, seconds",
}


def influence_of_m(rows: Rows) -> Any:
    """Draw scores and seconds against the number of inducing points."""
    found = by_method(fits(rows), *SHOWN)
    if not found:
        return None
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
    table = pd.concat([fits(rows, "mnist-time"), fits(rows)], ignore_index=True)
    short = fits(rows, "mnist-time")
    if short.empty:
        return None
    seed = short["seed"].min()
    table = table[
        (table["seed"] == seed) & (table["n_train"] == table["n_train"].max())
    ]
    found = by_method(table, *[m for m in SHOWN if m in set(short["method"])])
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
