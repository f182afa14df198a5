"""The registry: all methods, from their source files."""

import subprocess
import sys

import pytest

import wisecrowd as wc
from wisecrowd.registry import entries, method_name


def test_every_class_is_found_where_its_source_is():
    for name, entry in entries().items():
        kind = wc.METHODS[name]
        assert kind.method == entry.info
        assert kind is getattr(wc, kind.__name__)
    assert len(wc.METHODS) == len(wc.AGGREGATORS) + len(wc.CLASSIFIERS)


def test_names_are_known_without_importing_a_method():
    code = (
        "import sys; from wisecrowd.registry import METHODS; list(METHODS); "
        "METHODS.info('svgpcr'); "
        "heavy = {'jax', 'numpy', 'pandas', 'sklearn'} & {*sys.modules}; "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_method_of_another_kind_is_not_there():
    assert "svgpcr" not in wc.AGGREGATORS
    with pytest.raises(KeyError):
        wc.AGGREGATORS["svgpcr"]
    with pytest.raises(KeyError):
        wc.CLASSIFIERS.info("bcc")


def test_a_citation_is_the_same_for_a_model_its_class_and_its_name():
    assert wc.cite(wc.BCC()) == wc.cite(wc.BCC) == wc.cite("bcc")
    assert "@software{wisecrowd" in wc.cite("majority-vote")


def test_an_unknown_name_is_a_sentence():
    with pytest.raises(wc.InputError, match="Did you mean 'glad'"):
        method_name("gladd")
