"""A result that answers or gold contradict is said to be doubtful."""

import numpy as np
import pytest

import wisecrowd as wc
from wisecrowd.results.doubts import contradictions
from wisecrowd.simulation.everyday import SHAPES


def doubts(model, crowd, proba=None, gold=None):
    codes = crowd.answers.codes
    if proba is not None:
        model.learned_ = model.learned_._replace(proba=proba)
    known = np.full(codes.n_items, -1) if gold is None else gold
    return contradictions(model, codes, known, model.annotator_summary())


@pytest.fixture
def crowd():
    return wc.simulate(80, 8, 3, accuracy=0.85, spammers=0, random_state=0)


@pytest.fixture
def model(crowd):
    return wc.Consensus().fit(crowd.answers)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_nothing_is_said_of_sound_results(name):
    made = SHAPES[name](np.random.default_rng(0))
    model = wc.Consensus().fit(made.answers, gold=made.told or None)
    gold = np.full(len(made.truth), -1)
    gold[made.gold] = made.truth[made.gold]
    assert doubts(model, made, gold=gold) == []


def test_labels_that_part_from_the_votes_are_said(crowd, model):
    (said,) = doubts(model, crowd, proba=np.roll(model.label_proba_, 1, axis=1))
    assert "differ from the votes on 9" in said
    assert "majority-vote" in said


def test_labels_that_follow_one_person_are_said():
    rng = np.random.default_rng(0)
    given = rng.integers(4, size=(60, 5))
    given[:9, [0, 1, 3, 4]] = -1  # one person answers more than the others
    given[:9, 0] = 0
    given[9:18, 0] = -1
    answers = wc.Annotations.from_matrix(given)
    model = wc.Consensus().fit(answers)
    codes = answers.codes
    follow = np.eye(4)[codes.answer[codes.annotator == 2]]
    model.learned_ = model.learned_._replace(proba=follow)
    nobody, summary = np.full(60, -1), model.annotator_summary()
    said = contradictions(model, codes, nobody, summary)
    assert any("follow one person, 2: they agree on 100%" in line for line in said)


def test_gold_that_the_crowd_never_names_is_said(crowd, model):
    gold = np.where(np.arange(80) < 40, (crowd.truth + 1) % 3, -1)
    said = doubts(model, crowd, gold=gold)
    assert any("agree with gold on" in line and "40 items" in line for line in said)


def test_a_skill_that_the_annotators_own_gold_contradicts_is_said(crowd, model):
    assert doubts(model, crowd, gold=crowd.truth) == []
    summary = model.annotator_summary()
    summary["low"], summary["high"] = 0.1, 0.2
    codes = crowd.answers.codes
    (said,) = contradictions(model, codes, crowd.truth, summary)
    assert "does not fit their own answers on gold items" in said
    assert "estimated 10% to 20%" in said


def test_the_summary_and_the_page_say_it(crowd):
    swapped = {int(n): int((crowd.truth[n] + 1) % 3) for n in range(30)}
    model = wc.Consensus().fit(crowd.answers, gold=swapped)
    from wisecrowd.report import page
    from wisecrowd.results.findings import findings

    found = findings(model, crowd.answers)
    assert any("named alike" in line for line in found.summary()["contradictions"])
    assert "named alike" in page(found)


def test_probabilities_that_know_no_shared_mistakes_are_said(crowd):
    for own in (wc.MajorityVote(), wc.DawidSkene.as_published()):
        (said, *_) = doubts(own.fit(crowd.answers), crowd)
        assert f"those of {own.method.name} alone" in said
    assert doubts(wc.DawidSkene().fit(crowd.answers), crowd) == []
