"""The figure of a :class:`~wisecrowd.metrics.Reliability`; needs matplotlib."""

from typing import Any

import numpy as np

LINE, FILL, GREY = "#1f4e79", "#9dbbd8", "0.45"
HEIGHTS = (4, 1)  # of the curve and of the histogram
MARGIN = 0.02  # around the unit square, so that no point is cut


def pyplot() -> Any:
    """Return matplotlib's pyplot, or say how to install it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise ImportError(
            "the figure needs matplotlib, which is not installed. Install it with "
            "pip install 'wisecrowd[plot]'."
        ) from None
    return plt


def drawn(found: Any, ax: Any = None) -> Any:
    """Draw a reliability diagram with the histogram of confidence below it."""
    if ax is None:
        _, ax = pyplot().subplots(figsize=(4.6, 5.6), layout="constrained")
    _draw_curve(ax, found)
    place = ax.get_subplotspec()
    if place is not None:  # a part of the place is for the histogram
        upper, lower = place.subgridspec(2, 1, height_ratios=HEIGHTS)
        ax.set_subplotspec(upper)
        below = ax.figure.add_subplot(lower, sharex=ax)
        ax.tick_params(labelbottom=False)
        ax.set_xlabel("")
        _draw_histogram(below, found)
    return ax


def _draw_curve(ax: Any, found: Any) -> None:
    filled = found.n_items > 0
    x, y = found.confidence[filled], found.accuracy[filled]
    beside = np.array([y - found.low[filled], found.high[filled] - y])
    begin = found.edges[:-1][filled][0]  # of the first bin that has items
    ax.plot([0, 1], [0, 1], "--", color=GREY, lw=1, label="accuracy = confidence")
    ax.errorbar(
        x, y, np.maximum(beside, 0), fmt="o", color=LINE, ms=5, capsize=3, lw=1.3,
        label=f"accuracy, {found.level:.0%} interval".replace("%", " %"),
    )  # fmt: skip
    ax.set(
        xlim=(begin - MARGIN, 1 + MARGIN),
        ylim=(-MARGIN, 1 + MARGIN),  # always the same: figures can be compared
        xlabel="confidence",
        ylabel="accuracy",
    )
    ax.legend(
        loc="best", frameon=False, fontsize="small",
        title=f"calibration error {found.calibration_error:.3f}",
        title_fontsize="small", alignment="left",
    )  # fmt: skip
    open_frame(ax)


def _draw_histogram(ax: Any, found: Any) -> None:
    bars = ax.bar(
        found.edges[:-1], found.n_items, np.diff(found.edges),
        align="edge", color=FILL, edgecolor="white",
    )  # fmt: skip
    # A bar of few items beside one of many cannot be seen; its number can.
    counts = [f"{n:,}" if n else "" for n in found.n_items]
    ax.bar_label(bars, counts, fontsize="x-small", padding=1)
    ax.set(xlabel="confidence", ylabel="items")
    ax.margins(y=0.25)
    open_frame(ax)


def log_axis(ax: Any, low: float, high: float) -> None:
    """Make the horizontal axis logarithmic, with ticks in plain numbers.

    Below one and a half decades also at 2, 3 and 5: powers of ten alone are too few.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = low / 1.3, high * 1.3
    ax.set(xscale="log", xlim=(low, high))
    between = (1, 2, 3, 5) if high / low < 30 else (1,)
    ax.xaxis.set_major_locator(LogLocator(subs=between))
    ax.xaxis.set_major_formatter("{x:,g}")
    ax.xaxis.set_minor_formatter(NullFormatter())


def open_frame(ax: Any) -> None:
    """Draw no frame above and on the right."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
