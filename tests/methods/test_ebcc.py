"""EBCC: its updates against loops, its bound, and the crowds it was made for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import contract
import oracles
from wisecrowd import BCC, EBCC, Annotations, InputError
from wisecrowd.methods import ebcc
from wisecrowd.skills import Subtypes

seeds = st.integers(0, 10**6)
N, A, C, K, M = 7, 5, 3, 4, 2
NOTHING = np.full(N, -1)


def drawn(seed):
    made = oracles.drawn_crowd(seed, n_answers=K)
    rows = [made[name] for name in ("item", "annotator", "label")]
    names = {"items": range(N), "annotators": range(A), "classes": range(C)}
    return Annotations.from_triples(*rows, **names, answers=range(K))


@given(seeds)
@settings(max_examples=10)
def test_an_update_is_that_of_the_paper(seed):
    answers, rng = drawn(seed).codes, np.random.default_rng(seed)
    rho = rng.dirichlet(np.ones(C * M), N).reshape(N, C, M)
    rows = rng.uniform(0.5, 4, (C, K))
    prior = ebcc.Prior(1.5, 0.3, np.repeat(rows, M, axis=0)[None])
    post = ebcc.posterior_of(rho, answers, prior)
    got, terms = ebcc.updated(post, answers, prior, NOTHING)
    where = answers.item, answers.annotator, answers.answer
    want, bound = oracles.ebcc_update(rho, where, (A, C, M, K), 1.5, 0.3, rows)
    assert_allclose(got, want, atol=1e-9)
    assert_allclose(terms["bound"], bound, rtol=1e-9)


@given(seeds)
@settings(max_examples=10)
def test_the_bound_never_falls(seed):
    model = EBCC.as_published(n_subtypes=3, n_starts=1, max_iter=15, tol=None).fit(
        drawn(seed)
    )
    bound = model.trace_["bound"].to_numpy()
    assert (np.diff(bound) >= -1e-9 * np.abs(bound[1:])).all()


def test_the_published_prior_has_four_and_ones():
    assert ebcc.published_prior(2, 3).tolist() == [[[4, 1, 1], [1, 4, 1]]]


def test_one_subtype_is_bcc():
    answers = contract.crowd(n_items=60)
    loop = {"max_iter": 40, "tol": None, "class_pseudo_items": 2.0}
    one = EBCC.as_published(
        n_subtypes=1, n_starts=1, annotator_prior="diagonal", **loop
    )
    bcc = BCC(annotator_prior="diagonal", dependence=None, **loop)
    one.fit(answers)
    bcc.fit(answers)
    assert_allclose(one.label_proba_, bcc.label_proba_, atol=1e-9)
    assert_allclose(one.trace_["bound"], bcc.trace_["bound"])
    assert_allclose(one.confusion_, bcc.confusion_, rtol=1e-6)
    more = contract.crowd(1, n_items=9)
    assert_allclose(one.predict_proba(more), bcc.predict_proba(more), atol=1e-6)


def test_the_start_with_the_highest_bound_is_kept():
    answers = contract.crowd(n_items=40)
    several = EBCC.as_published(n_starts=4).fit(answers).trace_["bound"].iloc[-1]
    rng = np.random.RandomState(0)
    alone = [
        EBCC.as_published(n_starts=1, random_state=rng)
        .fit(answers)
        .trace_["bound"]
        .iloc[-1]
        for _ in range(4)
    ]
    assert_allclose(several, max(alone))


def test_gold_rules_out_all_subtypes_of_other_classes():
    answers = contract.crowd()
    model = EBCC.as_published(n_starts=1).fit(answers, gold={"i00": "owl"})
    assert_allclose(model.label_proba_[0], [0, 0, 1], atol=1e-12)


def two_subtypes(seed, apart):
    """Items of two subtypes, on one of which half of the crowd errs more often."""
    rng = np.random.default_rng(seed)
    truth, odd = rng.integers(0, 2, 300), rng.random(300) < 0.4
    skill = np.where(np.arange(8) < 4, 0.9, np.where(odd, 0.75 - apart, 0.75)[:, None])
    right = rng.random((300, 8)) < skill
    return np.where(right, truth[:, None], 1 - truth[:, None]), truth, odd


def test_subtypes_are_found_where_there_are_some_and_else_left_empty():
    gain = []
    for apart in (0.0, 0.6):
        answers, _, _ = two_subtypes(0, apart)
        one, two = (
            EBCC.as_published(n_subtypes=m, n_starts=3)
            .fit(answers)
            .trace_["bound"]
            .iloc[-1]
            for m in (1, 2)
        )
        gain.append(two - one)
    assert gain[0] < 5
    assert gain[1] > 30


def test_the_subtypes_come_back():
    answers, truth, odd = two_subtypes(1, 0.6)
    model = EBCC.as_published(n_subtypes=2).fit(answers)
    assert (model.labels_ == truth).mean() > 0.94
    share = np.array([odd[truth == k].mean() for k in (0, 1)])
    assert_allclose(np.sort(model.learned_.skills.shares, 1)[:, 0], share, atol=0.08)


def test_predictions_are_a_mixture_over_subtypes():
    model = EBCC.as_published(n_subtypes=2, n_starts=1).fit(contract.crowd())
    skills = model.learned_.skills
    assert isinstance(skills, Subtypes)
    asked = Annotations.from_triples(
        ["x", "x"], ["ann", "bob"], ["dog", "owl"], classes=contract.CLASSES
    )
    want = np.zeros(3)
    for k in range(3):
        for m in range(2):
            row = skills.counts[:2, 2 * k + m]
            said = row[0, 1] / row[0].sum() * row[1, 2] / row[1].sum()
            want[k] += model.class_prior_[k] * skills.shares[k, m] * said
    assert_allclose(model.predict_proba(asked)[0], want / want.sum(), rtol=1e-9)


@pytest.mark.parametrize(
    "wrong", [{"n_subtypes": 0}, {"n_starts": 0}, {"subtype_pseudo_items": 0}], ids=str
)
def test_a_wrong_setting_is_refused(wrong):
    with pytest.raises(InputError, match=f"{next(iter(wrong))}=0"):
        EBCC.as_published(**wrong).fit(contract.crowd())
