"""Predictions as one more witness: how much they count, and for what."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import log_softmax

from wisecrowd.fit import witness

seeds = st.integers(0, 10**6)
N, C = 9, 3


def drawn(seed):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(C), N), rng.normal(size=(N, C))


@given(seeds)
def test_beyond_shares_is_the_log_ratio_to_the_mean(seed):
    proba, _ = drawn(seed)
    got = np.exp(witness.beyond_shares(np.log(proba)))
    mean = [sum(proba[n, c] for n in range(N)) / N for c in range(C)]
    for n in range(N):
        for c in range(C):
            assert_allclose(got[n, c], proba[n, c] / mean[c], rtol=1e-9)


def test_constant_predictions_add_nothing():
    same = np.log(np.repeat([[0.2, 0.5, 0.3]], N, 0))
    assert_allclose(witness.beyond_shares(same), 0, atol=1e-12)


def test_no_prediction_is_certain():
    got = np.exp(witness.bounded_log(np.eye(C)))
    assert_allclose(got.sum(1), 1)
    assert_allclose(got.min(), witness.SMALLEST_PROBA, rtol=1e-3)


@given(seeds)
def test_the_likelihood_is_a_sum_over_classes(seed):
    proba, evidence = drawn(seed)
    got = witness.log_likelihood(np.log(proba) + 5.0, evidence)
    want = [
        np.log(sum(proba[n, c] * np.exp(evidence[n, c]) for c in range(C)))
        for n in range(N)
    ]
    assert_allclose(got, want, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_the_exponent_of_labels_comes_back(power):
    proba, _ = drawn(0)
    log_proba = np.log(proba)
    labels = np.exp(log_softmax(power * log_proba, axis=1))
    assert witness.exponent_for(log_proba, labels) == pytest.approx(power, rel=1e-3)


@pytest.mark.parametrize("power", [0.0, 0.5, 2.0])
def test_the_sharpness_that_made_the_answers_comes_back(power):
    rng = np.random.default_rng(0)
    beyond = rng.normal(size=(20_000, 2))
    truth = rng.random(len(beyond)) < np.exp(log_softmax(power * beyond, axis=1))[:, 1]
    said = truth ^ (
        rng.random(len(beyond)) < 0.1
    )  # one annotator, right in nine of ten
    evidence = np.log(np.where(said[:, None] == [0, 1], 0.9, 0.1))
    got = witness.best_sharpness(
        beyond, np.zeros(2), evidence, np.random.RandomState(0), witness.FROM_NOTHING
    )
    assert got == pytest.approx(power, rel=0.1, abs=0.05)
