"""The figures of the paper's section 4.2: training times and AUC."""

from typing import Any

import numpy as np
import pandas as pd

from wisecrowd.experiments.ligo_binary.fits import METHODS
from wisecrowd.experiments.parts import COLOURS, MARKS, axes

SHADES = (*COLOURS, "#2a9d8f")


def times(seconds: pd.DataFrame, limit: float) -> Any:
    """Draw training time against the number of items: linear, and logarithmic."""
    figure, (places,) = axes(1, 2, size=(9.0, 3.6))
    for ax, scale in zip(places, ("linear", "log"), strict=True):
        for name in seconds:
            line, k = seconds[name].dropna(), METHODS.index(name)
            ax.plot(line.index, line, label=name, color=SHADES[k], marker=MARKS[k])
        ax.axhline(limit, color="0.5", lw=0.8, ls="--")
        ax.set(xlabel="items", ylabel="seconds per fit", xscale=scale, yscale=scale)
        ax.minorticks_off()
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.tick_params(axis="x", rotation=30)
        ax.set_title(f"{'linear' if scale == 'linear' else 'logarithmic'} axes")
    places[0].annotate(
        f"limit: {limit:g} s", (1, limit), (-2, 3), ("axes fraction", "data"),
        "offset points", ha="right", color="0.4", fontsize=8,
    )  # fmt: skip
    figure.legend(*places[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def areas(runs: pd.DataFrame) -> Any:
    """Draw the AUC of each method's largest fit, the paper's order."""
    by = runs.groupby("method")["auc"]
    known = [m for m in METHODS if by.count().get(m, 0)]
    mean, spread = by.mean()[known], by.std()[known].fillna(0.0)
    figure, ((ax,),) = axes(1, 1, size=(6.4, 3.2))
    at = np.arange(len(known))
    colours = [SHADES[METHODS.index(m)] for m in known]
    ax.errorbar(at, mean, spread, fmt="none", ecolor="0.5", capsize=3, lw=1)
    ax.scatter(at, mean, c=colours, s=45, zorder=3)
    for i, name in enumerate(known):
        n = runs[runs["method"] == name]["n_items"].median()
        ax.annotate(
            f"{mean[name]:.3f}\n{n:,.0f}", (i, mean[name]), (0, 8),
            textcoords="offset points", ha="center", fontsize=7,
        )  # fmt: skip
    ax.set_xticks(at, known, rotation=25, ha="right")
    ax.margins(x=0.08, y=0.25)
    ax.set(ylabel="AUC", title="AUC on test items, and the items of the fit")
    ax.grid(axis="x", visible=False)
    return figure
