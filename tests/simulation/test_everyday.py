"""The everyday crowds are what their first lines say."""

import numpy as np
import pytest

from wisecrowd.simulation import everyday
from wisecrowd.simulation.everyday import SHAPES


def made(name, seed=0):
    return SHAPES[name](np.random.default_rng(seed))


def right_of_each(crowd):
    """The share of right answers of every annotator."""
    codes = crowd.answers.codes
    right = codes.answer == crowd.truth[codes.item]
    n_each = np.maximum(codes.n_per_annotator, 1)
    return np.bincount(codes.annotator, right, codes.n_annotators) / n_each


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_complete_and_the_same_for_the_same_seed(name):
    crowd, again, other = made(name), made(name), made(name, 1)
    codes = crowd.answers.codes
    assert len(crowd.truth) == codes.n_items
    assert len(crowd.honest) == codes.n_annotators
    assert set(crowd.told) == set(crowd.gold.tolist())
    assert all(crowd.truth[item] == c for item, c in crowd.told.items())
    assert crowd.X is None or len(crowd.X) == codes.n_items
    assert crowd.answers.to_frame().equals(again.answers.to_frame())
    assert not crowd.answers.to_frame().equals(other.answers.to_frame())


@pytest.mark.parametrize(
    ("name", "n_items", "n_annotators", "n_classes", "n_each"),
    [
        ("one_answer_each", 600, 12, 20, 1),
        ("two_answers_each", 300, 40, 5, 2),
        ("busy_guesser", 600, 31, 10, 2),
        ("judges_with_gold", 500, 5, 2, 5),
        ("three_of_seven_copy", 400, 7, 3, 7),
        ("mostly_nothing", 2000, 60, 28, 1),
        ("same_file_four_times", 300, 20, 3, 12),
        ("families_of_judges", 400, 24, 2, 24),
    ],
)
def test_sizes_and_answers_per_item_are_as_described(
    name, n_items, n_annotators, n_classes, n_each
):
    codes = made(name).answers.codes
    assert codes.shape[:3] == (n_items, n_annotators, n_classes)
    assert (codes.n_per_item == n_each).all()


def test_only_the_busy_guesser_is_no_better_than_chance():
    crowd = made("busy_guesser")
    right = right_of_each(crowd)
    assert not crowd.honest[0]
    assert crowd.honest[1:].all()
    assert abs(right[0] - 0.1) < 0.05
    assert right[1:].mean() > 0.65


def test_a_crowd_with_one_answer_per_item_is_right_more_often_than_chance():
    assert right_of_each(made("one_answer_each")).min() > 0.4


def test_every_volunteer_sees_one_species_first():
    codes = made("runs_of_one_class").answers.codes
    truth = made("runs_of_one_class").truth
    first = np.flatnonzero(codes.annotator == codes.item // 8)
    assert len(first) >= 600
    for who in range(0, 75, 10):
        items = codes.item[first[codes.annotator[first] == who]]
        assert len(set(truth[items])) == 1


def test_judges_of_one_family_agree_more_than_the_others():
    crowd = made("judges_with_gold")
    said = crowd.answers.codes.answer.reshape(500, 5)
    assert len(crowd.gold) == 50
    assert (said[:, 0] == said[:, 1]).mean() > (said[:, 3] == said[:, 4]).mean() + 0.1
    np.testing.assert_allclose(
        right_of_each(crowd), [0.72, 0.72, 0.72, 0.85, 0.80], atol=0.06
    )


def test_two_of_seven_copy_a_third():
    said = made("three_of_seven_copy").answers.codes.answer.reshape(400, 7)
    assert (said[:, :3] == said[:, :1]).all()
    assert ((said[:, 3:] == said[:, :1]).mean(0) < 0.8).all()


def test_every_answer_of_the_joined_file_is_there_four_times():
    codes = made("same_file_four_times").answers.codes
    assert (codes.n_repeats == 4).all()
    assert len(codes.distinct()) == len(codes) / 4


def test_rare_classes_are_rare():
    assert 0.005 < made("rare_class").truth.mean() < 0.02
    assert abs((made("mostly_nothing").truth == 0).mean() - 0.75) < 0.05


def test_every_rule_names_one_class_or_is_silent():
    crowd = made("one_class_rules")
    assert (np.count_nonzero(crowd.answers.counts("annotator"), axis=1) == 1).all()
    assert (crowd.answers.codes.n_per_item == 0).any()
    assert right_of_each(crowd).min() > 0.7


def test_a_third_cannot_tell():
    codes = made("cannot_tell").answers.codes
    assert codes.n_answers == codes.n_classes + 1
    assert 0.2 < (codes.answer == codes.n_classes).mean() < 0.4


def test_answers_are_drawn_right_with_the_given_probability():
    truth = np.repeat(np.arange(5), 2000)
    said = everyday._said(np.random.default_rng(0), truth, 0.7, 5)
    assert abs((said == truth).mean() - 0.7) < 0.025  # five standard errors
    wrong = np.bincount((said - truth) % 5, minlength=5)[1:] / len(truth)
    np.testing.assert_allclose(wrong, 0.075, atol=0.014)
