"""Hostile settings for all tests, and small crowds."""

import gc
import os
import tempfile
from pathlib import Path

import jax
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

import oracles
import shapes

shapes.install()  # before the first import of wisecrowd

from wisecrowd.annotations import Annotations  # noqa: E402

# Most of the time of the tests is compiling. XLA reads this when it first compiles, in
# this process and in those that tests start; an XLA that does not know a flag aborts.
if jax.__version_info__ >= (0, 8):
    os.environ.setdefault(
        "XLA_FLAGS",
        "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1",
    )

# For the processes that tests start.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

# What one process has compiled serves the others: the workers, and those that tests
# start. pytest-xdist's workers inherit the folder, which lives as long as the tests.
COMPILED = None
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    COMPILED = tempfile.TemporaryDirectory(prefix="compiled-")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = COMPILED.name
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
jax.config.update("jax_compilation_cache_dir", os.environ["JAX_COMPILATION_CACHE_DIR"])
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)

# Not by environment variables: a plugin of pytest may have imported JAX before.
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_disable_most_optimizations", True)  # compiling is what costs

# Two workers of pytest on two cores: more threads only wait for one another.
threadpool_limits(1)

OF_ONE_SHAPE = (
    "tests/fit/test_checkpoint.py",
    "tests/methods/svgpcr/test_estimator.py",
    "tests/methods/test_classifiers.py",
    "tests/methods/test_settings.py",
)
"""Files whose fits have the same shapes: what one has compiled serves the others."""


LONGEST = (
    *OF_ONE_SHAPE,
    "tests/methods/svgpcr/test_model.py",
    "tests/hostile/test_stopping.py",
    "tests/hostile/test_files.py",
    "tests/test_docs.py",
    "tests/methods/test_contract.py",
    "tests/maths/gp/test_class_posterior.py",
    "tests/methods/test_bcc.py",
    "tests/test_recovery.py",
    "tests/test_readme.py",
    "tests/io/test_read.py",
)
"""Files that take long: begun first, so that no worker waits for them at the end."""


def worker_group(nodeid):
    """Return what a worker of pytest-xdist runs as a whole: a file, or some files."""
    file = nodeid.split("::")[0]
    return "fits of one shape" if file in OF_ONE_SHAPE else file


def pytest_collection_modifyitems(items):
    """Put the longest files first."""
    place = {file: i for i, file in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.nodeid.split("::")[0], len(place)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep a file's tests on one worker: models are fitted and compiled once."""
    if config.getoption("dist") != "load":  # another way was asked for
        return None
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # the order is ours: see LONGEST
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = worker_group
    return scheduler


def pytest_collection_finish():
    """Leave what lives until the end to itself: searching it all again takes long."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def pytest_unconfigure():
    gc.unfreeze()  # otherwise the bindings of JAX report leaks at the exit


def pytest_configure(config):
    shapes.Turn.every_call = "not slow" not in config.option.markexpr


def pytest_runtest_logstart():
    shapes.Turn.number += 1


settings.register_profile(
    "wisecrowd",
    deadline=None,  # the first call compiles, and the machine may be busy
    max_examples=int(os.environ.get("WISECROWD_EXAMPLES", "12")),  # 50 by test-all
    derandomize=True,  # the same examples for everyone
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("wisecrowd")


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real data sets, or a skip."""
    folder = os.environ.get("WISECROWD_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("no data: set WISECROWD_DATA to the folder that holds it")
    return Path(folder)


@pytest.fixture(scope="session")
def real_crowd(data_folder):
    """From a name to (annotations, gold Series) of a label-only crowd."""

    def read(name):
        folder = data_folder / "label-only" / name
        if not folder.is_dir():
            pytest.skip(f"no {name} among the data")
        gold = pd.read_csv(folder / "gold.csv").set_index("item")["gold"]
        return Annotations.from_frame(pd.read_csv(folder / "labels.csv")), gold

    return read


@pytest.fixture
def small_crowd():
    """Seven items, five annotators, three classes, four answers."""
    drawn = oracles.drawn_crowd(0)
    return Annotations.from_triples(
        drawn["item"],
        drawn["annotator"],
        drawn["label"],
        items=range(7),
        annotators=range(5),
        classes=range(3),
        answers=range(4),
    )
