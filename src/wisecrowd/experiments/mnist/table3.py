"""Table 3: how many labels of the training digits are right."""

import numpy as np
import pandas as pd

from wisecrowd.experiments.mnist.fits import NAMES
from wisecrowd.experiments.mnist.paper import SCORES, WRONG, by_method, of_tables
from wisecrowd.experiments.mnist.table2 import CLASSES
from wisecrowd.experiments.parts import mean_and_deviation, short
from wisecrowd.experiments.runner import Rows

MEASURES = {
    "accuracy": "label_accuracy",
    "likelihood": "label_mean_likelihood",
}


def labels(rows: Rows) -> pd.DataFrame | None:
    """Return accuracy and likelihood of the labels, a row per method and score."""
    found = by_method(of_tables(rows))
    found.pop("svgp-gold", None)  # it was told the classes
    if not found:
        return None
    lines = []
    for name, score in MEASURES.items():
        numbers = [short(value) for value in SCORES[score]["SVGPCR"]]
        lines.append([name, "paper", *numbers, WRONG, "", ""])
        for method, some in found.items():
            each = np.array(some[f"{score}_of"].tolist(), dtype=float).T
            cells = [short(row.mean()) for row in (*each, some[score].to_numpy())]
            rest = (
                mean_and_deviation(some["wrong_labels"], 1),
                mean_and_deviation(some["label_log_loss"]),
                mean_and_deviation(some["label_calibration_error"]),
            )
            lines.append([name, NAMES[method], *cells, *rest])
    columns = ["score", "method", *CLASSES, "wrong", "log loss", "calibration error"]
    return pd.DataFrame(lines, columns=columns)
