"""The answers of a crowd with their names: items, annotators, answers, gold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Int

from wisecrowd import _html
from wisecrowd._checks import InputError, counted, listed, one_of, vocabulary_values
from wisecrowd._types import Array, Gold, Ids
from wisecrowd.annotations.headers import column_names
from wisecrowd.annotations.read_report import ReadReport
from wisecrowd.annotations.tables import as_array, check_shared_answers
from wisecrowd.annotations.vocabulary import (
    Coded,
    answer_names,
    check_answers_known,
    encoded,
    gold_codes_of,
    gold_series,
    positions,
    type_hint,
    union,
    unique,
)
from wisecrowd.answers import Answers

Repeats = Literal["first", "last"] | None
EMPTY = "there are no annotations: the input is empty."


@dataclass(frozen=True, eq=False, repr=False)
class Annotations:
    """Who gave which answer about which item.

    Make one with :meth:`from_frame`, :meth:`from_matrix`, :meth:`from_triples`,
    :meth:`from_dict` or :func:`wisecrowd.read_annotations`.

    Attributes
    ----------
    items, annotators, answers : arrays of length N, A, K
        The vocabularies: every name once, sorted unless an order was given. The first
        ``n_classes`` answers are the classes. Other answers, such as "can't tell", are
        allowed but are not classes.
    codes : Answers
        The answers as integer codes, which are positions in the vocabularies.
    item, annotator, answer : int32 arrays of length L
        The columns of `codes`: one entry per answer, sorted by item.
    gold_codes : int32 array of length N
        The class of each item that is known for certain, -1 for the other items.
    report : ReadReport or None
        What was read and what was left out, if the annotations are from a file.

    Examples
    --------
    >>> answers = Annotations.from_triples(
    ...     ["x", "x", "y"], ["ann", "bob", "ann"], ["cat", "dog", "cat"])
    >>> answers
    Annotations(2 items, 2 annotators, 2 classes, 3 answers; 1.5 per item)
    >>> answers.classes.tolist(), answers.counts().tolist()
    (['cat', 'dog'], [[1, 1], [1, 0]])
    """

    items: Array
    annotators: Array
    answers: Array
    codes: Answers
    gold_codes: Int[np.ndarray, " N"]
    report: ReadReport | None = None

    # -- made from other forms --------------------------------------------------

    @classmethod
    def from_triples(  # noqa: PLR0913  its settings are its arguments
        cls,
        item: Ids,
        annotator: Ids,
        answer: Ids,
        *,
        items: Ids | None = None,
        annotators: Ids | None = None,
        classes: Ids | None = None,
        answers: Ids | None = None,
        gold: Gold | None = None,
        drop_repeats: Repeats = None,
    ) -> "Annotations":
        """Make annotations from three columns: item, annotator, answer.

        Parameters
        ----------
        item, annotator, answer : sequences of length L
            One entry per answer. Repeated answers are kept.
        items, annotators : sequences, optional
            The vocabularies. Default: the names that occur, sorted.
        classes : sequence, optional
            The classes, in order; some may be unused. Default: every answer that
            occurs, except those in `answers`.
        answers : sequence, optional
            Answers that are allowed but are not classes, such as "can't tell".
        gold : dict or Series, optional
            From item to class, for items whose class is known for certain.
        drop_repeats : {"first", "last"}, optional
            Which answer to keep if an annotator answered an item several times.
            Default: all of them.
        """
        columns = {"item": item, "annotator": annotator, "answer": answer}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"the three columns differ in length: {lengths}.")
        if not lengths["item"]:
            raise InputError(EMPTY)
        return cls.from_codes(
            encoded(item, items, "item"),
            encoded(annotator, annotators, "annotator"),
            encoded(answer, None, "answer"),
            classes=classes,
            answers=answers,
            gold=gold,
            drop_repeats=drop_repeats,
            said=lambda row: [pd.Series(c).iloc[row] for c in columns.values()],
        )

    @classmethod
    def from_codes(
        cls,
        item: Coded,
        annotator: Coded,
        answer: Coded,
        *,
        classes: Ids | None = None,
        answers: Ids | None = None,
        gold: Gold | None = None,
        drop_repeats: Repeats = None,
        said: Callable[[int], list[Any]] | None = None,
    ) -> "Annotations":
        """Make annotations from columns that are codes: pairs of positions and names.

        The names of items and annotators are the vocabularies, in their order. `said`
        returns the three values in a row for an error, if they are not the names. The
        other options are those of :meth:`from_triples`.

        Examples
        --------
        >>> def column(codes, *names):
        ...     return Coded(np.array(codes), np.array(names, dtype=object))
        >>> who, said = column([0, 1, 0], "ann", "bob"), column([0, 1, 0], "cat", "dog")
        >>> Annotations.from_codes(column([0, 0, 1], "x", "y"), who, said)
        Annotations(2 items, 2 annotators, 2 classes, 3 answers; 1.5 per item)
        """
        columns = item, annotator, answer
        if not len(item.codes):
            raise InputError(EMPTY)
        gold_of = gold_series(gold)
        names, n_classes = answer_names(answer.names, classes, answers, gold_of)
        given = answer.codes
        if names is not answer.names:
            given = pd.Index(names).get_indexer(pd.Index(answer.names))[given]
            said = said or (lambda row: [c.names[c.codes[row]] for c in columns])
            check_answers_known(given, said, names)
        sizes = len(item.names), len(annotator.names), n_classes, len(names)
        made = cls(
            items=item.names,
            annotators=annotator.names,
            answers=names,
            codes=Answers.from_codes(item.codes, annotator.codes, given, sizes),
            gold_codes=gold_codes_of(gold_of, item.names, names[:n_classes]),
        )
        return made.without_repeats(drop_repeats) if drop_repeats else made

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        item: str | None = None,
        annotator: str | None = None,
        answer: str | None = None,
        **options: Any,
    ) -> "Annotations":
        """Make annotations from a long table, with one row per answer.

        The columns are found by their usual names (item, task or image; annotator,
        worker or user; answer, label or class), or named by `item`, `annotator` and
        `answer`. They can be levels of the index. Other options are those of
        :meth:`from_triples`.

        Examples
        --------
        >>> columns = {"task": [1, 1], "worker": ["a", "b"], "label": [0, 1]}
        >>> table = pd.DataFrame(columns)
        >>> Annotations.from_frame(table)
        Annotations(1 item, 2 annotators, 2 classes, 2 answers; 2.0 per item)
        """
        levels = [name for name in frame.index.names if name is not None]
        if levels and not set(levels) & set(frame.columns):
            frame = frame.reset_index(levels)
        names = column_names(
            frame.columns, item=item, annotator=annotator, answer=answer
        )
        return cls.from_triples(*(frame[name] for name in names), **options)

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        *,
        items: Ids | None = None,
        annotators: Ids | None = None,
        **options: Any,
    ) -> "Annotations":
        """Make annotations from an (N, A) table: rows are items, columns annotators.

        Missing answers are NaN, None or -1. The names of items and annotators are
        given, or the index and the columns of a DataFrame, or row and column numbers.
        Items and annotators without an answer are kept.

        Examples
        --------
        >>> Annotations.from_matrix([[0, 1, -1], [1, 1, -1]])
        Annotations(2 items, 3 annotators, 2 classes, 4 answers; 2.0 per item)
        """
        if isinstance(matrix, pd.DataFrame):
            items = matrix.index if items is None else items
            annotators = matrix.columns if annotators is None else annotators
        table = as_array(matrix)
        if table.ndim != 2:
            raise InputError(
                f"a matrix of answers has two axes (items, annotators), "
                f"this one has {table.ndim} (shape {table.shape})."
            )
        present = ~pd.isna(table)
        if table.dtype.kind in "iufO":
            present[present] = table[present] != -1  # pd.NA cannot be compared
        if options.get("classes") is None:
            check_shared_answers(table, present)
        rows, columns = np.nonzero(present)
        items, annotators = (
            np.arange(n) if names is None else np.asarray(names)
            for names, n in zip((items, annotators), table.shape, strict=True)
        )
        return cls.from_triples(
            items[rows],
            annotators[columns],
            table[present],
            items=items,
            annotators=annotators,
            **options,
        )

    @classmethod
    def from_dict(cls, answers_of: Mapping[Any, Any], **options: Any) -> "Annotations":
        """Make annotations from ``{item: {annotator: answer}}``, the form of peerannot.

        A list stands for repeated answers. Items without an answer are kept.

        Examples
        --------
        >>> Annotations.from_dict({"x": {"ann": 0, "bob": 1}, "y": {"ann": [1, 1]}})
        Annotations(2 items, 2 annotators, 2 classes, 4 answers; 2.0 per item)
        """
        odd = [k for k, given in answers_of.items() if not isinstance(given, Mapping)]
        if odd:
            raise InputError(
                f"{{item: {{annotator: answer}}}} was expected, and the value of "
                f"{listed(odd[:1])} is a {type(answers_of[odd[0]]).__name__}. A "
                f"dictionary of columns has the keys item, annotator and answer."
            )
        rows = [
            (item, annotator, answer)
            for item, given in answers_of.items()
            for annotator, said in given.items()
            for answer in (said if isinstance(said, list) else [said])
        ]
        columns = zip(*rows, strict=True) if rows else ((), (), ())
        names = pd.Index(vocabulary_values(list(answers_of), "item")).sort_values()
        options.setdefault("items", names.to_numpy())
        return cls.from_triples(*map(list, columns), **options)

    @classmethod
    def from_target(cls, target: Any, **options: Any) -> "Annotations":
        """Make annotations from a 1-D target: one annotator who answered every item."""
        said = np.asarray(target)
        rows = np.arange(len(said))
        return cls.from_triples(rows, np.zeros_like(rows), said, items=rows, **options)

    # -- parts and sums ---------------------------------------------------------

    @property
    def classes(self) -> Array:
        """The classes, in order: the first answers."""
        return self.answers[: self.n_classes]

    @property
    def gold(self) -> pd.Series:
        """The gold classes, a Series from item to class."""
        known = np.flatnonzero(self.gold_codes >= 0)
        return pd.Series(
            self.classes[self.gold_codes[known]],
            index=pd.Index(self.items[known], name="item"),
            name="gold",
        )

    @property
    def item(self) -> Int[np.ndarray, " L"]:
        """The code of the item of each answer, sorted."""
        return self.codes.item

    @property
    def annotator(self) -> Int[np.ndarray, " L"]:
        """The code of the annotator of each answer."""
        return self.codes.annotator

    @property
    def answer(self) -> Int[np.ndarray, " L"]:
        """The code of each answer."""
        return self.codes.answer

    @property
    def n_classes(self) -> int:
        """The number of classes, C; the first C answers are the classes."""
        return self.codes.n_classes

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        n_others, n_gold = (
            len(self.answers) - self.n_classes,
            int((self.gold_codes >= 0).sum()),
        )
        parts = [
            counted(len(self.items), "item"),
            counted(len(self.annotators), "annotator"),
            counted(self.n_classes, "class"),
            *([counted(n_others, "other answer")] if n_others else []),
            counted(len(self), "answer"),
            *([counted(n_gold, "gold class")] if n_gold else []),
        ]
        mean = len(self) / max(len(self.items), 1)
        return f"Annotations({', '.join(parts)}; {mean:.1f} per item)"

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Refuse to be an array, such as the y that scikit-learn would split."""
        raise InputError(
            "Annotations are no array with a row per item, so scikit-learn cannot "
            "split them: use wisecrowd.cross_validate(model, X, answers). GridSearchCV "
            "takes a matrix, answers.align(ids_of_rows).to_matrix(): -1 is no answer."
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: sizes, and how often each answer was given."""
        title = repr(self).removeprefix("Annotations(").removesuffix(")")
        n_given = self.counts("annotator").sum(0)
        order = np.argsort(-n_given, kind="stable")[:10]
        rows = [
            (self.answers[k], f"{n_given[k]:,}", f"{n_given[k] / len(self):.1%}")
            for k in order
        ]
        lines = [] if self.report is None else str(self.report).split("\n")
        columns = ("<answer", "times", "share")
        return _html.block(
            f"Annotations: {title}",
            _html.table("Most frequent answers", columns, rows),
            *(_html.paragraph(line, _html.SOFT) for line in lines),
        )

    def counts(self, by: Literal["item", "annotator"] = "item") -> Array:
        """Count each answer, per item (N, K) or per annotator (A, K)."""
        one_of(by, ("item", "annotator"), "by")
        return self.codes.counts(by)

    def to_frame(self) -> pd.DataFrame:
        """Return a long table with the columns item, annotator, answer."""
        return pd.DataFrame(
            {
                "item": self.items[self.item],
                "annotator": self.annotators[self.annotator],
                "answer": self.answers[self.answer],
            }
        )

    def to_matrix(self) -> Array:
        """Return an (N, A) table of answer codes, -1 for no answer.

        A matrix has one answer per item and annotator: drop repeated answers with
        :meth:`without_repeats` first.
        """
        n_repeated = int(self._repeated().sum())
        if n_repeated:
            raise InputError(
                f"{n_repeated} answers are repeated (same item, same "
                f"annotator), but a matrix holds one answer per item and annotator. "
                f"Use without_repeats() first."
            )
        matrix = np.full((len(self.items), len(self.annotators)), -1, dtype=np.int32)
        matrix[self.item, self.annotator] = self.answer
        return matrix

    # -- changed copies ---------------------------------------------------------

    def without_repeats(
        self, keep: Literal["first", "last"] = "first"
    ) -> "Annotations":
        """Return at most one answer per item and annotator: the first or the last."""
        one_of(keep, ("first", "last"), "drop_repeats")
        return self._rows(~self._repeated(keep))

    def subset(
        self, *, items: Ids | None = None, annotators: Ids | None = None
    ) -> "Annotations":
        """Return the annotations of some items, or by some annotators.

        The chosen names become the vocabulary, in the given order. The other
        vocabularies do not change, so that models of different parts can be compared.
        """
        chosen = self if items is None else self._select("item", items)
        return chosen if annotators is None else chosen._select("annotator", annotators)

    def align(self, items: Ids) -> "Annotations":
        """Return the same annotations over the items of a feature table, in its order.

        The ids become those of the table. Numbers and text are compared as text: item 7
        of the table is item "7" of the annotations. Items without an answer are kept if
        the table has them, and dropped if it does not. An answer about an item that is
        not in the table is an error.

        Examples
        --------
        >>> answers = Annotations.from_triples(["7", "8"], ["ann", "bob"], [0, 1])
        >>> answers.align([9, 8, 7]).to_frame()["item"].tolist()
        [8, 7]
        """
        names = unique(vocabulary_values(items, "item"), "item")
        where = positions(self.items, names)
        lost = (where < 0) & (self.codes.n_per_item > 0)
        if lost.any():
            raise InputError(self._without_features(lost, names))
        gold = np.full(len(names), -1, dtype=np.int32)
        gold[where[where >= 0]] = self.gold_codes[where >= 0]
        return replace(self, items=names, gold_codes=gold)._recoded("item", where)

    def with_items(self, items: Ids) -> "Annotations":
        """Return the same annotations with other names of the items, in order."""
        names = unique(vocabulary_values(items, "item"), "item")
        if len(names) != len(self.items):
            raise InputError(
                f"{len(names)} names were given for {len(self.items)} items."
            )
        return replace(self, items=names)

    def with_gold(self, gold: Gold) -> "Annotations":
        """Return the same annotations with this gold instead of theirs."""
        codes = gold_codes_of(gold_series(gold), self.items, self.classes)
        return replace(self, gold_codes=codes)

    def recoded(self, *, classes: Ids, answers: Ids) -> "Annotations":
        """Return the same annotations in the vocabulary of a fitted model."""
        if np.array_equal(self.answers, answers) and self.n_classes == len(classes):
            return self
        return type(self).from_codes(
            Coded(self.item, self.items),
            Coded(self.annotator, self.annotators),
            Coded(self.answer, self.answers),
            classes=classes,
            answers=answers,
            gold=self.gold,
        )

    def merge(self, other: "Annotations") -> "Annotations":
        """Return the annotations of both; their vocabularies may differ.

        A class of either is a class of the result. If both have gold for an item, it
        must be the same class. All answers count: an answer that is in both counts
        twice, and the `report` says how many there are. Files that overlap are better
        read together (``read_annotations([a, b])``), where an answer that has an id is
        recognised.

        Examples
        --------
        >>> week1 = Annotations.from_dict({"x": {"ann": 0, "bob": 1}})
        >>> week2 = Annotations.from_dict({"x": {"ann": 0}, "y": {"ann": 1}})
        >>> both = week1.merge(week2)
        >>> both
        Annotations(2 items, 2 annotators, 2 classes, 4 answers; 2.0 per item)
        >>> print(*both.report.notes)
        1 item and 1 annotator are in both. 1 answer is by an annotator who had answered
        the item in the first. Each counts.
        """
        gold = pd.concat([self.gold, other.gold])
        several = gold.groupby(level=0).nunique()
        if (several > 1).any():
            raise InputError(
                f"the two sets disagree on the gold class of "
                f"{listed(several.index[several > 1])}. Correct one of them."
            )
        item, annotator = self._united(other, "item"), self._united(other, "annotator")
        classes = union(self.classes, other.classes, "class")
        answer = self._united(other, "answer")
        made = type(self).from_codes(
            item,
            annotator,
            answer,
            classes=classes,
            answers=answer.names,
            gold=gold[~gold.index.duplicated()],
        )
        return replace(made, report=self._merge_report(other))

    # -- inside -----------------------------------------------------------------

    def _without_features(self, lost: Array, names: Array) -> str:
        """Say which items have answers and no features."""
        n_lost, n_answered = int(lost.sum()), int((self.codes.n_per_item > 0).sum())
        shown = listed(self.items[lost], 5)
        if n_lost == n_answered:
            return (
                f"none of the {counted(n_answered, 'answered item')} has features: the "
                f"answers are about {shown}, the features about {listed(names, 5)}."
                f"{type_hint(self.items, names)}"
            )
        return (
            f"{n_lost:,} of {n_answered:,} answered items have no features: {shown}. "
            f"Add their rows to the features, or keep the answers on items with "
            f"features only: answers.subset(items=...), or, on the command line, "
            f"--leave-out-items with a file of the others."
        )

    def _united(self, other: "Annotations", what: str) -> Coded:
        """Return a column of both sets, one below the other."""
        parts = [(getattr(s, what), getattr(s, f"{what}s")) for s in (self, other)]
        names = vocabulary_values(union(parts[0][1], parts[1][1], what), what)
        where = [positions(own, names)[codes] for codes, own in parts]
        return Coded(np.concatenate(where), names)

    def _merge_report(self, other: "Annotations") -> ReadReport:
        """Say what both sets have, and what was said of each."""
        pairs = [made.to_frame()[["item", "annotator"]] for made in (self, other)]
        n_again = len(pairs[1].merge(pairs[0].drop_duplicates()))
        shared = [
            counted(len(np.intersect1d(here, there)), word)
            for here, there, word in (
                (self.items, other.items, "item"),
                (self.annotators, other.annotators, "annotator"),
            )
        ]
        notes = [f"{shared[0]} and {shared[1]} are in both."]
        if n_again:
            are = "is" if n_again == 1 else "are"
            notes.append(
                f"{counted(n_again, 'answer')} {are} by an annotator who had answered "
                f"the item in the first. Each counts."
            )
        empty = [ReadReport("", "answers", len(s), len(s)) for s in (self, other)]
        reports = [self.report or empty[0], other.report or empty[1]]
        return ReadReport.joined(reports, notes)

    def _rows(self, keep: Array) -> "Annotations":
        return replace(self, codes=self.codes.some(keep))

    def _repeated(self, keep: Literal["first", "last"] = "first") -> Array:
        pair = self.item.astype(np.int64) * len(self.annotators) + self.annotator
        return pd.Series(pair).duplicated(keep=keep).to_numpy()

    def _select(self, code: str, chosen: Ids) -> "Annotations":
        names = f"{code}s"
        wanted = unique(vocabulary_values(chosen, code), code)
        old = getattr(self, names)
        unknown = positions(wanted, old) < 0
        if unknown.any():
            raise InputError(
                f"{int(unknown.sum())} of the chosen {names} are not among the "
                f"{len(old)} known: {listed(wanted[unknown], 5)}."
                f"{type_hint(wanted, old)}"
            )
        where = positions(old, wanted)
        part = self._rows(where[getattr(self, code)] >= 0)
        changes: dict[str, Any] = {names: wanted}
        if code == "item":
            changes["gold_codes"] = self.gold_codes[positions(wanted, old)]
        return replace(part, **changes)._recoded(code, where)

    def _recoded(self, code: str, where: Array) -> "Annotations":
        """Return the codes for items or annotators that were renamed before."""
        item = where[self.item] if code == "item" else self.item
        annotator = where[self.annotator] if code == "annotator" else self.annotator
        sizes = len(self.items), len(self.annotators), *self.codes.shape[2:]
        codes = Answers.from_codes(item, annotator, self.answer, sizes)
        return replace(self, codes=codes)
