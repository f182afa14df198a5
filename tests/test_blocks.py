"""Features in blocks: every item once per pass, what is asked for, what comes next."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from wisecrowd import InputError
from wisecrowd import blocks as under_test
from wisecrowd.blocks import Blocks, OnDisk
from wisecrowd.feature_source import PIECE, InMemory
from wisecrowd.fit.stochastic import rows_of_chunk

D = 3
SIZES = (5, 1, 7, 4)
sizes = st.lists(st.integers(1, 9), min_size=1, max_size=6)


class Part(NamedTuple):
    """A block in memory, and a list of who has read it."""

    X: np.ndarray
    log: list

    @property
    def n_rows(self):
        return len(self.X)

    def read(self, rows=None):
        self.log.append(len(self.X))
        return self.X if rows is None else self.X[rows]


def source(sizes=SIZES, **more):
    X = np.arange(sum(sizes) * D, dtype=np.float32).reshape(-1, D)
    cuts = np.cumsum(sizes)[:-1]
    log = []
    parts = [Part(part, log) for part in np.split(X, cuts)]
    about = {"items": np.arange(len(X)), "with_ids": False, **more}
    return X, OnDisk("there", parts, D, np.dtype(np.float32), **about), log


def bounds(sizes):
    return np.concatenate([[0], np.cumsum(sizes)])


# -- the order -------------------------------------------------------------------------


@given(sizes, st.integers(1, 4), st.integers(0, 100))
def test_every_item_is_visited_once_in_a_pass(sizes, together, seed):
    n_items = sum(sizes)
    order = Blocks(bounds(sizes), together).order(seed, 0, 3 * n_items)
    for p in range(3):
        one_pass = np.sort(order[p * n_items : (p + 1) * n_items])
        assert_array_equal(one_pass, np.arange(n_items))


@given(sizes, st.integers(1, 4), st.integers(0, 30), st.integers(1, 30))
def test_the_items_of_a_place_do_not_depend_on_what_else_is_asked(
    sizes, together, first, more
):
    blocks = Blocks(bounds(sizes), together)
    whole = blocks.order(0, 0, first + more)
    assert_array_equal(blocks.order(0, first, first + more), whole[first:])


@given(sizes, st.integers(0, 100))
def test_blocks_that_fit_into_one_window_have_the_order_of_an_array(sizes, seed):
    n_items = sum(sizes)
    blocks = Blocks(bounds(sizes), together=len(sizes))
    got = rows_of_chunk(seed, n_items, 1, 4, n_items, blocks)
    assert_array_equal(got, rows_of_chunk(seed, n_items, 1, 4, n_items))


def test_a_window_has_whole_blocks_in_no_order_of_the_file():
    blocks = Blocks(np.arange(0, 101, 5), together=4)
    order = blocks.order(0, 0, 100).reshape(5, 20)
    of_window = [set(window // 5) for window in order]
    assert all(len(few) == 4 for few in of_window)
    assert any(max(few) - min(few) > 4 for few in of_window)
    assert (np.diff(order[0]) < 0).any()


# -- reading ---------------------------------------------------------------------------


@pytest.mark.parametrize("expected", [False, True])
def test_batches_are_those_of_the_array(expected):
    X, disk, _ = source()
    rows = np.array([[16, 0, 5], [5, 2, 11]])
    if expected:
        disk.expect(rows)
    assert_array_equal(disk.batches(rows), InMemory(X).batches(rows))


@pytest.mark.parametrize("sizes", [SIZES, (PIECE, 3), (3, 2 * PIECE + 1, PIECE)])
def test_pieces_are_those_of_the_array(sizes):
    X, disk, _ = source(sizes)
    for got, want in zip(disk.pieces(), InMemory(X).pieces(), strict=True):
        assert got[0] == want[0]
        assert_array_equal(got[1], want[1])


@pytest.mark.parametrize("first", [0, PIECE, 2 * PIECE])
@pytest.mark.parametrize("last", [2 * PIECE, 3 * PIECE + 4])
def test_pieces_of_some_items_are_those_items_and_no_other_block_is_read(first, last):
    X, disk, log = source((3, 2 * PIECE + 1, PIECE))
    for got, want in zip(
        disk.pieces(first, last), InMemory(X).pieces(first, last), strict=True
    ):
        assert got[0] == want[0]
        assert_array_equal(got[1], X[got[0]])
        assert_array_equal(want[1], X[got[0]])
    sizes = np.diff(disk.blocks.bounds)
    needed = (disk.blocks.bounds[:-1] < last) & (disk.blocks.bounds[1:] > first)
    assert log == sizes[needed & (first < last)].tolist()


def test_a_block_that_was_expected_is_read_once_and_then_let_go():
    _, disk, log = source()
    disk.expect(np.array([[0, 6]]))  # blocks of 5 and 7 items
    disk.expect(np.array([[7, 13]]))  # of 7 and 4
    for rows in ([[0, 6]], [[7, 13]]):
        disk.batches(np.array(rows))
    assert sorted(log) == [4, 5, 7]
    disk.expect(np.empty((0, 0), int))
    disk.batches(np.array([[7, 13]]))
    disk.batches(np.array([[7]]))
    assert sorted(log) == [4, 5, 7, 7]


def test_a_change_of_units_is_made_after_the_one_before():
    X, disk, _ = source()
    twice = disk.changed(lambda X: X + 1).changed(lambda X: (2 * X).astype("float64"))
    assert_array_equal(twice.batches(np.array([[3, 9]]))[0], 2 * (X[[3, 9]] + 1.0))
    assert next(twice.pieces())[1].dtype == np.float64


def test_as_many_blocks_are_shuffled_together_as_fit_into_the_window(monkeypatch):
    monkeypatch.setattr(under_test, "WINDOW", 2 * max(SIZES) * D * 4)
    assert source()[1].blocks.together == 2
    monkeypatch.setattr(under_test, "WINDOW", 1)
    assert source()[1].blocks.together == 1


@pytest.mark.parametrize("read", [lambda s: list(s.pieces()),
                                  lambda s: s.batches(np.array([[7, 0]]))])  # fmt: skip
def test_what_is_not_finite_is_named_by_row_and_column(read):
    _, disk, _ = source(items=np.array([f"i{n}" for n in range(17)]), with_ids=True,
                        names=["w", "h", "d"])  # fmt: skip
    disk.parts[2].X[1, 1] = np.nan
    with pytest.raises(InputError, match=r"nan in row 8 \(item 'i7'\), column 'h'"):
        read(disk)
