"""Figure: thirty learned inducing points, arranged by their class."""

from typing import Any

import numpy as np

from wisecrowd.experiments.mnist.fits import NAMES
from wisecrowd.experiments.mnist.paper import SHOWN, by_method, of_tables
from wisecrowd.experiments.parts import axes, picture
from wisecrowd.experiments.runner import Rows

EACH = 3


def inducing_points(rows: Rows) -> Any:
    """Draw three inducing points of every class, for two methods."""
    found = by_method(of_tables(rows), *SHOWN)
    if not found:
        return None
    figure, places = axes(
        EACH * len(found), 10, size=(8, (0.85 * EACH + 0.3) * len(found))
    )
    for k, (method, some) in enumerate(found.items()):
        arrays = rows.arrays(some["arrays"].iloc[0])
        block = places[EACH * k : EACH * (k + 1)]
        for digit in range(10):
            points = arrays["inducing"][arrays["inducing_class"] == digit]
            for n, ax in enumerate(block[:, digit]):
                ax.set(xticks=[], yticks=[])
                if n >= len(points):
                    ax.set_axis_off()
                    continue
                pixels = np.clip(points[n], 0, 1).reshape(28, 28)
                title = str(digit) if n == 0 else ""
                picture(ax, pixels, title, cmap="Greys", vmin=0, vmax=1)
        block[0, 0].set_ylabel(NAMES[method], fontsize=8)
    return figure
