"""The settings of a method, from the signature and the docstring of its class."""

import re
from collections.abc import Callable, Iterable
from inspect import Parameter, getdoc, signature
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import wisecrowd as wc
from wisecrowd.registry import METHODS, entries


class Setting(NamedTuple):
    """One setting of a method, from the signature of its class."""

    name: str
    default: Any
    types: frozenset[type] | None  # None: any


def settings_of(kind: type) -> dict[str, Setting]:
    """Return the settings of a method by name.

    Examples
    --------
    >>> from wisecrowd import MajorityVote
    >>> settings = settings_of(MajorityVote)
    >>> list(settings), settings["ties"].default
    (['ties', 'random_state'], 'random')
    """
    return {
        name: Setting(name, p.default, types_of(p.annotation))
        for name, p in signature(kind).parameters.items()
    }


def types_of(annotation: Any) -> frozenset[type] | None:
    """Return the types that an annotation allows, None for any.

    Examples
    --------
    >>> sorted(t.__name__ for t in types_of(int | Literal["learn"] | None))
    ['NoneType', 'int', 'str']
    """
    if annotation in (Any, Parameter.empty) or isinstance(annotation, str):
        return None
    if get_origin(annotation) is Literal:
        return frozenset(type(value) for value in get_args(annotation))
    if get_origin(annotation) not in (Union, UnionType):
        # An object, such as a kernel or a path, is given by its name.
        return frozenset({annotation if annotation in WORDS else str})
    parts = [types_of(part) for part in get_args(annotation)]
    if any(part is None for part in parts):
        return None
    return frozenset[type]().union(*(part for part in parts if part))


WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "none",
    str: "a word",
}


def value_of(setting: Setting, text: str) -> Any:
    """Return the value that a text stands for, in a type that the setting takes.

    Examples
    --------
    >>> tol = Setting("tol", 1e-7, frozenset({float, NoneType}))
    >>> value_of(tol, "1e-3"), value_of(tol, "None")
    (0.001, None)
    """
    for kind, read in READERS.items():
        if setting.types is None or kind in setting.types:
            try:
                return read(text)
            except ValueError:
                continue
    words = [word for kind, word in WORDS.items() if kind in (setting.types or ())]
    raise wc.InputError(f"{setting.name} must be {' or '.join(words)}.")


def _word_in(words: dict[str, Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if text.lower() not in words:
            raise ValueError(text)
        return words[text.lower()]

    return read


READERS: dict[type, Callable[[str], Any]] = {
    NoneType: _word_in({"none": None}),
    bool: _word_in({"true": True, "yes": True, "false": False, "no": False}),
    int: int,
    float: float,
    str: str,
}
"""How a text is read, the narrowest type first."""


# -- documentation ------------------------------------------------------------------


def parameter_texts(kind: type) -> dict[str, str]:
    """Return the first sentence about each parameter in a class's docstring.

    Values that the docstring has in braces follow: "One of auto, each, one, none."

    The docstring follows numpydoc. A parameter that is described in another method
    ("As in :class:`DawidSkene`.", "Parameters are those of :class:`SVGPCR`.") has the
    text from there.

    Examples
    --------
    >>> from wisecrowd import MajorityVote
    >>> parameter_texts(MajorityVote)["random_state"]
    'Seed of the ties.'
    """
    doc = " ".join((getdoc(kind) or "").split())
    others = re.search(r"Parameters [\w ]*are those of :class:`(\w+)`", doc)
    found = _texts_of_class(others[1]) if others else {}
    for names, values, text in _parameter_entries(getdoc(kind) or ""):
        elsewhere = re.match(r"As in :class:`~?\.?(\w+)`", text)
        texts = _texts_of_class(elsewhere[1]) if elsewhere else {}
        for name in names:
            found[name] = texts.get(name) or _first_sentence(text) + values
    return found


def _texts_of_class(name: str) -> dict[str, str]:
    names = {entry.kind: entry.info.name for entry in entries().values()}
    return parameter_texts(METHODS[names[name]]) if name in names else {}


def _parameter_entries(doc: str) -> Iterable[tuple[list[str], str, str]]:
    """Yield names, values and text of each entry in the section "Parameters"."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)",
        doc,
        re.DOTALL | re.MULTILINE,
    )
    if section is None:
        return
    for entry in re.split(r"\n(?=\S)", section[1].strip("\n")):
        head, _, text = entry.partition("\n")
        names, _, kinds = head.partition(" : ")
        listed = [name.strip(" *") for name in names.split(",")]
        yield listed, _values_in_braces(kinds), " ".join(text.split())


def _values_in_braces(kinds: str) -> str:
    """Return the values that a numpydoc type lists, as a sentence.

    Examples
    --------
    >>> _values_in_braces('{"first", "random"}'), _values_in_braces("int or None")
    (' One of first, random.', '')
    """
    braces = re.search(r"\{(.*)\}", kinds)
    if braces is None:
        return ""
    values = braces[1] + kinds[braces.end() :]
    return f" One of {values}.".replace('"', "").replace("None", "none")


def _first_sentence(text: str) -> str:
    """Return the first sentence as plain text.

    Examples
    --------
    >>> _first_sentence("Seed of ``ties``, as in :class:`Votes`. Default: 0.")
    'Seed of ties, as in Votes.'
    """
    plain = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("`", "")
    return re.split(r"(?<=[.!?])\s", plain, maxsplit=1)[0]
