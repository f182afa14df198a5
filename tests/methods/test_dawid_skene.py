import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import contract
import oracles
from wisecrowd import Annotations, DawidSkene
from wisecrowd.methods import dawid_skene

seeds = st.integers(0, 10**6)


def drawn(seed):
    made = oracles.drawn_crowd(seed)
    codes = [made[name] for name in ("item", "annotator", "label")]
    answers = Annotations.from_triples(
        *codes, items=range(7), annotators=range(5), classes=range(3), answers=range(4)
    )
    return answers, codes


def assert_never_falls(bound):
    gain = np.diff(bound)
    assert (gain >= -1e-9 * np.abs(bound[1:])).all(), gain.min()


@given(seeds)
def test_the_bound_never_falls(seed):
    for prior in ("flat", "diagonal"):
        model = DawidSkene.as_published(annotator_prior=prior, max_iter=50, tol=None)
        assert_never_falls(model.fit(drawn(seed)[0]).trace_["bound"].to_numpy())


@given(seeds)
def test_three_iterations_are_those_of_loops(seed):
    answers, codes = drawn(seed)
    model = DawidSkene.as_published(
        annotator_prior="diagonal", max_iter=3, tol=None
    ).fit(answers)
    prior = np.maximum(model.annotator_prior_, 1.0) + dawid_skene.SMOOTHING
    prior = np.repeat(prior, 5, 0)
    proba = oracles.vote_proba(answers.counts()[:, :3], answers.gold_codes)
    for step in range(3):
        proba, bound = oracles.dawid_skene_step(
            proba, *codes, (5, 3, 4), prior, dawid_skene.SMOOTHING
        )
        assert_allclose(model.trace_["bound"][step], bound, rtol=1e-9)
    assert_allclose(model.label_proba_, proba, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_end_is_a_fixed_point(seed):
    answers, codes = drawn(seed)
    model = DawidSkene.as_published(max_iter=500, tol=None).fit(answers)
    prior = np.full((5, 3, 4), 1 + dawid_skene.SMOOTHING)
    again, bound = oracles.dawid_skene_step(
        model.label_proba_, *codes, (5, 3, 4), prior, dawid_skene.SMOOTHING
    )
    assert_allclose(bound, model.trace_["bound"].iloc[-1], rtol=1e-7)
    assert_allclose(again, model.label_proba_, atol=1e-3)


def test_most_probable_params_are_the_best_of_their_neighbours():
    rng = np.random.default_rng(0)
    proba, counts = rng.dirichlet(np.ones(3), 7), rng.gamma(1.0, 2.0, (5, 3, 4))
    prior = np.full((1, 3, 4), 1.5)
    best = dawid_skene.most_probable_params(proba, counts, prior)

    def objective(params):
        answers = (counts * params.log_confusion).sum()
        classes = (proba @ params.log_class).sum()
        return answers + classes + dawid_skene.log_prior(params, prior)

    for _ in range(50):
        moved = [x + rng.normal(0, 0.05, x.shape) for x in best]
        normal = [x - np.log(np.exp(x).sum(-1, keepdims=True)) for x in moved]
        assert objective(dawid_skene.Params(*normal)) < objective(best)


def test_one_annotator_alone_is_believed():
    # By likelihood alone classes could be merged: one annotator explains anything.
    answers = Annotations.from_target([0, 1, 1, 2, 0])
    model = DawidSkene.as_published(annotator_prior="diagonal")
    assert model.fit(answers).labels_.tolist() == [0, 1, 1, 2, 0]


def test_what_is_known_of_an_annotator_decides_a_draw():
    answers = Annotations.from_matrix([[0, 1]] * 4 + [[1, 0]] * 4)
    expert = {0: [[90.0, 10.0], [10.0, 90.0]]}
    model = DawidSkene.as_published(annotator_prior=expert).fit(answers)
    assert model.labels_.tolist() == [0] * 4 + [1] * 4
    contrary = {0: [[10.0, 90.0], [90.0, 10.0]]}
    model = DawidSkene.as_published(annotator_prior=contrary).fit(answers)
    assert model.labels_.tolist() == [1] * 4 + [0] * 4


def test_it_warns_when_it_did_not_converge():
    with pytest.warns(UserWarning, match="not converged after 2 iterations"):
        DawidSkene.as_published(max_iter=2).fit(contract.crowd())


def test_the_anesthetists_of_1979_have_their_class_counts(data_folder):
    path = data_folder / "label-only" / "anesthesia" / "anesthesia.csv"
    if not path.exists():
        pytest.skip("no anesthesia among the data")
    model = DawidSkene.as_published().fit(pd.read_csv(path))
    counts = pd.Series(model.labels_).value_counts().sort_index()
    assert counts.tolist() == [18, 19, 5, 3]


def test_gold_of_one_class_leaves_the_others_possible():
    answers = Annotations.from_matrix([[0, 1], [1, 1], [0, 0]])
    model = DawidSkene.as_published().fit(answers, gold={0: 0, 1: 0, 2: 0})
    proba = model.predict_proba(answers)  # no logarithm of zero
    assert ((proba > 0) & (proba < 1)).all()
