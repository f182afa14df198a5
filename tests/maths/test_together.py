"""Signs that annotators are not independent, against loops and on drawn crowds."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
import wisecrowd as wc
from wisecrowd.answers import Answers
from wisecrowd.maths import together
from wisecrowd.simulation.crowds import simulate

seeds = st.integers(0, 10**6)
N, A, C, K = 45, 7, 3, 4


def drawn(seed):
    """Annotator 1 copies 0, 2 nearly does, 3 is good, 4 says one thing, 6 is silent.

    Every annotator answers each item at most once.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, C, N)
    said = np.empty((N, A), int)
    for a in range(A):
        right = rng.random(N) < (0.9 if a == 3 else 0.6)
        said[:, a] = np.where(right, truth, rng.integers(0, K, N))
    said[:, 1] = said[:, 0]
    said[:, 2] = np.where(rng.random(N) < 0.97, said[:, 0], said[:, 2])
    said[:, 4] = rng.integers(0, C)
    answered = rng.random((N, A)) < rng.choice([0.5, 0.9, 1.0], A)
    answered[:, 4] = answered[:, 4] & ((rng.random(N) < 0.2) | (truth == said[:, 4]))
    answered[:, 6] = False
    item, who = np.nonzero(answered)
    return Answers.from_codes(item, who, said[item, who], (N, A, C, K))


def rows_of(answers):
    columns = answers.item, answers.annotator, answers.answer
    return [tuple(row) for row in np.stack(columns, 1).tolist()]


@given(seeds, st.sampled_from([1, 10, 30]))
@settings(max_examples=10)
def test_pairs_agree_with_loops(seed, least):
    answers = drawn(seed)
    found = together.pairs(answers, least)
    got = {tuple(row[:2]): tuple(row[2:]) for row in np.stack(found, 1).tolist()}
    assert got == oracles.pairs_of_annotators(rows_of(answers), A, least)


@given(seeds)
@settings(max_examples=10)
def test_agreement_beyond_chance_is_cohens_kappa(seed):
    answers = drawn(seed)
    found = together.pairs(answers)
    rows, each = rows_of(answers), zip(*found, strict=True)
    want = [oracles.kappa_of_pair(rows, K, *pair) for pair in each]
    assert_allclose(together.beyond_chance(answers, found), want, rtol=1e-10)


@given(seeds)
@settings(max_examples=15)
def test_copies_are_linked_as_loops_link_them(seed):
    answers = drawn(seed)
    rules = together.COMMON, together.SAME, together.ODD
    group = list(range(A))
    for a in range(A):
        for b in range(a):
            if oracles.are_copies(rows_of(answers), a, b, *rules):
                group = [group[b] if g == group[a] else g for g in group]
    got = together.copies(answers)
    assert_array_equal(got[:, None] == got, np.equal.outer(group, group))


def test_a_copy_is_found_and_good_annotators_who_agree_are_no_copies():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, C, 200)
    drawn_wrong = (truth[:, None] + rng.integers(1, C, (200, 8))) % C
    said = np.where(rng.random((200, 8)) < 0.9, truth[:, None], drawn_wrong)
    said[:, 1] = said[:, 0]
    said[:, 2] = said[:, 3] = truth  # they agree because they make no mistakes
    item, who = np.divmod(np.arange(1600), 8)
    group = together.copies(Answers.from_codes(item, who, said.ravel(), (200, 8, C, C)))
    assert group[0] == group[1]
    assert len(set(group.tolist())) == 7


@given(seeds)
@settings(max_examples=10)
def test_a_group_has_one_vote_per_item(seed):
    answers = drawn(seed)
    group = np.random.default_rng(seed).integers(0, 3, A)
    weight = together.weight_of_copies(answers, group)
    rows = rows_of(answers)
    for (n, a, _), w in zip(rows, weight, strict=True):
        n_same = sum(m == n and group[b] == group[a] for m, b, _ in rows)
        assert w == 1 / n_same
    n_groups = len({(n, group[a]) for n, a, _ in rows})
    assert_allclose(weight.sum(), n_groups)


@given(seeds)
@settings(max_examples=15)
def test_who_answers_selectively_agrees_with_loops(seed):
    answers = drawn(seed)
    want = [
        oracles.selective_proba(rows_of(answers), a, K, *together.SKILLED)
        for a in range(A)
    ]
    assert_allclose(together.selective(answers), want, rtol=1e-8, atol=1e-12)


def test_a_spammer_of_one_answer_is_not_selective_and_a_rule_is():
    """Annotator 15 names class 0 for everything, 16 only where it is true."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 300)
    said = np.where(rng.random((300, 17)) < 0.8, truth[:, None], 1 - truth[:, None])
    said[:, 15:] = 0
    answered = np.ones((300, 17), bool)
    answered[:, 16] = (truth == 0) & (rng.random(300) < 0.4)
    item, who = np.nonzero(answered)
    found = together.selective(
        Answers.from_codes(item, who, said[item, who], (300, 17, 2, 2))
    )
    assert_array_equal(found[:15], 0.0)
    assert found[15] < 0.2
    assert found[16] > 0.99


def test_where_most_give_one_answer_only_all_of_them_are_selective():
    item = np.arange(12)
    who = item % 3
    said = np.where(who == 2, item // 3 % 2, who)  # only the last one varies
    found = together.selective(Answers.from_codes(item, who, said, (12, 3, 2, 2)))
    assert_array_equal(found, [1.0, 1.0, 0.0])


# -- agreement that skills do not explain -------------------------------------------


def made(seed, **settings):
    return simulate(
        400, 16, 3, answers_per_item=8, spammers=0, accuracy=0.7, activity="equal",
        random_state=seed, **settings,
    ).answers  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_only_families_agree_more_than_skills_explain(seed):
    assert together.excess_agreement(made(seed).codes) < 0.03  # six seeds: 0
    families = made(seed, groups=4, group_slip=0.6)
    assert together.excess_agreement(families.codes) > 0.1  # six seeds: .12 to .20


def test_without_three_pairs_there_is_nothing_to_compare():
    answers = drawn(0)
    two = answers.some(np.isin(answers.annotator, [3, 5]))
    assert together.excess_agreement(two) is None


@given(seeds)
@settings(max_examples=5)
def test_skills_of_pairs_come_back(seed):
    """With kappa = s s' exactly, and enough items, the skills are found."""
    skill = np.random.default_rng(seed).uniform(0.3, 0.9, A)
    first, second = np.triu_indices(A, 1)
    kappa = skill[first] * skill[second]
    common = np.full(len(first), 500.0)
    found = together.Pairs(first, second, common, common * kappa)
    assert_allclose(together.skills_of_pairs(found, kappa, A), skill, atol=0.02)


def test_of_very_many_pairs_the_items_of_some_are_taken():
    answers = drawn(2)
    some = together.some_items(answers, 300.0)
    assert 0 < (some.n_per_item.astype(float) ** 2).sum() <= 300
    assert len(some) < len(answers)
    assert together.some_items(answers) is answers


# -- what copies do to labels ---------------------------------------------------------


def with_a_copy(answers, annotator):
    """The answers, and those of one annotator again under a new name."""
    codes = answers.codes
    again = codes.annotator == annotator
    new = np.full(again.sum(), codes.n_annotators)
    return wc.Annotations.from_triples(
        np.concatenate([codes.item, codes.item[again]]),
        np.concatenate([codes.annotator, new]),
        np.concatenate([codes.answer, codes.answer[again]]),
        items=range(codes.n_items),
        annotators=range(codes.n_annotators + 1),
        classes=range(codes.n_classes),
    )


@pytest.mark.parametrize("annotator", [0, 3, 5])
def test_an_exact_copy_of_an_annotator_changes_labels_by_less_than_a_hundredth(
    annotator,
):
    answers = made(0)
    one = wc.Consensus().fit(answers).label_proba_
    two = wc.Consensus().fit(with_a_copy(answers, annotator)).label_proba_
    assert np.abs(one - two).max() < 0.01


def test_a_sign_is_computed_once_per_crowd_and_goes_with_it():
    asked = []
    sign = together.once(lambda answers: asked.append(len(answers)) or len(answers))
    crowd = wc.simulate(20, 4, 2, answers_per_item=3, random_state=0).answers.codes
    assert [sign(crowd), sign(crowd)] == [len(crowd)] * 2
    assert len(asked) == 1
    assert sign(crowd.of_items(np.arange(10))) < len(crowd)  # another crowd
    assert len(asked) == 2
    assert together.copies(crowd) is together.copies(crowd)
    assert crowd.distinct() is crowd.distinct()
    gone = weakref.ref(crowd)
    del crowd
    gc.collect()
    assert gone() is None
