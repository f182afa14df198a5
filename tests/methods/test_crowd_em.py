"""CrowdEM: a classifier of the user's own, and BCC with its predictions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import wisecrowd as wc
from wisecrowd import BCC, Consensus, CrowdEM, InputError

GIVEN = {"dependence": 0.1}  # learning it takes longer than all the rest


@pytest.fixture(scope="module")
def data():
    """Three classes, eight annotators, about two answers per item; X of new items."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 500)
    X = 3 * np.eye(4)[truth] + rng.normal(size=(500, 4))
    right = rng.random((500, 8)) < np.linspace(0.5, 0.85, 8)
    said = np.where(right, truth[:, None], (truth[:, None] + 1) % 3)
    said[rng.random(said.shape) > 0.25] = -1
    answers = wc.Annotations.from_matrix(said[:300], classes=range(3))
    return X[:300], answers, truth, X


@pytest.fixture(scope="module")
def alone(data):
    return (BCC(**GIVEN).fit(data[1]).labels_ == data[2][:300]).mean()


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        make_pipeline(StandardScaler(), LogisticRegression()),
        KNeighborsClassifier(20),
        DecisionTreeClassifier(max_depth=4, random_state=0),
    ],
    ids=str,
)
def test_features_help_labels_and_predict_new_items(data, alone, estimator):
    X, answers, truth, everything = data
    model = CrowdEM(estimator, **GIVEN).fit(X, answers)
    assert (model.labels_ == truth[:300]).mean() > alone + 0.03
    assert (model.predict(everything[300:]) == truth[300:]).mean() > alone
    proba = model.predict_proba(everything[300:])
    assert wc.metrics.log_loss(truth[300:], proba) < 0.8
    assert 0.2 < model.sharpness_ < 4.1


def test_useless_features_leave_the_labels_of_the_answers(data):
    _, answers, _truth, _ = data
    noise = np.random.default_rng(0).normal(size=(300, 60))
    model, alone = CrowdEM(**GIVEN).fit(noise, answers), Consensus(**GIVEN).fit(answers)
    answered = answers.codes.n_per_item > 0
    assert (model.labels_ == alone.labels_)[answered].mean() > 0.97
    assert np.abs(model.label_proba_ - alone.label_proba_)[answered].mean() < 0.02


def test_the_estimator_is_cloned_and_reachable(data):
    mine = LogisticRegression()
    model = CrowdEM(mine, n_rounds=1, **GIVEN).fit(*data[:2])
    assert not hasattr(mine, "coef_")
    assert model.estimator_.coef_.shape == (3, 4)
    assert model.get_params()["estimator__C"] == 1.0
    scores = model.sharpness_ * np.log(model.estimator_.predict_proba(data[0]))
    want = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    assert_allclose(model.predict_proba(data[0]), want, atol=2e-3)


def test_a_model_with_an_estimator_is_not_saved(data, tmp_path):
    model = CrowdEM(LogisticRegression(), n_rounds=1, **GIVEN).fit(*data[:2])
    why = r"setting estimator is a LogisticRegression.*need a pickle.*estimator_"
    with pytest.raises(InputError, match=why):
        wc.save(model, tmp_path)


def test_gold_sets_the_exponent_of_predictions(data):
    X, answers, truth, _ = data
    gold = {n: truth[n] for n in range(0, 300, 3)}
    model = CrowdEM(n_rounds=1).fit(X, answers, gold=gold)
    assert model.calibration_ is not None
    assert_array_equal(model.labels_[::3], truth[:300:3])


def test_a_class_that_only_one_item_has_works(data):
    X, answers, _, _ = data
    wider = answers.recoded(
        classes=[*answers.classes, 7], answers=[*answers.classes, 7]
    )
    model = CrowdEM(LogisticRegression(), n_rounds=1, **GIVEN)
    assert model.fit(X, wider).predict_proba(X).shape == (300, 4)


@pytest.mark.parametrize("wrong", [{"n_rounds": 0}, {"n_folds": 1}], ids=str)
def test_a_wrong_setting_is_refused(data, wrong):
    with pytest.raises(InputError, match="whole number"):
        CrowdEM(**wrong).fit(*data[:2])


# -- BCC with predictions --------------------------------------------------------------


def test_perfect_predictions_raise_the_accuracy_of_bcc(data, alone):
    _, answers, truth, _ = data
    perfect = np.eye(3)[truth[:300]]
    model = BCC(**GIVEN).fit(answers, proba=perfect)
    assert (model.labels_ == truth[:300]).mean() > max(0.96, alone + 0.05)


def test_helpful_predictions_help_the_annotators_too(data):
    _, answers, truth, _ = data
    rng = np.random.default_rng(0)
    hit = rng.random(300) < 0.8
    said = np.where(hit, truth[:300], (truth[:300] + 1) % 3)
    proba = 0.1 + 0.7 * np.eye(3)[said]
    plain, helped = BCC(**GIVEN).fit(answers), BCC(**GIVEN).fit(answers, proba=proba)
    right = [(m.labels_ == truth[:300]).mean() for m in (plain, helped)]
    assert right[1] > right[0] + 0.03
    assert np.abs(helped.confusion_ - plain.confusion_).max() > 0.005


@pytest.mark.parametrize("sure", [0.5, 5.0])
def test_useless_predictions_change_nearly_nothing(data, sure):
    _, answers, _, _ = data
    useless = np.random.default_rng(0).dirichlet(np.full(3, 1 / sure), 300)
    plain, model = BCC(**GIVEN).fit(answers), BCC(**GIVEN).fit(answers, proba=useless)
    assert (model.labels_ == plain.labels_).mean() > 0.97
    assert np.abs(model.label_proba_ - plain.label_proba_).mean() < 0.03


def test_a_table_of_predictions_is_joined_by_names(data):
    import pandas as pd

    _, answers, _truth, _ = data
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    table = pd.DataFrame(proba, index=answers.items, columns=answers.classes)
    shuffled = table.sample(frac=1, random_state=0).iloc[:, ::-1]
    more = pd.concat([shuffled, pd.DataFrame([[1.0, 0, 0]], ["new"], table.columns)])
    want = BCC(**GIVEN).fit(answers, proba=proba).label_proba_
    got = BCC(**GIVEN).fit(answers, proba=more).label_proba_
    assert_allclose(got, want, rtol=1e-6)  # sums in another order
    with pytest.raises(InputError, match="no row for 1 of 300 item names: 0"):
        BCC().fit(answers, proba=table.iloc[1:])
    with pytest.raises(InputError, match="no column for 1 of 3 class names"):
        BCC().fit(answers, proba=table.iloc[:, 1:])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda p: p[:-1], r"shape \(299, 3\); expected \(300, 3\)"),
        (lambda p: p[:, :2], "expected"),
        (lambda p: 2 * p, r"in 300 of 300 rows"),
        (lambda p: np.where(p == p[5, 1], np.nan, p), r"in 1 of 300 .* item 5"),
        (lambda p: p - 0.9, "missing or negative"),
        (lambda p: [*p.astype(str).tolist()[:1], ["x", "y", "z"]], "not numbers"),
    ],
    ids=range(6),
)
def test_predictions_that_are_none_are_refused(data, change, why):
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    with pytest.raises(InputError, match=why):
        BCC().fit(data[1], proba=change(proba))
