"""The pool against loops, and what its labels must never do."""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from wisecrowd._checks import InputError
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, pool
from wisecrowd.simulation.crowds import simulate

seeds = st.integers(0, 10**6)
rates = st.floats(0, 1)
SIZE = N, A, C, K = 7, 5, 3, 4
PRIORS = (crowd.diagonal_prior(C, K, 4.0, 1.0)[None], np.full((1, C, K), 0.7))
NO_GOLD = np.full(N, -1)


class Case(NamedTuple):
    """One crowd twice: as the pool takes it, and as the oracles do."""

    witnesses: pool.Witnesses
    rows: list
    readings: list
    selective: np.ndarray
    rng: np.random.Generator

    @property
    def crowd(self):
        """The first arguments of the oracle."""
        return self.rows, self.witnesses.weight, self.witnesses.proba, self.readings

    @property
    def beyond(self):
        return self.witnesses.beyond


def drawn_answers(seed, size=SIZE, n=30):
    """Distinct answers; an item and an annotator have none, an annotator has one."""
    made = oracles.drawn_crowd(
        seed, n_items=size[0], n_annotators=size[1], n_classes=size[2],
        n_answers=size[3], n=n,
    )  # fmt: skip
    codes = [made[name] for name in ("item", "annotator", "label")]
    return Answers.from_codes(*codes, size).distinct()


def rows_of(answers):
    columns = answers.item, answers.annotator, answers.answer
    return [tuple(row) for row in np.stack(columns, 1).tolist()]


def case(seed, selective=None):
    answers = drawn_answers(seed)
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(C), N)
    if selective is None:
        selective = rng.random(A) * rng.integers(0, 2, A)
    found = pool.readings(answers, proba, PRIORS, selective)
    beyond = pool.beyond_shares(np.log(rng.dirichlet(np.ones(C), N)))
    weight = rng.choice([1.0, 0.5, 1 / 3], len(answers))
    witnesses = pool.Witnesses(answers, weight, proba, found, beyond)
    rows = rows_of(answers)
    slow = [
        oracles.reading(rows, proba, prior, pool.CLASS_PRIOR, selective)
        for prior in PRIORS
    ]
    return Case(witnesses, rows, slow, selective, rng)


def drawn_pool(rng, n_classes=C, n_annotators=A):
    return pool.Pool(
        dependence=rng.random(),
        between=(0.0, 1.0),
        votes=rng.random() / 2,
        features=rng.random() + 0.2,
        explained=0.5,
        exponent=rng.random() + 0.5,
        shift=rng.normal(size=n_classes),
        lean=rng.normal(size=n_annotators),
        selective=np.zeros(n_annotators),
        n_mean=1 + 5 * rng.random(),
    )


# -- readings ----------------------------------------------------------------------


@pytest.mark.parametrize("selective", [0.0, 1.0, None])
@given(seed=seeds)
@settings(max_examples=8)
def test_readings_agree_with_loops_for_selective_annotators_and_others(seed, selective):
    given_by = None if selective is None else np.full(A, selective)
    found = case(seed, given_by)
    for got, want in zip(found.witnesses.readings, found.readings, strict=True):
        assert_allclose(got.counts, want["counts"], rtol=1e-12)
        assert_allclose(got.totals, want["totals"], rtol=1e-12)
        assert_allclose(got.log_class, want["log_class"], rtol=1e-12)


def test_silence_of_a_selective_annotator_tells_the_classes_apart():
    """A rule that names class 0 on half of its items, and on none of the others."""
    truth = np.repeat([0, 1], 50)
    fires = np.arange(0, 50, 2)
    shape = (100, 1, 2, 2)
    zeros = np.zeros(len(fires), int)
    answers = Answers.from_codes(fires, zeros, zeros, shape)
    flat = (np.ones((1, 2, 2)),)
    for selective, tells in ((0.0, False), (1.0, True)):
        found = pool.readings(answers, np.eye(2)[truth], flat, np.array([selective]))
        said = pool.log_given(found[0], answers, None, slice(None))[0]
        assert (said[0] - said[1] > np.log(5)) == tells


def test_a_prior_of_every_annotator_is_used_for_that_annotator():
    answers = drawn_answers(3)
    rng = np.random.default_rng(3)
    proba, selective = rng.dirichlet(np.ones(C), N), rng.random(A)
    prior = rng.gamma(2.0, 1.0, (A, C, K)) + 0.1
    got = pool.readings(answers, proba, (prior,), selective)[0]
    want = oracles.reading(rows_of(answers), proba, prior, pool.CLASS_PRIOR, selective)
    assert_allclose(got.counts, want["counts"], rtol=1e-12)
    assert_allclose(got.totals, want["totals"], rtol=1e-12)


@given(seeds)
@settings(max_examples=12)
def test_answers_are_read_without_the_part_of_their_own_item(seed):
    found = case(seed)
    answers, proba = found.witnesses.answers, found.witnesses.proba
    for got, want in zip(found.witnesses.readings, found.readings, strict=True):
        for labels in (proba, None):
            said = pool.log_given(got, answers, labels, slice(None))
            assert_allclose(said, oracles.log_given(want, found.rows, labels))


def test_an_items_own_label_does_not_change_what_its_answers_say():
    answers = drawn_answers(1)
    rng = np.random.default_rng(1)
    proba = rng.dirichlet(np.ones(C), N)
    other = proba.copy()
    other[2] = rng.dirichlet(np.ones(C))
    said = []
    for labels in (proba, other):
        found = pool.readings(answers, labels, PRIORS[:1], np.zeros(A))
        witnesses = pool.Witnesses(answers, np.ones(len(answers)), labels, found)
        said.append(pool.evidence(witnesses, found[0]))
    assert answers.n_per_item[2] > 1
    assert_allclose(said[0][2], said[1][2], rtol=1e-10)
    assert np.abs(said[0] - said[1]).max() > 1e-3


@pytest.mark.parametrize("block", [2, 5000])
@given(seed=seeds)
@settings(max_examples=10)
def test_evidence_agrees_with_loops_in_blocks_of_any_size(seed, block):
    found = case(seed)
    witnesses, lean = found.witnesses, found.rng.normal(size=A)
    crowd_block = (found.rows, witnesses.weight, witnesses.proba, N)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crowd, "BLOCK", block)
        for got, want in zip(witnesses.readings, found.readings, strict=True):
            for weights in (None, lean):
                said = pool.evidence(witnesses, got, weights)
                slow = oracles.weighted_evidence(want, *crowd_block, weights)
                assert_allclose(said, slow, rtol=1e-9, atol=1e-12)


# -- labels ------------------------------------------------------------------------


@given(rates, st.floats(0, 300))
def test_the_design_effect_agrees_with_its_formula(dependence, n):
    got = pool.design_effect(np.array([n, 0.0]), dependence)
    assert_allclose(got, [oracles.design_effect(n, dependence), 1.0], rtol=1e-12)


@given(rates, st.floats(1, 300), st.floats(0, 10))
def test_worth_rises_with_the_answers_and_stays_below_one_over_the_dependence(
    dependence, n, more
):
    shares = drawn_pool(np.random.default_rng(0))
    few, many = (shares._replace(n_mean=m).worth(dependence) for m in (n, n + more))
    assert 1 - 1e-12 <= few <= many + 1e-12
    assert many <= (n + more) + 1e-9
    assert many * dependence <= 1 + 1e-12


@given(seeds)
@settings(max_examples=12)
def test_votes_agree_with_a_loop(seed):
    found = case(seed)
    want = oracles.log_votes(found.rows, found.witnesses.weight, N, C)
    got = pool.log_votes(found.witnesses)
    assert_allclose(got, want, rtol=1e-12)
    assert_allclose(got[-1], np.full(C, -np.log(C)))  # nobody answered


@given(seeds, st.booleans())
@settings(max_examples=12)
def test_labels_agree_with_the_formula_at_the_top_of_the_module(seed, with_features):
    found = case(seed)
    shares = drawn_pool(found.rng)
    beyond = found.beyond if with_features else None
    gold = found.rng.integers(-1, C, N)
    witnesses = found.witnesses._replace(beyond=beyond)
    got = pool.labels(witnesses, shares, gold)
    want = oracles.pool_labels(*found.crowd, shares._asdict(), gold, beyond)
    assert_allclose(got, want, rtol=1e-8, atol=1e-12)


@given(seeds)
@settings(max_examples=12)
def test_a_verdict_stands_for_what_the_readings_say(seed):
    found = case(seed)
    shares = drawn_pool(found.rng)._replace(lean=np.zeros(A))
    verdict = np.log(found.rng.dirichlet(np.ones(C), N))
    got = pool.labels(found.witnesses._replace(verdict=verdict), shares, NO_GOLD)
    want = oracles.pool_labels(
        *found.crowd, shares._asdict(), NO_GOLD, found.beyond, verdict
    )
    assert_allclose(got, want, rtol=1e-8, atol=1e-12)


@given(seeds)
@settings(max_examples=10)
def test_what_the_crowd_says_is_a_probability(seed):
    found = case(seed)
    said = pool.said_by_crowd(found.witnesses, drawn_pool(found.rng))
    assert_allclose(np.exp(said).sum(1), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    "field", ["dependence", "votes", "features", "exponent", "shift", "lean", "n_mean"]
)
def test_every_weight_of_the_pool_changes_labels(field):
    found = case(0)
    shares = drawn_pool(found.rng)
    value = getattr(shares, field)
    change = 0.3 * np.arange(len(value)) if np.ndim(value) else 0.2
    if field == "n_mean":
        change = 20.0
    other = shares._replace(**{field: value + change})
    one, two = (pool.labels(found.witnesses, p, NO_GOLD) for p in (shares, other))
    assert np.abs(one - two).max() > 1e-3


def test_annotators_who_were_never_seen_have_no_lean():
    shares = drawn_pool(np.random.default_rng(0))
    shares = shares._replace(selective=np.linspace(0, 1, A))
    some = shares.of(np.array([3, -1, 0]))
    assert_array_equal(some.lean, [shares.lean[3], 0.0, shares.lean[0]])
    assert_array_equal(some.selective, [0.75, 0.0, 0.0])


@given(rates, st.floats(0, 0.5), st.floats(0.4, 0.99))
def test_certainty_never_falls_as_unanimous_answers_rise(dependence, votes, right):
    """Item n has n + 1 answers, all of class 0, by annotators of one skill."""
    most = 15
    pairs = [(n, a) for n in range(most) for a in range(n + 1)]
    item, who = np.array(pairs).T
    said = np.zeros(len(item), int)
    answers = Answers.from_codes(item, who, said, (most, most, C, C))
    matrix = np.full((C, C), (1 - right) / (C - 1))
    np.fill_diagonal(matrix, right)
    counts = np.repeat(matrix[None], most, 0)
    even = np.full(C, -np.log(C))
    reading = pool.Reading(counts, np.ones((most, C)), even)
    witnesses = pool.Witnesses(answers, np.ones(len(item)), None, (reading,))
    shares = drawn_pool(np.random.default_rng(0), n_annotators=most)._replace(
        dependence=dependence, votes=votes, shift=np.zeros(C), lean=np.zeros(most)
    )
    sure = pool.labels(witnesses, shares, np.full(most, -1))[:, 0]
    assert (np.diff(sure) >= -1e-12).all()
    if dependence > 0 and votes == 0:  # worth no more than 1 / ρ answers
        log_odds = shares.exponent * np.log(matrix[0, 0] / matrix[1, 0]) / dependence
        assert sure[-1] <= 1 / (1 + (C - 1) * np.exp(-log_odds)) + 1e-9


# -- how much each witness counts ----------------------------------------------------


@given(seeds, st.floats(0, 6))
@settings(max_examples=10)
def test_left_out_answers_are_predicted_as_loops_do(seed, rate):
    found = case(seed)
    got = pool.left_out(found.witnesses, found.selective)
    want = oracles.left_out(*found.crowd, found.selective)
    if got is None:
        assert want == []
        return
    for m in range(len(PRIORS)):
        assert_allclose(got.given[m], [row[0][m] for row in want], rtol=1e-9)
        assert_allclose(got.others[m], [row[1][m] for row in want], rtol=1e-9)
    assert_allclose(got.n_others, [row[2] for row in want], rtol=1e-12)
    slow = [oracles.left_out_log_likelihood(*row, rate) for row in want]
    assert_allclose(got.log_likelihood(rate), slow, rtol=1e-9, atol=1e-12)


@given(seeds)
@settings(max_examples=8)
def test_likely_rates_are_the_best_of_the_grid_and_those_near_it(seed):
    found = case(seed, np.zeros(A))
    rows = oracles.left_out(*found.crowd, found.selective)
    n_items = int((found.witnesses.n_each > 1).sum())
    each = [
        [oracles.left_out_log_likelihood(*row, rate) for row in rows]
        for rate in pool.RATES
    ]
    likelihood = [n_items * sum(logs) / len(logs) for logs in each]
    best = max(likelihood)
    near = [
        rate
        for rate, total in zip(pool.RATES, likelihood, strict=True)
        if best - total < 1.35
    ]
    left_out = pool.left_out(found.witnesses, found.selective)
    want = (pool.RATES[likelihood.index(best)], min(near), max(near))
    assert_allclose(pool.likely_rates(left_out, n_items), want)
    assert pool.likely_rates(None, n_items) == (0.0, 0.0, 0.0)


def test_no_answer_is_more_than_certain():
    """Of a rather selective annotator, p(answer and answered | class) can exceed 1."""
    item = np.concatenate([np.arange(10), np.arange(20)])
    who = np.repeat([0, 1], [10, 20])
    said = (item >= 10).astype(int)
    answers = Answers.from_codes(item, who, said, (20, 2, 2, 2))
    proba, selective = np.eye(2)[np.arange(20) // 10], np.array([0.49, 0.0])
    prior = (crowd.diagonal_prior(2, 2, 4.0, 1.0)[None],)
    found = pool.readings(answers, proba, prior, selective)
    witnesses = pool.Witnesses(answers, np.ones(30), proba, found)
    assert pool.log_given(found[0], answers, proba, slice(None)).max() > 0
    assert pool.left_out(witnesses, selective).given.max() == 1.0


def test_without_two_answers_on_an_item_nothing_is_left_out():
    ids = np.arange(N)
    answers = Answers.from_codes(ids, ids % A, ids % C, SIZE)
    proba = np.full((N, C), 1 / C)
    found = pool.readings(answers, proba, PRIORS, np.zeros(A))
    witnesses = pool.Witnesses(answers, np.ones(N), proba, found)
    assert pool.left_out(witnesses, np.zeros(A)) is None
    assert pool.signs_of(witnesses, np.zeros(A)) == pool.Signs(
        (0.0, 0.0, 0.0), 0.0, 1.0
    )


@given(st.floats(0, 3), st.floats(1, 20), seeds)
def test_the_rates_add_up_what_the_signs_give_reason_for(excess, n, seed):
    rng = np.random.default_rng(seed)
    doubts = pool.Doubts(*(rng.random(len(pool.Doubts._fields)) + 0.01).tolist())
    left_out = tuple(rng.random(3).tolist())
    more = 1 / (1 + doubts.excess / excess) if excess else 0.0
    more += doubts.few / (n - 1) if n > 2 else doubts.few
    want = [doubts.left_out * rate + more for rate in left_out]
    assert_allclose(pool.Signs(left_out, excess, n).rates(doubts), want, rtol=1e-9)


def test_the_mean_number_of_several_answers_leaves_single_ones_out():
    item, who = np.array([0, 1, 1, 2, 2, 2]), np.array([0, 0, 1, 0, 1, 2])
    answers = Answers.from_codes(item, who, np.zeros(6, int), (4, 3, 2, 2))
    weight = np.array([1, 1, 1, 1, 0.5, 0.5])  # the last two are copies
    witnesses = pool.Witnesses(answers, weight, None, ())
    assert pool.n_several(witnesses) == 2.0
    assert pool.n_several(witnesses.of_items(np.array([0, 3]))) == 1.0


@given(rates, seeds)
@settings(max_examples=10)
def test_a_given_dependence_is_used_as_it_is_and_votes_do_not_count(rho, seed):
    found = case(seed)
    shares = pool.learned_pool(
        found.witnesses._replace(beyond=None), found.selective, rho
    )
    assert (shares.dependence, shares.votes) == (rho, 0.0)
    assert shares.between == (rho, rho)
    assert (shares.exponent, shares.features) == (1.0, 0.0)
    assert not shares.shift.any()
    assert not shares.lean.any()
    n_each = [0.0] * N
    for (n, _, _), w in zip(found.rows, found.witnesses.weight, strict=True):
        n_each[n] += w
    answered = [n for n in n_each if n]
    assert_allclose(shares.n_mean, sum(answered) / len(answered))


@given(seeds)
@settings(max_examples=10)
def test_a_learned_dependence_and_the_weight_of_votes_follow_the_rate(seed):
    found = case(seed)
    signs = pool.Signs((0.3, 0.1, 0.9), float(found.rng.random()), 3.0)
    doubts = pool.Doubts(votes=0.4, half=0.2)
    shares = pool.learned_pool(found.witnesses, found.selective, "learn", doubts, signs)
    rate, *ends = signs.rates(doubts)
    assert_allclose(shares.dependence / (1 - shares.dependence), rate)
    assert_allclose([rho / (1 - rho) for rho in shares.between], ends)
    assert_allclose(shares.votes, 0.4 * rate / (rate + 0.2))
    exponent, explained = pool.exponent_of_features(
        found.witnesses, shares._replace(exponent=1.0)
    )
    plain = shares._replace(exponent=1.0, features=0.0)
    crowds, features = pool.exponents_beside(found.witnesses, plain, exponent)
    assert_allclose(shares.exponent, crowds)
    assert_allclose(shares.features, features * math.sqrt(explained))


@given(seeds)
@settings(max_examples=5)
def test_the_exponents_predict_left_out_answers_best(seed):
    found = case(seed)
    shares = drawn_pool(found.rng)._replace(selective=found.selective)
    rate = shares.dependence / (1 - shares.dependence)
    rows = oracles.left_out(*found.crowd, found.selective)
    items = oracles.items_of_left_out(found.rows, found.selective)
    beyond = found.witnesses.beyond

    def fit(exponent, features):
        return sum(
            oracles.left_out_log_likelihood(
                *row, rate, exponent, [features * x for x in beyond[n]]
            )
            for row, n in zip(rows, items, strict=True)
        ) / len(rows)

    got = pool.exponents_beside(found.witnesses, shares, 0.7)
    if not rows:
        assert got == (1.0, 0.7)
        return
    first, second = (np.exp(np.linspace(*ends, 8)) for ends in pool.BESIDE)
    assert fit(*got) >= max(fit(t, x) for t in first for x in second) - 2e-3


def test_features_that_know_better_than_the_crowd_lower_its_exponent():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=2000)
    # Ten annotators with one skill each, who are believed to be better than they are.
    item, who = np.repeat(np.arange(2000), 3), rng.integers(10, size=6000)
    said = np.where(rng.random(6000) < 0.65, truth[item], 1 - truth[item])
    answers = Answers.from_codes(item, who, said, (2000, 10, 2, 2)).distinct()
    sure = np.tile([[0.95, 0.05], [0.05, 0.95]], (10, 1, 1)) * 1e6
    readings = (pool.Reading(sure, sure.sum(2), np.log([0.5, 0.5])),)
    weight = np.ones(len(answers))
    beyond = np.log(np.where(np.eye(2)[truth] > 0, 0.95, 0.05))
    witnesses = pool.Witnesses(answers, weight, None, readings, beyond)
    shares = pool.learned_pool(witnesses, np.zeros(10), 0.0)
    assert shares.exponent < 0.5
    alone = pool.learned_pool(witnesses._replace(beyond=None), np.zeros(10), 0.0)
    assert alone.exponent == 1.0


@given(seeds)
@settings(max_examples=5)
def test_the_exponent_of_predictions_is_the_best_of_a_grid(seed):
    rng = np.random.default_rng(seed)
    log_proba, proba = np.log(rng.dirichlet(np.ones(C), (2, N)))
    proba = np.exp(proba + log_proba)
    proba /= proba.sum(1, keepdims=True)
    log_shares = np.log(rng.dirichlet(np.ones(C)))
    exponent, cross = pool.fitted_exponent(log_proba, proba, log_shares)

    def loss(power):
        return oracles.cross_entropy_of_power(log_proba, proba, log_shares, power)

    assert_allclose(cross, loss(exponent), rtol=1e-9)
    grid = [loss(math.exp(x)) for x in np.linspace(*pool.LOG_EXPONENT, 200)]
    assert cross <= min(grid) + 1e-6


@given(seeds)
@settings(max_examples=5)
def test_the_share_that_features_explain_agrees_with_loops(seed):
    found = case(seed)
    shares = drawn_pool(found.rng)
    plain = {
        **shares._asdict(), "exponent": 1.0, "shift": np.zeros(C), "lean": np.zeros(A),
    }  # fmt: skip
    said = oracles.pool_labels(*found.crowd, plain, NO_GOLD)
    answered = np.isin(np.arange(N), [n for n, _, _ in found.rows])
    beyond = found.beyond[answered] + np.log(said[answered])  # so that it explains
    all_items = found.beyond.copy()
    all_items[answered] = beyond
    witnesses = found.witnesses._replace(beyond=all_items)
    _, explained = pool.exponent_of_features(witnesses, shares)
    want = oracles.explained_of_labels(beyond, said[answered].tolist())
    assert_allclose(explained, want, atol=1e-3)


def test_features_that_say_nothing_explain_nothing_and_the_labels_all():
    found = case(2)
    shares = drawn_pool(found.rng)
    assert pool.exponent_of_features(found.witnesses._replace(beyond=None), shares) == (
        1.0,
        0.0,
    )
    nothing = found.witnesses._replace(beyond=np.zeros((N, C)))
    assert_allclose(pool.exponent_of_features(nothing, shares)[1], 0.0, atol=1e-9)
    said = pool.said_by_crowd(found.witnesses, shares)
    answered = found.witnesses.answers.n_per_item > 0
    mean = np.log(np.exp(said)[answered].mean(0))
    same = found.witnesses._replace(beyond=said - mean)
    exponent, explained = pool.exponent_of_features(same, shares)
    assert_allclose([exponent, explained], 1.0, atol=1e-3)


# -- gold ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_no_other_pool_is_more_probable_given_the_gold(seed):
    """The loss by loops: its slope is 0 at the pool, and it rises all around it."""
    found = case(seed)
    start = drawn_pool(found.rng)._replace(shift=np.zeros(C), lean=np.zeros(A))
    gold = found.rng.integers(0, C, N)
    doubts = pool.Doubts(gold=0.6, annotator=1.3)
    best = pool.pool_with_gold(found.witnesses, start, gold, doubts)
    assert (best.dependence, best.votes) == (start.dependence, start.votes)
    who = np.unique(found.witnesses.answers.annotator)
    assert_array_equal(np.delete(best.lean, who), 0.0)

    def loss(moves):
        lean = best.lean.copy()
        lean[who] += moves[2 + C :]
        other = best._replace(
            exponent=best.exponent * math.exp(moves[0]),
            features=best.features * math.exp(moves[1]),
            shift=best.shift + moves[2 : 2 + C],
            lean=lean,
        )
        return oracles.gold_loss(
            (*found.crowd, found.beyond), start._asdict(), other._asdict(), gold,
            (doubts.gold, doubts.annotator),
        )  # fmt: skip

    size = 2 + C + len(who)
    least = loss(np.zeros(size))
    for unit in np.eye(size):
        up, down = loss(1e-3 * unit), loss(-1e-3 * unit)
        assert abs(up - down) / 2e-3 < 5e-3
    for _ in range(10):
        assert loss(found.rng.normal(0, 0.1, size)) > least


def test_without_gold_that_contradicts_it_a_pool_moves_little():
    found = case(0)
    start = drawn_pool(found.rng)._replace(shift=np.zeros(C), lean=np.zeros(A))
    held = pool.Doubts(gold=1e-6, annotator=1e-6)
    gold = found.rng.integers(0, C, N)
    best = pool.pool_with_gold(found.witnesses, start, gold, held)
    one, two = (pool.labels(found.witnesses, p, NO_GOLD) for p in (start, best))
    assert_allclose(one, two, atol=1e-6)


def test_the_gold_of_an_item_does_not_change_its_own_prediction():
    found = case(4)
    start = drawn_pool(found.rng)._replace(shift=np.zeros(C), lean=np.zeros(A))
    gold = found.rng.integers(0, C, N)
    before = pool.cross_fitted(found.witnesses, start, gold, pool.DOUBTS)
    assert_allclose(before.sum(1), 1.0)
    for n in (0, 2, 5):
        other = gold.copy()
        other[n] = (gold[n] + 1) % C
        after = pool.cross_fitted(found.witnesses, start, other, pool.DOUBTS)
        assert_array_equal(after[n], before[n])
        assert np.abs(after - before).max() > 1e-3


# -- all of it -----------------------------------------------------------------------


def moved_answers(answers, item, annotator, of_class):
    """The same answers under other codes; answers that are no class keep theirs."""
    code = np.append(of_class, np.arange(answers.n_classes, answers.n_answers))
    columns = item[answers.item], annotator[answers.annotator], code[answers.answer]
    return Answers.from_codes(*columns, answers.shape)


@given(seeds, st.booleans())
@settings(max_examples=8)
def test_labels_move_with_the_items_annotators_and_classes(seed, with_gold):
    size = n_items, _, n_classes, _ = 12, 6, 3, 4
    answers = drawn_answers(seed, size, 60)
    rng = np.random.default_rng(seed)
    proba, predicted = rng.dirichlet(np.ones(n_classes), (2, n_items))
    gold = rng.integers(-1, n_classes, n_items) if with_gold else np.full(n_items, -1)
    item, who, of_class = (rng.permutation(n) for n in size[:3])
    moved_gold = np.full(n_items, -1)
    moved_gold[item] = np.where(gold < 0, -1, of_class[gold])

    def moved(table):
        out = np.empty_like(table)
        out[np.ix_(item, of_class)] = table
        return out

    prior = (crowd.diagonal_prior(n_classes, 4, 4.0, 1.0)[None],)
    one = pool.pooled(answers, gold, proba, prior, "learn", log_proba=np.log(predicted))
    two = pool.pooled(
        moved_answers(answers, item, who, of_class), moved_gold, moved(proba), prior,
        "learn", log_proba=np.log(moved(predicted)),
    )  # fmt: skip
    assert_allclose(two.proba, moved(one.proba), atol=1e-4 if with_gold else 1e-6)
    assert_allclose(two.pool.lean[who], one.pool.lean, atol=1e-3)


def everybody_answers(seed, n_items=20, n_annotators=4):
    """Answers of annotators who answer everything, none of them selectively."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_items) % C
    item, who = np.divmod(np.arange(n_items * n_annotators), n_annotators)
    said = np.where(
        rng.random(len(item)) < 0.6, truth[item], rng.integers(0, K, len(item))
    )
    return Answers.from_codes(item, who, said, (n_items, n_annotators, C, K))


@given(seeds)
@settings(max_examples=10)
def test_without_dependence_labels_are_those_of_cvb0(seed):
    answers = everybody_answers(seed)
    proba = np.random.default_rng(seed).dirichlet(np.ones(C), answers.n_items)
    got = pool.pooled(answers, np.full(20, -1), proba, PRIORS[:1], 0.0)
    rows = answers.item, answers.annotator, answers.answer
    counts = PRIORS[0] + oracles.soft_counts(proba, *rows, (4, C, K))
    shares = (pool.CLASS_PRIOR + proba.sum(0)) / (C * pool.CLASS_PRIOR + len(proba))
    joint = np.log(shares) + oracles.evidence_of_others(counts, proba, *rows)
    assert_allclose(got.proba, oracles.normalised(joint)[0], rtol=1e-8)
    assert got.pool.worth(got.pool.dependence) == 4.0


def test_gold_is_certain_and_the_other_items_are_not():
    answers = everybody_answers(0)
    proba = np.full((20, C), 1 / C)
    gold = np.full(20, -1)
    gold[[3, 8]] = [2, 0]
    found = pool.pooled(answers, gold, proba, PRIORS, "learn")
    assert_array_equal(found.proba[[3, 8]], [[0, 0, 1], [1, 0, 0]])
    assert found.proba[gold < 0].max() < 1
    assert found.calibration.n_gold == 2
    unknown = pool.pooled(answers, np.full(20, -1), proba, PRIORS, "learn")
    assert unknown.calibration is None


@pytest.mark.parametrize("dependence", ["learn", 0.3])
def test_answers_that_are_given_again_change_nothing(dependence):
    answers = everybody_answers(1)
    columns = answers.item, answers.annotator, answers.answer
    again = [np.concatenate([column, column[::3]]) for column in columns]
    again = Answers.from_codes(*again, answers.shape)
    proba = np.random.default_rng(1).dirichlet(np.ones(C), 20)
    gold = np.arange(20) % 4 - 1
    one, two = (
        pool.pooled(a, gold, proba, PRIORS, dependence) for a in (answers, again)
    )
    assert_array_equal(one.proba, two.proba)


def test_a_family_has_one_vote_per_item():
    answers = everybody_answers(2)
    proba = np.random.default_rng(2).dirichlet(np.ones(C), 20)
    found = pool.witnesses_of(answers, proba, PRIORS, 0.5, np.array([0, 0, 0, 1]))
    assert_allclose(found.n_each, 2.0)
    alone = pool.witnesses_of(answers, proba, PRIORS, 0.5)
    assert_allclose(alone.n_each, 4.0)


def test_some_items_keep_all_that_is_known_about_them():
    found = case(5)
    shares = drawn_pool(found.rng)
    some = np.array([1, 2, 5])
    verdict = np.log(found.rng.dirichlet(np.ones(C), N))
    for witnesses in (found.witnesses, found.witnesses._replace(verdict=verdict)):
        part = witnesses.of_items(some)
        assert_allclose(
            pool.labels(part, shares, NO_GOLD[:3]),
            pool.labels(witnesses, shares, NO_GOLD)[some],
            rtol=1e-10,
        )


@cache
def doubtful():
    """A crowd that gives reason for every doubt: families, features and some gold."""
    made = simulate(
        150, 8, 3, answers_per_item=6, groups=3, spammers=0, n_features=3,
        accuracy=0.7, activity="equal", random_state=0,
    )  # fmt: skip
    answers = made.answers.codes
    gold = np.where(np.arange(150) % 6 == 0, made.truth, -1)
    proba = np.eye(3)[answers.votes().argmax(1)]
    X = made.X.astype(float)
    centre = np.stack([X[made.truth == c].mean(0) for c in range(3)])
    logits = -((X[:, None] - centre) ** 2).sum(2) / 2
    return answers, gold, proba, crowd.posterior(logits)[0]


@pytest.mark.parametrize("field", pool.Doubts._fields)
def test_every_doubt_changes_labels_on_some_crowd(field):
    answers, gold, proba, predicted = doubtful()
    value = getattr(pool.DOUBTS, field)
    labels = [
        pool.pooled(
            answers, gold, proba, (crowd.diagonal_prior(3, 3, 4.0, 1.0)[None],),
            "learn", log_proba=pool.bounded_log(predicted), doubts=doubts,
        ).proba
        for doubts in (pool.DOUBTS, pool.DOUBTS._replace(**{field: 2 * value}))
    ]  # fmt: skip
    assert np.abs(labels[0] - labels[1]).max() > 1e-3


# -- predictions, and new items --------------------------------------------------------


@given(seeds, st.booleans())
@settings(max_examples=10)
def test_labels_of_new_items_agree_with_the_formula(seed, with_features):
    found = case(seed)
    shares = drawn_pool(found.rng)
    beyond = found.beyond if with_features else None
    answers = drawn_answers(seed + 1)
    rows = rows_of(answers)
    twice = Answers.from_codes(*np.array(rows + rows[::2]).T, answers.shape)
    got = pool.labels_of_new(twice, found.witnesses.readings[0], shares, beyond)
    want = oracles.pool_labels(
        rows, [1.0] * len(rows), None, found.readings[:1], shares._asdict(), NO_GOLD,
        beyond,
    )  # fmt: skip
    assert_allclose(got, want, rtol=1e-8, atol=1e-12)


@given(seeds)
@settings(max_examples=10)
def test_beyond_shares_takes_the_mean_prediction_away(seed):
    proba = np.random.default_rng(seed).dirichlet(np.ones(C), N)
    got = pool.beyond_shares(np.log(proba))
    for c in range(C):
        mean = sum(row[c] for row in proba) / N
        for n in range(N):
            assert_allclose(got[n, c], math.log(proba[n, c] / mean), atol=1e-12)


def test_no_prediction_rules_out_a_class():
    proba = np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    got = np.exp(pool.bounded_log(proba))
    assert_allclose(got[0], np.array([1, 1e-4, 1e-4]) / 1.0002, rtol=1e-12)
    assert_allclose(got[1], proba[1], rtol=1e-12)


def test_items_without_answers_and_gold_are_predicted_like_new_ones():
    answers = drawn_answers(0)
    gold = NO_GOLD.copy()
    proba = np.full((N, C), 1 / C)
    log_proba = np.log(np.random.default_rng(0).dirichlet(np.ones(C), N))
    silent = np.flatnonzero(answers.n_per_item == 0)
    found = pool.Pooled(proba, drawn_pool(np.random.default_rng(0)), None)
    got = pool.with_predictions(found, answers, gold, log_proba).proba
    assert_allclose(got[silent], np.exp(log_proba)[silent])
    assert_array_equal(np.delete(got, silent, 0), np.delete(proba, silent, 0))
    gold[silent] = 1
    got = pool.with_predictions(found, answers, gold, log_proba).proba
    assert_array_equal(got, proba)


def test_predictions_of_new_items_are_as_sharp_as_the_labels():
    rng = np.random.default_rng(0)
    log_proba = np.log(rng.dirichlet(np.ones(C), 200))
    labels = crowd.posterior(0.4 * log_proba)[0]
    found = pool.Pooled(labels, drawn_pool(rng), None)
    got = pool.exponent_for_new(log_proba, found)
    assert_allclose(got, 0.4, rtol=1e-3)


@pytest.mark.parametrize("given_as", [-0.1, 1.1, "know", None, float("nan"), True])
def test_a_dependence_that_is_no_correlation_is_refused_with_a_sentence(given_as):
    with pytest.raises(InputError, match=r"^dependence=.* 'learn' or from 0 to 1\.$"):
        pool.checked_dependence(given_as)
    for fine in ("learn", 0, 0.5, 1):
        pool.checked_dependence(fine)


def test_gold_of_items_that_nobody_answered_tells_nothing_about_the_labels():
    item, who = np.divmod(np.arange(12), 3)
    truth = np.array([0, 1, 0, 1, 1, 0])
    answers = Answers.from_codes(item, who, truth[item], (6, 3, 2, 2))
    proba = np.where(np.eye(2)[truth] > 0, 0.9, 0.1)
    prior = (crowd.diagonal_prior(2, 2, 4.0, 1.0)[None],)
    alone = pool.pooled(answers, truth, proba, prior, "learn")
    assert alone.calibration.n_gold == 4
    assert alone.calibration.accuracy == 1
    said = np.log(proba)
    both = pool.pooled(answers, truth, proba, prior, "learn", log_proba=said)
    assert both.calibration.n_gold == 6
