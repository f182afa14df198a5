"""Settings that no fit can use are refused with a sentence; extreme ones work."""

import numpy as np
import pytest

import wisecrowd as wc

NAN, INF = float("nan"), float("inf")
ANSWERS = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 1, 0], [1, 1, 0]]
X = np.array([[0.0, 0], [3, 3], [1, 0], [2, 3], [0, 1], [3, 2]])
NETWORK = wc.MLP(hidden=(3,))
DRAWING = ["aggnet", "conal", "crowd-em", "crowd-layer", "ebcc", "rffgpcr", "svgpcr"]
WITH_PRIOR = ["bcc", "crowd-em", "dawid-skene", "ebcc", "gpep", "raykar", "vgpcr"]


def fitted(name, **settings):
    model = wc.METHODS[name]()
    if "network" in model.get_params():
        model.set_params(network=NETWORK, max_epochs=2)
    model.set_params(**settings)  # unlike the constructor, it takes any type
    needs_features = wc.METHODS.info(name).needs == "features"
    return model.fit(X, ANSWERS) if needs_features else model.fit(ANSWERS)


def refused(name, setting, value):
    with pytest.raises(wc.InputError) as error:
        fitted(name, **{setting: value})
    assert setting in str(error.value)
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


def sensible(model):
    assert np.isfinite(model.label_proba_).all()
    for bound in model.confusion_interval():
        assert np.isfinite(bound).all()
    summary = model.annotator_summary()
    assert np.isfinite(summary.select_dtypes("number")).all(axis=None)


@pytest.mark.parametrize("seed", [NAN, -1, "x", [], 0.5, 2**32])
@pytest.mark.parametrize("name", DRAWING)
def test_a_random_state_that_is_none_is_refused(name, seed):
    refused(name, "random_state", seed)


@pytest.mark.parametrize(
    ("name", "setting", "values"),
    [
        ("bcc", "class_pseudo_items", [INF, NAN, 1e308, 0]),
        ("ebcc", "class_pseudo_items", [INF, NAN, 1e308, 0]),
        ("ebcc", "subtype_pseudo_items", [INF, NAN, 1e308, 0]),
        ("ebcc", "n_subtypes", [10**30, 2.0, 0]),
        ("rffgpcr", "n_frequencies", [10**30, 2.0, 0]),
        ("vgpcr", "length_scale", [1e-320, INF, NAN, -1, "x"]),
        ("vgpcr", "variance", [1e-320, INF, NAN, -1, "x"]),
        ("raykar", "l2", [1e308, INF, NAN, -1, "x"]),
        ("yan", "l2", [1e308, INF, NAN, -1, "x"]),
        ("yan", "annotator_l2", [1e308, INF, NAN, -1, "x"]),
        ("crowd-layer", "annotator_rate", [1e30, INF, NAN, -1, "x"]),
    ],
)
def test_a_number_that_would_overflow_is_refused(name, setting, values):
    for value in values:
        refused(name, setting, value)


@pytest.mark.parametrize("name", WITH_PRIOR)
def test_a_prior_that_would_overflow_is_refused(name):
    for value in (1e308, 1e-320, 0.0, -1.0, NAN, INF):
        refused(name, "annotator_prior", np.full((2, 2), value))


@pytest.mark.parametrize("name", WITH_PRIOR)
def test_a_prior_that_is_sure_of_everybody_has_intervals(name):
    sensible(fitted(name, annotator_prior=1e12 * np.eye(2) + 1e-12))


@pytest.mark.parametrize("setting", ["length_scale", "variance"])
def test_a_kernel_may_start_with_a_large_whole_number(setting):
    sensible(fitted("vgpcr", **{setting: 10**30}))


def test_a_time_limit_may_be_infinite():
    sensible(fitted("aggnet", time_limit=INF))
