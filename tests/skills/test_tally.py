"""Votes and trusted answers: nothing is learned about annotators, only counted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from wisecrowd.answers import Answers
from wisecrowd.skills import Tally, Trusted, Votes
from wisecrowd.skills.tally import Settled

N, A, C, K = 7, 5, 3, 4


def test_the_tally_is_the_loop_and_one_more_answer_in_every_cell(drawn):
    tally = Tally.of(drawn.answers, drawn.proba)
    counts = oracles.soft_counts(drawn.proba, *drawn.rows, (A, C, K))
    assert_allclose(tally.table, counts, atol=1e-12)
    want = oracles.hit_variance(drawn.proba, *drawn.rows, A)
    assert_allclose(tally.hit_variance, want, atol=1e-12)
    for a in range(A):
        for c in range(C):
            row = counts[a, c] + 1
            assert_allclose(tally.confusion()[a, c], row / row.sum())
    stranger = tally.chosen(np.array([-1]))
    assert_allclose(stranger.table, 0.0)
    assert_allclose(stranger.confusion(), 1 / K)


# -- votes ---------------------------------------------------------------------------


@pytest.mark.parametrize("ties", ["first", "random"])
def test_votes_are_shares_whoever_gave_them(drawn, ties):
    votes = Votes(Tally.of(drawn.answers, drawn.proba), ties)
    by_item, _ = oracles.answer_counts(*drawn.rows, (N, A, K))
    want = oracles.vote_proba(by_item[:, :C], np.full(N, -1))
    for prior in (np.zeros((1, C)), np.log([[0.8, 0.1, 0.1]])):
        got = votes.label_proba(drawn.answers, prior)
        assert_allclose(got, want, atol=1e-8)
    assert votes.chosen(np.array([-1, 0])).ties == ties


def test_a_tie_goes_to_the_first_class_or_to_one_that_the_seed_draws():
    answers = Answers.from_codes(
        np.repeat(np.arange(40), 2), [0, 1] * 40, [0, 1] * 40, (40, 2, 2, 2)
    )
    tally = Tally(np.zeros((2, 2, 2)), np.zeros(2))

    def winners(ties, seed):
        votes = Votes(tally, ties, seed)
        proba = votes.label_proba(answers, np.zeros((1, 2)))
        return proba.argmax(1)

    assert set(winners("first", 0)) == {0}
    assert_array_equal(winners("random", 1), winners("random", 1))
    assert (winners("random", 1) != winners("random", 2)).any()
    assert 5 < winners("random", 1).sum() < 35


# -- trusted answers -----------------------------------------------------------------


@pytest.fixture
def trusted(drawn):
    return Trusted(Tally.of(drawn.answers, drawn.proba))


def test_a_trusted_answer_rules_out_all_other_classes(drawn, trusted):
    got = trusted.evidence(drawn.answers)
    by_item, _ = oracles.answer_counts(*drawn.rows, (N, A, K))
    for n in range(N):
        named = [c for c in range(C) if by_item[n, c]]
        for c in range(C):
            possible = not named or c in named
            assert got[n, c] == (0.0 if possible else -np.inf)


def test_nothing_is_learned_and_nothing_is_uncertain(drawn, trusted, parts_add_up):
    parts_add_up(trusted, drawn)
    found = trusted.statistics(drawn.answers, drawn.proba)
    assert trusted.updated(found) is trusted
    assert trusted.divergence() == 0.0
    assert trusted.log_hyperprior() == 0.0


def test_the_report_counts_the_answers_against_the_final_labels(drawn):
    empty = Trusted(Tally(np.zeros((A, C, K)), np.zeros(A)))
    counted = empty.with_doubt(drawn.answers, drawn.proba)
    want = oracles.soft_counts(drawn.proba, *drawn.rows, (A, C, K))
    assert_allclose(counted.tally.table, want, atol=1e-12)


def test_a_new_answer_weighs_what_the_answers_at_the_fit_were_worth(drawn, trusted):
    log_prior = np.log(drawn.rng.dirichlet(np.ones(C)))[None]
    got = trusted.label_proba(drawn.answers, log_prior)
    said = oracles.evidence_per_item(np.log(trusted.confusion()), *drawn.rows, N)
    assert_allclose(got, oracles.normalised(log_prior + said)[0], rtol=1e-9)


def test_settled_labels_are_the_evidence_of_items_with_answers(drawn):
    log_proba = np.log(drawn.proba)
    said = Settled(log_proba).evidence(drawn.answers)
    answered = np.isin(np.arange(len(log_proba)), drawn.rows[0])
    assert 0 < answered.sum() < len(answered)
    assert_array_equal(said[answered], log_proba[answered])
    assert_array_equal(said[~answered], 0.0)


def test_settled_labels_learn_nothing(drawn):
    settled = Settled(np.log(drawn.proba))
    statistics = settled.statistics(drawn.answers, drawn.proba)
    assert statistics.size == 0
    assert settled.updated(statistics) is settled
    assert settled.divergence() == settled.log_hyperprior() == 0.0


def test_settled_labels_of_some_items_are_theirs(drawn):
    log_proba = np.log(drawn.proba)
    some = Settled(log_proba).of_items(np.array([4, 1]))
    assert_array_equal(some.log_proba, log_proba[[4, 1]])
