"""Ctrl-C and SIGTERM end a command at any moment, with a sentence and an exit code."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import wisecrowd as wc
from wisecrowd.results.run_folder import FILES

pytestmark = [  # a test forks beside JAX's threads; the child runs a new program
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SLOW = pytest.mark.slow
SRC = str(Path(wc.__file__).parents[1])
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Files of answers and features."""
    folder = tmp_path_factory.mktemp("data")
    crowd = wc.simulate(400, 9, 3, n_features=4, random_state=0)
    wc.write_annotations(crowd.answers, folder / "answers.csv")
    table = pd.DataFrame(crowd.X).add_prefix("x")
    table.assign(item=crowd.answers.items).to_parquet(folder / "features.parquet")
    return folder


def started(*arguments, **how):
    # A background job of a script ignores interruptions unless it is told to.
    code = (
        "import signal, runpy; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        "runpy.run_module('wisecrowd', run_name='__main__')"
    )
    environment = os.environ | {"PYTHONPATH": SRC}
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **how,
    )


def fit(data, out, *more):
    inputs = (data / "answers.csv", "--features", data / "features.parquet")
    return started("fit", *inputs, "--out", out, "--inducing", 20, *more)


def stopped(process, number=signal.SIGINT):
    """Return exit code, seconds until the end, and what was said."""
    began = time.monotonic()
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    return process.returncode, time.monotonic() - began, said


def running_fit(data, out, moment):
    """Return a fit that is still running so many seconds after its start.

    On a machine with other work a fit may be faster than the one that was timed. Then
    an earlier moment is taken: a fit that has ended cannot be interrupted.
    """
    process = fit(data, out)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        return process
    assert process.returncode == 0
    process.communicate()
    shutil.rmtree(out)
    return running_fit(data, out, 0.9 * moment)


def check_moments(data, folder, moments):
    """Interrupt a fit at these seconds after its start; return codes and delays."""
    codes, delays = [], []
    for i, moment in enumerate(moments):
        out = folder / str(i)
        code, delay, said = stopped(running_fit(data, out, moment))
        codes.append(code)
        delays.append(delay)
        if code == 130:
            assert re.search("interrupted; (nothing was|written)", said), said
            assert "Traceback" not in said
            whole = sorted(os.listdir(out)) if out.exists() else []
            assert whole in ([], sorted(FILES))
    return codes, delays


def seconds_of_a_fit(data, folder):
    began = time.monotonic()
    process = fit(data, folder / "whole")
    process.communicate(timeout=300)
    assert process.returncode == 0
    return time.monotonic() - began


@SLOW
def test_ctrl_c_at_60_moments_is_130_60_times(data, tmp_path):
    whole = seconds_of_a_fit(data, tmp_path)
    moments = np.linspace(0.15, 0.97 * whole, 60)
    codes, delays = check_moments(data, tmp_path, moments)
    sys.stdout.write(f"fit {whole:.1f} s; {codes}; longest {max(delays):.2f} s\n")
    assert codes == [130] * 60
    assert max(delays) < 2


def test_ctrl_c_ends_a_fit_wherever_it_is(data, tmp_path):
    codes, _ = check_moments(data, tmp_path, [1.0, 3.0])
    assert codes == [130, 130]


WAITING = """
import sys, time
sys.argv = ["wisecrowd", "simulate", "--out", sys.argv[1]]
import wisecrowd.simulation.crowds as crowds
from wisecrowd.__main__ import main
def simulate(*_, **__):
    print("in", flush=True)
    {work}
crowds.simulate = simulate
main()
"""
WORK = {
    "sleeping": "time.sleep(60)",
    "busy": "while True: pass",
    "in C": "import numpy as np; a = np.ones((3000, 3000))\n    while True: a @ a",
    "swallowing": (
        "while True:\n        try: time.sleep(60)\n        except BaseException: pass"
    ),
    "half a file": (
        "from wisecrowd._files import replacing; from pathlib import Path\n"
        "    with replacing(Path(sys.argv[3])) as t: t.write_text('x'); time.sleep(60)"
    ),
    "wrote": (
        "from wisecrowd._files import write_whole; from pathlib import Path\n"
        "    write_whole(Path(sys.argv[3]), b'x'); print(flush=True); time.sleep(60)"
    ),
}


# One handler serves both signals: what differs by the work is tried with one of them.
SAME = ("in C", "swallowing", "wrote")
EASY = ("sleeping", "busy")  # "in C" and "swallowing" are harder


@pytest.mark.parametrize(
    ("work", "number"),
    [
        pytest.param(
            work,
            number,
            marks=SLOW if work in EASY or (work in SAME and number == 15) else (),
        )
        for work in WORK
        for number in CODES
    ],
)
def test_a_signal_ends_the_process_whatever_it_does(work, number, tmp_path):
    path = tmp_path / "a.csv"
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING.format(work=WORK[work]), str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": SRC},
        # As a shell starts a command: a job of a script may ignore signals.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    assert process.stdout.readline() == "in\n"
    if work == "wrote":
        process.stdout.readline()
    time.sleep(0.1)
    code, seconds, said = stopped(process, number)
    assert code == CODES[number]
    assert seconds < 5
    word = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}[number]
    written = f"written before: {path}." if work == "wrote" else "nothing was written."
    assert said == f"{word}; {written}\n"
    assert os.listdir(tmp_path) == (["a.csv"] if work == "wrote" else [])


def test_an_interrupted_fit_names_its_checkpoint(data, tmp_path):
    kept = tmp_path / "kept"
    more = ("--checkpoint", kept, "--set", "checkpoint_seconds=0", "--set", "tol=0")
    more += ("--set", "dependence=0.1")
    process = fit(data, tmp_path / "run", *more, "--set", "max_epochs=100000")
    for _ in range(600):
        if kept.exists():
            break
        time.sleep(0.1)
    code, _, said = stopped(process)
    assert code == 130
    assert said.endswith(f"interrupted; written before: {kept}.\n")
    assert os.listdir(tmp_path) == ["kept"]


def test_in_python_ctrl_c_is_an_exception_as_usual():
    code = "import wisecrowd.cli, signal; print(signal.getsignal(signal.SIGINT))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": SRC},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert "default_int_handler" in found.stdout


def test_an_unforeseen_error_is_a_sentence_and_a_file(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    import wisecrowd.io.read
    from wisecrowd.cli import app

    def broken(*_, **__):
        raise KeyError("what nobody foresaw")

    monkeypatch.setattr(wisecrowd.io.read, "read_annotations", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["wisecrowd", "aggregate", "secret.csv", "-q"])
    result = CliRunner().invoke(app, ["aggregate", "secret.csv", "-q"])
    assert result.exit_code == 70
    assert result.stderr.startswith("error: aggregate: something went wrong")
    assert "(KeyError). Please report it" in result.stderr
    (file,) = tmp_path.glob("wisecrowd-error-*.txt")
    assert result.stderr.rstrip().endswith(str(file))
    text = file.read_text()
    assert "KeyError: 'what nobody foresaw'" in text
    assert "command: wisecrowd aggregate -q\n" in text
    assert "numpy 2" in text
    assert "secret.csv" not in text
