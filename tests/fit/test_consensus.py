"""The loop of labels and annotators, and when it ends."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from wisecrowd.answers import Answers
from wisecrowd.fit import consensus
from wisecrowd.fit.consensus import agreed, in_rounds, learned_again, predicted
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, pool
from wisecrowd.simulation.crowds import simulate
from wisecrowd.skills import ConfusionMatrices


@pytest.fixture(scope="module")
def answers():
    made = simulate(200, 12, 3, answers_per_item=4, accuracy=0.7, random_state=0)
    return made.answers.codes


NO_GOLD = np.full(200, -1)


def run(answers, gold=NO_GOLD, max_iter=20):
    """What was agreed, and the bounds of the trace."""
    names = np.arange(answers.n_annotators)
    before = ConfusionMatrices.before_answers("learned", names, *answers.shape[2:])
    with Trace("test", max_iter, show=False) as trace:
        found = agreed(answers, gold, before, max_iter=max_iter, trace=trace)
    return found, trace.frame()["bound"].tolist()


def last_gain(bounds):
    """The last iteration that raised the bound by enough; the first ones always do."""
    at, last = 0, -np.inf
    for i, bound in enumerate(bounds):
        if i < consensus.LEAST_ITERATIONS - 1 or bound >= last + consensus.GAIN:
            at, last = i, bound
    return at


def test_the_loop_ends_when_left_out_answers_gain_no_more(answers):
    _, bounds = run(answers)
    assert consensus.LEAST_ITERATIONS < len(bounds) < 20
    assert len(bounds) == last_gain(bounds) + consensus.PATIENCE + 1


def test_what_is_returned_is_from_before_the_patience(answers):
    found, bounds = run(answers)
    best, _ = run(answers, max_iter=last_gain(bounds) + 1)
    assert_array_equal(found.proba, best.proba)
    assert_array_equal(found.skills.counts, best.skills.counts)


@pytest.mark.parametrize("max_iter", [1, 2, 4])
def test_no_more_iterations_than_asked_for(answers, max_iter):
    assert len(run(answers, max_iter=max_iter)[1]) == max_iter


def test_the_first_labels_are_the_votes_and_later_ones_are_probabilities(answers):
    first = run(answers, max_iter=1)[0].proba
    assert_allclose(first, crowd.vote_proba(answers.votes(), NO_GOLD))
    later = run(answers)[0].proba
    assert np.abs(later - first).max() > 0.1
    assert_allclose(later.sum(1), 1.0)


def test_the_loop_knows_the_gold(answers):
    gold = NO_GOLD.copy()
    gold[:20] = np.arange(20) % 3
    found, _ = run(answers, gold)
    assert_array_equal(found.proba[:20], np.eye(3)[gold[:20]])
    assert found.proba[20:].max() < 1


def test_repeated_answers_teach_nothing_more(answers):
    columns = answers.item, answers.annotator, answers.answer
    twice = [np.concatenate([c, c[::2]]) for c in columns]
    again = Answers.from_codes(*twice, answers.shape)
    labels = [run(a, max_iter=1)[1] for a in (answers.distinct(), again)]
    assert_allclose(*labels)


def test_the_bound_is_the_best_mean_log_probability_of_left_out_answers(answers):
    proba = crowd.vote_proba(answers.votes(), NO_GOLD)
    priors = (crowd.diagonal_prior(3, 3, 4.0, 1.0)[None],)
    nobody = np.zeros(12)
    found = pool.readings(answers, proba, priors, nobody)
    witnesses = pool.Witnesses(answers, np.ones(len(answers)), proba, found)
    left_out = pool.left_out(witnesses, nobody)
    each = [left_out.log_likelihood(rate).mean() for rate in consensus.LOOKED_AT]
    assert predicted(witnesses, nobody) == max(each)
    assert predicted(witnesses, np.ones(12)) == 0.0  # nobody's answer is left out


def test_annotators_learn_from_features_as_far_as_these_explain_the_crowd(answers):
    first, _ = run(answers)
    end = pool.pooled(answers, NO_GOLD, first.proba, first.skills.priors(), "learn")
    for share in (0.0, 0.25, 1.0):
        shares = end.pool._replace(explained=share)
        got = learned_again(first, end._replace(pool=shares))
        assert_allclose(got, first.proba + share * (end.proba - first.proba))


def test_predictions_that_never_change_give_what_a_function_does_with_one_pool_less(
    answers, monkeypatch
):
    first, _ = run(answers)
    says = np.log(crowd.vote_proba(answers.votes() + 0.5, NO_GOLD))
    made, real = [], pool.pooled
    monkeypatch.setattr(pool, "pooled", lambda *a, **k: made.append(1) or real(*a, **k))
    by_function, _ = in_rounds(answers, NO_GOLD, first, 0.1, lambda proba: says, 2)
    end, alone = in_rounds(answers, NO_GOLD, first, 0.1, says, 2)
    assert len(made) == 3 + 2
    assert alone is says
    assert_array_equal(end.proba, by_function.proba)


def test_each_round_learns_the_annotators_from_the_labels_of_the_last(answers):
    first, _ = run(answers)
    says = np.log(crowd.vote_proba(answers.votes() + 0.5, NO_GOLD))
    one, two = (in_rounds(answers, NO_GOLD, first, 0.1, says, n)[0] for n in (1, 2))
    again = learned_again(first, one)
    by_hand = pool.pooled(
        answers, NO_GOLD, again, first.skills.priors(), 0.1, log_proba=says
    )
    assert_array_equal(two.proba, by_hand.proba)
    assert abs(two.proba - one.proba).max() > 1e-6
