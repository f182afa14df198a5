"""The tasks of one Zooniverse workflow, and what their answers mean together."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from wisecrowd._checks import counted, listed
from wisecrowd.io.questions import Question

EXPERT = "gold answer of an expert"
NO_ANSWER = "no answer"
SEVERAL = "several answers to one question"
GLITCHES = 0.01  # share of surveys beside which a shortcut may be ticked all the same


class Classified(NamedTuple):
    """Who classified what, in which version of the workflow."""

    item: str | None  # None: the subject has no id
    annotator: str
    version: str
    is_gold: bool  # the answers of an expert


class Workflow:
    """The questions of one workflow.

    A task is asked under a key ("T0"). Its text can change from version to version, so
    the answers are kept by key and text.
    """

    def __init__(self, name: str) -> None:
        self.name = name.strip()
        self.n_rows = self.n_other_version = self.n_same = 0
        self.versions: Counter[str] = Counter()
        self.n_asked: Counter[str] = Counter()
        self.by_version: dict[str, Counter[tuple[str, str]]] = {}
        self._asked: dict[str, dict[str, Question]] = {}
        self._several: dict[str, Question] = {}  # answers with several ticks, each
        self._n_several: Counter[str] = Counter()
        self._surveys: Counter[str] = Counter()  # tasks in which species were chosen
        self._ticked: Counter[str] = Counter()
        self._beside: Counter[tuple[str, str]] = Counter()
        self._both: Counter[tuple[str, str]] = Counter()

    # -- row by row -------------------------------------------------------------

    def add(self, who: Classified, parts: Iterable[dict[str, Any]]) -> None:
        """Add the answers of one classification."""
        parts = list(parts)
        self.n_asked.update({str(part["task"]) for part in parts})
        for part in parts:
            self._add_part(who, part)
        self._count_pairs({str(part["task"]): part.get("value") for part in parts})

    def _add_part(self, who: Classified, part: dict[str, Any]) -> None:
        task, value = str(part["task"]), part.get("value")
        title = " ".join(str(part.get("task_label") or "").split())
        asked = self._asked.setdefault(task, {})
        question = asked.setdefault(title, Question(title))
        answers, problem = answers_in(value)
        if who.item is None:
            problem = problem or "no id for the subject"
        question.ask(who.item)
        if problem:
            question.left_out[problem] += 1
            if problem == SEVERAL:
                ticked = self._several.setdefault(task, Question())
                _add_answers(ticked, who, [str(v) for v in value or []])
            return
        if who.is_gold:
            question.left_out[EXPERT] += 1
        if _is_survey(value):
            self._n_several[task] += len(answers) > 1
        chosen = self.by_version.setdefault(task, Counter())
        chosen.update((who.version, answer) for answer in answers)
        _add_answers(question, who, answers)

    def _count_pairs(self, values: Mapping[str, Any]) -> None:
        """Count how often boxes are ticked beside a survey, empty or not."""
        ticked = [task for task, value in values.items() if _is_ticked(value)]
        self._ticked.update(ticked)
        for task, value in values.items():
            if _is_survey(value):
                self._surveys[task] += 1
                self._both.update((task, other) for other in ticked)
            elif value in (None, []):
                self._beside.update((task, other) for other in ticked)

    # -- all together -----------------------------------------------------------

    def has(self, task: str | None) -> bool:
        """Return whether a task has this key or this text."""
        titles = {title for asked in self._asked.values() for title in asked}
        return task is None or task in self._asked or _plain(task) in titles

    def most_answers(self) -> tuple[bool, int]:
        """Return the rank of the workflow: a choice, and the number of answers."""
        questions = self.questions(None).values()
        return max(
            ((not q.is_free_text, q.n_answers) for q in questions), default=(False, 0)
        )

    def questions(self, wanted: str | None) -> dict[str, Question]:
        """Return the questions by key; if a text is wanted, only what it asked."""
        whole = {task: _together(asked) for task, asked in self._asked.items()}
        for survey, shortcut in self.shortcuts():
            whole[survey] = self._with_shortcut(whole[survey], survey, shortcut)
        if wanted is not None:
            for task, asked in self._asked.items():
                if len(asked) > 1 and _plain(wanted) in asked:
                    whole[task] = asked[_plain(wanted)]
            return whole
        hidden = {shortcut for _, shortcut in self.shortcuts()}
        return {task: q for task, q in whole.items() if task not in hidden}

    def shortcuts(self) -> list[tuple[str, str]]:
        """Return surveys with the task of their shortcuts, such as "Nothing here".

        A shortcut is ticked instead of a choice of species: beside an empty survey,
        and (nearly) never beside a survey that is not empty.
        """
        return [
            (survey, other)
            for survey, other in self._beside
            if self._surveys[survey]
            and not self._surveys[other]
            and self._both[survey, other] <= GLITCHES * self._surveys[survey]
        ]

    def n_silent(self, task: str) -> int:
        """Return in how many classifications a task was not asked."""
        n_alone = sum(
            self._ticked[other] - self._beside[task, other] - self._both[task, other]
            for survey, other in self.shortcuts()
            if survey == task
        )
        n_read = self.n_rows - self.n_other_version - self.n_same
        return n_read - self.n_asked[task] - n_alone

    def _with_shortcut(self, found: Question, survey: str, other: str) -> Question:
        merged = Question(found.title)
        merged.include(found)
        ticks = _together(self._asked[other])
        merged.include(ticks)
        if other in self._several:
            merged.include(self._several[other])
        for why, n in ((SEVERAL, ticks.left_out[SEVERAL]),
                       (NO_ANSWER, ticks.left_out[NO_ANSWER]),
                       (NO_ANSWER, self._beside[survey, other])):  # fmt: skip
            merged.left_out[why] -= min(n, merged.left_out[why])
        merged.left_out += Counter()  # without the reasons that are left with 0
        return merged

    def answers_by_version(self, task: str) -> Counter[tuple[str, str]]:
        """Return how often each answer to a task was given in each version."""
        tasks = [task, *(other for survey, other in self.shortcuts() if survey == task)]
        return sum((self.by_version.get(t, Counter()) for t in tasks), Counter())

    # -- notes ------------------------------------------------------------------

    def notes(self, task: str, wanted: str | None) -> list[str]:
        """Return what to say about the versions, shortcuts and choices of a task."""
        return [
            *self._version_notes(),
            *self._title_notes(task, wanted),
            *self._shortcut_notes(task),
            *self._several_notes(task),
        ]

    def _version_notes(self) -> list[str]:
        if self.n_other_version or len(self.versions) < 2:
            return []
        first = self.versions.most_common(8)
        shown = ", ".join(f"{v} ({counted(n, 'row')})" for v, n in first)
        more = f" and {len(self.versions) - 8} more" if len(self.versions) > 8 else ""
        return [
            f"{len(self.versions)} versions of the workflow are read together: "
            f"{shown}{more}. Choose with version=."
        ]

    def _title_notes(self, task: str, wanted: str | None) -> list[str]:
        asked = {t: q for t, q in self._asked[task].items() if t}
        if len(asked) < 2 or (wanted is not None and _plain(wanted) in asked):
            return []
        shown = "; ".join(
            f"{title[:80]!r} ({counted(q.n_answers, 'answer')})"
            for title, q in list(asked.items())[:5]
        )
        return [
            f"ATTENTION: task {task!r} is {len(asked)} different questions in other "
            f"versions of the workflow, and their answers are read together: {shown}. "
            f"Choose one with task='<its text>' or with version=."
        ]

    def _shortcut_notes(self, task: str) -> list[str]:
        notes = []
        for survey, other in self.shortcuts():
            if survey == task:
                ticks = _together(self._asked[other])
                names = ticks.answer.coded().names
                notes.append(
                    f"where nothing was chosen in the survey {task!r}, the ticks of "
                    f"task {other!r} ({listed(names, 5)}) are its answers: "
                    f"{counted(self._ticked[other], 'classification')}. If they are "
                    f"not classes, name them with answers=."
                )
        return notes

    def _several_notes(self, task: str) -> list[str]:
        n = self._n_several[task]
        if not n:
            return []
        has = "has" if n == 1 else "have"
        return [
            f"{counted(n, 'classification')} {has} several choices for one item (such "
            f"as two species): each choice is an answer of its own."
        ]


def answers_in(value: Any) -> tuple[list[str], str]:
    """Return the answers in a task's value, or the reason why there is none.

    Examples
    --------
    >>> answers_in("Yes"), answers_in([{"choice": "BLP", "answers": {}}])
    ((['Yes'], ''), (['BLP'], ''))
    >>> answers_in(["red", "blue"])
    ([], 'several answers to one question')
    """
    if value is None or value in ("", []):
        return [], NO_ANSWER
    if not isinstance(value, list):
        return ([], "not a class") if isinstance(value, dict) else ([str(value)], "")
    if _is_survey(value):
        return list(dict.fromkeys(str(v["choice"]) for v in value)), ""
    if len(value) > 1 and not any(isinstance(v, dict | list) for v in value):
        return [], SEVERAL
    only = _option(value[0]) if len(value) == 1 else None
    return (
        ([only], "") if only else ([], "a drawing, a text or another form, not a class")
    )


# -- inside ---------------------------------------------------------------------


def _add_answers(question: Question, who: Classified, answers: list[str]) -> None:
    for answer in answers:
        if who.item is None:
            continue
        if who.is_gold:
            question.add_gold(who.item, answer)
        else:
            question.add(who.item, who.annotator, answer)


def _together(asked: Mapping[str, Question]) -> Question:
    """Return one question of those that were asked under one key."""
    if len(asked) == 1:
        return next(iter(asked.values()))
    most = max(asked, key=lambda title: asked[title].n_answers)
    merged = Question(most)
    for question in asked.values():
        merged.include(question)
    return merged


def _is_survey(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(v, dict) and "choice" in v for v in value)
    )


def _is_ticked(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(v, str) and v for v in value)
    )


def _option(value: Any) -> str | None:
    """Return the text of a single choice: of a list, or of a dropdown menu."""
    if isinstance(value, dict):
        if not value.keys() <= {"value", "option", "label", "select_label"}:
            return None
        value = value.get("label") or value.get("value")
    return None if isinstance(value, dict | list) else text(value)


def text(value: Any) -> str | None:
    """Return a value as text, or None if there is none."""
    return None if value is None or value == "" else str(value)


def _plain(title: str) -> str:
    return " ".join(title.split())
