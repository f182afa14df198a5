"""``reproduce mnist`` on a tiny crowd: digits of 8 x 8 pixels in frames of 28 x 28."""

import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from wisecrowd.datasets import load_digits_crowd
from wisecrowd.experiments.mnist import EXPERIMENT, fits, tables
from wisecrowd.experiments.parts import write_part
from wisecrowd.experiments.reproduction import _write
from wisecrowd.experiments.runner import Rows, run


def framed(X):
    pixels = np.zeros((len(X), 28, 28), np.float32)
    pixels[:, 10:18, 10:18] = X.reshape(-1, 8, 8)
    return pixels.reshape(len(X), -1)


def digits(random_state=0):
    data = load_digits_crowd(random_state=random_state)
    return replace(data, X=framed(data.X), X_test=framed(data.X_test))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """All jobs of the tiny size, in this process."""
    folder = tmp_path_factory.mktemp("mnist")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fits, "load_mnist", digits)
        return run(fits.jobs("tiny", (), ()), folder, apart=False)


def test_every_part_is_made_from_the_rows(rows, tmp_path):
    for part in EXPERIMENT.parts:
        files = write_part(part, rows, tmp_path)
        assert files, part.name
        assert all(file.stat().st_size > 0 for file in files)


def test_without_rows_there_are_no_parts(tmp_path):
    for part in EXPERIMENT.parts:
        assert write_part(part, Rows(tmp_path), tmp_path) == []


def test_a_page_keeps_what_the_rows_do_not_have(rows, tmp_path):
    page = tmp_path / "page.md"
    others = "## LIGO: Gaussian processes and networks\n\n### All scores\n\n.92\n"
    page.write_text(f"# Old\n\n{others}")
    some = Rows(tmp_path)
    some.rows, some.folder = dict(rows.rows), rows.folder
    _write([EXPERIMENT], some, page)
    whole = page.read_text()
    assert whole.startswith("# The paper, reproduced")
    assert whole.endswith(others)
    assert "Kept from" not in whole
    keys = [key for key, row in some.rows.items() if row["experiment"] == "mnist-epoch"]
    for key in keys:
        del some.rows[key]
    _write([EXPERIMENT], some, page)
    said = " Kept from an earlier run: Cost of an epoch."
    assert page.read_text().replace(said, "").count("\n") == whole.count("\n")
    assert said in page.read_text()


def test_rows_that_were_copied_without_arrays_keep_the_figures_of_the_page(
    rows, tmp_path
):
    page, copied = tmp_path / "page.md", Rows(tmp_path)
    copied.rows = rows.rows
    _write([EXPERIMENT], rows, page)
    whole = page.read_text()
    _write([EXPERIMENT], copied, page)
    assert "Kept from an earlier run: " in page.read_text()
    said = (
        page.read_text().partition(" Kept from an earlier run: ")[2].partition("\n")[0]
    )
    assert page.read_text().replace(f" Kept from an earlier run: {said}", "") == whole


def test_a_row_has_the_scores_of_new_digits_labels_and_annotators(rows):
    found = tables.of_tables(rows).iloc[0]
    assert len(found["test_accuracy_of"]) == 10
    assert 0 <= found["test_calibration_error"] <= 1
    assert found["wrong_labels"] == round((1 - found["label_accuracy"]) * 120)
    assert found["largest_variance"] <= 0.25
    arrays = rows.arrays(found["arrays"])
    assert arrays["confusion"].shape == arrays["true_confusion"].shape == (5, 10, 10)
    assert arrays["inducing"].shape == (4, 784)


def test_the_paper_stands_beside_ours(rows):
    table = tables.summary(rows).set_index("method")
    assert table.loc["paper: SVGPCR", "accuracy"] == ".9657"
    assert table.loc["paper: SVGPCR", "wrong labels"] == 20
    assert "robust max" in table.index
    assert tables.labels(rows)["method"].tolist() == ["paper", "robust max"] * 2


def test_the_papers_means_over_classes_are_its_scores_of_all_digits():
    shares = np.array([980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]) / 1e4
    for score in ("test_accuracy", "test_mean_likelihood"):
        for numbers in tables.SCORES[score].values():
            assert shares @ numbers[:-1] == pytest.approx(numbers[-1], abs=2e-4)


def test_tables_are_of_the_largest_size_that_was_run(tmp_path):
    rows = Rows(tmp_path)
    rows.rows = {
        str(n): {
            "experiment": "mnist", "method": "default", "seed": 0, "note": "",
            "settings": {"n_train": n, "n_inducing": 9}, "scores": {},
        }
        for n in (1000, 60_000)
    }  # fmt: skip
    assert tables.fits(rows)["n_train"].tolist() == [60_000]


@pytest.mark.parametrize("size", ["small", "medium", "full"])
def test_a_size_has_no_job_twice_and_all_jobs_of_fewer_methods(size):
    jobs = [job.key for job in fits.jobs(size, (), ())]
    assert len(set(jobs)) == len(jobs)
    some = [job.key for job in fits.jobs(size, (), ("robust-max",))]
    assert set(some) < set(jobs)


def test_the_full_size_is_the_papers_with_five_seeds():
    jobs = [job for job in fits.jobs("full", (), ()) if job.experiment == "mnist"]
    assert all(job.settings["n_train"] == 60_000 for job in jobs)
    table = pd.DataFrame([{**job.settings, **job._asdict()} for job in jobs])
    seeds = table.groupby(["method", "n_inducing"])["seed"].nunique()
    assert (seeds.xs(100, level="n_inducing") == 5).all()
    assert seeds["robust-max", 500] == 5
    assert seeds["published", 500] == 1  # it takes an hour


@pytest.mark.slow
@pytest.mark.skipif("WISECROWD_DATA" not in os.environ, reason="needs MNIST")
def test_the_small_size_learns_the_digits(tmp_path):
    from wisecrowd.experiments.reproduction import reproduced

    files = reproduced(["mnist"], tmp_path, apart=False)
    assert tmp_path / "README.md" in files
    table = tables.of_tables(Rows(tmp_path)).set_index("method")
    assert (
        table.loc[["svgp-gold", "robust-max", "default"], "test_accuracy"] > 0.7
    ).all()
    assert (table["label_accuracy"] > 0.9).all()
