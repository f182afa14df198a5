"""What a reader found in a file, and its conversion to Annotations."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from wisecrowd._checks import InputError, counted, listed, vocabulary_values
from wisecrowd._types import Array, Ids
from wisecrowd.annotations import Annotations, Repeats
from wisecrowd.annotations.headers import ROLES
from wisecrowd.annotations.read_report import ReadReport
from wisecrowd.annotations.vocabulary import Coded
from wisecrowd.io.columns import checked_column, merged, retyped_column
from wisecrowd.io.renaming import choice_notes, renamed, written

METADATA = b"wisecrowd"  # the key in Parquet files that holds the list of classes
EMPTY_IS_NAME = "empty_is_name"
"""The key in the first record of a JSON file in which an empty text is a name."""


@dataclass
class RawAnnotations:
    """Three columns with an entry per answer, the gold classes, and what to report.

    Columns that are not `typed` are text, in which whole numbers are recognised.
    `options` are the classes and answers that the file lists. `by_version` counts each
    answer in each version of a workflow.
    """

    format: str
    item: Coded
    annotator: Coded
    answer: Coded
    n_rows: int
    gold: Mapping[Any, Any] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    typed: frozenset[str] = frozenset()
    keep_annotators: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    by_version: Mapping[tuple[str, str], int] = field(default_factory=dict)


def joined(parts: Sequence[RawAnnotations]) -> RawAnnotations:
    """Return what was found in several files as one.

    A column that has types in one file and is text in another is text.
    """
    if len(parts) == 1:
        return parts[0]
    typed = frozenset.intersection(*(part.typed for part in parts))
    columns = {
        what: _concatenated([getattr(part, what) for part in parts], what in typed)
        for what in ROLES
    }
    return RawAnnotations(
        " and ".join(dict.fromkeys(part.format for part in parts)),
        **columns,
        n_rows=sum(part.n_rows for part in parts),
        gold=_joined_gold(parts, typed),
        left_out=sum((part.left_out for part in parts), Counter()),
        notes=list(dict.fromkeys(note for part in parts for note in part.notes)),
        typed=typed,
        keep_annotators=any(part.keep_annotators for part in parts),
        options=_joined_options(parts),
        by_version=sum((Counter(part.by_version) for part in parts), Counter()),
    )


def gold_of_rows(item: Coded, gold: Coded) -> dict[Any, Any]:
    """Return the gold class of each item, which must be the same in all its rows."""
    known = (item.codes >= 0) & (gold.codes >= 0)
    pairs = np.unique(np.stack([item.codes[known], gold.codes[known]]), axis=1)
    twice = np.flatnonzero(np.diff(pairs[0]) == 0)
    if len(twice):
        where = twice[0]
        both = [gold.names[code] for code in pairs[1, where : where + 2]]
        first = listed([item.names[pairs[0, where]]])
        raise InputError(
            f"more than one gold class was given for {counted(len(twice), 'item')}: "
            f"item {first} has {listed(both)}. Correct the rows."
        )
    return dict(zip(item.names[pairs[0]].tolist(), gold.names[pairs[1]], strict=True))


def annotations_from(
    found: RawAnnotations,
    path: Any,
    *,
    classes: Ids | None,
    answers: Ids | None,
    drop_repeats: Repeats,
    rename: Mapping[str, str] | None = None,
) -> Annotations:
    """Return the Annotations, with the report."""
    found = renamed(found, rename or {})
    found.notes += choice_notes(found.by_version)
    classes = found.options.get("classes") if classes is None else classes
    answers = found.options.get("answers") if answers is None else answers
    found = _typed(found, with_text_answers=_are_text(classes) or _are_text(answers))
    rows = _kept_rows(found)
    made = Annotations.from_codes(
        _vocabulary(found.item, rows, "item", list(found.gold), keep=True),
        _vocabulary(found.annotator, rows, "annotator", keep=found.keep_annotators),
        _vocabulary(found.answer, rows, "answer"),
        classes=classes,
        answers=answers,
        gold=found.gold or None,
    )
    single = made.without_repeats(drop_repeats) if drop_repeats else made
    if len(single) < len(made):
        why = f"repeats an answer (drop_repeats={drop_repeats!r})"
        found.left_out[why] += len(made) - len(single)
    found.notes += [] if drop_repeats else _repeat_notes(made)
    found.notes += _notes_of(single)
    report = ReadReport(
        path=str(path),
        format=found.format,
        n_rows=found.n_rows,
        n_kept=len(single),
        left_out=dict(found.left_out),
        notes=tuple(found.notes),
    )
    return replace(single, report=report)


# -- inside ---------------------------------------------------------------------


def _concatenated(columns: Sequence[Coded], typed: bool) -> Coded:
    """Return columns one below the other."""
    codes, names, n_before = [], [], 0
    for column in columns:
        codes.append(np.where(column.codes < 0, -1, column.codes + n_before))
        names += column.names.tolist()
        n_before += len(column.names)
    known: dict[Any, int] = {}
    keys = [(type(n), n) if typed else written(n) for n in names]
    where = [known.setdefault(key, len(known)) for key in keys]
    distinct = np.empty(len(known), dtype=object)
    distinct[:] = [key[1] if typed else key for key in known]
    code_of = np.array([*where, -1], dtype=np.int32)
    return Coded(code_of[np.concatenate(codes)], distinct)


def _joined_gold(
    parts: Sequence[RawAnnotations], typed: frozenset[str]
) -> dict[Any, Any]:
    gold: dict[Any, Any] = {}
    for part in parts:
        for item, known in part.gold.items():
            name = item if "item" in typed else written(item)
            same = known if "answer" in typed else written(known)
            if gold.setdefault(name, same) != same:
                raise InputError(
                    f"two files disagree on the gold class of item {listed([name])}: "
                    f"{listed([gold[name], same])}. Correct one of them."
                )
    return gold


def _joined_options(parts: Sequence[RawAnnotations]) -> dict[str, Any]:
    """Return the classes and answers that all files list; None if one does not."""
    made: dict[str, Any] = {}
    if not all(part.options for part in parts):
        return made
    for name in ("classes", "answers"):
        lists = [part.options.get(name) or [] for part in parts]
        made[name] = list(dict.fromkeys(one for known in lists for one in known))
    made["answers"] = [a for a in made["answers"] if a not in made["classes"]] or None
    return made


def _are_text(values: Ids | None) -> bool:
    return values is not None and any(isinstance(v, str) for v in values)


def _typed(found: RawAnnotations, *, with_text_answers: bool) -> RawAnnotations:
    """Return typed columns; gold gets the types of the items and of the answers."""
    gold = {"item": list(found.gold), "answer": list(found.gold.values())}
    columns: dict[str, Any] = {}
    for what in ("item", "answer", "annotator"):
        column: Coded = getattr(found, what)
        if what in found.typed:
            columns[what] = checked_column(column, what)
        elif what == "answer" and with_text_answers:
            columns[what] = merged(column, column.names)
        else:
            columns[what], gold[what] = retyped_column(column, what, gold.get(what, ()))
    known = zip(gold["item"], gold["answer"], strict=True)
    return replace(found, **columns, gold=dict(known))


def _kept_rows(found: RawAnnotations) -> Array:
    """Return which rows have item, annotator and answer; count the others."""
    kept = np.ones(len(found.item.codes), dtype=bool)
    for what in ("answer", "item", "annotator"):
        absent = getattr(found, what).codes < 0
        n_lost = int((absent & kept).sum())
        if n_lost:
            found.left_out[f"no {what}"] += n_lost
        kept &= ~absent
    if not kept.any():
        reasons = "; ".join(f"{why}: {n:,}" for why, n in found.left_out.items())
        raise InputError(
            f"no annotation could be read from its {counted(found.n_rows, 'row')}"
            f"{f' ({reasons})' if reasons else ''}."
        )
    return kept


def _vocabulary(
    column: Coded,
    rows: Array,
    what: str,
    more: Sequence[Any] = (),
    *,
    keep: bool = False,
) -> Coded:
    """Return the rows of a column; the sorted names are those of these rows.

    With `keep`, they are all names of the column, and `more`.
    """
    codes = column.codes[rows]
    used = np.bincount(codes, minlength=len(column.names)) > 0
    names = column.names
    if keep:
        more = [*pd.Index(more).difference(pd.Index(names))] if more else []
        names = vocabulary_values([*names.tolist(), *more], what) if more else names
    elif not used.all():
        codes, names = (np.cumsum(used) - 1)[codes], names[used]
    order = np.argsort(names, kind="stable")
    rank = np.argsort(order)
    return Coded(rank[codes], vocabulary_values(names[order], what))


def _repeat_notes(made: Annotations) -> list[str]:
    """Say how many answers are not the first of an annotator about an item."""
    pair = made.item.astype(np.int64) * len(made.annotators) + made.annotator
    rows = pd.DataFrame({"pair": pair, "answer": made.answer})
    n_repeats, n_same = (
        int(rows["pair"].duplicated().sum()),
        int(rows.duplicated().sum()),
    )
    if not n_repeats:
        return []
    which = "all of them" if n_repeats > 1 else "it"
    which = which if n_same == n_repeats else f"{n_same:,} of them"
    return [
        f"{counted(n_repeats, 'answer')} {'is' if n_repeats == 1 else 'are'} by an "
        f"annotator who had already answered the item; {which} "
        f"{'gives' if n_same == 1 else 'give'} the same answer again. Each counts. "
        f"With drop_repeats='first' (or 'last'), {len(made) - n_repeats:,} of "
        f"{len(made):,} answers would be left: one per annotator and item."
    ]


def _notes_of(made: Annotations) -> list[str]:
    n_bare = int((made.codes.n_per_item == 0).sum())
    bare = [f"{counted(n_bare, 'item')} without an answer: kept."] if n_bare else []
    folded: dict[str, list[Any]] = {}
    for answer in made.answers.tolist():
        folded.setdefault(" ".join(str(answer).split()).casefold(), []).append(answer)
    alike = [
        f"the answers {listed(same)} differ only in blanks or capitals."
        for same in folded.values()
        if len(same) > 1
    ]
    names = {"annotator": made.annotators, "item": made.items}
    return bare + alike + [n for what in names for n in _blank_notes(names[what], what)]


def _blank_notes(names: Array, what: str) -> list[str]:
    """Say that one name was read as two, because a blank stands beside it."""
    if names.dtype.kind != "O":
        return []
    known = set(names.tolist())
    twice = [n for n in known if isinstance(n, str) and n != n.strip() in known]
    if not twice:
        return []
    example = min(twice)
    return [
        f"{counted(len(twice), what)} stand{'s' if len(twice) == 1 else ''} in the "
        f"file with and without a blank beside the name, such as "
        f"{listed([example, example.strip()])}, and count twice. Take the blanks off "
        f"in the file."
    ]
