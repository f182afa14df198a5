"""GPEP's loop; its EP is tested in tests/maths/test_expectation_propagation.py."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

import contract
import oracles
from wisecrowd import GPEP, Annotations, InputError, Raykar
from wisecrowd.fit.em import SMOOTHING
from wisecrowd.methods import gpep

N, A, K = 8, 3, 3


def drawn(seed):
    """A small crowd with an answer that is no class, and an item without answers."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, [N - 1, A, K], (19, 3)).T
    names = {"items": range(N), "annotators": range(A), "classes": range(2)}
    answers = Annotations.from_triples(*rows, **names, answers=range(K))
    return rng.normal(size=(N, 2)), answers


def rings(seed, n_items, rates=((0.9, 0.8), (0.7, 0.85), (0.6, 0.75))):
    """A disc in a ring, and annotators of whom these are (sensitivity, specificity)."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_items)
    angle = rng.uniform(0, 2 * np.pi, n_items)
    radius = truth + 0.25 * rng.normal(size=n_items)
    X = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    chance = np.array(rates).T[1 - truth]
    right = rng.random((n_items, len(rates))) < chance
    return X, np.where(right, truth[:, None], 1 - truth[:, None]), truth


def naive_covariance(variance, scale, X, Y):
    out = np.zeros((len(X), len(Y)))
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            out[i, j] = variance * np.exp(-((x - y) ** 2).sum() / (2 * scale**2))
    return out


# -- against oracles -----------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_the_evidence_and_the_labels_are_those_of_the_oracle(seed):
    X, answers = drawn(seed)
    prior = np.random.default_rng(seed).uniform(1, 3, (2, K))
    settings = {"annotator_prior": prior, "scaling": "none", "tol": None}
    gold = {2: 1}
    before = GPEP.as_published(**settings, max_iter=2).fit(X, answers, gold=gold)
    model = GPEP.as_published(**settings, max_iter=3).fit(X, answers, gold=gold)
    codes = answers.codes
    rows = codes.item, codes.annotator, codes.answer
    held = prior + SMOOTHING
    confusion = oracles.soft_counts(before.label_proba_, *rows, (A, 2, K)) + held - 1
    confusion /= confusion.sum(-1, keepdims=True)
    like = oracles.evidence_per_item(np.log(confusion), *rows, N)
    like[2, 0] = -np.inf
    told = np.flatnonzero(codes.n_per_item > 0)
    kernel = model.variance_, model.length_scale_
    C = naive_covariance(*kernel, X[told], X[told])

    def moments(i, mean, variance):
        return oracles.tilted_by_grid(mean, variance, like[told[i]])

    (precision, shift), (mean, Sigma) = oracles.sequential_ep(C, moments, 12)
    evidence = oracles.ep_evidence(C, precision, shift, moments)
    bound = evidence + ((held - 1) * np.log(confusion)).sum()
    assert_allclose(model.trace_["bound"].iloc[-1], bound, rtol=1e-6)
    for i, n in enumerate(told):
        tau = 1 / Sigma[i, i] - precision[i]
        cavity = (mean[i] / Sigma[i, i] - shift[i]) / tau, 1 / tau
        one = moments(i, *cavity)[3]
        assert_allclose(model.label_proba_[n, 1], one, atol=1e-4)
    assert model.label_proba_[2, 1] == 1
    # An item without answers is predicted as a new one.
    rest = np.setdiff1d(np.arange(N), told)
    assert len(rest)
    assert_allclose(model.label_proba_[rest], model.predict_proba(X[rest]), rtol=1e-9)


def test_with_one_perfect_annotator_it_is_the_textbooks_classifier():
    X, _, truth = rings(0, 25)
    right = np.eye(2) * 1e11 + 1
    model = GPEP.as_published(annotator_prior=right, scaling="none").fit(
        X[:20], truth[:20]
    )
    kernel = model.variance_, model.length_scale_
    C = naive_covariance(*kernel, X[:20], X[:20])
    y = 2 * truth[:20] - 1

    def moments(i, mean, variance):
        return oracles.tilted_by_probit(mean, variance, y[i])

    (precision, shift), _ = oracles.sequential_ep(C, moments, 30)
    evidence = oracles.ep_evidence(C, precision, shift, moments)
    assert_allclose(model.trace_["log_evidence"].iloc[-1], evidence, rtol=1e-6)
    across = naive_covariance(*kernel, X[:20], X[20:])
    inner = np.linalg.inv(C + np.diag(1 / precision))
    m = across.T @ inner @ (shift / precision)
    v = kernel[0] - np.diag(across.T @ inner @ across)
    want = norm.cdf(m / np.sqrt(1 + v))
    assert_allclose(model.predict_proba(X[20:])[:, 1], want, atol=1e-4)
    assert (model.labels_ == truth[:20]).all()


def test_the_kernel_is_where_the_evidence_is_highest():
    X, y, _ = rings(0, 80)
    model = GPEP.as_published(scaling="none", tol=1e-8).fit(X, y)
    found = model.learned_.classifier
    best = model.trace_["log_evidence"].iloc[-1]
    log_rows = np.log(model.confusion_)  # not quite the mode; near enough to compare
    codes = Annotations.from_matrix(y).codes
    like = oracles.evidence_per_item(
        log_rows, codes.item, codes.annotator, codes.answer, 80
    )
    sites = gpep.Sites(found.precision, found.shift)

    def evidence(variance, scale):
        kernel = gpep.SquaredExponential(variance, scale)
        return gpep.better_kernel(kernel, sites, X, like, 0).found.log_evidence

    here = evidence(found.log_variance, found.log_scale)
    assert_allclose(here, best, atol=0.2)
    for change in (0.4, -0.4):
        assert evidence(found.log_variance, found.log_scale + change) < here
        inside = min(found.log_variance + change, np.log(gpep.VARIANCES[1]))
        assert evidence(inside, found.log_scale) < here + 0.02


# -- crowds --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_evidence_does_not_fall(seed):
    X, y, _ = rings(seed, 60)
    model = GPEP.as_published(tol=None, max_iter=8).fit(X, y)
    assert (np.diff(model.trace_["bound"]) > -1e-3).all()


def test_rings_are_learned_where_a_line_cannot():
    X, y, truth = rings(1, 150)
    model, line = (
        GPEP.as_published().fit(X[:100], y[:100]),
        Raykar().fit(X[:100], y[:100]),
    )
    assert (model.predict(X[100:]) == truth[100:]).mean() > 0.9
    assert (line.predict(X[100:]) == truth[100:]).mean() < 0.8
    assert (model.labels_ == truth[:100]).mean() >= 0.9


def test_an_adversary_helps_and_a_spammer_does_not_hurt():
    rates = ((0.8, 0.8), (0.8, 0.8), (0.75, 0.8), (0.1, 0.1), (0.5, 0.5))
    X, y, truth = rings(2, 150, rates)
    model = GPEP.as_published().fit(X, y)
    assert np.isfinite(model.trace_.to_numpy()).all()
    assert (model.labels_ == truth).mean() > 0.93
    assert model.sensitivity_[3] < 0.25
    assert model.specificity_[3] < 0.25
    assert_allclose(model.sensitivity_[4] + model.specificity_[4], 1.0, atol=0.2)
    assert (model.learned_.classifier.precision < 0).any()
    summary = model.annotator_summary()
    assert summary["adversarial"].idxmax() == 3
    assert summary["spammer"].idxmax() == 4


def test_rates_are_rows_of_the_confusion_matrices_with_flat_priors():
    X, y, _ = rings(0, 60)
    model = GPEP.as_published().fit(X, y)
    assert_allclose(model.annotator_prior_, np.ones((1, 2, 2)))
    counts = model.confusion_counts_
    assert_allclose(model.sensitivity_, counts[:, 1, 1] / counts[:, 1].sum(1))
    assert_allclose(model.specificity_, counts[:, 0, 0] / counts[:, 0].sum(1))
    low, high = model.confusion_interval(0.9)
    assert (low[:, 1, 1] < model.sensitivity_).all()
    assert (high[:, 1, 1] > model.sensitivity_).all()


def test_where_ep_does_not_converge_the_variance_becomes_smaller(monkeypatch):
    X, y, _ = rings(3, 40)
    given = {"scaling": "none", "max_iter": 1, "tol": None}
    free = GPEP.as_published(**given).fit(X, y).variance_
    assert free > 1.5
    whole = gpep.ep.propagated

    def failing_above_one(covariance, *args, **settings):
        found = whole(covariance, *args, **settings)
        return found._replace(converged=bool(covariance[0, 0] < 1.5))

    monkeypatch.setattr(gpep.ep, "propagated", failing_above_one)
    assert GPEP.as_published(**given).fit(X, y).variance_ < 1.5


def test_an_ep_that_does_not_converge_is_said_to_be_one(monkeypatch):
    X, y, truth = rings(3, 40)
    monkeypatch.setattr(gpep, "MAX_SWEEPS", 1)
    with pytest.warns(ConvergenceWarning, match="expectation propagation has not"):
        model = GPEP.as_published(max_iter=2, tol=None).fit(X, y)
    assert (model.labels_ == truth).mean() > 0.7


def test_more_than_two_classes_are_refused_with_methods_that_take_them():
    answers = contract.crowd()
    with pytest.raises(InputError, match=r"two classes, .* 3\. .*SVGPCR, Raykar"):
        GPEP.as_published().fit(
            contract.features(answers), answers, items=answers.items
        )


@pytest.mark.slow
def test_sensitivity_and_specificity_come_back():
    rates = ((0.9, 0.6), (0.6, 0.9), (0.8, 0.8), (0.55, 0.5), (0.7, 0.75))
    errors = []
    for seed in range(5):
        X, y, truth = rings(seed, 800, rates)
        y[np.random.default_rng(seed).random(y.shape) < 0.3] = -1
        model = GPEP.as_published().fit(X, y)
        assert (model.labels_ == truth).mean() > 0.95
        for c, found in enumerate((model.specificity_, model.sensitivity_)):
            given = [column[(truth == c) & (column >= 0)] for column in y.T]
            drawn = [(answers == c).mean() for answers in given]
            assert_allclose(found, drawn, atol=0.05)
            errors.append(found - np.array(rates)[:, 1 - c])
    assert np.abs(np.mean(errors)) < 0.02
    assert np.sqrt(np.mean(np.square(errors))) < 0.04  # 280 answers: .03 by chance
