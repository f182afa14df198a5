"""The folder of a run."""

import os

import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import wisecrowd as wc
from wisecrowd.results.run_folder import (
    check_file,
    check_folder,
    write_run,
    write_table,
)
from wisecrowd.results.tables import annotator_table, confusion_table, label_table

FILES = [
    "annotators.csv", "confusion.parquet", "findings.json", "labels.csv",
    "labels.parquet", "ledger.parquet", "model.json", "model.safetensors", "trace.csv",
]  # fmt: skip


def test_a_run_holds_the_model_and_its_tables(crowd, model, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    write_run(model, crowd.answers, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*FILES, "mine.txt"]
    )
    assert_array_equal(wc.load(tmp_path).label_proba_, model.label_proba_)
    labels = label_table(model, crowd.answers)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "labels.parquet"), labels)
    text = pd.read_csv(tmp_path / "labels.csv")
    assert_allclose(text["p_blip"], labels["p_blip"], rtol=1e-5, atol=1e-300)
    assert_array_equal(text["settled"], labels["settled"])
    confusion = pd.read_parquet(tmp_path / "confusion.parquet")
    pd.testing.assert_frame_equal(confusion, confusion_table(model))
    people = pd.read_csv(tmp_path / "annotators.csv")
    assert list(people.columns) == list(annotator_table(model).columns)
    trace = pd.read_csv(tmp_path / "trace.csv", dtype=str).astype(float)
    assert_array_equal(trace["bound"], model.trace_["bound"])


def test_a_failure_leaves_the_old_table_whole(tmp_path, monkeypatch):
    write_table(pd.DataFrame({"a": [1]}), tmp_path / "new/t.csv")

    def failing(self, path, **_):
        path.write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", failing)
    with pytest.raises(OSError, match="disk full"):
        write_table(pd.DataFrame({"a": [2]}), tmp_path / "new/t.csv")
    assert (tmp_path / "new/t.csv").read_text() == "a\n1\n"
    assert len(list((tmp_path / "new").iterdir())) == 1


@pytest.mark.parametrize("name", ["taken", "taken/run"])
def test_a_file_in_place_of_a_folder_is_found_before_the_work(name, tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(wc.InputError, match="'taken' is a file"):
        check_folder(tmp_path / name)
    check_folder(tmp_path / "free/run")
    check_folder(None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_a_sentence(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(wc.InputError, match="no permission"):
        check_folder(tmp_path / "locked/run")


def test_only_csv_and_parquet_can_be_written(tmp_path):
    with pytest.raises(wc.InputError, match=r"only CSV and Parquet"):
        check_file(tmp_path / "t.xlsx", "table", [], force=True)
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(wc.InputError, match="this is a folder"):
        check_file(tmp_path / "t.csv", "table", [], force=True)
    check_file(None, "table", [], force=False)


@pytest.mark.parametrize("name", ["NA", "nan", "null", "N/A", "None"])
def test_a_class_called_like_a_missing_value_comes_back(name, tmp_path):
    said = [name, "other"] * 6
    answers = wc.Annotations.from_triples(
        [*"aabbccaabbcc"], [*"xyxyxyzzzzzz"], said, classes=[name, "other"]
    )
    model = wc.MajorityVote(ties="first").fit(answers)
    write_run(model, answers, tmp_path)
    table = pd.read_csv(tmp_path / "labels.csv", keep_default_na=False)
    want = label_table(model, answers)
    assert_array_equal(table["label"], want["label"])
    assert (want["label"] == name).any()
    assert_allclose(table["entropy"], want["entropy"], rtol=1e-5)
    # Our own readers need no hint.
    gold = wc.read_gold(tmp_path / "labels.csv", gold="label")
    assert_array_equal(gold.to_numpy(), want["label"])
    if name != "None":  # which no reader of ours takes for a missing value
        row = (tmp_path / "labels.csv").read_text().splitlines()[1]
        assert row.startswith(f'"a","{name}",0.')


def test_texts_are_in_quotation_marks_only_if_they_have_to_be(tmp_path):
    table = pd.DataFrame({"item": ["a"], "x": [1 / 3], "flag": [""]})
    write_table(table, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "item,x,flag\na,0.333333,\n"
    write_table(table.assign(item="NA"), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == ('"item","x","flag"\n"NA",0.333333,""\n')
