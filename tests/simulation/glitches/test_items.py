"""Classes, loudness and likeness of glitches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from wisecrowd.simulation.glitches import items as it

N = 20_000


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(0)
    return it.draw_items(it.draw_classes(N, rng), rng)


def test_classes_have_the_shares_of_the_table(drawn):
    share = np.array([kind.share for kind in it.KINDS.values()])
    assert_allclose(share.sum(), 1)
    found = np.bincount(drawn.truth, minlength=len(it.CLASSES))
    assert_allclose(found, share * N, atol=1)


def test_every_class_is_in_the_small_size():
    small = it.draw_classes(1000, np.random.default_rng(1))
    assert_array_equal(np.unique(small), np.arange(len(it.CLASSES)))


def test_the_tables_name_the_same_classes():
    assert tuple(it.KINDS) == it.CLASSES
    assert_allclose(it.resemblance().sum(1), 1)
    assert_array_equal(np.diag(it.resemblance()), 0)


def test_usual_glitches_have_the_median_snr_of_their_class(drawn):
    blips = (drawn.truth == it.CLASSES.index("Blip")) & (drawn.likeness == 0)
    assert_allclose(np.median(drawn.snr[blips]), it.KINDS["Blip"].snr, rtol=0.03)


def test_unusual_glitches_are_as_many_as_the_table_says_and_resemble_another(drawn):
    for name in ("Other", "Repeating Blips", "Koi Fish"):
        mine = drawn.truth == it.CLASSES.index(name)
        found = (drawn.likeness[mine] > 0).mean()
        assert_allclose(found, it.KINDS[name].unusual, atol=0.1)
    strange = drawn.likeness > 0
    assert (drawn.decoy[strange] != drawn.truth[strange]).all()


def test_faint_and_unusual_glitches_are_hard():
    ones = np.ones(3, dtype=int)
    snr, likeness = np.array([100.0, 6.0, 100.0]), np.array([0.0, 0.0, 0.9])
    items = it.Items(ones, snr, 2 * ones, likeness)
    easy, faint, unusual = it.hard_items(items).difficulty
    assert easy < 0.01
    assert faint > 0.5
    assert unusual > 0.7
    none = it.Items(np.full(3, it.NO_GLITCH), snr, 2 * ones, 0 * likeness)
    assert_array_equal(it.hard_items(none).difficulty, 0)


def test_the_snr_of_a_waveform_is_that_of_the_item():
    truth = np.arange(len(it.CLASSES))
    snr = np.linspace(5, 50, len(truth))
    items = it.Items(truth, snr, truth[::-1], np.zeros(len(truth)))
    wave = it.waves(items, np.random.default_rng(2))
    assert_allclose(np.sqrt((wave.astype(float) ** 2).sum(1)), snr, rtol=1e-4)


def test_a_glitch_of_full_likeness_sounds_like_its_decoy():
    ripple, violin = (
        it.CLASSES.index(c) for c in ("1400 Ripple", "Violin Mode Harmonic")
    )
    one = np.ones(1)
    items = it.Items(np.array([ripple]), 30 * one, np.array([violin]), one)
    power = np.abs(np.fft.rfft(it.waves(items, np.random.default_rng(3))[0])) ** 2
    assert abs(power.argmax() / it.TIME.shape[1] * 4096 - 502) < 20
