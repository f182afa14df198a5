"""The share of hard items: held by its prior, or learned where items are many."""

import numpy as np
import pytest

import oracles
import wisecrowd as wc
from wisecrowd.answers import Answers
from wisecrowd.maths import hard_items


def share_of(n_items, n_hard=0, seed=0):
    """The learned share in a crowd whose hard items mislead half of the answers."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n_items)
    misled = (rng.random((n_items, 8)) < 0.5) & (np.arange(n_items) < n_hard)[:, None]
    looks_like = np.where(misled, (truth + 1)[:, None] % 3, truth[:, None])
    right = rng.random((n_items, 8)) < 0.9
    other = (looks_like + rng.integers(1, 3, size=(n_items, 8))) % 3
    answers = wc.Annotations.from_matrix(np.where(right, looks_like, other))
    return wc.BCC(dependence=1e-9).fit(answers).learned_.skills.hard_share


def test_a_small_crowd_keeps_the_prior():
    assert share_of(40) == pytest.approx(hard_items.HARD_SHARE, abs=0.002)


def test_a_large_crowd_without_hard_items_learns_that():
    assert share_of(10_000) < 0.5 * hard_items.HARD_SHARE


def test_a_large_crowd_with_many_hard_items_learns_that():
    assert share_of(10_000, n_hard=2000) > 2 * hard_items.HARD_SHARE


def test_the_learned_share_is_that_of_going_through_all_states():
    made = oracles.drawn_crowd(5, n_items=9, n=60)
    rows = made["item"], made["annotator"], made["label"]
    answers = Answers.from_codes(*rows, (9, 5, 3, 4))
    given = made["confusion"][made["annotator"], :, made["label"]]
    weight = oracles.answer_weight(made["item"], 9, 0.1)
    log_prior = np.log(np.random.default_rng(0).dirichlet(np.ones(3), 9))
    got = hard_items.learned_share(answers, given, weight[:, None], log_prior)
    arguments = given, made["item"], made["label"], weight, log_prior
    want = oracles.learned_hard_share(arguments, 0.5, 0.04, 2000, 5)
    assert got != hard_items.HARD_SHARE
    assert got == pytest.approx(want, rel=1e-10)
