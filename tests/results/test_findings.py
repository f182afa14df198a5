"""What was learned, computed once."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from wisecrowd import metrics
from wisecrowd.results import findings as module
from wisecrowd.results.findings import cautions, findings, plain
from wisecrowd.results.run_folder import read_findings, write_findings

KEYS = [
    "wisecrowd", "method", "settings", "read", "notes", "contradictions",
    "n_items", "n_annotators",
    "n_answers", "n_certain", "settled_at", "n_settled", "expected_error",
    "expected_error_high", "bound",
    "seconds", "dependence", "answers_per_item", "independent_answers_per_item",
    "independent_answers_interval", "gold", "calibration", "adversaries",
    "spammers", "sentences", "classes", "items_per_class", "labels", "annotators",
]  # fmt: skip


def summarise(model, answers):
    return findings(model, answers).summary()


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


# -- once, and the same for everybody -------------------------------------------------


def test_tables_are_computed_once_for_files_and_json(
    crowd, model, tmp_path, monkeypatch
):
    n_calls = dict.fromkeys(("label_table", "annotator_table", "confusion_table"), 0)

    def counting(name, function):
        def counted(*given, **more):
            n_calls[name] += 1
            return function(*given, **more)

        return counted

    for name in n_calls:
        monkeypatch.setattr(module, name, counting(name, getattr(module, name)))
    found = findings(model, crowd.answers)
    write_findings(found, tmp_path)
    found.summary()
    assert set(n_calls.values()) == {1}


@pytest.mark.parametrize("with_gold", [False, True])
def test_a_run_folder_gives_back_what_was_learned(
    crowd, model, gold, tmp_path, with_gold
):
    answers = crowd.answers.with_gold(gold if with_gold else {})
    found = findings(model, answers, settled_at=0.1)
    write_findings(found, tmp_path)
    again = read_findings(tmp_path)
    assert again.summary() == found.summary()
    for name in ("ledger", "reliability", "disagreements"):
        one, other = getattr(found, name), getattr(again, name)
        assert (one is None) == (other is None)
        if one is not None:
            assert_allclose(
                one.select_dtypes("number"), other.select_dtypes("number"), atol=1e-12
            )
    assert_allclose(again.confused["crowd"], found.confused["crowd"])


def test_a_folder_with_a_model_only_says_what_is_missing(model, tmp_path):
    wc.save(model, tmp_path)
    with pytest.raises(wc.InputError, match=r"holds no findings\.json"):
        read_findings(tmp_path)


@pytest.mark.filterwarnings("ignore:.*is mixed")
@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"about": 1}', '{"about": {}, "said": [], "confused": 3}']
)
@pytest.mark.parametrize("name", ["findings.json", "labels.parquet", "ledger.parquet"])
def test_a_file_that_is_damaged_is_a_sentence(name, text, crowd, model, tmp_path):
    write_findings(findings(model, crowd.answers), tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(wc.InputError, match="is damaged"):
        read_findings(tmp_path)


# -- sentences ------------------------------------------------------------------------


def test_the_sentences_say_the_numbers(crowd, model, gold):
    found = findings(model, crowd.answers.with_gold(gold), settled_at=0.4)
    n_open = int((~found.items["settled"]).sum())
    assert 0 < n_open < 30
    assert found.said["look"].startswith(f"{n_open} items need a second look")
    assert (
        f"{30 - n_open} of 30 items are settled: at most 40 %" in found.said["settled"]
    )
    assert f"worth {model.worth_:.1f} independent ones" in found.said["worth"]
    assert f"accuracy {found.about['gold']['accuracy']:.3f}" in found.said["gold"]


def test_the_most_common_mistake_is_that_of_the_answers():
    answers = wc.Annotations.from_matrix([[0, 0, 0, 1, 1], [1, 1, 1, 1, 1]])
    said = findings(wc.MajorityVote().fit(answers), answers).said["classes"]
    # Class 1 has 0.4 of the first item: 1.2 of its 7 answers say 0; of class 0, 40 %.
    assert "40 % of the answers about items of class '0' say '1'" in said


def test_a_class_that_no_item_has_is_not_the_most_common_mistake():
    rows = [[0, 0, 0, 1, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]] * 4
    answers = wc.Annotations.from_matrix(rows, classes=[0, 1, 2])
    said = findings(wc.aggregate(answers), answers).said["classes"]
    assert "of class '0' say '1'" in said


def test_of_one_item_the_mistake_is_about_its_label():
    answers = wc.Annotations.from_matrix([[0, 1, 0]])
    said = findings(wc.aggregate(answers), answers).said["classes"]
    assert "33 % of the answers about items of class '0' say '1'" in said


def test_one_answer_per_item_is_not_said_to_be_worth_one():
    answers = wc.Annotations.from_triples(range(9), ["ann"] * 9, [0, 1, 0] * 3)
    model = wc.aggregate(answers)
    assert model.dependence_ > 0.02
    assert "worth" not in findings(model, answers).said


def test_annotators_who_are_all_alike_have_no_range():
    answers = wc.Annotations.from_triples(range(9), range(9), [0, 1, 2] * 3)
    said = findings(wc.aggregate(answers), answers).said["skill"]
    assert "of the annotators" not in said


@pytest.mark.parametrize("n_annotators", [5, 20])
def test_skill_is_told_of_all_answers_and_of_people_who_differ(n_annotators):
    crowd = wc.simulate(200, n_annotators, 3, spammers=0.4, random_state=0)
    model = wc.aggregate(crowd.answers)
    said = findings(model, crowd.answers).said["skill"]
    shares = model.annotator_summary()["accuracy"]
    ends = [0, 1] if n_annotators == 5 else [0.25, 0.75]
    for end in shares.quantile(ends):
        assert f"{end:.0%}".replace("%", " %") in said
    assert ("a quarter" in said) == (n_annotators == 20)


def test_one_item_is_spoken_of_as_one():
    answers = wc.Annotations.from_matrix([[0, 1, 0]])
    said = findings(wc.aggregate(answers), answers).said["settled"]
    assert said == "The only item is not settled yet."
    answers = wc.Annotations.from_matrix([[0, 0, 1], [1, 1, 1]])
    said = findings(wc.MajorityVote().fit(answers), answers).said["settled"]
    assert said == (
        "1 of 2 items is settled: its label is wrong with a probability of at most 2 %."
    )


def test_the_crowds_confusion_is_a_sum_over_answers(crowd, model):
    answers = crowd.answers
    table = np.zeros((3, 4))
    for item, k in zip(answers.item, answers.answer, strict=True):
        for c in range(3):
            table[c, k] += model.label_proba_[item, c]
    wanted = table / table.sum(1, keepdims=True)
    assert_allclose(findings(model, answers).confused["crowd"], wanted)


def test_where_crowd_and_features_disagree_is_a_table():
    crowd = wc.simulate(
        60, 9, 3, answers_per_item=3, n_features=2, separation=8.0, random_state=1
    )
    model = wc.CrowdEM(n_rounds=1, progress=False).fit(crowd.X, crowd.answers)
    found = findings(model, crowd.answers)
    assert found.confused["classifier"].shape == (3, 3)
    assert_allclose(found.confused["classifier"].sum(1), 1)
    table = found.disagreements
    assert len(table)
    assert (table["crowd"] != table["features"]).all()
    least = np.minimum(table["crowd_share"], table["features_probability"])
    assert (np.diff(least) <= 1e-12).all()
    assert "predicted from the features" in found.said["features"]


def test_only_the_least_certain_items_have_a_ledger_where_it_would_be_too_long(
    crowd, model, monkeypatch
):
    monkeypatch.setattr(module, "MOST_CELLS", 3 * 9 * 10)
    found = findings(model, crowd.answers)
    kept = found.items["item"].isin(found.ledger["item"])
    assert 5 <= kept.sum() <= 15
    certain = found.items["probability"]
    assert certain[kept].max() <= certain[~kept].min()
