"""The paper's section 4.2: "Other" against all other glitches, and what time allows.

Each method is fitted to more and more of the items, until a fit would take longer than
a limit. It is then judged by its largest fit. The classifiers of the six older methods
are the same with and without ``as_published()``, which changes their labels only. So
they have one kind, and SVGPCR has two.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

import wisecrowd as wc
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.experiments.ligo.fits import FIRST_SEED, largest, sized
from wisecrowd.experiments.parts import (
    COLOURS,
    MARKS,
    Experiment,
    Part,
    Size,
    axes,
    cells,
)
from wisecrowd.experiments.runner import Job, NoRows, Outcome, Rows
from wisecrowd.experiments.scoring import with_settings
from wisecrowd.metrics import auc, calibration_error, log_loss
from wisecrowd.results.limits import Cost, OutOfTime, measured, time_limit

NAME = "ligo-binary"
CLASS = "Other"
METHODS = (
    "raykar", "yan", "gpep", "vgpcr", "rffgpcr", "vffgpcr",
    "svgpcr-published", "svgpcr",
)  # fmt: skip
PAPER = {
    "gpep": "2,500", "vgpcr": "25,000", "yan": "25,000", "vffgpcr": "100,000",
}  # fmt: skip
"""The most items that a method could be trained with in the paper; others: all."""
N_INDUCING = 50
GROWTH = 2
SMALLEST = 250
LIMITS = {"small": 20.0, "medium": 120.0, "full": 600.0}
"""Seconds of the processor per fit."""
PATIENCE = 5.0
N_SEEDS = {"small": 1, "medium": 2, "full": 3}
SHADES = (*COLOURS, "#2a9d8f")
COLUMNS = {  # of the table, and their digits behind the point
    "AUC": ("auc", 3),
    "log loss": ("log_loss", 3),
    "calibration error": ("calibration_error", 3),
    "seconds": ("processor", 1),
}
MEASURES = {
    "auc": auc,
    "log_loss": log_loss,
    "calibration_error": calibration_error,
}


def model_of(method: str, seed: int) -> Any:
    """Return the estimator of a name in :data:`METHODS`.

    Examples
    --------
    >>> model_of("svgpcr-published", 3).inference
    'adam'
    """
    if method == "svgpcr":
        return wc.SVGPCR(N_INDUCING, random_state=seed)
    if method == "svgpcr-published":
        return wc.SVGPCR.as_published(N_INDUCING, random_state=seed)
    return with_settings(wc.METHODS[method].as_published(), random_state=seed)


def against_the_rest(answers: Annotations, name: str = CLASS) -> Annotations:
    """Return the answers with two classes: all others, and this one.

    Examples
    --------
    >>> answers = Annotations.from_matrix([["Blip", "Other"], ["Other", "Whistle"]])
    >>> against_the_rest(answers).answer.tolist()
    [0, 1, 1, 0]
    """
    chosen = answers.answer == answers.classes.tolist().index(name)
    return Annotations.from_triples(
        answers.items[answers.item],
        answers.annotators[answers.annotator],
        np.where(chosen, name, "rest"),
        items=answers.items,
        classes=["rest", name],
    )


def sizes(n_items: int, smallest: int = SMALLEST) -> list[int]:
    """Return numbers of items to fit to: doubled until there are no more.

    Examples
    --------
    >>> sizes(2000, 250), sizes(173_565, 100_000)
    ([250, 500, 1000, 2000], [100000, 173565])
    """
    n_times = max(0, math.ceil(math.log(n_items / smallest, GROWTH)))
    return [*(smallest * GROWTH**i for i in range(n_times)), n_items]


# -- a job ---------------------------------------------------------------------------


def grown(
    method: str, seed: int, *, size: str, limit: float, smallest: int = SMALLEST
) -> Outcome:
    """Fit a method to more and more items, until a fit would take too long.

    Time is that of the processor over all threads, which other programs on the machine
    disturb less than the clock. A fit is not begun if it would pass the limit even by
    growing linearly, and given up once the clock has passed :data:`PATIENCE` limits.
    """
    glitches: Any = wc.simulate_glitches(sized(size), random_state=seed)
    answers = against_the_rest(glitches.answers)
    fits: list[dict[str, float]] = []
    cost = Cost()
    for n in sizes(len(glitches.X), smallest):
        if fits and fits[-1]["processor"] * n / fits[-1]["n_items"] > limit:
            break
        some = answers.subset(items=answers.items[:n])
        try:
            with time_limit(PATIENCE * limit):
                model, spent = _fitted(method, seed, glitches.X[:n], some)
        except OutOfTime:
            break
        if spent.processor > limit:
            break
        cost, proba = spent, model.predict_proba(glitches.X_test)
        truth = (glitches.gold_test == CLASS).astype(int)
        found = {name: measure(truth, proba) for name, measure in MEASURES.items()}
        fits.append({"n_items": n, "processor": cost.processor, **found})
    most = fits[-1] if fits else {"n_items": 0, "auc": math.nan}
    return Outcome({**most, "fits": fits}, cost)


def _fitted(method: str, seed: int, X: Array, answers: Annotations) -> tuple[Any, Cost]:
    """Return the model and its cost."""
    model = model_of(method, seed)
    with warnings.catch_warnings(), measured() as cost:
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, answers)
    return model, cost


def jobs(size: Size, seeds: Sequence[int], methods: Sequence[str]) -> list[Job]:
    """Return a job per seed and method; the seeds are counted from 3."""
    settings = {"size": size, "limit": LIMITS[size]}
    return [
        Job(NAME, method, FIRST_SEED + seed, settings, grown)
        for seed in seeds or range(N_SEEDS[size])
        for method in methods or METHODS
    ]


# -- tables ----------------------------------------------------------------------------


def table(rows: Rows) -> pd.DataFrame:
    """AUC of every method with the most items that its time allows."""
    lines = []
    for method, runs in by_method(largest(rows, NAME)).items():
        ends = sorted({runs["n_items"].min(), runs["n_items"].max()})
        lines.append(
            {
                "method": method,
                "items": " to ".join(f"{n:,}" for n in ends),
                "items in the paper": PAPER.get(method, "173,565"),
                **cells(runs, COLUMNS),
            }
        )
    return pd.DataFrame(lines)


def by_method(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of every method that has some, in the order of the tables."""
    groups = dict(iter(frame.groupby("method")))
    return {name: groups[name] for name in METHODS if name in groups}


def times(rows: Rows) -> pd.DataFrame:
    """Return the mean seconds of the processor: a row per number of items."""
    frame = largest(rows, NAME)
    each = frame[["method", "fits"]].explode("fits").dropna()
    fits = pd.DataFrame(each["fits"].tolist(), columns=["n_items", "processor"])
    fits["method"] = each["method"].to_numpy()
    seconds = fits.pivot_table(index="n_items", columns="method", values="processor")
    if seconds.empty:
        raise NoRows
    return seconds[[m for m in METHODS if m in seconds]]


def time_table(rows: Rows) -> pd.DataFrame:
    """Seconds of a fit by the number of items, as text."""
    seconds = times(rows)
    said = seconds.map(lambda s: "" if np.isnan(s) else f"{s:,.1f}")
    said.insert(0, "items", [f"{int(n):,}" for n in seconds.index])
    return said.reset_index(drop=True)


# -- figures ---------------------------------------------------------------------------


def draw_times(rows: Rows) -> Any:
    """Draw training time against the number of items: linear, and logarithmic."""
    seconds, limit = times(rows), largest(rows, NAME)["limit"].max()
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


def draw_auc(rows: Rows) -> Any:
    """Draw the AUC of each method's largest fit, the paper's order."""
    runs = largest(rows, NAME)
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


# -- the experiment --------------------------------------------------------------------

PARTS = (
    Part("ligo-binary", "AUC of the largest fit", table),
    Part("ligo-binary-auc", "Figure 11: AUC of the largest fit", draw_auc),
    Part("ligo-binary-seconds", "Seconds of a fit", time_table),
    Part("ligo-binary-times", "Figure 10: training time", draw_times),
)

EXPERIMENT = Experiment(
    name=NAME,
    title='LIGO, two classes: "Other" against the rest',
    methods=METHODS,
    jobs=jobs,
    parts=PARTS,
)
