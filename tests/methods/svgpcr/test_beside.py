"""The small networks beside the Gaussian process."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
import wisecrowd as wc
from wisecrowd.features import InMemory
from wisecrowd.maths.pool import bounded_log
from wisecrowd.methods.svgpcr.beside import N_FOLDS, LabelledItems, drawn, learned


def rings(n_items=90, seed=0):
    """Two classes that no line divides, and labels that are nearly right."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 2))
    right = (np.linalg.norm(X, axis=1) > 1.2).astype(int)
    return X, right, np.where(np.eye(2)[right] > 0, 0.9, 0.1)


def labelled(X, known=None):
    known = np.ones(len(X), bool) if known is None else known
    return LabelledItems.of(InMemory(X.astype("float32")), known, 0)


def test_networks_say_what_the_formula_says():
    rng = np.random.default_rng(0)
    networks = drawn(3, 4, 2, rng)._replace(
        inner_bias=rng.normal(size=(3, 128)), outer_bias=rng.normal(size=(3, 2))
    )
    X = rng.normal(size=(5, 4))
    said = networks.proba(X)
    for e in range(3):
        inner, inner_bias, outer, outer_bias = (part[e] for part in networks)
        layers = [(inner.T, inner_bias), (outer.T, outer_bias)]
        for n in range(5):
            logits = oracles.perceptron(layers, X[n])
            assert_allclose(said[e, n], np.exp(logits) / np.exp(logits).sum(), 1e-5)


def test_no_item_is_predicted_by_a_network_that_saw_its_label():
    X, right, proba = rings()
    items = labelled(X)
    turned = proba.copy()
    turned[7] = turned[7, ::-1]
    before, after = (items.networks(p).proba(X) for p in (proba, turned))
    unseen = int(items.fold[7])
    assert_allclose(after[unseen, 7], before[unseen, 7])
    assert not np.allclose(after[N_FOLDS, 7], before[N_FOLDS, 7])
    alone = before[items.fold, np.arange(len(X))]
    assert (alone.argmax(1) == right).mean() > 0.85


def test_items_without_answers_teach_nothing_and_are_predicted_by_the_mean():
    X, _, proba = rings()
    items = labelled(X, np.arange(len(X)) >= 20)
    other = proba.copy()
    other[:20] = 0.5
    said = items.networks(proba).proba(X)
    assert_allclose(items.networks(other).proba(X), said)
    nothing = np.full((len(X), 2), np.log(0.5))
    found, alone = items.beside(proba, nothing)
    wanted = np.exp(found.exponents[1] * bounded_log(said.mean(0)[:20]))
    assert_allclose(np.exp(alone[:20]), wanted / wanted.sum(1, keepdims=True))


def test_what_says_nothing_hardly_changes_the_other():
    X, right, proba = rings(200)
    _, alone = labelled(X).beside(proba, np.full((200, 2), np.log(0.5)))
    assert (alone.argmax(1) == right).mean() > 0.9


def test_no_item_is_predicted_by_a_regression_that_saw_its_label():
    X, _, proba = rings()
    known = np.arange(len(X)) >= 20
    items = labelled(X, known)
    turned = proba.copy()
    turned[27] = turned[27, ::-1]
    before, after = items.by_regression(proba), items.by_regression(turned)
    assert_allclose(after[27], before[27])
    assert not np.allclose(after, before)
    turned[:20] = 0.5
    assert_allclose(items.by_regression(turned), after)


def test_too_few_items_teach_no_network():
    X, _, _ = rings(4)
    assert labelled(X, np.arange(4) < N_FOLDS - 1) is None
    assert labelled(X, np.arange(4) < N_FOLDS) is not None


def test_a_network_learns_only_from_what_it_may_see(monkeypatch):
    monkeypatch.setattr("wisecrowd.methods.svgpcr.beside.DROPOUT", 0.0)
    X, _, proba = (part.astype("float32") for part in rings(40))
    one = drawn(1, 2, 2, np.random.default_rng(0))
    two = jax.tree.map(lambda w: np.concatenate([w, w]), one)
    seen = np.ones((2, 40), np.float32)
    seen[0, :20] = 0
    key = np.zeros(2, np.uint32)
    with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"):
        both = learned(two, X, proba, seen, key, 20)
        alone = learned(one, X, proba, seen[:1], key, 20)
    for ours, wanted in zip(both, alone, strict=True):
        assert_allclose(ours[0], wanted[0], atol=1e-6)
        assert not np.allclose(ours[1], wanted[0], atol=1e-6)


@pytest.fixture(scope="module")
def model_and_crowd():
    return fitted()


def fitted(**settings):
    made = wc.simulate(
        80, 8, 2, answers_per_item=3.0, n_features=30, separation=2.0, random_state=3
    )
    model = wc.SVGPCR(8, max_epochs=30, progress=False, **settings)
    return model.fit(made.X, made.answers), made


def test_predictions_are_the_product_of_both(model_and_crowd):
    model, made = model_and_crowd
    gp = model.learned_.classifier
    process = model._predicted_by_process(made.X[:5])
    nets = gp.beside.networks.proba(gp.scaling.apply(made.X[:5], "float64")).mean(0)
    a, b = gp.beside.exponents
    wanted = np.exp(model.sharpness_ * (a * process + b * bounded_log(nets)))
    proba = model.predict_proba(made.X[:5])
    assert_allclose(proba, wanted / wanted.sum(1, keepdims=True), rtol=1e-5)


def test_beyond_their_reach_the_networks_say_less_and_less():
    X, _, proba = rings()
    both, _ = labelled(X).beside(proba, np.zeros((90, 2)))
    far = X[np.linalg.norm(X, axis=1).argmax()][None] * [[1], [10], [1e3], [1e6]]
    said = np.diff(both.log_proba(np.zeros((4, 2)), far))[:, 0]
    assert np.isfinite(said).all()
    assert said[0] > said[1] > said[2] > said[3] > 0
    assert said[3] < 1e-3


@pytest.mark.parametrize(
    "settings",
    [{"networks": False}, {"link": "robustmax"}, {"dependence": None}],
    ids=str,
)
def test_there_is_no_network_where_none_is_wanted(settings):
    model, _ = fitted(**settings)
    assert model.learned_.classifier.beside is None


def test_networks_survive_a_file(model_and_crowd, tmp_path):
    model, made = model_and_crowd
    wc.save(model, tmp_path / "model")
    again = wc.load(tmp_path / "model")
    assert_allclose(again.predict_proba(made.X), model.predict_proba(made.X))


def test_with_more_features_than_items_only_what_the_items_span_counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 30))
    proba = np.where(np.eye(2)[rng.integers(0, 2, 9)] > 0, 0.9, 0.1)
    networks = labelled(X).networks(proba)
    assert networks.inner.shape[1] == 30
    away = rng.normal(size=30)
    away -= X.T @ np.linalg.lstsq(X.T, away, rcond=None)[0]  # no item points there
    assert np.linalg.norm(away) > 1
    assert_allclose(networks.proba(X + away), networks.proba(X), atol=1e-5)
    assert not np.allclose(networks.proba(X[::-1]), networks.proba(X), atol=0.01)
