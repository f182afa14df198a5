"""Features of glitches: four spectrograms, pooled and projected; nothing is trained.

A network of Gravity Spy made the paper's 256 features. Ours are principal components of
the pooled pictures of 480 other glitches, drawn with a seed of their own. So they are
the same for all sizes and seeds, and no class is used to find them.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from os import cpu_count
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd._types import Array
from wisecrowd.simulation.glitches import spectrograms
from wisecrowd.simulation.glitches.items import CLASSES, Items, draw_items, waves
from wisecrowd.simulation.glitches.strain import Rng, strain, whitened

N_FEATURES = 256
ROWS, COLUMNS = 40, 16
"""Frequencies and moments of a pooled picture."""
BATCH = 128
"""Glitches at a time, each batch with random numbers of its own: 100 MB per thread."""
PER_CLASS = 32
"""Glitches of each class from which the projection is computed."""
PROJECTION_SEED = 20190624


class Projection(NamedTuple):
    """x = (pixels − mean) @ weights."""

    mean: Float[Array, " P"]
    weights: Float[Array, "P D"]


def energy(items: Items, rng: Rng, n_rows: int = ROWS) -> Float[Array, "B R S"]:
    """Return the Q-transform of each glitch in noise."""
    spectrum = whitened(strain(waves(items, rng), rng))
    return spectrograms.q_transform(spectrum, n_rows)


def pixels(items: Items, rng: Rng) -> Float[Array, "B P"]:
    """Return the pixels of the four pooled pictures of each glitch."""
    pictures = spectrograms.windows(energy(items, rng), COLUMNS)
    return pictures.reshape(len(pictures), -1)


@cache
def projection() -> Projection:
    """Return the first principal components v_d, divided by the root of their spread.

    Weights v_d / √σ_d: halfway between components in pixels, among which the lowest
    frequencies count most, and components of equal spread, which are mostly noise.
    """
    rng = np.random.default_rng(PROJECTION_SEED)
    truth = np.repeat(np.arange(len(CLASSES)), PER_CLASS)
    found = pixels(draw_items(truth, rng), rng).astype(np.float64)
    mean = found.mean(0)
    _, size, components = np.linalg.svd(found - mean, full_matrices=False)
    components, size = components[:N_FEATURES], size[:N_FEATURES]
    sign = np.sign(components[np.arange(N_FEATURES), np.abs(components).argmax(1)])
    weights = components.T * sign / np.sqrt(size / np.sqrt(len(truth)))
    return Projection(mean.astype(np.float32), weights.astype(np.float32))


def features(items: Items, rng: Rng) -> Iterator[Float[Array, "B D"]]:
    """Yield the features of the items, one batch after the other, on all cores."""
    used = projection()

    def of_batch(batch: tuple[Items, Rng]) -> Float[Array, "B D"]:
        return (pixels(*batch) - used.mean) @ used.weights

    with ThreadPoolExecutor(cpu_count()) as pool:
        waiting = [pool.submit(of_batch, batch) for batch in batches(items, rng)]
        try:
            while waiting:
                yield waiting.pop(0).result()
        finally:  # an interrupted run does not wait for the rest
            pool.shutdown(cancel_futures=True)


def batches(items: Items, rng: Rng) -> list[tuple[Items, Rng]]:
    """Return the items in batches, each with its own random numbers."""
    starts = range(0, len(items.truth), BATCH)
    parts = [items.part(slice(start, start + BATCH)) for start in starts]
    return list(zip(parts, rng.spawn(len(parts)), strict=True))
