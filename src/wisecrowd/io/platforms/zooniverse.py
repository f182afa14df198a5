"""Zooniverse classification exports: one row per classification, JSON inside."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from wisecrowd._checks import InputError, listed, named
from wisecrowd.annotations.headers import GOLD_NAMES
from wisecrowd.io.contents import NO_ROWS, parsed, table_rows
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
from wisecrowd.io.renaming import with_names
from wisecrowd.io.sources import Source

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
    if item is not None and not any(export.item_of.values()):
        raise InputError(
            f"no subject has the field item={item!r}; the fields of their metadata are "
            f"{listed(export.fields, 20) or 'none'}."
        )
    made = export.found(*export.chosen_workflow(workflow, task), task)
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


@dataclass
class _Export:
    """All workflows of a file, and the items and gold classes of its subjects."""

    item_field: str | None
    version: str | None
    workflows: dict[str, Workflow] = field(default_factory=dict)
    item_of: dict[str, str | None] = field(default_factory=dict)
    gold_of: dict[str, str] = field(default_factory=dict)
    fields: dict[str, None] = field(default_factory=dict)  # names, if one is an item
    n_rows: int = 0
    seen: set[int] = field(default_factory=set)  # hashes: less memory than the rows

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
        who = annotator_of(row)
        content = who, row["subject_ids"], row["annotations"]
        if is_again(content, row.get("classification_id"), self.seen):
            flow.n_same += 1
            return
        where = f"{place} (classification {row.get('classification_id', '?')})"
        given = parsed(row["annotations"] or "[]", f"{where}, column 'annotations',")
        is_gold = row.get("gold_standard", "").lower() in ("true", "t", "1")
        subject = row["subject_ids"]
        if subject not in self.item_of:  # the metadata of a subject are parsed once
            self.item_of[subject] = self.subject_item(row, where)
        item = self.item_of[subject]
        flow.add(Classified(item, who, version, is_gold), _flat(given, where))

    def subject_item(self, row: dict[str, str], where: str) -> str | None:
        text = row.get("subject_data", "")
        item = row["subject_ids"] or None
        if self.item_field is None and not GOLD_FIELD.search(text):
            return item
        data = parsed(text or "{}", f"{where}, column 'subject_data',")
        parts = data.values() if isinstance(data, dict) else []
        fields = {
            k: v for part in parts if isinstance(part, dict) for k, v in part.items()
        }
        if self.item_field is not None:
            item = text_of(fields.get(self.item_field))
            self.fields.update(dict.fromkeys(fields))
        gold = next(
            (v for k, v in fields.items() if k.lstrip("#!/").lower() in GOLD_NAMES),
            None,
        )
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

    def found(self, flow_id: str, notes: list[str], task: str | None) -> RawAnnotations:
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
        left = {
            "other workflow": self.n_rows - flow.n_rows,
            "other version of the workflow": flow.n_other_version,
            SAME: flow.n_same,
            f"task {name} was not asked": flow.n_silent(name),
        }
        made.left_out.update({why: n for why, n in left.items() if n > 0})
        note_gold_answers(made, EXPERT, "by experts (gold_standard)")
        present = {*made.item.names, *made.gold}
        gold = {s: c for s, c in self.gold_of.items() if s in present}
        if gold:
            made.gold = {**gold, **made.gold}
            made.notes.append(f"{len(gold):,} gold classes are from subject metadata.")
        return _with_gravity_spy_names(made)


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
        combo = isinstance(value, list) and all(
            isinstance(v, dict) and {"task", "value"} <= v.keys() for v in value
        )
        if value and combo:
            yield from _flat(value, where)
        else:
            yield part


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


def _with_gravity_spy_names(made: RawAnnotations) -> RawAnnotations:
    """Translate choice codes, if most of the choices are Gravity Spy's."""
    codes = made.answer.names.tolist()
    unknown = [c for c in codes if c not in GRAVITY_SPY]
    if len(unknown) >= len(codes) - len(unknown):
        return made
    kept = f" ({listed(unknown)} stay as they are)" if unknown else ""
    made.notes.append(f"Gravity Spy's choice codes became class names{kept}.")
    return with_names(made, GRAVITY_SPY)
