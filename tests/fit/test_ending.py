"""The end of a fit: how far features count beside the answers of a crowd."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from wisecrowd.answers import Answers
from wisecrowd.fit import ending, witness
from wisecrowd.fit.variational import CLASS_PRIOR
from wisecrowd.skills import ConfusionMatrices

A, C, N = 5, 3, 40
seeds = st.integers(0, 10**6)


def crowd_of(seed, strength=1.0, n_items=N, answers_per_item=3):
    """Skills, and what is known, of a crowd whose features are this strong."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, C, n_items)
    item = np.repeat(np.arange(n_items), answers_per_item)
    annotator = rng.integers(0, A, len(item))
    right = rng.random(len(item)) < 0.7
    other = (truth[item] + rng.integers(1, C, len(item))) % C
    answer = np.where(right, truth[item], other)
    answers = Answers.from_codes(item, annotator, answer, (n_items, A, C, C))
    proba = rng.dirichlet(np.ones(C), n_items) * 0.3 + 0.7 * np.eye(C)[truth]
    log_features = strength * (2 * np.eye(C)[truth] + rng.normal(size=(n_items, C)))
    log_features -= np.log(np.exp(log_features).sum(1, keepdims=True))
    prior = np.ones((1, C, C))
    skills = ConfusionMatrices(prior, np.ones((A, C, C))).learned_from(answers, proba)
    known = ending.Known(
        answers,
        np.full(n_items, -1),
        proba,
        np.log(proba.mean(0))[None],
        witness.beyond_shares(log_features),
        1.5,
    )
    return known, skills, log_features, truth


@given(seeds)
def test_trust_is_the_root_of_the_share_of_entropy_explained(seed):
    known, *_ = crowd_of(seed)
    given_x, _ = oracles.normalised(known.log_class + 1.5 * known.beyond)
    shares = [sum(row[c] for row in given_x) / N for c in range(C)]
    left = sum(oracles.entropy(row) for row in given_x) / N
    want = (1 - left / oracles.entropy(shares)) ** 0.5
    assert_allclose(known.trust, want, rtol=1e-9)
    assert_allclose(known.shared, ending.SHARED * want, rtol=1e-9)
    assert_allclose(known.exponent, 1.5 * want / (1 + ending.SHARED * want), rtol=1e-9)


def test_without_features_nothing_is_shared_with_them():
    known, *_ = crowd_of(0)
    none = known._replace(beyond=np.zeros((N, C)))
    assert none.trust == 0
    assert none.shared == 0


@pytest.mark.parametrize("dependence", [0.0, 0.3])
def test_final_labels_have_the_discounts_of_what_is_known(dependence):
    known, skills, *_ = crowd_of(1)
    found = ending.ended(known, skills, dependence, np.random.RandomState(0))
    if dependence:
        exponent, shared = known.exponent, known.shared
    else:  # annotators are independent: so are the features
        exponent, shared = known.sharpness, 0.0
    want = found.skills.with_shared(shared).final_labels(
        known.answers, known.log_class, known.gold, known.proba, exponent * known.beyond
    )
    assert found.skills.shared == shared
    assert_allclose(found.proba, want.proba)


def test_independent_annotators_are_not_learned_again():
    known, skills, *_ = crowd_of(2)
    rng = np.random.RandomState
    again = ending.ended_with_features(known, skills, 0, rng(0), witness.FROM_NOTHING)
    assert again[0] is known
    assert_array_equal(again[1].proba, ending.ended(known, skills, 0, rng(0)).proba)


@given(seeds)
def test_labels_to_learn_from_are_weighted_by_the_trust(seed):
    known, skills, *_ = crowd_of(seed)
    end = ending.ended(known, skills, 0.2, np.random.RandomState(0))
    proba, learned = ending.learned_again(known, known, end)
    for n in range(N):
        for c in range(C):
            want = known.trust * end.proba[n, c] + (1 - known.trust) * known.proba[n, c]
            assert_allclose(proba[n, c], want)
    rows = known.answers.item, known.answers.annotator, known.answers.answer
    assert_allclose(
        learned.counts - learned.prior, oracles.soft_counts(proba, *rows, (A, C, C))
    )


def test_evidence_is_what_the_final_labels_take_from_the_answers():
    known, skills, *_ = crowd_of(3)
    gold = known.gold.copy()
    gold[4] = 2
    known = known._replace(gold=gold)
    skills = skills.with_dependence(0.3).with_shared(0.7)
    got = ending.discounted_evidence(known, skills)
    flat = np.zeros((1, C))
    want = skills.with_shared(0.0).final_labels(known.answers, flat, gold, known.proba)
    free = gold < 0
    assert_allclose(np.exp(got)[free], want.proba[free])
    assert_array_equal(np.isfinite(got[4]), [False, False, True])


def test_what_is_known_again_has_the_likeliest_sharpness():
    known, skills, *_ = crowd_of(4, n_items=400)
    skills = skills.with_dependence(0.1)
    rng = np.random.RandomState(0)
    again = ending.known_again(
        known, known.proba, skills, known.beyond, rng, witness.FROM_NOTHING
    )
    said = ending.discounted_evidence(known, skills)
    shares = (known.proba.sum(0) + CLASS_PRIOR) / (400 + C * CLASS_PRIOR)
    assert_allclose(np.exp(again.log_class[0]), shares)

    def likely(t):
        at = again.log_class + t * known.beyond
        return witness.log_likelihood(at, said).sum()

    best = likely(again.sharpness)
    assert all(best >= likely(t) - 1e-6 for t in (0.1, 0.5, 1.0, 2.0, 4.0))


def test_strong_features_correct_the_crowd_and_weak_ones_hardly_count():
    """Two answers per item: the features decide as far as they explain the classes."""
    hits = {}
    for strength in (0.0, 4.0):
        known, skills, _, truth = crowd_of(5, strength, n_items=400, answers_per_item=2)
        rng = np.random.RandomState(0)
        _, end = ending.ended_with_features(
            known, skills, 0.1, rng, witness.FROM_NOTHING
        )
        hits[strength] = (end.proba.argmax(1) == truth).mean()
        alone = ending.ended(
            known._replace(beyond=np.zeros((400, C))), skills, 0.1, rng
        )
        if not strength:
            assert_allclose(end.proba, alone.proba, atol=0.02)  # shares of classes
    assert hits[4.0] > hits[0.0] + 0.05


def test_items_that_nobody_answered_are_predicted_like_new_ones():
    known, _, log_features, _ = crowd_of(6)
    keep = known.answers.item > 1
    known = known._replace(answers=known.answers.some(keep))
    gold = known.gold.copy()
    gold[1] = 0
    labels = known.proba.copy()
    got = ending.with_predictions(labels, known._replace(gold=gold), 0.6, log_features)
    assert_array_equal(got[1:], labels[1:])  # gold, or answered
    want, _ = oracles.normalised(0.6 * log_features[:1])
    assert_allclose(got[:1], want)


def test_exponents_suit_the_final_labels_and_those_of_the_answers_alone():
    known, skills, log_features, _ = crowd_of(7, n_items=300)
    rng = np.random.RandomState(0)
    known, end = ending.ended_with_features(
        known, skills, 0.2, rng, witness.FROM_NOTHING
    )
    alone = end.skills.with_shared(0.0).final_labels(
        known.answers, known.log_class, known.gold, known.proba
    )
    want = [witness.exponent_for(log_features, p) for p in (end.proba, alone.proba)]
    got = ending.exponents_for_labels(known, end, log_features)
    assert_allclose(got, want, rtol=1e-6)
    assert got[0] > got[1]  # the final labels are made with the predictions
    assert ending.set_by_gold(0.7, known, end, log_features) == 0.7  # there is none
