import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import polygamma

import oracles
from wisecrowd.maths import dirichlet

seeds = st.integers(0, 10**6)
A, C, K = 5, 3, 4


def drawn_rows(seed, shape=(A, C, K), scale=3.0):
    return np.random.default_rng(seed).gamma(1.0, scale, shape) + 0.05


def whole_counts(seed, shape=(A, C, K)):
    counts = np.random.default_rng(seed).poisson(2.0, shape).astype(float)
    counts[-1] = 0.0  # an annotator without an answer
    counts[0, 1:] = 0.0  # one who met one class only
    return counts


def weights(seed):
    return np.random.default_rng(seed).dirichlet(np.ones(C))


@given(seeds)
def test_mean_log_is_the_mean_of_log_samples_within_five_standard_errors(seed):
    counts = drawn_rows(seed, (K,)) + 0.3
    logs = np.log(np.random.default_rng(seed).dirichlet(counts, 4000))
    error = logs.std(0) / np.sqrt(len(logs))
    assert (np.abs(logs.mean(0) - dirichlet.mean_log(counts)) < 5 * error).all()


@given(seeds)
def test_mean_has_rows_that_sum_to_one_and_scipys_values(seed):
    counts = drawn_rows(seed)
    assert_allclose(dirichlet.mean(counts).sum(-1), 1.0, rtol=1e-12)
    want = stats.dirichlet(counts[1, 2]).mean()
    assert_allclose(dirichlet.mean(counts)[1, 2], want, rtol=1e-12)


@given(seeds)
def test_log_norm_and_kl_agree_with_loops(seed):
    counts, prior = drawn_rows(seed), drawn_rows(seed + 1)
    kl, log_norm = dirichlet.kl(counts, prior), dirichlet.log_norm(counts)
    assert kl.shape == log_norm.shape == (A, C)
    for a in range(A):
        for c in range(C):
            assert_allclose(log_norm[a, c], oracles.log_beta(counts[a, c]), rtol=1e-10)
            want = oracles.dirichlet_kl(counts[a, c], prior[a, c])
            assert_allclose(kl[a, c], want, rtol=1e-8, atol=1e-10)


@given(seeds)
def test_kl_is_zero_at_the_prior_and_never_negative(seed):
    counts, prior = drawn_rows(seed), drawn_rows(seed + 1)[:1]
    assert_allclose(dirichlet.kl(prior, prior), 0.0, atol=1e-12)
    assert (dirichlet.kl(counts, prior) >= 0).all()


@given(seeds)
def test_log_evidence_of_answers_is_that_of_polyas_urn(seed):
    counts, prior = whole_counts(seed), drawn_rows(seed)
    got = dirichlet.log_evidence(counts, prior)
    for a in range(A):
        for c in range(C):
            want = oracles.polya_log_evidence(counts[a, c], prior[a, c])
            assert_allclose(got[a, c], want, rtol=1e-9, atol=1e-9)


@given(seeds)
def test_log_evidence_is_scipys_without_the_number_of_orders(seed):
    counts, prior = whole_counts(seed)[1, 1], drawn_rows(seed)[1, 1]
    n = int(counts.sum())
    orders = stats.multinomial(n, prior / prior.sum()).logpmf(counts) - (
        counts @ np.log(prior / prior.sum())
    )
    scipys = stats.dirichlet_multinomial(prior, n).logpmf(counts.astype(int))
    assert_allclose(dirichlet.log_evidence(counts, prior), scipys - orders, atol=1e-8)


@given(seeds, st.floats(0.5, 0.99))
def test_intervals_hold_their_level_and_the_median(seed, level):
    counts = drawn_rows(seed)
    low, high = dirichlet.interval(counts, level)
    rest = counts.sum(-1, keepdims=True) - counts
    inside = stats.beta.cdf(high, counts, rest) - stats.beta.cdf(low, counts, rest)
    assert_allclose(inside, level, atol=1e-6)
    median = stats.beta.median(counts, rest)
    assert ((low <= median) & (median <= high)).all()


@given(seeds)
def test_hits_and_misses_are_the_answers_and_the_prior_of_one_row(seed):
    seen, prior, share = whole_counts(seed), drawn_rows(seed), weights(seed)
    hits, misses = dirichlet.hits_and_misses(prior + seen, prior, share)
    for a in range(A):
        right = sum(seen[a, c, c] + share[c] * prior[a, c, c] for c in range(C))
        total = sum(
            seen[a, c, k] + share[c] * prior[a, c, k]
            for c in range(C)
            for k in range(C)
        )  # the last answer names no class: neither right nor wrong
        assert_allclose(hits[a], right, rtol=1e-9)
        assert_allclose(hits[a] + misses[a], total, rtol=1e-9)


@given(seeds, st.sampled_from([0.01, 100.0]))
def test_a_shared_prior_of_an_accuracy_counts_for_two_answers_at_most(seed, size):
    prior, share = size * (drawn_rows(seed)[:1] + 0.1), weights(seed)
    hits, misses = dirichlet.hits_and_misses(prior, prior, share)  # nothing was seen
    total = sum(share[c] * prior[0, c, :C].sum() for c in range(C))
    right = sum(share[c] * prior[0, c, c] for c in range(C))
    assert_allclose(hits + misses, min(total, dirichlet.SHARED_ANSWERS), rtol=1e-9)
    assert_allclose(hits / (hits + misses), right / total, rtol=1e-9)


@given(seeds)
def test_the_doubtful_beta_has_the_moments_of_the_mixture(seed):
    right = np.random.default_rng(seed).uniform(size=5)
    a, b = 0.7, 1.6
    made = dirichlet.doubtful_beta(
        np.array([a + right.sum()]),
        np.array([b + (1 - right).sum()]),
        np.array([(right * (1 - right)).sum()]),
    )
    mean, variance = oracles.accuracy_moments(right, a, b)
    assert_allclose(stats.beta.mean(*made)[0], mean, rtol=1e-9)
    assert_allclose(stats.beta.var(*made)[0], variance, rtol=1e-9)


def test_the_doubtful_beta_without_doubt_is_the_beta():
    hits, misses = np.array([1.0, 7.5]), np.array([2.0, 0.1])
    made = dirichlet.doubtful_beta(hits, misses, np.zeros(2))
    assert_allclose(made, (hits, misses), rtol=1e-9)


@given(seeds)
def test_beta_interval_and_beta_below_invert_one_another(seed):
    hits, misses = drawn_rows(seed, (2, A)) + 0.5
    low, high = dirichlet.beta_interval(hits, misses, 0.9)
    for a in range(A):
        below = [
            dirichlet.beta_below(hits[[a]], misses[[a]], float(bar))[0]
            for bar in (low[a], high[a])
        ]
        assert_allclose(below, [0.05, 0.95], atol=1e-6)


@given(seeds)
def test_learned_prior_never_lowers_its_objective(seed):
    counts, prior = whole_counts(seed), drawn_rows(seed)[0]
    shape, rate = 1 + 0.1 * drawn_rows(seed + 1)[0], 0.1

    def objective(alpha):
        evidence = dirichlet.log_evidence(counts, alpha[None]).sum()
        return float(evidence) + dirichlet.log_hyperprior(alpha, shape, rate)

    for _ in range(5):
        better = dirichlet.learned_prior(counts, prior, shape, rate, n_steps=1)
        assert objective(better) >= objective(prior) - 1e-9 * abs(objective(prior))
        prior = better


def test_learned_prior_comes_near_the_one_that_made_the_crowd():
    rng = np.random.default_rng(0)
    true = np.array([[8.0, 1.0, 1.0], [0.5, 3.0, 0.5]])
    rows = np.stack([rng.dirichlet(row, 3000) for row in true], 1)
    counts = np.stack(
        [[rng.multinomial(60, p) for p in rows_of] for rows_of in rows]
    ).astype(float)
    start = np.ones((2, 3))
    got = dirichlet.learned_prior(counts, start, np.ones((2, 3)), 1e-9, n_steps=400)
    assert_allclose(got, true, rtol=0.12)


def test_learned_prior_without_answers_is_the_mode_of_the_hyperprior():
    mode = np.array([[4.0, 1.0], [1.0, 4.0]])
    got = dirichlet.learned_prior(
        np.zeros((3, 2, 2)), np.ones((2, 2)), 1 + 0.1 * mode, 0.1
    )
    assert_allclose(got, mode, rtol=1e-12)


def slopes_of(counts, prior):
    """Σₐ ψ(n + α) − ψ(α) and its derivative, by answer and for the sums, by SciPy."""
    strength, total = prior.sum(-1), counts.sum(-1)
    each = [(polygamma(m, counts + prior) - polygamma(m, prior)).sum(0) for m in (0, 1)]
    sums = [
        (polygamma(m, total + strength) - polygamma(m, strength)).sum(0) for m in (0, 1)
    ]
    return dirichlet.Slopes(*each), dirichlet.Slopes(*sums)


@given(seeds)
def test_newtons_step_is_that_of_differences_and_far_ones_are_shortened(seed):
    counts, prior = whole_counts(seed), drawn_rows(seed)[0]
    shape, rate = 1.5 + drawn_rows(seed + 1)[0], 0.5 + drawn_rows(seed + 2)[0]
    slopes = slopes_of(counts, prior)
    got = dirichlet.newton_step(prior, *slopes, shape, rate)
    minka = dirichlet.minka_step(prior, slopes[0].first, slopes[1].first, shape, rate)
    for c in range(C):
        gradient, hessian = oracles.slopes(
            lambda x, c=c: oracles.penalised_evidence(
                counts[:, c], x, shape[c], rate[c]
            ),
            prior[c],
        )
        if np.linalg.eigvalsh(hessian).max() < -1e-3:
            want = prior[c] - np.linalg.solve(hessian, gradient)
            want = np.clip(want, prior[c] / 4, prior[c] * 4)
            assert_allclose(got[c], want, rtol=2e-3)
        elif np.linalg.eigvalsh(hessian).max() > 1e-3:
            assert_allclose(got[c], minka[c])


def test_where_the_objective_is_not_concave_the_step_is_minkas():
    counts = np.tile([[[10.0, 0.0]], [[0.0, 10.0]]], (100, 1, 1))
    prior, shape, rate = np.full((1, 2), 500.0), np.full((1, 2), 1.1), 1e-3  # too large
    slopes = slopes_of(counts, prior)
    _, hessian = oracles.slopes(
        lambda x: oracles.penalised_evidence(counts[:, 0], x, shape[0], [rate] * 2),
        prior[0],
    )
    assert np.linalg.eigvalsh(hessian).max() > 0
    got = dirichlet.newton_step(prior, *slopes, shape, rate)
    want = dirichlet.minka_step(prior, slopes[0].first, slopes[1].first, shape, rate)
    assert_allclose(got, want, rtol=1e-12)


def test_newtons_steps_end_where_minkas_do_in_far_fewer():
    rng = np.random.default_rng(1)
    counts = np.zeros((400, C, K))
    counts[np.arange(400), rng.integers(C, size=400), rng.integers(K, size=400)] = 1.0
    shape, rate = np.full((C, K), 2.0), 0.3
    start = np.ones((C, K))
    minka = dirichlet.learned_prior(counts, start, shape, rate, n_steps=5000)
    newton = start
    for _ in range(12):
        newton = dirichlet.newton_step(newton, *slopes_of(counts, newton), shape, rate)
    assert_allclose(newton, minka, rtol=1e-6)
    few = dirichlet.learned_prior(counts, start, shape, rate, n_steps=12)
    assert np.abs(few / minka - 1).max() > 1e-3


def test_trigamma_has_six_digits():
    x = np.geomspace(1e-12, 1e9, 5001)
    assert_allclose(dirichlet.trigamma(x), polygamma(1, x), rtol=1e-6)


@given(seeds)
def test_log_odds_of_one_row_compare_one_urn_with_an_urn_a_class(seed):
    counts, prior = whole_counts(seed), drawn_rows(seed)[:1]
    got = dirichlet.log_odds_of_one_row(counts, prior)
    for a in range(A):
        one = oracles.polya_log_evidence(counts[a].sum(0), prior[0].mean(0))
        each = [oracles.polya_log_evidence(counts[a, c], prior[0, c]) for c in range(C)]
        assert_allclose(got[a], one - sum(each), rtol=1e-8, atol=1e-8)


@given(seeds)
def test_mutual_information_agrees_with_loops_and_lies_below_the_entropy(seed):
    confusion, share = dirichlet.mean(drawn_rows(seed)), weights(seed)
    confusion[0] = confusion[0, :1]  # a spammer
    got = dirichlet.mutual_information(confusion, share)
    want = [oracles.mutual_information(table, share) for table in confusion]
    assert_allclose(got, want, atol=1e-10)
    assert_allclose(got[0], 0.0, atol=1e-12)
    assert (got <= oracles.entropy(share) + 1e-12).all()


def test_mutual_information_of_an_oracle_is_the_entropy():
    share = np.array([0.2, 0.3, 0.5])
    got = dirichlet.mutual_information(np.eye(3)[None], share)
    assert_allclose(got, oracles.entropy(share), rtol=1e-12)


@pytest.mark.parametrize("size", [dirichlet.TINY, 1e-6, 1e9])
def test_everything_is_finite_at_tiny_and_huge_counts(size):
    counts = np.array([[[size, 1.0], [size, size]]])
    prior = np.ones((1, 2, 2))
    share = np.array([0.5, 0.5])
    made = [
        dirichlet.mean_log(counts),
        dirichlet.mean(counts),
        dirichlet.log_norm(counts),
        dirichlet.kl(counts, prior),
        dirichlet.log_evidence(counts, prior),
        *dirichlet.interval(counts, 0.95),
        *dirichlet.hits_and_misses(counts + prior, prior, share),
        dirichlet.log_odds_of_one_row(counts, prior),
        dirichlet.learned_prior(counts, prior[0], prior[0], 0.1),
    ]
    assert all(np.isfinite(x).all() for x in made)
