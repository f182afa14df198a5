"""``wisecrowd reproduce``: what can go wrong is a sentence."""

import pooch
import pytest

from wisecrowd.experiments.runner import Job, Outcome
from wisecrowd.experiments.runner import run as run_jobs
from wisecrowd.results.limits import Cost


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cifar",), "'cifar' is not one of 'mnist'"),
        (("mnist", "--size", "huge"), "--size 'huge' is not one of 'small', 'medium'"),
        (("mnist", "--methods", "bcc"), "'bcc' is not one of 'svgp-gold'"),
        (("mnist", "--methods", ""), "'' is not one of 'svgp-gold'"),
        (("mnist", "--seeds", "0"), "greater than or equal to 1"),
        (("mnist", "--redraw"), "has no rows with a result. Run it without --redraw."),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_no_folder(arguments, said, run, tmp_path):
    result = run("reproduce", *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_the_folder_is_one_sentence(run, tmp_path):
    (tmp_path / "out").write_text("mine")
    result = run("reproduce", "mnist", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "is a file. Give the name of a folder." in result.stderr


def test_a_missing_data_set_is_one_sentence(run, tmp_path, monkeypatch):
    def offline(*_, **__):
        raise OSError("no network")

    monkeypatch.delenv("WISECROWD_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setattr(pooch, "retrieve", offline)
    result = run("reproduce", "mnist", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "Set the environment variable WISECROWD_DATA" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_page_is_drawn_again_from_the_rows(run, tmp_path):
    settings = {"n_train": 9, "n_inducing": 5}
    job = Job("mnist-epoch", "default", 0, settings, epoch)
    run_jobs([job], tmp_path / "out", apart=False)
    page = tmp_path / "docs" / "reproducing.md"
    page.parent.mkdir()
    result = run(
        "reproduce", "mnist", "-o", tmp_path / "out", "--redraw", "--page", page
    )
    assert result.exit_code == 0, result.stderr
    assert "images/reproducing/mnist-epochs.png" in page.read_text()
    assert (page.parent / "images/reproducing/mnist-epochs.png").is_file()


def epoch(method, seed, **settings):
    scores = {"epoch_seconds": 2.0, "test_seconds": 1.0}
    more = {"batch_size": 5, "dtype": "float32", "device": "cpu"}
    return Outcome({**scores, **more}, Cost())
