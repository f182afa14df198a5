"""The methods, by their command-line names, found where their files are.

A method is a class in ``wisecrowd.methods`` with a :class:`MethodInfo`; nothing else
lists them. Names are known without importing a method, and a method is imported when
it is asked for.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from wisecrowd._version import __version__


@dataclass(frozen=True)
class MethodInfo:
    """What a method says about itself.

    Attributes
    ----------
    name : str
        On the command line.
    needs : {"answers", "features", "labels"}
        Answers alone; features and answers; or features and right labels.
    learns : str
        What it learns about an annotator, in a few words.
    paper : str
        Where it was published, one line; empty if nowhere.
    bibtex : str
        The same for a bibliography.
    """

    name: str
    needs: str
    learns: str
    paper: str = ""
    bibtex: str = ""


LIBRARY = f"""\
@software{{wisecrowd,
  title = {{wisecrowd: learning from crowds}},
  version = {{{__version__}}},
  year = {{2026}}
}}"""


class Methods(Mapping[str, Any]):
    """From a command-line name to the class of a method."""

    def __init__(self, fits: Callable[[MethodInfo], bool] = lambda info: True) -> None:
        self._fits = fits

    @cached_property
    def _classes(self) -> dict[str, Any]:
        package = import_module("wisecrowd.methods")
        found = {}
        for module in iter_modules(package.__path__):
            where = import_module(f"wisecrowd.methods.{module.name}")
            for name in where.__all__:
                kind = getattr(where, name)
                if self._fits(kind.method):
                    found[kind.method.name] = kind
        return dict(sorted(found.items(), key=_order))

    def __getitem__(self, name: str) -> Any:
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)


def _order(named: tuple[str, Any]) -> tuple[int, str]:
    """Methods of answers alone come first."""
    name, kind = named
    return ("answers", "features", "labels").index(kind.method.needs), name


METHODS = Methods()
"""All methods."""

AGGREGATORS = Methods(lambda info: info.needs == "answers")
"""The methods that need nothing but the answers."""

CLASSIFIERS = Methods(lambda info: info.needs != "answers")
"""The methods that learn from features too."""


def cite(model: Any) -> str:
    """Return the BibTeX of a model's method, and of this library.

    Parameters
    ----------
    model : estimator or class
        A method of wisecrowd.

    Examples
    --------
    >>> import wisecrowd as wc
    >>> print(wc.cite(wc.BCC).splitlines()[0])
    @inproceedings{kim2012bcc,
    """
    entries = [model.method.bibtex, LIBRARY]
    return "\n\n".join(entry for entry in entries if entry)
