"""Answers of batches as flat rows: every answer once, and nothing else."""

import numpy as np
from numpy.testing import assert_array_equal

import oracles
from wisecrowd.answers import Answers
from wisecrowd.fit import flat_answers

N, A, C, K = 7, 5, 3, 4


def crowd(seed=0):
    made = oracles.drawn_crowd(seed, n_answers=K)
    rows = (made[name] for name in ("item", "annotator", "label"))
    return Answers.from_codes(*rows, (N, A, C, K))


def test_a_batch_has_its_own_answers_and_no_others():
    answers, gold = crowd(), np.arange(N) - 4
    items = np.array([[3, 0, 6], [1, 1, 2]])
    rows = flat_answers.flat_rows(answers, gold, items, room=64)
    assert rows.place.shape == (2, 64)
    for t in range(2):
        got = sorted(
            (items[t, p], a, y)
            for p, a, y, w in zip(*(column[t] for column in rows[:4]), strict=True)
            if w
        )
        given = zip(answers.item, answers.annotator, answers.answer, strict=True)
        given = list(given)
        want = sorted(row for i in items[t] for row in given if row[0] == i)
        assert got == want
    assert_array_equal(rows.gold, gold[items])


def test_a_batch_that_has_no_room_gets_more():
    answers = crowd()
    items = np.arange(N)[None]
    rows = flat_answers.flat_rows(answers, np.full(N, -1), items, room=8)
    assert rows.weight.sum() == len(answers)


def test_nearly_every_batch_has_room():
    rng = np.random.default_rng(0)
    item = rng.integers(0, 500, 3000)
    answers = Answers.from_codes(item, item * 0, item * 0, (500, 1, 2, 2))
    room = flat_answers.room_for(answers, np.arange(500), 32)
    totals = [answers.n_per_item[rng.permutation(500)[:32]].sum() for _ in range(300)]
    assert max(totals) <= room < 2 * np.mean(totals)


def test_held_out_items_have_answers_and_are_none_if_few():
    answered = np.arange(300) % 3 > 0
    held = flat_answers.held_out_items(answered, 0.1, 20, 2048, seed=0)
    assert len(held) == len(set(held)) == 20
    assert answered[held].all()
    assert len(flat_answers.held_out_items(answered, 0.09, 20, 2048, seed=0)) == 0
    assert len(flat_answers.held_out_items(answered, 0.5, 20, 30, seed=0)) == 30
    other = flat_answers.held_out_items(answered, 0.1, 20, 2048, seed=1)
    assert set(held) != set(other)
