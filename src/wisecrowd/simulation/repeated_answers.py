"""Answers that repeat the answer of another annotator: groups and copying.

Annotators of one group have the same confusion matrix, and on some items they all give
the same answer, such as language models of one family. A copier repeats, on some items,
the answer of another annotator on that item. Both are described by the row of the
answer that each answer repeats, which is its own row where it repeats none.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Int
from scipy import sparse

from wisecrowd._checks import InputError
from wisecrowd._types import Array, Confusion
from wisecrowd.answers import Answers
from wisecrowd.simulation.annotators import Number, Seed

# -- groups ------------------------------------------------------------------------


def draw_groups(
    groups: Any, n_annotators: int, *, random_state: Seed = None
) -> Int[Array, " A"]:
    """Draw the group of each annotator; -1 for an annotator without a group.

    `groups` is their number (as equal in size as possible), or the group of everybody.

    Examples
    --------
    >>> sorted(draw_groups(2, 5).tolist())
    [0, 0, 0, 1, 1]
    """
    given = np.asarray(groups)
    if given.dtype.kind not in "iu" or given.shape not in ((), (n_annotators,)):
        raise InputError(
            f"groups must be a whole number, or one whole number per annotator "
            f"({n_annotators}); it is {groups!r}."
        )
    if given.ndim:
        return np.maximum(given.astype(np.int64), -1)
    if not 0 <= int(given) <= n_annotators:
        raise InputError(
            f"groups={groups} must be from 0 to the number of annotators, "
            f"{n_annotators}."
        )
    if not given:
        return np.full(n_annotators, -1)
    rng = np.random.default_rng(random_state)
    return rng.permutation(np.arange(n_annotators) % int(given))


def first_member(group: Int[Array, " A"]) -> Int[Array, " A"]:
    """Return the first annotator of each annotator's group: whose matrix they have.

    Examples
    --------
    >>> first_member(np.array([1, -1, 0, 1])).tolist()
    [0, 1, 2, 0]
    """
    alone = np.arange(len(group))
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return np.where(group >= 0, first[inverse], alone)


def rows_of_groups(
    answers: Answers,
    group: Int[Array, " A"],
    probability: Number,
    rng: np.random.Generator,
) -> Int[Array, " L"]:
    """Return the row of the answer that each answer repeats.

    On each item, with this probability, all members of a group give the answer of the
    member whose answer comes first. The frequencies of their answers do not change, as
    they have the same confusion matrix. Their correlation given the class is
    `probability`.
    """
    source = np.arange(len(answers))
    rows = np.flatnonzero(group[answers.annotator] >= 0)
    of_row = group[answers.annotator[rows]].astype(np.int64)
    n_groups = int(group.max(initial=-1)) + 1
    cell = answers.item[rows].astype(np.int64) * n_groups + of_row
    _, first, inverse = np.unique(cell, return_index=True, return_inverse=True)
    same = rng.random(len(first)) < probability
    source[rows] = np.where(same[inverse], rows[first[inverse]], rows)
    return source


# -- copying -----------------------------------------------------------------------


def draw_copiers(
    share: Number, n_annotators: int, *, random_state: Seed = None
) -> Bool[Array, " A"]:
    """Draw which annotators copy. At least one annotator does not.

    Examples
    --------
    >>> sorted(draw_copiers(0.4, 5).tolist())
    [False, False, False, True, True]
    """
    if not 0 <= share < 1:
        raise InputError(
            f"copiers={share} must be a share from 0 to below 1: somebody must give "
            f"the answers that others copy."
        )
    rng = np.random.default_rng(random_state)
    n_copiers = min(round(share * n_annotators), n_annotators - 1)
    return rng.permutation(n_annotators) < n_copiers


def rows_of_copies(
    answers: Answers,
    copier: Bool[Array, " A"],
    probability: Number,
    rng: np.random.Generator,
) -> Int[Array, " L"]:
    """Return the row of the answer that each answer repeats.

    An answer of a copier repeats, with this probability, the answer of one of the
    other annotators on the item. That one is drawn from those who do not copy. Where
    there is none, the copier gives an answer of their own.
    """
    source = np.arange(len(answers))
    copies = copier[answers.annotator]
    own = np.flatnonzero(~copies)
    start = np.searchsorted(answers.item[own], np.arange(answers.n_items + 1))
    rows = np.flatnonzero(copies & (rng.random(len(answers)) < probability))
    n_others = np.diff(start)[answers.item[rows]]
    rows, n_others = rows[n_others > 0], n_others[n_others > 0]
    source[rows] = own[start[answers.item[rows]] + rng.integers(n_others)]
    return source


# -- both --------------------------------------------------------------------------


def answers_of(
    source: Int[Array, " L"],
    answers: Answers,
    confusion: Confusion,
    truth: Int[np.ndarray, " N"],
) -> tuple[Answers, Confusion]:
    """Return the answers of the source rows, and the averaged confusion matrices."""
    mean = mean_confusion(confusion, answers, truth, source)
    return answers.with_answer(answers.answer[source]), mean


def mean_confusion(
    confusion: Confusion,
    answers: Answers,
    truth: Int[np.ndarray, " N"],
    source: Int[Array, " L"],
) -> Confusion:
    """Mean of R[annotator of the repeated answer, c, :] over an annotator's answers.

    The mean is over the annotator's answers on items of class c. A row without an
    answer stays as it is.
    """
    n_classes, n_answers = confusion.shape[1:]
    rows = confusion.reshape(-1, n_answers)
    of_item = truth[answers.item]
    to_row = answers.annotator.astype(np.int64) * n_classes + of_item
    counts = sparse.csr_matrix(
        (np.ones(len(answers)), (to_row, to_row[source])), (len(rows), len(rows))
    )
    total = np.bincount(to_row, minlength=len(rows))[:, None]
    mean = np.where(total > 0, counts @ rows / np.maximum(total, 1), rows)
    return mean.reshape(confusion.shape)
