"""Passes over a prepared folder: sums over all items, one block in memory at a time."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.fit.partners import Partners
from wisecrowd.maths import crowd, together
from wisecrowd.maths.pool import N_GOLD, N_LEARN
from wisecrowd.prepared.folder import Block, Prepared

Sums = dict[str, Any]
OfBlock = Callable[[Block], Sums]
MOST_PATTERNS = 200_000  # with more, a pass over them saves little
SEED = 0  # of the items that are looked at more closely


@dataclass(frozen=True, eq=False)
class Passes:
    """What a method reads: blocks of items, and some items that stay in memory.

    The sample are items drawn at random, and some with gold: `N_LEARN` and `N_GOLD` at
    the most. Every process has all of them.
    """

    prepared: Prepared  # the shards of this process
    partners: Partners
    sample: Block
    sampled: Int[np.ndarray, " S"]  # the codes of these items, in order
    drawn: Int[np.ndarray, " D"]  # which of these were drawn,
    ruler: Int[np.ndarray, " R"]  # and which have the gold that sets the pool
    patterns: Block | None = None  # what different items there are, in a small panel

    def total(self, of: OfBlock) -> Sums:
        """Return the sums over all blocks of all processes."""
        return self.partners.sum(summed(of, self.prepared.blocks(), {}))

    def total_of_patterns(self, of: OfBlock) -> Sums:
        """Return the sums over all blocks, from the patterns if there are some."""
        return self.total(of) if self.patterns is None else of(self.patterns)

    def agreed(self, value: float) -> float:
        """Return the number that the first process has: all stop when it stops.

        The last digits may differ between machines.
        """
        return float(self.partners.broadcast(np.asarray(value)))


def passes_over(prepared: Prepared, partners: Partners) -> Passes:
    """Read the answers once: choose the sample, and look for patterns."""
    drawn = drawn_items(prepared.shape[0], N_LEARN)
    known = prepared.gold.item
    ruler = np.sort(np.random.RandomState(SEED).permutation(known)[:N_GOLD])
    sampled = np.union1d(drawn, ruler)
    mine = prepared.part(partners.rank, partners.size)
    rows, found = [], Patterns(prepared.shape)
    for block in mine.blocks():
        rows.append(_rows_of(block, sampled))
        found.add(block)
    item, annotator, answer = gathered(partners, np.concatenate(rows)).T
    shape = len(sampled), *prepared.shape[1:]
    gold = np.full(len(sampled), -1)
    has_gold = np.isin(sampled, known)
    gold[has_gold] = prepared.gold.code[np.searchsorted(known, sampled[has_gold])]
    answers = Answers.from_codes(item, annotator, answer, shape)
    return Passes(
        mine, partners, Block("sample", -1, answers, gold), sampled,
        drawn=np.searchsorted(sampled, drawn), ruler=np.searchsorted(sampled, ruler),
        patterns=found.block(partners),
    )  # fmt: skip


def drawn_items(n_items: int, most: int) -> Int[np.ndarray, " D"]:
    """Return the codes of items drawn at random, in order; all, if they are few."""
    if n_items <= most:
        return np.arange(n_items)
    rng = np.random.default_rng(SEED)
    return np.sort(rng.choice(n_items, most, replace=False, shuffle=False))


def gathered(partners: Partners, rows: Array) -> Array:
    """Return the rows of whole numbers of all processes, one after the other."""
    if partners.size == 1:
        return rows
    n_each = np.zeros(partners.size)
    n_each[partners.rank] = len(rows)
    ends = np.cumsum(partners.sum(n_each)).astype(int)
    out = np.zeros((ends[-1], *rows.shape[1:]))
    out[ends[partners.rank] - len(rows) : ends[partners.rank]] = rows
    return np.rint(partners.sum(out)).astype(np.int64)


def _rows_of(block: Block, items: Int[np.ndarray, " S"]) -> Int[np.ndarray, "rows 3"]:
    """Return the answers on chosen items: place among them, annotator, answer."""
    lo, hi = np.searchsorted(items, [block.first, block.first + block.answers.n_items])
    found = block.answers.of_items(items[lo:hi] - block.first)
    columns = lo + found.item.astype(np.int64), found.annotator, found.answer
    return np.stack(columns, axis=1).astype(np.int64)


def summed(of: OfBlock, blocks: Iterable[Block], sums: Sums) -> Sums:
    """Add what the blocks bring to these sums, and return them."""
    for block in blocks:
        for name, value in of(block).items():
            if name in sums:
                sums[name] += value
            else:
                sums[name] = value
    return sums


# -- patterns ------------------------------------------------------------------------


class Patterns:
    """How often each pattern of answers occurs, where a panel is small.

    The answers of a panel of A annotators on an item, and its gold, are one number:
    Σₐ (1 + answer) (K + 1)ᵃ, with 0 for no answer. A panel is small if that number has
    at most 53 bits. Items with the same number have the same labels, so EM needs to see
    only one of them, and how many they are.
    """

    def __init__(self, shape: tuple[int, int, int, int]) -> None:
        self.shape = shape
        base = shape[3] + 1
        small = base ** shape[1] * (shape[2] + 1) < 2**53  # sums in float64 are exact
        self.places = base ** np.arange(shape[1] + 1) if small else None
        self.codes: Array = np.empty(0, np.int64)
        self.times: Array = np.empty(0)

    def add(self, block: Block) -> None:
        """Count the patterns of some items; give up if there are too many."""
        if self.places is None:
            return
        answers = block.answers
        again = (np.diff(answers.item) == 0) & (np.diff(answers.annotator) == 0)
        if again.any() or len(self.codes) > MOST_PATTERNS:
            self.places = None
            return
        value = (1 + answers.answer) * self.places[answers.annotator]
        code = np.add.reduceat(value, answers.row_start[:-1])
        code += (1 + block.gold) * self.places[-1]
        self._merge(*np.unique(code, return_counts=True))

    def _merge(self, codes: Array, times: Array) -> None:
        both = np.concatenate([self.codes, codes])
        self.codes, where = np.unique(both, return_inverse=True)
        self.times = np.bincount(where, np.concatenate([self.times, times]))

    def block(self, partners: Partners) -> Block | None:
        """Return the patterns of all processes as items; None if they do not help."""
        many = self.places is None or len(self.codes) > MOST_PATTERNS
        if partners.sum(np.array(float(many))) > 0 or self.places is None:
            return None
        mine = np.stack([self.codes, self.times.astype(np.int64)], axis=1)
        rows = gathered(partners, mine)
        self.codes, self.times = np.empty(0, np.int64), np.empty(0)
        self._merge(*rows.T)
        digit = self.codes[:, None] // self.places
        digit[:, :-1] %= self.shape[3] + 1
        item, annotator = np.nonzero(digit[:, :-1])
        answer = digit[item, annotator] - 1
        shape = len(self.codes), *self.shape[1:]
        answers = Answers.from_codes(item, annotator, answer, shape)
        return Block("patterns", -1, answers, digit[:, -1] - 1, self.times)


# -- sums that several methods need --------------------------------------------------


def soft_sums(block: Block, answers: Answers, proba: Float[np.ndarray, "B C"]) -> Sums:
    """Return Σ q(z = c) of the answers of every annotator, and of the items."""
    if block.times is not None:
        proba = proba * block.times[:, None]
    table = answers.matrix.T @ proba  # a transpose that is stored is used only once
    shape = answers.n_annotators, answers.n_answers, -1
    counts = table.reshape(shape).transpose(0, 2, 1)
    return {"counts": counts, "items": np.einsum("nc->c", proba)}


def sums_of_votes(block: Block) -> Sums:
    """Return the sums where the labels are the shares of the votes."""
    proba = crowd.vote_proba(block.answers.votes(), block.gold)
    return soft_sums(block, block.answers, proba)


def selective(
    passes: Passes, counts: Float[np.ndarray, "A C K"], view: Callable[[Block], Answers]
) -> Float[np.ndarray, " A"]:
    """Return who answers selectively, by the answers in view; `counts` are theirs."""
    given = np.rint(counts.sum(1)).astype(np.int64)
    named = given.argmax(1)

    def of(block: Block) -> Sums:
        n_agree, n_seen = together.agreeing(view(block), named)
        return {"n_agree": n_agree, "n_seen": n_seen}

    return together.selective_by(given, **passes.total(of))


class Scratch:
    """Class probabilities of all items, on disk: one file per block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, version: int, block: Block, proba: Array) -> None:
        """Keep the class probabilities of a block."""
        (self.folder / str(version)).mkdir(exist_ok=True)
        np.save(self.folder / str(version) / f"{block.name}.npy", proba)

    def read(self, version: int, block: Block) -> Array:
        """Return them."""
        found: Array = np.load(self.folder / str(version) / f"{block.name}.npy")
        return found

    def keep(self, *versions: int) -> None:
        """Forget all other versions."""
        for folder in self.folder.iterdir():
            if int(folder.name) not in versions:
                shutil.rmtree(folder)
