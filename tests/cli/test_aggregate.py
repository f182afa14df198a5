"""``wisecrowd aggregate``: from a file to labels, annotators and a run folder."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import wisecrowd as wc

FILES = [
    "annotators.csv", "confusion.parquet", "labels.csv", "labels.parquet", "model.json",
    "model.safetensors", "trace.csv",
]  # fmt: skip


def test_tables_go_to_stdout_and_messages_to_stderr(run, answers):
    result = run("aggregate", answers)
    assert result.exit_code == 0
    assert "Least settled items" in result.stdout
    assert "Annotators, the most reliable first" in result.stdout
    assert re.search(r"adversary (1\.00|0\.9\d)", result.stdout)
    assert "300 rows, 300 annotations" in result.stderr
    assert "nothing was written" in result.stderr


def test_answers_that_nobody_shares_are_said_to_prove_nothing(run, answers, tmp_path):
    alone = tmp_path / "alone.csv"
    alone.write_text("item,annotator,label\n1,ann,a\n1,ann,a\n2,bob,b\n")
    assert "no item was answered by two people" in run("aggregate", alone).stderr
    assert "two people" not in run("aggregate", answers).stderr


def test_names_that_look_like_markup_are_shown_as_they_are(run, answers):
    assert "[bold]whistle" in run("aggregate", answers).stdout


def test_nothing_is_wider_than_a_terminal_of_80_columns(run, answers):
    assert max(map(len, run("aggregate", answers).stdout.splitlines())) <= 80


@pytest.mark.parametrize("method", list(wc.AGGREGATORS))
def test_a_run_folder_holds_the_documented_files(method, run, answers, tmp_path):
    folder = tmp_path / "run"
    result = run("aggregate", answers, "--method", method, "--out", folder)
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert type(wc.load(folder)) is wc.METHODS[method]


def test_the_tables_of_a_run_say_what_the_model_says(run, answers, tmp_path):
    run("aggregate", answers, "--out", tmp_path / "run")
    model = wc.load(tmp_path / "run")
    labels = pd.read_parquet(tmp_path / "run/labels.parquet")
    assert_array_equal(labels["item"], model.items_)
    assert_array_equal(labels["label"], model.labels_)
    classes = ["p_[bold]whistle", "p_blip", "p_chirp"]
    assert list(labels.columns[6:]) == classes
    assert_array_equal(labels[classes], model.label_proba_)
    assert_array_equal(labels["probability"], model.label_proba_.max(1))
    assert (labels["n_answers"] == 5).all()
    assert labels["entropy"].between(0, math.log(3) + 1e-12).all()
    text = pd.read_csv(tmp_path / "run/labels.csv")
    assert_allclose(text[classes], labels[classes], rtol=1e-5)
    confusion = pd.read_parquet(tmp_path / "run/confusion.parquet")
    assert_array_equal(confusion["mean"], model.confusion_.ravel())
    assert ((confusion["low"] <= confusion["mean"]) & (confusion["mean"] <= confusion["high"])).all()  # fmt: skip # noqa: E501
    one = confusion.query("annotator == 'volunteer 3' and truth == 'blip'")
    who = list(model.annotators_).index("volunteer 3")
    assert_array_equal(one["mean"], model.confusion_[who, 1])
    people = pd.read_csv(tmp_path / "run/annotators.csv")
    assert list(people.columns) == list(model.annotator_summary().columns)
    trace = pd.read_csv(tmp_path / "run/trace.csv", float_precision="round_trip")
    assert_array_equal(trace["bound"], model.trace_["bound"])


def test_json_is_one_object_and_alone_on_stdout(run, answers, crowd):
    result = run("aggregate", answers, "--json")
    found = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert "answers.csv" in result.stderr
    assert found["method"] == "BCC"
    sizes = [found[name] for name in ("n_items", "n_annotators", "n_annotations")]
    assert sizes == [60, 9, 300]
    assert len(found["labels"]) == 60
    assert len(found["annotators"]) == 9
    true = {f"volunteer {a}" for a in np.flatnonzero(crowd.kinds == "adversary")}
    assert found["adversaries"]
    assert set(found["adversaries"]) <= true
    assert found["run"] is None


def test_quiet_says_nothing(run, answers, tmp_path):
    result = run("aggregate", answers, "--quiet", "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    result = run("aggregate", answers, "-q", "--json")
    assert result.stderr == ""
    assert json.loads(result.stdout)["n_items"] == 60


def test_gold_is_used_inside_the_fit(run, answers, gold, crowd, tmp_path):
    run("aggregate", answers, "--gold", gold, "--out", tmp_path / "run")
    truth = crowd.classes[crowd.truth]
    assert_array_equal(wc.load(tmp_path / "run").labels_, truth)


def test_gold_in_the_file_itself_is_compared_with_and_not_used(run, tmp_path):
    rows = "item,annotator,label,gold\n1,a,x,y\n1,b,x,y\n2,a,y,\n2,b,y,\n"
    (tmp_path / "answers.csv").write_text(rows)
    result = run("aggregate", tmp_path / "answers.csv", "-m", "majority-vote")
    assert "against the gold in the file (1 items)" in result.stderr
    assert "accuracy 0.000" in result.stderr


def test_columns_classes_and_other_answers_are_options(run, tmp_path):
    rows = "who;what;said\na;1;2\nb;1;2\na;2;0\nb;2;9\n"
    (tmp_path / "odd.csv").write_text(rows)
    result = run(
        "aggregate", tmp_path / "odd.csv", "--item", "what", "--annotator", "who",
        "--label", "said", "--classes", "0,1,2", "--answers", "9", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["classes"] == [0, 1, 2]


def test_repeats_are_dropped_when_asked(run, tmp_path):
    rows = "item,annotator,label\n1,a,x\n1,a,y\n2,a,y\n2,b,x\n"
    (tmp_path / "a.csv").write_text(rows)
    result = run("aggregate", tmp_path / "a.csv", "--drop-repeats", "last", "--json")
    assert json.loads(result.stdout)["n_annotations"] == 3


def test_the_seed_decides_ties_and_nothing_else_does(run, tmp_path):
    rows = ["item,annotator,label", *(f"{n},{a},{a}" for n in range(40) for a in "xy")]
    (tmp_path / "ties.csv").write_text("\n".join(rows))

    def labels(seed):
        command = ("aggregate", tmp_path / "ties.csv", "-m", "majority-vote", "--json")
        found = json.loads(run(*command, "--seed", seed).stdout)
        return np.array([row["label"] for row in found["labels"]])

    assert_array_equal(labels(1), labels(1))
    assert (labels(1) != labels(2)).any()


def test_a_method_is_found_whatever_its_spelling(run, answers):
    result = run("aggregate", answers, "-m", "Dawid_Skene", "--json")
    assert json.loads(result.stdout)["method"] == "DawidSkene"


def test_a_loop_that_has_not_converged_is_a_note_and_no_python_warning(
    run, answers, monkeypatch
):
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    def fit(self, labels, *, gold=None):
        warnings.warn(
            "not converged. Raise max_iter.", ConvergenceWarning, stacklevel=1
        )
        return original(self, labels, gold=gold)

    original = wc.BCC.fit
    monkeypatch.setattr(wc.BCC, "fit", fit)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = run("aggregate", answers)
    assert result.exit_code == 0
    assert "note: not converged. Raise max_iter.\n" in result.stderr
    assert ".py:" not in result.stderr
