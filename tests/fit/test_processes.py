"""A process that was forked after JAX was used gets a sentence, and does not hang."""

import os
import subprocess
import sys

import pytest

from wisecrowd import InputError
from wisecrowd.fit import processes


def test_the_process_that_used_jax_may_use_it_again():
    processes.check_not_forked()
    processes.check_not_forked()


def test_a_fork_of_a_process_that_used_jax_is_refused(monkeypatch):
    processes.check_not_forked()
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(InputError, match="'spawn'"):
        processes.check_not_forked()


def test_a_fork_before_jax_was_used_is_welcome(monkeypatch):
    monkeypatch.setattr(processes, "_used_in", None)
    processes.check_not_forked()
    assert processes._used_in == os.getpid()


FORKED = """
import os, signal, sys
import wisecrowd as wc

crowd = wc.simulate(20, 6, 2, answers_per_item=3, n_features=2, random_state=0)
model = wc.SVGPCR(n_inducing=3, max_epochs=1)
{before}

def refused(work):
    try:
        work()
    except wc.InputError as error:
        print(error, flush=True)
        return True
    return False

child = os.fork()
if child == 0:
    signal.alarm(60)  # a child that hangs ends
    {after}
    os._exit(0 if passed else 3)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""
REFUSED = """passed = (
        refused(lambda: model.fit(crowd.X, crowd.answers))
        and refused(lambda: model.predict_proba(crowd.X))
        and wc.BCC().fit(crowd.answers).labels_ is not None
    )"""
WELCOME = (
    "passed = model.fit(crowd.X, crowd.answers).predict_proba(crowd.X) is not None"
)


def forked(before, after):
    """Run code in a process, and other code in a fork of it; neither may hang."""
    code = FORKED.format(before=before, after=after)
    flags = ["-W", "ignore:os.fork"]  # JAX warns about it, in general terms
    return subprocess.run(
        [sys.executable, *flags, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_real_fork_after_a_fit_gets_a_sentence_and_does_not_hang():
    done = forked("model.fit(crowd.X, crowd.answers)", REFUSED)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("was forked from one that had already used JAX") == 2


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_real_fork_before_any_fit_can_fit():
    done = forked("", WELCOME)
    assert done.returncode == 0, done.stderr
