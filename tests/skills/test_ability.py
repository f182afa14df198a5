"""Ability: intervals and flags against numerical integration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

import oracles
from wisecrowd.answers import Answers
from wisecrowd.skills import Ability
from wisecrowd.skills.summary import SPAMMER_PRIOR

C, K = 3, 4
MEAN, SPREAD = (
    np.array([2.1, 0.4, -0.3, -1.5, 1.0]),
    np.array([0.3, 0.5, 0.2, 0.4, 0.9]),
)
PRIOR_SPREAD, EASINESS = 1.2, 1.4
SKILLS = Ability(MEAN, SPREAD, PRIOR_SPREAD, EASINESS, C, K)
SHARES = np.array([0.2, 0.5, 0.3])


def right(ability):
    return 1 / (1 + np.exp(-EASINESS * ability))


def proba(a, inside):
    """P(inside(ability)) under the posterior of an annotator, by integration."""
    low, high = MEAN[a] - 12 * SPREAD[a], MEAN[a] + 12 * SPREAD[a]
    grid = np.linspace(low, high, 40_001)
    density = norm.pdf(grid, MEAN[a], SPREAD[a])
    return np.trapezoid(density * inside(grid), grid)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_interval_of_the_accuracy_holds_the_level_with_equal_tails(level):
    low, high = SKILLS.accuracy_interval(level)
    for a in range(len(MEAN)):
        tail = (1 - level) / 2
        assert proba(a, lambda x, a=a: right(x) < low[a]) == pytest.approx(
            tail, abs=1e-3
        )
        assert proba(a, lambda x, a=a: right(x) > high[a]) == pytest.approx(
            tail, abs=1e-3
        )


def test_the_intervals_of_the_confusion_move_with_the_ability():
    low, high = SKILLS.interval(0.9)
    least, most = SKILLS.accuracy_interval(0.9)
    assert_allclose(low[:, 1, 1], least)
    assert_allclose(high[:, 1, 1], most)
    assert_allclose(low[:, 1, 0], (1 - most) / (C - 1))
    assert_allclose(high[:, 1, 2], (1 - least) / (C - 1))
    assert (low <= high).all()


def test_the_confusion_is_that_of_a_typical_item():
    for a, share in enumerate(right(MEAN)):
        for c in range(C):
            for k in range(K):
                wrong = (1 - share) / (C - 1) if k < C else 0.0
                want = share if k == c else wrong
                assert SKILLS.confusion()[a, c, k] == pytest.approx(want)


def test_chance_is_the_ability_of_somebody_who_guesses():
    assert right(SKILLS.chance) == pytest.approx(1 / C)


def test_the_probability_of_a_spammer_is_that_of_an_integral():
    for a, found in enumerate(SKILLS.spammer_proba()):
        want = oracles.spammer_proba(
            MEAN[a], SPREAD[a], 1.0, PRIOR_SPREAD, SKILLS.chance, SPAMMER_PRIOR
        )
        assert found == pytest.approx(want, rel=1e-6)


def test_the_summary_is_made_of_integrals():
    table = SKILLS.summary(SHARES, 0.9)
    spammer = SKILLS.spammer_proba()
    for a in range(len(MEAN)):
        below = quad(norm.pdf, -20, SKILLS.chance, (MEAN[a], SPREAD[a]))[0]
        want = (1 - spammer[a]) * below
        assert table["adversarial"][a] == pytest.approx(want, abs=1e-6)
        information = oracles.mutual_information(SKILLS.confusion()[a], SHARES)
        share = information / oracles.entropy(SHARES)
        assert table["informativeness"][a] == pytest.approx(share, rel=1e-9)
    assert_allclose(table["accuracy"], right(MEAN))
    assert table["adversarial"].idxmax() == 3


def test_strangers_have_the_ability_of_the_prior():
    some = SKILLS.chosen(np.array([-1, 1]))
    assert_allclose(some.mean, [1.0, 0.4])
    assert_allclose(some.spread, [PRIOR_SPREAD, 0.5])
    stranger = some.spammer_proba()[0]
    assert stranger == pytest.approx(SPAMMER_PRIOR)  # nothing was seen


def test_labels_of_new_items_follow_bayes_and_other_answers_say_nothing():
    rows = [0, 0, 1, 2], [0, 3, 1, 2], [1, 1, 2, 3]  # the last is "can't tell"
    answers = Answers.from_codes(*rows, (3, 5, C, K))
    log_prior = np.log(SHARES)[None]
    got = SKILLS.label_proba(answers, log_prior)
    named = [row[:3] for row in rows]
    log_easiness = np.full(3, np.log(EASINESS))
    evidence = oracles.glad_evidence(MEAN, log_easiness, *named, (3, C))
    assert_allclose(got, oracles.normalised(evidence + log_prior)[0], rtol=1e-9)
    assert_allclose(got[2], SHARES)
