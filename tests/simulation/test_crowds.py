import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KNeighborsClassifier

import oracles
from wisecrowd._checks import InputError
from wisecrowd.simulation import sampling
from wisecrowd.simulation.annotators import (
    KINDS,
    draw_confusion,
    draw_kinds,
    paper_annotators,
)
from wisecrowd.simulation.crowds import (
    draw_answers,
    draw_features,
    draw_truth,
    simulate,
)

SEEDS = st.integers(0, 2**32 - 1)


def frequencies(answers, truth, shape):
    return oracles.answer_frequencies(
        answers.item, answers.annotator, answers.answer, truth, shape
    )


def within_five_errors(counts, expected):
    """Whether all frequencies are those expected; fails once in 1e6 when they are."""
    n = counts.sum(-1, keepdims=True)
    error = np.sqrt(expected * (1 - expected) / np.maximum(n, 1))
    gap = np.abs(counts / np.maximum(n, 1) - expected)
    return (gap <= 5 * error + 1e-9)[np.broadcast_to(n > 0, gap.shape)].all()


def repeated_pairs(answers):
    return answers.to_frame().duplicated(["item", "annotator"]).sum()


# -- annotators --------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, n_classes=st.integers(2, 12))
def test_the_papers_annotators_are_as_the_paper_says(seed, n_classes):
    R = paper_annotators(n_classes, seed)
    assert R.shape == (5, n_classes, n_classes)
    assert_allclose(R.sum(2), 1)
    assert (R >= 0).all()
    for a, accuracy in enumerate([0.95, 0.90, 0.80]):
        assert_allclose(np.diag(R[a]), accuracy)
    assert_allclose(R[3], 1 / n_classes)
    for c in range(n_classes):
        assert_allclose(R[4, c, (c + 1) % n_classes], 0.9)


def test_the_remainder_of_the_papers_annotators_is_random():
    R = paper_annotators(6, 0)
    rest = R[0][~np.eye(6, dtype=bool)]
    assert len(np.unique(rest)) == 30


@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS,
    n_annotators=st.integers(1, 9),
    n_classes=st.integers(2, 5),
    skill=st.sampled_from(["beta", "dirichlet"]),
    cant_tell=st.sampled_from([0.0, 0.2]),
)
def test_confusion_rows_are_probabilities(
    seed, n_annotators, n_classes, skill, cant_tell
):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(KINDS, size=n_annotators)
    R = draw_confusion(
        kinds, n_classes, skill=skill, cant_tell=cant_tell, random_state=rng
    )
    assert R.shape == (n_annotators, n_classes, n_classes + (cant_tell > 0))
    assert (R >= 0).all()
    assert_allclose(R.sum(2), 1)


@pytest.mark.parametrize("skill", ["beta", "dirichlet"])
def test_skilled_annotators_have_the_mean_accuracy_asked_for(skill):
    kinds = draw_kinds(4000)
    R = draw_confusion(kinds, 3, skill=skill, accuracy=0.7, random_state=1)
    diagonal = R[:, range(3), range(3)]
    error = np.sqrt(0.7 * 0.3 / 11 / 4000)
    assert_allclose(diagonal.mean(0), 0.7, atol=5 * error)
    one_accuracy = np.ptp(diagonal, axis=1).max() < 1e-12
    assert one_accuracy == (skill == "beta")


def test_kinds_do_what_their_names_say():
    R = {k: draw_confusion(np.array([k]), 6, random_state=2)[0] for k in KINDS}
    assert_allclose(R["spammer"], 1 / 6)
    assert_allclose(R["adversary"][range(6), [1, 2, 3, 4, 5, 0]], 0.9)
    own = np.isclose(np.diag(R["specialist"]), 0.95)
    assert own.sum() == 3
    assert_allclose(R["specialist"][~own], 1 / 6)
    assert (R["skilled"].argmax(1) == range(6)).all()


def test_kinds_have_the_shares_asked_for_in_random_order():
    kinds = draw_kinds(
        200, spammers=0.1, adversaries=0.05, specialists=0.25, random_state=3
    )
    names, n = np.unique(kinds, return_counts=True)
    counted = dict(zip(names.tolist(), n.tolist(), strict=True))
    assert counted == {"adversary": 10, "skilled": 120, "specialist": 50, "spammer": 20}
    assert (kinds != np.sort(kinds)).any()


def test_cant_tell_is_said_as_often_as_asked_for():
    R = draw_confusion(draw_kinds(3000), 4, cant_tell=0.2, random_state=4)
    error = np.sqrt(0.2 * 0.8 / 11 / 3000)
    assert_allclose(R[:, 0, 4].mean(), 0.2, atol=5 * error)


# -- who answers what --------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(
    seed=SEEDS,
    n_items=st.integers(1, 12),
    n_annotators=st.integers(1, 8),
    share=st.floats(0.01, 1),
    activity=st.sampled_from(["equal", "heavy"]),
)
def test_answers_have_the_exact_total_and_nobody_answers_twice(
    seed, n_items, n_annotators, share, activity
):
    rng = np.random.default_rng(seed)
    n_answers = max(1, int(share * n_items * n_annotators))
    truth = rng.integers(3, size=n_items)
    R = draw_confusion(draw_kinds(n_annotators), 3, cant_tell=0.1, random_state=rng)
    answers = draw_answers(
        truth, R, n_answers=n_answers, activity=activity, random_state=rng
    )
    assert len(answers) == n_answers
    assert repeated_pairs(answers) == 0
    assert (np.diff(answers.item) >= 0).all()
    per_item = np.bincount(answers.item, minlength=n_items)
    assert per_item.max() - per_item.min() <= 1
    assert answers.counts().shape == (n_items, 4)
    assert answers.annotator.max() < n_annotators


@pytest.mark.parametrize("n_drawn", [1, 2, 3, 5])
def test_annotators_are_drawn_without_replacement_by_activity(n_drawn):
    # 2 of 6 is redrawn round by round, 3 and 5 of 6 by the exact draw
    weights = np.array([8.0, 4.0, 2.0, 1.0, 0.5, 0.5])
    n_items = 20_000
    R = np.ones((6, 2, 2)) / 2
    truth = np.zeros(n_items, dtype=int)
    answers = draw_answers(
        truth, R, answers_per_item=n_drawn, activity=weights, random_state=5
    )
    got = np.bincount(answers.annotator, minlength=6) / n_items
    want = oracles.inclusion(weights, n_drawn)
    error = np.sqrt(want * (1 - want) / n_items)
    assert (np.abs(got - want) <= 5 * error + 1e-12).all()


def test_the_exact_draw_goes_on_where_the_rounds_end(monkeypatch):
    monkeypatch.setattr(sampling, "MOST_ROUNDS", 1)
    monkeypatch.setattr(sampling, "MOST_CELLS", 60)
    weights = np.array([8.0, 4.0, 2.0, 1.0, 0.5, 0.5])
    R, n_items = np.ones((6, 2, 2)) / 2, 5_000
    truth = np.zeros(n_items, dtype=int)
    answers = draw_answers(
        truth, R, answers_per_item=2, activity=weights, random_state=6
    )
    got = np.bincount(answers.annotator, minlength=6) / n_items
    want = oracles.inclusion(weights, 2)
    assert repeated_pairs(answers) == 0
    assert (np.abs(got - want) <= 5 * np.sqrt(want * (1 - want) / n_items)).all()


def test_by_default_everyone_answers_everything():
    answers = draw_answers(np.array([0, 1, 1]), paper_annotators(2, 0), random_state=0)
    assert_array_equal(answers.annotator, np.tile(np.arange(5), 3))
    assert_array_equal(answers.item, np.repeat(np.arange(3), 5))


def test_answers_follow_the_confusion_matrices():
    A, C, K = 4, 2, 3
    rng = np.random.default_rng(7)
    R = rng.dirichlet(np.ones(K), size=(A, C))
    R[0, 1], R[1, 0] = [0, 1, 0], [0.5, 0, 0.5]  # zeros must stay zeros
    truth = rng.integers(C, size=3000)
    answers = draw_answers(truth, R, random_state=rng)
    counts = frequencies(answers, truth, (A, C, K))
    assert within_five_errors(counts, R)
    assert (counts[R == 0] == 0).all()


def test_repeats_are_allowed_when_asked_for():
    R = paper_annotators(3, 0)
    truth = np.array([0, 1, 2, 0])
    answers = draw_answers(truth, R, answers_per_item=20, repeats=True, random_state=0)
    assert len(answers) == 80
    assert repeated_pairs(answers) > 0


def test_heavy_activity_has_a_tail_and_equal_has_none():
    sizes = {"n_items": 2000, "n_annotators": 200, "answers_per_item": 10}
    share = {}
    for activity in ("heavy", "equal"):
        crowd = simulate(**sizes, activity=activity, random_state=8)
        n = np.sort(np.bincount(crowd.answers.annotator, minlength=200))[::-1]
        share[activity] = n[:20].sum() / n.sum()
    assert share["heavy"] > 0.5
    assert share["equal"] < 0.15


def test_an_inactive_annotator_never_answers():
    R = np.ones((4, 2, 2)) / 2
    truth = np.zeros(50, dtype=int)
    weights = [1, 0, 1, 1]
    for mean in (1, 3):
        answers = draw_answers(
            truth, R, answers_per_item=mean, activity=weights, random_state=9
        )
        assert (answers.annotator != 1).all()


def test_names_of_classes_and_the_answer_beyond_them():
    R = draw_confusion(draw_kinds(3), 2, cant_tell=0.5, random_state=0)
    truth = np.array([0, 1])
    named = draw_answers(truth, R, classes=["cat", "dog"], random_state=0)
    assert named.answers.tolist() == ["cat", "dog", "can't tell"]
    assert draw_answers(truth, R, random_state=0).answers.tolist() == [0, 1, 2]
    assert named.classes.tolist() == ["cat", "dog"]


# -- features ----------------------------------------------------------------------


@pytest.mark.parametrize(("separation", "low", "high"), [(12, 0.95, 1), (0, 0.1, 0.45)])
def test_separation_decides_how_much_features_say(separation, low, high):
    truth = draw_truth(1200, 4, random_state=10)
    X = draw_features(truth, 5, n_clusters=2, separation=separation, random_state=10)
    assert X.shape == (1200, 5)
    assert X.dtype == np.float32
    model = KNeighborsClassifier(15).fit(X[:800], truth[:800])
    assert low <= model.score(X[800:], truth[800:]) <= high


def test_centres_are_as_far_apart_as_asked_for():
    truth = np.repeat(np.arange(300), 2)
    X = draw_features(truth, 6, n_clusters=1, separation=50.0, random_state=11)
    other = np.roll(X, 2, axis=0)
    distance = np.sqrt(np.square(X - other).sum(1).mean() - 2 * 6)
    assert_allclose(distance, 50, rtol=0.1)


def test_skill_by_features_changes_the_accuracy_with_x_and_averages_the_matrix():
    crowd = simulate(
        20_000, 5, 3, answers_per_item=5, n_features=2, spammers=0.0,
        skill_by_features=True, random_state=12,
    )  # fmt: skip
    counts = frequencies(crowd.answers, crowd.truth, (5, 3, 3))
    # the mean over a thousand items of a class has an error of its own
    got = counts / counts.sum(2, keepdims=True)
    assert_allclose(got, crowd.confusion, atol=0.05)
    right = (crowd.answers.answer == crowd.truth[crowd.answers.item]).reshape(-1, 5)
    ahead = [
        max(abs(np.corrcoef(crowd.X[:, d], right[:, a])[0, 1]) for d in range(2))
        for a in range(5)
    ]
    assert min(ahead) > 0.1


def test_the_average_matrix_is_exact_for_items_of_small_classes():
    kwargs = {"n_features": 3, "skill_by_features": True, "random_state": 13}
    crowd = simulate(600, 4, 2, answers_per_item=4, **kwargs)
    counts = frequencies(crowd.answers, crowd.truth, (4, 2, 2))
    assert within_five_errors(counts, crowd.confusion)


# -- all together ------------------------------------------------------------------


def test_the_same_seed_gives_the_same_crowd_and_another_another():
    kwargs = {"n_features": 3, "specialists": 0.3, "skill_by_features": True}
    left, right = (simulate(30, 6, 3, random_state=14, **kwargs) for _ in range(2))
    other = simulate(30, 6, 3, random_state=15, **kwargs)
    for name in ("truth", "confusion", "X", "kinds"):
        assert_array_equal(getattr(left, name), getattr(right, name))
    assert_array_equal(left.answers.answer, right.answers.answer)
    assert (left.confusion != other.confusion).any()


# Made by the version before hard items, groups and copying were added.
FROZEN = [
    (
        {"n_items": 40, "n_annotators": 9, "n_classes": 3, "answers_per_item": 4},
        1763700346,
        1080.1427904312152,
    ),
    (
        {
            "n_items": 50, "n_annotators": 12, "n_classes": 4, "answers_per_item": 3.5,
            "skill": "dirichlet", "spammers": 0.2, "adversaries": 0.1,
            "specialists": 0.25, "cant_tell": 0.1, "n_features": 3,
            "skill_by_features": True,
        },
        1098106006,
        5728.821963550318,
    ),
    (
        {
            "n_items": 30, "n_annotators": 5, "n_classes": 2, "answers_per_item": 7,
            "repeats": True, "activity": "equal", "class_weights": [1, 3],
        },
        1895776379,
        95.0,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "checksum", "weighted_sum"), FROZEN)
def test_a_seed_gives_the_crowd_that_it_gave_before(settings, checksum, weighted_sum):
    crowd = simulate(**settings, random_state=7)
    said = crowd.answers
    codes = np.concatenate([said.item, said.annotator, said.answer, crowd.truth])
    assert zlib.crc32(codes.astype("<i8").tobytes()) == checksum
    R = crowd.confusion
    assert_allclose((R * np.arange(R.size).reshape(R.shape)).sum(), weighted_sum)
    assert (crowd.difficulty == 0).all()
    assert (crowd.decoy == -1).all()
    assert (crowd.group == -1).all()
    assert not crowd.copier.any()
    assert (crowd.copied_from == -1).all()


def test_features_do_not_change_who_answers_what():
    plain = simulate(30, 6, 3, random_state=16)
    with_x = simulate(30, 6, 3, n_features=2, random_state=16)
    assert plain.X is None
    assert_array_equal(plain.answers.to_frame(), with_x.answers.to_frame())


def test_class_weights_are_followed():
    crowd = simulate(500, 4, 3, answers_per_item=1, class_weights=[1, 0, 3])
    assert set(crowd.truth) == {0, 2}
    assert crowd.confusion.shape == (4, 3, 3)
    assert (crowd.truth == 2).sum() > (crowd.truth == 0).sum()


def test_a_crowd_of_ligos_size_takes_no_table_of_items_by_annotators():
    N, A, C, L = 173_565, 3_443, 15, 1_828_981
    tracemalloc.start()
    crowd = simulate(N, A, C, n_answers=L, random_state=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(crowd.answers) == L
    assert crowd.confusion.shape == (A, C, C)
    assert peak < N * A  # not even one byte per cell


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"answers_per_item": 7, "n_annotators": 5},
            "need 7 different .* 5 are active",
        ),
        ({"answers_per_item": 0}, "answers_per_item=0 must be"),
        ({"answers_per_item": float("nan")}, "answers_per_item=nan must be"),
        ({"answers_per_item": 1e300}, r"2e\+301 answers are too many"),
        ({"n_answers": 0}, "n_answers=0 on 20 items"),
        ({"n_annotators": 0}, "at least one annotator"),
        ({"spammers": float("nan")}, "their sum at most 1"),
        ({"class_weights": [1, -1, 1, 1]}, "class_weights must be finite, not neg"),
        ({"activity": np.zeros(30)}, "activity must be .* not all zero"),
        ({"n_classes": 1}, "at least two classes"),
        ({"spammers": 0.7, "adversaries": 0.4}, "their sum at most 1"),
        ({"specialists": -0.1}, "at least 0"),
        ({"accuracy": 1.5}, "accuracy=1.5"),
        ({"cant_tell": 1.0}, "cant_tell=1.0"),
        ({"activity": "sometimes"}, "activity='sometimes' is not one of"),
        ({"activity": [1.0, 2.0]}, "30 numbers"),
        ({"class_weights": [1, 1]}, "needs 4 entries"),
        ({"classes": ["a", "b"]}, "classes has 2 names"),
        ({"skill_by_features": True}, "n_features=2"),
        ({"difficulty": 1.5}, "difficulty must be the share of hard items"),
        ({"copiers": 1.0}, "copiers=1.0 must be a share"),
        ({"copy_probability": 1.2}, "copy_probability=1.2 must be"),
        ({"groups": 31}, "groups=31 must be from 0"),
        ({"group_slip": -0.1}, "group_slip=-0.1 must be"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_a_sentence(settings, message):
    with pytest.raises(InputError, match=message):
        simulate(20, **settings)
