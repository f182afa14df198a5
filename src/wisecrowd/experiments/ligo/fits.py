"""The paper's section 4.3: fifteen classes of glitches, Gaussian processes or networks.

The data are simulated (:func:`wisecrowd.simulate_glitches`): the paper's are not
public. Every method is fitted in two kinds, "published", which is ``as_published()``,
and "ours", which is the method with our defaults. Both have the settings that
:mod:`~wisecrowd.experiments.ligo_tuning` found, where it was run (:data:`TUNED`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

import wisecrowd as wc
from wisecrowd._types import Array
from wisecrowd.experiments.parts import SIZES, Size
from wisecrowd.experiments.runner import Job, NoRows, Outcome, Rows
from wisecrowd.experiments.scoring import fit, scored
from wisecrowd.metrics import accuracy, confusion_error, log_loss, truth_codes
from wisecrowd.simulation.glitches.dataset import planned

NAME = "ligo"
METHODS = (
    "aggnet", "cl-vw", "cl-vwb", "cl-mw", "svgpcr-10", "svgpcr-50", "svgpcr-100",
)  # fmt: skip
"""In the order of the paper's columns."""
KINDS = ("published", "ours")
FIRST_SEED = 3
"""The simulator was tuned on the seeds 0, 1 and 2."""
HABITS = (
    "ripple as violin", "conservative", "violin as ripple", "usual", "blip as koi fish",
)  # fmt: skip
"""Of the five volunteers whose matrices are drawn, as in the paper's figure."""

N_SEEDS = {"small": 1, "medium": 2, "full": 3}
FEW_PASSES = {("svgpcr", "published"): 100}
"""At the size "small", where the paper's inference would take 3,000 steps."""

TUNED: dict[tuple[str, str], dict[str, Any]] = {
    ("aggnet", "published"): {"learning_rate": 3e-4, "dropout": 0.2},
    ("aggnet", "ours"): {"learning_rate": 1e-3, "dropout": 0.2},
    ("cl-vw", "published"): {"learning_rate": 3e-4, "dropout": 0.2},
    ("cl-vw", "ours"): {"learning_rate": 3e-3, "dropout": 0.5},
    ("cl-vwb", "published"): {"learning_rate": 3e-4, "dropout": 0.2},
    ("cl-vwb", "ours"): {"learning_rate": 1e-3, "dropout": 0.2},
    ("cl-mw", "published"): {"learning_rate": 3e-4, "dropout": 0.2},
    ("cl-mw", "ours"): {"learning_rate": 1e-3, "dropout": 0.5},
    ("svgpcr", "published"): {"learning_rate": 3e-3, "kernel": "se"},
    ("svgpcr", "ours"): {"learning_rate": 3e-2, "kernel": "deep"},
}
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
    """Return the estimator of a column; the setting `dropout` is its network's.

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
    cost = fit(model, glitches)
    proba = model.predict_proba(glitches.X_test)
    truth = truth_codes(glitches.gold_test, glitches.classes)
    usual = usual_test_items(size, seed)
    who = volunteers(glitches)
    return Outcome(
        scores={
            **scored(model, glitches),
            "usual_accuracy": accuracy(truth[usual], proba[usual]),
            "usual_log_loss": log_loss(truth[usual], proba[usual]),
            "matrix_error": matrix_error(model.confusion_, glitches),
        },
        cost=cost,
        arrays={
            "proba": proba.astype(np.float32),
            "truth": truth,
            "confusion": model.confusion_[who].astype(np.float32),
            "true_confusion": glitches.confusion[who].astype(np.float32),
            "n_answers": glitches.answers.codes.n_per_annotator[who],
        },
    )


def sized(size: str) -> Any:
    """Return a size that :func:`wisecrowd.simulate_glitches` knows; "9+5" is a pair."""
    return tuple(map(int, size.split("+"))) if "+" in size else size


def usual_test_items(size: str, seed: int) -> Bool[Array, " T"]:
    """Return which test items resemble no other class than their own."""
    plan = planned(sized(size), seed)
    return plan.items.likeness[plan.n_items :] == 0


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
        Job(NAME, method, FIRST_SEED + seed, settings_of(method, kind, size), fitted)
        for seed in seeds or range(N_SEEDS[size])
        for method in methods or METHODS
        for kind in KINDS
    ]


def settings_of(method: str, kind: str, size: str) -> dict[str, Any]:
    """Return the settings of a job: size, kind, those tuned, and passes if few."""
    key = (family(method), kind)
    passes = FEW_PASSES.get(key) if size == "small" else None
    few = {} if passes is None else {"max_epochs": passes}
    return {"size": size, "kind": kind, **TUNED.get(key, {}), **few}


def largest(rows: Rows, name: str = NAME) -> pd.DataFrame:
    """Return the rows of the largest size that was run."""
    frame = rows.frame(name)
    if frame.empty:
        raise NoRows
    known = [size for size in SIZES if (frame["size"] == size).any()]
    return frame[frame["size"] == known[-1]] if known else frame
