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
from sklearn.exceptions import ConvergenceWarning

import wisecrowd as wc
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.experiments.ligo.fits import FIRST_SEED, sized
from wisecrowd.experiments.parts import Size
from wisecrowd.experiments.runner import Job, Outcome
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
        about = {"n_items": n, "processor": cost.processor}
        fits.append({**about, **_scores(glitches.gold_test == CLASS, proba)})
    most = fits[-1] if fits else {"n_items": 0, "auc": math.nan}
    return Outcome({**most, "fits": fits}, cost)


def _fitted(method: str, seed: int, X: Array, answers: Annotations) -> tuple[Any, Cost]:
    """Return the model and its cost."""
    model = model_of(method, seed)
    with warnings.catch_warnings(), measured() as cost:
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, answers)
    return model, cost


def _scores(truth: Array, proba: Array) -> dict[str, float]:
    codes = truth.astype(int)
    measures = {
        "auc": auc,
        "log_loss": log_loss,
        "calibration_error": calibration_error,
    }
    return {name: measure(codes, proba) for name, measure in measures.items()}


def jobs(size: Size, seeds: Sequence[int], methods: Sequence[str]) -> list[Job]:
    """Return a job per seed and method; the seeds are counted from 3."""
    settings = {"size": size, "limit": LIMITS[size]}
    return [
        Job(NAME, method, FIRST_SEED + seed, settings, grown)
        for seed in seeds or range(N_SEEDS[size])
        for method in methods or METHODS
    ]
