"""What the paper reports of MNIST (Tables 2 and 3, M = 100), and choices of rows."""

import pandas as pd

from wisecrowd.experiments.mnist.fits import NAMES
from wisecrowd.experiments.runner import Rows

SCORES = {
    "test_accuracy": {
        "SVGP-gold": (
            0.9867, 0.9885, 0.9525, 0.9703, 0.9715, 0.9630, 0.9749, 0.9591, 0.9620,
            0.9346, 0.9665,
        ),
        "SVGPCR": (
            0.9898, 0.9877, 0.9535, 0.9733, 0.9735, 0.9540, 0.9749, 0.9543, 0.9620,
            0.9316, 0.9657,
        ),
    },
    "test_mean_likelihood": {
        "SVGP-gold": (
            0.9777, 0.9853, 0.9368, 0.9475, 0.9548, 0.9397, 0.9604, 0.9418, 0.9458,
            0.9217, 0.9515,
        ),
        "SVGPCR": (
            0.9781, 0.9845, 0.9345, 0.9555, 0.9570, 0.9352, 0.9585, 0.9432, 0.9445,
            0.9186, 0.9514,
        ),
    },
    "label_accuracy": {
        "SVGPCR": (
            0.9998, 0.9997, 1.0, 0.9995, 0.9995, 0.9993, 1.0, 0.9997, 0.9997, 0.9995,
            0.9997,
        ),
    },
    "label_mean_likelihood": {
        "SVGPCR": (
            0.9997, 0.9996, 0.9997, 0.9992, 0.9994, 0.9993, 0.9999, 0.9995, 0.9996,
            0.9991, 0.9995,
        ),
    },
}  # fmt: skip
"""Of the ten digits, then of all: first the scores of new digits, then of labels."""

WRONG = 20  # training labels of the 60,000
LARGEST_VARIANCE = 0.0016  # of an entry of a confusion matrix

ORDER = list(NAMES)
SHOWN = ("published", "robust-max")  # in figures: the paper's, and ours


def fits(rows: Rows, experiment: str = "mnist") -> pd.DataFrame:
    """Return the rows of the largest size that was run; empty if there are none."""
    table = rows.frame(experiment)
    if table.empty:
        return table
    table = table[table["n_train"] == table["n_train"].max()]
    order = table["method"].map(ORDER.index)
    return table.assign(order=order).sort_values(["order", "seed"], ignore_index=True)


def of_tables(rows: Rows) -> pd.DataFrame:
    """Return the fits with the M of the tables: that which most methods have."""
    table = fits(rows)
    if table.empty:
        return table
    n_methods = table.groupby("n_inducing")["method"].nunique()
    return table[table["n_inducing"] == n_methods.idxmax()]


def by_method(table: pd.DataFrame, *names: str) -> dict[str, pd.DataFrame]:
    """Return the rows of every method, or of these, in the order of the tables."""
    if table.empty:
        return {}
    groups = {str(name): some for name, some in table.groupby("method", sort=False)}
    return {n: some for n, some in groups.items() if not names or n in names}
