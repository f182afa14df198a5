"""Two roads to one answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import contract
import wisecrowd as wc
from wisecrowd.maths import crowd

seeds = st.integers(0, 10**6)
AGGREGATORS = {
    "MajorityVote": lambda: wc.MajorityVote(ties="first"),
    "DawidSkene": lambda: wc.DawidSkene(max_iter=30, tol=None),
    # A learned dependence is found by simulation, and not to the last digit.
    "BCC": lambda: wc.BCC(max_iter=30, tol=None, dependence=0.1),
    "GLAD": lambda: wc.GLAD(max_iter=10, tol=None),
}


@pytest.fixture(params=AGGREGATORS)
def make(request):
    return AGGREGATORS[request.param]


@given(seeds, st.floats(0.4, 0.99))
def test_dawid_skene_with_equal_one_coin_annotators_is_majority_vote(seed, skill):
    answers = contract.crowd(seed)
    one_coin = np.full((4, 3, 3), (1 - skill) / 2)
    one_coin[:, range(3), range(3)] = skill
    evidence = crowd.evidence_per_item(answers.codes, np.log(one_coin))
    proba, _ = crowd.posterior(evidence)
    votes = answers.counts()
    clear = (votes == votes.max(1, keepdims=True)).sum(1) == 1
    assert clear.any()
    assert_array_equal(proba[clear].argmax(1), votes[clear].argmax(1))
    tied = ~clear & (votes.sum(1) > 0)
    for row, vote in zip(proba[tied], votes[tied], strict=True):
        best = vote == vote.max()
        assert_allclose(row[best], row.max(), rtol=1e-9)


def test_dawid_skenes_loop_with_a_strong_one_coin_prior_is_majority_vote():
    answers = contract.crowd(3, n_items=200)
    prior = np.full((3, 3), 0.1e9)
    np.fill_diagonal(prior, 0.8e9)
    model = wc.DawidSkene(annotator_prior=prior, max_iter=1, tol=None).fit(answers)
    votes = answers.counts()
    best = np.sort(votes, axis=1)
    clear = best[:, -1] - best[:, -2] >= 2  # the class frequencies move a lead of one
    want = answers.classes[votes.argmax(1)]
    assert_array_equal(model.labels_[clear], want[clear])


@pytest.mark.parametrize("seed", [0, 1])
def test_a_matrix_a_long_table_and_triples_give_one_fit(make, seed):
    answers = contract.crowd(seed)
    matrix = answers.to_matrix()
    frame = answers.to_frame()
    want = make().fit(answers).label_proba_
    got = [
        make().fit(matrix).label_proba_,
        make().fit(frame).label_proba_,
        make().fit(wc.Annotations.from_triples(*frame.to_numpy().T)).label_proba_,
    ]
    for proba in got:
        assert_allclose(proba, want, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_shuffled_rows_change_nothing(make, seed):
    answers = contract.crowd(seed)
    frame = answers.to_frame().sample(frac=1, random_state=seed)
    want, got = make().fit(answers), make().fit(frame)
    assert_array_equal(got.label_proba_, want.label_proba_)
    assert_array_equal(got.confusion_, want.confusion_)


FEW_STEPS = {"max_epochs": 2, "random_state": 0}
CLASSIFIERS = {
    "yan": wc.Yan(max_iter=5, tol=None),
    "raykar": wc.Raykar(max_iter=5, tol=None),
    "crowd-em": wc.CrowdEM(n_folds=2),
    "svgpcr": wc.SVGPCR(n_inducing=5, batch_size=20, **FEW_STEPS),
    "aggnet": wc.AggNet(**FEW_STEPS),
    "crowd-layer": wc.CrowdLayer(**FEW_STEPS),
    "conal": wc.CoNAL(**FEW_STEPS),
}
LONG = ("svgpcr", "aggnet", "crowd-layer", "conal")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in CLASSIFIERS],
)
@pytest.mark.filterwarnings("ignore:not converged", "ignore:The fit was stopped")
def test_shuffled_rows_change_no_classifier(name):
    drawn = wc.simulate(40, 6, 2, answers_per_item=3, n_features=2, random_state=0)
    frame, items = drawn.answers.to_frame(), np.arange(40)
    rows, order = frame.sample(frac=1, random_state=1), items[::-1]
    want = clone(CLASSIFIERS[name]).fit(drawn.X, frame, items=items)
    got = clone(CLASSIFIERS[name]).fit(drawn.X[order], rows, items=order)
    assert_array_equal(got.label_proba_, want.label_proba_[order])
    assert_array_equal(got.predict_proba(drawn.X), want.predict_proba(drawn.X))


@pytest.mark.parametrize("seed", [0, 1])
def test_classes_in_another_order_give_permuted_answers(make, seed):
    if make().__class__ is wc.MajorityVote:
        make = wc.MajorityVote  # random ties have the order of the classes
    answers = contract.crowd(seed)
    order = ["owl", "cat", "dog"]
    turned = answers.recoded(classes=order, answers=order)
    where = [list(answers.classes).index(name) for name in order]
    want, got = make().fit(answers), make().fit(turned)
    assert_allclose(got.label_proba_, want.label_proba_[:, where], atol=1e-6)
    permuted = want.confusion_[:, where][:, :, where]
    assert_allclose(got.confusion_, permuted, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_annotators_in_another_order_give_permuted_skills(make, seed):
    answers = contract.crowd(seed)
    people = ["dee", "ann", "cy", "bob"]
    turned = answers.subset(annotators=people)
    where = [list(answers.annotators).index(name) for name in people]
    want, got = make().fit(answers), make().fit(turned)
    assert_allclose(got.label_proba_, want.label_proba_, atol=1e-6)
    assert_allclose(got.confusion_, want.confusion_[where], atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_items_in_another_order_give_permuted_labels(make, seed):
    answers = contract.crowd(seed)
    order = np.random.default_rng(seed).permutation(len(answers.items))
    turned = answers.subset(items=answers.items[order])
    want, got = make().fit(answers), make().fit(turned)
    assert_allclose(got.label_proba_, want.label_proba_[order], atol=1e-6)


def test_bcc_with_a_huge_crowd_of_answers_is_dawid_skene():
    answers = contract.crowd(0, n_items=3000)
    bcc = wc.BCC(annotator_prior="diagonal").fit(answers)
    ds = wc.DawidSkene().fit(answers)
    assert np.abs(bcc.confusion_ - ds.confusion_).max() < 0.02
    assert (bcc.labels_ == ds.labels_).mean() > 0.99


def test_answers_of_the_training_items_give_the_training_labels_again():
    answers = contract.crowd(0, n_items=300)
    model = wc.BCC().fit(answers)
    assert (model.predict(answers) == model.labels_).mean() > 0.98
