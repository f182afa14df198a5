"""Figures of a fitted model, and of a comparison; they need matplotlib."""

from typing import Any

import numpy as np
import pandas as pd

from wisecrowd._checks import InputError, listed
from wisecrowd._text import printable, shortened
from wisecrowd._types import Gold
from wisecrowd.annotations.vocabulary import positions
from wisecrowd.metrics.reliability import reliability
from wisecrowd.metrics.reliability_figure import LINE, log_axis, open_frame, pyplot
from wisecrowd.results.comparison import BASELINE
from wisecrowd.results.flags import ADVERSARY, SPAMMER
from wisecrowd.results.tables import annotator_table

FLAG = "#b3470b"
MARKS = {"": ("o", LINE), SPAMMER: ("s", FLAG), ADVERSARY: ("v", FLAG)}
LONGEST = 30  # letters of a name

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


def plot_annotators(model: Any, ax: Any = None) -> Any:
    """Draw accuracy with its interval against the number of answers."""
    ax = _axes(ax, (6.4, 4.2))
    table = annotator_table(model)
    table = table[table["n_answers"] > 0]
    for flag, (mark, colour) in MARKS.items():
        some = table[table["flag"] == flag]
        if some.empty:
            continue
        y = some["accuracy"].to_numpy()
        beside = np.array([y - some["low"], some["high"] - y])
        ax.errorbar(
            some["n_answers"], y, np.maximum(beside, 0), fmt=mark, color=colour,
            ecolor=colour, elinewidth=0.8, alpha=0.7, ms=4,
            label=flag or "not flagged",
        )  # fmt: skip
    ax.set(
        ylim=(-0.02, 1.02), xlabel="answers",
        ylabel="probability of a right answer (95 % interval)",
    )  # fmt: skip
    if len(table):
        log_axis(ax, *map(float, table["n_answers"].agg(["min", "max"])))
    ax.legend(frameon=False, fontsize="small")
    open_frame(ax)
    return ax


def plot_confusion(model: Any, annotator: Any, ax: Any = None) -> Any:
    """Draw the confusion matrix of one annotator: true class, answer."""
    (who,) = positions(np.array([annotator], object), model.annotators_)
    if who < 0:
        raise InputError(
            f"{annotator!r} is not an annotator of the fit. The annotators are "
            f"{listed(model.annotators_, 3)}."
        )
    classes, answers = _names(model.classes_), _names(model.answers_)
    ax = _axes(ax, (1.8 + 0.6 * len(answers), 1.4 + 0.5 * len(classes)))
    matrix = model.confusion_[who]
    ax.imshow(matrix, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (c, k), share in np.ndenumerate(matrix):
        colour = "white" if share > 0.6 else "black"
        ax.text(k, c, f"{share:.2f}", ha="center", va="center", color=colour)
    ax.set_xticks(range(len(answers)), answers, rotation=30, ha="right")
    ax.set_yticks(range(len(classes)), classes)
    name = _names([model.annotators_[who]])[0]
    ax.set(xlabel="answer", ylabel="true class", title=f"annotator {name}")
    return ax


def plot_trace(model: Any, ax: Any = None) -> Any:
    """Draw the bound by step: it should flatten at the end."""
    ax = _axes(ax, (6.0, 3.2))
    trace = model.trace_
    ax.plot(trace.index, trace["bound"], color=LINE, marker="." * (len(trace) < 30))
    ax.set(xlabel="step", ylabel="bound")
    ax.grid(axis="y", color="0.92")
    open_frame(ax)
    return ax


def plot_reliability(model: Any, gold: Gold, ax: Any = None) -> Any:
    """Draw how often labels are right, by their probability, against known classes."""
    known = dict(gold.items())
    where = positions(np.array(list(known), object), model.items_)
    truth: list[Any] = [None] * len(model.items_)
    for place, name in zip(where, known.values(), strict=True):
        if place >= 0:
            truth[place] = name
    if not any(name is not None for name in truth):
        raise InputError(
            f"gold names no item of the fit. The items are {listed(model.items_, 3)}."
        )
    return reliability(truth, model.label_proba_, model.classes_).plot(ax)


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=size, layout="constrained")[1]


def _names(words: Any) -> list[str]:
    """Return names as they are shown; matplotlib would read ``$`` as mathematics."""
    return [shortened(printable(w), LONGEST).replace("$", r"\$") for w in words]


# -- a comparison --------------------------------------------------------------------


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
    size = (1.6 + WIDTH * len(shown), 1.1 + ROW * len(methods))
    figure, axes = pyplot().subplots(
        1, len(shown), figsize=size, sharey=True, squeeze=False, layout="constrained"
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
