"""From the files that people have to a result: several files, pipes, names, gold."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mistakes import one_sentence

WISECROWD = Path(sys.executable).with_name("wisecrowd")
MAJORITY = ("-m", "majority-vote")


@pytest.fixture
def weeks(crowd, tmp_path):
    table = crowd.answers.to_frame()
    names = {"item": "image", "annotator": "WorkerId", "answer": "class"}
    table = table.rename(columns=names)
    table[:100].to_csv(tmp_path / "week1.csv", index=False)
    table[100:].to_csv(tmp_path / "week2.csv", index=False)
    return tmp_path


def test_several_files_are_one(run, weeks):
    result = run("aggregate", weeks / "week1.csv", weeks / "week2.csv", *MAJORITY)
    assert result.exit_code == 0, result.output
    assert "60 items, 9 annotators, 3 classes, 300 answers" in result.stderr
    assert "2 files were read together." in result.stderr
    assert "'image', 'WorkerId', 'class'" in result.stderr
    for given in (weeks, weeks / "week*.csv"):
        assert "300 answers" in run("aggregate", given, *MAJORITY).stderr


def test_an_input_in_a_folder_is_never_replaced(run, weeks):
    out = weeks / "run"
    out.mkdir()
    (out / "labels.csv").write_text((weeks / "week1.csv").read_text())
    result = run("aggregate", out, *MAJORITY, "--out", out, "--force")
    one_sentence(result, "this file is an input")


@pytest.mark.parametrize(
    "how",
    ["-", pytest.param("/dev/stdin", marks=pytest.mark.slow)],  # read alike
)
def test_a_pipe_is_read(weeks, how):
    ran = subprocess.run(
        [sys.executable, "-m", "wisecrowd", "aggregate", how, *MAJORITY, "--json"],
        input=(weeks / "week1.csv").read_bytes(), capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert b'"n_answers": 100' in ran.stdout


def test_columns_of_gold_are_named_or_those_of_the_answers(run, weeks, crowd):
    truth = crowd.classes[crowd.truth]
    table = pd.DataFrame({"clip nr": crowd.answers.items, "seen": truth})
    table.to_csv(weeks / "gold.csv", index=False)
    odd = pd.read_csv(weeks / "week1.csv").set_axis(["clip nr", "who", "seen"], axis=1)
    odd.to_csv(weeks / "odd.csv", index=False)
    named = ("--item", "clip nr", "--annotator", "who", "--answer", "seen")
    gold = ("--gold", weeks / "gold.csv")
    result = run("aggregate", weeks / "odd.csv", *named, *gold, *MAJORITY)
    assert result.exit_code == 0, result.output
    table.set_axis(["a", "b"], axis=1).to_csv(weeks / "gold.csv", index=False)
    columns = ("--gold-item", "a", "--gold-column", "b")
    result = run("aggregate", weeks / "odd.csv", *named, *gold, *columns, *MAJORITY)
    assert result.exit_code == 0, result.output


def test_a_table_of_judges_with_a_human_as_gold(run, tmp_path):
    path = tmp_path / "judges.csv"
    rows = [
        f"q{i},text {i},{'AB'[i % 2]},{'AB'[i % 3 > 0]},{'AB'[i % 2]}"
        for i in range(20)
    ]
    path.write_text("question,prompt,gpt-4,claude,human\n" + "\n".join(rows))
    result = run("aggregate", path, *MAJORITY)
    assert "3 columns are annotators ('gpt-4', 'claude', 'human')" in result.stderr
    assert "Choose with --annotators or --leave-out." in result.stderr
    result = run("aggregate", path, *MAJORITY, "--gold-column", "human")
    assert "2 columns are annotators" in result.stderr
    assert "gold classes in the file (20 items)" in result.stderr
    result = run("aggregate", path, *MAJORITY, "--leave-out", "human")
    assert "2 annotators" in result.stderr
    result = run("compare", path, *MAJORITY, "--annotators", "human,claude")
    assert "2 annotators" in result.stderr


def test_an_array_gets_its_ids_from_a_file(run, weeks, crowd):
    rng = np.random.default_rng(0)
    np.save(weeks / "emb.npy", rng.normal(size=(60, 3)))
    ids = weeks / "ids.txt"
    ids.write_text("\n".join(map(str, crowd.answers.items[::-1])) + "\n")
    table = pd.read_csv(weeks / "week1.csv")
    table["image"] = "x" + table["image"].astype(str)
    table.to_csv(weeks / "week1.csv", index=False)
    fit = ("fit", weeks / "week1.csv", "-m", "raykar", "-f", weeks / "emb.npy")
    one_sentence(run(*fit, "-q"), "give them as a list or a file with --ids")
    ids.write_text("\n".join(f"x{i}" for i in crowd.answers.items) + "\n")
    result = run(*fit, "--ids", ids)
    assert result.exit_code == 0, result.output
    assert "60 items, 3 features" in result.stderr
    ids.write_text("a\nb\n")
    one_sentence(run(*fit, "--ids", ids, "-q"), "2 ids for 60 rows")
    one_sentence(run(*fit, "--ids", "image", "-q"), "there is no such file")


def test_gold_with_other_names_of_the_items_says_which_column_has_them(run, tmp_path):
    answers, gold = tmp_path / "batch.csv", tmp_path / "gold.csv"
    rows = "".join(f"H{i},W{a},u{i},x{i % 2}\n" for i in range(3) for a in range(2))
    answers.write_text(f"HITId,WorkerId,Input.url,Answer.kind.label\n{rows}")
    gold.write_text("url,label\nu0,x0\n")
    said = run("aggregate", answers, "--gold", gold)
    assert said.exit_code == 2
    assert "'Input.url' could name them too. Choose with --item." in said.stderr
    named = run("aggregate", answers, "--gold", gold, "--item", "Input.url")
    assert named.exit_code == 0, named.stderr
