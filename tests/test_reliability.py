"""Accuracy by confidence: `metrics.reliability` and its figure."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, norm

import oracles
from wisecrowd import InputError, metrics
from wisecrowd.metrics.reliability import wilson_interval

SEEDS = st.integers(0, 2**32 - 1)


def some_labels(seed=0, n_items=200, n_classes=3, sharpness=0.5):
    """Truth with gaps, and probabilities of which some are 0 and 1."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, sharpness), size=n_items)
    proba[:: max(n_items // 5, 1)] = np.eye(n_classes)[0]
    truth = rng.integers(-1, n_classes, size=n_items)
    truth[0] = 0
    return truth, proba


# -- the figures ---------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS,
    n_items=st.integers(1, 40),
    n_classes=st.integers(1, 5),
    n_bins=st.integers(1, 12),
    level=st.sampled_from([0.5, 0.9, 0.99]),
)
def test_bins_are_those_of_the_loops(seed, n_items, n_classes, n_bins, level):
    truth, proba = some_labels(seed, n_items, n_classes)
    found = metrics.reliability(truth, proba, n_bins=n_bins, level=level)
    known = truth >= 0
    z = norm.ppf((1 + level) / 2)
    want = oracles.reliability_bins(truth[known], proba[known], n_bins, z)
    want = pd.DataFrame(want, columns=["n_items", *VALUES])
    got = found.to_frame()
    assert_array_equal(got["n_items"], want["n_items"])
    assert_allclose(got[VALUES], want[VALUES].astype(float), atol=1e-9)
    assert_allclose(got["begin"], np.arange(n_bins) / n_bins)
    assert_allclose(got["end"], (np.arange(n_bins) + 1) / n_bins)


VALUES = ["confidence", "accuracy", "low", "high"]


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, n_items=st.integers(1, 60), n_bins=st.integers(1, 20))
def test_what_must_hold_of_every_table(seed, n_items, n_bins):
    truth, proba = some_labels(seed, n_items)
    found = metrics.reliability(truth, proba, n_bins=n_bins)
    table = found.to_frame()
    filled = table[table["n_items"] > 0]
    assert table["n_items"].sum() == (truth >= 0).sum()
    assert table[VALUES][table["n_items"] == 0].isna().all(axis=None)
    slack = 1e-12
    assert (filled["confidence"] >= filled["begin"] - slack).all()
    assert (filled["confidence"] <= filled["end"] + slack).all()
    assert (filled["low"] <= filled["accuracy"] + slack).all()
    assert (filled["high"] >= filled["accuracy"] - slack).all()
    assert filled[["low", "high"]].stack().between(0, 1).all()
    weights = filled["n_items"] / filled["n_items"].sum()
    right = metrics.accuracy(truth, proba)
    assert_allclose((weights * filled["accuracy"]).sum(), right)
    error = metrics.calibration_error(truth, proba, n_bins=n_bins)
    assert_allclose(found.calibration_error, error, atol=1e-12)


def test_the_order_of_items_and_classes_does_not_matter():
    truth, proba = some_labels()
    rng = np.random.default_rng(0)
    items, columns = rng.permutation(len(truth)), np.array([2, 0, 1])
    moved = np.where(truth < 0, -1, np.argsort(columns)[truth])[items]
    again = metrics.reliability(moved, proba[items][:, columns]).to_frame()
    pd.testing.assert_frame_equal(metrics.reliability(truth, proba).to_frame(), again)


def test_truth_may_be_names_with_gaps():
    proba = [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]
    named = metrics.reliability(["no", None, "yes"], proba, classes=["no", "yes"])
    coded = metrics.reliability([0, -1, 1], proba)
    pd.testing.assert_frame_equal(named.to_frame(), coded.to_frame())


@pytest.mark.parametrize("p", [0.3, 0.5, 0.8, 0.95])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(p):
    n = 60
    right = np.arange(n + 1)
    low, high = wilson_interval(right / n, np.full(n + 1, float(n)), 0.9)
    covers = binom.pmf(right, n, p)[(low <= p) & (p <= high)].sum()
    assert 0.86 < covers < 0.95


def test_honest_probabilities_are_in_their_intervals_and_sharpened_ones_are_not():
    rng = np.random.default_rng(1)
    proba = rng.dirichlet(np.ones(3), size=20_000)
    truth = (rng.random((len(proba), 1)) > np.cumsum(proba, 1)).sum(1)
    inside = within(metrics.reliability(truth, proba, level=0.999))
    assert inside.all()
    assert len(inside) == 7
    sharpened = proba**3 / (proba**3).sum(1, keepdims=True)
    assert within(metrics.reliability(truth, sharpened, level=0.999)).mean() < 0.3


def within(found):
    table = found.to_frame().query("n_items > 0")
    return table["confidence"].between(table["low"], table["high"])


def test_a_wider_level_has_wider_intervals():
    truth, proba = some_labels()
    narrow, wide = (metrics.reliability(truth, proba, level=v) for v in (0.5, 0.95))
    filled = narrow.n_items > 0
    narrower, wider = ((r.high - r.low)[filled] for r in (narrow, wide))
    assert (wider > narrower).all()


# -- the record ----------------------------------------------------------------------


def test_the_record_is_frozen_and_prints_as_a_table():
    truth, proba = some_labels(sharpness=3.0)
    found = metrics.reliability(truth, proba)
    with pytest.raises(AttributeError):
        found.level = 0.5
    lines = str(found).splitlines()
    assert lines[0].split() == [
        "confidence", "items", "mean", "accuracy", "90", "%", "interval"
    ]  # fmt: skip
    assert len(lines) == 1 + (found.n_items > 0).sum()
    assert len({len(line) for line in lines}) == 1
    last = found.to_frame().iloc[-1]
    assert lines[-1].split()[:4] == ["0.9", "to", "1.0", f"{last['n_items']:.0f}"]
    assert f"{last['low']:.3f} to {last['high']:.3f}" in lines[-1]
    assert "0.125 to 0.250" in str(metrics.reliability([0], [[0.2] * 5], n_bins=8))


@pytest.mark.parametrize(
    ("truth", "proba", "settings", "why"),
    [
        ([0, 1], [[0.5, 0.5]], {}, "there are 2 true classes"),
        ([0], [[0.5, 0.4]], {}, "not probabilities that sum to one"),
        ([0], [[1.5, -0.5]], {}, "not probabilities that sum to one"),
        ([0, 1], [[1, 0], [np.nan, 0]], {}, "The first is row 1"),
        ([0], [0.5, 0.5], {}, "one row per item"),
        ([2], [[0.5, 0.5]], {}, "not among the 2 classes"),
        ([None], [[0.5, 0.5]], {}, "none of the 1 items has a known class"),
        ([0], [[0.5, 0.5]], {"n_bins": 0}, "n_bins"),
        ([0], [[0.5, 0.5]], {"level": 1}, "level"),
        ([0], [[0.5, 0.5]], {"classes": ["a", "b", "c"]}, "not among the 3 classes"),
    ],
)
def test_what_cannot_be_scored_is_refused_with_a_sentence(truth, proba, settings, why):
    with pytest.raises(InputError, match=why) as error:
        metrics.reliability(truth, proba, **settings)
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


# -- the drawing ---------------------------------------------------------------------


def test_without_matplotlib_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'wisecrowd\[plot\]'\.$"):
        metrics.reliability(*some_labels()).plot()


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_the_figure_has_the_diagonal_the_points_the_intervals_and_the_counts(plt):
    found = metrics.reliability(*some_labels())
    table = found.to_frame().query("n_items > 0")
    ax = found.plot()
    diagonal, points = ax.lines[0], ax.lines[1]
    assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    assert_allclose(points.get_xdata(), table["confidence"])
    assert_allclose(points.get_ydata(), table["accuracy"])
    (intervals,) = ax.collections
    ends = [segment[:, 1] for segment in intervals.get_segments()]
    assert_allclose(ends, table[["low", "high"]], atol=1e-12)
    _, below = ax.figure.axes
    assert_array_equal([bar.get_height() for bar in below.patches], found.n_items)
    assert below.get_position().y1 < ax.get_position().y0
    assert (ax.get_ylabel(), below.get_xlabel()) == ("accuracy", "confidence")
    assert f"{found.calibration_error:.3f}" in ax.get_legend().get_title().get_text()


def test_the_figure_can_be_a_part_of_another(plt, tmp_path):
    figure, (left, right) = plt.subplots(1, 2)
    found = metrics.reliability(*some_labels())
    assert found.plot(right) is right
    assert len(figure.axes) == 3
    assert not left.lines
    free = figure.add_axes((0.1, 0.1, 0.3, 0.3))
    found.plot(free)  # it has no place in a grid, so no histogram
    assert len(figure.axes) == 4
    figure.savefig(tmp_path / "figure.png")


def test_nothing_draws_a_figure_before_it_is_asked_to():
    import subprocess

    code = "import wisecrowd.metrics, sys; sys.exit('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == 0
