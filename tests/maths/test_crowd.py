import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import oracles
from wisecrowd._checks import InputError
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dirichlet

seeds = st.integers(0, 10**6)
sizes = st.fixed_dictionaries(
    {
        "n_items": st.integers(2, 9),
        "n_annotators": st.integers(3, 6),
        "n_classes": st.integers(2, 4),
        "n": st.integers(3, 30),
    }
)
no_gold = np.full(7, -1, dtype=np.int32)


def made(seed, size):
    """The answers, their codes, a confusion array and probabilities of one crowd."""
    n_answers = size["n_classes"] + 1
    drawn = oracles.drawn_crowd(seed, n_answers=n_answers, **size)
    codes = [drawn[name] for name in ("item", "annotator", "label")]
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(size["n_classes"]), size["n_items"])
    shape = (size["n_items"], *drawn["confusion"].shape)
    return Answers.from_codes(*codes, shape), codes, drawn["confusion"], proba


@given(seeds, sizes)
def test_the_matrix_counts_every_answer_of_every_annotator_on_every_item(seed, size):
    answers, codes, _, _ = made(seed, size)
    want = np.zeros((answers.n_items, answers.n_annotators, answers.n_answers))
    for n, a, y in zip(*codes, strict=True):
        want[n, a, y] += 1
    assert_array_equal(answers.matrix.toarray(), want.reshape(len(want), -1))
    assert_array_equal(answers.transposed.toarray(), want.reshape(len(want), -1).T)


@given(seeds, sizes)
def test_evidence_and_soft_counts_agree_with_loops(seed, size):
    answers, codes, confusion, proba = made(seed, size)
    got = crowd.evidence_per_item(answers, np.log(confusion))
    want = oracles.evidence_per_item(np.log(confusion), *codes, len(proba))
    assert_allclose(got, want, rtol=1e-10, atol=1e-10)
    counts = crowd.soft_counts(answers, proba)
    want = oracles.soft_counts(proba, *codes, confusion.shape)
    assert_allclose(counts, want, rtol=1e-10, atol=1e-12)


@given(seeds, sizes)
def test_soft_counts_hold_every_answer_once(seed, size):
    answers, codes, _, proba = made(seed, size)
    counts = crowd.soft_counts(answers, proba)
    given_by = np.bincount(codes[1], minlength=answers.n_annotators)
    assert_allclose(counts.sum((1, 2)), given_by, rtol=1e-10)


@given(seeds, sizes)
def test_hit_variance_agrees_with_a_loop(seed, size):
    answers, codes, _, proba = made(seed, size)
    want = np.zeros(answers.n_annotators)
    for n, a, y in zip(*codes, strict=True):
        q = proba[n, y] if y < answers.n_classes else 0.0
        want[a] += q * (1 - q)
    assert_allclose(crowd.hit_variance(answers, proba), want, rtol=1e-12)


@given(seeds, sizes)
def test_evidence_and_soft_counts_are_adjoint(seed, size):
    answers, _, confusion, proba = made(seed, size)
    left = (proba * crowd.evidence_per_item(answers, np.log(confusion))).sum()
    right = (crowd.soft_counts(answers, proba) * np.log(confusion)).sum()
    assert_allclose(left, right, rtol=1e-10)


@given(seeds)
def test_posterior_agrees_with_loops_and_leaves_its_input_alone(seed):
    log_joint = np.random.default_rng(seed).normal(0, 3, (7, 3))
    before = log_joint.copy()
    proba, total = crowd.posterior(log_joint)
    want, want_total = oracles.normalised(log_joint)
    assert_allclose(proba, want, rtol=1e-10)
    assert_allclose(total, want_total, rtol=1e-10)
    assert_array_equal(log_joint, before)


def test_posterior_is_finite_and_right_at_huge_logs():
    log_joint = np.array([[-1e6, -1e6 + 1.0], [0.0, -np.inf], [800.0, -800.0]])
    proba, total = crowd.posterior(log_joint)
    assert_allclose(proba[0], [1 / (1 + np.e), np.e / (1 + np.e)], rtol=1e-8)
    assert_allclose(proba[1:], [[1, 0], [1, 0]])
    assert np.isfinite(total).all()


@given(seeds, st.floats(-2000, 2000))
def test_posterior_does_not_depend_on_the_level_of_the_logs(seed, level):
    log_joint = np.random.default_rng(seed).normal(0, 3, (7, 3))
    levels = np.linspace(0, level, 7)
    proba, total = crowd.posterior(log_joint)
    moved, moved_total = crowd.posterior(log_joint + levels[:, None])
    assert_allclose(moved, proba, rtol=1e-9)
    assert_allclose(moved_total - levels, total, atol=1e-9)


@given(seeds)
def test_clamped_rules_out_all_but_the_known_class(seed):
    rng = np.random.default_rng(seed)
    log_joint, gold = rng.normal(size=(7, 3)), rng.integers(-1, 3, 7)
    out = crowd.clamped(log_joint, gold)
    for n in range(7):
        for c in range(3):
            ruled_out = gold[n] >= 0 and gold[n] != c
            assert out[n, c] == (-np.inf if ruled_out else log_joint[n, c])


@given(seeds)
def test_entropy_agrees_with_loops_also_at_zero(seed):
    proba = np.random.default_rng(seed).dirichlet(np.full(4, 0.3), 6)
    proba[0] = [0, 1, 0, 0]
    want = [oracles.entropy(row) for row in proba]
    assert_allclose(crowd.entropy(proba), want, atol=1e-12)
    assert crowd.entropy(proba)[0] == 0


@given(seeds)
def test_vote_proba_is_the_share_of_the_votes_or_the_gold(seed):
    rng = np.random.default_rng(seed)
    votes, gold = rng.poisson(1.0, (7, 3)), rng.integers(-1, 3, 7)
    votes[-1] = 0
    got = crowd.vote_proba(votes, gold)
    assert_allclose(got, oracles.vote_proba(votes, gold), rtol=1e-12)
    assert_allclose(got.sum(1), 1.0, rtol=1e-12)


def test_diagonal_prior_spreads_the_misses_over_all_other_answers():
    prior = crowd.diagonal_prior(2, 4, 4.0, 1.0)
    third = 1 / 3
    want = [[4, third, third, third], [third, 4, third, third]]
    assert_allclose(prior, want, rtol=1e-12)


# -- priors from settings ----------------------------------------------------------

names = np.array(["ann", "bob", "cy"], dtype=object)


def test_annotator_prior_takes_words_arrays_and_a_history():
    flat = crowd.annotator_prior("flat", names, 2, 3)
    assert_array_equal(flat, np.ones((1, 2, 3)))
    shared = crowd.annotator_prior(np.full((2, 3), 2.0), names, 2, 3)
    assert shared.shape == (1, 2, 3)
    each = crowd.annotator_prior(np.full((3, 2, 3), 2.0), names, 2, 3)
    assert each.shape == (3, 2, 3)
    past = crowd.annotator_prior({"bob": np.full((2, 3), 7.0)}, names, 2, 3)
    assert_array_equal(past[1], np.full((2, 3), 7.0))
    assert_array_equal(past[0], crowd.diagonal_prior(2, 3, 4.0, 1.0))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("wide", "'wide' is not one of 'flat', 'diagonal', 'learned'"),
        (np.ones((3, 2)), r"expected \(C, K\) = \(2, 3\)"),
        (np.zeros((2, 3)), "above zero"),
        (np.full((2, 3), np.nan), "finite"),
        (np.ones((5, 2, 3)), "5 tables for 3 annotators"),
        ({"dan": np.ones((2, 3))}, "'dan'"),
    ],
)
def test_annotator_prior_refuses_what_it_cannot_use_and_says_why(spec, said):
    with pytest.raises(InputError, match=said):
        crowd.annotator_prior(spec, names, 2, 3)


# -- a learned prior ----------------------------------------------------------------


@given(seeds)
def test_the_log_hyperprior_is_scipys_gamma_density(seed):
    prior = np.random.default_rng(seed).gamma(2.0, 1.0, (1, 3, 4)) + 0.1
    hyper = crowd.prior_hyper(3, 4)
    want = stats.gamma.logpdf(prior[0], hyper.shape, scale=1 / hyper.rate).sum()
    assert_allclose(crowd.log_hyperprior(prior, hyper), want, rtol=1e-10)
    assert crowd.log_hyperprior(prior, None) == 0


@given(seeds)
def test_kl_and_expected_log_likelihood_make_the_evidence_at_the_best_posterior(seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(2.0, (5, 3, 4)).astype(float)
    prior = rng.gamma(2.0, 1.0, (1, 3, 4)) + 0.1
    got = bound_of_annotators(counts, prior, None)
    assert_allclose(got, dirichlet.log_evidence(counts, prior).sum(), rtol=1e-9)


def bound_of_annotators(counts, prior, hyper):
    """E log p(answers | R) - KL(q(R) ‖ p(R)) + log p(prior), q(R) at its best."""
    posterior = prior + counts
    expected = (counts * dirichlet.mean_log(posterior)).sum()
    kl = dirichlet.kl(posterior, prior).sum()
    return expected - kl + crowd.log_hyperprior(prior, hyper)


def test_updated_prior_raises_the_bound_and_a_given_prior_stays():
    counts = np.random.default_rng(0).poisson(3.0, (5, 3, 4)).astype(float)
    prior = crowd.annotator_prior("learned", np.arange(5), 3, 4)
    hyper = crowd.prior_hyper(3, 4)
    assert crowd.updated_prior(counts, prior, None) is prior
    moved = crowd.updated_prior(counts, prior, hyper)
    assert moved.shape == prior.shape
    before = bound_of_annotators(counts, prior, hyper)
    assert bound_of_annotators(counts, moved, hyper) > before


@pytest.mark.parametrize(
    ("n_classes", "right", "wrong"),
    [(2, 24.0, 17.0), (3, 24.0, 34 / 3), (5, 15.36, 4.352), (9, 8.0, 1.0)],
)
def test_prior_hyper_expects_less_where_guessing_is_right_more_often(
    n_classes, right, wrong
):
    hyper = crowd.prior_hyper(n_classes, 4 + n_classes)
    mode = (hyper.shape - 1) / hyper.rate
    want = crowd.diagonal_prior(n_classes, 4 + n_classes, right, wrong)
    assert_allclose(mode, want, rtol=1e-12)
