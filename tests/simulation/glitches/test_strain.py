"""Waveforms sound where the paper's section 3 says, in noise of the detector."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from wisecrowd.simulation.glitches import strain as st

N = 12
BANDS = {  # Hz: where at least 90 % of the energy is
    "1080 Line": [(1040, 1120)],
    "1400 Ripple": [(1300, 1500)],
    "Blip": [(25, 900)],
    "Koi Fish": [(10, 900)],
    "Low Frequency Burst": [(7, 33)],
    "Low Frequency Lines": [(9, 33)],
    "Power Line 60 Hz": [(55, 65), (115, 125), (175, 185)],
    "Repeating Blips": [(25, 900)],
    "Scattered Light": [(5, 32)],
    "Scratchy": [(30, 300)],
    "Violin Mode Harmonic": [(460, 545), (950, 1060), (1440, 1575)],
    "Whistle": [(140, 1900)],
}


def share_of_energy(wave, bands):
    power = np.abs(np.fft.rfft(wave, axis=1)) ** 2
    f = st.FREQUENCY
    inside = [(f >= low) & (f <= high) for low, high in bands]
    return power[:, np.any(inside, axis=0)].sum(1) / power.sum(1)


@pytest.mark.parametrize("name", st.WAVEFORMS)
def test_a_waveform_is_finite_and_never_silent(name):
    wave = st.WAVEFORMS[name](N, np.random.default_rng(0))
    assert wave.shape == (N, st.RATE * st.SECONDS)
    assert np.isfinite(wave).all()
    assert (np.abs(wave).max(1) > 0).all()


@pytest.mark.parametrize("name", BANDS)
def test_the_energy_of_a_waveform_is_in_its_bands(name):
    wave = st.WAVEFORMS[name](N, np.random.default_rng(1))
    assert share_of_energy(wave, BANDS[name]).min() > 0.9


def test_a_violin_mode_and_a_power_line_have_harmonics():
    rng = np.random.default_rng(2)
    for wave, bands in (
        (st.violin_mode(N, rng), BANDS["Violin Mode Harmonic"]),
        (st.power_line(N, rng), BANDS["Power Line 60 Hz"]),
    ):
        for band in bands:
            assert np.median(share_of_energy(wave, [band])) > 0.01


def test_a_koi_fish_has_fins_at_30_hz_and_a_tail_at_500_hz_that_a_blip_has_not():
    rng = np.random.default_rng(3)
    fish, blip = st.koi_fish(N, rng), st.blip(N, rng)
    fins, tail = [(26, 34)], [(450, 550)]
    long_after = np.abs(st.TIME[0]) > 0.06
    for wave, has_fins in ((fish, True), (blip, False)):
        late = (wave[:, long_after] ** 2).sum(1) / (wave**2).sum(1)
        assert ((late > 0.02) == has_fins).all()
    assert np.median(share_of_energy(fish, fins)) > 0.1
    assert np.median(share_of_energy(fish, tail)) > 0.01


def test_a_blip_is_short_and_symmetric():
    wave = st.teardrop(
        np.zeros((1, 1), np.float32), np.ones((1, 1)), np.random.default_rng(4)
    )
    assert (wave[:, np.abs(st.TIME[0]) > 0.05] ** 2).sum() < 1e-3 * (wave**2).sum()
    assert_allclose(wave[0, 1:], wave[0, :0:-1], atol=1e-4)


def test_repeating_blips_come_every_eighth_quarter_or_half_second():
    wave = st.repeating_blips(N, np.random.default_rng(5))
    again = np.fft.irfft(np.abs(np.fft.rfft(wave, axis=1)) ** 2, axis=1)
    again /= again[:, :1]
    periods = [st.RATE // 8, st.RATE // 4, st.RATE // 2]
    assert (again[:, periods].max(1) > 0.2).all()
    once = st.blip(N, np.random.default_rng(5))
    alone = np.fft.irfft(np.abs(np.fft.rfft(once, axis=1)) ** 2, axis=1)
    assert (np.abs(alone[:, periods]).max(1) < 1e-3 * alone[:, 0]).all()


def test_the_loudness_of_low_frequency_lines_lasts_and_that_of_a_burst_does_not():
    rng = np.random.default_rng(6)
    late = np.abs(st.TIME[0]) > 1.5
    lines, burst = st.low_frequency_lines(N, rng), st.low_frequency_burst(N, rng)
    assert ((lines[:, late] ** 2).sum(1) > 0.1 * (lines**2).sum(1)).all()
    assert ((burst[:, late] ** 2).sum(1) < 0.01 * (burst**2).sum(1)).all()


def test_noise_has_the_spectrum_of_the_detector():
    n = 200
    nothing = np.zeros((n, st.RATE * st.SECONDS), np.float32)
    found = st.strain(nothing, np.random.default_rng(7))
    # One-sided density of strain: 2 |X|² / (rate × samples).
    density = 2 * np.abs(np.fft.rfft(found, axis=1)) ** 2 / (st.RATE * found.shape[1])
    for low, high in ((100, 200), (500, 800), (1500, 1900)):
        f = st.FREQUENCY
        band = (f >= low) & (f < high)
        wanted = (st.amplitude_spectrum(st.FREQUENCY[band]) ** 2).mean()
        assert_allclose(density[:, band].mean(), wanted, rtol=0.03)


def test_ground_motion_varies_at_low_frequencies_only():
    level = st.noise_level(300, np.random.default_rng(8))
    at = np.searchsorted(st.FREQUENCY, [15, 400])
    low, high = np.log(level[:, at]).std(0)
    assert low > 0.1
    assert high < 0.01


def test_whitening_gives_the_glitch_back():
    glitch = 1e4 * st.blip(2, np.random.default_rng(9))
    found = np.fft.irfft(st.whitened(st.strain(glitch, np.random.default_rng(10))))
    assert_allclose(found, glitch, atol=1e-3 * np.abs(glitch).max())
