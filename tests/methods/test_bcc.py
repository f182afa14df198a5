import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import contract
import oracles
from wisecrowd import BCC, Annotations, InputError, metrics
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dependence, dirichlet, pairs

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
    model = BCC(annotator_prior="diagonal", max_iter=1, tol=None).fit(
        answers, gold=gold
    )
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
        model = BCC(annotator_prior="diagonal").fit(contract.crowd(n_items=n_items))
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


def together(seed, correlation, n_items=600):
    """Annotators who err together, as in tests/maths/test_dependence.py."""
    rng = np.random.RandomState(seed)
    confusion = np.full((20, 3, 3), 0.15) + 0.55 * np.eye(3)
    who = np.argsort(rng.random_sample((n_items, 20)), axis=1)[:, :8].ravel()
    item, truth = np.repeat(np.arange(n_items), 8), rng.randint(3, size=n_items)
    asked = Answers.from_codes(item, who, 0 * who, (n_items, 20, 3, 3))
    said = dependence.simulated_answers(asked, confusion, truth, correlation, rng)
    triples = asked.item, asked.annotator, said
    return Annotations.from_triples(
        *triples,
        items=range(n_items),
        annotators=range(20),
        classes=range(3),
        answers=range(3),
    ), truth


@pytest.mark.parametrize("seed", range(2))
# Of a strong dependence most is hidden: a crowd that errs as one looks right.
@pytest.mark.parametrize(("correlation", "seen"), [(0.1, 0.1), (0.4, 0.07)])
def test_a_crowd_that_errs_together_counts_less(seed, correlation, seen):
    answers, truth = together(seed, correlation)
    textbook, model = BCC(dependence=None).fit(answers), BCC().fit(answers)
    assert textbook.dependence_ == 0
    assert model.dependence_ == pytest.approx(seen, abs=0.04)
    assert (model.labels_ == textbook.labels_).mean() > 0.98
    worse, better = (metrics.log_loss(truth, m.label_proba_) for m in (textbook, model))
    assert better < 0.8 * worse
    # New items are labelled in the same way.
    again = metrics.log_loss(truth, model.predict_proba(answers))
    assert again == pytest.approx(better, rel=0.15)


def test_independent_annotators_count_in_full():
    answers, _ = together(0, correlation=0.0)
    assert BCC().fit(answers).dependence_ < 0.03


def test_a_given_dependence_is_kept_and_a_wrong_one_refused():
    answers = contract.crowd(n_items=30)
    model = BCC(dependence=0.2).fit(answers)
    assert model.dependence_ == 0.2
    assert model.set_params(dependence=None).fit(answers).dependence_ == 0
    for wrong in (-0.1, 1.5, "much"):
        with pytest.raises(InputError, match="dependence="):
            BCC(dependence=wrong).fit(answers)


@pytest.mark.filterwarnings("ignore:.*new:UserWarning")
def test_strangers_who_agree_are_two():
    model = BCC(dependence=0.5).fit(contract.crowd(n_items=30))
    answers = [["x", "x"], ["new", "newer"], ["dog", "dog"]]
    asked = Annotations.from_triples(*answers, classes=["cat", "dog", "owl"])
    new = dirichlet.mean(model.annotator_prior_.mean(0))[:, 1]
    share = model.learned_.skills.hard_share
    weight = oracles.answer_weight([0, 0], 1, 0.5)
    given, log_class = np.array([new, new]), np.log(model.class_prior_)[None]
    want, _, _ = oracles.with_decoys(
        given, [0, 0], [1, 1], weight, weight * log_class, share, 0.5
    )
    assert_allclose(model.predict_proba(asked)[0], want[0], rtol=1e-9)
