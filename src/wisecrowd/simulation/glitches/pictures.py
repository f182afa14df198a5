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

ROWS, COLUMNS = 80, 64
ABOVE, BETWEEN = 28, 6  # pixels: room for the text, and between windows


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

    Above each item stand its number and its signal-to-noise ratio. Frequency runs
    upwards from 10 to 1900 Hz on a logarithmic scale.
    """
    items = planned(size, random_state).items
    rows = [np.flatnonzero(items.truth == c)[:n] for c in range(len(CLASSES))]
    wanted = np.sort(np.concatenate(rows))
    pictures = dict(zip(wanted, pictures_of(wanted, size, random_state), strict=True))
    high, wide = ROWS + ABOVE, len(WINDOWS) * (COLUMNS + BETWEEN) + BETWEEN
    sheet = np.full((len(CLASSES) * high, n * wide), np.nan, np.float32)
    figure, ax = pyplot().subplots(
        figsize=(sheet.shape[1] / 80 + 1.5, sheet.shape[0] / 130), layout="constrained"
    )
    for c, name in enumerate(CLASSES):
        ax.text(-8, (c + 0.6) * high, name, ha="right", va="center", fontsize=8)
        for k, item in enumerate(rows[c]):
            top, left = c * high + ABOVE, k * wide
            said = f"item {item}, SNR {items.snr[item]:.0f}"
            ax.text(left, top - 4, said, va="bottom", fontsize=6)
            for w, picture in enumerate(pictures[item]):
                start = left + w * (COLUMNS + BETWEEN)
                sheet[top : top + ROWS, start : start + COLUMNS] = picture[::-1]
    for k, seconds in enumerate(WINDOWS * n):
        at = k // len(WINDOWS) * wide + k % len(WINDOWS) * (COLUMNS + BETWEEN)
        ax.text(
            at + COLUMNS / 2, len(sheet) + 16, f"{seconds:g} s", ha="center", fontsize=7
        )
    ax.imshow(sheet, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    ax.set_axis_off()
    return figure
