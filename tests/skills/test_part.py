"""What every model of annotators promises, on each of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from wisecrowd.answers import Answers
from wisecrowd.maths import crowd
from wisecrowd.skills import (
    Ability,
    ConfusionMatrices,
    Skills,
    Tally,
    Trusted,
    Votes,
)
from wisecrowd.skills.part import LearnableSkills

A, C, K = 5, 3, 4
COLUMNS = ["accuracy", "low", "high", "informativeness", "spammer", "adversarial"]
RNG = np.random.default_rng(0)
TALLY = Tally(RNG.gamma(2.0, 3.0, (A, C, K)), RNG.gamma(1.0, 1.0, A))
PRIOR = RNG.gamma(2.0, 1.0, (1, C, K))
PARTS = {
    "confusion matrices": ConfusionMatrices(PRIOR, PRIOR + TALLY.table),
    "ability": Ability(RNG.normal(1, 1, A), RNG.uniform(0.1, 0.6, A), 1.0, 1.2, C, K),
    "votes": Votes(TALLY, "first"),
    "trusted": Trusted(TALLY),
}
CLASS_PRIOR = np.array([0.2, 0.5, 0.3])


@pytest.fixture(params=PARTS)
def part(request):
    return PARTS[request.param]


def test_every_part_is_of_the_protocol_and_two_can_be_learned_with(part):
    assert isinstance(part, Skills)
    learnable = isinstance(part, ConfusionMatrices | Trusted)
    assert isinstance(part, LearnableSkills) is learnable


def test_counts_alone_are_no_skills():
    assert not isinstance(TALLY, Skills)  # they say nothing about an item
    assert not isinstance(object(), Skills)


def test_rows_of_the_confusion_sum_to_one(part):
    assert part.confusion().shape == (A, C, K)
    assert (part.confusion() >= 0).all()
    assert_allclose(part.confusion().sum(-1), 1.0, rtol=1e-12)


def test_intervals_hold_the_confusion_and_grow_with_the_level(part):
    low, high = part.interval(0.9)
    wider = part.interval(0.99)
    assert ((low <= part.confusion()) & (part.confusion() <= high)).all()
    assert ((wider[0] <= low) & (high <= wider[1])).all()
    assert (wider[1] - wider[0]).sum() > (high - low).sum()


def test_the_summary_has_its_columns_and_a_row_per_annotator(part):
    table = part.summary(CLASS_PRIOR, 0.9)
    assert table.columns.tolist() == COLUMNS
    assert len(table) == A
    assert ((table >= 0) & (table <= 1)).all(axis=None)
    assert table["accuracy"].between(table["low"], table["high"]).all()
    assert (table["spammer"] + table["adversarial"] <= 1 + 1e-12).all()


def test_chosen_annotators_keep_their_skill_and_strangers_share_one(part):
    where = np.array([3, -1, 0, -1])
    some = part.chosen(where)
    assert type(some) is type(part)
    assert_allclose(some.confusion()[[0, 2]], part.confusion()[[3, 0]], rtol=1e-12)
    assert_allclose(some.confusion()[1], some.confusion()[3], rtol=1e-12)
    low, high = (side[[0, 2]] for side in some.interval(0.9))
    assert_allclose(low, part.interval(0.9)[0][[3, 0]])
    assert_allclose(high, part.interval(0.9)[1][[3, 0]])


def test_labels_of_new_items_are_probabilities_and_nobody_says_nothing(part):
    answers = Answers.from_codes([0, 0, 2], [1, 4, 2], [0, 1, 2], (4, A, C, K))
    log_prior = np.log(CLASS_PRIOR)[None]
    proba = part.label_proba(answers, log_prior)
    assert proba.shape == (4, C)
    assert_allclose(proba.sum(1), 1.0, rtol=1e-12)
    alone = np.full(C, 1 / C) if isinstance(part, Votes) else CLASS_PRIOR
    assert_allclose(proba[[1, 3]], [alone, alone], rtol=1e-9)


def test_annotators_in_another_order_say_the_same(part):
    order = np.array([4, 2, 0, 3, 1])
    answers = Answers.from_codes([0, 0, 1], [1, 4, 2], [0, 1, 2], (2, A, C, K))
    turned = Answers.from_codes(
        [0, 0, 1], np.argsort(order)[[1, 4, 2]], [0, 1, 2], (2, A, C, K)
    )
    log_prior = np.log(CLASS_PRIOR)[None]
    assert_allclose(
        part.chosen(order).label_proba(turned, log_prior),
        part.label_proba(answers, log_prior),
        rtol=1e-9,
    )


def test_what_a_learnable_part_costs_is_never_negative():
    prior = crowd.diagonal_prior(C, K, 4.0, 1.0)[None]
    for skills in (
        ConfusionMatrices(prior, np.repeat(prior, A, 0)),
        PARTS["confusion matrices"],
        PARTS["trusted"],
    ):
        assert skills.divergence() >= 0.0
