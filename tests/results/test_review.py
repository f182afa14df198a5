"""Which items an expert should look at first."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from wisecrowd import Annotations, MajorityVote
from wisecrowd._checks import InputError
from wisecrowd.results.findings import findings
from wisecrowd.results.review import said_of_review, to_review
from wisecrowd.results.run_folder import read_findings, write_findings, write_run


@pytest.fixture
def items():
    """Five items of three classes; 'd' is settled."""
    p = np.array(
        [
            [0.7, 0.2, 0.1],
            [0.3, 0.45, 0.25],
            [0.1, 0.3, 0.6],
            [0, 1, 0],
            [0.5, 0.4, 0.1],
        ]
    )
    order = np.sort(p, axis=1)
    table = {
        "item": list("abcde"),
        "label": ["x", "y", "z", "y", "x"],
        "probability": order[:, -1],
        "n_answers": [4, 0, 1, 2, 3],
        "margin": order[:, -1] - order[:, -2],
        "agreement": [1.0, np.nan, 0.0, 1.0, 1 / 3],
        "settled": [False, False, False, True, False],
    }
    return pd.DataFrame(table | {f"p_{c}": p[:, k] for k, c in enumerate("xyz")})


def test_items_come_by_the_labels_that_a_review_mends_without_settled_ones(items):
    assert to_review(items)["item"].tolist() == ["b", "e", "c", "a"]
    assert to_review(items, 2)["item"].tolist() == ["b", "e"]


def test_every_item_says_why(items):
    both = pd.DataFrame({"item": ["e"], "crowd": ["x"], "features": ["z"]})
    assert to_review(items, disagreements=both)["why"].tolist() == [
        "Nobody answered it. The next class is 'x' (30 %).",
        "1 of 3 answers names the label. The votes say 'x', the features 'z'. "
        "The next class is 'y' (40 %).",
        "Its only answer does not name the label. The next class is 'y' (30 %).",
        "All 4 answers name the label, but they are weak evidence. "
        "The next class is 'y' (20 %).",
    ]


def test_features_that_disagree_nowhere_are_no_error(model, crowd, tmp_path, items):
    nowhere = pd.DataFrame({"item": [], "crowd": [], "features": []})
    pd.testing.assert_frame_equal(
        to_review(items, disagreements=nowhere), to_review(items)
    )
    found = replace(findings(model, crowd.answers), disagreements=nowhere)
    write_findings(found, tmp_path / "run")
    assert len(read_findings(tmp_path / "run").to_review(7)) == 7


def test_the_expected_gain_is_said(items):
    said = said_of_review(to_review(items, 2), items)
    assert "these 2 items is expected to mend 1.1 of the 1.8 wrong labels" in said
    assert "No item" in said_of_review(to_review(items.assign(settled=True)), items)


def test_a_model_its_findings_and_its_folder_list_the_same(model, crowd, tmp_path):
    write_run(model, crowd.answers, tmp_path / "run")
    first = model.to_review(7)
    assert len(first) == 7
    for found in (findings(model, crowd.answers), read_findings(tmp_path / "run")):
        pd.testing.assert_frame_equal(found.to_review(7), first, check_dtype=False)


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_is_a_whole_number(items, budget):
    with pytest.raises(InputError, match="budget"):
        to_review(items, budget)


def test_items_with_a_gold_class_in_the_file_need_no_review(tmp_path):
    said = {"x": {1: 0, 2: 1}, "y": {1: 1, 2: 0}, "z": {1: 0, 2: 0}}
    answers = Annotations.from_dict(said, gold={"x": 0})
    model = MajorityVote().fit(answers)
    assert "x" not in model.to_review()["item"].tolist()
    write_run(model, answers, tmp_path)
    assert read_findings(tmp_path).to_review()["item"].tolist() == ["y"]
    assert model._findings().about["gold"]["n_items"] == 1  # as the command line
    assert model.fit(answers, gold={"y": 1})._findings().about["gold"] is None
