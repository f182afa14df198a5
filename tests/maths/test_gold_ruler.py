"""Gold as a ruler: its formula, how far it moves, and what it is for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
import wisecrowd as wc
from wisecrowd.answers import Answers
from wisecrowd.maths import gold_ruler, hard_items
from wisecrowd.maths.gold_ruler import Dials, Ruler

START = Dials(0.1, 0.04, 1.0)


def drawn(seed, n_items=12, n_classes=3, n_each=4, skill=0.7):
    """A ruler of items whose answers are right with probability `skill`."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(n_classes, size=n_items)
    item = np.repeat(np.arange(n_items), n_each)
    wrong = (gold[item] + rng.integers(1, n_classes, len(item))) % n_classes
    label = np.where(rng.random(len(item)) < skill, gold[item], wrong)
    codes = Answers(
        item, np.tile(np.arange(n_each), n_items), label,
        n_items, n_each, n_classes, n_classes,
    )  # fmt: skip
    given = rng.dirichlet(np.ones(n_classes), len(item)) * 0.3
    given[np.arange(len(item)), label] += 0.6
    beyond = rng.normal(size=(n_items, n_classes))
    return Ruler(codes, given, np.log(np.full((1, n_classes), 1 / 3)), beyond, gold)


@given(
    seed=st.integers(0, 10_000),
    rho=st.floats(0, 1),
    hard=st.floats(0.001, 0.4),
    sharp=st.floats(0.3, 3),
)
def test_the_log_density_is_the_loop(seed, rho, hard, sharp):
    ruler, dials = drawn(seed), Dials(rho, hard, sharp)
    got = gold_ruler.log_density(ruler, START, dials)
    want = oracles.gold_log_density(
        (ruler.given, ruler.answers.item, ruler.answers.answer),
        ruler.log_class[0], ruler.beyond, ruler.gold, tuple(START), tuple(dials),
        spreads=gold_ruler.SPREADS, part=hard_items.DECOY_PART,
    )  # fmt: skip
    assert got == pytest.approx(want)


@given(st.floats(0, 1), st.floats(1e-4, 0.5), st.floats(0.2, 5))
def test_dials_come_back_from_their_numbers(rho, hard, sharp):
    again = Dials.of(Dials(rho, hard, sharp).theta())
    assert_allclose(again, (rho, hard, sharp), atol=1e-9)


def test_what_is_measured_is_the_most_probable_of_a_grid():
    ruler = drawn(3, n_items=200, skill=0.55)
    found = gold_ruler.measured(ruler, START)
    best = gold_ruler.log_density(ruler, START, found)
    for rho in (0.02, 0.1, 0.3, 0.8):
        for hard in (0.01, 0.04, 0.15):
            for sharp in (0.5, 1.0, 2.0):
                other = Dials(rho, hard, sharp)
                assert gold_ruler.log_density(ruler, START, other) <= best + 1e-3


def test_three_items_change_little_and_three_hundred_decide():
    many = drawn(0, n_items=300, skill=0.5)  # far less than `given` promises
    few = many.some(np.arange(3))
    moved = [
        np.abs(gold_ruler.measured(r, START).theta() - START.theta()).max()
        for r in (few, many)
    ]
    assert moved[0] < 0.25
    assert moved[1] > 0.8


def test_some_items_of_a_ruler_are_those_items():
    ruler, items = drawn(1), np.array([2, 3, 9])
    assert_array_equal(
        gold_ruler.predicted(ruler.some(items), START),
        gold_ruler.predicted(ruler, START)[items],
    )


def test_no_item_is_predicted_with_its_own_gold():
    ruler = drawn(2, n_items=40)
    proba = gold_ruler.cross_fitted(ruler, START)
    lied = ruler._replace(gold=ruler.gold.copy())
    lied.gold[7] = (lied.gold[7] + 1) % 3
    assert_allclose(gold_ruler.cross_fitted(lied, START)[7], proba[7])


def test_the_exponent_of_predictions_is_that_of_a_grid():
    rng = np.random.default_rng(0)
    log_proba = np.log(rng.dirichlet(np.ones(3), 400))
    sharper = np.exp(2 * log_proba)
    sharper /= sharper.sum(1, keepdims=True)
    gold = (rng.random((400, 1)) > np.cumsum(sharper, 1)).sum(1)
    found = gold_ruler.measured_exponent(log_proba, gold, 1.0)
    grid = np.linspace(0.3, 4, 200)
    best = max(grid, key=lambda t: oracles.exponent_density(log_proba, gold, 1.0, t))
    assert found == pytest.approx(best, abs=0.03)
    assert 1.6 < found < 2.4


# -- inside a fit -----------------------------------------------------------------


def misled(n_items=400, seed=0):
    """Answers of people who err together, far more often than rho shows."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n_items)
    looks = np.where(rng.random(n_items) < 0.2, 1 - truth, truth)
    right = rng.random((n_items, 6)) < 0.85
    return np.where(right, looks[:, None], 1 - looks[:, None]), truth


def test_gold_makes_the_labels_of_the_other_items_more_honest():
    answers, truth = misled()
    known = dict(enumerate(truth[:200].tolist()))
    losses = [
        wc.metrics.log_loss(truth[200:], model.label_proba_[200:])
        for model in (
            wc.BCC().fit(answers),
            wc.BCC().fit(answers, gold=known),
        )
    ]
    assert losses[1] < 0.8 * losses[0]


def test_a_dependence_that_the_user_has_set_stays():
    answers, truth = misled()
    known = dict(enumerate(truth[:200].tolist()))
    model = wc.BCC(dependence=0.03).fit(answers, gold=known)
    assert model.dependence_ == 0.03
    assert model.calibration_.n_gold == 200


def test_calibration_says_how_often_labels_are_right_and_is_kept(tmp_path):
    answers, truth = misled()
    known = dict(enumerate(truth[:200].tolist()))
    model = wc.BCC().fit(answers, gold=known)
    right = (model.labels_[200:] == truth[200:]).mean()
    found = model.calibration_
    assert found.accuracy_low < right < found.accuracy_high
    assert found.accuracy < 0.9  # gold items are not compared with their own gold
    assert found.overconfidence_low < 0 < found.overconfidence_high
    wc.save(model, tmp_path / "run")
    assert wc.load(tmp_path / "run").calibration_ == found


def test_without_gold_there_is_no_calibration():
    assert wc.BCC().fit(misled()[0]).calibration_ is None


def test_dawid_skene_can_end_as_bcc_does():
    answers, truth = misled()
    plain = wc.DawidSkene().fit(answers)
    honest = wc.DawidSkene(dependence="learn").fit(answers)
    assert plain.dependence_ == 0 < honest.dependence_
    losses = [wc.metrics.log_loss(truth, m.label_proba_) for m in (plain, honest)]
    assert losses[1] < 0.8 * losses[0]
