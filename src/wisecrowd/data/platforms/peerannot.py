"""peerannot's ``answers.json``: ``{item: {annotator: label}}``."""

from typing import Any

from wisecrowd._checks import InputError
from wisecrowd.data.found import Found
from wisecrowd.data.questions import Question, from_question


def recognises(content: Any) -> bool:
    """Say whether this is a dictionary of dictionaries."""
    return (
        isinstance(content, dict)
        and bool(content)
        and all(isinstance(given, dict) for given in content.values())
    )


def read(content: Any) -> Found:
    """Find the answers; a list of labels stands for repeated answers."""
    if not recognises(content):
        raise InputError(
            "this is no answers.json of peerannot: {item: {annotator: label}} was "
            "expected."
        )
    question, n_rows = Question(), 0
    for item, given in content.items():
        if not given:
            n_rows += 1
            question.add(item, None, None)
        for annotator, labels in given.items():
            for label in labels if isinstance(labels, list) else [labels]:
                n_rows += 1
                question.add(item, annotator, checked_label(label, item, annotator))
    made = from_question("peerannot JSON", question, n_rows)
    made.typed = frozenset({"label"})
    return made


def checked_label(label: Any, item: Any, annotator: Any) -> Any:
    """Refuse what cannot be a label."""
    if isinstance(label, dict | list):
        raise InputError(
            f"the label of annotator {annotator!r} on item {item!r} is a "
            f"{type(label).__name__}, not a name or a number: {str(label)[:60]}."
        )
    return label
