"""Dirichlet confusion matrices against loops."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta

import oracles
from wisecrowd.maths import dirichlet
from wisecrowd.skills import ConfusionMatrices

N, A, C, K = 7, 5, 3, 4
NAMES = np.arange(A)


def made(drawn, dependence=0.0, each=False):
    """Some posterior; the prior is shared, or one table per annotator."""
    prior = drawn.rng.gamma(2.0, 1.0, (A if each else 1, C, K))
    counts = prior + oracles.soft_counts(drawn.proba, *drawn.rows, (A, C, K))
    return ConfusionMatrices(prior, counts, dependence=dependence)


def learned(drawn):
    """The prior of the whole crowd is learned."""
    before = ConfusionMatrices.before_answers("learned", NAMES, C, K)
    return before.learned_from(drawn.answers, drawn.proba)


@pytest.mark.parametrize("dependence", [0.0, 0.3])
def test_evidence_is_the_loop_and_inside_a_fit_nothing_is_discounted(drawn, dependence):
    skills = made(drawn, dependence)
    log_mean = np.array(
        [[dirichlet.mean_log(row) for row in table] for table in skills.counts]
    )
    want = oracles.evidence_per_item(log_mean, *drawn.rows, N)
    assert_allclose(skills.evidence(drawn.answers), want, rtol=1e-10, atol=1e-12)
    want = oracles.evidence_of_others(skills.counts, drawn.proba, *drawn.rows)
    got = skills.evidence_of_others(drawn.answers, drawn.proba)
    assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_statistics_add_up_over_shards_of_items(drawn, parts_add_up):
    parts_add_up(made(drawn), drawn)


@pytest.mark.parametrize("each", [False, True])
def test_an_update_adds_the_statistics_to_the_prior(drawn, each):
    skills = made(drawn, each=each)
    found = drawn.rng.gamma(1.0, 2.0, (A, C, K))
    after = skills.updated(found)
    assert_allclose(after.counts, skills.prior + found)
    assert_allclose(after.prior, skills.prior)
    assert after.dependence == skills.dependence


def test_an_update_of_a_learned_prior_climbs(drawn):
    skills = ConfusionMatrices.before_answers("learned", NAMES, C, K)
    found = skills.statistics(drawn.answers, drawn.proba)

    def value(skills):
        """What the bound has left of the annotators: log p(counts | α) + log p(α)."""
        total = skills.log_hyperprior()
        for a in range(A):
            for c in range(C):
                before = skills.prior[0, c]
                total += oracles.log_beta(before + found[a, c])
                total -= oracles.log_beta(before)
        return total

    values = [value(skills)]
    for _ in range(5):
        skills = skills.updated(found)
        assert_allclose(skills.counts, skills.prior + found)
        values.append(value(skills))
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > values[0] + 1e-3
    frozen = skills.with_statistics(2 * found)
    assert_allclose(frozen.prior, skills.prior)
    assert_allclose(frozen.counts, skills.prior + 2 * found)


@pytest.mark.parametrize("make", [made, learned])
def test_the_divergence_is_the_loop(drawn, make):
    skills = make(drawn)
    want = sum(
        oracles.dirichlet_kl(skills.counts[a, c], skills.prior[0, c])
        for a in range(A)
        for c in range(C)
    )
    assert want > 0
    assert_allclose(skills.divergence(), want, rtol=1e-9)


@pytest.mark.parametrize("spec", ["flat", "diagonal", "learned"])
def test_before_any_answer_there_is_no_divergence_and_everybody_is_the_prior(spec):
    skills = ConfusionMatrices.before_answers(spec, NAMES, C, K)
    assert skills.divergence() == pytest.approx(0.0, abs=1e-12)
    assert_allclose(skills.counts, np.repeat(skills.prior, A, 0))
    assert (skills.hyper is not None) is (spec == "learned")
    assert (skills.log_hyperprior() == 0.0) is (spec != "learned")


def test_the_confusion_is_the_mean_and_intervals_are_those_of_betas(drawn):
    skills = made(drawn)
    low, high = skills.interval(0.8)
    for a in range(A):
        for c in range(C):
            row = skills.counts[a, c]
            assert_allclose(skills.confusion()[a, c], row / row.sum())
            for k in range(K):
                ends = beta.ppf([0.1, 0.9], row[k], row.sum() - row[k])
                assert_allclose([low[a, c, k], high[a, c, k]], ends, rtol=1e-6)


def test_doubt_is_the_variance_of_the_right_answers_and_widens_the_interval(drawn):
    sure = made(drawn)
    skills = sure.with_doubt(drawn.answers, drawn.proba)
    want = oracles.hit_variance(drawn.proba, *drawn.rows, A)
    assert_allclose(skills.hit_variance, want, atol=1e-12)
    share = np.full(C, 1 / C)
    before, after = (part.summary(share, 0.9) for part in (sure, skills))
    doubtful = want > 0.1
    assert doubtful.any()
    width = (after["high"] - after["low"]) / (before["high"] - before["low"])
    assert (width[doubtful] > 1).all()
    assert_allclose(width[want == 0], 1.0)


def test_strangers_have_the_prior_of_the_crowd(drawn):
    shared, each = made(drawn), made(drawn, each=True)
    where = np.array([-1, 2])
    assert_allclose(shared.chosen(where).counts[0], shared.prior[0])
    assert_allclose(each.chosen(where).counts[0], each.prior.mean(0))
    assert_allclose(each.chosen(where).counts[1], each.counts[2])


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(
    ("dependence", "hard", "shared"),
    [(0.0, 0.0, 0.0), (0.3, 0.0, 0.0), (0.3, 0.1, 0.0), (0.3, 0.1, 0.5)],
)
def test_labels_are_the_loop_over_classes_and_decoys(
    drawn, dependence, hard, shared, own
):
    skills = replace(made(drawn, dependence), hard_share=hard, shared=shared)
    item, annotator, label = drawn.rows
    given = np.array(
        [skills.confusion()[a, :, k] for a, k in zip(annotator, label, strict=True)]
    )
    if own:  # each item's own part is left out
        counts = skills.counts
        for row, (n, a, k) in enumerate(zip(*drawn.rows, strict=True)):
            same = (item == n) & (annotator == a) & (label == k)
            part = same.sum() * drawn.proba[n]
            given[row] = (counts[a, :, k] - part) / (counts[a].sum(-1) - part)
    weight = oracles.answer_weight(item, N, dependence) / (1 + shared)
    log_class = np.log(drawn.rng.dirichlet(np.ones(C)))[None]
    features = drawn.rng.normal(size=(N, C))
    found = skills.final_labels(
        drawn.answers,
        log_class,
        np.full(N, -1),
        drawn.proba if own else None,
        features,
    )
    prior = weight[:, None] * log_class + features
    proba, is_hard, decoy = oracles.with_decoys(
        given, item, label, weight, prior, hard, 0.5
    )
    assert_allclose(found.proba, proba, rtol=1e-9, atol=1e-12)
    if not hard:
        assert found.hard is None
        return
    assert_allclose(found.hard.proba, is_hard, rtol=1e-7, atol=1e-12)
    assert_array_equal(found.hard.decoy, decoy)
    assert len(set(decoy)) > 2  # several classes, and items that only one was named on


def test_the_discount_changes_no_label_where_no_item_is_hard(drawn):
    skills = made(drawn, 0.3)
    log_class = np.log(drawn.rng.dirichlet(np.ones(C)))[None]
    got = skills.label_proba(drawn.answers, log_class, of_features=False)
    independent = replace(skills, dependence=0.0)
    same = independent.label_proba(drawn.answers, log_class, of_features=False)
    assert (got.argmax(1) == same.argmax(1)).all()


def test_a_prediction_is_discounted_where_answers_may_share_its_mistakes(drawn):
    skills = replace(made(drawn, 0.3), shared=0.5)
    some = drawn.answers.some(drawn.answers.item != 2)
    log_proba = np.log(drawn.proba)
    got = skills.label_proba(some, log_proba, of_features=True)
    assert_allclose(got[2], drawn.proba[2])  # nobody has answered item 2
    weight = oracles.answer_weight(some.item, N, 0.3) / 1.5
    for n in (0, 1):
        joint = log_proba[n] / 1.5
        for m, a, k in zip(some.item, some.annotator, some.answer, strict=True):
            if m == n:
                joint = joint + weight[n] * np.log(skills.confusion()[a, :, k])
        assert_allclose(got[n], np.exp(joint) / np.exp(joint).sum())


def test_gold_rules_out_every_other_class(drawn):
    skills = replace(made(drawn, 0.3), hard_share=0.1)
    gold = np.full(N, -1)
    gold[2] = 1
    found = skills.final_labels(drawn.answers, np.zeros((1, C)), gold, drawn.proba)
    assert_allclose(found.proba[2], [0, 1, 0])


def test_answers_that_are_independent_have_no_hard_items(drawn):
    skills = made(drawn)
    assert skills.with_dependence(0).hard_share == 0
    assert skills.with_dependence(0.2).hard_share > 0
    assert skills.with_dependence("learn").dependence == 0
    assert skills.with_dependence("learn").hard_share > 0
