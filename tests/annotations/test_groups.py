import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from wisecrowd._checks import InputError
from wisecrowd.annotations.groups import group_codes

NAMES = np.array(["ann", "gpt-4", "gpt-5", "llama", "bob"], dtype=object)


def same(codes):
    """Who is in one family with whom."""
    return (codes[:, None] == codes).tolist()


def test_without_groups_there_are_no_codes():
    assert group_codes(None, NAMES) is None


@pytest.mark.parametrize("kind", [dict, pd.Series])
def test_members_of_a_family_share_a_code_and_the_others_are_alone(kind):
    groups = kind({"gpt-5": "gpt", "llama": "meta", "gpt-4": "gpt"})
    codes = group_codes(groups, NAMES)
    assert codes[1] == codes[2]
    assert len(set(codes.tolist())) == 4
    assert_array_equal(np.unique(codes), np.arange(4))  # no code is left out


def test_a_family_called_like_an_annotator_is_still_another_one():
    codes = group_codes({"gpt-4": "bob", "gpt-5": "bob"}, NAMES)
    assert codes[1] == codes[2] != codes[4]


def test_numbers_and_text_are_the_same_names():
    numbers = np.array([7, 8, 9])
    one = group_codes({"7": 1, "9": 1}, numbers)
    assert same(one) == same(group_codes({7: "1", 9: "1"}, numbers.astype(object)))
    assert one[0] == one[2] != one[1]


def test_a_family_without_an_annotator_here_changes_nothing():
    groups = {"gpt-4": "gpt", "gpt-5": "gpt"}
    more = {**groups, "gpt-6": "gpt", "claude": "other"}
    assert_array_equal(group_codes(groups, NAMES), group_codes(more, NAMES))


def test_groups_that_name_nobody_are_refused_with_both_sorts_of_names():
    said = (
        r"^groups names no annotator of these answers\. It names 'x'; "
        r"the annotators are 'ann', 'gpt-4', 'gpt-5' and 2 more\.$"
    )
    with pytest.raises(InputError, match=said):
        group_codes({"x": "family"}, NAMES)


@pytest.mark.parametrize("groups", [["gpt"], "gpt", 3])
def test_groups_that_are_no_mapping_are_refused_with_a_sentence(groups):
    kind = type(groups).__name__
    with pytest.raises(InputError, match=rf"^groups is a mapping .*, not a {kind}\.$"):
        group_codes(groups, NAMES)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_annotators_whose_family_is_missing_are_no_family(missing):
    groups = {"gpt-4": "gpt", "gpt-5": "gpt", "ann": missing, "bob": missing}
    given = {"gpt-4": "gpt", "gpt-5": "gpt"}
    assert_array_equal(group_codes(groups, NAMES), group_codes(given, NAMES))
    assert group_codes({"ann": missing}, NAMES) is None


def test_an_annotator_in_two_families_is_refused():
    said = r"^groups gives the annotator 'gpt-4' two families, 'gpt', 'meta'\. Keep one"
    twice = pd.Series(["gpt", "meta"], index=["gpt-4", "gpt-4"])
    with pytest.raises(InputError, match=said):
        group_codes(twice, NAMES)
    with pytest.raises(InputError, match=r"annotator '7' two families"):
        group_codes({7: "one", "7": "two"}, np.array([7, 8]))
