"""Answers: codes sorted by item, and the sums over them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from wisecrowd.answers import Answers, sorted_rows

N, A, C, K, L = 6, 4, 2, 3, 17
SHAPE = (N, A, C, K)
SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed):
    """Rows in random order: an item without an answer, a repeat, an answer K > C."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, n, L - 2) for n in (N - 1, A, K)]
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    rows += [rows[0], (0, 1, K - 1)]
    return [rows[i] for i in rng.permutation(L)]


def made(rows, shape=SHAPE):
    columns = np.array(rows, dtype=int).reshape(-1, 3).T
    return Answers.from_codes(*columns, shape)


def rows_of(answers):
    columns = (answers.item, answers.annotator, answers.answer)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(seed=SEEDS)
def test_rows_are_sorted_by_item_and_keep_their_order_within_it(seed):
    rows = drawn(seed)
    answers = made(rows)
    assert len(answers) == L
    assert rows_of(answers) == oracles.rows_by_item(rows, N)
    assert {c.dtype for c in (answers.item, answers.annotator, answers.answer)} == {
        np.dtype(np.int32)
    }
    for n in range(N):
        part = slice(answers.row_start[n], answers.row_start[n + 1])
        assert rows_of(answers)[part] == [row for row in rows if row[0] == n]


@given(seed=SEEDS)
def test_sums_are_those_of_the_loops(seed):
    rows = drawn(seed)
    answers, tensor = made(rows), oracles.answer_tensor(rows, (N, A, K))
    assert_array_equal(answers.n_per_item, tensor.sum((1, 2)))
    assert_array_equal(answers.n_per_annotator, tensor.sum((0, 2)))
    assert_array_equal(answers.counts(), tensor.sum(1))
    assert_array_equal(answers.counts("annotator"), tensor.sum(0))
    assert_array_equal(answers.votes(), tensor.sum(1)[:, :C])
    assert_array_equal(answers.matrix.toarray(), tensor.reshape(N, A * K))
    assert_array_equal(answers.transposed.toarray(), tensor.reshape(N, A * K).T)
    value = np.random.default_rng(seed).normal(size=L)
    want = [sum(value[answers.item == n]) for n in range(N)]
    assert_allclose(answers.per_item @ value, want, atol=1e-12)


@given(seed=SEEDS)
def test_an_answer_that_is_not_a_class_is_never_right(seed):
    proba = np.random.default_rng(seed).dirichlet(np.ones(C), N)
    answers = made(drawn(seed))
    right = answers.right_proba(proba)
    assert_allclose(right, oracles.right_proba(rows_of(answers), proba.tolist()))
    assert (right[answers.answer >= C] == 0).all()
    assert (answers.answer >= C).any()


@given(seed=SEEDS)
def test_distinct_answers_are_those_of_a_set(seed):
    rows = drawn(seed)
    once = made(rows).distinct()
    assert rows_of(once) == sorted(set(rows))
    assert len(once) < L
    assert once.shape == SHAPE


@given(seed=SEEDS)
def test_some_rows_keep_all_sizes(seed):
    answers = made(drawn(seed))
    chosen = np.random.default_rng(seed).random(L) < 0.5
    part = answers.some(chosen)
    kept = zip(rows_of(answers), chosen, strict=True)
    assert rows_of(part) == [row for row, keep in kept if keep]
    assert part.shape == SHAPE
    assert_array_equal(part.n_per_item, part.counts().sum(1))  # not those of the whole


@given(seed=SEEDS)
def test_items_are_renumbered_in_the_order_in_which_they_are_chosen(seed):
    rows = drawn(seed)
    items = np.random.default_rng(seed).permutation(N)[:3]
    part = made(rows).of_items(items)
    want = [(i, a, y) for i, n in enumerate(items) for m, a, y in rows if m == n]
    assert rows_of(part) == want
    assert part.shape == (3, A, C, K)


def test_other_answers_change_the_sums():
    answers = made(drawn(0))
    before = answers.votes()
    other = answers.with_answer((answers.answer + 1) % K)
    assert_array_equal(other.item, answers.item)
    assert_array_equal(other.counts(), np.roll(answers.counts(), 1, axis=1))
    assert_array_equal(answers.votes(), before)


def test_no_answer_at_all_is_an_empty_sum():
    answers = made([])
    assert len(answers) == 0
    assert answers.row_start.tolist() == [0] * (N + 1)
    assert answers.counts().shape == (N, K)
    assert answers.per_item.shape == (N, 0)
    assert len(answers.distinct()) == 0


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_ordered_as_by_a_stable_sort(seed):
    codes = np.random.default_rng(seed).integers(0, 9, 200).astype(np.int32)
    assert_array_equal(sorted_rows(codes, 9), np.argsort(codes, kind="stable"))


@given(seed=SEEDS)
def test_ordered_rows_do_not_depend_on_the_order_of_a_file(seed):
    rows = drawn(seed)
    assert rows_of(made(rows).ordered()) == sorted(rows)
