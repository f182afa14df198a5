"""How the settings of the LIGO experiment were chosen: the same way for all methods.

Six settings per method and kind. A tenth of the items, with their answers, is kept from
the fit. The setting whose predictions for them have the smallest log loss is chosen,
where the label with the most votes counts as the class. No gold is used.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

import wisecrowd as wc
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.experiments.ligo.fits import FIRST_SEED, KINDS, largest, model_of, sized
from wisecrowd.experiments.parts import Experiment, Part, Size, short
from wisecrowd.experiments.runner import Job, NoRows, Outcome, Rows
from wisecrowd.metrics import accuracy, log_loss, truth_codes
from wisecrowd.results.limits import measured

NAME = "ligo-tuning"
METHODS = ("aggnet", "cl-vw", "cl-vwb", "cl-mw", "svgpcr-50")
VALIDATION = 0.1
"""Share of the items that is kept from the fit."""

Grid = Mapping[str, Sequence[Any]]
OF_NETWORKS: Grid = {"learning_rate": (3e-4, 1e-3, 3e-3), "dropout": (0.2, 0.5)}
OF_PROCESSES: dict[str, Grid] = {
    "published": {"learning_rate": (3e-3, 1e-2, 3e-2), "kernel": ("se", "matern32")},
    "ours": {"learning_rate": (1e-2, 3e-2), "kernel": ("se", "matern32", "deep")},
}


def settings_of(method: str, kind: str) -> list[dict[str, Any]]:
    """Return the settings that are tried.

    Examples
    --------
    >>> len(settings_of("cl-mw", "ours")), settings_of("svgpcr-50", "published")[0]
    (6, {'learning_rate': 0.003, 'kernel': 'se'})
    """
    grid = OF_PROCESSES[kind] if method.startswith("svgpcr") else OF_NETWORKS
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def most_votes(answers: Annotations) -> Int[Array, " N"]:
    """Return the class with the most votes per item, -1 where it is not the only one.

    Examples
    --------
    >>> most_votes(Annotations.from_matrix([[0, 0, 1], [0, 1, -1]])).tolist()
    [0, -1]
    """
    votes = answers.codes.votes()
    only = (votes == votes.max(1, keepdims=True)).sum(1) == 1
    return np.where(only, votes.argmax(1), -1)


def tried(method: str, seed: int, *, size: str, kind: str, **settings: Any) -> Outcome:
    """Fit one setting to nine tenths of the items, and score the rest by the votes.

    `by_gold` is the log loss by the true classes. It chooses nothing.
    """
    glitches: Any = wc.simulate_glitches(sized(size), random_state=seed)
    n = round((1 - VALIDATION) * len(glitches.X))
    items = glitches.answers.items
    model = model_of(method, seed, kind, settings)
    with measured() as cost:
        model.fit(glitches.X[:n], glitches.answers.subset(items=items[:n]))
    proba = model.predict_proba(glitches.X[n:])
    votes = most_votes(glitches.answers.subset(items=items[n:]))
    gold = truth_codes(glitches.gold.iloc[n:], glitches.classes)
    found = {
        "log_loss": log_loss(votes, proba),
        "accuracy": accuracy(votes, proba),
        "by_gold": log_loss(gold, proba),
    }
    return Outcome(found, cost)


def jobs(size: Size, seeds: Sequence[int], methods: Sequence[str]) -> list[Job]:
    """Return a job per setting; the seeds are counted from 3."""
    return [
        Job(NAME, m, FIRST_SEED + seed, {"size": size, "kind": kind, **some}, tried)
        for seed in seeds or (0,)
        for kind in reversed(KINDS)
        for m in methods or METHODS
        for some in settings_of(m, kind)
    ]


def best(rows: Rows) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the settings with the smallest mean log loss, by method and kind."""
    frame = largest(rows, NAME)
    found = {}
    for method, kind in product(METHODS, KINDS):
        some = frame[(frame["method"] == method) & (frame["kind"] == kind)]
        if some.empty:
            continue
        candidates = settings_of(method, kind)
        losses = [_mean(some, settings) for settings in candidates]
        if not np.isnan(losses).all():
            found[method, kind] = candidates[int(np.nanargmin(losses))]
    return found


def _mean(
    frame: pd.DataFrame, settings: Mapping[str, Any], of: str = "log_loss"
) -> Any:
    chosen = [frame[name] == value for name, value in settings.items()]
    return frame[np.logical_and.reduce(chosen)][of].mean()


def table(rows: Rows) -> Any:
    """Return a line per setting; the chosen ones are marked."""
    frame, chosen = largest(rows, NAME), best(rows)
    lines = []
    for (method, kind), winner in chosen.items():
        some = frame[(frame["method"] == method) & (frame["kind"] == kind)]
        for settings in settings_of(method, kind):
            measures = ("log_loss", "accuracy", "by_gold", "seconds")
            loss, share, gold, seconds = (_mean(some, settings, of) for of in measures)
            if np.isnan(loss):
                continue
            said = ", ".join(
                f"{k}={v:g}" if k != "kernel" else f"{k}={v}"
                for k, v in settings.items()
            )
            line = {
                "method": method, "kind": kind,
                "settings": f"**{said}**" if settings == winner else said,
                "log loss by votes": short(loss), "accuracy by votes": short(share),
                "log loss by gold": short(gold), "seconds": f"{seconds:.0f}",
            }  # fmt: skip
            lines.append(line)
    if not lines:
        raise NoRows
    return pd.DataFrame(lines)


EXPERIMENT = Experiment(
    name=NAME,
    title="LIGO: how the settings were chosen",
    methods=METHODS,
    jobs=jobs,
    parts=(Part("ligo-tuning", "The settings that were tried", table),),
)
