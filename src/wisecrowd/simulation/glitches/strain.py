"""Strain of a gravitational-wave detector: coloured noise, and fifteen kinds of glitch.

Strain is noise with the amplitude spectrum of the detector plus a glitch. Analysts
divide by the usual spectrum (they *whiten*), so every waveform below is given in
whitened units: noise has deviation 1 per sample and SNR² = Σ g(t)². :func:`strain`
multiplies it by the spectrum, and :func:`whitened` divides by it again. The spectrum
of a moment differs from the usual one (:func:`noise_level`); whitening leaves that.

A waveform is a function of the number of glitches and of a generator of random numbers;
each row is one glitch of four seconds, with its centre at t = 0. Shapes and frequencies
are those of the paper's section 3.
"""

from collections.abc import Callable

import numpy as np
import scipy.fft
from jaxtyping import Complex, Float
from scipy.special import expit

from wisecrowd._types import Array
from wisecrowd.simulation.annotators import Number

RATE = 4096
"""Samples per second: ripples at 1400 Hz and whistles up to 2000 Hz need them."""
SECONDS = 4
TIME = (np.arange(RATE * SECONDS, dtype=np.float32) / RATE - SECONDS / 2)[None]
FREQUENCY = np.fft.rfftfreq(RATE * SECONDS, 1 / RATE)

Rng = np.random.Generator
Waves = Float[Array, "B T"]
Spectra = Complex[Array, "B F"]


# -- the detector ------------------------------------------------------------------


def amplitude_spectrum(frequency: Float[Array, " F"]) -> Float[Array, " F"]:
    """Usual noise, in strain / √Hz: ground motion, suspensions, mirrors, photons.

    S(f) = 10⁻⁴⁶ [(22/f)¹⁴ + (60/f)⁴ + 1/4 + (f/400)²], the shape of Advanced LIGO's.
    Below 8 Hz, which no picture shows, it is constant.
    """
    f = np.maximum(frequency, 8.0)
    power = (22 / f) ** 14 + (60 / f) ** 4 + 0.25 + (f / 400) ** 2
    return 1e-23 * np.sqrt(power)


def noise_level(n: int, rng: Rng) -> Float[Array, "B F"]:
    """Return the spectrum of a moment divided by the usual one.

    exp(a / (1 + (f/40)²)): ground motion, which varies from day to day, is felt below
    40 Hz; log level a ~ N(0, .15²).
    """
    a = 0.15 * rng.standard_normal((n, 1), np.float32)
    shape = 1 / (1 + (FREQUENCY[None] / 40) ** 2)
    return np.exp(a * shape.astype(np.float32))


def white_noise(n: int, rng: Rng) -> Spectra:
    """Return the Fourier transform of noise with deviation 1 per sample."""
    scale = np.float32(np.sqrt(RATE * SECONDS / 2))
    pairs = rng.standard_normal((n, len(FREQUENCY), 2), np.float32)
    return scale * pairs.view(np.complex64)[..., 0]


def strain(glitch: Waves, rng: Rng) -> Waves:
    """Return noise of the detector plus glitches given in whitened units."""
    noise = white_noise(len(glitch), rng) * noise_level(len(glitch), rng)
    spectrum = noise + scipy.fft.rfft(glitch, axis=1)
    return scipy.fft.irfft(spectrum * _colour(), axis=1)


def whitened(strain: Waves) -> Spectra:
    """Return the Fourier transform of strain divided by the usual spectrum."""
    return (scipy.fft.rfft(strain, axis=1) / _colour()).astype(np.complex64)


def _colour() -> Float[Array, "1 F"]:
    """√(S(f) × rate / 2): from deviation 1 per sample to strain."""
    return np.sqrt(RATE / 2) * amplitude_spectrum(FREQUENCY)[None]


# -- parts of waveforms --------------------------------------------------------------


def uniform(n: int, low: Number, high: Number, rng: Rng) -> Float[Array, "B 1"]:
    """Return one number per glitch."""
    return rng.uniform(low, high, (n, 1)).astype(np.float32)


def bump(at: Array | Number, width: Array | Number) -> Waves:
    """exp(−(t − at)² / 2 width²)."""
    return np.exp(-0.5 * ((TIME - at) / width) ** 2)


def tone(frequency: Array | Number, phase: Array | Number = 0.0) -> Waves:
    """cos(2π f t + phase)."""
    return np.cos(np.float32(2 * np.pi) * frequency * TIME + phase)


def chirp(frequency: Waves, rng: Rng) -> Waves:
    """Return a tone with this frequency at every moment: cos 2π ∫ f dt."""
    turns = np.cumsum(frequency, axis=1, dtype=np.float64) / RATE
    turns += rng.random((len(frequency), 1))
    return np.cos(2 * np.pi * (turns % 1).astype(np.float32))


def phases(n: int, rng: Rng) -> Float[Array, "B 1"]:
    """Return one random phase per glitch."""
    return uniform(n, 0, 2 * np.pi, rng)


# -- the fifteen kinds -----------------------------------------------------------------


def teardrop(at: Array, octaves: Array, rng: Rng) -> Waves:
    """Short and symmetric, from 40 Hz up: wide at low frequencies, narrow at high.

    Σ over f = 40, 80, ..., 640 Hz of bump(at, .4 / f) cos 2π f (t − at), each weighted
    by a bell of `octaves` around 160 Hz.
    """
    middle = uniform(len(at), np.log2(110), np.log2(220), rng)
    wave = np.zeros((len(at), TIME.shape[1]), np.float32)
    for f in (40, 80, 160, 320, 640):
        weight = np.exp(-0.5 * ((np.log2(f) - middle) / octaves) ** 2)
        wave += weight * bump(at, 0.4 / f) * np.cos(2 * np.pi * f * (TIME - at))
    return wave


def blip(n: int, rng: Rng) -> Waves:
    """One teardrop."""
    return teardrop(uniform(n, -0.01, 0.01, rng), uniform(n, 0.8, 1.3, rng), rng)


def repeating_blips(n: int, rng: Rng) -> Waves:
    """Teardrops every 1/8, 1/4 or 1/2 second, of varying height."""
    period = rng.choice([RATE // 8, RATE // 4, RATE // 2], n)
    last = rng.integers(1, 4, n)
    at = np.zeros((n, TIME.shape[1]), np.float32)
    for k in range(-3, 4):
        height = np.where(abs(k) <= last, rng.uniform(0.6, 1, n), 0)
        at[np.arange(n), k * period] = height  # circular, as the transform is
    once = scipy.fft.rfft(blip(n, rng), axis=1)
    return scipy.fft.irfft(once * scipy.fft.rfft(at, axis=1), axis=1)


def koi_fish(n: int, rng: Rng) -> Waves:
    """Head at low frequencies, fins near 30 Hz, thin tail up to 500 Hz."""
    at = uniform(n, -0.01, 0.01, rng)
    body = teardrop(at, uniform(n, 1.2, 1.7, rng), rng)
    fins = bump(at, uniform(n, 0.08, 0.2, rng)) * tone(30, phases(n, rng))
    head = bump(at, uniform(n, 0.04, 0.1, rng)) * tone(18, phases(n, rng))
    tail = bump(at, 0.004) * tone(500, phases(n, rng))
    return body + uniform(n, 0.2, 0.45, rng) * fins + 0.4 * head + 0.5 * tail


def extremely_loud(n: int, rng: Rng) -> Waves:
    """Return a saturated sensor: noise at all frequencies, gone in a second."""
    noise = rng.standard_normal((n, TIME.shape[1]), np.float32)
    width = uniform(n, 0.05, 0.5, rng)
    crash = 8 * koi_fish(n, rng)
    return crash + noise * np.exp(-np.abs(TIME) / width)


def low_frequency_burst(n: int, rng: Rng) -> Waves:
    """Return a triangular hump: long at 10 Hz, ever shorter up to its peak."""
    length, wave = uniform(n, 0.25, 0.5, rng), np.zeros((n, TIME.shape[1]), np.float32)
    for f, part in ((10, 1.0), (13, 0.75), (17, 0.5), (22, 0.33), (29, 0.2)):
        wave += bump(0.0, part * length) * tone(f, phases(n, rng))
    return wave


def low_frequency_lines(n: int, rng: Rng) -> Waves:
    """One to three horizontal lines between 10 and 30 Hz, all the four seconds."""
    wave = np.zeros((n, TIME.shape[1]), np.float32)
    for k in range(3):
        height = uniform(n, 0.5, 1, rng) * (rng.random((n, 1)) < (1, 0.6, 0.3)[k])
        beat = 1 + 0.3 * tone(uniform(n, 0.2, 1, rng), phases(n, rng))
        line = tone(uniform(n, 11, 30, rng), phases(n, rng))
        wave += height.astype(np.float32) * beat * line
    return wave


def no_glitch(n: int, rng: Rng) -> Waves:
    """Nothing; the shape of a fluctuation, which is given a small SNR."""
    at, f = uniform(n, -1, 1, rng), uniform(n, 12, 100, rng)
    return bump(at, 3 / f) * tone(f, phases(n, rng))


def power_line(n: int, rng: Rng) -> Waves:
    """Equipment switches: 60 Hz and some harmonics for a fraction of a second."""
    wave = np.zeros((n, TIME.shape[1]), np.float32)
    for k in (1, 2, 3):
        height = uniform(n, 0.3, 1, rng) if k > 1 else np.float32(1.5)
        wave += height * tone(60 * k, phases(n, rng)) / k
    return wave * bump(uniform(n, -0.05, 0.05, rng), uniform(n, 0.08, 0.35, rng))


def scattered_light(n: int, rng: Rng) -> Waves:
    """Upward humps below 30 Hz: the path of the light moves to and fro.

    f(t) = f_max |cos(π t / spacing)|, heard while it is above 10 Hz.
    """
    top, spacing = uniform(n, 18, 30, rng), uniform(n, 0.8, 2.0, rng)
    arch = top * np.abs(np.cos(np.pi * TIME / spacing + uniform(n, -0.3, 0.3, rng)))
    wave = chirp(arch, rng) * expit(arch - 10)
    return wave * bump(0.0, uniform(n, 0.5, 1.5, rng))


def scratchy(n: int, rng: Rng) -> Waves:
    """Return a ripply path through a wide band, 60 to 250 Hz."""
    rate, deep = uniform(n, 6, 14, rng), uniform(n, 0.3, 0.6, rng)
    ripple = np.sin(2 * np.pi * rate * TIME + phases(n, rng))
    noise = np.repeat(rng.standard_normal((n, 128), np.float32), 128, axis=1)
    path = uniform(n, 90, 170, rng) * (1 + deep * ripple + 0.15 * noise)
    return chirp(path, rng) * bump(0.0, uniform(n, 0.4, 1.2, rng)) * (1.2 + ripple)


def violin_mode(n: int, rng: Rng) -> Waves:
    """Fibres of the mirrors: short, near 500 Hz and harmonics."""
    base, at = uniform(n, 490, 515, rng), uniform(n, -0.02, 0.02, rng)
    wave = np.zeros((n, TIME.shape[1]), np.float32)
    for k, height in ((1, 1.0), (2, 0.8), (3, 0.6)):
        part = height * bump(at, uniform(n, 0.01, 0.03, rng))
        wave += part * tone(k * base, phases(n, rng))
    return wave


def whistle(n: int, rng: Rng) -> Waves:
    """Return a V (or two, a W): the frequency falls to a minimum and rises.

    f(t) = f_min + slope √((|t| − apart)² + (5 ms)²), heard below 1700 Hz.
    """
    low, slope = uniform(n, 100, 400, rng), uniform(n, 6000, 18000, rng)
    apart = uniform(n, 0.02, 0.05, rng) * rng.integers(2, size=(n, 1))
    path = low + slope * np.hypot(np.abs(TIME) - apart, 0.005)
    return chirp(path, rng) * expit((1700 - path) / 50)


def line_1080(n: int, rng: Rng) -> Waves:
    """Return a string of short dots at 1080 Hz."""
    f, wave = uniform(n, 1070, 1090, rng), np.zeros((n, TIME.shape[1]), np.float32)
    period = uniform(n, 0.08, 0.25, rng)
    for k in range(-4, 5):
        at = period * (k + uniform(n, -0.2, 0.2, rng))
        wave += uniform(n, 0.4, 1, rng) * bump(at, uniform(n, 0.006, 0.015, rng))
    return wave * tone(f, phases(n, rng))


def ripple_1400(n: int, rng: Rng) -> Waves:
    """Near 1400 Hz for 0.05 seconds or more, wavering."""
    waver = np.sin(2 * np.pi * uniform(n, 8, 20, rng) * TIME + phases(n, rng))
    path = uniform(n, 1370, 1430, rng) + uniform(n, 10, 40, rng) * waver
    return chirp(path, rng) * bump(0.0, uniform(n, 0.025, 0.12, rng))


def other(n: int, rng: Rng) -> Waves:
    """Whatever fits nowhere: three pieces at random times and frequencies."""
    wave = np.zeros((n, TIME.shape[1]), np.float32)
    for _ in range(3):
        f = np.exp(uniform(n, np.log(20), np.log(1500), rng))
        width = np.exp(uniform(n, np.log(0.03), np.log(0.3), rng))
        path = f * (1 + uniform(n, -0.4, 0.4, rng) * TIME / SECONDS)
        piece = chirp(path, rng) * bump(uniform(n, -0.4, 0.4, rng), width)
        wave += piece / np.sqrt(width) * uniform(n, 0.5, 1, rng)
    return wave


Waveform = Callable[[int, Rng], Waves]

WAVEFORMS: dict[str, Waveform] = {
    "1080 Line": line_1080,
    "1400 Ripple": ripple_1400,
    "Blip": blip,
    "Extremely Loud": extremely_loud,
    "Koi Fish": koi_fish,
    "Low Frequency Burst": low_frequency_burst,
    "Low Frequency Lines": low_frequency_lines,
    "No Glitch": no_glitch,
    "Other": other,
    "Power Line 60 Hz": power_line,
    "Repeating Blips": repeating_blips,
    "Scattered Light": scattered_light,
    "Scratchy": scratchy,
    "Violin Mode Harmonic": violin_mode,
    "Whistle": whistle,
}
"""The classes, in the order of the paper's tables."""
