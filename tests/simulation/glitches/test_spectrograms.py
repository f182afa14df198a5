"""Q-transforms against slow sums, and the four windows."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from wisecrowd.simulation.glitches import spectrograms as sg
from wisecrowd.simulation.glitches.strain import (
    SECONDS,
    bump,
    tone,
    white_noise,
)

ROWS = 7


def spectrum_of(wave):
    return np.fft.rfft(wave, axis=1).astype(np.complex64)


def test_energy_is_that_of_the_oracle():
    spectrum = white_noise(2, np.random.default_rng(0))
    found = sg.q_transform(spectrum, ROWS)
    for r, n in {0: 512, 5: 2048, 6: 2048}.items():  # the last has more than n bins
        centre = sg.frequencies(ROWS)[r]
        wanted = oracles.q_energy(spectrum[1], centre, sg.Q, SECONDS, n)
        wanted = wanted.reshape(sg.COLUMNS, -1).mean(1)
        assert_allclose(found[1, r], wanted, rtol=2e-3, atol=1e-4)


def test_noise_has_energy_one_at_all_frequencies():
    energy = sg.q_transform(white_noise(60, np.random.default_rng(1)), ROWS)
    assert_allclose(energy.mean((0, 2)), 1, atol=0.15)


def test_a_tone_is_bright_at_its_frequency_and_moment():
    wave = 20 * bump(0.3, 0.02) * tone(1080)
    energy = sg.q_transform(spectrum_of(wave), 40)[0]
    row, column = np.unravel_index(energy.argmax(), energy.shape)
    assert_allclose(sg.frequencies(40)[row], 1080, rtol=0.1)
    assert_allclose(column / sg.COLUMNS * SECONDS - SECONDS / 2, 0.3, atol=0.03)


def test_windows_are_the_middle_of_the_four_seconds():
    energy = np.zeros((1, 2, sg.COLUMNS), np.float32)
    energy[..., sg.COLUMNS // 2 + 40] = 1000  # .3125 s after the middle
    pictures = sg.windows(energy, 8)
    assert pictures.shape == (1, 4, 2, 8)
    assert_array_equal(pictures[0, :, 0].max(1), [0, 1, 1, 1])
    assert_array_equal(pictures[0, 1:, 0].argmax(1), [6, 5, 4])


def test_brightness_is_linear_up_to_its_limit():
    energy = np.full((1, 1, sg.COLUMNS), 2.55, np.float32)
    assert_allclose(sg.windows(energy, 16), 0.1, rtol=1e-6)
