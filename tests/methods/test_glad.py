import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import contract
import oracles
from wisecrowd import GLAD, Annotations, InputError
from wisecrowd.methods import glad

seeds = st.integers(0, 10**6)
N, A, C = 7, 5, 3


def drawn(seed):
    """Answers, parameters and q(Z)."""
    made = oracles.drawn_crowd(seed, n_answers=C)
    answers = glad.Answers(*(made[name] for name in ("item", "annotator", "label")))
    rng = np.random.default_rng(seed)
    params = glad.Params(rng.normal(1, 1, A), rng.normal(0, 0.7, N))
    return answers, params, rng.dirichlet(np.ones(C), N)


def annotations(answers, **options):
    return Annotations.from_triples(
        *answers, items=range(N), annotators=range(A), classes=range(C), **options
    )


@given(seeds)
def test_evidence_agrees_with_loops(seed):
    answers, params, _ = drawn(seed)
    got = glad.evidence_per_item(glad.logits(params, answers), answers, (N, C))
    assert_allclose(got, oracles.glad_evidence(*params, *answers, (N, C)), rtol=1e-9)


@given(seeds)
def test_expected_log_joint_agrees_with_loops_up_to_a_constant(seed):
    answers, params, proba = drawn(seed)
    right = proba[answers.item, answers.label]
    spread = glad.Spread(0.8, 1.3)
    constant = -((1 - right) * np.log(C - 1)).sum()
    got, _ = glad.expected_log_joint(params, right, answers, spread)
    want = oracles.glad_expected_log_joint(*params, answers, proba, spread)
    assert_allclose(got + constant, want, rtol=1e-9)


@given(seeds)
def test_gradient_is_that_of_central_differences(seed):
    answers, params, proba = drawn(seed)
    right, spread = proba[answers.item, answers.label], glad.Spread(0.8, 1.3)
    flat, h = np.concatenate(params), 1e-5

    def value(x):
        return glad.expected_log_joint(
            glad.Params(x[:A], x[A:]), right, answers, spread
        )[0]

    steps = h * np.eye(A + N)
    slopes = [(value(flat + e) - value(flat - e)) / (2 * h) for e in steps]
    _, got = glad.expected_log_joint(params, right, answers, spread)
    assert_allclose(np.concatenate(got), slopes, rtol=1e-5, atol=1e-6)


@given(seeds)
def test_curvature_is_the_expected_one_where_the_model_is_right(seed):
    answers, params, _ = drawn(seed)
    right = 1 / (1 + np.exp(-glad.logits(params, answers)))  # then q − σ(x) is zero
    spread, h = glad.Spread(0.8, 1.3), 1e-5
    got = np.concatenate(glad.curvature(params, answers, spread))
    flat = np.concatenate(params)
    for i in range(A + N):
        ends = [flat.copy(), flat.copy()]
        ends[0][i] += h
        ends[1][i] -= h
        up, down = (
            np.concatenate(
                glad.expected_log_joint(
                    glad.Params(x[:A], x[A:]), right, answers, spread
                )[1]
            )[i]
            for x in ends
        )
        # the prior's slope is not zero, but its curvature is in both
        assert_allclose(got[i], -(up - down) / (2 * h), rtol=1e-4)


@given(seeds)
def test_better_params_are_better(seed):
    answers, params, proba = drawn(seed)
    right, spread = proba[answers.item, answers.label], glad.Spread(1.0, 1.0)
    better = glad.better_params(params, right, answers, spread)
    before, _ = glad.expected_log_joint(params, right, answers, spread)
    after, _ = glad.expected_log_joint(better, right, answers, spread)
    assert after >= before


@pytest.mark.parametrize("class_prior", ["uniform", "learned"])
@given(seed=seeds)
def test_the_log_posterior_never_falls(class_prior, seed):
    answers = annotations(drawn(seed)[0])
    model = GLAD(class_prior=class_prior, max_iter=15, tol=None).fit(answers)
    bound = model.trace_["bound"].to_numpy()
    assert (np.diff(bound) >= -1e-9 * np.abs(bound[1:])).all()


@given(seeds)
def test_the_bound_is_the_log_posterior_at_the_parameters_found(seed):
    answers, _, _ = drawn(seed)
    model = GLAD(max_iter=4, tol=None).fit(annotations(answers))
    log_easiness = np.log(model.easiness_)
    evidence = oracles.glad_evidence(model.ability_, log_easiness, *answers, (N, C))
    proba, total = oracles.normalised(evidence - np.log(C))
    prior = -0.5 * (((model.ability_ - 1) ** 2).sum() + (log_easiness**2).sum())
    prior -= glad.SMOOTHING * C * np.log(C)
    assert_allclose(model.trace_["bound"].iloc[-1], total.sum() + prior, rtol=1e-9)
    assert_allclose(model.label_proba_, proba, atol=1e-9)


def test_the_end_is_stationary():
    answers, _, _ = drawn(1)
    model = GLAD(max_iter=200, tol=None).fit(annotations(answers))
    params = glad.Params(model.ability_, np.log(model.easiness_))
    right = model.label_proba_[answers.item, answers.label]
    _, slope = glad.expected_log_joint(params, right, answers, glad.Spread(1.0, 1.0))
    assert_allclose(np.concatenate(slope), 0.0, atol=1e-3)


def test_nothing_overflows_at_wild_parameters():
    answers, _, proba = drawn(2)
    wild = glad.Params(np.full(A, -1e3), np.full(N, 1e3))
    right = proba[answers.item, answers.label]
    value, slope = glad.expected_log_joint(wild, right, answers, glad.Spread(1.0, 1.0))
    evidence = glad.evidence_per_item(glad.logits(wild, answers), answers, (N, C))
    assert np.isfinite(value)
    assert np.isfinite(np.concatenate(slope)).all()
    assert np.isfinite(evidence).all()


def test_ability_and_easiness_come_back():
    rng = np.random.default_rng(0)
    n_items, n_annotators = 400, 40
    ability, easiness = rng.normal(1, 0.8, n_annotators), rng.normal(0, 0.8, n_items)
    truth = rng.integers(0, 3, n_items)
    right = 1 / (1 + np.exp(-ability * np.exp(easiness)[:, None]))
    other = (truth[:, None] + rng.integers(1, 3, right.shape)) % 3
    hit = rng.random(right.shape) < right
    model = GLAD().fit(np.where(hit, truth[:, None], other))
    assert np.corrcoef(model.ability_, ability)[0, 1] > 0.95
    assert np.corrcoef(np.log(model.easiness_), easiness)[0, 1] > 0.7
    assert (model.labels_ == truth).mean() > 0.95


def test_answers_that_are_not_classes_are_left_out_with_a_warning():
    answers = contract.crowd()
    frame = answers.to_frame()
    more = frame.iloc[:5].assign(answer="?")
    options = {"classes": ["cat", "dog", "owl"], "answers": ["?"]}
    wider = answers.merge(Annotations.from_frame(more, **options))
    wider = Annotations.from_frame(wider.to_frame(), **options)
    with pytest.warns(UserWarning, match=r"^5 of \d+ answers do not name a class"):
        model = GLAD().fit(wider)
    assert_allclose(model.label_proba_, GLAD().fit(answers).label_proba_, atol=1e-9)
    assert_allclose((model.confusion_counts_ - 1)[:, :, 3].sum(), 5.0)


def test_new_items_have_average_easiness_and_new_annotators_average_ability():
    model = GLAD().fit(contract.crowd())
    asked = Annotations.from_triples(
        ["x", "y"], ["ann", "eve"], ["dog", "dog"], classes=["cat", "dog", "owl"]
    )
    got = model.predict_proba(asked)
    easiness = np.exp(np.log(model.easiness_).mean())
    for row, ability in zip(got, (model.ability_[0], 1.0), strict=True):
        right = 1 / (1 + np.exp(-ability * easiness))
        wrong = (1 - right) / 2
        assert_allclose(row, [wrong, right, wrong], rtol=1e-9)


def test_an_unknown_class_prior_is_refused():
    with pytest.raises(InputError, match="class_prior='flat'"):
        GLAD().set_params(class_prior="flat").fit(contract.crowd())


def test_a_spread_of_zero_is_refused():
    with pytest.raises(InputError, match=r"ability_spread=0.0 .* above 0"):
        GLAD(ability_spread=0.0).fit(contract.crowd())
