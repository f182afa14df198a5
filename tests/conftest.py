"""Hostile settings for all tests, and small crowds."""

import os
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

import oracles
from wisecrowd.data.annotations import Annotations

# Read by JAX when a test first imports it; the label-only tests never do.
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")
os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")

# Two workers of pytest on two cores: more threads only wait for one another.
threadpool_limits(1)

settings.register_profile(
    "wisecrowd",
    deadline=None,  # the first call compiles, and the machine may be busy
    max_examples=25,
    derandomize=True,  # the same examples for everyone
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("wisecrowd")


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real data sets, or a skip."""
    beside = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"
    folder = Path(os.environ.get("WISECROWD_DATA") or beside)
    if not folder.is_dir():
        pytest.skip("no data: set WISECROWD_DATA to the folder that holds it")
    return folder


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
