"""Dirichlet confusion matrices against loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta

import oracles
import wisecrowd as wc
from wisecrowd.maths import dirichlet
from wisecrowd.skills import ConfusionMatrices

N, A, C, K = 7, 5, 3, 4
NAMES = np.arange(A)


def made(drawn, each=False):
    """Some posterior; the prior is shared, or one table per annotator."""
    prior = drawn.rng.gamma(2.0, 1.0, (A if each else 1, C, K))
    counts = prior + oracles.soft_counts(drawn.proba, *drawn.rows, (A, C, K))
    return ConfusionMatrices(prior, counts)


def learned(drawn):
    """The prior of the whole crowd is learned."""
    before = ConfusionMatrices.before_answers("learned", NAMES, C, K)
    return before.learned_from(drawn.answers, drawn.proba)


def test_evidence_is_the_loop(drawn):
    skills = made(drawn)
    log_mean = np.array(
        [[dirichlet.mean_log(row) for row in table] for table in skills.counts]
    )
    want = oracles.evidence_per_item(log_mean, *drawn.rows, N)
    assert_allclose(skills.evidence(drawn.answers), want, rtol=1e-10, atol=1e-12)


def test_statistics_add_up_over_shards_of_items(drawn, parts_add_up):
    parts_add_up(made(drawn), drawn)


@pytest.mark.parametrize("each", [False, True])
def test_an_update_adds_the_statistics_to_the_prior(drawn, each):
    skills = made(drawn, each=each)
    found = drawn.rng.gamma(1.0, 2.0, (A, C, K))
    after = skills.updated(found)
    assert_allclose(after.counts, skills.prior + found)
    assert_allclose(after.prior, skills.prior)


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


def test_an_answer_that_names_no_class_is_not_a_mistake():
    rows = [(i, who, i % 2) for i in range(100) for who in range(4)]
    rows = [(i, w, 2 if w == 0 and i % 4 < 2 else z) for i, w, z in rows]
    item, who, said = zip(*rows, strict=True)
    answers = wc.Annotations.from_triples(item, who, said, classes=[0, 1], answers=[2])
    table = wc.BCC().fit(answers).annotator_summary().set_index("annotator")
    assert table.loc[0, "accuracy"] > 0.9
    assert table.loc[0, "low"] < table.loc[1, "low"]  # half as many answers
    assert table.loc[0, "informativeness"] < table.loc[1, "informativeness"]
    assert (table[["spammer", "adversarial"]] < 0.1).all(axis=None)
