"""``wisecrowd explain``: the ledger of a label."""

import json

import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc


@pytest.fixture
def folder(run, answers, tmp_path):
    assert run("aggregate", answers, "--out", tmp_path / "run", "-q").exit_code == 0
    return tmp_path / "run"


def test_a_label_is_explained_row_by_row(run, folder):
    result = run("explain", folder, "7")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Why item '7' is labelled ")
    assert result.stdout.count("annotator volunteer ") == 5
    assert "how frequent the classes are" in result.stdout
    assert "times as probable as" in result.stderr


def test_json_has_the_rows_and_what_they_add_up_to(run, folder, answers):
    found = json.loads(run("explain", folder, "7", "--json").stdout)
    model = wc.aggregate(wc.read_annotations(answers))
    rows = model.explain(7)
    assert_allclose([row["log_odds"] for row in found["ledger"]], rows["log_odds"])
    assert_allclose(found["log_odds"], rows["log_odds"].sum())
    assert found["label"] == model.labels_[7]


def test_an_item_that_is_not_there_is_a_sentence(run, folder):
    result = run("explain", folder, "700")
    assert result.exit_code == 2
    assert "'700' is not an item of the run. Its items are 0, 1, 2 and" in result.stderr
