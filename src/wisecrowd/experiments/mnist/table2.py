"""Table 2: accuracy and likelihood of new digits, per class and of all."""

from typing import Any

import numpy as np
import pandas as pd

from wisecrowd.experiments.mnist.fits import NAMES
from wisecrowd.experiments.mnist.paper import SCORES, WRONG, by_method, fits, of_tables
from wisecrowd.experiments.parts import mean_and_deviation, short
from wisecrowd.experiments.runner import Rows

COLUMNS = {
    "test_accuracy": "accuracy",
    "test_mean_likelihood": "likelihood",
    "test_log_loss": "log loss",
    "test_calibration_error": "calibration error",
    "wrong_labels": "wrong labels",
    "seconds": "training, s",
    "processor": "of the processor, s",
    "test_seconds": "test, s",
    "megabytes": "MB",
}
DIGITS = {  # behind the point
    "test_accuracy": 4, "test_mean_likelihood": 4, "test_log_loss": 3,
    "test_calibration_error": 3, "seconds": 0, "processor": 0, "test_seconds": 2,
    "megabytes": 0,
}  # fmt: skip
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
            "method": f"paper: {name}", "digits": "60,000", "M": 100,
            "accuracy": short(SCORES["test_accuracy"][name][-1]),
            "likelihood": short(SCORES["test_mean_likelihood"][name][-1]),
            "wrong labels": WRONG if name == "SVGPCR" else "",
        }
        for name in ("SVGP-gold", "SVGPCR")
    ]  # fmt: skip
    for _, some in table.groupby(["order", "n_inducing"]):
        one = some.iloc[0]
        told = {"wrong_labels": 1} if one["method"] != "svgp-gold" else {}
        lines.append(
            {
                "method": NAMES[one["method"]], "digits": f"{one['n_train']:,}",
                "M": one["n_inducing"], "seeds": len(some),
            }
            | {
                COLUMNS[score]: mean_and_deviation(some.get(score, []), digits)
                for score, digits in (DIGITS | told).items()
            }
        )  # fmt: skip
    order = ["method", "digits", "M", "seeds", *COLUMNS.values()]
    return pd.DataFrame(
        [[line.get(name, "") for name in order] for line in lines], columns=order
    )
