"""Volunteers confuse what the paper says they confuse, and err together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from wisecrowd.simulation.glitches import volunteers as vo
from wisecrowd.simulation.glitches.items import (
    CLASSES,
    Items,
    draw_classes,
    draw_items,
)

CODE = {name: c for c, name in enumerate(CLASSES)}
RIPPLE, VIOLIN, OTHER = (
    CODE[n] for n in ("1400 Ripple", "Violin Mode Harmonic", "Other")
)


@pytest.fixture(scope="module")
def crowd():
    return vo.draw_volunteers(vo.N_VOLUNTEERS, np.random.default_rng(0))


@pytest.fixture(scope="module")
def items():
    rng = np.random.default_rng(1)
    return draw_items(draw_classes(6000, rng), rng)


def test_rows_sum_to_one(crowd):
    assert crowd.confusion.shape == (3443, 15, 15)
    assert_allclose(crowd.confusion.sum(2), 1)


def test_usual_volunteers_have_the_mean_accuracy_and_the_usual_mistakes(crowd):
    mean = crowd.confusion[crowd.kinds == "usual"].mean(0)
    a, b = vo.ACCURACY
    wanted = a / (a + b) * np.eye(15) + b / (a + b) * vo.usual_mistakes()
    assert_allclose(mean, wanted, atol=0.015)


def test_the_most_usual_mistakes_are_those_of_the_paper():
    table = vo.usual_mistakes()
    of_classes = np.delete(table, OTHER, axis=1)
    for name, taken_for in {
        "1400 Ripple": "Violin Mode Harmonic",
        "Violin Mode Harmonic": "1400 Ripple",
        "Blip": "Koi Fish",
        "Repeating Blips": "Blip",
        "Extremely Loud": "Koi Fish",
        "Low Frequency Lines": "Scattered Light",
    }.items():
        assert table[CODE[name], CODE[taken_for]] >= 0.99 * of_classes[CODE[name]].max()
    assert (np.delete(table, OTHER, 0)[:, OTHER] > 0.1).all()


@pytest.mark.parametrize("kind", vo.HABITS)
def test_a_habit_is_seen_in_the_matrices(kind, crowd):
    habit = vo.HABITS[kind]
    answer = CODE[habit.taken_for]
    rows = [CODE[name] for name in habit.of if name != habit.taken_for]
    mine = crowd.confusion[crowd.kinds == kind][:, rows, answer].mean()
    usual = crowd.confusion[crowd.kinds == "usual"][:, rows, answer].mean()
    assert mine - usual > 0.2


def test_few_volunteers_give_most_answers_and_the_number_is_exact(crowd, items):
    answers, _ = vo.answered(items, crowd, np.random.default_rng(2))
    assert len(answers.codes) == round(6000 * 1_828_981 / 173_565)
    counts = np.sort(answers.codes.n_per_annotator)[::-1]
    assert counts[: len(counts) // 20].sum() > 0.5 * counts.sum()


def test_answers_have_the_confusions_that_are_returned(crowd, items):
    answers, confusion = vo.answered(items, crowd, np.random.default_rng(3))
    found = np.zeros((15, 15))
    codes = answers.codes
    np.add.at(found, (items.truth[codes.item], codes.answer), 1)
    wanted = np.zeros((15, 15))
    np.add.at(
        wanted,
        items.truth[codes.item],
        confusion[codes.annotator, items.truth[codes.item]],
    )
    n = found.sum(1, keepdims=True)
    assert_allclose(found / n, wanted / n, atol=0.06)


@pytest.mark.parametrize(("snr", "likeness"), [(6, 0), (60, 0.9)])
def test_faint_and_unusual_glitches_are_answered_wrong_together(snr, likeness, crowd):
    n, decoy = 200, CODE["No Glitch"]
    hard = Items(*(np.full(n, v) for v in (CODE["Blip"], float(snr), decoy, likeness)))
    easy = hard._replace(snr=np.full(n, 60.0), likeness=np.zeros(n))
    for items, together in ((hard, True), (easy, False)):
        answers, _ = vo.answered(items, crowd, np.random.default_rng(4))
        share = np.zeros(n)
        np.add.at(share, answers.codes.item, answers.codes.answer == decoy)
        share /= answers.codes.n_per_item
        # Independent mistakes of this crowd would never be a majority.
        assert ((share > 0.5).mean() > 0.5) == together
        assert (share.mean() < 0.1) != together
