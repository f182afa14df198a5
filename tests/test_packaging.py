"""What pyproject.toml promises to pip: the right floors, and no missing dependency."""

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "wisecrowd"


def declared():
    """From the name of a runtime dependency to its requirement in pyproject.toml.

    With those of the extras for users, but not of the tests and the site.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    users = extras.keys() - {"test", "docs"}
    optional = [one for name in sorted(users) for one in extras[name]]
    found = map(Requirement, [*project["dependencies"], *optional])
    return {canonicalize_name(one.name): one for one in found}


def pinned(file):
    """From the name of a package to its version in a file of constraints."""
    lines = (ROOT / file).read_text("utf-8").split()
    pairs = (line.split("==") for line in lines)
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def imported(tree):
    """Top-level packages that a module imports when it runs, at any depth."""
    if isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.unparse(tree.test):
        return set().union(*map(imported, tree.orelse))
    if isinstance(tree, ast.Import):
        return {alias.name.split(".")[0] for alias in tree.names}
    if isinstance(tree, ast.ImportFrom) and tree.level == 0:
        return {tree.module.split(".")[0]}
    return set().union(*map(imported, ast.iter_child_nodes(tree)))


def third_party():
    """From a third-party package to the files of wisecrowd that import it."""
    where = {}
    for file in sorted(SOURCE.rglob("*.py")):
        for name in imported(ast.parse(file.read_text("utf-8"))):
            where.setdefault(name, []).append(str(file.relative_to(SOURCE)))
    ours = {"wisecrowd", *sys.stdlib_module_names}
    return {name: files for name, files in where.items() if name not in ours}


@pytest.mark.parametrize("name", declared())
def test_the_floor_in_pyproject_is_the_version_that_is_tested(name):
    floors = [one.version for one in declared()[name].specifier if one.operator == ">="]
    assert [Version(floor) for floor in floors] == [
        pinned("constraints-oldest.txt").get(name)
    ]


def test_every_imported_package_is_declared():
    provided_by = packages_distributions()
    missing = {
        name: files
        for name, files in third_party().items()
        if not {canonicalize_name(one) for one in provided_by.get(name, [name])}
        & declared().keys()
    }
    assert not missing


def test_the_scan_sees_imports_inside_functions_and_skips_those_for_types():
    code = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import only_for_types
else:
    import otherwise
def use():
    from inside.a_function import name
    from . import beside
"""
    assert imported(ast.parse(code)) == {"typing", "otherwise", "inside"}
    assert {"numpy", "sklearn", "jax"} <= third_party().keys()
