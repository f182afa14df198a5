"""``wisecrowd report``: the page about a run."""

import os
import warnings

import pytest

import wisecrowd as wc


@pytest.fixture
def folder(run, answers, tmp_path):
    assert run("aggregate", answers, "--out", tmp_path / "run", "-q").exit_code == 0
    return tmp_path / "run"


def test_the_page_of_a_run_is_written_again_the_same(run, folder, tmp_path):
    first = (folder / "report.html").read_text("utf-8")
    result = run("report", folder)
    assert result.exit_code == 0, result.stderr
    assert f"Wrote {folder / 'report.html'}" in result.stderr
    assert (folder / "report.html").read_text("utf-8") == first
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the run is not mixed
        wc.load(folder)
    page = tmp_path / "a new folder" / "page.html"
    assert run("report", folder, "--out", page).exit_code == 0
    assert page.read_text("utf-8") == first


def test_a_file_that_exists_is_replaced_by_force_only(run, folder, tmp_path):
    (tmp_path / "page.html").write_text("mine")
    result = run("report", folder, "-o", tmp_path / "page.html")
    assert result.exit_code == 2
    assert "exists already" in result.stderr
    again = run("report", folder, "-o", tmp_path / "page.html", "--force", "-q")
    assert (again.exit_code, again.stderr) == (0, "")
    result = run("report", folder, "-o", tmp_path / "page.pdf")
    assert "only HTML can be written. End the name in .html." in result.stderr


def test_images_are_on_the_page(run, folder, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/7.png").write_bytes(b"\x89PNG small")
    page = tmp_path / "page.html"
    result = run("report", folder, "--images", tmp_path / "photos", "-o", page)
    assert result.exit_code == 0, result.stderr
    assert '"images":{"7":"data:image/png;base64,' in page.read_text("utf-8")


def test_a_limit_for_settled_items_is_an_option(run, answers, tmp_path):
    out = ("--out", tmp_path / "run", "-q")
    assert run("aggregate", answers, "--settled-at", 0.5, *out).exit_code == 0
    assert "at most 50 % of" in (tmp_path / "run/report.html").read_text("utf-8")


@pytest.mark.parametrize("at", ["2", "nan", "-0.1"])
@pytest.mark.parametrize("command", ["aggregate", "fit"])
def test_a_wrong_limit_is_told_before_anything_is_read(command, at, run, tmp_path):
    more = ("--features", tmp_path / "none.csv") * (command == "fit")
    result = run(command, tmp_path / "none.csv", *more, "--settled-at", at)
    assert result.exit_code == 2
    assert f"--settled-at {float(at)} must be a share" in result.stderr


@pytest.mark.parametrize("name", ["findings.json", "labels.parquet", "ledger.parquet"])
@pytest.mark.parametrize("command", ["report", "review"])
def test_a_pipe_in_place_of_a_table_does_not_hang(run, folder, name, command):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    result = run(command, folder)
    assert result.exit_code in (0, 2), result.stderr
    assert "Traceback" not in result.stderr
