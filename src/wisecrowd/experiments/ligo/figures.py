"""The figures of the paper's section 4.3: times, predictions, confusion matrices."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._types import Array
from wisecrowd.experiments.ligo.fits import HABITS, KINDS, METHODS, largest
from wisecrowd.experiments.parts import COLOURS, axes
from wisecrowd.experiments.runner import NoRows, Rows
from wisecrowd.metrics import SMALLEST_PROBABILITY, log_loss, mean_likelihood
from wisecrowd.simulation.glitches.items import CLASSES

RIGHT, WRONG = "#b22222", COLOURS[0]
EXPONENTS = np.geomspace(0.6, 2.0, 13)


FAMILIES = ("svgpcr", "aggnet", "cl")


def of_one_seed(rows: Rows, kind: str) -> dict[str, dict[str, Array]]:
    """Return the arrays of the first seed by method: the best of each family.

    The best layer and the best number of inducing points are those with the highest
    mean likelihood, as in the paper.
    """
    frame = largest(rows)
    frame = frame[(frame["kind"] == kind) & (frame["seed"] == frame["seed"].min())]
    found = {}
    for start in FAMILIES:
        some = frame[frame["method"].str.startswith(start)]
        if some.empty:
            raise NoRows
        best = some.loc[some["test_mean_likelihood"].idxmax()]
        found[str(best["method"])] = rows.arrays(best["arrays"])
    return found


def draw_times(rows: Rows) -> Any:
    """Draw training and test times: a bar per method and kind, logarithmic."""
    runs = largest(rows)
    figure, (places,) = axes(1, 2, size=(9.0, 3.4))
    titles = {"processor": "training, processor", "test_seconds": "test, clock"}
    for ax, (column, title) in zip(places, titles.items(), strict=True):
        for k, kind in enumerate(KINDS):
            by = runs[runs["kind"] == kind].groupby("method")[column]
            mean = by.mean().reindex(list(METHODS))
            spread = by.std().reindex(list(METHODS)).fillna(0.0)
            at = np.arange(len(METHODS)) + (k - (len(KINDS) - 1) / 2) * 0.38
            style = {"label": kind, "color": COLOURS[k], "error_kw": {"lw": 0.8}}
            ax.bar(at, mean, 0.36, yerr=spread, **style)
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.tick_params(axis="y", which="minor", labelleft=False)
        ax.set_xticks(np.arange(len(METHODS)), METHODS, rotation=35, ha="right")
        of = " of the processor" if column == "processor" else ""
        ax.set(title=f"{title} time", ylabel=f"seconds{of}")
        ax.grid(axis="x", visible=False)
    places[0].legend()
    return figure


def telling_items(
    proba: Sequence[Float[Array, "T C"]], truth: Int[Array, " T"], n_items: int = 4
) -> Int[Array, " n"]:
    """Return items that all methods get right, and of which they differ most.

    They are of different classes. The methods differ by the mean total variation
    between two of them, ½ Σ_c |p_c − q_c|; its largest value in each class counts.

    Examples
    --------
    >>> sure, unsure = np.array([[1, 0], [0, 1.0]]), np.array([[0.9, 0.1], [0.4, 0.6]])
    >>> telling_items([sure, unsure], np.array([0, 1]), n_items=1).tolist()
    [1]
    """
    right = np.all([p.argmax(1) == truth for p in proba], axis=0)
    pairs = [(p, q) for i, p in enumerate(proba) for q in proba[:i]]
    apart = np.mean([np.abs(p - q).sum(1) / 2 for p, q in pairs], axis=0)
    order = np.argsort(-np.where(right, apart, -1.0), kind="stable")
    order = order[right[order]]
    _, first = np.unique(truth[order], return_index=True)
    return order[np.sort(first)[:n_items]]


def draw_predictions(rows: Rows, kind: str) -> Any:
    """Draw what each method (columns) says of the same four items (rows)."""
    found = of_one_seed(rows, kind)
    truth = next(iter(found.values()))["truth"]
    proba = {name: arrays["proba"] for name, arrays in found.items()}
    chosen = telling_items(list(proba.values()), truth)
    figure, places = axes(
        len(chosen), len(proba), size=(2.9 * len(proba), 1.35 * len(chosen) + 1.0),
        sharex=True, sharey=True,
    )  # fmt: skip
    at = np.arange(len(CLASSES))
    for row, item in zip(places, chosen, strict=True):
        for ax, (name, p) in zip(row, proba.items(), strict=True):
            colours = [RIGHT if c == truth[item] else WRONG for c in at]
            ax.bar(at, p[item], 0.8, color=colours)
            ax.set(ylim=(0, 1), yticks=[0, 0.5, 1])
            left = truth[item] > len(CLASSES) / 2  # of the bar, not behind it
            ax.text(
                0.02 if left else 0.98, 0.82, f"{p[item, truth[item]]:.2f}",
                color=RIGHT, ha="left" if left else "right", transform=ax.transAxes,
            )  # fmt: skip
            if ax in places[0]:
                ax.set_title(name)
        row[0].set_ylabel(CLASSES[truth[item]].replace(" ", "\n", 1), color=RIGHT)
    for ax in places[-1]:
        ax.set_xticks(at, CLASSES, rotation=90, fontsize=7)
    return figure


def draw_matrices(rows: Rows, kind: str) -> Any:
    """Draw the matrices of five volunteers (columns): the truth, then the methods'."""
    found = of_one_seed(rows, kind)
    first = next(iter(found.values()))
    confusion = {"truth": first["true_confusion"]}
    confusion |= {name: arrays["confusion"] for name, arrays in found.items()}
    figure, places = axes(
        len(confusion), len(HABITS),
        size=(2.0 * len(HABITS) + 0.6, 2.0 * len(confusion) + 0.4),
        sharex=True, sharey=True,
    )  # fmt: skip
    for row, (name, tables) in zip(places, confusion.items(), strict=True):
        for ax, table in zip(row, tables, strict=True):
            drawn = ax.imshow(table, vmin=0, vmax=1)
            ticks = np.arange(0, len(table), 2)
            ax.set_xticks(ticks, ticks, fontsize=6)
            ax.set_yticks(ticks, ticks, fontsize=6)
            ax.grid(False)
        row[0].set_ylabel(f"{name}\nclass")
    for ax, habit, n in zip(places[0], HABITS, first["n_answers"], strict=True):
        ax.set_title(f"{habit}\n{n:,} answers", fontsize=9)
    for ax in places[-1]:
        ax.set_xlabel("answer")
    figure.colorbar(drawn, ax=places, shrink=0.4, label="probability of the answer")
    return figure


def sharpened(
    proba: Float[Array, "T C"], truth: Int[Array, " T"], exponent: float
) -> tuple[float, float]:
    """Return log loss and mean likelihood of predictions ∝ p^exponent.

    Examples
    --------
    >>> sure = np.array([[0.9, 0.1], [0.6, 0.4]])
    >>> np.round(sharpened(sure, np.array([0, 1]), 1.0), 3).tolist()
    [0.511, 0.65]
    """
    powers = np.clip(proba.astype(float), SMALLEST_PROBABILITY, 1.0) ** exponent
    powers /= powers.sum(1, keepdims=True)
    return log_loss(truth, powers), mean_likelihood(truth, powers)


def draw_trade(rows: Rows) -> Any:
    """Draw mean likelihood against log loss, for predictions of any sharpness."""
    found: dict[tuple[str, str], dict[str, Array]] = {}
    for kind in KINDS:
        with suppress(NoRows):
            found |= {(m, kind): a for m, a in of_one_seed(rows, kind).items()}
    if not found:
        raise NoRows
    figure, ((ax,),) = axes(1, 1, size=(6.4, 4.0))
    for (method, kind), arrays in found.items():
        p, truth = arrays["proba"], arrays["truth"]
        line = np.array([sharpened(p, truth, e) for e in EXPONENTS])
        here = sharpened(p, truth, 1.0)
        look = {"color": COLOURS[FAMILIES.index(method.partition("-")[0])]}
        ax.plot(*line.T, ls="-" if kind == "ours" else ":", lw=1.2, **look)
        face = look["color"] if kind == "ours" else "white"
        ax.plot(*here, "o", mfc=face, label=f"{method}, {kind}", ms=7, **look)
    ax.set(xlabel="log loss (smaller is better)", ylabel="mean likelihood")
    ax.legend()
    return figure
