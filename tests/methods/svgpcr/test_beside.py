"""The regression beside the Gaussian process."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from wisecrowd.fit.soft_labels import regression
from wisecrowd.maths.pool import bounded_log
from wisecrowd.methods.svgpcr.beside import Line


def straight(n_items=60, seed=0):
    """Two classes, a line between them, and labels that are nearly right."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 3))
    right = (X[:, 0] > 0).astype(int)
    return X, right, np.where(np.eye(2)[right] > 0, 0.9, 0.1)


def test_no_item_is_predicted_by_a_regression_that_saw_its_label():
    X, right, proba = straight()
    line = Line.of(X, np.ones(len(X), bool), 0)
    before = line.alone(proba)
    turned = proba.copy()
    turned[7] = turned[7, ::-1]
    assert_allclose(line.alone(turned)[7], before[7])
    assert not np.allclose(line.alone(turned), before)
    assert (before.argmax(1) == right).mean() > 0.85


def test_items_without_answers_teach_nothing_and_are_predicted():
    X, _, proba = straight()
    known = np.arange(len(X)) >= 20
    line = Line.of(X, known, 0)
    other = proba.copy()
    other[:20] = 0.5
    assert_allclose(line.alone(other), line.alone(proba))
    assert_allclose(
        line.alone(proba)[:20],
        bounded_log(regression(X[20:], proba[20:]).proba(X[:20])),
    )


def test_what_says_nothing_hardly_changes_the_other():
    X, right, proba = straight(200)
    line = Line.of(X, np.ones(len(X), bool), 0)
    nothing = np.full((200, 2), np.log(0.5))
    _, alone = line.beside(proba, nothing)
    assert (alone.argmax(1) == right).mean() > 0.9


def fitted(**settings):
    made = wc.simulate(
        80, 8, 2, answers_per_item=3.0, n_features=30, separation=2.0, random_state=3
    )
    model = wc.SVGPCR(8, max_epochs=30, progress=False, **settings)
    return model.fit(made.X, made.answers), made


def test_predictions_are_the_product_of_both():
    model, made = fitted()
    gp = model.learned_.classifier
    alone = model.learned_._replace(classifier=gp._replace(beside=None, sharpness=1.0))
    sharpness = model.sharpness_
    proba = model.predict_proba(made.X[:5])
    model.learned_ = alone
    process = np.log(model.predict_proba(made.X[:5]))
    line = bounded_log(gp.beside.regression.proba(made.X[:5]))
    a, b = gp.beside.exponents
    wanted = np.exp(sharpness * (a * process + b * line))
    assert_allclose(proba, wanted / wanted.sum(1, keepdims=True), rtol=1e-5)


def test_beyond_its_reach_a_regression_says_less_and_less():
    X, _, proba = straight()
    both, _ = Line.of(X, np.ones(len(X), bool), 0).beside(proba, np.zeros((60, 2)))
    far = X[X[:, 0].argmax()][None] * [[1], [10], [1e3], [1e300]]
    said = np.diff(both.log_proba(np.zeros((4, 2)), far))[:, 0]
    assert np.isfinite(said).all()
    assert said[0] > said[1] > said[2] > said[3]
    assert said[3] < 1e-3


@pytest.mark.parametrize(
    "settings",
    [{"regression": False}, {"link": "robustmax"}, {"dependence": None}],
    ids=str,
)
def test_there_is_no_regression_where_none_is_wanted(settings):
    model, _ = fitted(**settings)
    assert model.learned_.classifier.beside is None


def test_a_regression_survives_a_file(tmp_path):
    model, made = fitted()
    wc.save(model, tmp_path / "model")
    again = wc.load(tmp_path / "model")
    assert_allclose(again.predict_proba(made.X), model.predict_proba(made.X))
