"""Every hostile or unusual file gives one sentence, or what it means."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from wisecrowd._checks import InputError
from wisecrowd.io.features import read_features


def _inputs():
    """Import the table beside this file; `tests` alone is on the path."""
    path = Path(__file__).with_name("inputs.py")
    spec = importlib.util.spec_from_file_location("hostile_inputs", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["hostile_inputs"] = module
    spec.loader.exec_module(module)
    return module


inputs = _inputs()
CASES = {
    f"{kind}: {case.name}": case for kind, some in inputs.CASES.items() for case in some
}


@pytest.mark.parametrize("name", CASES)
def test_a_file_gives_a_sentence_or_what_it_means(name, tmp_path):
    case = CASES[name]
    path = inputs.write(case, tmp_path)
    if callable(case.wanted):
        assert case.wanted(case.read(path))
        return
    with pytest.raises(InputError, match=case.wanted) as caught:
        case.read(path)
    sentence = str(caught.value)
    assert sentence.startswith(str(path))
    assert len(sentence) < 1200
    assert "Traceback" not in sentence


def test_there_are_at_least_a_hundred_and_fifty_inputs():
    assert len(CASES) >= 150


@pytest.mark.parametrize("how", ["external", "virtual"])
def test_hdf5_reads_no_other_file(tmp_path, how):
    h5py = pytest.importorskip("h5py")
    secret, path = tmp_path / "secret", tmp_path / "features.h5"
    secret.write_bytes(np.arange(8.0).tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = np.arange(8.0).reshape(4, 2)
    with h5py.File(path, "w") as file:
        if how == "external":
            file.create_dataset("X", (4, 2), "f8", external=[(str(secret), 0, 64)])
        else:
            layout = h5py.VirtualLayout((4, 2), "f8")
            layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "x", (4, 2))
            file.create_virtual_dataset("X", layout)
    with pytest.raises(InputError, match="from another file"):
        read_features(path)
