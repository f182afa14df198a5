"""What a reader found in a file, on its way to becoming Annotations."""

from array import array
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from wisecrowd._checks import InputError, counted, listed
from wisecrowd._types import Array, Ids
from wisecrowd.data.annotations import Annotations, ReadReport

WHOLE = r"^(0|-?[1-9][0-9]{0,17})(\.0+)?$"  # no leading zero: "007" is a name
NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"
GOLD_NAMES = ("gold", "gold_label", "truth", "true_label", "ground_truth", "golden")
"""The names by which a column, or a field, of known classes is recognised."""
METADATA = b"wisecrowd"  # where our Parquet files keep the list of classes


class Coded(NamedTuple):
    """A column as codes into its distinct values; -1 where there is none."""

    codes: Array
    names: Array


class Coder:
    """A column in the making, that keeps each value once."""

    def __init__(self) -> None:
        self.codes = array("i")
        self._code_of: dict[tuple[type, Hashable], int] = {}

    def append(self, value: Any) -> None:
        """Add a row; None is no value."""
        if value is None or value != value:  # noqa: PLR0124  (NaN)
            self.codes.append(-1)
            return
        # 1, 1.0 and True are one key of a dict
        key = (type(value), value)
        self.codes.append(self._code_of.setdefault(key, len(self._code_of)))

    def coded(self) -> Coded:
        """Return the column."""
        names = np.empty(len(self._code_of), dtype=object)
        names[:] = [value for _, value in self._code_of]
        return Coded(np.array(self.codes, dtype=np.int32), names)

    def __len__(self) -> int:
        return len(self.codes)


class Question:
    """The answers to one question of a platform, and what could not be used.

    Attributes
    ----------
    title : str
        The question, as people were asked.
    item, annotator, label : Coder
        One entry an answer.
    gold : dict
        The answers by experts, a list for each item.
    left_out : Counter
        How many answers could not be used, for each reason.
    """

    def __init__(self, title: str = "") -> None:
        self.title = title
        self.item, self.annotator, self.label = Coder(), Coder(), Coder()
        self.gold: dict[Any, list[Any]] = {}
        self.left_out: Counter[str] = Counter()

    def add(self, item: Any, annotator: Any, label: Any) -> None:
        """Add an answer."""
        self.item.append(item)
        self.annotator.append(annotator)
        self.label.append(label)

    def add_gold(self, item: Any, label: Any) -> None:
        """Add an answer that is known to be right."""
        self.gold.setdefault(item, []).append(label)

    @property
    def n_answers(self) -> int:
        """How many answers can be used."""
        return len(self.label) + len(self.gold)

    @property
    def is_free_text(self) -> bool:
        """Whether almost all answers are different."""
        n_different = len(self.label.coded().names)
        return n_different > max(10, len(self.label) / 2)


@dataclass
class Found:
    """Three columns, the gold classes, and what to report.

    Attributes
    ----------
    format : str
        The form of the file, for a person.
    item, annotator, label : Coded
        One entry an annotation.
    gold : dict
        Item to class.
    n_rows : int
        Rows of the file.
    left_out, notes
        As in :class:`ReadReport`.
    typed : set of str
        The columns whose values have their types from the file. The others are
        text, in which whole numbers are recognised.
    keep_annotators : bool
        Whether annotators without an answer stay in.
    options : dict
        What the file itself says of classes and answers.
    """

    format: str
    item: Coded
    annotator: Coded
    label: Coded
    n_rows: int
    gold: Mapping[Any, Any] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    typed: frozenset[str] = frozenset()
    keep_annotators: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


def from_question(form: str, question: Question, n_rows: int) -> Found:
    """Make a Found of the question that was chosen."""
    gold, notes = _agreed(question.gold)
    return Found(
        form,
        question.item.coded(),
        question.annotator.coded(),
        question.label.coded(),
        n_rows,
        gold=gold,
        left_out=question.left_out,
        notes=notes,
    )


def chosen_question(
    questions: Mapping[str, Question], wanted: str | None, word: str = "task"
) -> tuple[str, list[str]]:
    """Return the question that is wanted or has the most answers, and what to note."""
    if not questions:
        raise InputError("there is no answer in it at all.")
    if wanted is not None:
        return _named_question(questions, str(wanted), word), []
    ranked = sorted(
        questions, key=lambda q: (questions[q].is_free_text, -questions[q].n_answers)
    )
    notes = []
    if len(ranked) > 1:
        others = "; ".join(_described(q, questions[q]) for q in ranked[1:9])
        more = f"; and {len(ranked) - 9} more" if len(ranked) > 9 else ""
        notes = [
            f"of {len(ranked)} {word}s, {_described(ranked[0], questions[ranked[0]])}, "
            f"was chosen, as the most answered; the others: {others}{more}. "
            f"Choose with {word}=."
        ]
    best = questions[ranked[0]]
    if best.is_free_text:
        notes.append(
            f"{word} {ranked[0]!r} looks like free text: {best.n_answers:,} answers, "
            f"{len(best.label.coded().names):,} different ones."
        )
    return ranked[0], notes


def coded(column: Any) -> Coded:
    """Return an Arrow column (chunked) as codes into its distinct values."""
    if pa.types.is_dictionary(column.type):
        n_names = sum(len(chunk.dictionary) for chunk in column.chunks)
        if n_names <= len(column):
            column = column.unify_dictionaries()
        else:  # every chunk brings all names: slower to unify than to begin anew
            column = column.cast(column.type.value_type)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    # all chunks share the names by now
    names = column.chunk(0).dictionary.to_numpy(zero_copy_only=False)
    parts = [
        chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        for chunk in column.chunks
    ]
    present = ~(pd.isna(names) | (names == ""))
    rank = np.append(np.where(present, np.cumsum(present) - 1, -1), -1)
    return Coded(rank.astype(np.int32)[np.concatenate(parts)], names[present])


def retyped(names: Any) -> Array:
    """Text as numbers if all of it is whole numbers, as booleans if all is true/false.

    Examples
    --------
    >>> retyped(["1", "20"]).tolist(), retyped(["007", "8"]).tolist()
    ([1, 20], ['007', '8'])
    >>> retyped(["True", "False"]).tolist()
    [True, False]
    """
    text = pa.array(names, type=pa.string())
    if not len(text):
        return np.empty(0, dtype=object)
    if pc.all(pc.match_substring_regex(text, WHOLE)).as_py():
        whole = pc.replace_substring_regex(text, r"\.0+$", "")
        return whole.cast(pa.int64()).to_numpy()
    lower = pc.utf8_lower(text)
    if pc.all(pc.is_in(lower, pa.array(["true", "false"]))).as_py():
        return pc.equal(lower, "true").to_numpy(zero_copy_only=False)
    return np.asarray(text.to_numpy(zero_copy_only=False), dtype=object)


def annotations_of(
    found: Found,
    path: Any,
    *,
    classes: Ids | None,
    answers: Ids | None,
    drop_repeats: Literal["first", "last"] | None,
) -> Annotations:
    """Make the Annotations and their report."""
    classes = found.options.get("classes") if classes is None else classes
    answers = found.options.get("answers") if answers is None else answers
    found = _typed(found, with_text_labels=_are_text(classes) or _are_text(answers))
    rows = _kept_rows(found)
    columns = [
        _categorical(c, rows) for c in (found.item, found.annotator, found.label)
    ]
    made = Annotations.from_triples(
        *columns,
        items=_whole_vocabulary(columns[0], found.item, found.gold, "item"),
        annotators=_whole_vocabulary(columns[1], found.annotator, {}, "annotator")
        if found.keep_annotators
        else None,
        classes=classes,
        answers=answers,
        gold=found.gold or None,
    )
    if drop_repeats:
        made = _without_repeats(made, drop_repeats, found.left_out)
    found.notes += _notes_of(made)
    return replace(made, report=_report(found, path, len(made)))


# -- inside ---------------------------------------------------------------------


def _described(name: str, question: Question) -> str:
    title = " ".join(question.title.split())
    title = f" ({title[:50] + '…' if len(title) > 50 else title})" if title else ""
    n = question.n_answers
    return f"{name!r}{title}, {n:,} answer{'s' * (n != 1)}"


def _named_question(questions: Mapping[str, Question], wanted: str, word: str) -> str:
    if wanted in questions:
        return wanted
    titled = [
        name for name, q in questions.items() if q.title.strip() == wanted.strip()
    ]
    if len(titled) == 1:
        return titled[0]
    known = "; ".join(_described(name, q) for name, q in list(questions.items())[:20])
    raise InputError(f"there is no {word} {wanted!r}; there are {known}.")


def _agreed(gold: Mapping[Any, list[Any]]) -> tuple[dict[Any, Any], list[str]]:
    """Return the gold classes on which there is one opinion, and a note."""
    agreed = {item: given[0] for item, given in gold.items() if len(set(given)) == 1}
    n_split = len(gold) - len(agreed)
    if not n_split:
        return agreed, []
    split = [item for item in gold if item not in agreed]
    return agreed, [
        f"{n_split:,} items have more than one gold answer and are left without a gold "
        f"class: {listed(split, 3)}."
    ]


def _are_text(values: Ids | None) -> bool:
    return values is not None and any(isinstance(v, str) for v in values)


def _typed(found: Found, *, with_text_labels: bool) -> Found:
    """Give text columns their types, and gold the same as its items and labels."""
    item, items = _column_and_gold(found, "item", list(found.gold.keys()))
    label, labels = found.label, list(found.gold.values())
    if not with_text_labels or "label" in found.typed:
        label, labels = _column_and_gold(found, "label", labels)
    annotator, _ = _column_and_gold(found, "annotator", [])
    gold = dict(zip(items, labels, strict=True))
    return replace(found, item=item, annotator=annotator, label=label, gold=gold)


def _column_and_gold(
    found: Found, what: str, gold: list[Any]
) -> tuple[Coded, list[Any]]:
    column: Coded = getattr(found, what)
    if what in found.typed:
        _check_one_type(column, what)
        return _merged(column, _numbers_as_such(column.names, column, what)), gold
    values = retyped(np.append(column.names, np.array(gold, dtype=object)))
    if what == "label" and values.dtype.kind == "O":
        _check_not_measured(column)
    n_names = len(column.names)
    return _merged(column, values[:n_names]), values[n_names:].tolist()


def _merged(column: Coded, names: Array) -> Coded:
    """Give a column other names, sorted; several may be equal, as "1" and "1.0"."""
    back, unique = pd.factorize(names)
    order = pc.sort_indices(pa.array(unique)).to_numpy()
    rank = np.full(len(order) + 1, -1, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return Coded(rank[np.append(back, -1)][column.codes], np.asarray(unique)[order])


def _numbers_as_such(names: Array, column: Coded, what: str) -> Array:
    """Return whole numbers as integers, however they are stored."""
    if not len(names) or _family(names[0]) != "a number":
        return names
    numbers = np.array(names.tolist())
    if numbers.dtype.kind == "i":
        return numbers
    if numbers.dtype.kind != "f":
        raise InputError(
            f"the {what} {max(names.tolist())} is too large for a 64-bit number. "
            f"Write the {what}s as text."
        )
    broken = numbers != np.round(numbers)
    if broken.any():
        row = int(np.append(broken, False)[column.codes].argmax())
        raise InputError(
            f"the {what} in row {row + 1:,} is {numbers[column.codes[row]]}: a {what} "
            f"is a name or a whole number, and this looks like a measurement. Round "
            f"it, or write it as text."
        )
    return numbers.astype(np.int64)


def _check_not_measured(column: Coded) -> None:
    """Refuse labels that are all numbers and not all whole."""
    text = pa.array(column.names, type=pa.string())
    if not len(text) or not pc.all(pc.match_substring_regex(text, NUMBER)).as_py():
        return
    broken = ~pc.match_substring_regex(text, WHOLE).to_numpy(zero_copy_only=False)
    if not broken.any():
        return
    row = int(np.flatnonzero(np.append(broken, False)[column.codes])[0])
    raise InputError(
        f"the label in row {row + 1:,} is {column.names[column.codes[row]]}: the "
        f"labels look like measurements, not classes. Round them, or, if they are "
        f"names, pass them as text: classes=[{listed(column.names, 3)}, ...]."
    )


def _check_one_type(column: Coded, what: str) -> None:
    if not pd.api.types.infer_dtype(column.names).startswith("mixed"):
        return
    families = np.array([_family(v) for v in column.names], dtype=object)
    kinds = pd.unique(families)
    if len(kinds) < 2:
        return
    rows = [
        int(np.isin(column.codes, np.flatnonzero(families == k)).argmax())
        for k in kinds
    ]
    seen = " and ".join(
        f"{kind} in row {row + 1:,} ({column.names[column.codes[row]]!r})"
        for kind, row in zip(kinds, rows, strict=True)
    )
    raise InputError(
        f"the {what} is {seen}, so 1 and '1' would be two different values. Write all "
        f"of them in the same way."
    )


def _family(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true or false"
    if isinstance(value, int | float | np.number):
        return "a number"
    return "text" if isinstance(value, str) else f"a {type(value).__name__}"


def _kept_rows(found: Found) -> Array:
    """Return which rows have all three; count the others."""
    kept = np.ones(len(found.item.codes), dtype=bool)
    for what in ("label", "item", "annotator"):
        absent = getattr(found, what).codes < 0
        n_lost = int((absent & kept).sum())
        if n_lost:
            found.left_out[f"no {what}"] += n_lost
        kept &= ~absent
    if not kept.any():
        reasons = "; ".join(f"{why}: {n:,}" for why, n in found.left_out.items())
        raise InputError(
            f"no annotation could be read from its {found.n_rows:,} rows"
            f"{f' ({reasons})' if reasons else ''}."
        )
    return kept


def _categorical(column: Coded, rows: Array) -> pd.Series:
    codes = column.codes if rows.all() else column.codes[rows]
    kind = pd.CategoricalDtype(pd.Index(column.names))
    return pd.Series(pd.Categorical.from_codes(codes, dtype=kind))


def _whole_vocabulary(
    kept: pd.Series, column: Coded, gold: Mapping[Any, Any], what: str
) -> Array | None:
    """Return the sorted names, if some occur in no row that was kept."""
    used = np.bincount(kept.cat.codes, minlength=len(column.names)) > 0
    extra = (
        []
        if not gold
        else list(pd.Index(list(gold)).difference(pd.Index(column.names)))
    )
    if used.all() and not extra:
        return None
    return np.sort(np.concatenate([column.names, np.array(extra, column.names.dtype)]))


def _without_repeats(
    made: Annotations, keep: Literal["first", "last"], left_out: Counter[str]
) -> Annotations:
    single = made.without_repeats(keep)
    n_repeats = len(made) - len(single)
    if n_repeats:
        left_out[f"repeats an answer (drop_repeats={keep!r})"] += n_repeats
    return single


def _notes_of(made: Annotations) -> list[str]:
    n_bare = int((np.bincount(made.item, minlength=len(made.items)) == 0).sum())
    notes = []
    if n_bare:
        notes.append(f"{counted(n_bare, 'item')} without an answer: kept.")
    folded: dict[str, list[Any]] = {}
    for answer in made.answers.tolist():
        folded.setdefault(" ".join(str(answer).split()).casefold(), []).append(answer)
    notes += [
        f"the labels {listed(same)} differ only in blanks or capitals."
        for same in folded.values()
        if len(same) > 1
    ]
    return notes


def _report(found: Found, path: Any, n_kept: int) -> ReadReport:
    return ReadReport(
        path=str(path),
        format=found.format,
        n_rows=found.n_rows,
        n_kept=n_kept,
        left_out=dict(found.left_out),
        notes=tuple(found.notes),
    )
