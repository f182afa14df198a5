"""What a reader found in a file, and its conversion to Annotations."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from wisecrowd._checks import InputError, counted, listed, vocabulary_values
from wisecrowd._types import Array, Ids
from wisecrowd.annotations import Annotations, Repeats
from wisecrowd.annotations.read_report import ReadReport
from wisecrowd.io.columns import Coded, checked_column, retyped_column
from wisecrowd.io.renaming import renamed, written
from wisecrowd.io.version_notes import choice_notes

METADATA = b"wisecrowd"  # the key in Parquet files that holds the list of classes
EMPTY_IS_NAME = "empty_is_name"
"""The key in the first record of a JSON file in which an empty text is a name."""


@dataclass
class RawAnnotations:
    """Three columns, the gold classes, and what to report.

    Attributes
    ----------
    format : str
        The format of the file, for the report.
    item, annotator, answer : Coded
        One entry per answer.
    gold : dict
        From item to class.
    n_rows : int
        The number of rows of the file.
    left_out, notes
        As in :class:`ReadReport`.
    typed : set of str
        The columns whose values have types in the file. The others are text, in which
        whole numbers are recognised.
    keep_annotators : bool
        Whether annotators without an answer are kept.
    options : dict
        The classes and answers that are listed in the file.
    by_version : dict
        From version and answer to the number of times it was given, if the questions
        of the file have versions.
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
        for what in ("item", "annotator", "answer")
    }
    left_out: Counter[str] = Counter()
    by_version: Counter[tuple[str, str]] = Counter()
    for part in parts:
        left_out.update(part.left_out)
        by_version.update(part.by_version)
    return RawAnnotations(
        " and ".join(dict.fromkeys(part.format for part in parts)),
        **columns,
        n_rows=sum(part.n_rows for part in parts),
        gold=_joined_gold(parts, typed),
        left_out=left_out,
        notes=list(dict.fromkeys(note for part in parts for note in part.notes)),
        typed=typed,
        keep_annotators=any(part.keep_annotators for part in parts),
        options=_joined_options(parts),
        by_version=by_version,
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
    columns = [
        _categorical(c, rows) for c in (found.item, found.annotator, found.answer)
    ]
    made = Annotations.from_triples(
        *columns,
        items=_whole_vocabulary(columns[0], found.item, found.gold),
        annotators=_whole_vocabulary(columns[1], found.annotator, {})
        if found.keep_annotators
        else None,
        classes=classes,
        answers=answers,
        gold=found.gold or None,
    )
    found.notes += [] if drop_repeats else _repeat_notes(made)
    if drop_repeats:
        made = _without_repeats(made, drop_repeats, found.left_out)
    found.notes += _notes_of(made)
    return replace(made, report=_report(found, path, len(made)))


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
    item, items = _column_and_gold(found, "item", list(found.gold.keys()))
    answer, classes = found.answer, list(found.gold.values())
    if not with_text_answers or "answer" in found.typed:
        answer, classes = _column_and_gold(found, "answer", classes)
    annotator, _ = _column_and_gold(found, "annotator", [])
    gold = dict(zip(items, classes, strict=True))
    return replace(found, item=item, annotator=annotator, answer=answer, gold=gold)


def _column_and_gold(
    found: RawAnnotations, what: str, gold: list[Any]
) -> tuple[Coded, list[Any]]:
    column: Coded = getattr(found, what)
    if what in found.typed:
        return checked_column(column, what), gold
    return retyped_column(column, what, gold)


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


def _categorical(column: Coded, rows: Array) -> pd.Series:
    codes = column.codes if rows.all() else column.codes[rows]
    kind = pd.CategoricalDtype(pd.Index(column.names))
    return pd.Series(pd.Categorical.from_codes(codes, dtype=kind))


def _whole_vocabulary(
    kept: pd.Series, column: Coded, gold: Mapping[Any, Any]
) -> Array | None:
    """Return the sorted names, if some of them occur in no row that is kept."""
    used = np.bincount(kept.cat.codes, minlength=len(column.names)) > 0
    extra = (
        []
        if not gold
        else list(pd.Index(list(gold)).difference(pd.Index(column.names)))
    )
    if used.all() and not extra:
        return None
    both = [*column.names.tolist(), *extra]
    return np.sort(vocabulary_values(both, "item"))


def _without_repeats(
    made: Annotations, keep: Literal["first", "last"], left_out: Counter[str]
) -> Annotations:
    single = made.without_repeats(keep)
    n_repeats = len(made) - len(single)
    if n_repeats:
        left_out[f"repeats an answer (drop_repeats={keep!r})"] += n_repeats
    return single


def _repeat_notes(made: Annotations) -> list[str]:
    """Say how many answers are not the first of an annotator about an item."""
    pair = made.item.astype(np.int64) * len(made.annotators) + made.annotator
    rows = pd.DataFrame({"pair": pair, "answer": made.answer})
    n_repeats = int(rows["pair"].duplicated().sum())
    if not n_repeats:
        return []
    n_same = int(rows.duplicated().sum())
    are, give = ("is", "gives") if n_repeats == 1 else ("are", "give")
    if n_same < n_repeats:
        gives = "gives" if n_same == 1 else "give"
        detail = f"{n_same:,} of them {gives} the same answer again"
    else:
        all_of = "it" if n_repeats == 1 else "all of them"
        detail = f"{all_of} {give} the same answer again"
    return [
        f"{counted(n_repeats, 'answer')} {are} by an annotator who had already "
        f"answered the item; {detail}. Each counts. With drop_repeats='first' (or "
        f"'last'), {len(made) - n_repeats:,} of {len(made):,} answers would be "
        f"left: one per annotator and item."
    ]


def _notes_of(made: Annotations) -> list[str]:
    n_bare = int((made.codes.n_per_item == 0).sum())
    notes = []
    if n_bare:
        notes.append(f"{counted(n_bare, 'item')} without an answer: kept.")
    folded: dict[str, list[Any]] = {}
    for answer in made.answers.tolist():
        folded.setdefault(" ".join(str(answer).split()).casefold(), []).append(answer)
    notes += [
        f"the answers {listed(same)} differ only in blanks or capitals."
        for same in folded.values()
        if len(same) > 1
    ]
    return notes


def _report(found: RawAnnotations, path: Any, n_kept: int) -> ReadReport:
    return ReadReport(
        path=str(path),
        format=found.format,
        n_rows=found.n_rows,
        n_kept=n_kept,
        left_out=dict(found.left_out),
        notes=tuple(found.notes),
    )
