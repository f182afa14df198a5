"""The figures of the paper's section 4.3: times, predictions, confusion matrices."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from wisecrowd._types import Array
from wisecrowd.experiments.ligo.fits import HABITS, KINDS, largest
from wisecrowd.experiments.ligo.paper import METHODS
from wisecrowd.experiments.parts import COLOURS, axes
from wisecrowd.experiments.runner import Rows
from wisecrowd.metrics import SMALLEST_PROBABILITY, log_loss, mean_likelihood
from wisecrowd.simulation.glitches.items import CLASSES

RIGHT, WRONG = "#b22222", COLOURS[0]
EXPONENTS = np.geomspace(0.6, 2.0, 13)


def times(runs: pd.DataFrame, methods: Sequence[str], kinds: Sequence[str]) -> Any:
    """Draw training and test times: a bar per method and kind, logarithmic."""
    figure, (places,) = axes(1, 2, size=(9.0, 3.4))
    titles = {"processor": "training, processor", "test_seconds": "test, clock"}
    for ax, (column, title) in zip(places, titles.items(), strict=True):
        for k, kind in enumerate(kinds):
            by = runs[runs["kind"] == kind].groupby("method")[column]
            mean = by.mean().reindex(list(methods))
            spread = by.std().reindex(list(methods)).fillna(0.0)
            at = np.arange(len(methods)) + (k - (len(kinds) - 1) / 2) * 0.38
            ax.bar(
                at, mean, 0.36, yerr=spread, label=kind, color=COLOURS[k],
                error_kw={"lw": 0.8},
            )  # fmt: skip
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.tick_params(axis="y", which="minor", labelleft=False)
        ax.set_xticks(np.arange(len(methods)), methods, rotation=35, ha="right")
        ax.set(
            title=f"{title} time",
            ylabel="seconds of the processor" if column == "processor" else "seconds",
        )
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


def predictions(
    proba: Mapping[str, Float[Array, "T C"]],
    truth: Int[Array, " T"],
    classes: Sequence[str],
) -> Any:
    """Draw what each method (columns) says of the same items (rows)."""
    chosen = telling_items(list(proba.values()), truth)
    figure, places = axes(
        len(chosen), len(proba), size=(2.9 * len(proba), 1.35 * len(chosen) + 1.0),
        sharex=True, sharey=True,
    )  # fmt: skip
    at = np.arange(len(classes))
    for row, item in zip(places, chosen, strict=True):
        for ax, (name, p) in zip(row, proba.items(), strict=True):
            colours = [RIGHT if c == truth[item] else WRONG for c in at]
            ax.bar(at, p[item], 0.8, color=colours)
            ax.set(ylim=(0, 1), yticks=[0, 0.5, 1])
            left = truth[item] > len(classes) / 2  # of the bar, not behind it
            ax.text(
                0.02 if left else 0.98, 0.82, f"{p[item, truth[item]]:.2f}",
                color=RIGHT, ha="left" if left else "right", transform=ax.transAxes,
            )  # fmt: skip
            if ax in places[0]:
                ax.set_title(name)
        row[0].set_ylabel(classes[truth[item]].replace(" ", "\n", 1), color=RIGHT)
    for ax in places[-1]:
        ax.set_xticks(at, classes, rotation=90, fontsize=7)
    return figure


def matrices(
    confusion: Mapping[str, Float[Array, "V C K"]],
    volunteers: Sequence[str],
    n_answers: Sequence[int] | None = None,
) -> Any:
    """Draw the matrices of volunteers (columns): true ones, then those of methods."""
    figure, places = axes(
        len(confusion), len(volunteers),
        size=(2.0 * len(volunteers) + 0.6, 2.0 * len(confusion) + 0.4),
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
    for i, ax in enumerate(places[0]):
        number = "" if n_answers is None else f"\n{n_answers[i]:,} answers"
        ax.set_title(f"{volunteers[i]}{number}", fontsize=9)
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


def trade(
    proba: Mapping[tuple[str, str], Float[Array, "T C"]], truth: Int[Array, " T"]
) -> Any:
    """Draw mean likelihood against log loss, for predictions of any sharpness."""
    figure, ((ax,),) = axes(1, 1, size=(6.4, 4.0))
    families = ("svgpcr", "aggnet", "cl")
    for (method, kind), p in proba.items():
        line = np.array([sharpened(p, truth, e) for e in EXPONENTS])
        here = sharpened(p, truth, 1.0)
        look = {"color": COLOURS[families.index(method.partition("-")[0])]}
        ax.plot(*line.T, ls="-" if kind == "ours" else ":", lw=1.2, **look)
        face = look["color"] if kind == "ours" else "white"
        ax.plot(*here, "o", mfc=face, label=f"{method}, {kind}", ms=7, **look)
    ax.set(xlabel="log loss (smaller is better)", ylabel="mean likelihood")
    ax.legend()
    return figure


# -- from the rows --------------------------------------------------------------------


def of_one_seed(rows: Rows, kind: str) -> dict[str, dict[str, Array]]:
    """Return the arrays of the first seed by method: the best of each family.

    The best layer and the best number of inducing points are those with the highest
    mean likelihood, as in the paper.
    """
    frame = largest(rows)
    if frame.empty:
        return {}
    frame = frame[(frame["kind"] == kind) & (frame["seed"] == frame["seed"].min())]
    found = {}
    for start in ("svgpcr", "aggnet", "cl"):
        some = frame[frame["method"].str.startswith(start)]
        if some.empty:
            return {}
        best = some.loc[some["test_mean_likelihood"].idxmax()]
        found[str(best["method"])] = rows.arrays(best["arrays"])
    return found


def draw_predictions(rows: Rows, kind: str) -> Any:
    """Draw the predictive distributions of four items."""
    found = of_one_seed(rows, kind)
    if not found:
        return None
    truth = next(iter(found.values()))["truth"]
    proba = {name: arrays["proba"] for name, arrays in found.items()}
    return predictions(proba, truth, CLASSES)


def draw_matrices(rows: Rows, kind: str) -> Any:
    """Draw the confusion matrices of five volunteers, true and estimated."""
    found = of_one_seed(rows, kind)
    if not found:
        return None
    first = next(iter(found.values()))
    tables = {"truth": first["true_confusion"]}
    tables |= {name: arrays["confusion"] for name, arrays in found.items()}
    return matrices(tables, HABITS, first["n_answers"].tolist())


def draw_times(rows: Rows) -> Any:
    """Draw training and test times."""
    frame = largest(rows)
    return None if frame.empty else times(frame, METHODS, KINDS)


def draw_trade(rows: Rows) -> Any:
    """Draw how likelihood is bought with log loss, for both kinds."""
    found = {
        (method, kind): arrays
        for kind in KINDS
        for method, arrays in of_one_seed(rows, kind).items()
    }
    if not found:
        return None
    truth = next(iter(found.values()))["truth"]
    return trade({key: arrays["proba"] for key, arrays in found.items()}, truth)
