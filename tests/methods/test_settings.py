"""Every setting of every method changes something; whole numbers are numbers.

A setting that nobody reads is worse than none. `ALTERNATIVES` has another value for
each; what a setting changes is seen in what a fit leaves. Where that is something else
(a bar, a file), the setting is in `ELSEWHERE`, with the test that shows it.
"""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import contract
import wisecrowd as wc
from wisecrowd import MLP
from wisecrowd.maths.gp.class_posterior import Factorised
from wisecrowd.maths.gp.kernels import Linear, Stationary
from wisecrowd.maths.gp.links import RobustMax, Softmax

# Shapes of tests/methods/svgpcr: most are compiled already.
GP = {"n_inducing": 8, "max_epochs": 4, "progress": False}
# Held-out items and steps enough for every setting to show.
NETWORK = {"max_epochs": 40, "held_out": 0.35, "batch_size": 20, "progress": False}
BASE = {
    "aggnet": NETWORK,
    "conal": NETWORK,
    "crowd-layer": NETWORK,
    "majority-vote": {},
    "dawid-skene": {},
    "bcc": {"dependence": 0.1},
    "consensus": {},
    "ebcc": {},
    "glad": {},
    "crowd-em": {"dependence": 0.1},
    "gpep": {},
    "raykar": {},
    "rffgpcr": {"n_frequencies": 10},
    "svgp": GP,
    "svgpcr": {**GP, "dependence": 0.1, "networks": False},  # they take 0.4 s
    "vffgpcr": {"n_frequencies": 10, "tol": 1e-3},
    "vgpcr": {},
    "yan": {},
}
LOOP: dict[str, Any] = {"max_iter": {"max_iter": 2, "tol": None}, "tol": {"tol": 0.1}}
POOLED = {"dependence": {"dependence": 0.3}}
PRIOR = {"annotator_prior": {"annotator_prior": [[9.0, 1.0], [2.0, 5.0]]}}
OF_GP: dict[str, dict[str, Any]] = {
    "n_inducing": {"n_inducing": 5},
    "kernel": {"kernel": "matern32"},
    "shared_kernel": {"shared_kernel": False},
    "link": {"link": "robustmax"},
    "scaling": {"scaling": "none"},
    "batch_size": {"batch_size": 30},
    "max_epochs": {"max_epochs": 8},
    "learning_rate": {"learning_rate": 0},
    "natural_rate": {"natural_rate": 0.2},
    "dtype": {"dtype": "float64"},
    "random_state": {"random_state": 1},
}
SCALED = {"scaling": {"scaling": "each"}}
GPCR: dict[str, dict[str, Any]] = {
    **LOOP,
    **POOLED,
    **PRIOR,
    **SCALED,
    "length_scale": {"length_scale": 0.3},
    "variance": {"variance": 4},
    "learn_kernel": {"learn_kernel": False},
}
FOURIER = {
    **GPCR,
    "n_frequencies": {"n_frequencies": 6},
    "random_state": {"random_state": 1},
}
OF_NETWORK: dict[str, dict[str, Any]] = {
    **POOLED,
    "network": {"network": MLP(hidden=())},
    "scaling": {"scaling": "none"},
    "batch_size": {"batch_size": 13},
    "max_epochs": {"max_epochs": 60},
    "learning_rate": {"learning_rate": 0.01},
    "held_out": {"held_out": 0},
    "temperature": {"temperature": None},
    "random_state": {"random_state": 1},
}
OF_LAYER: dict[str, dict[str, Any]] = {
    **OF_NETWORK,
    "annotator_l2": {"annotator_l2": 20},
    "annotator_rate": {"annotator_rate": 0},
}
ALTERNATIVES = {
    "aggnet": {**OF_NETWORK, **PRIOR},
    "conal": {
        **OF_LAYER,
        "distance_strength": {"distance_strength": 0.1},
        "output": {"output": "softmax"},
    },
    "crowd-layer": {
        **OF_LAYER,
        "kind": {"kind": "vw"},
        "output": {"output": "softmax"},
        "regularizer": {"regularizer": "trace"},
    },
    "majority-vote": {"ties": {"ties": "first"}, "random_state": {"random_state": 1}},
    "dawid-skene": {**LOOP, **PRIOR, **POOLED},
    "bcc": {
        **LOOP,
        **PRIOR,
        **POOLED,
        "class_pseudo_items": {"class_pseudo_items": 1},
    },
    "consensus": {
        **POOLED,
        "groups": {"groups": {0: "same", 1: "same"}},
        "max_iter": {"max_iter": 1},
    },
    "ebcc": {
        **POOLED,
        "max_iter": {"max_iter": 2, "tol": None},
        "tol": {"tol": 1e-2},
        **PRIOR,
        "n_subtypes": {"n_subtypes": 2},
        "subtype_pseudo_items": {"subtype_pseudo_items": 2},
        "class_pseudo_items": {"class_pseudo_items": 5},
        "n_starts": {"n_starts": 1},
        "random_state": {"random_state": 1},
    },
    "glad": {
        **LOOP,
        **POOLED,
        "class_prior": {"class_prior": "learned"},
        "ability_spread": {"ability_spread": 2},
        "easiness_spread": {"easiness_spread": 0.5},
    },
    "crowd-em": {
        **PRIOR,
        "estimator": {"estimator": LogisticRegression()},
        "n_rounds": {"n_rounds": 1},
        "n_folds": {"n_folds": 3},
        **POOLED,
        "random_state": {"random_state": 1},
    },
    "gpep": {**LOOP, **PRIOR, **SCALED, **POOLED},
    "raykar": {**LOOP, **PRIOR, **SCALED, **POOLED, "l2": {"l2": 30}},
    "rffgpcr": FOURIER,
    "svgp": OF_GP,
    "svgpcr": {
        "networks": {"networks": True},
        **OF_GP,
        **PRIOR,
        "posterior": {"posterior": "factorised"},
        **POOLED,
    },
    "vffgpcr": FOURIER,
    "vgpcr": GPCR,
    "yan": {
        **LOOP,
        **POOLED,
        **SCALED,
        "l2": {"l2": 30},
        "annotator_l2": {"annotator_l2": 1},
    },
}
ELSEWHERE = {
    "progress": "test_progress_draws_a_bar, below and in test_classifiers",
    "epsilon": "test_epsilon_changes_robust_max, below",
    "tol": "test_tol_stops_a_fit, below, and deep/test_networks",
    "time_limit": "svgpcr/test_estimator, deep/test_networks: time that is up ends it",
    "regularizer_strength": "deep/test_networks: test_a_regularizer_has_a_strength",
    "inference": "svgpcr/test_adam",
    "checkpoint": "fit/test_checkpoint",
    "checkpoint_seconds": "fit/test_checkpoint: at most every so often",
    "resume": "fit/test_checkpoint",
}
SHARED = {
    ("svgp", "n_inducing"),  # SVGPCR's
    *(("conal", setting) for setting in OF_NETWORK),  # CrowdLayer's
    *(("aggnet", setting) for setting in ("network", "batch_size", "held_out")),
}
CASES = [(name, setting) for name, some in ALTERNATIVES.items() for setting in some]


@pytest.fixture(scope="module")
def data():
    return contract.two_clouds()


@pytest.fixture(scope="module")
def fitted(data):
    """From a method and its settings to a fit of the two clouds, made only once."""
    X, y, truth = data
    answers = y.copy()
    answers[::3, 1:] = -1  # votes that are tied, or one alone
    answers[::4, 0] = -1
    known: dict[str, Any] = {}

    def fit(name: str, **settings: Any) -> Any:
        key = f"{name} {settings}"
        if key not in known:
            model = wc.METHODS[name](**{**BASE[name], **settings})
            if name in wc.AGGREGATORS:
                known[key] = model.fit(answers)
            else:
                known[key] = model.fit(X, truth if name == "svgp" else y)
        return known[key]

    return fit


def numbers(model: Any) -> np.ndarray:
    """What the labels, the skills and the trace say, in a row."""
    trace = model.trace_.drop(columns="seconds").to_numpy(float)
    labels = model.label_proba_.argmax(1)  # a tie is decided by a hair
    parts = (labels, model.label_proba_, model.confusion_, trace, [len(trace)])
    return np.concatenate([np.ravel(part).astype(float) for part in parts])


def differ(one: Any, other: Any) -> bool:
    left, right = numbers(one), numbers(other)
    return left.shape != right.shape or np.abs(left - right).max() > 1e-6


@pytest.mark.parametrize("name", BASE)
def test_every_setting_is_tried(name):
    settings = set(wc.METHODS[name]().get_params())
    assert settings == set(ALTERNATIVES[name]) | (settings & set(ELSEWHERE))


@pytest.mark.parametrize(("name", "setting"), CASES)
def test_a_setting_changes_something(name, setting, fitted):
    if (name, setting) in SHARED:
        pytest.skip("the same code as another method's, and a shape more to compile")
    other = fitted(name, **ALTERNATIVES[name][setting])
    assert differ(fitted(name), other), setting


def test_a_fit_is_not_another_by_itself(fitted, data):
    X, y, _ = data
    again = wc.SVGPCR(**BASE["svgpcr"]).fit(X, y)
    assert not differ(fitted("svgpcr"), again)


def test_epsilon_changes_robust_max(fitted):
    learned = fitted("svgpcr", link="robustmax")
    given = fitted("svgpcr", link="robustmax", epsilon=0.3)
    assert differ(learned, given)
    assert given.epsilon_ == pytest.approx(0.3)


def test_tol_stops_a_fit(fitted):
    every = fitted("svgp", max_epochs=600, tol=None)  # SVGPCR would take them 4 times
    some = fitted("svgp", max_epochs=600, tol=1e3)  # nats per item: it stands still
    assert every.trace_.index[-1] == 600
    assert some.trace_.index[-1] <= 360


@pytest.mark.parametrize(
    "name",
    [
        *("dawid-skene", "bcc", "consensus", "ebcc", "glad", "crowd-em", "gpep"),
        *("raykar", "rffgpcr", "vffgpcr", "vgpcr", "yan"),
    ],
)
def test_progress_draws_a_bar(name, fitted, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # what rich takes for a terminal
    fitted(name, progress=True)
    assert "bound" in capsys.readouterr().err
    fitted(name, progress=False)
    assert capsys.readouterr().err == ""


# -- objects, words and whole numbers ------------------------------------------------


@pytest.mark.parametrize(
    ("word", "same"),
    [
        ({"kernel": "matern32"}, {"kernel": Stationary("matern32")}),
        ({"link": "robustmax"}, {"link": RobustMax()}),
        ({"link": "robustmax", "epsilon": 0.3}, {"link": RobustMax(0.3)}),
        ({"posterior": "factorised"}, {"posterior": Factorised()}),
        ({}, {"link": Softmax(32)}),
    ],
    ids=str,
)
def test_a_word_is_the_object_of_that_name(word, same, fitted):
    assert not differ(fitted("svgpcr", **word), fitted("svgpcr", **same))


def test_the_settings_of_an_object_count(fitted):
    assert differ(fitted("svgpcr"), fitted("svgpcr", link=Softmax(16)))


WHOLE = {
    "consensus": {"dependence": 0},
    "dawid-skene": {"tol": 1},
    "bcc": {"tol": 1, "dependence": 0, "class_pseudo_items": 2},
    "ebcc": {"tol": 1, "subtype_pseudo_items": 1, "class_pseudo_items": 2},
    "glad": {"tol": 1, "ability_spread": 1, "easiness_spread": 2},
    "gpep": {"tol": 1},
    "raykar": {"tol": 1, "l2": 2},
    "rffgpcr": {"tol": 1, "length_scale": 2, "variance": 3},
    "aggnet": {"learning_rate": 1, "tol": 0, "held_out": 0, "time_limit": 60},
    "conal": {"annotator_l2": 1, "annotator_rate": 1, "distance_strength": 1},
    "crowd-layer": {"annotator_l2": 1, "regularizer_strength": 1},
    "svgp": {"learning_rate": 0, "natural_rate": 1, "tol": 0, "time_limit": 60},
    "svgpcr": {"learning_rate": 0, "natural_rate": 1, "tol": 0, "dependence": 0},
    "vffgpcr": {"tol": 1, "length_scale": 2, "variance": 3},
    "vgpcr": {"tol": 1, "length_scale": 2, "variance": 3},
    "yan": {"tol": 1, "l2": 2, "annotator_l2": 3},
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_are_numbers(name, fitted):
    model = fitted(name, **WHOLE[name])
    same = fitted(name, **{k: float(v) for k, v in WHOLE[name].items()})
    assert not differ(model, same)


def test_objects_as_settings_are_saved_and_loaded(fitted, data, tmp_path):
    kernel = Linear() + Stationary("matern32") * Stationary("se", ard=True)
    settings = {"kernel": kernel, "link": RobustMax(0.3), "posterior": Factorised()}
    model = fitted("svgpcr", shared_kernel=False, **settings)
    wc.save(model, tmp_path)
    back = wc.load(tmp_path)
    for name, value in settings.items():
        assert getattr(back, name) == value
    found, wanted = (m.predict_proba(data[0]) for m in (back, model))
    np.testing.assert_array_equal(found, wanted)


# -- the published methods -----------------------------------------------------------


def test_bcc_as_published_has_a_flat_prior_and_independent_annotators(fitted):
    model = wc.BCC.as_published(max_iter=50)
    paper = {"annotator_prior": "flat", "dependence": None, "class_pseudo_items": 1}
    want = wc.BCC(**paper, max_iter=50)
    assert model.get_params() == want.get_params()
    assert wc.BCC.as_published(dependence=0.1).dependence == 0.1
    answers = contract.crowd()
    model.set_params(tol=1e-5).fit(answers)
    np.testing.assert_array_equal(model.annotator_prior_, np.ones((1, 3, 3)))
    assert model.dependence_ == 0
    assert differ(model, wc.BCC(dependence=0.1).fit(answers))
