"""The experiments of our own documentation: each runs on a tiny crowd."""

import numpy as np
import pandas as pd
import pytest

import wisecrowd as wc
from wisecrowd.annotations.dataset import Dataset
from wisecrowd.experiments import (
    binary_crowds,
    crowds,
    lost_classes,
    new_items,
    one_method,
    scalability,
    simulated_crowds,
)
from wisecrowd.experiments.parts import figure_style
from wisecrowd.experiments.runner import Rows
from wisecrowd.experiments.scoring import fit, scored


@pytest.fixture
def data():
    made = wc.simulate(60, 5, 3, n_features=2, answers_per_item=3, random_state=0)
    answers = made.answers.subset(items=made.answers.items[:40])
    return Dataset(
        name="tiny", answers=answers, classes=made.classes, X=made.X[:40],
        gold=pd.Series(made.truth[:40], index=answers.items), X_test=made.X[40:],
        gold_test=made.truth[40:],
    )  # fmt: skip


@pytest.mark.parametrize("to", ["crowd", "votes"])
def test_a_method_is_fitted_to_the_crowd_or_to_its_votes(data, to):
    model = wc.Raykar()
    assert fit(model, data, to=to).seconds > 0
    found = scored(model, data)
    assert len(found["test_accuracy_of"]) == 3
    assert found["wrong_labels"] == round((1 - found["label_accuracy"]) * 40)
    votes = wc.MajorityVote(random_state=0).fit(data.answers).labels_
    assert (model.labels_ == votes).all() == (to == "votes")


def test_a_method_without_features_is_scored_on_a_crowd_with_features(data):
    model = wc.MajorityVote(random_state=0)
    fit(model, data)
    found = scored(model, data)
    assert 0 < found["label_accuracy"] <= 1
    assert "test_accuracy" not in found


def test_one_method_prints_the_means_of_its_seeds(capsys, monkeypatch, data):
    monkeypatch.setattr(one_method, "data_of", lambda name, seed: data)
    one_method.main(["labelme", "raykar", "l2=3", "--seeds", "2"])
    said = capsys.readouterr()
    assert "test_accuracy" in said.out
    assert "2/2 one-method: raykar, data=labelme, to=crowd" in said.err
    assert "l2=3" in said.err


def test_settings_without_a_method_are_those_of_svgpcr(capsys, monkeypatch, data):
    seen = []

    def made(method, seed, settings, published):
        seen.append((method, dict(settings), published))
        return wc.Raykar()

    monkeypatch.setattr(one_method, "data_of", lambda name, seed: data)
    monkeypatch.setattr(one_method, "made", made)
    one_method.main(["labelme", "n_inducing=5", "--published"])
    assert seen == [("svgpcr", {"n_inducing": 5}, True)]


def test_the_convolutional_network_is_chosen_by_a_word():
    model = one_method.made("svgpcr", 1, {"kernel": "images"}, published=False)
    assert model.kernel.network is one_method.IMAGES
    assert model.random_state == 1


def test_binary_crowds_compares_processes_with_lines(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(binary_crowds, "N_TEST", 50)
    methods = ["--methods", "raykar", "rffgpcr", "--sizes", "60", "--sets", "rings"]
    binary_crowds.main([*methods, "--seeds", "1", "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert "AUC on moons and rings above that of the best regression (raykar)" in said
    assert "rffgpcr in 1 of 1" in said
    assert len(Rows(tmp_path).frame("binary-crowds")) == 4


def test_a_simulated_crowd_has_as_many_new_items():
    data = simulated_crowds.drawn(2)
    assert len(data.X) == len(data.X_test) == len(data.answers.items)
    assert data.confusion.shape[0] == data.answers.codes.n_annotators


def test_scalability_doubles_the_items_until_the_limit(tmp_path, capsys, monkeypatch):
    def job_in_here(jobs, folder, **_):
        return run_here(jobs, folder, apart=False)

    run_here = scalability.run
    monkeypatch.setattr(scalability, "run", job_in_here)
    monkeypatch.setattr(scalability, "N_TEST", 50)
    few = ["--methods", "raykar", "--first", "60", "--most", "120"]
    scalability.main([*few, "--out", str(tmp_path)])
    assert Rows(tmp_path).frame()["n_items"].tolist() == [60, 120]
    assert (tmp_path / "scalability.png").stat().st_size > 1000


def test_the_figure_of_times_names_every_method():
    rows = pd.DataFrame(
        {"method": ["a", "a", "b"], "n_items": [10, 20, 10], "seconds": [1.0, 2.0, 1.0]}
    )
    with figure_style():
        drawn = scalability.figure(rows, "seconds")
        assert {text.get_text() for text in drawn.axes[0].texts} == {"a", "b"}


def test_crowds_of_independent_annotators_are_compared(capsys):
    crowds.main(["independent", "--seeds", "1"])
    said = capsys.readouterr().out
    assert said.startswith("4 crowds: votes")
    numbers = [float(word.strip(",")) for word in said.split() if word[:2] == "0."]
    assert np.argmin(numbers) != 0


def test_new_items_are_predicted_by_folds_where_there_is_no_test_set(
    tmp_path, capsys, monkeypatch, data
):
    whole = Dataset(
        name="tiny", answers=data.answers, classes=data.classes, X=data.X,
        gold=data.gold[:30],
    )  # fmt: skip
    parts = list(new_items.parts_of(whole, 0))
    assert len(parts) == 5
    assert sum(len(part.gold_test) for part in parts) == 30
    for part in parts:
        assert len(part.X) == len(part.answers.items) == 32
        assert len(part.X_test) == len(part.gold_test)

    def job_in_here(jobs, folder, **_):
        return run_here(jobs, folder, apart=False)

    run_here = new_items.run
    monkeypatch.setattr(new_items, "run", job_in_here)
    monkeypatch.setattr(new_items, "data_of", lambda name: whole)
    few = ["--methods", "raykar,crowd-em", "--crowds", "labelme", "--seeds", "1"]
    new_items.main([*few, "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert "crowd-em" in said
    assert "rank" in said


def test_lost_classes_are_counted_one_by_one(capsys, monkeypatch):
    made = lost_classes.simulated(0)
    first = made.classes[0]
    everything_first = np.full(len(made.answers.items), first)
    assert first not in lost_classes.lost(made.answers, everything_first)
    assert lost_classes.lost(made.answers, everything_first)
    assert not lost_classes.lost(made.answers, made.truth)
    monkeypatch.setattr(lost_classes, "SETTINGS", lost_classes.SETTINGS[:1])
    monkeypatch.setattr(wc, "SVGPCR", lambda *_, **__: wc.Raykar())
    lost_classes.main(["--crowds", "1"])
    assert "1 fits, 0 lost a class" in capsys.readouterr().out
