import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import contract
import oracles
from wisecrowd import BCC, Annotations, InputError
from wisecrowd.maths import crowd, pairs

seeds = st.integers(0, 10**6)
PRIORS = ("learned", "flat", "diagonal")


def drawn(seed, n_items=7, **sizes):
    made = oracles.drawn_crowd(seed, n_items=n_items, **sizes)
    codes = [made[name] for name in ("item", "annotator", "label")]
    shape = made["confusion"].shape
    answers = Annotations.from_triples(
        *codes,
        items=range(n_items),
        annotators=range(shape[0]),
        classes=range(shape[1]),
        answers=range(shape[2]),
    )
    return answers, codes, shape


@pytest.mark.parametrize("prior", PRIORS)
@given(seed=seeds)
def test_the_bound_never_falls(prior, seed):
    answers, _, _ = drawn(seed)
    settings = {"dependence": None, "max_iter": 20, "tol": None}  # the loop alone
    model = BCC(annotator_prior=prior, **settings).fit(answers)
    bound = model.trace_["bound"].to_numpy()
    assert (np.diff(bound) >= -1e-9 * np.abs(bound[1:])).all()


def test_a_step_of_newton_that_goes_too_far_is_taken_back(monkeypatch):
    answers = contract.crowd(n_items=60)
    want = BCC(dependence=None, tol=1e-12).fit(answers)
    monkeypatch.setattr(pairs, "after_newton", lambda n, prior, hyper: 50 * prior)
    model = BCC(dependence=None, tol=1e-12).fit(answers)
    assert (np.diff(model.trace_["bound"]) > -1e-9).all()
    assert_allclose(model.label_proba_, want.label_proba_, atol=1e-4)


def test_many_people_with_one_answer_each_need_few_iterations():
    rng = np.random.default_rng(0)
    truth = rng.integers(5, size=500)
    item = np.repeat(np.arange(500), 4)
    right = rng.random(2000) < 0.75
    said = np.where(right, truth[item], rng.integers(5, size=2000))
    answers = Annotations.from_triples(item, np.arange(2000), said)
    model = BCC().fit(answers)
    assert len(model.trace_) < 25  # 37 with Minka's steps alone
    assert (model.labels_ == truth).mean() > 0.9
    # The prior is at its best: there Minka's steps do not move it either.
    model = BCC(dependence=None, tol=1e-13).fit(answers)
    counts = crowd.soft_counts(answers.codes, model.label_proba_)
    prior, hyper = model.annotator_prior_, crowd.prior_hyper(5, 5)
    assert_allclose(crowd.updated_prior(counts, prior, hyper), prior, rtol=1e-4)


@pytest.mark.parametrize("prior", PRIORS)
@given(seed=seeds)
def test_the_bound_never_exceeds_the_evidence(prior, seed):
    small = {"n_annotators": 4, "n_classes": 2, "n_answers": 3, "n": 12}
    answers, codes, shape = drawn(seed, n_items=5, **small)
    settings = {"dependence": None, "max_iter": 20, "tol": None}
    model = BCC(annotator_prior=prior, **settings).fit(answers)
    each = np.broadcast_to(model.annotator_prior_, shape)
    exact = oracles.bcc_log_evidence(*codes, each, 5, 10.0)
    if prior == "learned":
        hyper = crowd.prior_hyper(*shape[1:])
        exact += crowd.log_hyperprior(model.annotator_prior_, hyper)
    assert model.trace_["bound"].iloc[-1] <= exact + 1e-9


def test_the_bound_is_the_evidence_where_all_classes_are_known():
    answers, codes, shape = drawn(3)
    gold = dict(enumerate([0, 1, 0, 1, 1, 0, 2]))
    model = BCC(annotator_prior="diagonal", dependence=0, max_iter=1, tol=None)
    model.fit(answers, gold=gold)
    want = oracles.polya_log_evidence([3, 3, 1], [10.0] * 3)
    proba = np.eye(3)[list(gold.values())]
    counts = oracles.soft_counts(proba, *codes, shape)
    for a in range(shape[0]):
        for c in range(shape[1]):
            prior = model.annotator_prior_[0, c]
            want += oracles.polya_log_evidence(counts[a, c], prior)
    assert_allclose(model.trace_["bound"][0], want, rtol=1e-10)


def test_a_learned_prior_has_a_higher_bound_than_the_one_it_starts_from():
    answers = contract.crowd(n_items=200)
    learned, fixed = (
        BCC(annotator_prior=p).fit(answers).trace_["bound"].iloc[-1]
        for p in ("learned", "diagonal")
    )
    hyper = crowd.prior_hyper(3, 3)
    start = crowd.diagonal_prior(3, 3, 4.0, 1.0)
    assert learned > fixed + crowd.log_hyperprior(start[None], hyper)


def test_intervals_shrink_with_answers_and_hold_the_mean():
    widths = []
    for n_items in (20, 200, 2000):
        model = BCC(annotator_prior="diagonal", dependence=0)
        model.fit(contract.crowd(n_items=n_items))
        low, high = model.confusion_interval(0.9)
        assert ((low < model.confusion_) & (model.confusion_ < high)).all()
        summary = model.annotator_summary(level=0.9)
        widths.append(float((summary["high"] - summary["low"]).mean()))
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_history_of_an_earlier_fit_is_taken_over():
    first, second = contract.crowd(0, n_items=300), contract.crowd(1, n_items=20)
    past = BCC(annotator_prior="diagonal").fit(first)
    history = dict(zip(past.annotators_, past.confusion_counts_, strict=True))
    model = BCC(annotator_prior=history).fit(second)
    array = BCC(annotator_prior=past.confusion_counts_).fit(second)
    assert_allclose(model.label_proba_, array.label_proba_)
    assert_allclose(model.annotator_prior_, past.confusion_counts_)
    assert (model.confusion_counts_.sum((1, 2)) > 200).all()


def test_a_given_dependence_is_kept_and_a_wrong_one_refused():
    answers = contract.crowd(n_items=30)
    model = BCC(dependence=0.2).fit(answers)
    assert model.dependence_ == 0.2
    assert model.set_params(dependence=None).fit(answers).dependence_ == 0
    for wrong in (-0.1, 1.5, "much"):
        with pytest.raises(InputError, match="dependence="):
            BCC(dependence=wrong).fit(answers)
