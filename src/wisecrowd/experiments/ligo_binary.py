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
from wisecrowd.annotations import Annotations
from wisecrowd.experiments import ligo_binary_figures as figures
from wisecrowd.experiments.ligo import FIRST_SEED, largest, sized
from wisecrowd.experiments.parts import Experiment, Part, Size, mean_and_deviation
from wisecrowd.experiments.runner import Job, Outcome, Rows
from wisecrowd.metrics import accuracy, auc, log_loss
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
LIMITS = {"small": 10.0, "medium": 120.0, "full": 300.0}
"""Seconds per fit."""


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
    model = wc.METHODS[method].as_published()
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return model


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


def grown(method: str, seed: int, *, size: str, limit: float) -> Outcome:
    """Fit a method to more and more items, until a fit would take too long.

    The next fit is not begun if it would pass the limit by growing linearly. One that
    passes it is given up.
    """
    glitches: Any = wc.simulate_glitches(sized(size), random_state=seed)
    answers = against_the_rest(glitches.answers)
    truth = (glitches.gold_test == CLASS).astype(int)
    found: dict[str, list[float]] = {"n": [], "fit_seconds": [], "aucs": []}
    last: dict[str, float] = {}
    cost = Cost()
    for n in sizes(len(glitches.X)):
        if found["n"] and cost.seconds * n / found["n"][-1] > limit:
            break
        some = answers.subset(items=answers.items[:n])
        model = model_of(method, seed)
        try:
            with warnings.catch_warnings(), time_limit(limit), measured() as spent:
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(glitches.X[:n], some)
        except OutOfTime:
            break
        cost, proba = spent, model.predict_proba(glitches.X_test)
        last = {
            "auc": auc(truth, proba),
            "log_loss": log_loss(truth, proba),
            "accuracy": accuracy(truth, proba),
        }
        for name, value in (
            ("n", n), ("fit_seconds", cost.seconds), ("aucs", last["auc"])
        ):  # fmt: skip
            found[name].append(value)
    nothing = {"auc": math.nan, "log_loss": math.nan, "accuracy": math.nan}
    most = found["n"][-1] if found["n"] else 0
    return Outcome({**(last or nothing), "n_items": most, **found}, cost)


def jobs(size: Size, seeds: Sequence[int], methods: Sequence[str]) -> list[Job]:
    """Return a job per seed and method; the seeds are counted from 3."""
    settings = {"size": size, "limit": LIMITS[size]}
    return [
        Job(NAME, method, FIRST_SEED + seed, settings, grown)
        for seed in seeds
        for method in methods
    ]


# -- tables and figures --------------------------------------------------------------


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
                "seconds": mean_and_deviation(runs["seconds"], 1),
            }
        )
    return pd.DataFrame(lines)


def times(rows: Rows) -> pd.DataFrame:
    """Return the mean seconds of a fit: a row per number of items."""
    frame = largest(rows, NAME)
    if frame.empty:
        return frame
    each = frame.explode(["n", "fit_seconds", "aucs"], ignore_index=True)
    each = each.astype({"n": float, "fit_seconds": float})
    seconds = each.pivot_table(index="n", columns="method", values="fit_seconds")
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
    return None if frame.empty else figures.areas(frame, METHODS)


PARTS = (
    Part("ligo-binary", "AUC of the largest fit", table),
    Part("ligo-binary-auc", "Figure 11: AUC of the largest fit", draw_auc),
    Part("ligo-binary-seconds", "Seconds of a fit", time_table),
    Part("ligo-binary-times", "Figure 10: training time", draw_times),
)

EXPERIMENT = Experiment(
    name=NAME,
    title='LIGO, two classes: "Other" against the rest',
    about="",
    methods=METHODS,
    jobs=jobs,
    parts=PARTS,
)
