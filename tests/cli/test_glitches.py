"""``wisecrowd simulate glitches``: a folder that the other commands read."""

import pandas as pd
import pytest

import wisecrowd as wc
from wisecrowd.simulation.glitches import dataset


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path):
    monkeypatch.setitem(dataset.SIZES, "small", (40, 9))
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache" / name)


def test_files_hold_the_data_set(run, tmp_path):
    out = tmp_path / "sky"
    result = run("simulate", "glitches", "--out", out, "--seed", 2, "--pictures", 1)
    assert result.exit_code == 0, result.stderr
    made = wc.simulate_glitches("small", random_state=2)
    answers = wc.read_annotations(out / "answers.parquet")
    assert len(answers.codes) == len(made.answers.codes)
    X, items = wc.read_features(out / "test_features.parquet")
    assert X.shape == (9, 256)
    assert list(items) == list(range(40, 49))
    assert list(pd.read_csv(out / "gold.csv")["gold"]) == list(made.gold)
    assert list(pd.read_csv(out / "test_gold.csv")["gold"]) == list(made.gold_test)
    assert len(pd.read_csv(out / "volunteers.csv")) == 3443
    assert (out / "pictures.png").stat().st_size > 10_000
    assert "pictures.png" in result.stderr + result.stdout


def test_nothing_is_replaced_without_force_and_nothing_is_left_after_a_mistake(
    run, tmp_path
):
    out = tmp_path / "sky"
    assert run("simulate", "glitches", "-o", out, "--size", "huge").exit_code == 2
    assert not out.exists()
    out.mkdir()
    (out / "gold.csv").write_text("mine")
    result = run("simulate", "glitches", "-o", out)
    assert result.exit_code == 2
    assert "gold.csv: this file exists already" in result.stderr
    assert (out / "gold.csv").read_text() == "mine"


def test_simulate_alone_is_as_before(run, tmp_path):
    result = run("simulate", "-o", tmp_path / "crowd.csv", "--items", 5)
    assert result.exit_code == 0, result.stderr
