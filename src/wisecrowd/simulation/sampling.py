"""Random draws for simulated crowds, in memory that grows with the answers only."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from wisecrowd._checks import InputError
from wisecrowd._types import Array, Confusion

MOST_ROUNDS = 30
"""Rounds of redrawing repeated annotators, before the exact draw is used."""

MOST_CELLS = 2**22
"""Largest number of table cells in memory at once."""


def different_annotators(
    item: Int[Array, " L"],
    n_of_item: Int[Array, " N"],
    weights: Float[Array, " A"],
    rng: np.random.Generator,
) -> Int[Array, " L"]:
    """Return an annotator for each answer; none occurs twice on an item.

    Repeated annotators of an item are drawn again until there are none, and the first
    occurrence is kept. That is sequential drawing without replacement. Where an item
    needs a large share of the annotators, this takes many rounds; `_draw_the_rest`
    then draws what is missing.
    """
    most, available = int(n_of_item.max()), int((weights > 0).sum())
    if most > available:
        raise InputError(
            f"an item would need {most} different annotators, but {available} are "
            f"active. Ask for fewer answers, or pass repeats=True."
        )
    if n_of_item.min() == len(weights):
        return np.tile(np.arange(len(weights)), len(n_of_item))
    annotator = np.full(len(item), -1)
    for _ in range(MOST_ROUNDS if 2 * most < available else 0):
        free = np.flatnonzero(annotator < 0)
        if not len(free):
            break
        annotator[free] = rng.choice(len(weights), len(free), p=weights)
        annotator[free[_taken(item, annotator, free, len(weights))]] = -1
    return _draw_the_rest(item, annotator, weights, rng)


def _taken(
    item: Int[Array, " L"],
    annotator: Int[Array, " L"],
    new: Int[Array, " F"],
    n_annotators: int,
) -> Bool[Array, " F"]:
    """Return which new answers have an annotator who already answered the item."""
    touched = np.zeros(item[-1] + 1, dtype=bool)
    touched[item[new]] = True
    is_new = np.zeros(len(item), dtype=bool)
    is_new[new] = True
    old = np.flatnonzero(touched[item] & ~is_new & (annotator >= 0))
    rows = np.concatenate([old, new])  # old rows come first, so they are kept
    _, first = np.unique(item[rows] * n_annotators + annotator[rows], return_index=True)
    repeated = np.ones(len(rows), dtype=bool)
    repeated[first] = False
    return repeated[len(old) :]


def _draw_the_rest(
    item: Int[Array, " L"],
    annotator: Int[Array, " L"],
    weights: Float[Array, " A"],
    rng: np.random.Generator,
) -> Int[Array, " L"]:
    """Fill the missing annotators exactly: largest log weight + Gumbel noise."""
    filled = annotator.copy()
    free = np.flatnonzero(annotator < 0)
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    for items in chunks(np.unique(item[free]), max(1, MOST_CELLS // len(weights))):
        keys = log_weights + rng.gumbel(size=(len(items), len(weights)))
        mine = np.flatnonzero(np.isin(item, items) & (annotator >= 0))
        keys[np.searchsorted(items, item[mine]), annotator[mine]] = -np.inf
        order = np.argsort(-keys, axis=1)
        slots = free[np.isin(item[free], items)]
        filled[slots] = order[np.searchsorted(items, item[slots]), _rank(item[slots])]
    return filled


def _rank(group: Int[Array, " F"]) -> Int[Array, " F"]:
    """0, 1, 2, … within each run of equal values."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return np.arange(len(group)) - np.repeat(starts, np.diff(starts, append=len(group)))


def draw_rows(
    confusion: Confusion,
    annotator: Int[Array, " L"],
    truth: Int[Array, " L"],
    rng: np.random.Generator,
) -> Int[Array, " L"]:
    """Draw one answer from each of the rows confusion[annotator, truth, :].

    Row r's cumulative sums plus r, concatenated over all rows, are increasing. So one
    sorted search draws all answers, without an (L, K) table.
    """
    n_classes, n_answers = confusion.shape[1:]
    cumulative = confusion.reshape(-1, n_answers).cumsum(1)
    cumulative /= cumulative[:, -1:]
    ladder = (cumulative + np.arange(len(cumulative))[:, None]).ravel()
    row = annotator * n_classes + truth
    below_next = np.nextafter(row + 1.0, 0)
    height = np.minimum(row + rng.random(len(row)), below_next)
    return np.searchsorted(ladder, height, side="right") - row * n_answers


def chunks(values: Array, size: int) -> Iterator[Array]:
    """Yield consecutive parts of the values, `size` long; the last may be shorter."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
