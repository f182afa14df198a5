"""Every hostile or unusual file gives one sentence, or what it means."""

import importlib.util
import sys
from pathlib import Path

import pytest

from wisecrowd._checks import InputError


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
