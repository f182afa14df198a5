"""``wisecrowd predict`` with a run of ``aggregate``: from answers alone."""

import json
import subprocess
import sys

import pandas as pd
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from mistakes import one_sentence


@pytest.fixture
def bcc(run, answers, tmp_path):
    folder = tmp_path / "bcc"
    command = ("aggregate", answers, "-m", "bcc", "-q", "--out", folder)
    assert run(*command).exit_code == 0
    return folder


@pytest.mark.parametrize("method", ["bcc", "majority-vote", "dawid-skene", "glad"])
def test_a_run_of_aggregate_predicts_from_answers(method, run, answers, tmp_path):
    folder, out = tmp_path / "run", tmp_path / "p.parquet"
    run("aggregate", answers, "-q", "-m", method, "--out", folder)
    result = run("predict", folder, "--annotations", answers, "--out", out)
    assert result.exit_code == 0, result.output
    assert "9 annotators: 9 known, 0 new" in result.stderr
    read = wc.read_annotations(answers)
    found = pd.read_parquet(out)
    assert found["item"].tolist() == read.items.tolist()
    assert found["n_answers"].sum() == len(read)
    want = wc.load(folder).predict_proba(read)
    assert_allclose(found.filter(like="p_"), want)


def test_one_item_is_not_items(run, bcc, answers, tmp_path):
    one = tmp_path / "one.csv"
    pd.read_csv(answers).query("item == 0").to_csv(one, index=False)
    result = run("predict", bcc, "-a", one, "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr.endswith("p.csv: 1 item.\n")


def test_json_has_the_classes_and_the_items(run, bcc, answers):
    result = run("predict", bcc, "-a", answers, "--json", "-q")
    found = json.loads(result.stdout)
    assert len(found["items"]) == 60
    assert found["classes"] == ["[bold]whistle", "blip", "chirp"]


def test_what_is_missing_is_said(run, bcc, answers):
    one_sentence(run("predict", bcc), "BCC", "Add --annotations FILE")
    one_sentence(run("predict", bcc, answers), "does not use features", "--annotations")


def test_python_m_is_the_command_line():
    command = [sys.executable, "-m", "wisecrowd", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"wisecrowd {wc.__version__}"
