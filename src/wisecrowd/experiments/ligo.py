"""The paper's section 4.3: fifteen classes of glitches, Gaussian processes or networks.

The data are simulated (:func:`wisecrowd.simulate_glitches`): the paper's are not
public. Every method is fitted in two kinds, "published", which is ``as_published()``,
and "ours", which is the method with our defaults. Both have the settings that
:mod:`~wisecrowd.experiments.ligo_tuning` found.
"""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

import wisecrowd as wc
from wisecrowd._types import Array
from wisecrowd.experiments import ligo_figures as figures
from wisecrowd.experiments import ligo_paper as paper
from wisecrowd.experiments.parts import (
    Experiment,
    Part,
    Size,
    mean_and_deviation,
    short,
)
from wisecrowd.experiments.runner import Job, Outcome, Rows
from wisecrowd.metrics import confusion_error, scores, truth_codes
from wisecrowd.results.limits import measured
from wisecrowd.simulation.glitches.items import CLASSES

NAME = "ligo"
KINDS = ("published", "ours")
FIRST_SEED = 3
"""The simulator was tuned on the seeds 0, 1 and 2."""
HABITS = (
    "ripple as violin", "conservative", "violin as ripple", "usual", "blip as koi fish",
)  # fmt: skip
"""Of the five volunteers whose matrices are drawn, as in the paper's figure."""
SCORES = ("accuracy", "mean_likelihood", "log_loss", "calibration_error")

TUNED: dict[tuple[str, str], dict[str, Any]] = {}
"""Settings by family and kind, chosen by :mod:`~wisecrowd.experiments.ligo_tuning`."""


def family(method: str) -> str:
    """Return the method without the number of its inducing points.

    Examples
    --------
    >>> family("svgpcr-50"), family("cl-mw")
    ('svgpcr', 'cl-mw')
    """
    return "svgpcr" if method.startswith("svgpcr") else method


def model_of(method: str, seed: int, kind: str, settings: Mapping[str, Any]) -> Any:
    """Return the estimator of a column of the tables.

    Parameters
    ----------
    method : str
        One of :data:`~wisecrowd.experiments.ligo_paper.METHODS`.
    seed : int
        Its `random_state`.
    kind : {"published", "ours"}
        As published, or with our defaults.
    settings : dict
        Other settings of the estimator; `dropout` is that of the network.

    Examples
    --------
    >>> model_of("cl-vw", 3, "ours", {"dropout": 0.2}).kind
    'vw'
    >>> model_of("svgpcr-50", 3, "published", {}).n_inducing
    50
    """
    chosen = {"random_state": seed, **settings}
    if family(method) == "svgpcr":
        chosen["n_inducing"] = int(method.rpartition("-")[2])
        make: Any = wc.SVGPCR
    else:
        if "dropout" in chosen:
            chosen["network"] = wc.MLP(dropout=chosen.pop("dropout"))
        make = wc.AggNet if method == "aggnet" else wc.CrowdLayer
    if method.startswith("cl-"):
        chosen["kind"] = method.removeprefix("cl-")
    return make.as_published(**chosen) if kind == "published" else make(**chosen)


# -- a job ---------------------------------------------------------------------------


def fitted(method: str, seed: int, *, size: str, kind: str, **settings: Any) -> Outcome:
    """Fit a method to the glitches of a seed, and score it on the test items.

    The arrays are the predictions for the test items with their classes, and the
    matrices of :func:`volunteers` with the true ones.
    """
    glitches: Any = wc.simulate_glitches(sized(size), random_state=seed)
    model = model_of(method, seed, kind, settings)
    with measured() as cost:
        model.fit(glitches.X, glitches.answers)
    began = time.perf_counter()
    proba = model.predict_proba(glitches.X_test)
    test_seconds = time.perf_counter() - began
    new = scores(glitches.gold_test, proba, glitches.classes)
    old = scores(glitches.gold.to_numpy(), model.label_proba_, glitches.classes)
    who = volunteers(glitches)
    return Outcome(
        scores={
            **{name: new.loc["all", name] for name in SCORES},
            "test_seconds": test_seconds,
            "labels_accuracy": old.loc["all", "accuracy"],
            "labels_log_loss": old.loc["all", "log_loss"],
            "matrix_error": matrix_error(model.confusion_, glitches),
            "accuracy_of_class": new["accuracy"].iloc[:-1],
            "likelihood_of_class": new["mean_likelihood"].iloc[:-1],
        },
        cost=cost,
        arrays={
            "proba": proba.astype(np.float32),
            "truth": truth_codes(glitches.gold_test, glitches.classes),
            "confusion": model.confusion_[who].astype(np.float32),
            "true_confusion": glitches.confusion[who].astype(np.float32),
            "n_answers": glitches.answers.codes.n_per_annotator[who],
        },
    )


def sized(size: str) -> Any:
    """Return a size that :func:`wisecrowd.simulate_glitches` knows; "9+5" is a pair."""
    return tuple(map(int, size.split("+"))) if "+" in size else size


def volunteers(glitches: Any) -> Int[Array, " V"]:
    """Return of each of :data:`HABITS` the volunteer with the most answers."""
    n_answers = glitches.answers.codes.n_per_annotator
    active = np.argsort(-n_answers, kind="stable")
    return np.array([active[glitches.kinds[active] == h][0] for h in HABITS])


def matrix_error(confusion: Any, glitches: Any) -> float:
    """Return the mean total variation between rows of true and estimated matrices.

    A row counts as often as its volunteer saw items of its class.
    """
    codes = glitches.answers.codes
    seen = np.zeros(confusion.shape[:2])
    truth = truth_codes(glitches.gold, glitches.classes)
    np.add.at(seen, (codes.annotator, truth[codes.item]), 1)
    error = confusion_error(confusion, glitches.confusion, seen)["total_variation"]
    weight = seen.sum(1)
    some = weight > 0
    return float(np.average(error.to_numpy()[some], weights=weight[some]))


def jobs(size: Size, seeds: Sequence[int], methods: Sequence[str]) -> list[Job]:
    """Return a job per seed, method and kind; the seeds are counted from 3."""
    return [
        Job(
            NAME,
            method,
            FIRST_SEED + seed,
            {"size": size, "kind": kind, **TUNED.get((family(method), kind), {})},
            fitted,
        )
        for seed in seeds
        for method in methods
        for kind in KINDS
    ]


# -- tables --------------------------------------------------------------------------


def largest(rows: Rows, name: str = NAME) -> pd.DataFrame:
    """Return the rows of the largest size that was run."""
    frame = rows.frame(name)
    if frame.empty:
        return frame
    order = ["small", "medium", "full"]
    known = [size for size in order if (frame["size"] == size).any()]
    return frame[frame["size"] == known[-1]] if known else frame


def per_class(rows: Rows, column: str, of_all: str, published: Array) -> Any:
    """Return a table with three lines per class: the paper's numbers and ours."""
    frame = largest(rows)
    if frame.empty:
        return None
    lines = []
    for c, name in enumerate([*CLASSES, "all"]):
        cells = {m: _cell(*published[c, i]) for i, m in enumerate(paper.METHODS)}
        lines.append({"class": name, "": "paper", **cells})
        for kind in KINDS:
            some = frame[frame["kind"] == kind]
            found = {}
            for method in paper.METHODS:
                runs = some[some["method"] == method]
                values = runs[of_all] if name == "all" else runs[column].str[c]
                found[method] = mean_and_deviation(values)
            lines.append({"class": "", "": kind, **found})
    return pd.DataFrame(lines)


def _cell(mean: float, deviation: float) -> str:
    return f"{short(mean)} ({short(deviation)})"


def table_4(rows: Rows) -> Any:
    """Accuracy per class."""
    return per_class(rows, "accuracy_of_class", "accuracy", paper.ACCURACY)


def table_5(rows: Rows) -> Any:
    """Mean likelihood per class."""
    return per_class(rows, "likelihood_of_class", "mean_likelihood", paper.LIKELIHOOD)


def summary(rows: Rows) -> Any:
    """All scores of all methods, over all classes."""
    frame = largest(rows)
    if frame.empty:
        return None
    columns = {
        "accuracy": ("accuracy", 4),
        "likelihood": ("mean_likelihood", 4),
        "log loss": ("log_loss", 4),
        "calibration error": ("calibration_error", 4),
        "training labels": ("labels_accuracy", 4),
        "their log loss": ("labels_log_loss", 4),
        "error of matrices": ("matrix_error", 4),
        "seconds": ("seconds", 0),
        "test seconds": ("test_seconds", 2),
        "MB": ("megabytes", 0),
    }
    lines = []
    for i, method in enumerate(paper.METHODS):
        said = {
            "accuracy": _cell(*paper.ACCURACY[-1, i]),
            "likelihood": _cell(*paper.LIKELIHOOD[-1, i]),
        }
        blank = dict.fromkeys(columns, "")
        lines.append({"method": method, "": "paper", **blank, **said})
        for kind in KINDS:
            runs = frame[(frame["method"] == method) & (frame["kind"] == kind)]
            found = {
                name: mean_and_deviation(runs[column], digits)
                for name, (column, digits) in columns.items()
            }
            lines.append({"method": "", "": kind, **found})
    return pd.DataFrame(lines)


# -- figures -------------------------------------------------------------------------


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
        best = some.loc[some["mean_likelihood"].idxmax()]
        found[str(best["method"])] = rows.arrays(best["arrays"])
    return found


def draw_predictions(rows: Rows, kind: str) -> Any:
    """Draw the predictive distributions of four items."""
    found = of_one_seed(rows, kind)
    if not found:
        return None
    truth = next(iter(found.values()))["truth"]
    proba = {name: arrays["proba"] for name, arrays in found.items()}
    return figures.predictions(proba, truth, CLASSES)


def draw_matrices(rows: Rows, kind: str) -> Any:
    """Draw the confusion matrices of five volunteers, true and estimated."""
    found = of_one_seed(rows, kind)
    if not found:
        return None
    first = next(iter(found.values()))
    tables = {"truth": first["true_confusion"]}
    tables |= {name: arrays["confusion"] for name, arrays in found.items()}
    return figures.matrices(tables, HABITS, first["n_answers"].tolist())


def draw_times(rows: Rows) -> Any:
    """Draw training and test times."""
    frame = largest(rows)
    return None if frame.empty else figures.times(frame, paper.METHODS, KINDS)


PARTS = (
    Part("ligo-summary", "All scores", summary),
    Part("ligo-accuracy", "Table 4: accuracy per class", table_4),
    Part("ligo-likelihood", "Table 5: mean likelihood per class", table_5),
    Part("ligo-times", "Figure 12: training and test times", draw_times),
    *(
        Part(f"ligo-{what}-{kind}", f"{title} ({kind})", partial(draw, kind=kind))
        for what, title, draw in (
            ("predictions", "Figure 13: predictions of four items", draw_predictions),
            ("matrices", "Figure 14: matrices of five volunteers", draw_matrices),
        )
        for kind in KINDS
    ),
)

EXPERIMENT = Experiment(
    name=NAME,
    title="LIGO: Gaussian processes and networks",
    about="",
    methods=paper.METHODS,
    jobs=jobs,
    parts=PARTS,
)
