"""Yan's loop; its annotators are tested in tests/maths/test_reliability_by_features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import contract
import oracles
from wisecrowd import Annotations, InputError, Raykar, Yan
from wisecrowd.maths import logistic
from wisecrowd.methods import yan

seeds = st.integers(0, 10**6)
N, A, C, D = 7, 5, 3, 2


def drawn(seed):
    made = oracles.drawn_crowd(seed, n_answers=C)
    rows = [made[name] for name in ("item", "annotator", "label")]
    names = {"items": range(N), "annotators": range(A), "classes": range(C)}
    answers = Annotations.from_triples(*rows, **names)
    return np.random.default_rng(seed).normal(size=(N, D)), answers


@given(seeds)
@settings(max_examples=6)
def test_the_bound_never_falls(seed):
    model = Yan.as_published(l2=0.5, annotator_l2=0.5, max_iter=8, tol=None).fit(
        *drawn(seed)
    )
    bound = model.trace_["bound"].to_numpy()
    assert (np.diff(bound) >= -1e-9 * np.abs(bound[1:])).all()


@given(seeds)
@settings(max_examples=6)
def test_the_bound_and_the_labels_are_those_of_the_oracle(seed):
    X, answers = drawn(seed)
    given_ = {"l2": 0.5, "annotator_l2": 0.7, "scaling": "none"}
    model = Yan.as_published(**given_, max_iter=3, tol=None).fit(X, answers)
    skills, found = model.learned_.skills, model.learned_.classifier
    codes = answers.codes
    rows = codes.item, codes.annotator, codes.answer
    evidence = oracles.yan_evidence(skills.weights, skills.offset, X, rows, C)
    prior = np.log([oracles.softmax_row(x, found.weights, found.bias) for x in X])
    proba, total = oracles.normalised(evidence + prior)
    assert_allclose(model.label_proba_, proba, atol=1e-9)
    nobody = np.zeros((0, C))
    bound = total.sum() + oracles.logistic_objective(
        found.weights, found.bias, nobody[:, :D], nobody, 0.5, logistic.SMOOTHING
    )
    nothing = [np.zeros(0, int)] * 3
    bound += oracles.yan_objective(
        skills.weights,
        skills.offset,
        X,
        nothing,
        0 * proba,
        (0.7, yan.OFFSET_PRECISION),
    )
    assert_allclose(model.trace_["bound"].iloc[-1], bound, rtol=1e-9)


def by_region(seed, n_classes, n_items=500):
    """The class is in the first features; the last says who is right."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_items)
    where = rng.normal(size=n_items)
    X = np.c_[2.5 * np.eye(n_classes)[truth], where]
    X[:, :-1] += rng.normal(size=(n_items, n_classes))
    slope = np.array([3.0, 3.0, -3.0, -3.0, 0.0])
    right = rng.random((n_items, 5)) < 1 / (1 + np.exp(-(0.5 + where[:, None] * slope)))
    wrong = (truth[:, None] + rng.integers(1, n_classes, (n_items, 5))) % n_classes
    return X, np.where(right, truth[:, None], wrong), truth, slope


@pytest.mark.parametrize("n_classes", [2, 4])
def test_who_is_right_where_comes_back(n_classes):
    X, answers, truth, slope = by_region(0, n_classes)
    model = Yan.as_published(scaling="none").fit(X[:400], answers[:400])
    found = model.learned_.skills.weights[:, -1]
    assert np.corrcoef(found, slope)[0, 1] > 0.95
    assert (model.labels_ == truth[:400]).mean() > 0.93
    raykar = Raykar.as_published().fit(X[:400], answers[:400])
    assert (model.labels_ == truth[:400]).mean() > (
        raykar.labels_ == truth[:400]
    ).mean()
    # New items are labelled by those who know their region.
    got = model.predict(X[400:], answers[400:])
    alone = model.predict(X[400:])
    assert (got == truth[400:]).mean() > (alone == truth[400:]).mean()


def test_an_answer_counts_by_the_features_of_its_item():
    X, answers, _, _ = by_region(0, 2)
    model = Yan.as_published().fit(X, answers)
    asked = np.array([[1.25, 1.25, 2.0], [1.25, 1.25, -2.0]])  # between the classes
    said = np.full((2, 5), -1)
    said[:, 0] = 1  # who is right where the last feature is large
    plain, got = model.predict_proba(asked), model.predict_proba(asked, said)
    assert got[0, 1] > 0.9
    assert got[1, 1] < 0.1  # and mostly wrong where it is small
    right = model.right_proba(asked)
    assert right.shape == (2, 5)
    want = plain[0, 1] * right[0, 0]
    want /= want + plain[0, 0] * (1 - right[0, 0])
    assert_allclose(got[0, 1], want, rtol=1e-9)


def test_answers_that_are_not_classes_are_left_out_with_a_warning():
    answers = contract.crowd()
    frame = answers.to_frame()
    frame.loc[frame.index[::5], "answer"] = "?"
    options = {"classes": contract.CLASSES, "answers": ["?"]}
    wider = Annotations.from_frame(frame, **options)
    with pytest.warns(UserWarning, match="do not name a class.*Yan knows no other"):
        Yan.as_published().fit(contract.features(wider), wider, items=wider.items)


def test_no_answer_names_a_class_and_all_classes_are_as_likely():
    options = {"classes": ["a", "b"], "answers": ["?"]}
    answers = Annotations.from_matrix([["?"], ["?"], ["?"]], **options)
    with pytest.warns(UserWarning, match="3 of 3 answers do not name a class"):
        model = Yan.as_published().fit(np.eye(3), answers)
    assert_allclose(model.label_proba_, 0.5)


@pytest.mark.parametrize("wrong", [-1, "much"])
def test_a_wrong_precision_is_refused(wrong):
    X, answers = drawn(0)
    with pytest.raises(InputError, match="annotator_l2="):
        Yan.as_published(annotator_l2=wrong).fit(X, answers)
