"""``wisecrowd prepare``, and ``wisecrowd aggregate`` of what it has written."""

import json

import pandas as pd
import pytest

import wisecrowd as wc
from mistakes import one_sentence

pytest.importorskip("duckdb")


@pytest.fixture
def prepared(run, answers, tmp_path):
    folder = tmp_path / "prepared"
    result = run("prepare", answers, "--out", folder, "--shards", 2)
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stderr.split())
    assert "60 items, 9 annotators, 300 answers and 3 classes in 2 shards." in said
    return folder


def test_a_prepared_folder_has_the_labels_of_its_file(
    run, answers, gold, prepared, tmp_path
):
    for path, out in ((answers, "one"), (prepared, "two")):
        result = run("aggregate", path, "--gold", gold, "--out", tmp_path / out)
        assert result.exit_code == 0, result.stderr
    assert "Annotators, the most reliable first" in result.stdout
    said = " ".join(result.stderr.split())
    assert "labels of 60 items in" in said
    want = pd.read_parquet(tmp_path / "one/labels.parquet").drop(columns="settled")
    parts = sorted((tmp_path / "two/labels").iterdir())
    found = pd.concat(map(pd.read_parquet, parts), ignore_index=True)
    pd.testing.assert_frame_equal(found, want, atol=1e-8)
    assert type(wc.load(tmp_path / "two")) is wc.Consensus


def test_json_is_one_object(run, answers, tmp_path):
    folder = tmp_path / "prepared"
    found = json.loads(run("prepare", answers, "-o", folder, "-q", "--json").stdout)
    assert (found["n_items"], found["folder"]) == (60, str(folder))
    out = ("-m", "bcc", "--out", tmp_path / "run", "-q", "--json")
    result = run("aggregate", folder, *out)
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert (found["method"], len(found["annotators"])) == ("bcc", 9)
    assert sum(found["class_shares"].values()) == pytest.approx(1)


def test_what_a_prepared_folder_cannot_have_is_a_sentence(
    run, answers, prepared, tmp_path
):
    out = ("--out", tmp_path / "run")
    one_sentence(run("aggregate", prepared), "Add --out RUN")
    one_sentence(run("aggregate", prepared, *out, "-m", "glad"), "'consensus' can")
    one_sentence(run("aggregate", prepared, *out, "--item", "x"), "--item is for 'wis")
    left = ("--leave-out-items", answers)
    one_sentence(run("aggregate", prepared, *out, *left), "is for 'wisecrowd prepare'")
    one_sentence(run("aggregate", prepared, *out, "--processes", 3), "--shards 3")
    one_sentence(run("aggregate", prepared, *out, "--distributed"), "no partners were")
    one_sentence(run("aggregate", answers, *out, "--processes", 2), "a prepared folder")
    one_sentence(run("prepare", answers, "--out", prepared), "is not empty")
    one_sentence(run("prepare", tmp_path / "no.csv", "-o", tmp_path / "p"), "no such")
