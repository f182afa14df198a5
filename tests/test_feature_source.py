"""Features as a user hands them in: checked in one pass, not copied."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import wisecrowd as wc
from wisecrowd import InputError
from wisecrowd.feature_source import checked_features, not_finite

N, D = 5, 3


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_an_array_of_floats_is_not_copied(kind):
    X = np.ones((N, D), dtype=kind)
    assert checked_features(LogisticRegression(), X, reset=True) is X


def test_a_data_frame_of_one_type_is_not_copied():
    X = np.ones((N, D))
    table = checked_features(
        LogisticRegression(), pd.DataFrame(X, copy=False), reset=True
    )
    assert np.shares_memory(table, X)


def test_looking_for_nan_needs_no_memory():
    X = np.ones((2000, 500), dtype=np.float32)
    tracemalloc.start()
    assert not_finite(X) is None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 10


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_value_that_is_not_finite_is_named(bad, kind):
    X = np.ones((N, D), dtype=kind)
    X[4, 0], X[2, 1] = bad, bad
    assert not_finite(X) == (2, 1, 2)
    with pytest.raises(InputError, match=r"2 entries of 15 .* row 2, column 1"):
        checked_features(LogisticRegression(), X, reset=True)


def test_infinities_that_cancel_and_sums_that_overflow_are_told_apart():
    assert not_finite(np.array([[np.inf, -np.inf]])) == (0, 0, 2)
    assert not_finite(np.full((2, 3), 1e308)) is None


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.arange(50.0), "Reshape your data"),
        (np.ones((50, 2)) + 1j, "Complex data not supported"),
        (sparse.csr_matrix(np.eye(50)), "Sparse data"),
        (np.array([["a", 1.0]] * 50, object), "turn it into numbers"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_in_one_line(X, words):
    with pytest.raises(wc.InputError, match=words) as error:
        wc.Raykar().fit(X, np.arange(50) % 2)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300
    table = wc.compare(["raykar", "glad"], (np.arange(50) % 2)[:, None], X=X)
    assert words in table["note"][0]


def test_features_whose_squares_are_zero_are_not_taken_for_constant():
    X = 1e-300 * np.arange(8.0).reshape(4, 2)
    with pytest.raises(InputError, match=r"^column 0 of X varies.*smaller unit\.$"):
        wc.Raykar().fit(X, [0, 0, 1, 1])
    wc.Raykar().fit(np.full((4, 2), 1e-300), [0, 0, 1, 1])
