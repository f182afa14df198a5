"""AUC of the largest fits, and seconds by the number of items."""

import math
from typing import Any

import numpy as np
import pandas as pd

from wisecrowd.experiments.ligo.fits import largest
from wisecrowd.experiments.ligo_binary import figures
from wisecrowd.experiments.ligo_binary.fits import METHODS, NAME, PAPER
from wisecrowd.experiments.parts import mean_and_deviation
from wisecrowd.experiments.runner import Rows


def table(rows: Rows) -> Any:
    """AUC of every method with the most items that its time allows."""
    frame = largest(rows, NAME)
    if frame.empty:
        return None
    lines = []
    for method in METHODS:
        runs = frame[frame["method"] == method]
        if runs.empty:
            continue
        items = sorted(set(runs["n_items"]))
        lines.append(
            {
                "method": method,
                "items": " to ".join(
                    f"{n:,}" for n in (items[0], items[-1])[: len(items)]
                ),
                "items in the paper": PAPER.get(method, "173,565"),
                "AUC": mean_and_deviation(runs["auc"], 3),
                "log loss": mean_and_deviation(runs["log_loss"], 3),
                "calibration error": mean_and_deviation(runs["calibration_error"], 3),
                "seconds": mean_and_deviation(runs["processor"], 1),
            }
        )
    return pd.DataFrame(lines)


def times(rows: Rows) -> pd.DataFrame:
    """Return the mean seconds of the processor: a row per number of items."""
    frame = largest(rows, NAME)
    if frame.empty:
        return frame
    each = frame[["method", "fits"]].explode("fits").dropna()
    fits = pd.DataFrame(each["fits"].tolist())[["n_items", "processor"]]
    fits["method"] = each["method"].to_numpy()
    seconds = fits.pivot_table(index="n_items", columns="method", values="processor")
    return seconds[[m for m in METHODS if m in seconds]]


def time_table(rows: Rows) -> Any:
    """Seconds of a fit by the number of items, as text."""
    seconds = times(rows)
    if seconds.empty:
        return None
    said = seconds.map(lambda s: "" if np.isnan(s) else f"{s:,.1f}")
    said.insert(0, "items", [f"{int(n):,}" for n in seconds.index])
    return said.reset_index(drop=True)


def draw_times(rows: Rows) -> Any:
    """Draw the seconds of a fit against the number of items."""
    seconds = times(rows)
    limit = largest(rows, NAME)["limit"].max() if len(seconds) else math.nan
    return None if seconds.empty else figures.times(seconds, limit)


def draw_auc(rows: Rows) -> Any:
    """Draw the AUC of every method's largest fit."""
    frame = largest(rows, NAME)
    return None if frame.empty else figures.areas(frame)
