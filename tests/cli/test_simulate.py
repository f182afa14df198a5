"""``wisecrowd simulate``: crowds whose truth is known."""

import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import wisecrowd as wc


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json", "jsonl"])
def test_answers_come_back_from_every_form_of_file(ending, run, tmp_path):
    out = tmp_path / f"crowd.{ending}"
    result = run("simulate", "--out", out, "--items", 40, "--annotators", 7)
    assert result.exit_code == 0, result.stderr
    crowd = wc.simulate(40, 7, 4, random_state=0)
    found = wc.read_annotations(out)
    assert_array_equal(found.item, crowd.answers.item)
    assert_array_equal(found.answer, crowd.answers.answer)
    gold = pd.read_csv(tmp_path / "crowd.gold.csv")
    assert_array_equal(gold["gold"], crowd.truth)


def test_what_was_simulated_can_be_compared_against_its_truth(run, tmp_path):
    run("simulate", "-o", tmp_path / "crowd.csv", "--items", 60, "--seed", 3)
    gold = tmp_path / "crowd.gold.csv"
    result = run("compare", tmp_path / "crowd.csv", "--gold", gold, "-m", "glad")
    assert result.exit_code == 0, result.stderr
    assert "60 gold items" in result.stdout


def test_features_are_written_when_asked(run, tmp_path):
    run("simulate", "-o", tmp_path / "crowd.csv", "--items", 30, "--features", 2)
    X, items = wc.read_features(tmp_path / "crowd.features.parquet")
    assert X.shape == (30, 2)
    assert_array_equal(items, range(30))


def test_the_seed_makes_the_crowd(run, tmp_path):
    for name, seed in {"a": 1, "b": 1, "c": 2}.items():
        run("simulate", "-o", tmp_path / f"{name}.csv", "--items", 30, "--seed", seed)
    a, b, c = ((tmp_path / f"{name}.csv").read_text() for name in "abc")
    assert a == b != c


def test_too_many_answers_are_refused_with_the_option_that_helps(run, tmp_path):
    out = tmp_path / "crowd.csv"
    command = ("simulate", "-o", out, "--items", 9, "--annotators", 3, "--answers", 5)
    result = run(*command)
    assert result.exit_code == 2
    assert "or pass --repeats" in result.stderr
    assert not out.exists()
    assert run(*command, "--repeats").exit_code == 0


def test_an_unknown_ending_is_a_sentence(run, tmp_path):
    result = run("simulate", "-o", tmp_path / "crowd.xyz")
    assert result.exit_code == 2
    assert "'.xyz' is not a known format" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--items", 31), ("--annotators", 12), ("--classes", 3), ("--answers", 3),
        ("--accuracy", 0.95), ("--spammers", 0.5), ("--adversaries", 0.5),
        ("--cant-tell", 0.3), ("--difficulty", 0.5), ("--copiers", 0.5),
        ("--groups", 2),
    ],
)  # fmt: skip
def test_every_option_changes_the_crowd(option, value, run, tmp_path):
    usual = {"--items": 30, "--annotators": 10}
    for name, options in {"a": usual, "b": usual | {option: value}}.items():
        words = [word for pair in options.items() for word in pair]
        result = run("simulate", "-o", tmp_path / f"{name}.csv", *words)
        assert result.exit_code == 0, result.output
    a, b = ((tmp_path / f"{name}.csv").read_text() for name in "ab")
    assert a != b


def test_quiet_prints_nothing(run, tmp_path):
    result = run("simulate", "-o", tmp_path / "a.csv", "--items", 9, "-q")
    assert (result.exit_code, result.output) == (0, "")


def test_annotators_without_an_answer_are_said(run, tmp_path):
    out = tmp_path / "a.csv"
    few = ("--items", "3", "--answers", "1", "--annotators", "9")
    result = run("simulate", "--out", out, *few)
    n_there = len(wc.read_annotations(out).annotators)
    assert f"{9 - n_there} annotators gave no answer and are not in the file" in (
        result.stderr
    )
    every = ("--items", "3", "--answers", "9", "--annotators", "9", "--force")
    assert "no answer" not in run("simulate", "--out", out, *every).stderr
