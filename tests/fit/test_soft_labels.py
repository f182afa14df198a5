"""Soft labels for classifiers of scikit-learn, with weights and without."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from wisecrowd import InputError
from wisecrowd.fit import soft_labels
from wisecrowd.maths import logistic

PROBA = np.array([[1.0, 0, 0], [0.005, 0.7, 0.295], [0, 0.5, 0.5]])


def test_a_row_per_class_above_the_floor():
    rows = soft_labels.weighted_rows(PROBA)
    assert rows.item.tolist() == [0, 1, 1, 2, 2]
    assert rows.label.tolist() == [0, 1, 2, 1, 2]
    assert_allclose(np.bincount(rows.item, rows.weight), 1)
    assert_allclose(rows.weight[1] / rows.weight[2], 0.7 / 0.295)


@pytest.mark.parametrize("n_copies", [1, 4, 10])
def test_copies_have_classes_as_often_as_they_are_probable(n_copies):
    rows = soft_labels.repeated_rows(PROBA, n_copies)
    assert_array_equal(np.bincount(rows.item), n_copies)
    table = np.zeros(PROBA.shape)
    np.add.at(table, (rows.item, rows.label), rows.weight)
    assert np.abs(table - n_copies * PROBA).max() <= 1


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (LogisticRegression(), "sample_weight"),
        (KNeighborsClassifier(), None),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            "logisticregression__sample_weight",
        ),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), None),
        (
            make_pipeline(make_pipeline(StandardScaler(), GaussianNB())),
            "pipeline__gaussiannb__sample_weight",
        ),
    ],
    ids=str,
)
def test_weights_go_to_the_last_step(estimator, name):
    assert soft_labels.weight_parameter(estimator) == name


def crowd():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    p = 1 / (1 + np.exp(-2 * X[:, :1]))
    return X, np.hstack([1 - p, np.zeros_like(p), p])


def test_weights_are_used_inside_a_pipeline():
    X, proba = crowd()
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    made = soft_labels.learned_from(pipe, X, proba)
    got = made.proba(X)
    assert got.shape == (60, 3)
    assert (got[:, 1] == 0).all()  # a class without rows
    assert np.abs(got - proba).max() < 0.1
    assert not hasattr(pipe[-1], "coef_")


def test_a_classifier_without_weights_sees_copies():
    X, proba = crowd()
    made = soft_labels.learned_from(KNeighborsClassifier(25), X, proba)
    assert np.abs(made.proba(X) - proba).mean() < 0.1


def test_the_regression_of_its_own_learns_soft_labels_too():
    X, proba = crowd()
    got = soft_labels.learned_from(None, X, proba).proba(X)
    assert np.abs(got - proba).max() < 0.1


def test_a_single_class_gives_its_share():
    X, proba = np.zeros((4, 2)), np.repeat([[0.999, 0.001]], 4, 0)
    made = soft_labels.learned_from(LogisticRegression(), X, proba)
    assert_allclose(made.proba(X), proba)


class Remembers(BaseEstimator):
    """Predicts the class that it has seen at the same place; else the last one."""

    def fit(self, X, y):
        self.seen_ = dict(zip(X[:, 0].tolist(), y.tolist(), strict=True))
        self.classes_ = np.arange(2)
        return self

    def predict_proba(self, X):
        return np.eye(2)[[self.seen_.get(x, 1) for x in X[:, 0].tolist()]]


def test_no_item_is_predicted_by_a_classifier_that_has_seen_it():
    X = np.arange(20.0)[:, None]
    proba = np.repeat([[1.0, 0.0]], 20, 0)
    proba[:4] = [0.0, 1.0]
    fold = np.arange(20) % 4
    assert_array_equal(soft_labels.learned_from(Remembers(), X, proba).proba(X), proba)
    got = soft_labels.out_of_fold(Remembers(), X, proba, fold)
    assert (got.argmax(1) == 1).all()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (LinearSVC(), r"LinearSVC has no predict_proba.*CalibratedClassifierCV"),
        (LogisticRegression, "not a classifier.*made and not fitted"),
        ("logistic", "not a classifier"),
    ],
    ids=str,
)
def test_what_is_no_classifier_is_refused(wrong, why):
    with pytest.raises(InputError, match=why):
        soft_labels.check_estimator(wrong)


def test_with_more_features_than_items_the_regression_is_at_its_maximum():
    rng = np.random.default_rng(0)
    X, proba = rng.normal(size=(30, 40)), rng.dirichlet(np.ones(3), 30)
    found = soft_labels.regression(X, proba)
    _, slope = logistic.expected_log_joint(
        logistic.Weights(found.weights, found.bias),
        found.scaling.apply(X, "float64"),
        proba,
        logistic.precision_of_columns("auto", 40, 3),
    )
    assert max(np.abs(slope.weights).max(), np.abs(slope.bias).max()) < 1e-3
