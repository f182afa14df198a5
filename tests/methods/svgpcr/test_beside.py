"""The small networks beside the Gaussian process."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from numpy.testing import assert_allclose

import oracles
import wisecrowd as wc
from wisecrowd.answers import Answers
from wisecrowd.feature_source import InMemory
from wisecrowd.maths.pool import bounded_log
from wisecrowd.methods.svgpcr import beside
from wisecrowd.methods.svgpcr.beside import (
    N_FOLDS,
    Given,
    KnownItems,
    drawn,
    learned,
    loss_of_answers,
    loss_of_labels,
)


@pytest.fixture(autouse=True)
def fewer_steps(monkeypatch):
    monkeypatch.setattr("wisecrowd.methods.svgpcr.beside.LEAST_STEPS", 250)


def rings(n_items=90, seed=0):
    """Two classes that no line divides, and labels that are nearly right."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 2))
    right = (np.linalg.norm(X, axis=1) > 1.2).astype(int)
    return X, right, np.where(np.eye(2)[right] > 0, 0.9, 0.1)


def answered_twice(right):
    """Answers of two annotators who are always right, on all items."""
    item = np.tile(np.arange(len(right)), 2)
    who = np.repeat([0, 1], len(right))
    return Answers.from_codes(item, who, np.tile(right, 2), (len(right), 2, 2, 2))


def known_items(X, right, known=None):
    known = np.ones(len(X), bool) if known is None else known
    answers = answered_twice(right)
    answers = answers.some(known[answers.item])
    return KnownItems.of(InMemory(X.astype("float32")), answers, known, 0)


def test_networks_say_what_the_formula_says():
    rng = np.random.default_rng(0)
    networks = drawn(4, 4, 2, rng)._replace(
        inner_bias=rng.normal(size=(4, 128)), outer_bias=rng.normal(size=(4, 2))
    )
    X = rng.normal(size=(5, 4))
    said = networks.by_kind(X)
    assert said.shape == (2, 2, 5, 2)
    for e in range(4):
        inner, inner_bias, outer, outer_bias = (part[e] for part in networks)
        layers = [(inner.T, inner_bias), (outer.T, outer_bias)]
        for n in range(5):
            logits = oracles.perceptron(layers, X[n])
            wanted = np.exp(logits) / np.exp(logits).sum()
            assert_allclose(said[e // 2, e % 2, n], wanted, 1e-5)


def test_the_losses_are_those_of_the_loops():
    rng = np.random.default_rng(1)
    n_networks, n_batch, n_classes = 3, 5, 4
    said = rng.normal(size=(n_networks, n_batch, n_classes))
    said -= np.log(np.exp(said).sum(2, keepdims=True))
    proba = rng.dirichlet(np.ones(n_classes), n_batch)
    log_given = np.log(rng.random((n_batch, n_classes)))
    seen = (rng.random((n_networks, n_batch)) < 0.6).astype(float)
    of_labels, of_answers = oracles.losses_of_networks(said, proba, log_given, seen)
    said, proba, log_given, seen = map(jnp.asarray, (said, proba, log_given, seen))
    of_given = jax.jit(partial(loss_of_answers, often=jnp.ones(n_classes)))
    assert_allclose(loss_of_labels(said, proba, seen), of_labels)
    nothing = jnp.zeros_like(seen)
    penalty = of_given(said, log_given, nothing)
    assert_allclose(of_given(said, log_given, seen) - penalty, of_answers)

    def without_penalty(said):  # which takes a part of itself for a constant
        said = jnp.asarray(said)
        more = of_given(said, log_given, nothing)
        return of_given(said, log_given, seen) - more

    check_grads(jax.jit(without_penalty), (said,), 1)


def test_no_item_is_predicted_by_a_network_that_saw_its_label_or_answers():
    X, right, proba = rings()
    items = known_items(X, right)
    turned, other = proba.copy(), right.copy()
    turned[7], other[7] = turned[7, ::-1], 1 - other[7]
    liars = items._replace(answers=answered_twice(other))
    before = items.networks(proba).by_kind(X)
    after = np.stack(
        [
            items.networks(turned).by_kind(X)[0],
            liars.networks(proba).by_kind(X)[1],
        ]
    )
    unseen = int(items.fold[7])
    # The networks of answers share the annotators' matrices, which one answer moves.
    assert_allclose(after[0, unseen, 7], before[0, unseen, 7])
    assert_allclose(after[1, unseen, 7], before[1, unseen, 7], atol=0.06)
    assert (np.abs(after - before)[:, N_FOLDS, 7] > 0.08).all()
    alone = before[:, items.fold, np.arange(len(X))]
    assert ((alone.argmax(2) == right).mean(1) > 0.85).all()


def test_items_without_answers_teach_nothing_and_are_predicted_by_the_mean():
    X, right, proba = rings()
    items = known_items(X, right, np.arange(len(X)) >= 20)
    other = proba.copy()
    other[:20] = 0.5
    said = items.networks(proba).by_kind(X)
    assert_allclose(items.networks(other).by_kind(X), said)
    process = np.log(np.tile([0.4, 0.6], (len(X), 1)))
    found, alone = items.beside(proba, process)
    kinds = [bounded_log(kind.mean(0)) for kind in said]
    parts = [
        e * part for e, part in zip(found.exponents, [process, *kinds], strict=True)
    ]
    wanted = np.exp(np.mean(parts, 0)[:20])
    assert_allclose(np.exp(alone[:20]), wanted / wanted.sum(1, keepdims=True))


def test_what_says_nothing_hardly_changes_the_other():
    X, right, proba = rings()
    _, alone = known_items(X, right).beside(proba, np.full((90, 2), np.log(0.5)))
    assert (alone.argmax(1) == right).mean() > 0.9


def test_networks_of_answers_do_not_repeat_what_is_wrong_with_the_labels():
    X, right, _ = rings()
    wrong = np.full((90, 2), [0.2, 0.8])  # all in one class
    said = known_items(X, right).networks(wrong).by_kind(X)[:, N_FOLDS]
    of_labels, of_answers = (said.argmax(2) == right).mean(1)
    assert of_labels == (right == 1).mean()
    assert of_answers > 0.9


def test_no_item_is_predicted_by_a_regression_that_saw_its_label():
    X, right, proba = rings()
    known = np.arange(len(X)) >= 20
    items = known_items(X, right, known)
    turned = proba.copy()
    turned[27] = turned[27, ::-1]
    before, after = items.by_regression(proba), items.by_regression(turned)
    assert_allclose(after[27], before[27])
    assert not np.allclose(after, before)
    turned[:20] = 0.5
    assert_allclose(items.by_regression(turned), after)


def test_too_few_items_or_no_answers_teach_no_network():
    X, right, _ = rings(4)
    assert known_items(X, right, np.arange(4) < N_FOLDS - 1) is None
    some = known_items(X, right, np.arange(4) < N_FOLDS)
    assert some is not None
    only_gold = some.answers.some(np.zeros(len(some.answers), bool))
    assert KnownItems.of(some.features, only_gold, np.ones(4, bool), 0) is None


@pytest.mark.parametrize(("limit", "value"), [("MOST_ITEMS", 30), ("MOST_NUMBERS", 61)])
def test_of_many_items_or_features_a_sample_teaches_the_networks(
    limit, value, monkeypatch
):
    # Wide features beyond memory: the sample must not fill the memory either.
    monkeypatch.setattr(beside, limit, value)
    X, right, _ = rings(90)
    rows = known_items(X, right).rows
    assert len(rows) == 30
    assert (np.diff(rows) > 0).all()
    assert rows[-1] > 30  # from all over the items


def test_the_reach_is_the_largest_distance_of_the_items():
    X, right, proba = rings()
    both, _ = known_items(X, right).beside(proba, np.zeros((90, 2)))
    assert_allclose(both.reach, np.linalg.norm(X, axis=1).max(), rtol=1e-6)


def test_a_network_learns_only_from_what_it_may_see(monkeypatch):
    monkeypatch.setattr("wisecrowd.methods.svgpcr.beside.DROPOUT", 0.0)
    monkeypatch.setattr("wisecrowd.methods.svgpcr.beside.MATRIX_RATE", 0.0)
    X, right, proba = rings(40)
    X, proba = X.astype("float32"), proba.astype("float32")
    one = drawn(1, 2, 2, np.random.default_rng(0))
    two = jax.tree.map(lambda w: np.concatenate([w, w]), one)
    seen = np.ones((2, 40), np.float32)
    seen[0, :20] = 0
    codes = answered_twice(right)
    given = Given(codes.item, codes.annotator, codes.answer)
    matrices = np.tile(3 * np.eye(2, dtype="float32"), (2, 1, 1))
    more = X, proba, given
    key = np.zeros(2, np.uint32)
    with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"):
        both = learned((two, two), matrices, *more, seen, key, 20)
        alone = learned((one, one), matrices, *more, seen[:1], key, 20)
    for kind, single in zip(both, alone, strict=True):
        for ours, wanted in zip(kind, single, strict=True):
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


def test_predictions_are_the_mean_of_all_logs(model_and_crowd):
    model, made = model_and_crowd
    gp = model.learned_.classifier
    process = model._predicted_by_process(made.X[:5])
    said = gp.beside.networks.by_kind(gp.scaling.apply(made.X[:5], "float64"))
    parts = [process, *(bounded_log(kind.mean(0)) for kind in said)]
    parts = [e * part for e, part in zip(gp.beside.exponents, parts, strict=True)]
    wanted = np.exp(model.sharpness_ * np.mean(parts, 0))
    proba = model.predict_proba(made.X[:5])
    assert_allclose(proba, wanted / wanted.sum(1, keepdims=True), rtol=1e-5)


def test_each_has_the_exponent_that_suits_the_labels():
    X, right, proba = rings()
    shy = np.log(np.where(np.eye(2)[right] > 0, 0.6, 0.4))
    found, _ = known_items(X, right).beside(proba, shy)
    assert_allclose(found.exponents[0], np.log(0.9 / 0.1) / np.log(0.6 / 0.4), rtol=0.3)


def test_beyond_their_reach_the_networks_say_less_and_less():
    X, right, proba = rings()
    both, _ = known_items(X, right).beside(proba, np.zeros((90, 2)))
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
    networks = known_items(X, proba.argmax(1)).networks(proba)
    assert networks.inner.shape[1] == 30
    away = rng.normal(size=30)
    away -= X.T @ np.linalg.lstsq(X.T, away, rcond=None)[0]  # no item points there
    assert np.linalg.norm(away) > 1
    assert_allclose(networks.by_kind(X + away), networks.by_kind(X), atol=1e-5)
    assert not np.allclose(networks.by_kind(X[::-1]), networks.by_kind(X), atol=0.01)


def test_the_penalty_asks_for_no_class_that_is_rare_in_a_batch(monkeypatch):
    X, right, proba = rings(30)
    with_volume = [known_items(X[:n], right[:n]).networks(proba[:n]) for n in (12, 30)]
    monkeypatch.setattr("wisecrowd.methods.svgpcr.beside.VOLUME", 0.0)
    learned.clear_cache()
    without = [known_items(X[:n], right[:n]).networks(proba[:n]) for n in (12, 30)]
    learned.clear_cache()
    rare, often = (
        np.allclose(one.outer, other.outer)
        for one, other in zip(with_volume, without, strict=True)
    )
    assert rare
    assert not often


def test_annotators_who_say_the_opposite_are_understood(monkeypatch):
    X, right, proba = rings()
    item = np.tile(np.arange(90), 3)
    said = np.concatenate([right, right, 1 - right])
    answers = Answers.from_codes(item, np.repeat([0, 1, 2], 90), said, (90, 3, 2, 2))
    items = known_items(X, right)._replace(answers=answers)

    def gained():
        found = items.networks(proba).by_kind(X)[1, N_FOLDS]
        return np.log(found[np.arange(90), right]).mean()

    free = gained()
    monkeypatch.setattr("wisecrowd.methods.svgpcr.beside.MATRIX_L2", 1e6)
    learned.clear_cache()  # last in this file: all is compiled again
    held = gained()
    learned.clear_cache()
    assert free > held + 0.05
