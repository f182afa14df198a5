"""The methods, by their command-line names, found where their files are.

A method is a class in ``wisecrowd.methods`` with a :class:`MethodInfo`; nothing else
lists them. What a method says about itself is read from its source file, so that help
texts never wait for JAX. The class is imported when it is requested.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

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
    two_classes : bool
        Whether it takes two classes only.
    """

    name: str
    needs: str
    learns: str
    paper: str = ""
    bibtex: str = ""
    two_classes: bool = False

    @property
    def needed(self) -> str:
        """What it needs, in words."""
        return NEEDS[self.needs] + ", two classes" * self.two_classes


NEEDS = {
    "answers": "answers",
    "features": "answers, features",
    "labels": "right labels, features",
}

LIBRARY = f"""\
@software{{wisecrowd,
  title = {{wisecrowd: learning from crowds}},
  version = {{{__version__}}},
  year = {{2026}}
}}"""


class Entry(NamedTuple):
    """Where the class of a method is, and what it says about itself."""

    module: str
    kind: str
    info: MethodInfo


@cache
def entries() -> dict[str, Entry]:
    """Return all methods by name; those of answers alone come first."""
    folder = Path(__file__).parent / "methods"
    found = [entry for path in folder.rglob("*.py") for entry in _entries_in(path)]
    needs = ("answers", "features", "labels")
    found.sort(key=lambda entry: (needs.index(entry.info.needs), entry.info.name))
    return {entry.info.name: entry for entry in found}


def _entries_in(path: Path) -> Iterator[Entry]:
    """Yield the classes of a file that have ``method = MethodInfo(...)``."""
    source = path.read_text(encoding="utf-8")
    if "MethodInfo(" not in source:
        return
    parts = path.relative_to(Path(__file__).parent).with_suffix("").parts
    module = ".".join(("wisecrowd", *parts)).removesuffix(".__init__")
    for kind in ast.parse(source).body:
        if not isinstance(kind, ast.ClassDef):
            continue
        for line in kind.body:
            made = getattr(line, "value", None)
            if isinstance(made, ast.Call) and ast.unparse(made.func) == "MethodInfo":
                words = {str(k.arg): ast.literal_eval(k.value) for k in made.keywords}
                yield Entry(module, kind.name, MethodInfo(**words))


class Methods(Mapping[str, Any]):
    """From a command-line name to the class of a method.

    Parameters
    ----------
    *needs : str
        Only methods that need this; default: all.
    """

    def __init__(self, *needs: str) -> None:
        self._needs = needs

    def info(self, name: str) -> MethodInfo:
        """Return what a method says about itself, without importing it."""
        if name not in self:
            raise KeyError(name)
        return entries()[name].info

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return getattr(import_module(entries()[name].module), entries()[name].kind)

    def __contains__(self, name: object) -> bool:
        return any(name == known for known in self)

    def __iter__(self) -> Iterator[str]:
        for name, entry in entries().items():
            if not self._needs or entry.info.needs in self._needs:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)


METHODS = Methods()
"""All methods."""

AGGREGATORS = Methods("answers")
"""The methods that need nothing but the answers."""

CLASSIFIERS = Methods("features", "labels")
"""The methods that learn from features too."""


def fitting(*, with_features: bool, n_classes: int) -> list[str]:
    """Return the methods that can be fitted to a crowd, by name.

    Examples
    --------
    >>> "vgpcr" in fitting(with_features=True, n_classes=2)
    True
    >>> "vgpcr" in fitting(with_features=True, n_classes=3)
    False
    """
    needs = ("answers", "features") if with_features else ("answers",)
    known = [METHODS.info(name) for name in METHODS]
    fit = [
        m for m in known if m.needs in needs and not (m.two_classes and n_classes > 2)
    ]
    return [m.name for m in fit]


def cite(model: Any) -> str:
    """Return the BibTeX of a model's method, and of this library.

    Parameters
    ----------
    model : estimator, class or str
        A method of wisecrowd, or its command-line name.

    Examples
    --------
    >>> import wisecrowd as wc
    >>> print(wc.cite(wc.BCC).splitlines()[0])
    @inproceedings{kim2012bcc,
    """
    named = isinstance(model, str)
    info = METHODS.info(method_name(model)) if named else model.method
    return "\n\n".join(text for text in (info.bibtex, LIBRARY) if text)


def method_name(name: str, methods: Mapping[str, Any] = METHODS) -> str:
    """Return the command-line name of a method, however it is spelt.

    Examples
    --------
    >>> method_name("Dawid_Skene")
    'dawid-skene'
    """
    from wisecrowd._checks import InputError, listed

    key = name.strip().lower().replace("_", "-")
    if key in methods:
        return key
    close = get_close_matches(key, list(methods), n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise InputError(
        f"there is no method {name!r}; the methods are {listed(methods, 20)}.{hint}"
    )
