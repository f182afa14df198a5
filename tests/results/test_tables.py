"""The tables of a fitted model."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import wisecrowd as wc
from wisecrowd.results.flags import (
    FLAGGED,
    flagged,
    flags_of,
    n_certain,
)
from wisecrowd.results.tables import (
    annotator_table,
    class_table,
    confusion_table,
    label_table,
    probability_table,
    uncertain_items,
)

CLASSES = np.array(["blip", "chirp", "whistle"], dtype=object)


def some_items():
    """Four items: the third has no answer, and is the least certain."""
    proba = np.array([[0.7, 0.2, 0.1], [0, 1, 0], [0.3, 0.4, 0.3], [0.4, 0.1, 0.5]])
    return probability_table([7, 8, 9, 10], proba, CLASSES, [5, 4, 0, 1])


def test_a_label_table_says_what_the_model_says(crowd, model):
    table = label_table(model, crowd.answers)
    assert_array_equal(table["item"], model.items_)
    assert_array_equal(table["label"], model.labels_)
    assert_array_equal(table["n_answers"], np.bincount(crowd.answers.item))
    assert_array_equal(table[[f"p_{name}" for name in CLASSES]], model.label_proba_)
    codes, label = crowd.answers.codes, model.label_proba_.argmax(1)
    for i in range(30):
        named = codes.answer[codes.item == i] == label[i]
        assert_allclose(table["agreement"][i], named.mean())


def test_a_probability_table_has_the_label_its_margin_and_its_entropy():
    table = some_items()
    assert table["label"].tolist() == ["blip", "chirp", "chirp", "whistle"]
    assert_allclose(table["probability"], [0.7, 1, 0.4, 0.5])
    assert_allclose(table["margin"], [0.5, 1, 0.1, 0.1])
    assert_allclose(table["entropy"][1], 0)
    by_hand = -0.4 * math.log(0.4) - 0.6 * math.log(0.3)
    assert_allclose(table["entropy"][2], by_hand)


def test_a_class_without_items_is_in_the_class_table():
    items = some_items().iloc[:2]
    table = class_table(items, CLASSES)
    assert table["class"].tolist() == CLASSES.tolist()
    assert table["n_items"].tolist() == [1, 1, 0]
    assert_allclose(table["share"], [0.5, 0.5, 0])
    assert_allclose(table["mean_probability"], [0.7, 1, np.nan])
    assert_allclose(table["prevalence"], [0.35, 0.6, 0.05])
    assert (table["low"] >= 0).all()


@pytest.mark.parametrize("n_gold", [0, 50])
def test_prevalence_may_be_wrong_by_chance_by_labels_and_by_all_labels_at_once(n_gold):
    many = class_table(pd.concat([some_items().iloc[:2]] * 10), CLASSES, n_gold)
    left_open = 0.7 * 0.3 / 2  # of one label
    by_chance, by_labels = 0.35 * 0.65 / 20, left_open / 20
    at_once = left_open**2 / (1 / 0.5**2 + n_gold * left_open)
    by_hand = 1.96 * math.sqrt(by_chance + by_labels + at_once)
    assert_allclose(many["high"][0], 0.35 + by_hand)
    assert_allclose(many["low"][0], 0.35 - by_hand)


def test_uncertain_items_are_answered_ones_the_least_probable_first():
    table = uncertain_items(some_items(), most=2)
    assert table["item"].tolist() == [10, 7]
    assert table["next_label"].tolist() == ["blip", "chirp"]
    assert_allclose(table["next_probability"], [0.4, 0.2])


def test_without_any_answer_all_items_can_be_uncertain():
    assert uncertain_items(some_items().assign(n_answers=0))["item"][0] == 9


def test_certain_items_are_counted():
    assert n_certain(some_items()) == 1


def test_an_annotator_table_is_the_summary_with_flags(crowd, model):
    table = annotator_table(model)
    pd.testing.assert_frame_equal(table.drop(columns="flag"), model.annotator_summary())
    narrow = annotator_table(model, level=0.5)
    assert (narrow["high"] - narrow["low"] < table["high"] - table["low"]).all()
    adversaries = crowd.answers.annotators[crowd.kinds == "adversary"]
    assert set(flagged(table)["adversaries"]) <= set(adversaries)


def test_a_flag_needs_the_threshold_and_an_adversary_is_no_spammer():
    below = FLAGGED - 1e-9
    table = pd.DataFrame(
        {
            "annotator": ["a", "b", "c", "d"],
            "spammer": [FLAGGED, below, 1.0, 0.0],
            "adversarial": [0.0, below, 1.0, FLAGGED],
        }
    )
    assert flags_of(table).tolist() == ["spammer", "", "adversary", "adversary"]
    assert flagged(table) == {"adversaries": ["c", "d"], "spammers": ["a"]}


def test_a_confusion_table_has_a_row_per_annotator_class_and_answer(crowd, model):
    table = confusion_table(model)
    assert len(table) == 9 * 3 * 4
    assert_array_equal(table["mean"], model.confusion_.ravel())
    assert table["mean"].between(table["low"], table["high"]).all()
    one = table.query("annotator == 3 and truth == 'chirp'")
    assert_array_equal(one["answer"], crowd.answers.answers)
    assert_array_equal(one["mean"], model.confusion_[3, 1])


def test_majority_vote_has_all_tables(crowd):
    votes = wc.MajorityVote().fit(crowd.answers)
    assert len(label_table(votes, crowd.answers)) == 30
    assert len(annotator_table(votes)) == 9
    assert len(confusion_table(votes)) == 9 * 3 * 4
