"""Answers of batches of items as flat rows of a fixed length.

A batch of items has as many rows as it has answers: no table of items by annotators is
ever made, and missing answers are simply not there. So that every batch has the same
shape, rows of weight 0 fill it up.
"""

import numpy as np
from jaxtyping import Bool, Int

from wisecrowd.answers import Answers
from wisecrowd.maths.deep.crowd_layers import Rows

N_SPREADS = 5.0  # standard deviations of a batch's answers that have room
LEAST = 8  # rows, so that the smallest crowds share their shapes


def rounded_up(n: int) -> int:
    """Return the next number of two binary digits and a half: few different shapes.

    Examples
    --------
    >>> [rounded_up(n) for n in (3, 9, 17, 5250)]
    [8, 10, 20, 6144]
    """
    n = max(n, LEAST)
    unit = 1 << max(0, n.bit_length() - 3)
    return -(-n // unit) * unit


def room_for(answers: Answers, items: Int[np.ndarray, " n"], batch_size: int) -> int:
    """Return how many rows nearly every random batch of these items fits into."""
    n_each = answers.n_per_item[items]
    most = int(np.sort(n_each)[-batch_size:].sum())
    spread = N_SPREADS * np.sqrt(batch_size) * n_each.std()
    return rounded_up(min(most, int(np.ceil(batch_size * n_each.mean() + spread))))


def flat_rows(
    answers: Answers,
    gold: Int[np.ndarray, " N"],
    items: Int[np.ndarray, "T B"],
    room: int,
) -> Rows:
    """Return the answers on T batches of items, each filled up to at least `room`."""
    n_steps, n_batch = items.shape
    n_each = answers.n_per_item[items]
    total = n_each.sum(1)
    room = max(room, rounded_up(int(total.max())))
    owner = np.repeat(np.arange(items.size), n_each.ravel())  # of every answer
    before = np.cumsum(n_each.ravel()) - n_each.ravel()
    within = np.arange(len(owner)) - before[owner]
    source = answers.row_start[items.ravel()][owner] + within
    step = owner // n_batch
    at = step * room + np.arange(len(owner)) - (np.cumsum(total) - total)[step]

    def placed(values: np.ndarray, dtype: str) -> np.ndarray:
        out = np.zeros(n_steps * room, dtype)
        out[at] = values
        return out.reshape(n_steps, room)

    return Rows(
        place=placed(owner % n_batch, "int32"),
        annotator=placed(answers.annotator[source], "int32"),
        answer=placed(answers.answer[source], "int32"),
        weight=placed(np.ones(len(source)), "float32"),
        gold=gold[items].astype("int32"),
    )


def held_out_items(
    answered: Bool[np.ndarray, " N"], share: float, least: int, most: int, seed: int
) -> Int[np.ndarray, " H"]:
    """Return some items with answers, chosen at random; none if they are too few."""
    among = np.flatnonzero(answered)
    n_held = min(int(share * len(among)), most)
    if n_held < least:
        return among[:0]
    order = np.random.default_rng([seed, 0]).permutation(len(among))
    return np.sort(among[order[:n_held]])
