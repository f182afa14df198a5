"""A process that was forked after JAX was used gets a sentence, and does not hang."""

import os

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
