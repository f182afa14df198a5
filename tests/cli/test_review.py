"""``wisecrowd review``: the items that an expert should look at first."""

import io

import pandas as pd
import pytest


@pytest.fixture
def folder(run, answers, tmp_path):
    assert run("aggregate", answers, "--out", tmp_path / "run", "-q").exit_code == 0
    return tmp_path / "run"


def test_the_least_certain_items_are_a_csv_on_standard_output(run, folder):
    result = run("review", folder, "--budget", 3)
    assert result.exit_code == 0, result.stderr
    rows = pd.read_csv(io.StringIO(result.stdout))
    names = ["item", "label", "probability", "n_answers", "agreement", "why", "gold"]
    assert list(rows) == names
    labels = pd.read_csv(folder / "labels.csv").sort_values("probability").head(3)
    assert rows["item"].tolist() == labels["item"].tolist()
    assert "The review of these 3 items is expected to mend" in result.stderr


def test_a_file_gets_the_same_rows_and_is_replaced_by_force_only(run, folder, tmp_path):
    path = tmp_path / "review.csv"
    result = run("review", folder, "--out", path)
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    assert f"Wrote {path}." in result.stderr.replace("\n", "")
    assert path.read_text("utf-8") == run("review", folder).stdout
    again = run("review", folder, "--out", path)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    forced = run("review", folder, "-o", path, "--force", "-q")
    assert (forced.exit_code, forced.stderr) == (0, "")
    inside = run("review", folder, "-o", folder / "labels.csv", "--force")
    assert inside.exit_code == 2


def test_known_items_are_not_reviewed(run, answers, gold, tmp_path):
    out = tmp_path / "known"
    assert run("aggregate", answers, "--gold", gold, "-o", out, "-q").exit_code == 0
    result = run("review", out)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\n") == 1  # the header
    assert "No item needs a review" in result.stderr


def test_a_budget_of_nothing_is_a_sentence(run, folder):
    result = run("review", folder, "--budget", 0)
    assert result.exit_code == 2
    assert "--budget" in result.stderr


def test_a_name_cannot_change_the_terminal(run, answers, tmp_path):
    bad = answers.read_text("utf-8").replace("blip", "bl\x1b[2Jip")
    answers.write_text(bad, "utf-8")
    assert run("aggregate", answers, "--out", tmp_path / "run", "-q").exit_code == 0
    result = run("review", tmp_path / "run", "--budget", 30)
    assert "\x1b" not in result.stdout
    assert r"bl\x1b[2Jip" in result.stdout


def test_the_reviewed_file_is_gold_for_the_next_fit(run, folder, answers, tmp_path):
    path, out = tmp_path / "review.csv", tmp_path / "next"
    assert run("review", folder, "--budget", 3, "-o", path, "-q").exit_code == 0
    rows = pd.read_csv(path)
    rows["gold"] = ["chirp", "blip", None]  # one is not done yet
    rows.to_csv(path, index=False)
    result = run("aggregate", answers, "--gold", path, "--out", out, "-q")
    assert result.exit_code == 0, result.stderr
    labels = pd.read_csv(out / "labels.csv").set_index("item")
    assert labels["label"][rows["item"][:2]].tolist() == ["chirp", "blip"]
    reviewed = pd.read_csv(io.StringIO(run("review", out).stdout))["item"]
    assert not reviewed.isin(rows["item"][:2]).any()
