"""Pictures of simulated glitches, as volunteers see them; needs matplotlib."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._types import Array
from wisecrowd.metrics.reliability_figure import pyplot
from wisecrowd.simulation.glitches.dataset import planned
from wisecrowd.simulation.glitches.features import BATCH, batches, energy
from wisecrowd.simulation.glitches.items import CLASSES
from wisecrowd.simulation.glitches.spectrograms import WINDOWS, windows

ROWS, COLUMNS = 96, 64
INCHES = (0.95, 0.72)  # of one window


def pictures_of(
    rows: Int[Array, " B"], size: str | tuple[int, int], random_state: int
) -> Float[Array, "B W R P"]:
    """Return the four windows of some items, test items after the others.

    They are computed anew, with the noise that the features were computed from.
    """
    plan = planned(size, random_state)
    made = batches(plan.items, plan.for_noise)
    found = []
    for k in np.unique(rows // BATCH):
        items, rng = made[k]
        in_batch = rows[rows // BATCH == k] % BATCH
        found.append(windows(energy(items, rng, ROWS)[in_batch], COLUMNS))
    return np.concatenate(found)


def drawn(n: int, size: str | tuple[int, int] = "small", random_state: int = 0) -> Any:
    """Draw the first n items of each class: one row per class, four windows per item.

    Above each item stand its number and its signal-to-noise ratio.
    """
    items = planned(size, random_state).items
    rows = [np.flatnonzero(items.truth == c)[:n] for c in range(len(CLASSES))]
    wanted = np.sort(np.concatenate(rows))
    pictures = dict(zip(wanted, pictures_of(wanted, size, random_state), strict=True))
    shape = (len(CLASSES), n * len(WINDOWS))
    figure, axes = pyplot().subplots(
        *shape, figsize=(1.4 + INCHES[0] * shape[1], INCHES[1] * shape[0] + 0.5),
        squeeze=False, gridspec_kw={"wspace": 0.04, "hspace": 0.32},
    )  # fmt: skip
    for ax in axes.flat:
        ax.set_axis_off()
    for c, name in enumerate(CLASSES):
        axes[c, 0].text(
            -0.1, 0.5, name, ha="right", va="center", transform=axes[c, 0].transAxes,
            fontsize=8,
        )  # fmt: skip
        for k, item in enumerate(rows[c]):
            cells = axes[c, k * len(WINDOWS) : (k + 1) * len(WINDOWS)]
            cells[0].set_title(
                f"item {item}, SNR {items.snr[item]:.0f}", fontsize=6, loc="left", pad=2
            )
            for ax, picture in zip(cells, pictures[item], strict=True):
                ax.imshow(picture, origin="lower", aspect="auto", vmin=0, vmax=1)
    return figure
