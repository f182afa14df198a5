import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import contract
from wisecrowd import Annotations, InputError, MajorityVote


@given(st.integers(0, 10**6))
def test_label_proba_is_the_share_of_the_votes(seed):
    answers = contract.crowd(seed, n_items=8)
    model = MajorityVote().fit(answers)
    counts = answers.counts()
    for n, votes in enumerate(counts):
        want = votes / votes.sum() if votes.sum() else np.full(3, 1 / 3)
        assert_allclose(model.label_proba_[n], want, atol=1e-8)
        assert counts[n, model.classes_ == model.labels_[n]] == votes.max()


def test_ties_go_to_the_first_class_or_to_one_drawn_by_the_seed():
    answers = Annotations.from_matrix(np.tile([0, 1, 2], (60, 1)))
    first = MajorityVote(ties="first").fit(answers)
    assert set(first.labels_) == {0}
    drawn = [MajorityVote(random_state=s).fit(answers).labels_ for s in (0, 0, 1)]
    assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()
    assert np.bincount(drawn[0]).min() > 5  # a fair draw of 60 gives 20 each


@pytest.mark.parametrize("seed", [1, np.int64(1)])
def test_ties_of_new_items_are_drawn_by_the_seed_too(seed):
    answers = Annotations.from_matrix(np.tile([0, 1, 2], (60, 1)))
    model = MajorityVote(random_state=seed).fit(answers)
    assert_array_equal(model.predict(answers), model.labels_)
    assert_array_equal(model.predict(answers), model.predict(answers))


def test_an_unknown_way_of_ties_is_refused():
    with pytest.raises(InputError, match="ties='last'"):
        MajorityVote().set_params(ties="last").fit(contract.crowd())


def test_gold_outvotes_everyone():
    answers = Annotations.from_matrix([[0, 0, 0], [1, 1, 1]])
    assert MajorityVote().fit(answers, gold={0: 1}).labels_.tolist() == [1, 1]


def test_answers_that_are_not_classes_do_not_vote():
    answers = Annotations.from_triples(
        ["x"] * 3,
        ["a", "b", "c"],
        ["?", "?", "no"],
        classes=["no", "yes"],
        answers=["?"],
    )
    assert_allclose(MajorityVote().fit(answers).label_proba_, [[1, 0]])
