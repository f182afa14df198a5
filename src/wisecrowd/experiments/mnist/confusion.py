"""Figure: true and estimated confusion matrices of the five annotators."""

from typing import Any

from wisecrowd.experiments.mnist.fits import NAMES
from wisecrowd.experiments.mnist.paper import (
    LARGEST_VARIANCE,
    SHOWN,
    by_method,
    of_tables,
)
from wisecrowd.experiments.parts import axes, picture, short
from wisecrowd.experiments.runner import Rows

WHO = ("95 % right", "90 % right", "80 % right", "spammer", "adversary")


def confusion(rows: Rows) -> Any:
    """Draw a row of matrices for the truth, and one for every method."""
    found = by_method(of_tables(rows), *SHOWN)
    if not found:
        return None
    first = {method: some.iloc[0] for method, some in found.items()}
    arrays = {method: rows.arrays(row["arrays"]) for method, row in first.items()}
    truth = next(iter(arrays.values()))["true_confusion"]
    lines = [("true", truth)]
    for method, row in first.items():
        said = f"{NAMES[method]}\nlargest variance {short(row['largest_variance'])}"
        lines.append((said, arrays[method]["confusion"]))
    figure, places = axes(len(lines), len(WHO), size=(9, 1.65 * len(lines) + 0.4))
    for line, (said, matrices) in zip(places, lines, strict=True):
        for ax, matrix in zip(line, matrices, strict=True):
            picture(ax, matrix, vmin=0, vmax=1)
        line[0].set_ylabel(said, fontsize=8)
    for ax, who in zip(places[0], WHO, strict=True):
        ax.set_title(who)
    places[-1, 0].set_xlabel("answer", fontsize=8)
    shade = places[0, 0].images[0]
    figure.colorbar(shade, ax=places, shrink=0.6, label="probability of the answer")
    paper = short(LARGEST_VARIANCE)
    figure.suptitle(
        f"Row: true digit, column: answer (paper: largest variance {paper})"
    )
    return figure
