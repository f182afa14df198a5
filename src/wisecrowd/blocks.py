"""Features beyond memory: blocks of a file, each read when it is needed, one ahead.

Reading single rows from a disk in random order is slow, and reading a file in its own
order learns from items that resemble each other. So the order of a pass is shuffled
twice: first the blocks, then the rows of as many blocks as fit into `WINDOW` bytes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._checks import InputError, counted, listed
from wisecrowd._types import Array
from wisecrowd.feature_source import PIECE, not_finite

BLOCK = 8 << 20  # bytes of a block, if the file leaves the choice
WINDOW = 128 << 20  # bytes whose rows are shuffled together


class Blocks(NamedTuple):
    """Where the blocks of the items begin, and how many are shuffled together.

    Attributes
    ----------
    bounds : array (b + 1,)
        The first item of every block, and N.
    together : int
        Blocks whose items are shuffled together.
    """

    bounds: Int[np.ndarray, " b+1"]
    together: int = 1

    def order(self, seed: int, first: int, last: int) -> Int[np.ndarray, " n"]:
        """Return the items in some places of a run: every item once before any again.

        They follow from the seed and the places alone. One block is shuffled whole.
        """
        n_items = int(self.bounds[-1])
        passes = range(first // n_items, -(-last // n_items))
        found = [
            part
            for p in passes
            for part in self._of_pass(seed, p, first - p * n_items, last - p * n_items)
        ]
        return np.concatenate(found)

    def _of_pass(
        self, seed: int, number: int, first: int, last: int
    ) -> Iterator[Int[np.ndarray, " n"]]:
        """Yield the items in some places of one pass, without making the others."""
        of_pass = [seed, 1 + number]
        n_blocks, end = len(self.bounds) - 1, 0
        blocks = np.random.default_rng([*of_pass, 0, 1]).permutation(n_blocks)
        for window in range(0, n_blocks, self.together):
            few = np.sort(blocks[window : window + self.together])
            begin, end = end, end + int(np.diff(self.bounds)[few].sum())
            if begin >= last or end <= first:
                continue
            # Of one window, the order is that of an array.
            rng = np.random.default_rng(of_pass + [window] * (window > 0))
            rows = [np.arange(self.bounds[b], self.bounds[b + 1]) for b in few]
            shuffled = np.concatenate(rows)[rng.permutation(end - begin)]
            yield shuffled[max(first - begin, 0) : last - begin]


@runtime_checkable
class Part(Protocol):
    """A block of a file."""

    @property
    def n_rows(self) -> int:
        """How many items it has."""

    def read(self, rows: Int[np.ndarray, " n"] | None = None) -> Array:
        """Return all rows, or some."""


def as_it_is(X: Array) -> Array:
    """Return features in the units of the file."""
    return X


@dataclass(frozen=True, eq=False, repr=False)
class OnDisk:
    """Features in files: a :class:`~wisecrowd.feature_source.FeatureSource`.

    Attributes
    ----------
    path : path
        The file or folder.
    parts : sequence of Part
        Its blocks, in order.
    n_features : int
        D.
    dtype : type
        float32 or float64.
    items : array (N,)
        The ids of the rows, or their numbers.
    with_ids : bool
        Whether these are ids.
    names : list of str or None
        The names of the features.
    left_out : mapping
        From the name of a column that is not used, to the reason.
    stamp : text
        Sizes and times of the files: what a checkpoint knows them by.
    change : function
        What is done with rows when they are read.
    """

    path: Any
    parts: Sequence[Part]
    n_features: int
    dtype: Any
    items: Array
    with_ids: bool
    names: list[str] | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    stamp: str = ""
    change: Callable[[Array], Array] = as_it_is
    _ahead: dict[int, "Future[Array]"] = field(default_factory=dict, init=False)
    _wanted: set[int] = field(default_factory=set, init=False)

    @property
    def n_items(self) -> int:
        """N."""
        return int(self.blocks.bounds[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """Items and features."""
        return self.n_items, self.n_features

    def __repr__(self) -> str:
        """Say what it is."""
        items, features = self.n_items, self.n_features
        return (
            f"<{counted(items, 'item')}, {counted(features, 'feature')}: {self.path}>"
        )

    @cached_property
    def blocks(self) -> Blocks:
        """Where the blocks begin, and how many are shuffled together."""
        sizes = [part.n_rows for part in self.parts]
        largest = max(sizes) * self.n_features * np.dtype(self.dtype).itemsize
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        return Blocks(bounds, max(1, WINDOW // largest))

    @cached_property
    def _thread(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, "wisecrowd-features")

    def changed(self, change: Callable[[Array], Array]) -> "OnDisk":
        """Return the source of features after a change of units, row by row."""
        before = self.change
        return replace(self, change=lambda X: change(before(X)))

    def expect(self, rows: Int[np.ndarray, "*shape"]) -> None:
        """Begin to read the blocks of the rows that will be asked for next."""
        bounds = self.blocks.bounds
        wanted = np.unique(np.searchsorted(bounds, rows.ravel(), "right") - 1).tolist()
        self._wanted.clear()
        self._wanted.update(wanted)
        for block in wanted:
            if block not in self._ahead:
                self._ahead[block] = self._thread.submit(self._read, block)

    def batches(self, rows: Int[np.ndarray, "T B"]) -> Float[np.ndarray, "T B D"]:
        """Return the features of some items, one batch per step."""
        flat = rows.ravel()
        order = np.argsort(flat, kind="stable")
        at = np.searchsorted(flat[order], self.blocks.bounds)
        dtype = self.change(np.empty((0, self.n_features), self.dtype)).dtype
        out = np.empty((flat.size, self.n_features), dtype)
        for block in np.flatnonzero(np.diff(at)).tolist():
            here = order[at[block] : at[block + 1]]
            own = flat[here] - self.blocks.bounds[block]
            ahead = self._ahead.get(block)
            found = self._read(block, own) if ahead is None else ahead.result()[own]
            out[here] = found
            if block not in self._wanted:
                self._ahead.pop(block, None)
        return out.reshape(*rows.shape, self.n_features)

    def pieces(
        self, first: int = 0, last: int | None = None
    ) -> Iterator[tuple[slice, Float[np.ndarray, "piece D"]]]:
        """Yield items in order, `PIECE` at a time: where they are, and their X."""
        end, left = self.n_items if last is None else last, None
        for block in self._in_order(first, end):
            X = block if left is None else np.concatenate([left, block])
            whole = len(X) // PIECE * PIECE
            for i in range(0, whole, PIECE):
                yield slice(first + i, first + i + PIECE), X[i : i + PIECE]
            first, left = first + whole, X[whole:]
        if left is not None and len(left):
            yield slice(first, first + len(left)), left

    def _in_order(self, first: int, last: int) -> Iterator[Array]:
        """Yield the blocks of some items, while the next one is being read."""
        if first >= last:
            return
        bounds = self.blocks.bounds
        begin, end = np.searchsorted(bounds, [first + 1, last]).tolist()
        with ThreadPoolExecutor(1) as thread:
            ahead = thread.submit(self._read, begin - 1)
            for block in range(begin - 1, end):
                X = ahead.result()
                if block + 1 < end:
                    ahead = thread.submit(self._read, block + 1)
                yield X[max(first - bounds[block], 0) : last - bounds[block]]

    def _read(self, block: int, rows: Int[np.ndarray, " n"] | None = None) -> Array:
        """Return a block, or some rows of it; refuse what is not finite."""
        X = self.parts[block].read(rows)
        odd = not_finite(X)
        if odd is None:
            return self.change(X)
        own, column, _ = odd
        row = self.blocks.bounds[block] + (own if rows is None else rows[own])
        who = f" (item {listed([self.items[row]])})" if self.with_ids else ""
        which = f"{column}" if self.names is None else f"{self.names[column]!r}"
        raise InputError(
            f"{self.path}: a value is missing or not finite; the first is "
            f"{X[own, column]} in row {row + 1:,}{who}, column {which}. Fill it in "
            f"(for example with the column's mean) or leave that item out."
        )
