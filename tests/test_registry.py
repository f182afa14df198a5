"""The methods list themselves: their files, the public names, what to cite."""

import ast
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from sklearn.utils import get_tags

import wisecrowd as wc
from wisecrowd import methods
from wisecrowd.base import Aggregator, BinaryClassifier, CrowdClassifier
from wisecrowd.registry import MethodInfo, Methods, entries, method_name

NAMES = [
    "bcc", "consensus", "dawid-skene", "ebcc", "glad", "majority-vote",
    "aggnet", "conal", "crowd-em", "crowd-layer", "gpep", "raykar", "rffgpcr",
    "svgpcr", "vffgpcr", "vgpcr", "yan", "svgp",
]  # fmt: skip
N_AGGREGATORS = 6
UNPUBLISHED = {"consensus", "majority-vote", "crowd-em"}
STUB = Path(wc.__file__).with_suffix(".pyi")
FILES = [module.name for module in pkgutil.iter_modules(methods.__path__)]


def public_names():
    """From every name in the stub to the module that it comes from."""
    found = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            found |= {name.asname: node.module for name in node.names}
    return found


def test_the_methods_have_their_names_and_those_of_answers_alone_come_first():
    assert list(wc.METHODS) == NAMES
    assert len(wc.METHODS) == len(NAMES)
    assert list(wc.AGGREGATORS) == NAMES[:N_AGGREGATORS]
    assert list(wc.CLASSIFIERS) == NAMES[N_AGGREGATORS:]
    with pytest.raises(KeyError, match="nonesuch"):
        wc.METHODS["nonesuch"]


@pytest.mark.parametrize("name", NAMES)
def test_a_method_says_what_it_is(name):
    kind = wc.METHODS[name]
    assert isinstance(kind.method, MethodInfo)
    assert kind.method.name == name
    assert kind.method.learns
    alone = kind.method.needs == "answers"
    assert issubclass(kind, Aggregator if alone else CrowdClassifier)
    assert (
        bool(kind.method.paper) is bool(kind.method.bibtex) is (name not in UNPUBLISHED)
    )


@pytest.mark.parametrize("file", FILES)
def test_every_file_of_the_methods_is_found_and_public(file):
    module = import_module(f"wisecrowd.methods.{file}")
    assert module.__all__
    stub = public_names()
    for name in module.__all__:
        kind = getattr(module, name)
        assert getattr(wc, name) is kind
        assert stub[name] == f"methods.{file}"
        if not isinstance(kind, type):  # wc.aggregate
            continue
        assert wc.METHODS[kind.method.name] is kind


def test_every_method_is_in_a_file_of_its_own_package():
    where = {kind.__module__.split(".")[2] for kind in wc.METHODS.values()}
    assert where == set(FILES)


def test_a_selection_of_methods_is_a_mapping():
    assert dict(Methods("labels")) == {"svgp": wc.SVGP}
    assert list(Methods("labels", "features")) == NAMES[N_AGGREGATORS:]


# -- the public names ----------------------------------------------------------------


def test_the_stub_names_what_the_package_offers():
    assert set(wc.__all__) == {*public_names(), "__version__"}
    assert set(wc.__all__) <= set(dir(wc))


@pytest.mark.parametrize("name", sorted(public_names()))
def test_only_what_is_a_module_is_one(name):
    submodule = public_names()[name] is None  # from . import datasets
    assert isinstance(getattr(wc, name), ModuleType) is submodule


def test_a_public_name_whose_class_is_missing_is_an_error_and_no_module(monkeypatch):
    monkeypatch.delattr("wisecrowd.methods.bcc.BCC")
    monkeypatch.delitem(vars(wc), "BCC", raising=False)  # where it was used before
    with pytest.raises(AttributeError, match="BCC"):
        wc.BCC  # noqa: B018


def test_a_name_that_is_not_there_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="Nonesuch"):
        wc.Nonesuch  # noqa: B018


# -- what to cite --------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_cite_returns_the_method_and_the_library(name):
    kind = wc.METHODS[name]
    assert wc.cite(kind) == wc.cite(kind())
    entries = [part for part in wc.cite(kind).split("@") if part]
    assert len(entries) == (1 if name in UNPUBLISHED else 2)
    assert entries[-1].startswith("software{wisecrowd,")
    assert wc.__version__ in entries[-1]
    for entry in entries:
        assert entry.count("{") == entry.count("}")
        assert "year = {" in entry


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


def test_a_method_to_cite_is_found_however_it_is_spelt_and_an_unknown_one_is_refused():
    assert wc.cite("Dawid_Skene") == wc.cite(wc.DawidSkene)
    with pytest.raises(wc.InputError, match="Did you mean 'bcc'"):
        wc.cite("bccc")


def test_an_unknown_name_is_a_sentence():
    with pytest.raises(wc.InputError, match="Did you mean 'glad'"):
        method_name("gladd")


@pytest.mark.parametrize("name", wc.CLASSIFIERS)
def test_methods_for_two_classes_say_so(name):
    tags = get_tags(wc.METHODS[name]())
    two = wc.METHODS.info(name).two_classes
    assert two is not tags.classifier_tags.multi_class
    assert two is issubclass(wc.METHODS[name], BinaryClassifier)
    assert wc.METHODS.info(name).needed.endswith("two classes") is two
