"""What was learned, in sentences for people; everybody shows the same ones."""

import math
from collections.abc import Sequence
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd

from wisecrowd._checks import counted
from wisecrowd._text import shortened
from wisecrowd._types import Array

NOTICEABLE = 0.02  # a smaller correlation, or share, is noise
LONGEST = 60  # letters of a name in a sentence
MANY = 12  # annotators, from whom on a quarter of them is somebody


def all_of(
    about: dict[str, Any], model: Any, annotators: pd.DataFrame, confused: Array
) -> dict[str, str]:
    """Return the sentences by topic, in the order in which they are told.

    They are made of the numbers of :class:`~wisecrowd.results.findings.Findings`, of
    the table of annotators, and of how often the crowd calls a class another, (C, K).
    """
    found = {
        "settled": of_settled(about),
        "look": of_second_look(about),
        "skill": of_skill(annotators),
        "flags": of_flags(about),
        "worth": of_worth(about),
        "classes": of_classes(model, confused),
        "features": of_features(model),
        "calibration": of_calibration(about["calibration"]),
        "gold": of_gold(about["gold"]),
    }
    return {topic: said for topic, said in found.items() if said}


def named(name: Any) -> str:
    """Return a name in quotation marks, cut if it is long.

    Examples
    --------
    >>> named("a" * 100)[-5:], named(7)
    ("a...'", "'7'")
    """
    return f"'{shortened(str(name), LONGEST)}'"


def percent(share: float) -> str:
    """Write a share: 4.2 %, 41 %. Only what is all is 100 %.

    Examples
    --------
    >>> percent(0.0421), percent(0.41), percent(0.02), percent(0.9976), percent(1.0)
    ('4.2 %', '41 %', '2 %', '99.8 %', '100 %')
    """
    if 0.995 <= share < 1:
        return f"{min(share, 0.999):.1%}".replace("%", " %")
    shown = f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"
    return shown.replace(".0%", "%").replace("%", " %")


def number(value: float, digits: int = 3) -> str:
    """Write a score: 0.913, or – where there is none.

    Examples
    --------
    >>> number(0.91266), number(float("nan"))
    ('0.913', '–')
    """
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


class _Cells(Formatter):
    """Text with numbers in it: what is no number is –, and ``:percent`` a share."""

    def format_field(self, value: Any, spec: str) -> Any:
        if spec and isinstance(value, float) and not math.isfinite(value):
            return "–"
        return percent(value) if spec == "percent" else format(value, spec)


def cells(
    table: pd.DataFrame, columns: Sequence[tuple[str, str]]
) -> tuple[list[str], list[list[str]]]:
    """Return the headings of columns, and the cells of a table in them.

    Examples
    --------
    >>> table = pd.DataFrame({"who": ["ann"], "n": [2000], "right": [0.5]})
    >>> cells(table, [("<name", "{who}"), ("right", "{right:percent} of {n:,}")])
    (['<name', 'right'], [['ann', '50 % of 2,000']])
    """
    write = _Cells().vformat
    rows: Any = table.to_dict("records")
    return (
        [heading for heading, _ in columns],
        [[write(form, (), row) for _, form in columns] for row in rows],
    )


def of_settled(about: dict[str, Any]) -> str:
    """Return how many items are settled, and how wrong they may be."""
    n_settled, n_items = about["n_settled"], about["n_items"]
    if n_items == 1 and not n_settled:
        return "The only item is not settled yet."
    if not n_settled:
        return f"None of the {counted(n_items, 'item')} is settled yet."
    wrong = percent(about["settled_at"])
    if n_settled == 1:
        return (
            f"1 of {counted(n_items, 'item')} is settled: its label is wrong with a "
            f"probability of at most {wrong}."
        )
    high = percent(about["expected_error_high"])
    unseen = f" (up to {high} if annotators share mistakes that nobody has seen)"
    return (
        f"{n_settled:,} of {counted(n_items, 'item')} are settled: at most {wrong} of "
        f"their labels are expected to be wrong"
        f"{unseen if about['expected_error_high'] > about['settled_at'] else ''}."
    )


def of_second_look(about: dict[str, Any]) -> str:
    """Return how many items need more answers."""
    n_open = about["n_items"] - about["n_settled"]
    if not n_open:
        return "No item needs a second look."
    need = "item needs" if n_open == 1 else "items need"
    return f"{n_open:,} {need} a second look: more answers, or an expert."


def of_skill(annotators: pd.DataFrame) -> str:
    """Return how good the annotators are, in numbers of answers."""
    active = annotators[annotators["n_answers"] > 0]
    if active.empty:
        return ""
    accuracy, n = active["accuracy"].to_numpy(), active["n_answers"].to_numpy()
    mean = percent(float(np.average(accuracy, weights=n)))
    said = f"{mean} of the answers are expected to be right."
    few = len(active) < MANY
    ends = np.quantile(accuracy, [0, 1] if few else [0.25, 0.75])
    low, high = (percent(end) for end in ends)
    if low == high:
        return said
    if few:
        return f"{said} Annotators range from {low} to {high}."
    return (
        f"{said} A quarter of the annotators are right in less than {low} of their "
        f"answers, and a quarter in more than {high}."
    )


def of_flags(about: dict[str, Any]) -> str:
    """Return who should be looked at."""
    parts = []
    for kind, what in (
        ("adversaries", "seem to answer wrongly on purpose, or to mix up the classes"),
        ("spammers", "seem to answer without looking"),
    ):
        who = about[kind]
        if who:
            names = ", ".join(named(name) for name in who[:3])
            more = f" and {len(who) - 3:,} more" if len(who) > 3 else ""
            word = what if len(who) > 1 else what.replace("seem", "seems")
            people = counted(len(who), "annotator")
            parts.append(f"{people} {word} ({names}{more}).")
    return " ".join(parts) or "No annotator is flagged as a spammer or an adversary."


def of_worth(about: dict[str, Any]) -> str:
    """Return what the answers of one item are worth, if it is less than their number.

    Some dependence is assumed where the answers cannot show it: people tend to it.
    """
    given, worth = about["answers_per_item"], about["independent_answers_per_item"]
    if about["dependence"] < NOTICEABLE or f"{worth:.1f}" == f"{given:.1f}":
        return ""
    low, high = about["independent_answers_interval"]
    between = f" ({low:.1f} to {high:.1f})" if low < high else ""
    return (
        f"The {given:.1f} answers per item are worth {worth:.1f} independent "
        f"{'one' if f'{worth:.1f}' == '1.0' else 'ones'}{between}: annotators tend to "
        f"make the same mistakes. The probabilities take this into account."
    )


def of_classes(model: Any, confused: Array) -> str:
    """Return which class is mistaken for which most often."""
    n_items = np.bincount(model.label_proba_.argmax(1), minlength=len(confused))
    found = mistakes(confused, n_items, 1)
    if not found or confused[found[0]] < NOTICEABLE:
        return ""
    true, said = found[0]
    return (
        f"The most common mistake: {percent(confused[true, said])} of the answers "
        f"about items of class {named(model.classes_[true])} say "
        f"{named(model.classes_[said])}."
    )


def mistakes(confused: Array, n_items: Array, most: int) -> list[tuple[int, int]]:
    """Return the most common mistakes, each as (class, what it is called).

    A mistake is as common as the items that it is made about: its share times the
    number of items with this label. A class that no item has is not mistaken.

    Examples
    --------
    >>> mistakes(np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([30, 0]), 5)
    [(0, 1)]
    """
    n_classes = len(confused)
    common = confused[:, :n_classes] * (1 - np.eye(n_classes)) * n_items[:, None]
    order = np.argsort(-common, axis=None, kind="stable")[:most]
    return [divmod(int(i), n_classes) for i in order if common.flat[i] > 0]


def of_features(model: Any) -> str:
    """Return how much the features know of what the crowd knows."""
    pool = model.learned_.pool
    if pool is None or not pool.explained:
        return ""
    return (
        f"{percent(pool.explained)} of the information in the crowd's labels can be "
        f"predicted from the features alone."
    )


def of_calibration(found: dict[str, Any] | None) -> str:
    """Return how right and how sure the labels are, by the gold of the fit."""
    if found is None:
        return ""
    return (
        f"Estimated from {counted(found['n_gold'], 'gold item')}, each predicted "
        f"without its gold class: {percent(found['accuracy'])} of the labels are right "
        f"({percent(found['level'])} interval: {percent(found['accuracy_low'])} to "
        f"{percent(found['accuracy_high'])}), and their mean probability is "
        f"{percent(found['confidence'])}."
    )


def of_gold(found: dict[str, Any] | None) -> str:
    """Return how right the labels are, by gold that the fit did not use."""
    if found is None:
        return ""
    said = (
        f"Compared with the gold classes in the file "
        f"({counted(int(found['n_items']), 'item')}), which the fit did not use: "
        f"accuracy {found['accuracy']:.3f}, log loss {found['log_loss']:.3f}."
    )
    if not found["n_unanswered"]:
        return said
    more = counted(int(found["n_unanswered"]), "gold item")
    return f"{said} {more} without an answer: not scored."
