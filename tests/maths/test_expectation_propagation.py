"""EP against quadrature, sampling and the sequential algorithm of the textbook."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import LinAlgError
from scipy.stats import norm

import oracles
from wisecrowd.maths import expectation_propagation as ep
from wisecrowd.maths.expectation_propagation import Moments, Sites
from wisecrowd.maths.squared_exponential import (
    SquaredExponential,
    covariance,
    gradient,
)

seeds = st.integers(0, 10**6)
N = 9
TIGHT = {"tol": 1e-11, "max_sweeps": 1000}


def drawn(seed, n_items=N, strength=2.0):
    """Items with a covariance, and what their answers say about each class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 2))
    K = covariance(SquaredExponential(0.5, 0.0), X, X)
    log_likelihood = np.log(rng.uniform(0.05, 1, (n_items, 2))) * strength / 2
    log_likelihood[0] = -0.3  # an item whose answers cancel
    log_likelihood[1] = [-np.inf, -0.7]  # gold
    return K, log_likelihood


def contradicted(strength=1.5):
    """Items close together, of which one is said to be another class."""
    X = np.linspace(0, 3, N)[:, None]
    K = covariance(SquaredExponential(1.0, 0.0), X, X)
    log_likelihood = np.zeros((N, 2))
    log_likelihood[:, 1] = strength
    log_likelihood[4, 1] = -strength
    return K, log_likelihood


# -- one item ----------------------------------------------------------------------


@given(seeds)
@settings(max_examples=10)
def test_the_tilted_moments_are_those_of_quadrature(seed):
    _, log_likelihood = drawn(seed)
    rng = np.random.default_rng(seed)
    cavity = Moments(rng.normal(size=N) * 2, rng.uniform(0.1, 9, N))
    found = ep.tilted(cavity, log_likelihood)
    mean = cavity.mean + cavity.variance * found.slope
    variance = cavity.variance + cavity.variance**2 * found.curvature
    got = np.stack([found.log_norm, mean, variance, found.proba], 1)
    for n in range(N):
        m, v = cavity.mean[n], cavity.variance[n]
        want = oracles.tilted_by_grid(m, v, log_likelihood[n])
        assert_allclose(got[n], want, rtol=1e-6, atol=1e-9)


def test_the_tilted_distribution_mixes_the_cavity_and_the_probit():
    # l(f) = l0 + (l1 - l0) Phi(f), here with l1 > l0.
    m, v, less, more = 0.4, 2.5, 0.2, 0.7
    found = ep.tilted(Moments(np.array([m]), np.array([v])), np.log([[less, more]]))
    log_norm, first, second = oracles.tilted_by_probit(m, v, 1)
    weight = np.array([less, (more - less) * np.exp(log_norm)])
    assert_allclose(np.exp(found.log_norm), weight.sum())
    mean = weight @ [m, first] / weight.sum()
    variance = weight @ [v + m**2, second + first**2] / weight.sum() - mean**2
    assert_allclose(m + v * found.slope, mean)
    assert_allclose(v + v**2 * found.curvature, variance)


@given(seeds)
@settings(max_examples=10)
def test_a_matched_site_gives_the_cavity_the_tilted_moments(seed):
    _, log_likelihood = drawn(seed)
    rng = np.random.default_rng(seed)
    cavity = Moments(rng.normal(size=N), rng.uniform(0.1, 9, N))
    found = ep.tilted(cavity, log_likelihood)
    sites = ep.matched_sites(cavity, found)
    precision = 1 / cavity.variance + sites.precision
    variance = cavity.variance + cavity.variance**2 * found.curvature
    assert_allclose(1 / precision, variance)
    mean = (cavity.mean / cavity.variance + sites.shift) / precision
    assert_allclose(mean, cavity.mean + cavity.variance * found.slope, atol=1e-12)
    assert_allclose(sites.precision[0], 0.0, atol=1e-15)


def test_far_cavities_stay_finite():
    cavity = Moments(np.array([-60.0, 60.0, -60.0, 60.0]), np.ones(4))
    log_likelihood = np.array([[-np.inf, 0.0], [0.0, -np.inf], [-100, -1], [0, -800.0]])
    found = ep.tilted(cavity, log_likelihood)
    sites = ep.matched_sites(cavity, found)
    for values in (*found, *sites):
        assert np.isfinite(values).all()
    assert_allclose(found.proba, [1, 0, 0, 1], atol=1e-12)


# -- all items ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["positive", "mixed", "negative"])
def test_the_posterior_is_that_of_inverses(kind):
    K, _ = drawn(3)
    rng = np.random.default_rng(3)
    precision = rng.uniform(0.1, 2, N)
    if kind == "mixed":
        precision[[2, 5]] = [-0.08, -0.03]
        precision[[3, 4]] = [0.0, 1e-7]
    if kind == "negative":
        precision = -rng.uniform(0.001, 0.03, N)
    sites = Sites(precision, rng.normal(size=N))
    q = ep.posterior(K, sites)
    Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(precision))
    assert_allclose(q.marginal.mean, Sigma @ sites.shift, rtol=1e-8)
    assert_allclose(q.marginal.variance, np.diag(Sigma), rtol=1e-8)
    want = np.linalg.slogdet(np.eye(N) + K @ np.diag(precision))
    assert want[0] == 1
    assert_allclose(q.log_det, want[1], rtol=1e-9)
    # At the items themselves, predictions are the marginals.
    again = ep.predicted(q, sites, K, K[0, 0])
    assert_allclose(again.mean, q.marginal.mean, rtol=1e-8)
    assert_allclose(again.variance, q.marginal.variance, rtol=1e-8)


def test_precisions_that_leave_no_gaussian_are_refused():
    K, _ = drawn(3)
    precision = np.ones(N)
    precision[4] = -50.0
    with pytest.raises(LinAlgError):
        ep.posterior(K, Sites(precision, np.zeros(N)))
    # Sites of another kernel: the negative ones are dropped.
    sites, q = ep.started(K, Sites(precision, np.zeros(N)))
    assert sites.precision.tolist() == [1.0] * 4 + [0.0] + [1.0] * 4
    assert (q.marginal.variance > 0).all()


def test_a_site_whose_cavity_does_not_exist_waits():
    K, _ = drawn(3)
    sites = Sites(np.append(np.full(N - 1, 0.5), 3.0), np.ones(N))
    q = ep.posterior(K, sites)
    wide = Moments(q.marginal.mean, np.append(q.marginal.variance[:-1], 0.5))
    cavity, exists = ep.cavities(wide, sites)
    assert exists.tolist() == [True] * (N - 1) + [False]
    assert (cavity.variance > 0).all()
    target = Sites(np.full(N, 0.7), np.zeros(N))
    new, _ = ep.moved(K, (sites, q), target, exists, 0.5)
    assert_allclose(new.precision, [0.6] * (N - 1) + [3.0])
    assert_allclose(new.shift, [0.5] * (N - 1) + [1.0])
    assert ep.largest_move(q.marginal, q.marginal, exists) == np.inf
    assert ep.largest_move(q.marginal, q.marginal, exists | True) == 0


@pytest.mark.parametrize("made", [lambda: drawn(0), lambda: drawn(1), contradicted])
def test_it_arrives_where_the_sequential_algorithm_does(made):
    K, log_likelihood = made()
    found = ep.propagated(K, log_likelihood, ep.flat_sites(N), **TIGHT)
    assert found.converged

    def moments(i, mean, variance):
        return oracles.tilted_by_grid(mean, variance, log_likelihood[i])

    (precision, shift), (mean, Sigma) = oracles.sequential_ep(K, moments, 12)
    assert_allclose(found.sites.precision, precision, atol=1e-6)
    assert_allclose(found.sites.shift, shift, atol=1e-6)
    assert_allclose(found.posterior.marginal.mean, mean, atol=1e-6)
    assert_allclose(found.posterior.marginal.variance, np.diag(Sigma), atol=1e-6)
    keep = np.abs(precision) > 1e-9  # the textbook's formula divides by precisions
    some = np.ix_(keep, keep)
    kept = log_likelihood[keep]

    def moments_kept(i, mean, variance):
        return oracles.tilted_by_grid(mean, variance, kept[i])

    sites = precision[keep], shift[keep]
    want = oracles.ep_evidence(K[some], *sites, moments_kept)
    want += log_likelihood[~keep, 0].sum()
    assert_allclose(found.log_evidence, want, rtol=1e-7)


def test_an_answer_against_its_neighbours_has_a_negative_precision():
    found = ep.propagated(*contradicted(), ep.flat_sites(N), **TIGHT)
    assert (found.sites.precision < 0).nonzero()[0].tolist() == [4]
    assert found.sites.shift[4] < 0


@pytest.mark.parametrize("made", [lambda: drawn(0), lambda: drawn(4), contradicted])
def test_marginals_and_evidence_are_those_of_sampling(made):
    K, log_likelihood = made()
    found = ep.propagated(K, log_likelihood, ep.flat_sites(N), **TIGHT)
    want = oracles.gp_crowd_by_sampling(K, log_likelihood, 200_000, seed=0)
    evidence, mean, variance, one, relative, error = want
    assert relative < 0.01
    # Five standard errors, and what EP itself may be wrong by.
    assert abs(found.log_evidence - np.log(evidence)) < 5 * relative + 0.005
    got = found.posterior.marginal
    assert (np.abs(got.mean - mean) < 5 * error + 0.01).all()
    assert_allclose(got.variance, variance, rtol=0.06)
    assert_allclose(found.tilted.proba, one, atol=0.02)


def test_one_certain_class_per_item_is_the_textbooks_classifier():
    K, _ = drawn(0)
    y = np.where(np.random.default_rng(0).random(N) < 0.5, -1, 1)
    with np.errstate(divide="ignore"):
        log_likelihood = np.log(np.stack([y < 0, y > 0], 1).astype(float))
    found = ep.propagated(K, log_likelihood, ep.flat_sites(N), **TIGHT)

    def moments(i, mean, variance):
        return oracles.tilted_by_probit(mean, variance, y[i])

    (precision, shift), _ = oracles.sequential_ep(K, moments, 30)
    evidence = oracles.ep_evidence(K, precision, shift, moments)
    assert_allclose(found.sites.precision, precision, atol=1e-9)
    assert_allclose(found.sites.shift, shift, atol=1e-9)
    assert_allclose(found.log_evidence, evidence, rtol=1e-9)


def test_answers_that_say_nothing_leave_the_prior():
    K, _ = drawn(0)
    found = ep.propagated(K, np.full((N, 2), -0.4), ep.flat_sites(N))
    assert found.n_sweeps == 1
    assert_allclose(found.log_evidence, -0.4 * N)
    assert_allclose(found.posterior.marginal.variance, np.diag(K))
    assert_allclose(found.tilted.proba, 0.5)


def test_sweeps_that_are_too_few_are_said_to_be():
    K, log_likelihood = drawn(0)
    short = ep.propagated(K, log_likelihood, ep.flat_sites(N), max_sweeps=2)
    assert not short.converged
    assert short.n_sweeps == 2
    rest = ep.propagated(K, log_likelihood, short.sites)
    whole = ep.propagated(K, log_likelihood, ep.flat_sites(N))
    assert rest.converged
    assert rest.n_sweeps < whole.n_sweeps


def test_strong_contradictions_come_to_rest():
    K, log_likelihood = contradicted(strength=4.0)
    K = 8 * K
    found = ep.propagated(K, log_likelihood, ep.flat_sites(N), **TIGHT)
    assert found.converged
    assert np.isfinite(found.log_evidence)
    assert found.tilted.proba[4] > 0.02  # its neighbours are not to be overruled


# -- derivatives -------------------------------------------------------------------


@pytest.mark.parametrize("made", [drawn, lambda _: contradicted()])
def test_the_gradient_by_the_kernel_is_that_of_differences(made):
    _, log_likelihood = made(2)
    X = np.random.default_rng(2).normal(size=(N, 2))

    def at(theta):
        K = covariance(SquaredExponential(*theta), X, X)
        return ep.propagated(K, log_likelihood, ep.flat_sites(N), **TIGHT)

    theta, step = np.array([0.6, -0.2]), 1e-4
    found = at(theta)
    by_covariance = ep.by_covariance(found.posterior, found.sites)
    slope = gradient(SquaredExponential(*theta), X, by_covariance)
    for k in range(2):
        up, down = (at(theta + sign * step * np.eye(2)[k]) for sign in (1, -1))
        want = (up.log_evidence - down.log_evidence) / (2 * step)
        assert_allclose(slope[k], want, rtol=1e-5)


def test_the_posterior_of_the_class_is_the_slope_by_the_likelihood():
    # So the annotators learned from it are where the evidence is stationary.
    K, log_likelihood = drawn(5)
    found = ep.propagated(K, log_likelihood, ep.flat_sites(N), **TIGHT)
    for n in (2, 6):
        change = np.zeros((N, 2))
        change[n, 1] = 1e-4
        up, down = (
            ep.propagated(K, log_likelihood + d, ep.flat_sites(N), **TIGHT)
            for d in (change, -change)
        )
        want = (up.log_evidence - down.log_evidence) / 2e-4
        assert_allclose(found.tilted.proba[n], want, rtol=1e-6)


def test_predictions_are_those_of_the_naive_formula():
    K, log_likelihood = drawn(0, N + 2)
    seen = slice(0, N)
    found = ep.propagated(
        K[seen, seen], log_likelihood[seen], ep.flat_sites(N), **TIGHT
    )
    got = ep.predicted(found.posterior, found.sites, K[seen, N:], K[0, 0])
    precision = np.append(found.sites.precision, [0, 0])
    Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(precision))
    mean = Sigma @ np.append(found.sites.shift, [0, 0])
    assert_allclose(got.mean, mean[N:], rtol=1e-8)
    assert_allclose(got.variance, np.diag(Sigma)[N:], rtol=1e-8)
    assert norm.cdf(got.mean[0]) != 0.5
