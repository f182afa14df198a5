"""GLAD's loop; its formulas are tested in tests/maths/test_ability.py."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import contract
import oracles
from wisecrowd import GLAD, Annotations, InputError
from wisecrowd.maths.ability import Params, Spread, expected_log_joint
from wisecrowd.methods import glad

seeds = st.integers(0, 10**6)
N, A, C = 7, 5, 3


def drawn(seed):
    """A crowd of which every answer is a class."""
    made = oracles.drawn_crowd(seed, n_answers=C)
    rows = [made[name] for name in ("item", "annotator", "label")]
    names = {"items": range(N), "annotators": range(A), "classes": range(C)}
    return Annotations.from_triples(*rows, **names)


@given(seeds)
def test_better_params_are_better(seed):
    answers, spread = drawn(seed).codes, Spread(1.0, 1.0)
    rng = np.random.default_rng(seed)
    params = Params(rng.normal(1, 1, A), rng.normal(0, 0.7, N))
    right = answers.right_proba(rng.dirichlet(np.ones(C), N))
    better = glad.better_params(params, right, answers, spread)
    before, _ = expected_log_joint(params, right, answers, spread)
    after, _ = expected_log_joint(better, right, answers, spread)
    assert after >= before


@pytest.mark.parametrize("class_prior", ["uniform", "learned"])
@given(seed=seeds)
def test_the_log_posterior_never_falls(class_prior, seed):
    model = GLAD.as_published(class_prior=class_prior, max_iter=8, tol=None).fit(
        drawn(seed)
    )
    bound = model.trace_["bound"].to_numpy()
    assert (np.diff(bound) >= -1e-9 * np.abs(bound[1:])).all()


@given(seeds)
def test_the_bound_is_the_log_posterior_at_the_parameters_found(seed):
    answers = drawn(seed)
    model = GLAD.as_published(max_iter=4, tol=None).fit(answers)
    log_easiness = np.log(model.easiness_)
    rows = answers.item, answers.annotator, answers.answer
    evidence = oracles.glad_evidence(model.ability_, log_easiness, *rows, (N, C))
    proba, total = oracles.normalised(evidence - np.log(C))
    prior = -0.5 * (((model.ability_ - 1) ** 2).sum() + (log_easiness**2).sum())
    prior -= glad.SMOOTHING * C * np.log(C)
    assert_allclose(model.trace_["bound"].iloc[-1], total.sum() + prior, rtol=1e-9)
    assert_allclose(model.label_proba_, proba, atol=1e-9)


def test_the_end_is_stationary():
    answers = drawn(1)
    model = GLAD.as_published(max_iter=200, tol=None).fit(answers)
    params = Params(model.ability_, np.log(model.easiness_))
    right = answers.codes.right_proba(model.label_proba_)
    _, slope = expected_log_joint(params, right, answers.codes, Spread(1.0, 1.0))
    assert_allclose(np.concatenate(slope), 0.0, atol=1e-3)


def test_ability_and_easiness_come_back():
    rng = np.random.default_rng(0)
    n_items, n_annotators = 400, 40
    ability, easiness = rng.normal(1, 0.8, n_annotators), rng.normal(0, 0.8, n_items)
    truth = rng.integers(0, 3, n_items)
    right = 1 / (1 + np.exp(-ability * np.exp(easiness)[:, None]))
    other = (truth[:, None] + rng.integers(1, 3, right.shape)) % 3
    hit = rng.random(right.shape) < right
    model = GLAD.as_published().fit(np.where(hit, truth[:, None], other))
    assert np.corrcoef(model.ability_, ability)[0, 1] > 0.95
    assert np.corrcoef(np.log(model.easiness_), easiness)[0, 1] > 0.7
    assert (model.labels_ == truth).mean() > 0.95
    # The intervals are those of the curvature: nine in ten hold the truth.
    skills = model.learned_.skills
    low, high = (skills.mean + side * 1.645 * skills.spread for side in (-1, 1))
    inside = ((low < ability) & (ability < high)).mean()
    assert 0.75 < inside <= 1.0  # 40 annotators: three standard errors are .14


def test_answers_that_are_not_classes_are_left_out_with_a_warning():
    answers = contract.crowd()
    more = answers.to_frame().iloc[:5].assign(answer="?")
    options = {"classes": ["cat", "dog", "owl"], "answers": ["?"]}
    wider = answers.merge(Annotations.from_frame(more, **options))
    wider = Annotations.from_frame(wider.to_frame(), **options)
    with pytest.warns(UserWarning, match=r"^5 of \d+ answers do not name a class"):
        model = GLAD.as_published().fit(wider)
    alone = GLAD.as_published().fit(answers)
    assert_allclose(model.label_proba_, alone.label_proba_, atol=1e-9)
    assert_allclose(model.ability_, alone.ability_, atol=1e-9)
    assert model.confusion_.shape == (4, 3, 4)
    assert_allclose(model.confusion_[:, :, 3], 0.0)  # the model knows no such answer


def test_confusion_is_that_of_the_ability_on_a_typical_item():
    model = GLAD.as_published().fit(contract.crowd())
    easiness = np.exp(np.log(model.easiness_).mean())
    for a, ability in enumerate(model.ability_):
        right = 1 / (1 + np.exp(-ability * easiness))
        want = np.full((3, 3), (1 - right) / 2)
        np.fill_diagonal(want, right)
        assert_allclose(model.confusion_[a], want, rtol=1e-9)
    summary = model.annotator_summary()
    assert_allclose(summary["accuracy"], model.confusion_[:, 0, 0], rtol=1e-9)


def test_new_items_have_average_easiness_and_new_annotators_average_ability():
    model = GLAD.as_published().fit(contract.crowd())
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
        GLAD.as_published().set_params(class_prior="flat").fit(contract.crowd())


@pytest.mark.parametrize("spread", [0, 0.0, -1])
def test_a_spread_that_is_none_is_refused(spread):
    with pytest.raises(InputError, match=rf"ability_spread={spread} .* above 0"):
        GLAD.as_published(ability_spread=spread).fit(contract.crowd())
