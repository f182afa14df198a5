"""New names of answers: read, applied, and suggested where versions differ."""

import csv
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wisecrowd._checks import InputError, counted, listed
from wisecrowd.annotations.vocabulary import Coded
from wisecrowd.io.contents import parsed
from wisecrowd.io.sources import errors_that_name, existing_file, open_text

if TYPE_CHECKING:
    from wisecrowd.io.raw import RawAnnotations

Renaming = Mapping[Any, Any] | str | PathLike[str]
HEADERS = {("old", "new"), ("from", "to"), ("code", "name"), ("answer", "class")}
RARE = 0.01  # choices below this share may be missing in a version by chance
MOST_BYTES = 1 << 24  # a file of names is small
HOW = (
    "Give rename={'old': 'new'}, the text 'old=new,other=name', or a file with one "
    'pair per line (CSV, or old=new) or JSON {"old": "new"}.'
)


def new_names(rename: Renaming | None) -> dict[str, str]:
    """Return the new name of each old one.

    Examples
    --------
    >>> new_names("GRFF=GIRAFFE, BFFL=BUFFALO")
    {'GRFF': 'GIRAFFE', 'BFFL': 'BUFFALO'}
    """
    if rename is None:
        return {}
    if isinstance(rename, Mapping):
        return _checked(list(rename.items()))
    if not isinstance(rename, str | PathLike):
        raise InputError(f"rename= is a {type(rename).__name__}. {HOW}")
    if isinstance(rename, str) and "=" in rename and not Path(rename).is_file():
        return _checked(_pairs(next(csv.reader([rename], skipinitialspace=True), [])))
    if not Path(rename).expanduser().is_file():
        raise InputError(f"rename={str(rename)!r} is neither old=new nor a file. {HOW}")
    with errors_that_name(rename):
        return _from_file(existing_file(rename))


def renamed(found: "RawAnnotations", names: Mapping[str, str]) -> "RawAnnotations":
    """Return the annotations with new names of answers, and a note about them."""
    if not names:
        return found
    old = [written(name) for name in found.answer.names.tolist()]
    hit = np.array([name in names for name in old] + [False])
    n_renamed = int(hit[found.answer.codes].sum())
    notes = [f"{counted(n_renamed, 'answer')} were renamed (rename=)."]
    unknown = [name for name in names if name not in old]
    if unknown:
        notes.append(
            f"rename= names answers that nobody gave, and they are ignored: "
            f"{listed(unknown, 5)}."
        )
    # Text from here on: whole numbers are recognised later, as in a CSV file.
    made = with_names(found, names)
    typed = found.typed - {"answer"}
    return replace(made, notes=[*found.notes, *notes], typed=typed)


def with_names(found: "RawAnnotations", names: Mapping[str, str]) -> "RawAnnotations":
    """Return the annotations with new names of answers, all of them as text."""
    old = [written(name) for name in found.answer.names.tolist()]
    fresh = np.empty(len(old), dtype=object)
    fresh[:] = [names.get(name, name) for name in old]
    by_version: Counter[tuple[str, str]] = Counter()
    for (version, name), n in found.by_version.items():
        by_version[version, names.get(name, name)] += n
    gold = {
        item: None if known is None else names.get(written(known), written(known))
        for item, known in found.gold.items()
    }
    answer = Coded(found.answer.codes, fresh)
    return replace(found, answer=answer, gold=gold, by_version=by_version)


def written(name: Any) -> str:
    """Return a name as it is in a text file; 1.0 is 1."""
    if isinstance(name, float) and name.is_integer():
        name = int(name)
    return str(name)


def choice_notes(by_version: Mapping[tuple[str, str], int]) -> list[str]:
    """Return a note if later versions have other choices than earlier ones.

    Examples
    --------
    >>> choice_notes({("1", "DR"): 9, ("2", "DEER"): 8})[0][:57]
    "ATTENTION: the choices differ between versions: 'DR' only"
    """
    versions = sorted({version for version, _ in by_version}, key=_order)
    if len(versions) < 2:
        return []
    total: Counter[str] = Counter()
    places: dict[str, list[int]] = {}  # the versions with a choice, by number
    for (version, name), n in by_version.items():
        total[name] += n
        places.setdefault(name, []).append(versions.index(version))
    first, last = ({c: end(p) for c, p in places.items()} for end in (min, max))
    same = {
        a: b
        for a in places
        for b in places
        if (last[a] < first[b] or last[b] < first[a]) and _is_code_of(a, b)
    }

    def parted(cut: int) -> tuple[list[str], list[str]]:
        early = [c for c in places if last[c] < cut]
        return early, [c for c in places if first[c] >= cut]

    def fewer(cut: int) -> int:
        return min(sum(total[c] for c in part) for part in parted(cut))

    cut = max(range(1, len(versions)), key=fewer)
    if not same and fewer(cut) < max(2, RARE * total.total()):
        return []
    shown, others = (
        listed(sorted(part, key=lambda c: -total[c]), 5) for part in parted(cut)
    )
    example = dict(list(same.items())[:5]) or {"old": "new"}
    return [
        f"ATTENTION: the choices differ between versions: {shown} only up "
        f"to version {versions[cut - 1]}, {others} only from version "
        f"{versions[cut]} on. If some of them are one class, pass "
        f"rename={example!r}; if not, choose with version=."
    ]


# -- inside ---------------------------------------------------------------------


def _order(version: str) -> tuple[tuple[int, ...], str]:
    return tuple(int(part[:18]) for part in re.findall(r"\d+", version)), version


def _is_code_of(short: str, long: str) -> bool:
    """Return whether a choice is another one without its vowels, as Zooniverse does."""
    plain = re.sub(r"[^A-Z0-9]", "", long.upper())
    return short != long and short in (plain, re.sub("[AEIOU]", "", plain))


def _from_file(path: Path) -> dict[str, str]:
    with open_text(path) as file:
        content = file.read(MOST_BYTES)
    if content.lstrip().startswith("{"):
        made = parsed(content, "the file")
        return _checked(list(made.items()))
    lines = [line for line in content.splitlines() if line.strip()]
    if all("=" in line for line in lines):
        return _checked(_pairs(lines))
    delimiter = "\t" if lines and "\t" in lines[0] else ","
    rows = list(csv.reader(lines, delimiter=delimiter))
    if any(len(row) != 2 for row in rows):
        raise InputError(f"rename=: each line has two names. {HOW}")
    if rows and tuple(name.strip().lower() for name in rows[0]) in HEADERS:
        rows = rows[1:]
    return _checked([(row[0], row[1]) for row in rows])


def _pairs(texts: list[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        old, equals, new = text.partition("=")
        if not equals:
            raise InputError(f"rename=: {text!r} is not old=new. {HOW}")
        pairs.append((old, new))
    return pairs


def _checked(pairs: list[tuple[Any, Any]]) -> dict[str, str]:
    names: dict[str, str] = {}
    for old, new in pairs:
        if not all(isinstance(name, str | int | np.integer) for name in (old, new)):
            raise InputError(f"rename=: {old!r} -> {new!r} is not two names. {HOW}")
        before, after = str(old).strip(), str(new).strip()
        if not before or not after:
            raise InputError(f"rename=: {before!r} = {after!r} has no name. {HOW}")
        if names.get(before, after) != after:
            raise InputError(f"rename=: {before!r} has two new names. {HOW}")
        names[before] = after
    if not names:
        raise InputError(f"rename= has no names in it. {HOW}")
    return names
