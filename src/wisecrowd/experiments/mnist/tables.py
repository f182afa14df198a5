"""Tables 2 and 3 of the paper: accuracy and likelihood of new digits, and of labels."""

from typing import Any

import numpy as np
import pandas as pd

from wisecrowd.experiments.mnist.fits import NAMES
from wisecrowd.experiments.parts import cells, mean_and_deviation, short
from wisecrowd.experiments.runner import NoRows, Rows


def _numbers(text: str) -> list[float]:
    return [int(number) / 1e4 for number in text.split()]


# What the paper reports (M = 100), in units of .0001: of the ten digits, then of all.
SCORES = {
    "test_accuracy": {
        "SVGP-gold": _numbers("9867 9885 9525 9703 9715 9630 9749 9591 9620 9346 9665"),
        "SVGPCR": _numbers("9898 9877 9535 9733 9735 9540 9749 9543 9620 9316 9657"),
    },
    "test_mean_likelihood": {
        "SVGP-gold": _numbers("9777 9853 9368 9475 9548 9397 9604 9418 9458 9217 9515"),
        "SVGPCR": _numbers("9781 9845 9345 9555 9570 9352 9585 9432 9445 9186 9514"),
    },
    "label_accuracy": {
        "SVGPCR": _numbers("9998 9997 10000 9995 9995 9993 10000 9997 9997 9995 9997"),
    },
    "label_mean_likelihood": {
        "SVGPCR": _numbers("9997 9996 9997 9992 9994 9993 9999 9995 9996 9991 9995"),
    },
}
WRONG = 20  # training labels of the 60,000
LARGEST_VARIANCE = 0.0016  # of an entry of a confusion matrix

ORDER = list(NAMES)
SHOWN = ("published", "robust-max")  # in figures: the paper's, and ours
CLASSES = [*map(str, range(10)), "all"]
COLUMNS = {  # of the table of all scores, and their digits behind the point
    "accuracy": ("test_accuracy", 4),
    "likelihood": ("test_mean_likelihood", 4),
    "log loss": ("test_log_loss", 3),
    "calibration error": ("test_calibration_error", 3),
    "wrong labels": ("wrong_labels", 1),
    "training, s": ("seconds", 0),
    "of the processor, s": ("processor", 0),
    "test, s": ("test_seconds", 2),
    "MB": ("megabytes", 0),
}


# -- choices of rows -------------------------------------------------------------------


def fits(rows: Rows, *experiments: str) -> pd.DataFrame:
    """Return the rows of the largest size that was run, by default of the tables."""
    table = pd.concat([rows.frame(name) for name in experiments or ("mnist",)])
    if table.empty:
        raise NoRows
    table = table[table["n_train"] == table["n_train"].max()]
    order = table["method"].map(ORDER.index)
    return table.assign(order=order).sort_values(["order", "seed"], ignore_index=True)


def of_tables(rows: Rows) -> pd.DataFrame:
    """Return the fits with the M of the tables: that which most methods have."""
    table = fits(rows)
    n_methods = table.groupby("n_inducing")["method"].nunique()
    return table[table["n_inducing"] == n_methods.idxmax()]


def by_method(table: pd.DataFrame, *names: str) -> dict[str, pd.DataFrame]:
    """Return the rows of every method, or of these, in the order of the tables."""
    chosen = table[table["method"].isin(names or ORDER)]
    if chosen.empty:
        raise NoRows
    return {str(name): some for name, some in chosen.groupby("method", sort=False)}


# -- the tables ------------------------------------------------------------------------


def accuracy(rows: Rows) -> pd.DataFrame:
    """Return the accuracy of every class."""
    return per_class(rows, "test_accuracy")


def likelihood(rows: Rows) -> pd.DataFrame:
    """Return the mean probability of the true class, of every class."""
    return per_class(rows, "test_mean_likelihood")


def per_class(rows: Rows, score: str) -> pd.DataFrame:
    """Return the paper's scores and ours, one row per class."""
    found = by_method(of_tables(rows))
    table = pd.DataFrame({"digit": CLASSES})
    for name, numbers in SCORES[score].items():
        table[f"paper: {name}"] = [short(value) for value in numbers]
    for method, some in found.items():
        each = _of_classes(some, score)
        table[NAMES[method]] = [mean_and_deviation(values) for values in each]
    return table


def _of_classes(some: pd.DataFrame, score: str) -> list[Any]:
    """Return the scores of the runs for every class, then for all digits."""
    return [*np.array(some[f"{score}_of"].tolist(), dtype=float).T, some[score]]


def summary(rows: Rows) -> pd.DataFrame:
    """Return all scores, one row per method and M."""
    table = fits(rows)
    lines: list[dict[str, Any]] = [
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
        lines.append(
            {
                "method": NAMES[one["method"]], "digits": f"{one['n_train']:,}",
                "M": one["n_inducing"], "seeds": len(some), **cells(some, COLUMNS),
            }
        )  # fmt: skip
    columns = ["method", "digits", "M", "seeds", *COLUMNS]
    return pd.DataFrame(lines, columns=columns, dtype=object).fillna("")


def labels(rows: Rows) -> pd.DataFrame:
    """Return accuracy and likelihood of the labels, a row per method and score."""
    found = by_method(of_tables(rows), *ORDER[1:])  # SVGP was told the classes
    lines = []
    for name in ("accuracy", "likelihood"):
        score = f"label_{'mean_' * (name == 'likelihood')}{name}"
        numbers = [short(value) for value in SCORES[score]["SVGPCR"]]
        lines.append([name, "paper", *numbers, WRONG, "", ""])
        for method, some in found.items():
            means = [short(values.mean()) for values in _of_classes(some, score)]
            rest = (
                mean_and_deviation(some["wrong_labels"], 1),
                mean_and_deviation(some["label_log_loss"]),
                mean_and_deviation(some["label_calibration_error"]),
            )
            lines.append([name, NAMES[method], *means, *rest])
    columns = ["score", "method", *CLASSES, "wrong", "log loss", "calibration error"]
    return pd.DataFrame(lines, columns=columns)
