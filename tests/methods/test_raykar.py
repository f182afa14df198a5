"""Raykar's loop; its regression is tested in tests/maths/test_logistic.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

import contract
import oracles
from wisecrowd import Annotations, DawidSkene, Raykar
from wisecrowd.fit.em import SMOOTHING
from wisecrowd.maths import logistic

seeds = st.integers(0, 10**6)
N, A, C, K, D = 7, 5, 3, 4, 2


def drawn(seed):
    """A small crowd with an answer that is no class, and features of its items."""
    made = oracles.drawn_crowd(seed, n_answers=K)
    rows = [made[name] for name in ("item", "annotator", "label")]
    names = {"items": range(N), "annotators": range(A), "classes": range(C)}
    answers = Annotations.from_triples(*rows, **names, answers=range(K))
    return np.random.default_rng(seed).normal(size=(N, D)), answers


@given(seeds)
@settings(max_examples=6)
def test_the_bound_never_falls(seed):
    model = Raykar.as_published(l2=0.5, max_iter=8, tol=None).fit(*drawn(seed))
    bound = model.trace_["bound"].to_numpy()
    assert (np.diff(bound) >= -1e-9 * np.abs(bound[1:])).all()


@given(seeds)
@settings(max_examples=6)
def test_the_bound_and_the_labels_are_those_of_the_oracle(seed):
    X, answers = drawn(seed)
    prior = np.random.default_rng(seed).uniform(1, 3, (C, K))
    model = Raykar.as_published(
        l2=0.5, annotator_prior=prior, scaling="none", max_iter=3, tol=None
    ).fit(X, answers)
    before = Raykar.as_published(
        l2=0.5, annotator_prior=prior, scaling="none", max_iter=2, tol=None
    ).fit(X, answers)
    codes = answers.codes
    rows = codes.item, codes.annotator, codes.answer
    counts = oracles.soft_counts(before.label_proba_, *rows, (A, C, K))
    held = prior + SMOOTHING
    confusion = counts + held - 1
    confusion /= confusion.sum(-1, keepdims=True)
    found = model.learned_.classifier
    total, proba = oracles.raykar_log_posterior(
        rows, X, found.weights, found.bias, confusion, held, 0.5, logistic.SMOOTHING
    )
    assert_allclose(model.trace_["bound"].iloc[-1], total, rtol=1e-9)
    assert_allclose(model.label_proba_, proba, atol=1e-9)


@pytest.mark.parametrize("prior", ["flat", "diagonal"])
def test_without_features_it_is_dawid_skene(prior):
    answers = contract.crowd(n_items=80)
    loop = {"annotator_prior": prior, "max_iter": 300, "tol": 1e-10}
    want = DawidSkene.as_published(**loop).fit(answers)
    for value in (0.0, 7.0):
        constant = np.full((80, 2), value)
        got = Raykar.as_published(**loop).fit(constant, answers, items=answers.items)
        assert_allclose(got.label_proba_, want.label_proba_, atol=1e-4)
        assert_allclose(got.confusion_, want.confusion_, atol=1e-4)
        assert_allclose(got.trace_["bound"].iloc[-1], want.trace_["bound"].iloc[-1])
        shares = np.repeat(want.class_prior_[None], 2, 0)
        assert_allclose(got.predict_proba(constant[:2]), shares, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_with_one_perfect_annotator_it_is_scikit_learns_regression(n_classes):
    rng = np.random.default_rng(0)
    z = rng.integers(n_classes, size=150)
    X = rng.normal(size=(150, 3)) + np.eye(n_classes)[z][:, :1] + 0.5 * z[:, None]
    right = np.eye(n_classes) * 1e11 + 1
    model = Raykar.as_published(
        l2=4.0, annotator_prior=right, scaling="none", tol=1e-12, max_iter=300
    ).fit(X, z)
    # The hundredth of an item of every class at x = 0.
    rows = np.concatenate([X, np.zeros((n_classes, 3))])
    weight = np.append(np.ones(150), np.full(n_classes, logistic.SMOOTHING))
    want = LogisticRegression(C=1 / 4.0, tol=1e-10, max_iter=10_000)
    want.fit(rows, np.append(z, np.arange(n_classes)), weight)
    assert_allclose(model.predict_proba(X), want.predict_proba(X), atol=1e-4)
    coef = model.coef_.T if n_classes > 2 else model.coef_[:, 1:].T * 2
    assert_allclose(coef, want.coef_, atol=1e-3)
    assert (model.labels_ == z).all()


def test_coefficients_are_in_the_units_of_x():
    X, y, _ = contract.two_clouds()
    units = np.array([1e-3, 1e5])
    model = Raykar.as_published().fit(X * units + 7 * units, y)
    scores = (X * units + 7 * units) @ model.coef_ + model.intercept_
    proba, _ = oracles.normalised(scores)
    assert_allclose(proba, model.predict_proba(X * units + 7 * units), rtol=1e-6)
    assert_allclose(
        model.predict_proba(X * units + 7 * units)[:, 1].round(),
        Raykar.as_published(scaling="each").fit(X, y).predict(X),
    )


def test_classes_and_annotators_come_back():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 400)
    X = 2 * np.eye(3)[truth] + rng.normal(size=(400, 3))
    skill = np.array([0.9, 0.8, 0.7, 0.4])
    wrong = (truth[:, None] + rng.integers(1, 3, (400, 4))) % 3
    y = np.where(rng.random((400, 4)) < skill, truth[:, None], wrong)
    y[rng.random(y.shape) < 0.4] = -1
    model = Raykar.as_published().fit(X, y)
    assert (model.labels_ == truth).mean() > (
        DawidSkene.as_published().fit(y).labels_ == truth
    ).mean()
    accuracy = np.diagonal(model.confusion_, axis1=1, axis2=2).mean(1)
    assert_allclose(accuracy, skill, atol=0.08)
