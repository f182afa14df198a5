"""Fits that a setting stopped far from convergence."""

import pandas as pd
import pytest
from sklearn.base import clone

import wisecrowd as wc
from wisecrowd.results.findings import findings
from wisecrowd.results.stopped import FAR, stopped_early


@pytest.fixture(scope="module")
def short(crowd):
    model = wc.SVGPCR(5, max_epochs=12, dependence=0.1)
    with pytest.warns(UserWarning, match="12 steps, far from convergence"):
        return model.fit(crowd.X, crowd.answers)


def with_bounds(model, *bounds):
    """Return a fitted copy whose trace has these bounds, eight steps apart."""
    copy = clone(model)
    copy.items_ = model.items_
    steps = pd.RangeIndex(8, 8 * len(bounds) + 8, 8, name="step")
    copy.trace_ = pd.DataFrame({"bound": bounds}, index=steps)
    return copy


def test_a_fit_that_was_stopped_early_says_what_to_raise(short, crowd):
    (note,) = stopped_early(short)
    assert "stopped after 12 steps, far from convergence: the bound still gain" in note
    assert "Raise max_epochs=, or leave it out." in note
    assert findings(short, crowd.answers).about["notes"] == [note]


def test_the_gain_is_per_item_in_40_steps(short):
    far = FAR * len(short.items_) / 5  # in eight steps
    for gain, n_notes in ((0.99, 0), (1.01, 1)):  # in the second half of the steps
        bounds = (-90.0, 0.0, 0.0, 2 * far * gain)
        assert len(stopped_early(with_bounds(short, *bounds))) == n_notes
    (note,) = stopped_early(with_bounds(short, 0.0, far * 10))
    assert f"gained {10 * FAR:.2g} nats per item in 40 steps" in note
    (note,) = stopped_early(with_bounds(short, -90.0))
    assert "too short to measure" in note


def test_only_limits_that_the_user_set_are_named(short, crowd):
    model = with_bounds(short, -90.0)
    assert stopped_early(model.set_params(max_epochs=None)) == []
    (note,) = stopped_early(model.set_params(time_limit=1.0))
    assert "Raise time_limit=, or" in note
    assert stopped_early(wc.BCC().fit(crowd.answers)) == []
