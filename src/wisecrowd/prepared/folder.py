"""The prepared folder: answers as codes, sorted by item, in shards of Parquet files.

Every shard has two files with the same number of row groups: ``answers-00000.parquet``
(item, annotator, answer, as codes) and ``items-00000.parquet`` (the names of the
items, in the order of their codes). A row group has whole items, so it can be read,
labelled and forgotten.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jaxtyping import Float, Int

from wisecrowd._checks import InputError, counted, listed
from wisecrowd._types import Array
from wisecrowd.annotations.vocabulary import gold_series, positions
from wisecrowd.answers import Answers

ABOUT = "prepared.json"
FORMAT, VERSION = "wisecrowd-prepared", 1
ANNOTATORS = "annotators.parquet"


class Block(NamedTuple):
    """Some items and all their answers. Within a block, items are 0, 1, 2, ..."""

    name: str  # shard and row group
    first: int  # the code of the first item
    answers: Answers
    gold: Int[np.ndarray, " B"]  # the class that is known for certain, else -1
    times: Float[np.ndarray, " B"] | None = None  # items that each stands for


class Gold(NamedTuple):
    """Codes of items whose class is known, in order, and of their classes."""

    item: Int[np.ndarray, " G"]
    code: Int[np.ndarray, " G"]


NO_GOLD = Gold(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, eq=False)
class Prepared:
    """A prepared folder; make one with :func:`opened`."""

    path: Path
    about: dict[str, Any]  # what prepared.json says: sizes, classes, answers, shards
    shards: range  # those that are read here: all, or those of one process
    gold: Gold = NO_GOLD

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(N, A, C, K), of all shards."""
        sizes = self.about["n_items"], self.about["n_annotators"]
        return *sizes, len(self.about["classes"]), len(self.about["answers"])

    @cached_property
    def annotators(self) -> Array:
        """The names of the annotators."""
        return _names(pq.read_table(self.path / ANNOTATORS)["annotator"].to_pylist())

    @property
    def answers(self) -> Array:
        """All possible answers, the classes first."""
        return _names(self.about["answers"])

    @property
    def classes(self) -> Array:
        """The classes."""
        return self.answers[: len(self.about["classes"])]

    def part(self, rank: int, size: int) -> "Prepared":
        """Return what one of several processes reads: shards that follow one another.

        Examples
        --------
        >>> whole = Prepared(Path("prepared"), {}, range(5))
        >>> [list(whole.part(rank, 2).shards) for rank in range(2)]
        [[0, 1], [2, 3, 4]]
        """
        n = len(self.shards)
        if size > n:
            raise InputError(
                f"{self.path} has {counted(n, 'shard')}, fewer than the {size} "
                f"processes. Prepare it again with --shards {size}."
            )
        mine = self.shards[rank * n // size : (rank + 1) * n // size]
        return replace(self, shards=mine)

    def whole(self) -> "Prepared":
        """Return the folder with all its shards."""
        return replace(self, shards=range(self.about["n_shards"]))

    def blocks(self) -> Iterator[Block]:
        """Read the answers, one row group at a time."""
        for shard, group, file in self._groups("answers"):
            yield self._block(shard, group, file)

    def names(self) -> Iterator[Any]:
        """Read the names of the items, an Arrow column per block."""
        for _, group, file in self._groups("items"):
            yield file.read_row_group(group)["item"]

    def _groups(self, what: str) -> Iterator[tuple[int, int, Any]]:
        """Yield shard, row group and open file of all answers, or of all items."""
        for shard in self.shards:
            path = self.path / file_name(what, shard)
            try:
                opened_file = pq.ParquetFile(path)
            except (FileNotFoundError, pa.ArrowInvalid):
                raise InputError(
                    f"{path} is missing or damaged. Prepare the folder again."
                ) from None
            with opened_file as file:
                for group in range(file.num_row_groups):
                    yield shard, group, file

    def with_gold(self, gold: Any) -> tuple["Prepared", list[str]]:
        """Return the folder with known classes, and notes about gold of other items.

        Ids are compared as text. All names are read once.
        """
        known = gold_series(gold)
        if known is None:
            return self, []
        what = positions(known.to_numpy(), self.classes)
        if (what < 0).any():
            raise InputError(
                f"gold class {listed(known.to_numpy()[what < 0][:1])} is not one of "
                f"the classes {listed(self.classes, 20)}. If nobody gave this answer, "
                f"prepare again with --classes."
            )
        wanted, code = pa.array(known.index.astype(str), pa.string()), []
        where, first = [], 0
        for names in self.names():
            found = pc.index_in(names.cast(pa.string()), value_set=wanted)
            found = found.fill_null(-1).to_numpy()
            here = np.flatnonzero(found >= 0)
            where.append(first + here)
            code.append(what[found[here]])
            first += len(found)
        n_lost = len(known) - sum(map(len, where))
        if n_lost == len(known):
            raise InputError(
                f"none of the {counted(n_lost, 'gold item')} is among the items of "
                f"{self.path}: gold is known for {listed(known.index, 3)}."
            )
        notes = []
        if n_lost:
            are = "is" if n_lost == 1 else "are"
            notes = [f"{counted(n_lost, 'gold item')} {are} not among the items."]
        gold = Gold(np.concatenate(where), np.concatenate(code))
        return replace(self, gold=gold), notes

    def _block(self, shard: int, group: int, file: Any) -> Block:
        table = file.read_row_group(group, use_threads=False)
        item, annotator, answer = (
            table[name].to_numpy() for name in ("item", "annotator", "answer")
        )
        first = int(item[0])
        n_items = int(item[-1]) - first + 1
        columns = (item - first).astype(np.int32), annotator, answer.astype(np.int32)
        lo, hi = np.searchsorted(self.gold.item, [first, first + n_items])
        gold = np.full(n_items, -1)
        gold[self.gold.item[lo:hi] - first] = self.gold.code[lo:hi]
        answers = Answers(*columns, n_items, *self.shape[1:])
        return Block(f"{shard:05}-{group:05}", first, answers, gold)


def opened(path: str | Path) -> Prepared:
    """Return a folder that :func:`wisecrowd.prepared.write.prepare` has written."""
    path = Path(path)
    try:
        about = json.loads((path / ABOUT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"{path} holds no {ABOUT}: make it with 'wisecrowd prepare ANSWERS --out "
            f"{path}'."
        ) from None
    except ValueError:
        about = {}
    if about.get("format") != FORMAT or about.get("version") != VERSION:
        raise InputError(
            f"{path / ABOUT} is damaged, or of another wisecrowd. Prepare it again."
        )
    return Prepared(path, about, range(about["n_shards"]))


def file_name(what: str, shard: int) -> str:
    """Return the name of a file of a shard.

    Examples
    --------
    >>> file_name("items", 3)
    'items-00003.parquet'
    """
    return f"{what}-{shard:05}.parquet"


def moved(files: str, work: Path, out: Path) -> None:
    """Replace the files of this pattern in `out` by those in `work`."""
    for path in out.glob(files):
        path.unlink()
    for path in work.glob(files):
        path.rename(out / path.name)


def _names(values: list[Any]) -> Array:
    """Return names as the rest of wisecrowd has them: numbers, or text as objects."""
    return np.array(values, None if isinstance(values[0], int | bool) else object)
