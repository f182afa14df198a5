"""Volunteers of Gravity Spy: how well they know the classes, and their habits.

The habits are those that the paper's section 4.3 finds in five volunteers, and the
confusions those that its section 3 tells.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from wisecrowd._types import Array, Confusion
from wisecrowd.annotations import Annotations
from wisecrowd.simulation import hard_items as hard
from wisecrowd.simulation.crowds import draw_answers
from wisecrowd.simulation.glitches.items import CLASSES, Items, hard_items, resemblance
from wisecrowd.simulation.glitches.strain import Rng

N_VOLUNTEERS = 3443
ANSWERS_PER_ITEM = 1_828_981 / 173_565
"""As in the paper."""
ACCURACY = (9.0, 2.2)
"""Beta distribution of the accuracy on usual glitches: mean .80."""
ROW_CONCENTRATION = 25.0
"""Total concentration of the Dirichlet from which a row of a matrix is drawn."""
MISTAKES = (0.7, 0.2, 0.1)
"""Shares of the mistakes: a class that looks alike, "Other", any class."""


class Habit(NamedTuple):
    """A mistake of some volunteers: these classes are often taken for that one."""

    share: float  # of the volunteers
    of: tuple[str, ...]
    taken_for: str
    how_often: tuple[float, float]


HABITS = {
    "conservative": Habit(0.12, CLASSES, "Other", (0.2, 0.5)),
    "ripple as violin": Habit(
        0.10, ("1400 Ripple",), "Violin Mode Harmonic", (0.4, 0.9)
    ),
    "violin as ripple": Habit(
        0.08, ("Violin Mode Harmonic",), "1400 Ripple", (0.2, 0.6)
    ),
    "blip as koi fish": Habit(0.10, ("Blip",), "Koi Fish", (0.2, 0.6)),
    "koi fish as blip": Habit(0.05, ("Koi Fish",), "Blip", (0.2, 0.6)),
    "repeats unseen": Habit(0.10, ("Repeating Blips",), "Blip", (0.4, 0.9)),
}
GUESSERS = 0.03
"""Share of the volunteers who answer at random."""


class Volunteers(NamedTuple):
    """The habit of each volunteer ("usual" for none), and the confusion matrices."""

    kinds: Array
    confusion: Confusion


def usual_mistakes() -> Float[Array, "C C"]:
    """Return p(answer | class, the answer is wrong) of a usual volunteer."""
    n_classes = len(CLASSES)
    is_other = np.arange(n_classes) == CLASSES.index("Other")
    table = np.tile(MISTAKES[1] * is_other + MISTAKES[2] / n_classes, (n_classes, 1))
    table += MISTAKES[0] * resemblance()
    np.fill_diagonal(table, 0)
    return table / table.sum(1, keepdims=True)


def draw_volunteers(n_volunteers: int, rng: Rng) -> Volunteers:
    """Draw volunteers: accuracy p ~ Beta, rows R[a, c, :] ~ Dir, then their habit.

    The mean of row c is p at c and (1 − p) times the usual mistakes elsewhere. A habit
    moves a share h of the row to one answer: (1 − h) R[a, c, :] + h e_answer.
    """
    share = [habit.share for habit in HABITS.values()]
    names = ["usual", "guesser", *HABITS]
    kinds = rng.choice(
        names, n_volunteers, p=[1 - GUESSERS - sum(share), GUESSERS, *share]
    )
    p = rng.beta(*ACCURACY, (n_volunteers, 1, 1))
    mean = p * np.eye(len(CLASSES)) + (1 - p) * usual_mistakes()
    mean[kinds == "guesser"] = 1 / len(CLASSES)
    counts = rng.standard_gamma(ROW_CONCENTRATION * mean) + 1e-9
    confusion = counts / counts.sum(2, keepdims=True)
    for name, habit in HABITS.items():
        who = np.flatnonzero(kinds == name)
        h = rng.uniform(*habit.how_often, (len(who), 1))
        answer = np.arange(len(CLASSES)) == CLASSES.index(habit.taken_for)
        for c in map(CLASSES.index, habit.of):
            confusion[who, c] = (1 - h) * confusion[who, c] + h * answer
    return Volunteers(kinds, confusion)


def answered(
    items: Items, volunteers: Volunteers, rng: Rng
) -> tuple[Annotations, Confusion]:
    """Draw the answers of volunteers; return also their mean confusion matrices.

    Few volunteers give most answers. On a hard item each sees the decoy with the same
    probability λ, and then answers by row R[a, decoy, :].
    """
    drawn = draw_answers(
        items.truth,
        volunteers.confusion,
        answers_per_item=ANSWERS_PER_ITEM,
        activity="heavy",
        classes=CLASSES,
        random_state=rng,
    )
    misleading = hard_items(items)
    codes = hard.misled(drawn.codes, volunteers.confusion, misleading, rng)
    mean = hard.mean_confusion(volunteers.confusion, items.truth, misleading)
    return replace(drawn, codes=codes), mean
