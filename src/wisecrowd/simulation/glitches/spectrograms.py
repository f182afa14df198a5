"""Q-transforms of whitened strain, cut into the four windows that volunteers see."""

import numpy as np
import scipy.fft
from jaxtyping import Complex, Float

from wisecrowd._types import Array
from wisecrowd.simulation.glitches.strain import RATE, SECONDS, Spectra

WINDOWS = (0.5, 1.0, 2.0, 4.0)
"""Seconds around the middle of the glitch."""
Q = 11.3
"""Centre frequency divided by bandwidth, the same at all frequencies."""
LOWEST, HIGHEST = 10.0, 1900.0
"""Hz; Gravity Spy shows 10 to 2048."""
COLUMNS = 512
"""Moments in four seconds."""
BRIGHTEST = 25.5
"""Energy (noise: 1) from which the pictures of Gravity Spy are saturated."""


def frequencies(n_rows: int) -> Float[Array, " R"]:
    """Return centre frequencies, equally spaced on a logarithmic scale."""
    return np.geomspace(LOWEST, HIGHEST, n_rows)


def q_transform(spectrum: Spectra, n_rows: int) -> Float[Array, "B R S"]:
    """Return the energy by frequency and time, 1 on average for noise.

    Row r is |IFFT[w_r X]|², where w_r is a bisquare window (1 − x²)² with
    x = (f − f_r) Q / (√11 f_r), as in the Omega scans of LIGO. Moments that are finer
    than the columns are averaged.
    """
    energy = np.empty((len(spectrum), n_rows, COLUMNS), np.float32)
    for r, centre in enumerate(frequencies(n_rows)):
        half = centre * np.sqrt(11) / Q * SECONDS  # in bins of 1 / SECONDS Hz
        middle = centre * SECONDS
        low = max(0, int(np.ceil(middle - half)))
        high = min(spectrum.shape[1], int(middle + half) + 1)
        x = (np.arange(low, high) - middle) / half
        window = ((1 - x**2) ** 2).astype(np.float32)
        # White noise has E|X|² = RATE × SECONDS per bin.
        window /= np.sqrt(RATE * SECONDS * (window**2).sum())
        n = min(max(COLUMNS, scipy.fft.next_fast_len(high - low)), 4 * COLUMNS)
        n = COLUMNS * -(-n // COLUMNS)
        tiles = scipy.fft.ifft(_folded(spectrum[:, low:high] * window, n), axis=1)
        power = (tiles.real**2 + tiles.imag**2) * np.float32(n) ** 2
        energy[:, r] = power.reshape(len(power), COLUMNS, -1).mean(2)
    return energy


def _folded(parts: Spectra, n: int) -> Complex[Array, "B n"]:
    """Return the parts in n bins, summed: the IFFT has the same values, but fewer."""
    times = -(-parts.shape[1] // n)
    full = np.zeros((len(parts), times * n), np.complex64)
    full[:, : parts.shape[1]] = parts
    return full.reshape(len(parts), times, n).sum(1)


def windows(energy: Float[Array, "B R S"], n_columns: int) -> Float[Array, "B W R P"]:
    """Return the four windows as pictures: brightness from 0 to 1, n_columns wide.

    Brightness is energy / 25.5, at most 1; a column shows the brightest of its moments,
    so that dots of 1/100 s stay visible in four seconds.
    """
    brightness = np.minimum(energy / BRIGHTEST, 1)
    cut = []
    for seconds in WINDOWS:
        n = int(COLUMNS * seconds / SECONDS)
        start = (COLUMNS - n) // 2
        part = brightness[:, :, start : start + n]
        cut.append(part.reshape(*part.shape[:2], n_columns, -1).max(3))
    return np.stack(cut, axis=1)
