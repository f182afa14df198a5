"""peerannot's ``answers.json``: ``{item: {annotator: answer}}``."""

from typing import Any

from wisecrowd._checks import InputError, listed, named
from wisecrowd.io.questions import Question, from_question
from wisecrowd.io.raw import RawAnnotations


def recognises(content: Any) -> bool:
    """Return whether this is a dictionary of dictionaries."""
    return (
        isinstance(content, dict)
        and bool(content)
        and all(isinstance(given, dict) for given in content.values())
    )


def read(content: Any) -> RawAnnotations:
    """Read the answers; a list stands for repeated answers."""
    if not recognises(content):
        raise InputError(
            "this is not an answers.json of peerannot: {item: {annotator: answer}} was "
            "expected."
        )
    question, n_rows = Question(), 0
    for item, given in content.items():
        if not given:
            n_rows += 1
            question.add(item, None, None)
        for annotator, said in given.items():
            for answer in said if isinstance(said, list) else [said]:
                n_rows += 1
                if isinstance(answer, dict | list):
                    raise InputError(
                        f"the answer of annotator {named(annotator)} on item "
                        f"{named(item)} is a {type(answer).__name__}, not a name or a "
                        f"number: {str(answer)[:60]}."
                    )
                question.add(item, annotator, answer)
    made = from_question("peerannot JSON", question, n_rows, [_sides(content)])
    made.typed = frozenset({"answer"})
    return made


def _sides(content: dict[str, Any]) -> str:
    """Say which keys are items: an object turned around looks the same."""
    who = list(dict.fromkeys(name for given in content.values() for name in given))
    said = (
        f"the outer keys are items ({listed(content, 3)}), the inner keys are "
        f"annotators ({listed(who, 3)})."
    )
    if len(who) > len(content):
        said += (
            " ATTENTION: there are more annotators than items. If it is the other way "
            "round, as to_json() of a DataFrame with a row per item writes it, pass "
            "format='wide'."
        )
    return said
