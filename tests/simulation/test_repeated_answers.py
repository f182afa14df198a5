import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from wisecrowd._checks import InputError
from wisecrowd.answers import Answers
from wisecrowd.simulation.annotators import draw_confusion, draw_kinds
from wisecrowd.simulation.crowds import draw_answers, simulate
from wisecrowd.simulation.repeated_answers import (
    draw_copiers,
    draw_groups,
    first_member,
    mean_confusion,
    rows_of_copies,
    rows_of_groups,
)

SEEDS = st.integers(0, 10**6)


def small(seed, n_items=6, n_annotators=5, n_rows=25):
    """Answers with repeats, items without answers, and annotators without answers."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(n, size=n_rows) for n in (n_items - 1, n_annotators - 1, 3)]
    return Answers.from_codes(*columns, (n_items, n_annotators, 2, 3)), rng


def rows_within_five_errors(answers, truth, confusion):
    """Whether the frequencies of the answers are those of the confusion matrices."""
    columns = (answers.item, answers.annotator, answers.answer)
    counts = oracles.answer_frequencies(*columns, truth, confusion.shape)
    n = np.maximum(counts.sum(-1, keepdims=True), 1)
    error = np.sqrt(confusion * (1 - confusion) / n)
    return (np.abs(counts / n - confusion) <= 5 * error)[counts.sum(-1) > 0].all()


# -- groups ------------------------------------------------------------------------


def test_groups_are_of_equal_size_and_in_random_order():
    group = draw_groups(4, 22, random_state=0)
    assert sorted(np.bincount(group).tolist()) == [5, 5, 6, 6]
    assert (np.diff(group) != 1).any()
    assert (draw_groups(0, 3) == -1).all()
    assert draw_groups([2, -1, 2], 3).tolist() == [2, -1, 2]


@pytest.mark.parametrize("groups", [-1, 4, 1.5, [0, 1], ["a", "b", "c"]])
def test_groups_that_cannot_be_are_refused(groups):
    with pytest.raises(InputError, match="groups"):
        draw_groups(groups, 3)


@given(SEEDS, st.floats(0, 1))
def test_all_members_on_an_item_repeat_the_first_or_none_does(seed, slip):
    answers, rng = small(seed)
    group = rng.integers(-1, 2, size=5)
    source = rows_of_groups(answers, group, slip, rng)
    cells = {}
    for row in range(len(answers)):
        if group[answers.annotator[row]] < 0:
            assert source[row] == row
        else:
            cell = (answers.item[row], group[answers.annotator[row]])
            cells.setdefault(cell, []).append(row)
    for rows in cells.values():
        assert source[rows].tolist() in (rows, [rows[0]] * len(rows))


def test_members_of_a_group_have_one_kind_and_one_matrix():
    crowd = simulate(50, 12, 3, groups=3, spammers=0.5, random_state=1)
    for g in range(3):
        mine = np.flatnonzero(crowd.group == g)
        assert len(mine) == 4
        assert len(set(crowd.kinds[mine])) == 1
        assert_allclose(crowd.confusion[mine], crowd.confusion[mine[:1]].repeat(4, 0))


def test_a_slip_is_the_correlation_within_a_group_and_changes_no_frequency():
    slip, n_items = 0.35, 20_000
    group = np.array([0, 1, 0, 1, 0])
    R = draw_confusion(draw_kinds(5), 3, random_state=2)[first_member(group)]
    truth = np.random.default_rng(2).integers(3, size=n_items)
    drawn = draw_answers(truth, R, random_state=2).codes
    rng = np.random.default_rng(3)
    answers = drawn.with_answer(drawn.answer[rows_of_groups(drawn, group, slip, rng)])
    known = np.eye(3)[truth]
    for members, want in (([0, 2, 4], slip), ([1, 3], slip), ([0, 1], 0.0)):
        pair = answers.some(np.isin(answers.annotator, members))
        assert oracles.right_together(pair, R, known) == pytest.approx(want, abs=0.03)
    assert rows_within_five_errors(answers, truth, R)


# -- copying -----------------------------------------------------------------------


@given(SEEDS, st.floats(0, 1, exclude_max=True), st.integers(1, 20))
def test_the_share_of_copiers_is_exact_and_somebody_answers_alone(seed, share, n):
    copier = draw_copiers(share, n, random_state=seed)
    assert copier.shape == (n,)
    assert copier.sum() == min(round(share * n), n - 1)


@given(SEEDS, st.sampled_from([0.0, 0.5, 1.0]))
def test_copiers_repeat_an_answer_on_the_same_item_by_somebody_who_does_not(seed, p):
    answers, rng = small(seed)
    copier = rng.random(5) < 0.5
    source = rows_of_copies(answers, copier, p, rng)
    for row in range(len(answers)):
        from_whom = answers.annotator[source[row]]
        others = [
            r
            for r in range(len(answers))
            if answers.item[r] == answers.item[row] and not copier[answers.annotator[r]]
        ]
        assert answers.item[source[row]] == answers.item[row]
        if not copier[answers.annotator[row]] or p == 0 or not others:
            assert source[row] == row
        else:
            assert not copier[from_whom] or (source[row] == row and p < 1)


def test_copies_have_their_probability_and_sources_are_equally_likely():
    n_items, p = 9000, 0.6
    item, who = np.repeat(np.arange(n_items), 4), np.tile(np.arange(4), n_items)
    answers = Answers.from_codes(item, who, 0 * who, (n_items, 4, 2, 2))
    copier = np.array([False, True, False, False])
    rng = np.random.default_rng(4)
    source = rows_of_copies(answers, copier, p, rng)
    n = np.bincount(answers.annotator[source[answers.annotator == 1]], minlength=4)
    want = n_items * np.array([p / 3, 1 - p, p / 3, p / 3])
    assert (np.abs(n - want) <= 5 * np.sqrt(want * (1 - want / n_items))).all()


def test_the_crowd_records_who_was_copied_and_averages_the_matrix():
    crowd = simulate(
        20_000, 6, 3, answers_per_item=6, copiers=0.5, copy_probability=0.7,
        spammers=0.0, random_state=5,
    )  # fmt: skip
    said = crowd.answers.codes
    assert crowd.copier.sum() == 3
    copied = np.flatnonzero(crowd.copied_from >= 0)
    assert crowd.copier[said.annotator[copied]].all()
    assert not crowd.copier[crowd.copied_from[copied]].any()
    assert len(copied) / (3 * 20_000) == pytest.approx(0.7, abs=0.01)
    answer_of = dict(
        zip(zip(said.item, said.annotator, strict=True), said.answer, strict=True)
    )
    for row in copied[:500]:
        source = (said.item[row], crowd.copied_from[row])
        assert said.answer[row] == answer_of[source]
    assert rows_within_five_errors(said, crowd.truth, crowd.confusion)


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_of_copiers_that_cannot_be_is_refused(share):
    with pytest.raises(InputError, match="copiers="):
        draw_copiers(share, 5)


# -- both --------------------------------------------------------------------------


@given(SEEDS)
def test_the_mean_confusion_is_that_of_the_loops(seed):
    answers, rng = small(seed)
    R = rng.dirichlet(np.ones(3), size=(5, 2))
    truth = rng.integers(2, size=6)
    source = rows_of_copies(answers, rng.random(5) < 0.5, 0.8, rng)
    want = oracles.repeated_confusion(R, answers.item, answers.annotator, truth, source)
    got = mean_confusion(R, answers, truth, source)
    assert_allclose(got, want, rtol=1e-12)


def test_all_mechanisms_work_together_and_average_the_matrices():
    crowd = simulate(
        15_000, 8, 3, answers_per_item=5, cant_tell=0.1, difficulty=0.2, groups=3,
        copiers=0.25, n_features=2, skill_by_features=True, activity="equal",
        random_state=6,
    )  # fmt: skip
    said = crowd.answers.codes
    columns = (said.item, said.annotator, said.answer)
    counts = oracles.answer_frequencies(*columns, crowd.truth, crowd.confusion.shape)
    got = counts / counts.sum(2, keepdims=True)
    # attention is averaged over a thousand items per class: not exact
    assert_allclose(got, crowd.confusion, atol=0.06)
    assert_allclose(crowd.confusion.sum(2), 1)


def test_the_same_seed_gives_the_same_hidden_truth():
    settings = {"difficulty": 0.3, "copiers": 0.3, "groups": 2}
    left, right = (simulate(40, 9, 3, random_state=7, **settings) for _ in range(2))
    for name in ("difficulty", "decoy", "group", "copier", "copied_from", "confusion"):
        assert_array_equal(getattr(left, name), getattr(right, name))
    assert_array_equal(left.answers.answer, right.answers.answer)
