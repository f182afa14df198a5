"""What features are divided by, against loops; in one piece and in several."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import oracles
from wisecrowd import feature_source
from wisecrowd.maths.scaling import Moments, scaling

SIZES = ((30, 30), (30, 7), (31, 5), (9, 1))


def drawn(seed, n_items):
    """Columns of different units, one of them far from 0 for its spread."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_items, 3)) * [1, 100, 0.01] + [0, -5, 10]


@pytest.mark.parametrize(("n_items", "piece"), SIZES)
@given(seed=st.integers(0, 10**6))
def test_each_feature_has_its_mean_and_its_spread(n_items, piece, seed):
    X = drawn(seed, n_items)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_source, "PIECE", piece)
        found = scaling(X, "each")
    wanted = np.array([oracles.mean_and_spread(column.tolist()) for column in X.T])
    assert_allclose(found.centre, wanted[:, 0], rtol=1e-12, atol=1e-12)
    assert_allclose(found.spread, wanted[:, 1], rtol=1e-8)


def test_parts_know_what_the_whole_knows():
    X = drawn(0, 40)
    parts = Moments.of(X[:13]).and_of(Moments.of(X[13:14])).and_of(Moments.of(X[14:]))
    for got, want in zip(parts, Moments.of(X), strict=True):
        assert_allclose(got, want, rtol=1e-8)
