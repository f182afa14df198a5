"""The sums over pairs (annotator, answer) that occur, against loops over all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma

import oracles
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dirichlet, pairs

seeds = st.integers(0, 10**6)
N, A, C, K = 7, 30, 3, 4


def drawn(seed):
    """A crowd in which half of the annotators give one answer, some the same one."""
    made = oracles.drawn_crowd(seed, n_annotators=10, n=60)
    rng = np.random.default_rng(seed)
    item = np.append(made["item"], rng.integers(2, size=A - 12))
    annotator = np.append(made["annotator"], np.arange(10, A - 2))
    answer = np.append(made["label"], rng.integers(K, size=A - 12))
    order = np.argsort(item, kind="stable")
    rows = tuple(column[order] for column in (item, annotator, answer))
    answers = Answers.from_codes(*rows, (N, A, C, K))
    proba = rng.dirichlet(np.ones(C), N)
    proba[0] = np.eye(C)[1]  # a class that is known: counts of zero
    return answers, rows, proba, rng


@pytest.mark.parametrize("shared", [True, False])
@given(seed=seeds)
def test_evidence_and_divergence_are_the_loops(shared, seed):
    answers, rows, proba, rng = drawn(seed)
    prior = rng.gamma(2.0, 1.0, (1 if shared else A, C, K)) + 0.05
    seen = pairs.pairs_of(answers, shared_prior=shared)
    n = pairs.counts(seen, proba)
    evidence, divergence = pairs.evidence_and_divergence(seen, n, prior)
    every = np.broadcast_to(prior, (A, C, K))
    posterior = every + oracles.soft_counts(proba, *rows, (A, C, K))
    log_mean = digamma(posterior) - digamma(posterior.sum(-1, keepdims=True))
    want = oracles.evidence_per_item(log_mean, *rows, N)
    assert_allclose(evidence, want, rtol=1e-9, atol=1e-10)
    want = sum(
        oracles.dirichlet_kl(posterior[a, c], every[a, c])
        for a in range(A)
        for c in range(C)
    )
    assert_allclose(divergence, want, rtol=1e-8)


@given(seeds)
def test_steps_of_the_prior_are_those_of_the_whole_table(seed):
    answers, rows, proba, rng = drawn(seed)
    prior = rng.gamma(2.0, 1.0, (1, C, K)) + 0.05
    hyper = crowd.prior_hyper(C, K)
    table = oracles.soft_counts(proba, *rows, (A, C, K))
    n = pairs.counts(pairs.pairs_of(answers, shared_prior=True), proba)
    want = dirichlet.learned_prior(table, prior[0], *hyper, n_steps=5)
    assert_allclose(pairs.after_minka(n, prior, hyper)[0], want, rtol=1e-9)
    got = pairs.after_newton(n, prior, hyper)[0]
    for c in range(C):
        gradient, hessian = oracles.slopes(
            lambda x, c=c: oracles.penalised_evidence(
                table[:, c], x, hyper.shape[c], hyper.rate[c]
            ),
            prior[0, c],
        )
        if np.linalg.eigvalsh(hessian).max() < -1e-3:
            step = prior[0, c] - np.linalg.solve(hessian, gradient)
            far = np.clip(step, prior[0, c] / 4, prior[0, c] * 4)
            assert_allclose(got[c], far, rtol=2e-3)


def test_annotators_with_the_same_single_answer_are_one():
    item, answer = np.repeat([0, 1, 2], 4), np.array([1, 1, 0, 1] * 3)
    answers = Answers.from_codes(item, np.arange(12), answer, (3, 14, 2, 2))
    seen = pairs.pairs_of(answers, shared_prior=True)
    assert_array_equal(np.sort(seen.times), [1, 1, 1, 3, 3, 3])
    assert seen.pairs_on.shape == (3, 6)
    assert_array_equal(seen.pairs_on.sum(1).ravel(), [[4, 4, 4]])
    # With priors of their own they are not alike.
    each = pairs.pairs_of(answers, shared_prior=False)
    assert_array_equal(each.times, np.ones(12))


def test_one_person_who_repeats_an_answer_is_not_several():
    answers = Answers.from_codes([0, 0, 0], [0, 0, 1], [1, 1, 1], (1, 2, 2, 2))
    seen = pairs.pairs_of(answers, shared_prior=True)
    assert_array_equal(seen.times, [1, 1])
    n = pairs.counts(seen, np.array([[0.25, 0.75]]))
    assert_allclose(n.total.n, [0.5, 1.5, 0.25, 0.75])
