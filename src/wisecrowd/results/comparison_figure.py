"""The figure of a comparison; needs matplotlib."""

from typing import Any

import numpy as np
import pandas as pd

from wisecrowd._checks import InputError, listed
from wisecrowd.metrics.reliability_figure import LINE, log_axis, open_frame, pyplot
from wisecrowd.results.comparison import BASELINE

PANELS = {
    "accuracy": "accuracy (higher is better)",
    "log_loss": "log loss (lower is better)",
    "unseen_answers": "log probability of unseen answers",
    "seconds": "seconds",
    "megabytes": "megabytes",
}
LEGEND = "small dots: single fits; large dots: their means; dashed: smoothed votes"
WIDTH, ROW = 2.6, 0.3  # inches: of a panel, of a method
LEAST_COST = {"seconds": 1e-3, "megabytes": 1.0}  # less is noise


def plot_comparison(scores: pd.DataFrame) -> Any:
    """Draw the scores of several methods: a panel per score, a row per method.

    Small dots are single fits, large ones the mean over the seeds. The dashed line is
    the baseline, smoothed votes.

    Parameters
    ----------
    scores : DataFrame
        What :func:`wisecrowd.compare` returns.

    Returns
    -------
    matplotlib Figure
        Write it with ``figure.savefig("comparison.png")``.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    missing = [name for name in ("method", *PANELS) if name not in scores]
    if missing:
        raise InputError(
            f"the table has no column {listed(missing)}. Give the table that "
            f"wisecrowd.compare returns."
        )
    methods = [name for name in pd.unique(scores["method"]) if name != BASELINE]
    shown = [name for name in PANELS if scores[name].notna().any()]
    figure, axes = pyplot().subplots(
        1,
        len(shown),
        figsize=(1.6 + WIDTH * len(shown), 1.1 + ROW * len(methods)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax, name in zip(axes[0], shown, strict=True):
        _draw_panel(ax, scores, methods, name)
    axes[0, 0].set_yticks(range(len(methods)), methods)
    axes[0, 0].invert_yaxis()
    if (scores["method"] == BASELINE).any():
        figure.supxlabel(LEGEND, fontsize="small", color="0.45")
    return figure


def _draw_panel(ax: Any, scores: pd.DataFrame, methods: list[str], name: str) -> None:
    least = LEAST_COST.get(name)
    for row, method in enumerate(methods):
        found = scores.loc[scores["method"] == method, name].dropna().to_numpy(float)
        if least is not None:
            found = np.maximum(found, least)
        if not len(found):
            ax.text(
                0.02, row, "no result", transform=ax.get_yaxis_transform(),
                color="0.45", va="center", fontsize="small",
            )  # fmt: skip
            continue
        ax.plot(found, np.full(len(found), row), "o", color=LINE, ms=3, alpha=0.4)
        ax.plot(found.mean(), row, "o", color=LINE, ms=6)
    baseline = scores.loc[scores["method"] == BASELINE, name].dropna()
    if len(baseline):
        ax.axvline(baseline.mean(), ls="--", lw=1, color="0.45")
    if least is None:
        ax.locator_params(axis="x", nbins=4)
    else:
        log_axis(ax, least, max(float(scores[name].max()), 10 * least))
    ax.set_title(PANELS[name], fontsize="small")
    ax.grid(axis="y", color="0.92")
    ax.set_axisbelow(True)
    open_frame(ax)
