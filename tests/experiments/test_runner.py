import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from wisecrowd._checks import InputError
from wisecrowd.experiments import runner
from wisecrowd.experiments.runner import ROWS, Job, Outcome, Rows, run
from wisecrowd.results.limits import measured


def doubled(method, seed, *, n, ran=None):
    if ran is not None:
        ran.append(seed)
    with measured() as cost:
        pixels = np.arange(n)
    return Outcome({"accuracy": np.float64(0.5), "n": 2 * n}, cost, {"pixels": pixels})


def slow(method, seed):
    time.sleep(60)


def broken(method, seed):
    raise ZeroDivisionError("division by zero")


def ended(method, seed):
    os._exit(3)


def refused(method, seed):
    raise InputError("this crowd has no items.")


def jobs(n_seeds, task=doubled, **settings):
    return [Job("toy", "double", seed, settings, task) for seed in range(n_seeds)]


def test_a_row_says_what_was_run_on_what_at_which_cost_and_what_came_out(tmp_path):
    run(jobs(1, n=3), tmp_path, apart=False)
    (row,) = map(json.loads, (tmp_path / ROWS).read_text().splitlines())
    assert row["experiment"] == "toy"
    assert row["settings"] == {"n": 3}
    assert row["scores"] == {"accuracy": 0.5, "n": 6}
    assert {"jax", "numpy", "python", "wisecrowd"} <= set(row["versions"])
    assert {"commit", "machine", "date", "seconds", "megabytes"} <= set(row)


def test_a_row_that_is_there_is_not_run_again(tmp_path):
    ran: list[int] = []
    task = lambda *a, n: doubled(*a, n=n, ran=ran)  # noqa: E731
    run(jobs(2, task, n=3), tmp_path, apart=False)
    run(jobs(4, task, n=3), tmp_path, apart=False)
    assert ran == [0, 1, 2, 3]
    run(jobs(1, task, n=4), tmp_path, apart=False)
    assert ran == [0, 1, 2, 3, 0]


def test_a_run_goes_on_after_a_line_that_a_kill_has_cut(tmp_path):
    run(jobs(2, n=3), tmp_path, apart=False)
    whole = (tmp_path / ROWS).read_bytes()
    (tmp_path / ROWS).write_bytes(whole[:-20])
    assert len(Rows(tmp_path).rows) == 1
    assert len(run(jobs(3, n=3), tmp_path, apart=False).rows) == 3
    assert len(Rows(tmp_path).rows) == 3


def test_arrays_are_found_by_the_name_in_their_row(tmp_path):
    rows = run(jobs(2, n=3), tmp_path, apart=False)
    table = rows.frame("toy")
    assert table["n"].tolist() == [6, 6]
    assert rows.arrays(table["arrays"][1])["pixels"].tolist() == [0, 1, 2]


@pytest.fixture
def found_by_children(monkeypatch):
    """A child process finds this module by its name."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2])


@pytest.mark.usefixtures("found_by_children")
def test_each_job_can_have_a_process_of_its_own(tmp_path):
    said: list[str] = []
    (row,) = run(jobs(1, n=3), tmp_path, say=said.append).rows.values()
    assert row["scores"]["n"] == 6
    assert said[0] == "1/1 toy: double, n=3, seed 0"
    assert "accuracy 0.5" in said[1]


@pytest.mark.parametrize(
    ("task", "note"),
    [
        (slow, "no result after 0.2 seconds."),
        pytest.param(
            broken,
            "failed: ZeroDivisionError: division by zero",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ended, "failed: its process ended with code 3.", marks=pytest.mark.slow
        ),
    ],
)
@pytest.mark.usefixtures("found_by_children")
def test_a_job_without_a_result_leaves_a_note(task, note, tmp_path):
    (row,) = run(jobs(1, task), tmp_path, limit=0.2).rows.values()
    assert row["note"] == note
    assert [row["note"] for row in Rows(tmp_path).rows.values()] == [note]
    assert Rows(tmp_path).frame().empty


def told(method, seed, *, path):
    Path(path).write_text(str(os.getpid()))
    time.sleep(600)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks for a process")
def test_a_job_ends_when_its_run_is_killed(tmp_path):
    script = (
        "import sys; from pathlib import Path; sys.path.append(sys.argv[2])\n"
        "from test_runner import *\n"
        "if __name__ == '__main__':\n"
        "    path = Path(sys.argv[1], 'pid')\n"
        "    run(jobs(1, told, path=str(path)), Path(sys.argv[1]))\n"
    )
    (tmp_path / "script.py").write_text(script)
    command = [sys.executable, tmp_path / "script.py", tmp_path, Path(__file__).parent]
    with subprocess.Popen(command) as parent:
        until((tmp_path / "pid").is_file)
        parent.kill()
    job = int((tmp_path / "pid").read_text())
    until(lambda: not Path(f"/proc/{job}").is_dir())


def until(happened, seconds=120):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_only_a_job_that_failed_is_run_again(tmp_path):
    run(jobs(1, refused), tmp_path, apart=False)
    assert "no items" in next(iter(Rows(tmp_path).rows.values()))["note"]
    (row,) = run(
        jobs(1, lambda *a: doubled(*a, n=1)), tmp_path, apart=False
    ).rows.values()
    assert not row["note"]
    assert len(Rows(tmp_path).frame()) == 1


def test_a_full_disk_is_one_sentence_and_keeps_the_rows(tmp_path, monkeypatch):
    run(jobs(1, n=3), tmp_path, apart=False)
    before = (tmp_path / ROWS).read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runner.os, "fsync", full)
    with pytest.raises(InputError, match=r"No space left on device.* 1 rows are kept"):
        run(jobs(2, n=3), tmp_path, apart=False)
    assert (tmp_path / ROWS).read_bytes() == before


def test_a_file_that_has_no_rows_is_refused(tmp_path):
    (tmp_path / ROWS).write_text("item,annotator\n")
    with pytest.raises(InputError, match="line 1 is not a row"):
        run(jobs(1, n=3), tmp_path)


def test_rows_are_added_to_those_of_a_page(tmp_path):
    kept = tmp_path / "page.jsonl"
    first = run(jobs(2, n=3), tmp_path / "first", apart=False).added_to(kept)
    assert len(first.rows) == 2
    second = run(jobs(1, n=4), tmp_path / "second", apart=False).added_to(kept)
    assert second.folder == tmp_path / "second"
    assert second.frame()["n"].tolist() == [6, 6, 8]
    again = run(jobs(1, n=3), tmp_path / "third", apart=False)
    again.rows[jobs(1, n=3)[0].key]["note"] = "newer"
    assert len(again.added_to(kept).rows) == 3  # the newer row stands for the older
    assert [json.loads(line)["note"] for line in kept.read_text().splitlines()] == [
        "newer",
        "",
        "",
    ]
