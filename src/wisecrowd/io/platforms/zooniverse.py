"""Zooniverse classification exports: one row per classification, JSON inside."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from wisecrowd._checks import InputError, listed, named
from wisecrowd.annotations.headers import GOLD_NAMES
from wisecrowd.io.platforms.zooniverse_workflow import EXPERT, Classified, Workflow
from wisecrowd.io.platforms.zooniverse_workflow import text as text_of
from wisecrowd.io.questions import (
    Question,
    chosen_question,
    from_question,
    is_again,
    note_gold_answers,
)
from wisecrowd.io.raw import RawAnnotations
from wisecrowd.io.sources import NO_ROWS, Source, parsed, table_rows

NEEDED = ("annotations", "subject_ids")
USED = (
    "classification_id", "user_name", "user_id", "user_ip",
    "workflow_id", "workflow_name", "workflow_version",
    "gold_standard", "expert", "annotations", "subject_data", "subject_ids",
)  # fmt: skip
ANONYMOUS = "not-logged-in"
SAME = "the same classification again"
GOLD_FIELD = re.compile(rf'"[#!/]*({"|".join(GOLD_NAMES)})"\s*:', re.IGNORECASE)

GRAVITY_SPY = {
    "45MHZLGHTMDLTN": "45Mhz_Light_Modulation",
    "LGHTMDLTN": "45Mhz_Light_Modulation",
    "50HZ": "50_Hz",
    "RCMPRSSR50HZ": "50_Hz",
    "BLP": "Blip",
    "CHRP": "Chirp",
    "XTRMLLD": "Extremely_Loud",
    "HLX": "Helix",
    "KFSH": "Koi_Fish",
    "LWFRQNCBRST": "Low_Frequency_Burst",
    "LWFRQNCLN": "Low_Frequency_Lines",
    "NGLTCH": "No_Glitch",
    "DNTSGLTCH": "No_Glitch",
    "NNFTHBV": "None_of_the_Above",
    "PRDDVS": "Paired_Doves",
    "60HZPWRLN": "Power_Line",
    "60HZPWRMNS": "Power_Line",
    "PWRLN60HZ": "Power_Line",
    "RPTNGBLPS": "Repeating_Blips",
    "SCTTRDLGHT": "Scattered_Light",
    "SCRTCH": "Scratchy",
    "TMT": "Tomte",
    "VLNHRMNC500HZ": "Violin_Mode",
    "HRMNCS": "Violin_Mode",
    "WNDRNGLN": "Wandering_Line",
    "WHSTL": "Whistle",
    "CLBRTNLN300HZ": "Calibration_Line_300Hz",
}
"""Choice codes of Gravity Spy's survey task; some classes have had several."""


def recognises(columns: tuple[str, ...]) -> bool:
    """Return whether these are the columns of a classification export."""
    return set(NEEDED) <= set(columns)


def read(
    source: Source,
    *,
    task: str | None = None,
    workflow: str | int | None = None,
    version: str | int | float | None = None,
    item: str | None = None,
) -> RawAnnotations:
    """Read one task of one workflow; by default that with most answers.

    `task` is a key ("T0") or a question, `workflow` an id or a name, `version` one
    ("463.55") or all that begin with a number ("463"). `item` is a field of the
    subjects' metadata that names the items, in place of the subjects' numbers.
    """
    export = _Export(item, None if version is None else str(version))
    columns = [name for name in USED if name in source.columns]
    again: Counter[str] = Counter()
    for place, row in table_rows(source, columns, again):
        export.add(place, row)
    if not export.n_rows:
        raise InputError(NO_ROWS)
    flow, notes = export.chosen_workflow(workflow, task)
    made = export.found(flow, task, notes)
    made.left_out.update(again)
    made.n_rows += again.total()
    return made


def annotator_of(row: dict[str, str]) -> str:
    """Return who classified; users who are not logged in get a name each.

    Examples
    --------
    >>> annotator_of({"user_name": "ann", "user_id": "7"})
    'ann'
    >>> annotator_of({"user_name": "", "user_id": "", "user_ip": "15937b0774"})
    'not-logged-in-15937b0774'
    """
    name = row.get("user_name", "")
    if name and name != ANONYMOUS:
        return name
    if row.get("user_id"):
        return row["user_id"]
    address = row.get("user_ip", "")
    if re.search(r"[.:]", address):  # not hashed by the platform
        address = hashlib.sha256(address.encode()).hexdigest()[:20]
    return f"{ANONYMOUS}-{address or row.get('classification_id', '')}"


# -- inside ---------------------------------------------------------------------


class _Export:
    """All workflows of a file, and the items and gold classes of its subjects."""

    def __init__(self, item_field: str | None, version: str | None) -> None:
        self.item_field, self.version = item_field, version
        self.workflows: dict[str, Workflow] = {}
        self.item_of: dict[str, str | None] = {}
        self.gold_of: dict[str, str] = {}
        self.n_rows = 0
        self.seen: set[int] = set()  # hashes, which take less memory than the rows

    def add(self, place: str, row: dict[str, str]) -> None:
        self.n_rows += 1
        flow_id = row.get("workflow_id", "")
        if flow_id not in self.workflows:
            self.workflows[flow_id] = Workflow(row.get("workflow_name", ""))
        flow = self.workflows[flow_id]
        flow.n_rows += 1
        version = row.get("workflow_version", "")
        flow.versions[version] += 1
        if self.version not in (None, version, version.split(".")[0]):
            flow.n_other_version += 1
            return
        if self.is_repeat(row):
            flow.n_same += 1
            return
        where = f"{place} (classification {row.get('classification_id', '?')})"
        given = parsed(row["annotations"] or "[]", f"{where}, column 'annotations',")
        is_gold = row.get("gold_standard", "").lower() in ("true", "t", "1")
        item = self.subject(row, where)
        who = Classified(item, annotator_of(row), version, is_gold)
        flow.add(who, _flat(given, where))

    def is_repeat(self, row: dict[str, str]) -> bool:
        """Return whether this classification, with its id, was in an earlier row."""
        content = annotator_of(row), row["subject_ids"], row["annotations"]
        return is_again(content, row.get("classification_id"), self.seen)

    def subject(self, row: dict[str, str], where: str) -> str | None:
        """Return the item of a row; the metadata of each subject is parsed once."""
        number = row["subject_ids"]
        if number not in self.item_of:
            self.item_of[number] = self.subject_item(row, where)
        return self.item_of[number]

    def subject_item(self, row: dict[str, str], where: str) -> str | None:
        text = row.get("subject_data", "")
        item = row["subject_ids"] or None
        if self.item_field is None and not GOLD_FIELD.search(text):
            return item
        fields = _subject_fields(
            parsed(text or "{}", f"{where}, column 'subject_data',")
        )
        if self.item_field is not None:
            item = text_of(fields.get(self.item_field))
        gold = next((v for k, v in fields.items() if _is_gold_name(k)), None)
        if item is not None and text_of(gold) is not None:
            self.gold_of[item] = str(gold)
        return item

    def chosen_workflow(
        self, wanted: str | int | None, task: str | None
    ) -> tuple[str, list[str]]:
        """Return the workflow that is named, or that has the most answers to a task."""
        flows = self.workflows
        rank = {flow_id: flow.most_answers() for flow_id, flow in flows.items()}
        ranked = sorted(flows, key=lambda flow_id: rank[flow_id], reverse=True)
        shown = [f"{f!r} ({flows[f].name}), {flows[f].n_rows:,} rows" for f in ranked]
        if wanted is not None:
            named = [f for f in ranked if str(wanted).strip() in (f, flows[f].name)]
            if not named:
                raise InputError(
                    f"there is no workflow {wanted!r}; there are {'; '.join(shown)}."
                )
            return named[0], []
        best = next((f for f in ranked if flows[f].has(task)), ranked[0])
        if len(flows) == 1:
            return best, []
        chosen = shown.pop(ranked.index(best))
        return best, [
            f"workflow {chosen}, was chosen, because it has the most answers to a "
            f"task; the others: {'; '.join(shown)}. Choose with workflow=."
        ]

    def found(self, flow_id: str, task: str | None, notes: list[str]) -> RawAnnotations:
        """Return the annotations of a task, with notes about the other rows."""
        flow = self.workflows[flow_id]
        if flow.n_rows == flow.n_other_version:
            raise InputError(
                f"workflow {flow_id!r} has no version {self.version!r}; it has "
                f"{listed(flow.versions, 20)}."
            )
        questions = flow.questions(task)
        name, more = chosen_question(questions, task)
        if not questions[name].n_answers:
            raise InputError(_said_of_no_class(name, questions, task))
        made = from_question(
            "Zooniverse classification export",
            questions[name],
            self.n_rows,
            notes + more + flow.notes(name, task),
        )
        made.by_version = flow.answers_by_version(name)
        _count(made, "other workflow", self.n_rows - flow.n_rows)
        _count(made, "other version of the workflow", flow.n_other_version)
        _count(made, SAME, flow.n_same)
        _count(made, f"task {name} was not asked", flow.n_silent(name))
        note_gold_answers(made, EXPERT, "by experts (gold_standard)")
        self.add_subject_gold(made)
        return _with_gravity_spy_names(made)

    def add_subject_gold(self, made: RawAnnotations) -> None:
        """Add the gold classes in the metadata of subjects that have answers."""
        present = {*made.item.names, *made.gold}
        gold = {s: c for s, c in self.gold_of.items() if s in present}
        if gold:
            made.gold = {**gold, **made.gold}
            made.notes.append(f"{len(gold):,} gold classes are from subject metadata.")


def _flat(given: Any, where: str) -> Iterator[dict[str, Any]]:
    """Yield the answers of a classification; those of a combo task one by one."""
    if not isinstance(given, list):
        raise InputError(
            f"{where}: 'annotations' is not a list but {str(given)[:60]!r}."
        )
    for part in given:
        if not isinstance(part, dict) or "task" not in part:
            raise InputError(
                f"{where}: an annotation names no task: {str(part)[:60]!r}."
            )
        value = part.get("value")
        if isinstance(value, list) and value and _is_combo(value):
            yield from _flat(value, where)
        else:
            yield part


def _is_combo(value: list[Any]) -> bool:
    return all(isinstance(v, dict) and {"task", "value"} <= v.keys() for v in value)


def _subject_fields(data: Any) -> dict[str, Any]:
    parts = data.values() if isinstance(data, dict) else []
    return {k: v for part in parts if isinstance(part, dict) for k, v in part.items()}


def _is_gold_name(name: str) -> bool:
    return name.lstrip("#!/").lower() in GOLD_NAMES


def _said_of_no_class(
    name: str, questions: Mapping[str, Question], task: str | None
) -> str:
    """Say what to do with drawings and texts, of which no labels can be made."""
    reasons = questions[name].left_out
    seen = "; ".join(f"{why}: {n:,}" for why, n in reasons.items())
    others = [key for key, question in questions.items() if question.n_answers]
    choose = f"Choose another task with task=: {listed(others)}. " if others else ""
    return (
        f"{f'task {named(name)} has' if task else 'there is'} no answer that is a "
        f"class ({seen or 'no answers'}). Labels are made from questions with one "
        f"answer, surveys and dropdowns. {choose}Turn drawings and "
        f"texts into classes first, and give a table with the columns item, annotator "
        f"and answer."
    )


def _count(made: RawAnnotations, why: str, n: int) -> None:
    if n > 0:
        made.left_out[why] += n


def _with_gravity_spy_names(made: RawAnnotations) -> RawAnnotations:
    """Translate choice codes, if most of the choices are Gravity Spy's."""
    codes = made.answer.names.tolist()
    unknown = [c for c in codes if c not in GRAVITY_SPY]
    if len(unknown) >= len(codes) - len(unknown):
        return made
    names = [GRAVITY_SPY.get(c, c) for c in codes]
    kept = f" ({listed(unknown)} stay as they are)" if unknown else ""
    made.notes.append(f"Gravity Spy's choice codes became class names{kept}.")
    made.answer = made.answer._replace(names=np.array(names, dtype=object))
    by_version: Counter[tuple[str, str]] = Counter()
    for (version, code), n in made.by_version.items():
        by_version[version, GRAVITY_SPY.get(code, code)] += n
    made.by_version = by_version
    made.gold = {item: GRAVITY_SPY.get(c, c) for item, c in made.gold.items()}
    return made
