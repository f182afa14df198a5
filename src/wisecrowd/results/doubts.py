"""What speaks against a result: labels that part from the votes, gold that does.

A result may be confident and wrong. Contradictions that show in the answers themselves
are said: labels that follow one person, leave the votes behind or lose a class, gold
that the crowd hardly ever names, and a skill that the annotator's own answers on gold
items contradict. So are probabilities of a method that knows no shared mistakes.
"""

from typing import Any

import numpy as np
import pandas as pd

from wisecrowd._checks import counted, listed
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.fit.collapse import lost_classes

PARTED = 0.3  # share of the items whose label has fewer votes than another class
ENOUGH = 10  # items, or answers, before anything is said of a share of them
ABOVE_CHANCE = 0.1  # by which votes that know something agree with gold
FOLLOWED = 0.97  # agreement of the labels with one person
OTHERS = 0.6  # agreement of the labels with all others, at the most
OFF = 0.1  # by which an accuracy on gold is outside its interval


def contradictions(
    model: Any, answers: Answers, gold: Array, annotators: pd.DataFrame
) -> list[str]:
    """Return what speaks against the result, in sentences; none if nothing does.

    `gold` has the codes of the classes that the fit was given, -1 elsewhere.
    """
    found = [
        _lost(model, answers),
        _own_probabilities(model),
        _parted(model, answers, gold),
        _followed(model, answers, gold),
        _against_gold(answers, gold),
        _against_own_gold(answers, gold, annotators),
    ]
    return [sentence for sentence in found if sentence]


def _lost(model: Any, answers: Answers) -> str:
    lost = lost_classes(answers, model.label_proba_)
    if not len(lost):
        return ""
    return (
        f"Hardly any label is {listed(model.classes_[lost])}, and many items have "
        f"mostly such answers. So no item is called settled. Use consensus instead."
    )


def _own_probabilities(model: Any) -> str:
    if model.learned_.pool is not None or model.method.needs == "labels":
        return ""
    return (
        f"The probabilities are those of {model.method.name} alone. They do not take "
        f"into account that annotators make the same mistakes, so more of the settled "
        f"labels may be wrong."
    )


def _wins(answers: Answers, classes: Array) -> Array:
    """Return whether no class has more votes than this one, for every item."""
    votes = answers.votes()
    won: Array = votes[np.arange(len(votes)), classes] == votes.max(1)
    return won


def _parted(model: Any, answers: Answers, gold: Array) -> str:
    some = (answers.n_per_item > 1) & (gold < 0)
    if some.sum() < ENOUGH:
        return ""
    share = 1 - _wins(answers, model.label_proba_.argmax(1))[some].mean()
    if share < PARTED:
        return ""
    return (
        f"The labels differ from the votes on {share:.0%} of the items. If you know no "
        f"reason for it, check some of them, or use majority-vote."
    )


def _followed(model: Any, answers: Answers, gold: Array) -> str:
    rows = (answers.n_per_item > 1)[answers.item] & (gold < 0)[answers.item]
    who, label = answers.annotator[rows], model.label_proba_.argmax(1)
    agree = answers.answer[rows] == label[answers.item[rows]]
    n_each = np.bincount(who, minlength=answers.n_annotators)
    n_items = len(np.unique(answers.item[rows]))
    first = int(n_each.argmax())
    if n_items < ENOUGH or n_each[first] < n_items / 2 or n_each[first] == rows.sum():
        return ""
    own, others = agree[who == first].mean(), agree[who != first].mean()
    if own < FOLLOWED or others > OTHERS:
        return ""
    name = listed(model.annotators_[[first]])
    return (
        f"The labels follow one person, {name}: they agree on {own:.0%} of the items, "
        f"and the others with the labels on {others:.0%}. If {name} is not the best, "
        f"give some gold items."
    )


def _against_gold(answers: Answers, gold: Array) -> str:
    known = (gold >= 0) & (answers.n_per_item > 0)
    if known.sum() < ENOUGH:
        return ""
    share = _wins(answers, np.maximum(gold, 0))[known].mean()
    if share > 1 / answers.n_classes + ABOVE_CHANCE:
        return ""
    return (
        f"The votes agree with gold on {share:.0%} of "
        f"{counted(int(known.sum()), 'item')}. Are items and classes named alike in "
        f"both files?"
    )


def _against_own_gold(answers: Answers, gold: Array, annotators: pd.DataFrame) -> str:
    rows = gold[answers.item] >= 0
    who = answers.annotator[rows]
    right = answers.answer[rows] == gold[answers.item[rows]]
    n_each = np.bincount(who, minlength=answers.n_annotators)
    share = np.bincount(who, right, answers.n_annotators) / np.maximum(n_each, 1)
    low, high = annotators["low"].to_numpy(), annotators["high"].to_numpy()
    outside = (share < low - OFF) | (share > high + OFF)
    off = np.flatnonzero((n_each >= 2 * ENOUGH) & outside)
    if not len(off):
        return ""
    worst = int(off[np.argmax(n_each[off])])
    name = listed(annotators["annotator"].to_numpy()[[worst]])
    return (
        f"The skill of {counted(len(off), 'annotator')} does not fit their own answers "
        f"on gold items, such as that of {name}: {share[worst]:.0%} right on "
        f"{n_each[worst]:,} of them, estimated {low[worst]:.0%} to {high[worst]:.0%}."
    )
