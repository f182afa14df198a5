import tracemalloc

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import oracles
from wisecrowd import metrics
from wisecrowd._checks import InputError
from wisecrowd.annotations import Annotations
from wisecrowd.metrics.calibration import calibration

SEEDS = st.integers(0, 2**32 - 1)


def random_scores(seed, n_items, n_classes):
    """Truth with gaps and probabilities with ties, zeros and ones."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, 0.3), size=n_items).round(2)
    proba[:, 0] += 1 - proba.sum(1)
    proba = np.abs(proba) / np.abs(proba).sum(1, keepdims=True)
    truth = rng.integers(-1, n_classes, size=n_items)
    truth[0] = rng.integers(n_classes)
    return truth, proba


def random_crowd(seed, n_items, n_annotators, n_answers, n_rows):
    """Annotations with repeats, and items and annotators without any."""
    rng = np.random.default_rng(seed)
    return Annotations.from_triples(
        rng.integers(n_items, size=n_rows),
        rng.integers(n_annotators, size=n_rows),
        rng.integers(n_answers, size=n_rows),
        items=np.arange(n_items),
        annotators=np.arange(n_annotators),
        classes=np.arange(n_answers),
    )


def expected_scores(truth, proba, n_bins=metrics.N_BINS):
    known = truth >= 0
    truth, proba = truth[known], proba[known]
    of_item = pd.DataFrame(
        oracles.score_of_items(truth, proba, metrics.SMALLEST_PROBABILITY)
    )
    rows = []
    for c in range(proba.shape[1]):
        mine = truth == c
        row = {name: of_item[name][mine].mean() for name in of_item}
        row["n_items"] = mine.sum()
        row["auc"] = oracles.area_under_roc(mine, proba[:, c])
        row["calibration_error"] = oracles.binned_gap(mine, proba[:, c], n_bins)
        rows.append(row)
    hits = of_item["accuracy"] == 1
    defined = [r["auc"] for r in rows if not np.isnan(r["auc"])]
    everything = {
        **of_item.mean().to_dict(),
        "n_items": len(truth),
        "auc": np.mean(defined) if defined else np.nan,
        "calibration_error": oracles.binned_gap(hits, proba.max(1), n_bins),
    }
    if len(rows) == 2:
        everything["auc"] = rows[1]["auc"]
    return pd.DataFrame([*rows, everything])


# -- probabilities -----------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, n_items=st.integers(1, 40), n_classes=st.integers(1, 5))
def test_scores_are_those_of_the_loops_for_every_class_and_all(
    seed, n_items, n_classes
):
    truth, proba = random_scores(seed, n_items, n_classes)
    got = metrics.scores(truth, proba)
    want = expected_scores(truth, proba)
    assert got.index.tolist() == [*range(n_classes), "all"]
    assert_allclose(got.to_numpy(float), want[got.columns].to_numpy(float), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, n_items=st.integers(1, 40), n_classes=st.integers(2, 5))
def test_each_score_alone_is_the_last_row_of_the_table(seed, n_items, n_classes):
    truth, proba = random_scores(seed, n_items, n_classes)
    everything = metrics.scores(truth, proba, n_bins=7).loc["all"]
    for name in ("accuracy", "mean_likelihood", "log_loss", "brier", "auc"):
        assert_allclose(getattr(metrics, name)(truth, proba), everything[name])
    ece = metrics.calibration_error(truth, proba, n_bins=7)
    assert_allclose(ece, everything["calibration_error"])


def test_scores_agree_with_scikit_learn():
    rng = np.random.default_rng(3)
    truth, proba = rng.integers(4, size=200), rng.dirichlet(np.ones(4), size=200)
    proba[np.arange(200), truth] += 0.3
    proba /= proba.sum(1, keepdims=True)
    got = metrics.scores(truth, proba).loc["all"]
    assert_allclose(got["log_loss"], sklearn.metrics.log_loss(truth, proba))
    area = sklearn.metrics.roc_auc_score(truth, proba, multi_class="ovr")
    assert_allclose(got["auc"], area)
    assert_allclose(
        got["accuracy"], sklearn.metrics.accuracy_score(truth, proba.argmax(1))
    )
    # One class at a time: scikit-learn 1.6 knows the score of two classes only.
    squared = [
        sklearn.metrics.brier_score_loss(truth == c, proba[:, c]) for c in range(4)
    ]
    assert_allclose(got["brier"], sum(squared))


def test_auc_of_two_classes_is_the_plain_one():
    rng = np.random.default_rng(4)
    truth, p = rng.integers(2, size=90), rng.random(90).round(1)
    got = metrics.auc(truth, np.column_stack([1 - p, p]))
    assert_allclose(got, sklearn.metrics.roc_auc_score(truth, p))


def test_auc_of_a_class_that_no_item_has_is_nan_and_the_mean_goes_on():
    proba = [[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.7, 0.1, 0.2]]
    table = metrics.scores([0, 1, 0], proba)
    assert table["auc"].isna().tolist() == [False, False, True, False]
    assert table["accuracy"].isna().tolist() == [False, False, True, False]
    assert table.loc[2, "n_items"] == 0


def test_a_certain_mistake_costs_a_finite_amount():
    loss = metrics.log_loss([0, 1], [[0.0, 1.0], [0.0, 1.0]])
    assert_allclose(loss, -np.log(metrics.SMALLEST_PROBABILITY) / 2)


def test_perfect_probabilities_have_perfect_scores():
    truth = np.array([0, 1, 2, 3, 1])
    row = metrics.scores(truth, np.eye(4)[truth]).loc["all"]
    assert row.tolist() == [5, 1, 1, 0, 0, 1, 0]


@pytest.mark.parametrize(
    "truth",
    [
        ["b", None, "a", np.nan],
        pd.Series(["b", None, "a", None]),
        np.array(["b", None, "a", -1], dtype=object),
        pd.Series(["b", None, "a", None], index=[4, 3, 2, 1], dtype="category"),
    ],
)
def test_truth_may_be_names_with_gaps(truth):
    assert metrics.truth_codes(truth, ["a", "b", "c"]).tolist() == [1, -1, 0, -1]


@pytest.mark.parametrize(
    "truth",
    [[1, -1, 0], [1.0, np.nan, 0.0], [1, None, 0], np.array([1, -1, 0], np.int8)],
)
def test_truth_may_be_codes_with_gaps(truth):
    assert metrics.truth_codes(truth, 2).tolist() == [1, -1, 0]


def test_minus_one_is_a_class_where_it_is_named_as_one():
    assert metrics.truth_codes([-1, 1, None], [-1, 1]).tolist() == [0, 1, -1]


def test_booleans_are_classes_when_named():
    assert metrics.truth_codes([True, False], [False, True]).tolist() == [1, 0]


def test_items_without_truth_change_nothing_but_are_counted():
    truth, proba = random_scores(5, 30, 3)
    known = truth >= 0
    assert 0 < known.sum() < 30
    with_gaps, without = (
        metrics.scores(truth, proba),
        metrics.scores(truth[known], proba[known]),
    )
    pd.testing.assert_frame_equal(with_gaps, without)
    assert with_gaps.loc["all", "n_items"] == known.sum()


def test_permuted_classes_permute_the_rows_only():
    truth, proba = random_scores(6, 50, 4)
    order = np.array([2, 0, 3, 1])
    names = np.array(["a", "b", "c", "d"])
    said = [None if t < 0 else names[t] for t in truth]
    left = metrics.scores(said, proba, names)
    right = metrics.scores(said, proba[:, order], names[order])
    assert_allclose(right.loc[left.index], left)


@pytest.mark.parametrize(
    ("truth", "proba", "classes", "message"),
    [
        (["x"], [[0.5, 0.5]], ["a", "b"], r"1 of 1 true classes .*'a', 'b'.*: 'x'"),
        ([2], [[0.5, 0.5]], None, r"not among the 2 classes"),
        ([0, 1], [[0.5, 0.5]], None, r"shape \(1, 2\), but there are 2 true"),
        ([0], [[0.5, 0.5]], [0, 1, 2], r"and 3 names of classes"),
        ([0], [0.5], None, r"shape \(1,\)"),
        ([0], [[0.5, 0.4]], None, r"row 0: 0\.5, 0\.4"),
        ([0], [[np.nan, 1.0]], None, r"not probabilities"),
        ([0], [[-0.5, 1.5]], None, r"not probabilities"),
        ([-1, None], [[0.5, 0.5]] * 2, None, r"none of the 2 items"),
    ],
)
def test_input_that_cannot_be_scored_is_refused_with_a_sentence(
    truth, proba, classes, message
):
    with pytest.raises(InputError, match=message):
        metrics.scores(truth, proba, classes)


def test_float32_probabilities_are_accepted():
    rng = np.random.default_rng(8)
    proba = rng.dirichlet(np.ones(15), size=40).astype(np.float32)
    assert 0 <= metrics.accuracy(rng.integers(15, size=40), proba) <= 1


# -- agreement ---------------------------------------------------------------------


def published(rows):
    """Rows are coders, columns units, a dot is no answer (Krippendorff's layout)."""
    table = [[np.nan if a == "." else int(a) for a in row.split()] for row in rows]
    return Annotations.from_matrix(np.array(table).T)


def test_alpha_is_the_published_one_of_krippendorff_2011():
    answers = published(
        [
            "1 2 3 3 2 1 4 1 2 . . .",
            "1 2 3 3 2 2 4 1 2 5 . 3",
            ". 3 3 3 2 3 4 2 2 5 1 .",
            "1 2 3 3 2 4 4 1 2 5 1 .",
        ]
    )
    assert_allclose(metrics.krippendorff_alpha(answers), 0.743, atol=5e-4)


def test_alpha_is_the_published_one_of_three_coders():
    answers = published(
        [
            ". . . . . 3 4 1 2 1 1 3 3 . 3",
            "1 . 2 1 3 3 4 3 . . . . . . .",
            ". . 2 1 3 4 4 . 2 1 1 3 3 . 4",
        ]
    )
    assert_allclose(metrics.krippendorff_alpha(answers), 0.691, atol=5e-4)


def test_kappa_is_the_published_one_of_fourteen_raters():
    counts = np.array(
        [
            [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0],
            [2, 2, 8, 1, 1], [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2],
            [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
        ]
    )  # fmt: skip
    rows = np.array([np.repeat(np.arange(5), row) for row in counts])
    assert rows.shape == (10, 14)
    answers = Annotations.from_matrix(rows)
    assert_allclose(metrics.fleiss_kappa(answers), 0.210, atol=5e-4)


CROWDS = {
    "seed": SEEDS,
    "n_items": st.integers(1, 9),
    "n_annotators": st.integers(1, 5),
    "n_answers": st.integers(1, 4),
    "n_rows": st.integers(1, 60),
}


@settings(max_examples=100, deadline=None)
@given(**CROWDS)
def test_alpha_and_kappa_are_those_of_the_loops_with_repeats(
    seed, n_items, n_annotators, n_answers, n_rows
):
    answers = random_crowd(seed, n_items, n_annotators, n_answers, n_rows)
    rows = (answers.item, answers.annotator, answers.answer, n_answers)
    alpha, kappa = oracles.krippendorff(*rows), oracles.fleiss(*rows)
    assert_allclose(metrics.krippendorff_alpha(answers), alpha, atol=1e-9)
    assert_allclose(metrics.fleiss_kappa(answers), kappa, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(**CROWDS, min_shared=st.integers(1, 4))
def test_pairwise_cohen_is_that_of_the_loops_with_repeats(
    seed, n_items, n_annotators, n_answers, n_rows, min_shared
):
    answers = random_crowd(seed, n_items, n_annotators, n_answers, n_rows)
    rows = (answers.item, answers.annotator, answers.answer, n_answers)
    want = []
    for first in range(n_annotators):
        for second in range(first + 1, n_annotators):
            n, agreement, kappa = oracles.cohen(*rows, first, second)
            if n >= min_shared:
                want.append([first, second, n, agreement, kappa])
    got = metrics.pairwise_cohen(answers, min_shared=min_shared)
    names = ["first", "second", "n_shared", "agreement", "kappa"]
    assert got.columns.tolist() == names
    assert_allclose(got.to_numpy(float), np.reshape(want, (-1, 5)), atol=1e-9)


def test_pairwise_cohen_agrees_with_scikit_learn_and_names_the_pair():
    rng = np.random.default_rng(9)
    matrix = rng.integers(3, size=(40, 2))
    answers = Annotations.from_matrix(matrix, annotators=["zoe", "ann"])
    (row,) = metrics.pairwise_cohen(answers).to_dict("records")
    want = sklearn.metrics.cohen_kappa_score(matrix[:, 0], matrix[:, 1])
    assert (row["first"], row["second"], row["n_shared"]) == ("zoe", "ann", 40)
    assert_allclose(row["kappa"], want)


def test_a_repeated_answer_is_not_agreement_with_oneself():
    once = Annotations.from_triples([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 0])
    thrice = Annotations.from_triples(
        [0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 1, 0]
    )
    for measure in (metrics.krippendorff_alpha, metrics.fleiss_kappa):
        assert_allclose(measure(thrice), measure(once))


def test_agreement_without_a_pair_or_with_one_answer_is_unknown():
    alone = Annotations.from_triples([0, 0, 1], [0, 0, 1], [0, 1, 1])
    unanimous = Annotations.from_triples([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1])
    for answers in (alone, unanimous):
        assert np.isnan(metrics.krippendorff_alpha(answers))
        assert np.isnan(metrics.fleiss_kappa(answers))
    assert len(metrics.pairwise_cohen(alone, min_shared=1)) == 0
    assert metrics.pairwise_cohen(unanimous, min_shared=2)["kappa"].isna().all()


def test_perfect_agreement_is_one_and_relabelling_changes_nothing():
    answers = random_crowd(10, 7, 4, 3, 50)
    renamed = Annotations.from_triples(
        -answers.item, answers.annotator + 5, 2 - answers.answer
    )
    same = Annotations.from_triples(answers.item, answers.annotator, answers.item % 3)
    for measure in (metrics.krippendorff_alpha, metrics.fleiss_kappa):
        assert_allclose(measure(renamed), measure(answers))
        assert_allclose(measure(same), 1.0)


def test_min_shared_below_one_is_refused():
    with pytest.raises(InputError, match="min_shared=0"):
        metrics.pairwise_cohen(random_crowd(0, 3, 2, 2, 9), min_shared=0)


@pytest.mark.slow
def test_agreement_at_ligos_size_takes_no_table_of_items_by_annotators():
    n_items, n_annotators = 173_565, 3_443
    answers = random_crowd(11, n_items, n_annotators, 15, 1_828_981)
    tracemalloc.start()
    assert abs(metrics.krippendorff_alpha(answers)) < 0.01
    assert abs(metrics.fleiss_kappa(answers)) < 0.01
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < n_items * n_annotators  # not even one byte per cell


# -- confusion matrices ------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, weighted=st.sampled_from(["no", "class", "row"]))
def test_confusion_error_is_that_of_the_loops(seed, weighted):
    rng = np.random.default_rng(seed)
    A, C, K = 5, 3, 4
    estimated, true = rng.dirichlet(np.ones(K), size=(2, A, C))
    given_weights = {
        "no": None,
        "class": rng.integers(3, size=C).astype(float),
        "row": rng.integers(3, size=(A, C)).astype(float),
    }[weighted]
    full = np.broadcast_to(1.0 if given_weights is None else given_weights, (A, C))
    got = metrics.confusion_error(estimated, true, given_weights)
    want = oracles.confusion_distance(estimated, true, full)
    assert got.columns.tolist() == ["mean_absolute", "total_variation", "max"]
    assert_allclose(got.to_numpy(), want, atol=1e-12)


def test_confusion_error_of_the_truth_is_zero_and_of_opposites_one():
    right, wrong = np.eye(2)[None], np.eye(2)[::-1][None]
    assert (metrics.confusion_error(right, right) == 0).all(axis=None)
    opposite = metrics.confusion_error(wrong, right, annotators=["ann"]).loc["ann"]
    assert opposite.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("shape", "weights", "message"),
    [
        ((5, 4, 3), None, r"\(5, 4, 3\) and \(5, 3, 4\)"),
        ((5, 3, 4), np.ones(4), r"shape \(3,\) .* \(5, 3\)"),
        ((5, 3, 4), -np.ones(3), "non-negative"),
    ],
)
def test_confusion_error_refuses_other_shapes(shape, weights, message):
    with pytest.raises(InputError, match=message):
        metrics.confusion_error(np.ones(shape), np.ones((5, 3, 4)), weights)


# -- calibration from gold items --------------------------------------------------


@given(seed=SEEDS, n_items=st.integers(1, 40))
def test_calibration_is_the_loop(seed, n_items):
    rng = np.random.default_rng(seed)
    truth, proba = rng.integers(3, size=n_items), rng.dirichlet(np.ones(3), n_items)
    found = calibration(truth, proba, 0.8)
    right, confidence, loss = oracles.right_sure_and_loss(truth, proba)
    assert (found.n_gold, found.level) == (n_items, 0.8)
    assert found.accuracy == pytest.approx(right)
    assert found.confidence == pytest.approx(confidence)
    assert found.overconfidence == pytest.approx(confidence - right)
    assert found.log_loss == pytest.approx(loss)
    assert 0 <= found.accuracy_low <= right <= found.accuracy_high <= 1
    gap = found.overconfidence_low, found.overconfidence_high
    assert gap == pytest.approx(
        (confidence - found.accuracy_high, confidence - found.accuracy_low)
    )


def test_intervals_of_the_accuracy_hold_it():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        truth = (rng.random(50) > 0.8).astype(int)
        found = calibration(truth, np.tile([0.9, 0.1], (50, 1)))
        held += found.accuracy_low <= 0.8 <= found.accuracy_high
    assert 0.85 < held / 400 < 0.95
