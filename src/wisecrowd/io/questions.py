"""The questions of an export, and the choice of one of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wisecrowd._checks import InputError, counted, listed, named
from wisecrowd.io.columns import Coder
from wisecrowd.io.raw import RawAnnotations


class Question:
    """The answers to one question of an export, and what could not be used.

    Attributes
    ----------
    title : str
        The text of the question.
    item, annotator, answer : Coder
        One entry per answer.
    gold : dict
        From item to the list of answers by experts.
    left_out : Counter
        The number of answers that could not be used, per reason.
    """

    def __init__(self, title: str = "") -> None:
        self.title = title
        self.item, self.annotator, self.answer = Coder(), Coder(), Coder()
        self.gold: dict[Any, list[Any]] = {}
        self.left_out: Counter[str] = Counter()

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
    """Return the answers to the chosen question, and the notes about them."""
    gold, more = _agreed(question.gold)
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
    if not others:
        return []
    return [
        f"items are named by {named(used)}; {listed(others, 5)} could name them too. "
        f"Choose with item=."
    ]


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


def _agreed(gold: Mapping[Any, list[Any]]) -> tuple[dict[Any, Any], list[str]]:
    """Return the gold classes of items whose gold answers agree, and a note."""
    agreed = {item: given[0] for item, given in gold.items() if len(set(given)) == 1}
    n_split = len(gold) - len(agreed)
    if not n_split:
        return agreed, []
    split = [item for item in gold if item not in agreed]
    return agreed, [
        f"{n_split:,} items have more than one gold answer, and therefore no gold "
        f"class: {listed(split, 3)}."
    ]
