"""Classes that the answers name and no label has are said after every fit."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import wisecrowd as wc
from wisecrowd.answers import Answers
from wisecrowd.base import as_annotations
from wisecrowd.fit import collapse
from wisecrowd.results.findings import findings


def unanimous(truth, n_classes, n_annotators=3):
    """Everybody gives the same answer on an item."""
    item, who = np.divmod(np.arange(n_annotators * len(truth)), n_annotators)
    shape = len(truth), n_annotators, n_classes, n_classes
    return Answers.from_codes(item, who, truth[item], shape)


def test_a_class_with_answers_and_no_label_is_lost():
    truth = np.repeat([0, 1, 2], [40, 12, 30])
    answers = unanimous(truth, 4)
    labels = np.where(truth == 1, 0, truth)
    assert_array_equal(collapse.lost_classes(answers, np.eye(4)[labels]), [1])
    assert_array_equal(collapse.lost_classes(answers, np.eye(4)[truth]), [])


def test_hardly_any_label_is_no_label():
    truth = np.repeat([0, 1], [100, 200])
    labels = np.where(np.arange(300) < 103, 0, truth) * 0
    labels[-3:] = 1
    proba = np.eye(2)[labels]
    assert_array_equal(collapse.lost_classes(unanimous(truth, 2), proba), [1])
    said = collapse.said_of_lost(
        unanimous(truth, 2), proba, np.array(["a", "b"]), has_prior=False
    )
    assert said.startswith("hardly any item is labelled 'b', but most answers on 200")
    assert "annotator_prior" not in said
    proba[-4:] = [0, 1]
    assert_array_equal(collapse.lost_classes(unanimous(truth, 2), proba), [])


@pytest.mark.parametrize(
    "truth",
    [
        np.array([0, 0, 0, 0, 1]),  # named once in five answers
        np.repeat([0, 1], [21, 9]),  # fewer than ten items
        np.repeat([0, 1], [1000, 100]),  # a rare class, named by mistake
    ],
    ids=["tiny", "few", "rare"],
)
def test_an_honest_crowd_has_lost_nothing(truth):
    zeros = np.eye(2)[np.zeros_like(truth)]
    assert collapse.said_of_lost(
        unanimous(truth, 2), zeros, np.array([0, 1]), has_prior=True
    ) == ""  # fmt: skip


def test_a_minority_on_every_item_is_not_lost():
    # One of three annotators always says 1: no item is mostly called so.
    item, who = np.divmod(np.arange(300), 3)
    answers = Answers.from_codes(item, who, (who == 2).astype(int), (100, 3, 2, 2))
    labels = np.zeros(100, int)
    assert_array_equal(collapse.lost_classes(answers, np.eye(2)[labels]), [])


@pytest.fixture(scope="module")
def crowd():
    return wc.simulate(200, 12, 5, n_features=6, answers_per_item=2.5, random_state=1)


@pytest.mark.slow  # rounding decides whether this fit collapses: it did not once
def test_a_published_fit_that_collapses_warns(crowd):
    # The paper's bound has such a maximum, and closed-form updates find it.
    model = wc.SVGPCR.as_published(8, inference="natural", max_epochs=80)
    with pytest.warns(UserWarning, match="may have collapsed.*annotator_prior"):
        model.fit(crowd.X, crowd.answers)
    assert len(np.unique(model.labels_)) == 1


def test_the_published_inference_and_the_defaults_do_not_collapse(crowd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The fit was stopped after")
        for model in (
            wc.SVGPCR.as_published(8, max_epochs=200, learning_rate=0.03),
            wc.SVGPCR(8, max_epochs=80, dependence=0.1),
        ):
            model.fit(crowd.X, crowd.answers)
            assert len(np.unique(model.labels_)) == 5
        assert len(np.unique(wc.BCC(dependence=0.1).fit(crowd.answers).labels_)) == 5


def test_aggregators_are_checked_too():
    # A prior that takes everybody for a spammer: all labels are the frequent class.
    truth = np.repeat([0, 1], [40, 30])
    matrix = np.tile(truth[:, None], (1, 2))
    spam = np.tile([5e3, 5e3], (2, 1))
    with pytest.warns(UserWarning, match="no item is labelled 1"):
        model = wc.BCC.as_published(annotator_prior=spam).fit(matrix)
    found = findings(model, as_annotations(matrix))  # it is sure, and wrong
    assert not found.items["settled"].any()
    assert any(
        "Hardly any label is 1" in said for said in found.about["contradictions"]
    )


def test_labels_of_a_collapsed_bcc_are_made_from_the_answers():
    truth = np.repeat([0, 1], [40, 30])
    matrix = np.tile(truth[:, None], (1, 2))
    with pytest.warns(UserWarning, match="made from the answers alone"):
        model = wc.BCC(annotator_prior=np.tile([5e3, 5e3], (2, 1))).fit(matrix)
    assert_array_equal(model.labels_, truth)
    assert 0.3 < model.class_prior_[1] < 0.6
