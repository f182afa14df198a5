"""Cross-validation by item, and the ways of scikit-learn with a crowd's answers."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wisecrowd as wc

COLUMNS = ["fold", "n_items", "n_gold", "accuracy", "mean_likelihood", "log_loss"]


@pytest.fixture(scope="module")
def crowd():
    return wc.simulate(
        45, 7, 2, answers_per_item=3, classes=["cat", "dog"], random_state=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def X(crowd):
    """Two clouds far apart."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(45, 2)) + 5 * crowd.truth[:, None]


@pytest.fixture(scope="module")
def ids():
    return [f"photo {n}" for n in range(45)]


@pytest.fixture(scope="module")
def long(crowd, ids):
    table = crowd.answers.to_frame()
    return table.assign(item=[ids[n] for n in table["item"]])


@pytest.fixture(scope="module")
def found(crowd, X, ids, long):
    gold = dict(zip(ids[:27], crowd.classes[crowd.truth], strict=False))
    model = wc.Raykar()
    return wc.cross_validate(model, X, long, items=ids, gold=gold, n_splits=3)


def test_every_item_is_predicted_once_by_a_model_that_did_not_see_it(found):
    assert list(found.columns[:6]) == COLUMNS
    assert found["fold"].tolist() == [0, 1, 2]
    assert found["n_items"].sum() == 45
    assert found["n_gold"].sum() == 27
    assert found["accuracy"].mean() > 0.8
    assert found["agreement"].between(0.4, 1).all()
    assert (found["seconds"] > 0).all()


def test_a_frame_annotations_and_a_long_table_give_the_same(X, ids, long, found):
    table = pd.DataFrame(X, index=ids, columns=["x", "y"])
    answers = wc.Annotations.from_frame(long)
    again = wc.cross_validate(wc.Raykar(), table, answers, n_splits=3)
    assert again["n_gold"].sum() == 0
    assert again["accuracy"].isna().all()
    assert_allclose(again["agreement"], found["agreement"])


def test_a_pipeline_is_a_model_too(X, ids, long):
    model = make_pipeline(StandardScaler(), wc.Raykar())
    found = wc.cross_validate(model, X, long, items=ids, n_splits=3)
    assert (found["agreement"] > 0.4).all()
    assert not hasattr(model[-1], "classes_")


def test_grid_search_takes_a_matrix_of_answers(crowd, X, ids, long):
    answers = wc.Annotations.from_frame(long).align(ids)
    matrix = answers.to_matrix()
    model = make_pipeline(StandardScaler(), wc.Raykar())
    grid = {"raykar__l2": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=3, refit=False).fit(X, matrix)
    model.set_params(**search.best_params_).fit(X[:30], matrix[:30])
    labels = answers.classes[model.predict(X)]
    assert (labels == crowd.classes[crowd.truth]).mean() > 0.8


@pytest.mark.parametrize("n_splits", [1, 46])
def test_a_number_of_folds_that_cannot_be_is_refused(n_splits, crowd, X):
    with pytest.raises(wc.InputError, match="n_splits"):
        wc.cross_validate(wc.Raykar(), X, crowd.answers, n_splits=n_splits)


def test_answers_on_items_without_a_row_name_what_to_pass(X, long):
    with pytest.raises(wc.InputError, match="items="):
        wc.Raykar().fit(X, long)
    with pytest.raises(wc.InputError, match="items="):
        wc.cross_validate(wc.Raykar(), X, long)
