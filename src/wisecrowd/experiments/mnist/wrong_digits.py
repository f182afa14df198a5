"""Figure: training digits whose label is wrong, with their probabilities."""

from typing import Any

import numpy as np

from wisecrowd.experiments.mnist.fits import NAMES
from wisecrowd.experiments.mnist.paper import SHOWN, by_method, of_tables
from wisecrowd.experiments.parts import COLOURS, axes, picture
from wisecrowd.experiments.runner import Rows

N_SHOWN = 6


def wrong_digits(rows: Rows) -> Any:
    """Draw the digits of two methods, with the probabilities of the classes below."""
    found = by_method(of_tables(rows), *SHOWN)
    if not found:
        return None
    figure, places = axes(
        2 * len(found), N_SHOWN, size=(1.5 * N_SHOWN, 2.9 * len(found)),
        height_ratios=[1.5, 1] * len(found),
    )  # fmt: skip
    for k, (method, some) in enumerate(found.items()):
        arrays = rows.arrays(some["arrays"].iloc[0])
        n_wrong = int(some["wrong_labels"].iloc[0])
        for n in range(N_SHOWN):
            above, below = places[2 * k, n], places[2 * k + 1, n]
            if n >= len(arrays["wrong"]):
                above.set_axis_off()
                below.set_axis_off()
                continue
            truth = int(arrays["wrong_class"][n])
            pixels = arrays["wrong"][n].reshape(28, 28)
            picture(above, pixels, f"class {truth}", cmap="Greys")
            colours = np.where(np.arange(10) == truth, COLOURS[1], COLOURS[0])
            below.bar(np.arange(10), arrays["wrong_proba"][n], color=colours)
            below.set(ylim=(0, 1), xticks=range(10))
            below.tick_params(labelsize=6)
            below.grid(axis="x", visible=False)
        places[2 * k, 0].set_axis_on()
        said = f"{NAMES[method]}\n{n_wrong} wrong"
        places[2 * k, 0].set_ylabel(said, fontsize=8)
        places[2 * k + 1, 0].set_ylabel("probability", fontsize=8)
    return figure
