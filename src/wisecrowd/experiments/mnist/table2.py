"""Table 2: accuracy and likelihood of new digits, per class and of all."""

from typing import Any

import numpy as np
import pandas as pd

from wisecrowd.experiments.mnist.fits import NAMES
from wisecrowd.experiments.mnist.paper import SCORES, WRONG, by_method, fits, of_tables
from wisecrowd.experiments.parts import mean_and_deviation, short
from wisecrowd.experiments.runner import Rows

CLASSES = [*map(str, range(10)), "all"]


def accuracy(rows: Rows) -> Any:
    """Return the accuracy of every class."""
    return per_class(rows, "test_accuracy")


def likelihood(rows: Rows) -> Any:
    """Return the mean probability of the true class, of every class."""
    return per_class(rows, "test_mean_likelihood")


def per_class(rows: Rows, score: str) -> pd.DataFrame | None:
    """Return the paper's scores and ours, one row per class."""
    found = by_method(of_tables(rows))
    if not found:
        return None
    table = pd.DataFrame({"digit": CLASSES})
    for name, numbers in SCORES[score].items():
        table[f"paper: {name}"] = [short(value) for value in numbers]
    for method, some in found.items():
        each = np.array(some[f"{score}_of"].tolist(), dtype=float).T
        cells = [mean_and_deviation(row) for row in (*each, some[score])]
        table[NAMES[method]] = cells
    return table


def summary(rows: Rows) -> pd.DataFrame | None:
    """Return all scores, one row per method and M."""
    table = fits(rows)
    if table.empty:
        return None
    lines = [
        {
            "method": f"paper: {name}", "M": 100, "seeds": "",
            "accuracy": short(SCORES["test_accuracy"][name][-1]),
            "likelihood": short(SCORES["test_mean_likelihood"][name][-1]),
            "wrong labels": WRONG if name == "SVGPCR" else "",
        }
        for name in ("SVGP-gold", "SVGPCR")
    ]  # fmt: skip
    keys = ["order", "n_inducing"]
    for _, some in table.groupby(keys, sort=True):
        method = some["method"].iloc[0]
        crowd = method != "svgp-gold"
        lines.append(
            {
                "method": NAMES[method],
                "M": some["n_inducing"].iloc[0],
                "seeds": len(some),
                "accuracy": mean_and_deviation(some["test_accuracy"]),
                "likelihood": mean_and_deviation(some["test_mean_likelihood"]),
                "log loss": mean_and_deviation(some["test_log_loss"], 3),
                "calibration error": mean_and_deviation(
                    some["test_calibration_error"], 3
                ),
                "wrong labels": (
                    mean_and_deviation(some["wrong_labels"], 1) if crowd else ""
                ),
                "training, s": mean_and_deviation(some["seconds"], 0),
                "test, s": mean_and_deviation(some["test_seconds"], 2),
                "MB": mean_and_deviation(some["megabytes"], 0),
            }
        )
    return pd.DataFrame(lines).fillna("")
