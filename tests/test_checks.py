import numpy as np
import pandas as pd
import pytest

from wisecrowd._checks import InputError, one_of, vocabulary_values


@pytest.mark.parametrize(
    ("values", "want"),
    [
        ([3, 1], np.int64),
        ([3.0, 1.0], np.int64),
        (pd.Series([1, 2.0], dtype=object), np.int64),
        (pd.array([1, 2], dtype="Int64"), np.int64),
        (np.array([7], dtype=np.uint64), np.int64),
        (pd.Categorical([3, 1, 3]), np.int64),
        (pd.Categorical([3.0, 1.0]), np.int64),
        (pd.Categorical(["b", "a"]), object),
        (pd.array(["b", "a"], dtype="string"), object),
        ([True, False], bool),
    ],
)
def test_values_become_integers_text_or_booleans_and_stay_what_they_are(values, want):
    made = vocabulary_values(values, "label")
    assert made.dtype == want
    assert made.tolist() == list(values)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            np.array([2**63 + 1], dtype=np.uint64),
            "row 0, 9223372036854775809, is",
        ),
        ([1, 2**70], "row 1, .* too large for a 64-bit number"),
        ([1.0, 1e19], "row 1, 1e.19, is too large"),
        ([1.0, 0.5], "row 1 is 0.5: .* measurement"),
        ([1, None], r"1 of 2 rows have no label \(the first is row 1\)"),
        ([1, "1"], "mixes types .int, str."),
        ([(1, 2), (3, 4)], "holds values of type tuple"),
    ],
)
def test_what_cannot_be_a_label_is_refused_with_its_row(values, said):
    with pytest.raises(InputError, match=said):
        vocabulary_values(values, "label")


def test_a_setting_that_is_not_allowed_is_named_with_those_that_are():
    one_of("a", ("a", "b"), "kind")
    with pytest.raises(InputError, match="kind='c' is not one of 'a', 'b'"):
        one_of("c", ("a", "b"), "kind")
