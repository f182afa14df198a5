"""Hard items, on which annotators make the same mistake.

A hard item has a difficulty λ and a decoy, a wrong class w that it resembles. Annotator
a answers about it from (1 − λ) R[a, z, :] + λ R[a, w, :], where z is the true class.
Difficulty and decoy belong to the item. So the answers of different annotators are
correlated given the class: they err together, and towards the same class.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._checks import InputError
from wisecrowd._types import Array, Confusion
from wisecrowd.answers import Answers
from wisecrowd.simulation.annotators import Seed
from wisecrowd.simulation.sampling import draw_rows

LEVELS = (0.25, 0.5, 0.75)
"""Difficulties of hard items. Above .5 most good annotators name the decoy."""


class HardItems(NamedTuple):
    """The difficulty of every item, and the class that it resembles."""

    difficulty: Float[Array, " N"]  # λ, 0 for an easy item
    decoy: Int[Array, " N"]  # the code of a wrong class, -1 for an easy item


def draw_hard_items(
    truth: Int[np.ndarray, " N"],
    n_classes: int,
    difficulty: Any = 0.0,
    *,
    random_state: Seed = None,
) -> HardItems:
    """Draw which items are hard, how hard, and their decoys.

    `difficulty` is the share of hard items, whose difficulties are drawn from
    :data:`LEVELS`; or the difficulty λ of every item, from 0 to 1.

    Examples
    --------
    >>> hard = draw_hard_items(np.array([0, 1, 1]), 2, [0.5, 0, 1], random_state=0)
    >>> hard.difficulty.tolist(), hard.decoy.tolist()
    ([0.5, 0.0, 1.0], [1, -1, 0])
    """
    rng = np.random.default_rng(random_state)
    given = np.asarray(difficulty, dtype=float)
    if given.shape not in ((), truth.shape) or not ((given >= 0) & (given <= 1)).all():
        raise InputError(
            f"difficulty must be the share of hard items or one number per item "
            f"({len(truth)}), from 0 to 1; it has shape {given.shape}."
        )
    if given.ndim == 0:
        is_hard = rng.permutation(len(truth)) < round(float(given) * len(truth))
        given = np.where(is_hard, rng.choice(LEVELS, len(truth)), 0.0)
    step = rng.integers(1, n_classes, size=len(truth))
    return HardItems(given, np.where(given > 0, (truth + step) % n_classes, -1))


def misled(
    answers: Answers, confusion: Confusion, hard: HardItems, rng: np.random.Generator
) -> Answers:
    """With probability λ of its item, redraw each answer from row R[a, decoy, :]."""
    sees_decoy = rng.random(len(answers)) < hard.difficulty[answers.item]
    rows = np.flatnonzero(sees_decoy)
    who, decoy = answers.annotator[rows], hard.decoy[answers.item[rows]]
    answer = answers.answer.copy()
    answer[rows] = draw_rows(confusion, who, decoy, rng)
    return answers.with_answer(answer)


def mean_confusion(
    confusion: Confusion, truth: Int[np.ndarray, " N"], hard: HardItems
) -> Confusion:
    """Mean of (1 − λ) R[a, c, :] + λ R[a, w, :] over the items of every class c."""
    n_classes = confusion.shape[1]
    weight = np.zeros((n_classes, n_classes))  # [class, class that is seen]
    np.add.at(weight, (truth, truth), 1 - hard.difficulty)
    np.add.at(weight, (truth, hard.decoy), hard.difficulty)  # 0 at decoy -1
    absent = weight.sum(1) == 0
    weight[absent] = np.eye(n_classes)[absent]
    weight /= weight.sum(1, keepdims=True)
    return np.einsum("cw,awk->ack", weight, confusion)
