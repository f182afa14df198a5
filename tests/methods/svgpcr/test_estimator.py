"""SVGPCR and SVGP as estimators: what a fit leaves, and odd data.

All fits have one shape (60 items, 2 features, 8 inducing points, chunks of 4 steps)
where the claim allows it: each new shape is compiled.
"""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import contract
import oracles
import wisecrowd as wc
from wisecrowd import SVGP, SVGPCR, InputError
from wisecrowd.answers import Answers
from wisecrowd.methods.svgpcr import ending, train

GP = {"n_inducing": 8, "max_epochs": 80}
# Learning the dependence takes longer than all the rest of so small a fit, and so do
# the networks.
QUICK = {**GP, "dependence": 0.1, "networks": False}
WITH_NETWORKS = {**QUICK, "networks": True}


@pytest.fixture(scope="module")
def data():
    return contract.two_clouds()


@pytest.fixture(scope="module")
def fitted(data):
    return SVGPCR(**GP).fit(*data[:2])


@pytest.fixture(scope="module")
def quick(data):
    return SVGPCR(**QUICK).fit(*data[:2])


def test_labels_skills_and_predictions_are_right(fitted, data):
    X, _, truth = data
    assert (fitted.labels_ == truth).mean() > 0.95
    assert (fitted.predict(X) == truth).mean() > 0.95
    accuracy = fitted.annotator_summary()["accuracy"]
    assert accuracy[0] > accuracy[1] > accuracy[2]
    assert 0 <= fitted.dependence_ < 0.5  # they err independently


def test_counts_are_the_prior_and_the_soft_counts(fitted, data):
    item, who = np.divmod(np.arange(data[1].size), 3)
    seen = oracles.soft_counts(
        fitted.label_proba_, item, who, data[1].ravel(), (3, 2, 2)
    )
    assert_allclose(fitted.confusion_counts_, fitted.annotator_prior_ + seen, atol=1e-6)


def test_the_trace_has_the_terms_and_their_total(fitted):
    trace = fitted.trace_
    gained = trace[["answers", "features", "entropy", "log_hyperprior"]].sum(axis=1)
    total = gained - trace[["kl_gp", "kl_annotators"]].sum(axis=1)
    assert_allclose(trace["bound"], total)
    assert trace["bound"].iloc[-1] > trace["bound"].iloc[0]
    assert (trace[["kl_gp", "kl_annotators"]] >= 0).all(axis=None)
    assert trace.index.name == "step"
    assert trace.index.is_monotonic_increasing


def test_joining_by_id_index_or_row_number_is_one_fit(quick, data):
    X, y, _ = data
    ids = [f"i{n:03}" for n in range(len(X))]  # a fit takes items in their order
    answers = wc.Annotations.from_matrix(y, items=ids)
    long = answers.to_frame().sample(frac=1, random_state=0)
    by_id = SVGPCR(**QUICK).fit(X, answers, items=ids)
    by_index = SVGPCR(**QUICK).fit(pd.DataFrame(X, index=ids, columns=["a", "b"]), long)
    for other in (by_id, by_index):
        assert_allclose(other.label_proba_, quick.label_proba_, atol=1e-6)
        assert list(other.items_) == ids
    assert by_index.feature_names_in_.tolist() == ["a", "b"]
    answers = wc.Annotations.from_matrix(y, items=[*ids[:-1], "stranger"])
    with pytest.raises(InputError, match="stranger"):
        SVGPCR(**QUICK).fit(X, answers, items=ids)


def test_items_without_answers_get_the_predictions_label(data):
    X, y, truth = data
    some = wc.Annotations.from_matrix(y[:40])
    model = SVGPCR(**WITH_NETWORKS).fit(X, some)
    assert model.label_proba_.shape == (60, 2)
    assert (model.labels_[40:] == truth[40:]).mean() > 0.9


def test_gold_is_clamped_to_the_last_bit(data):
    X, y, truth = data
    gold = {0: int(1 - truth[0]), 5: int(1 - truth[5])}
    model = SVGPCR(**QUICK).fit(X, y, gold=gold)
    for item, known in gold.items():
        assert model.label_proba_[item, known] == 1.0
    assert np.isfinite(model.trace_.to_numpy()).all()


def test_same_seed_same_answer_bit_for_bit(fitted, data):
    again = SVGPCR(**GP).fit(*data[:2])
    assert_array_equal(again.label_proba_, fitted.label_proba_)
    gp, same = again.learned_.classifier, fitted.learned_.classifier
    assert_array_equal(gp.shift, same.shift)
    assert_array_equal(again.predict_proba(data[0]), fitted.predict_proba(data[0]))


def test_a_saved_model_predicts_to_the_last_bit(fitted, data, tmp_path):
    wc.save(fitted, tmp_path)
    back = wc.load(tmp_path)
    assert_array_equal(back.predict_proba(data[0]), fitted.predict_proba(data[0]))
    assert_array_equal(
        back.latent_moments(data[0]).var, fitted.latent_moments(data[0]).var
    )


def test_latent_moments_and_inducing_points(fitted, data):
    mean, var = fitted.latent_moments(data[0])
    assert mean.shape == var.shape == (60, 2)
    assert (var > 0).all()
    said = fitted._predicted_by_process(data[0])
    assert_array_equal(mean.argmax(1), said.argmax(1))
    points, classes = fitted.inducing_points()
    assert points.shape == (8, 2)
    assert set(classes) <= {0, 1}
    low, high = data[0].min(0) - 3, data[0].max(0) + 3
    assert ((points > low) & (points < high)).all()


def test_a_piece_of_the_items_is_predicted_as_the_whole(fitted, data):
    whole = fitted.predict_proba(data[0])
    assert_allclose(fitted.predict_proba(data[0][:33]), whole[:33], atol=1e-5)


def test_time_that_is_up_ends_the_fit(quick, data):
    model = SVGPCR(**QUICK, time_limit=1e-3).fit(*data[:2])
    assert len(model.trace_) == 1 < len(quick.trace_)
    assert_allclose(model.label_proba_.sum(1), 1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_named(fitted, data, bad):
    X = data[0].copy()
    X[7, 1] = bad
    with pytest.raises(InputError, match="row 7, column 1"):
        SVGPCR(**QUICK).fit(X, data[1])
    with pytest.raises(InputError, match="row 7, column 1"):
        fitted.predict(X)


# -- odd data: a sensible result -----------------------------------------------------


def assert_sensible(model, X):
    assert np.isfinite(model.trace_.to_numpy()).all()
    for proba in (model.label_proba_, model.predict_proba(X)):
        assert np.isfinite(proba).all()
        assert_allclose(proba.sum(1), 1.0, rtol=1e-5)
    assert np.isfinite(model.annotator_summary().iloc[:, 1:].to_numpy(float)).all()


def same_shape_oddities():
    X, y, _ = contract.two_clouds()
    yield "huge scale", 1e12 * X, y
    yield "tiny scale", 1e-12 * X, y
    yield "far away", X + 1e6, y
    yield "one huge column", X * np.array([1.0, 1e9]), y
    yield "constant column", np.column_stack([X[:, 0], np.full(60, 0.1)]), y
    yield "float32", X.astype(np.float32), y
    yield "repeated rows", np.repeat(X[:20], 3, axis=0), y


@pytest.mark.parametrize(
    ("X", "y"), [pytest.param(X, y, id=name) for name, X, y in same_shape_oddities()]
)
def test_odd_features_give_a_sensible_result(X, y):
    model = SVGPCR(**WITH_NETWORKS).fit(X, y)  # of one shape
    assert_sensible(model, X)
    assert (model.labels_ == y[:, 0]).mean() > 0.7


def test_odd_answers_give_a_sensible_result(data):
    X, y, _ = data
    table = y.astype(object)
    table[1:, 2] = None  # an annotator with one answer
    lazy = SVGPCR(**WITH_NETWORKS).fit(X, table)
    assert_sensible(lazy, X)
    assert lazy.n_answers_.tolist() == [60, 60, 1]
    alone = SVGPCR(**QUICK).fit(X, y[:, :1])
    assert_sensible(alone, X)
    equal = wc.Annotations.from_matrix(np.zeros((60, 3), int), classes=[0, 1])
    same = SVGPCR(**QUICK).fit(X, equal)
    assert_sensible(same, X)
    assert (same.labels_ == 0).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"link": "robustmax"},
        {"kernel": "linear+se", "shared_kernel": False, "dtype": "float64"},
    ],
    ids=str,
)
def test_other_models_fit_too(data, settings):
    X, y, truth = data
    model = SVGPCR(**QUICK, **settings).fit(X, y)
    assert_sensible(model, X)
    assert (model.predict(X) == truth).mean() > 0.95


def test_a_given_epsilon_is_approached_and_reached(data):
    settings = {"posterior": "factorised", "annotator_prior": "flat", "epsilon": 1e-3}
    model = SVGPCR(**{**GP, "dependence": 0.0}, link="robustmax", **settings)
    model.fit(*data[:2])
    assert_sensible(model, data[0])
    assert (model.predict(data[0]) == data[2]).mean() > 0.95
    assert model.epsilon_ == pytest.approx(1e-3)
    assert model.dependence_ == 0


def test_gold_calibrates_labels_and_the_sharpness_of_predictions(data, fitted):
    X, y, truth = data
    alone = {**GP, "networks": False}  # its exponents would be fitted too
    known = SVGPCR(**alone).fit(X, y, gold=dict(enumerate(truth[:40].tolist())))
    assert known.calibration_.n_gold == 40
    assert known.calibration_.accuracy > 0.9
    odd = np.where(np.arange(40) % 4, truth[:40], 1 - truth[:40])  # features are wrong
    doubted = SVGPCR(**alone).fit(X, y, gold=dict(enumerate(odd.tolist())))
    assert doubted.sharpness_ < 0.7 * known.sharpness_
    assert fitted.calibration_ is None


def test_robust_max_has_epsilon_instead_of_a_sharpness(data, fitted):
    assert fitted.sharpness_ != 1.0
    robust = SVGPCR(**QUICK, link="robustmax").fit(*data[:2])
    assert robust.sharpness_ == 1.0


def test_svgp_learns_from_right_labels_and_refuses_a_crowd(data):
    X, y, truth = data
    model = SVGP(**GP).fit(X, truth)
    assert (model.predict(X) == truth).mean() > 0.95
    assert_array_equal(model.labels_, truth)
    with pytest.raises(InputError, match="SVGPCR"):
        SVGP(**GP).fit(X, y)


def test_a_fit_leaves_jaxs_settings_alone():
    code = """
import jax, numpy as np
from wisecrowd import SVGPCR
X = np.linspace(-1, 1, 20)[:, None]
model = SVGPCR(n_inducing=3, max_epochs=4, dependence=0.1).fit(X, (X > 0).astype(int))
assert np.isfinite(model.predict_proba(X)).all()
assert not jax.config.jax_enable_x64
assert jax.numpy.ones(1).dtype == "float32"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_few_items_are_predicted_by_fits_without_their_answers(monkeypatch):
    # Otherwise inducing points and kernel remember the items' own labels.
    crowd = wc.simulate(120, 8, 2, answers_per_item=5, random_state=1)
    useless = np.random.default_rng(1).normal(size=(120, 60))

    def sharpness():
        model = wc.SVGPCR(n_inducing=20, max_epochs=300, networks=False)
        return model.fit(useless, crowd.answers).sharpness_

    honest = sharpness()
    monkeypatch.setattr("wisecrowd.methods.svgpcr.train.CROSS_FITTED", 0)
    assert honest < 0.6 * sharpness()


def test_many_items_take_one_round_and_fewer_steps_from_labels(data, monkeypatch):
    # At LIGO's size each round of labels took seconds, and made them no better.
    rounds, steps = [], []
    real = ending.in_rounds, train.learned_from_labels
    monkeypatch.setattr(
        ending, "in_rounds", lambda *a: rounds.append(a[-1]) or real[0](*a)
    )
    monkeypatch.setattr(
        train,
        "learned_from_labels",
        lambda *a: steps.append(a[-2] / a[1].step) or real[1](*a),
    )
    monkeypatch.setattr(train, "CROSS_FITTED", 0)
    for few in (60, 59):
        monkeypatch.setattr(train, "FEW_ITEMS", few)
        SVGPCR(**QUICK).fit(*data[:2])
    assert rounds == [3, 3, 1, 1]
    assert steps == [0.5, 0.25]


def test_a_small_fit_that_stands_still_ends_early():
    # Once it could not: cooling down took the rest of the steps.
    crowd = wc.simulate(500, 8, 2, n_features=2, random_state=0)
    model = SVGPCR(8, dependence=None, tol=1e9).fit(crowd.X, crowd.answers)
    assert model._plan(500, 0).schedule.n_steps == 150  # what tol=None takes
    assert model.trace_.index[-1] <= 260


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_default_tol_costs_no_labels(seed):
    crowd = wc.simulate(500, 12, 3, n_features=4, answers_per_item=3, random_state=seed)
    by_default, whole = (
        (wc.SVGPCR(30, **given).fit(crowd.X, crowd.answers).labels_ == crowd.truth)
        for given in ({}, {"tol": None})
    )
    assert by_default.mean() >= whole.mean() - 0.005


def plan_of(n_items, **settings):
    codes = Answers.from_codes([0], [0], [0], (n_items, 1, 2, 2))
    X, gold = np.zeros((n_items, 1)), np.full(n_items, -1)
    return SVGPCR(**settings)._asked(X, codes, gold, "conditional")[0]


def test_steps_from_labels_follow_from_the_steps_of_the_fit():
    plan = plan_of(500, time_limit=60)
    whole = plan.run.schedule
    few = plan.again("few", 500, 8).schedule
    assert 0 < few.n_steps <= max(8, few.chunk) < whole.n_steps
    assert few.time_limit is None  # the fit itself has kept to it
    assert plan.again("all", 500, 10**6).schedule.n_steps == whole.n_steps


def test_of_fewer_items_steps_from_labels_are_those_of_a_fit_of_these():
    plan, small = plan_of(5000, tol=0.1), plan_of(700, tol=0.1).run
    again = plan.again("a part", 700, 10**6)
    assert again == small._replace(name="a part")


def test_with_few_items_steps_are_twice_as_large_and_half_as_many():
    settings, many = {"learning_rate": 0.01, "natural_rate": 0.6}, 20_001

    def steps(n_items, **more):
        return SVGPCR(**more)._plan(n_items, 0).schedule.n_steps

    def rates(n_items, **more):
        plan = plan_of(n_items, **more)
        return plan.natural_rate, plan.learning_rate

    assert rates(20_000, **settings) == (1.0, 0.02)  # a share is at most one
    assert rates(many, **settings) == (0.6, 0.01)
    assert steps(20_000) == 400  # ten passes
    assert steps(many) == 800
    assert steps(1000, max_epochs=7) == 14  # as it is asked for
    for other in ({"kernel": "deep"}, {"inference": "adam"}):
        assert rates(1000, **other) == (0.03, 0.03)
