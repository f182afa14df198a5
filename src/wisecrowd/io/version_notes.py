"""Answers that differ between versions of a workflow, and which may be one class."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wisecrowd._checks import listed

RARE = 0.01  # choices below this share may be missing in a version by chance


class Choice(NamedTuple):
    """A choice, how often it occurs, and the first and the last version with it."""

    name: str
    n_answers: int
    first: int
    last: int


def choice_notes(by_version: Mapping[tuple[str, str], int]) -> list[str]:
    """Return a note if later versions have other choices than earlier ones.

    Examples
    --------
    >>> choice_notes({("1", "DR"): 9, ("2", "DEER"): 8})[0][:57]
    "ATTENTION: the choices differ between versions: 'DR' only"
    """
    versions = sorted({version for version, _ in by_version}, key=_order)
    choices = _choices(by_version, versions)
    same = {
        a.name: b.name
        for a in choices
        for b in choices
        if (a.last < b.first or b.last < a.first) and _is_code_of(a.name, b.name)
    }
    cuts = [_parted(choices, cut) for cut in range(1, len(versions))]
    best = max(range(len(cuts)), key=lambda i: min(map(_total, cuts[i])), default=None)
    if best is None:
        return []
    early, late = cuts[best]
    n_all = sum(by_version.values())
    if not same and min(_total(early), _total(late)) < max(2, RARE * n_all):
        return []
    shown = [c.name for c in sorted(early, key=lambda c: -c.n_answers)]
    others = [c.name for c in sorted(late, key=lambda c: -c.n_answers)]
    example = dict(list(same.items())[:5]) or {"old": "new"}
    return [
        f"ATTENTION: the choices differ between versions: {listed(shown, 5)} only up "
        f"to version {versions[best]}, {listed(others, 5)} only from version "
        f"{versions[best + 1]} on. If some of them are one class, pass "
        f"rename={example!r}; if not, choose with version=."
    ]


# -- inside ---------------------------------------------------------------------


def _order(version: str) -> tuple[tuple[int, ...], str]:
    return tuple(int(part[:18]) for part in re.findall(r"\d+", version)), version


def _choices(
    by_version: Mapping[tuple[str, str], int], versions: Sequence[str]
) -> list[Choice]:
    total: Counter[str] = Counter()
    places: dict[str, list[int]] = {}
    where = {version: i for i, version in enumerate(versions)}
    for (version, name), n in by_version.items():
        total[name] += n
        places.setdefault(name, []).append(where[version])
    return [Choice(name, total[name], min(p), max(p)) for name, p in places.items()]


def _parted(choices: list[Choice], cut: int) -> tuple[list[Choice], list[Choice]]:
    early = [c for c in choices if c.last < cut]
    return early, [c for c in choices if c.first >= cut]


def _total(choices: list[Choice]) -> int:
    return sum(c.n_answers for c in choices)


def _is_code_of(short: str, long: str) -> bool:
    """Return whether a choice is another one without its vowels, as Zooniverse does."""
    plain = re.sub(r"[^A-Z0-9]", "", long.upper())
    return short != long and short in (plain, re.sub("[AEIOU]", "", plain))
