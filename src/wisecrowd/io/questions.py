"""The questions of an export, and the choice of one of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wisecrowd._checks import InputError, counted, listed, named
from wisecrowd.io.columns import Coder
from wisecrowd.io.contents import HEADER_AGAIN, table_rows
from wisecrowd.io.raw import RawAnnotations
from wisecrowd.io.sources import Source

SAME = "the same assignment again"


@dataclass
class Question:
    """The answers to one question of an export: three columns, and those of experts.

    `left_out` counts the answers that could not be used, per reason.
    """

    title: str = ""
    item: Coder = field(default_factory=Coder)
    annotator: Coder = field(default_factory=Coder)
    answer: Coder = field(default_factory=Coder)
    gold: dict[Any, list[Any]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, item: Any, annotator: Any, answer: Any) -> None:
        """Add an answer."""
        self.item.append(item)
        self.annotator.append(annotator)
        self.answer.append(answer)

    def add_gold(self, item: Any, known: Any) -> None:
        """Add an answer that is known to be right."""
        self.gold.setdefault(item, []).append(known)

    def ask(self, item: Any) -> None:
        """Keep an item about which this was asked, with or without an answer."""
        self.item.know(item)

    def include(self, other: "Question") -> None:
        """Add everything that is known from another question."""
        self.item.extend(other.item)
        self.annotator.extend(other.annotator)
        self.answer.extend(other.answer)
        self.left_out.update(other.left_out)
        for item, known in other.gold.items():
            self.gold.setdefault(item, []).extend(known)

    @property
    def n_answers(self) -> int:
        """The number of answers that can be used."""
        return len(self.answer) + len(self.gold)

    @property
    def is_free_text(self) -> bool:
        """Whether almost all answers are different."""
        return self.answer.n_names > max(10, len(self.answer) / 2)


@dataclass
class Export:
    """All questions of an export, and the rows of which no answer was made."""

    questions: dict[str, Question] = field(
        default_factory=lambda: defaultdict(Question)
    )
    left_out: Counter[str] = field(default_factory=Counter)
    n_rows: int = 0
    seen: set[int] = field(default_factory=set)

    def rows(
        self, source: Source, columns: Iterable[str], number: str
    ) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the place of each assignment and its values; each one once."""
        names = list(dict.fromkeys(c for c in columns if c in source.columns))
        for place, row in table_rows(source, names, self.left_out):
            self.n_rows += 1
            if is_again(row, row.get(number), self.seen):
                self.left_out[SAME] += 1
            else:
                yield place, row
        self.n_rows += self.left_out[HEADER_AGAIN]

    def found(self, form: str, name: str, notes: Sequence[str]) -> RawAnnotations:
        """Return the answers to the chosen question, and the notes about them."""
        made = from_question(form, self.questions[name], self.n_rows, notes)
        made.left_out.update(+self.left_out)
        return made


def chosen_question(
    questions: Mapping[str, Question], wanted: str | None
) -> tuple[str, list[str]]:
    """Return the wanted question, or the one with the most answers, and notes."""
    if not questions:
        raise InputError("there are no answers in it.")
    if wanted is not None:
        return _named_question(questions, str(wanted)), []
    ranked = sorted(
        questions, key=lambda q: (questions[q].is_free_text, -questions[q].n_answers)
    )
    notes = []
    if len(ranked) > 1:
        others = "; ".join(_described(q, questions[q]) for q in ranked[1:9])
        more = f"; and {len(ranked) - 9} more" if len(ranked) > 9 else ""
        notes = [
            f"of {len(ranked)} tasks, {_described(ranked[0], questions[ranked[0]])}, "
            f"was chosen, because it has the most answers; the others: {others}{more}. "
            f"Choose with task=."
        ]
    best = questions[ranked[0]]
    if best.is_free_text:
        notes.append(
            f"task {ranked[0]!r} looks like free text: {best.n_answers:,} answers, "
            f"{best.answer.n_names:,} different ones."
        )
    return ranked[0], notes


def from_question(
    form: str, question: Question, n_rows: int, notes: Sequence[str] = ()
) -> RawAnnotations:
    """Return the answers to a question; gold is what all experts say of an item."""
    gold = {i: given[0] for i, given in question.gold.items() if len(set(given)) == 1}
    split = [item for item in question.gold if item not in gold]
    more = [
        f"{len(split):,} items have more than one gold answer, and therefore no gold "
        f"class: {listed(split, 3)}."
    ] * bool(split)
    return RawAnnotations(
        form,
        question.item.coded(),
        question.annotator.coded(),
        question.answer.coded(),
        n_rows,
        gold=gold,
        left_out=question.left_out,
        notes=[*notes, *more],
    )


def note_of_items(used: str, others: Iterable[str]) -> list[str]:
    """Say what names the items, and what else could: features may have those names."""
    others = [name for name in others if name != used]
    return [
        f"items are named by {named(used)}; {listed(others, 5)} could name them too. "
        f"Choose with item=."
    ] * bool(others)


def note_gold_answers(found: RawAnnotations, why: str, which: str) -> None:
    """Add a note about the answers that were left out, as `why`, and used as gold."""
    n_gold = found.left_out[why]
    if n_gold:
        found.notes.append(
            f"{n_gold:,} answers {which} were used as gold, not as answers of the "
            f"crowd."
        )


def is_again(content: Any, number: Any, seen: set[int]) -> bool:
    """Return whether this was read before, under the same number; remember it.

    Exports that overlap, one below the other, have the same rows twice. The number
    alone is not enough, because spreadsheets round large numbers. What is remembered is
    a hash, which takes less memory than the content.
    """
    if number in (None, ""):
        return False
    key = hash((str(number), str(content)))
    known = key in seen
    seen.add(key)
    return known


# -- inside ---------------------------------------------------------------------


def _described(name: str, question: Question) -> str:
    title = " ".join(question.title.split())
    title = f" ({title[:50] + '…' if len(title) > 50 else title})" if title else ""
    return f"{name!r}{title}, {counted(question.n_answers, 'answer')}"


def _named_question(questions: Mapping[str, Question], wanted: str) -> str:
    if wanted in questions:
        return wanted
    titled = [
        name for name, q in questions.items() if q.title.strip() == wanted.strip()
    ]
    if len(titled) == 1:
        return titled[0]
    known = "; ".join(_described(name, q) for name, q in list(questions.items())[:20])
    raise InputError(f"there is no task {wanted!r}; there are {known}.")
