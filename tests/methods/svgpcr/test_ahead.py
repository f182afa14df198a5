"""The steps are compiled beside the start of a fit, once, and nothing else changes."""

import logging

import jax
import numpy as np
import pytest

import wisecrowd as wc


@pytest.fixture
def compiled(caplog):
    """From the name of a function to the threads that have compiled it."""

    def threads_of(name):
        return [
            record.threadName
            for record in caplog.records
            if record.getMessage().startswith(
                f"Finished XLA compilation of jit({name})"
            )
        ]

    jax.config.update("jax_log_compiles", True)  # in all threads
    try:
        with caplog.at_level(logging.WARNING, "jax"):
            yield threads_of
    finally:
        jax.config.update("jax_log_compiles", False)


@pytest.mark.parametrize("n_items", [70, 35])  # inducing points: k-means, all items
def test_every_function_is_compiled_once_and_ahead(n_items, compiled):
    crowd = wc.simulate(n_items, 5, 2, n_features=3, random_state=0)
    settings = {"max_epochs": 3, "batch_size": 33, "networks": False}
    wc.SVGPCR(n_inducing=40, **settings).fit(crowd.X, crowd.answers)
    for name in ("steps", "visited", "bound"):
        (thread,) = compiled(name)
        assert thread != "MainThread"


def test_what_fails_at_the_start_is_said_when_the_compiler_is_done(monkeypatch):
    from wisecrowd.methods.svgpcr import train

    def broken(*_):
        raise RuntimeError("k-means")

    monkeypatch.setattr(train, "inducing_points", broken)
    with pytest.raises(RuntimeError, match="k-means"):
        wc.SVGPCR(n_inducing=4).fit(np.eye(6), np.eye(6, 2).astype(int))
