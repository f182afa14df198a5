"""The summary: all that a fitted model says, in the types of JSON."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from wisecrowd import metrics
from wisecrowd.results.summary import cautions, plain, summarise

KEYS = [
    "method", "settings", "read", "notes", "n_items", "n_annotators", "n_answers",
    "n_certain", "bound", "seconds", "dependence", "answers_per_item",
    "independent_answers_per_item", "independent_answers_interval", "gold",
    "calibration", "adversaries", "spammers",
    "classes", "items_per_class", "labels", "annotators",
]  # fmt: skip


def test_a_summary_is_json_and_has_the_documented_keys(crowd, model):
    found = summarise(model, crowd.answers)
    assert list(found) == KEYS
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    sizes = [found[name] for name in ("n_items", "n_annotators", "n_answers")]
    assert sizes == [30, 9, 150]
    assert found["method"] == "bcc"
    assert found["settings"] == model.get_params()
    assert found["read"] is None
    assert found["classes"] == crowd.classes.tolist()
    n_items = [row["n_items"] for row in found["items_per_class"]]
    assert n_items == [(model.labels_ == name).sum() for name in crowd.classes]
    assert found["labels"][4]["label"] == model.labels_[4]
    assert (
        found["annotators"][2]["accuracy"] == (model.annotator_summary()["accuracy"][2])
    )
    assert_allclose(found["bound"], model.trace_["bound"].iloc[-1])
    assert found["dependence"] == model.dependence_


def test_a_summary_says_where_the_answers_come_from(crowd, tmp_path):
    wc.write_annotations(crowd.answers, tmp_path / "answers.csv")
    read = wc.read_annotations(tmp_path / "answers.csv")
    found = summarise(wc.MajorityVote().fit(read), read)["read"]
    assert found["path"].endswith("answers.csv")
    assert (found["format"], found["n_rows"]) == ("long CSV", 150)


def test_gold_of_the_answers_is_compared_with_the_labels(crowd, model, gold):
    assert summarise(model, crowd.answers)["gold"] is None
    some = {item: name for item, name in gold.items() if item < 20}
    found = summarise(model, crowd.answers.with_gold(some))["gold"]
    truth = crowd.classes[crowd.truth]
    assert found["n_items"] == 20
    expected = metrics.log_loss(truth[:20], model.label_proba_[:20], crowd.classes)
    assert_allclose(found["log_loss"], expected)


@pytest.mark.parametrize(
    ("rows", "alone"),
    [
        ([("x", "a", 0), ("y", "b", 1)], True),
        ([("x", "a", 0), ("x", "a", 1), ("y", "b", 1)], True),
        ([("x", "a", 0), ("x", "b", 0), ("y", "b", 1)], False),
    ],
)
def test_a_crowd_in_which_nobody_overlaps_is_cautioned_about(rows, alone):
    answers = wc.Annotations.from_triples(*zip(*rows, strict=True))
    assert bool(cautions(answers)) == alone


def test_what_json_cannot_say_is_none():
    assert plain([np.inf, np.float32("nan"), np.bool_(True)]) == [None, None, True]
