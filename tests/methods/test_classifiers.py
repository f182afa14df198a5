"""The classifiers as users of scikit-learn meet them, and what they say to bad input.

``test_contract.py`` has what all methods promise, ``svgpcr/`` the model itself. Most
fits have the shape of those in ``svgpcr/test_estimator.py``: each new one is compiled.
"""

import inspect

import jax.numpy as jnp
import jaxtyping
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

import contract
import wisecrowd as wc
from wisecrowd import SVGP, SVGPCR, InputError

GP = {"n_inducing": 8, "max_epochs": 4}
# Learning the dependence takes longer than all the rest of so small a fit, and so do
# the networks: fits have none where the claim is not about predictions.
QUICK = {**GP, "dependence": 0.1, "networks": False}
LONGER = {**QUICK, "max_epochs": 60}
LIARS = dict.fromkeys(range(3), ((1.0, 50.0), (50.0, 1.0)))  # prior of annotators


@pytest.fixture(scope="module")
def data():
    return contract.two_clouds()


@pytest.fixture(scope="module")
def named(data):
    """X with names of items and features; the same answers and truth."""
    X, y, truth = data
    ids = [f"i{n:02d}" for n in range(len(X))]
    return pd.DataFrame(X, index=ids, columns=["a", "b"]), y, pd.Series(truth, ids)


@pytest.fixture(scope="module")
def fitted(named):
    return SVGPCR(**{**QUICK, "networks": True}).fit(*named[:2])


def assert_sensible(model, X):
    assert np.isfinite(model.trace_.to_numpy()).all()
    for proba in (model.label_proba_, model.predict_proba(X)):
        assert np.isfinite(proba).all()
        assert_allclose(proba.sum(1), 1.0, rtol=1e-5)
    assert np.isfinite(model.inducing_points().points).all()
    assert np.isfinite(model.annotator_summary().iloc[:, 1:].to_numpy(float)).all()


# -- scikit-learn's own checks -------------------------------------------------------

SMALL = {"n_inducing": 3, "max_epochs": 2}
EXPECTED_TO_FAIL = {
    "check_supervised_y_2d": "an (N, 1) matrix is a crowd of one, not a slip"
}


OTHER_SHAPES = {
    "check_classifiers_train",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_readonly_memmap_input",
    "check_supervised_y_2d",
    "check_classifier_data_not_an_array",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_estimators_overwrite_params",
    "check_fit_score_takes_y",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
}
"""Slow: each compiles for one more shape. Raykar, of the same base, has them all."""

WITH_NETWORKS = {"check_fit2d_1feature"}
"""With networks too; the others with networks are slow."""


def name_of(value):
    if isinstance(value, SVGPCR) and value.networks:
        return "SVGPCR with networks"
    return value.func.__name__ if hasattr(value, "func") else type(value).__name__


def checks_of_scikit_learn():
    """All kinds in turn: a shape that one has compiled is there for the others."""
    made = [
        estimator_checks_generator(
            model, expected_failed_checks=EXPECTED_TO_FAIL, mark="xfail"
        )
        for model in (
            SVGPCR(**SMALL, dependence=0.1, networks=False),
            SVGP(**SMALL),
            SVGPCR(**SMALL, dependence=0.1),
        )
    ]
    return [
        pytest.param(*case, marks=pytest.mark.slow) if is_slow(*case[:2]) else case
        for kinds in zip(*made, strict=True)
        for case in kinds
    ]


def is_slow(model, check):
    name = name_of(check)
    networks = getattr(model, "networks", False)
    return name in OTHER_SHAPES or (networks and name not in WITH_NETWORKS)


@pytest.mark.parametrize(("estimator", "check"), checks_of_scikit_learn(), ids=name_of)
def test_scikit_learns_checks(estimator, check, monkeypatch):
    # Only tests check types, and one of the checks constructs with nothing but -1.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(wc.CrowdEM(dependence=0.1, n_rounds=1), marks=pytest.mark.slow),
        pytest.param(
            wc.CrowdLayer(max_epochs=60, learning_rate=0.01), marks=pytest.mark.slow
        ),
        pytest.param(wc.GPEP(max_iter=5), marks=pytest.mark.slow),
        wc.Raykar(max_iter=30),
        pytest.param(wc.RFFGPCR(max_iter=5, n_frequencies=20), marks=pytest.mark.slow),
        pytest.param(wc.VFFGPCR(max_iter=5, n_frequencies=20), marks=pytest.mark.slow),
        pytest.param(wc.VGPCR(max_iter=5), marks=pytest.mark.slow),
        pytest.param(wc.Yan(max_iter=30), marks=pytest.mark.slow),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore")  # cut short: they do not converge
def test_scikit_learns_checks_of_other_methods(estimator, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    check_estimator(estimator, on_skip=None, expected_failed_checks=EXPECTED_TO_FAIL)


# -- settings, pipelines and searches ------------------------------------------------


def test_svgp_has_the_settings_that_do_not_concern_annotators():
    svgpcr, svgp = SVGPCR().get_params(), SVGP().get_params()
    assert svgp.items() < svgpcr.items()
    own = {"annotator_prior", "dependence", "posterior", "inference", "networks"}
    assert own == svgpcr.keys() - svgp.keys()
    for cls in (SVGPCR, SVGP):
        kinds = [p.kind.name for p in inspect.signature(cls).parameters.values()]
        assert kinds == ["POSITIONAL_OR_KEYWORD"] + ["KEYWORD_ONLY"] * (len(kinds) - 1)
        assert set(inspect.signature(cls).parameters) == set(cls().get_params())


def test_a_kernel_that_is_a_function_survives_a_clone():
    def kernel(x, y):
        return x @ y

    assert clone(SVGPCR(kernel=kernel)).kernel is kernel


def test_a_pipeline_is_the_classifier_on_transformed_features(named):
    X, y, _ = named
    pipe = make_pipeline(StandardScaler(), SVGPCR(**QUICK)).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    alone = SVGPCR(**QUICK).fit(scaled, y)
    assert_array_equal(pipe.predict_proba(X), alone.predict_proba(scaled))
    assert pipe.score(X, y) == alone.score(scaled, y)


def test_a_grid_is_searched_by_gold_that_the_index_leads_to(named):
    X, y, gold = named
    known = gold[::2]

    def against_gold(model, X, answers):
        return model.score(X, known.reindex(X.index))

    search = GridSearchCV(
        make_pipeline(StandardScaler(), SVGPCR(**LONGER)),
        {"svgpcr__annotator_prior": ["diagonal", LIARS]},
        scoring=against_gold,
        cv=3,
        refit=False,
    ).fit(X, y)
    honest, liars = search.cv_results_["mean_test_score"]
    assert honest > 0.9
    assert liars < 0.1
    assert search.best_params_ == {"svgpcr__annotator_prior": "diagonal"}


def test_cross_validation_by_the_answers_themselves(data):
    X, y, _ = data
    scores = cross_val_score(SVGPCR(**LONGER), X, y, cv=3)
    assert ((scores > 0.6) & (scores < 0.9)).all()  # .73 of the answers are right


def test_score_is_the_share_of_answers_that_were_predicted(fitted, named):
    X, y, truth = named
    said = fitted.predict(X)
    assert fitted.score(X, truth) == (said == truth).mean()
    assert_allclose(fitted.score(X, y), (said[:, None] == y).mean())
    some = truth.astype(float).where(truth.index > "i39")
    assert_allclose(fitted.score(X, some), (said == truth)[40:].mean())
    table = wc.Annotations.from_matrix(y[:9, :2], items=X.index[:9])
    right = (said[:9, None] == y[:9, :2]).mean()
    assert_allclose(fitted.score(X, table), right)
    assert_allclose(fitted.score(X, table.to_frame()), right)
    weights = np.arange(60.0)
    want = np.average(said == truth, weights=weights)
    assert_allclose(fitted.score(X, truth, sample_weight=weights), want)
    with pytest.raises(InputError, match="no answer"):
        fitted.score(X, np.full(60, np.nan))


def test_a_class_that_a_fold_never_saw_is_a_miss(fitted, named):
    X, _, truth = named
    assert fitted.score(X, truth + 7) == 0.0


# -- joining -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "options", "why"),
    [
        (lambda y: y[:-1], {}, "X has 60 rows, the answers 59"),
        (lambda y: y[:-1, 0], {}, "X has 60 rows, the answers 59"),
        (lambda y: None, {}, "requires y"),
        (lambda y: 1, {}, "X has 60 rows, the answers 1"),
        (lambda y: y, {"items": range(59)}, "59 rows, but X has 60"),
        (lambda y: y, {"items": [0] * 60}, "unique"),
        (lambda y: y, {"gold": {60: 0}}, "60"),
        (lambda y: y, {"gold": {0: 7}}, "7"),
        (pd.DataFrame, {}, "no column for the item"),
        (
            lambda y: wc.Annotations.from_triples([0, 99], [0, 0], [0, 1]),
            {},
            "1 of 2 answered items have no features: 99",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_what_does_not_join_is_refused_with_a_sentence(data, y, options, why):
    with pytest.raises(InputError, match=why) as error:
        SVGPCR(**QUICK).fit(data[0], y(data[1]), **options)
    assert str(error.value).endswith(".")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_at_predict_a_matrix_joins_by_row_and_a_table_by_id(fitted, named):
    X, y, _ = named
    some = X.iloc[30:40]
    answers = wc.Annotations.from_matrix(y[30:40], items=some.index)
    by_row = fitted.predict_proba(some, y[30:40])
    assert (by_row != fitted.predict_proba(some)).any()
    shuffled = answers.to_frame().sample(frac=1, random_state=0)
    assert_allclose(fitted.predict_proba(some, shuffled), by_row, rtol=1e-12)
    by_items = fitted.predict_proba(some.to_numpy(), answers, items=some.index)
    assert_allclose(by_items, by_row, rtol=1e-12)
    with pytest.raises(InputError, match="X has 10 rows, the answers 9"):
        fitted.predict_proba(some, y[30:39])
    with pytest.raises(InputError, match="9 rows, but X has 10"):
        fitted.predict_proba(some, answers, items=some.index[:9])


@pytest.mark.parametrize("kind", [wc.Raykar, wc.Yan])
def test_an_item_far_away_with_an_answer_has_finite_probabilities(kind):
    crowd = wc.simulate(60, 6, 2, n_features=4, random_state=0)
    model, y = kind().fit(crowd.X, crowd.answers), crowd.answers.to_matrix()
    proba = model.predict_proba(crowd.X * 1e6, y)  # as in another unit
    assert_allclose(proba.sum(1), 1.0, rtol=1e-6)


def test_an_answer_at_predict_sways_the_prediction_of_its_item_only(fitted, named):
    X = named[0][:2]
    alone = fitted.predict_proba(X)
    said = [
        fitted.predict_proba(X, np.array([[-1, k, -1], [-1, -1, -1]])) for k in (0, 1)
    ]
    odds = [proba[0, 0] / proba[0, 1] for proba in said]
    assert odds[0] > 2 * odds[1]
    for proba in said:  # nobody has answered the second
        assert_allclose(proba[1], alone[1], rtol=1e-9)


# -- features ------------------------------------------------------------------------


def test_features_are_told_apart_by_name_and_number(fitted, named):
    X = named[0]
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X[["b", "a"]])
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X.rename(columns={"b": "c"}))
    with (
        pytest.raises(ValueError, match=r"1 features.* expecting 2"),
        pytest.warns(UserWarning, match="feature names"),
    ):
        fitted.predict(X[["a"]].to_numpy())


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_rows_without_names_or_far_from_all_others_are_finite(fitted, named):
    X = named[0].to_numpy()
    assert_array_equal(fitted.predict_proba(X), fitted.predict_proba(named[0]))
    for scale in (1e12, 1e300):
        assert_allclose(fitted.predict_proba(scale * X), 0.5, atol=0.05)


@pytest.mark.parametrize(
    ("scale", "settings", "why"),
    [
        (1e200, {}, r"column \d of X reaches .*e\+200; .*larger unit"),
        (1e12, {"scaling": "none"}, r"column \d of X reaches .*another scaling"),
    ],
)
def test_features_too_large_to_be_squared_are_refused(data, scale, settings, why):
    with pytest.raises(InputError, match=why):
        SVGPCR(**QUICK, **settings).fit(scale * data[0], data[1])


@pytest.mark.parametrize(
    ("n_items", "n_features"),
    [(3, 2), (5, 5000)],
    ids=str,  # one: scikit-learn's
)
def test_few_items_or_features_give_a_sensible_result(n_items, n_features):
    # Not three annotators who disagree: of five items votes may get two right, and
    # no feature tells which.
    X, _, _ = contract.two_clouds(5, n_items, n_features)
    truth = np.arange(n_items) % 2
    X = X + 3 * truth[:, None]
    model = SVGPCR(**LONGER).fit(X, np.tile(truth[:, None], 3))
    assert_sensible(model, X)
    assert_array_equal(model.labels_, truth)
    assert len(model.learned_.classifier.inducing) == min(8, n_items)


def test_features_that_say_nothing_leave_it_to_the_answers(data):
    X, (_, y, truth) = np.ones((60, 2)), data
    model = SVGPCR(**LONGER).fit(X, y)
    assert_sensible(model, X)
    assert len(np.unique(model.predict_proba(X), axis=0)) == 1
    assert (model.labels_ == truth).mean() > 0.9


@pytest.mark.parametrize("cls", [SVGPCR, SVGP])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_named(cls, data, bad):
    X = data[0].copy()
    X[[7, 9], 1] = bad
    with pytest.raises(InputError, match=r"2 entries of 120 .*row 7, column 1"):
        cls(**GP).fit(X, data[2])


# -- settings ------------------------------------------------------------------------

WRONG = [
    ("link", "probit", "'softmax'"),
    ("dtype", "float16", "'float32'"),
    ("dtype", np.float32, "'float32'"),
    ("kernel", "rbf", "'matern32'"),
    ("kernel", 5, "'matern32'"),
    ("scaling", "standard", "'each'"),
    ("posterior", "paper", "'factorised'"),
    *(
        ("n_inducing", value, "at least 1")
        for value in (0, -3, 2.5, "many", None, True)
    ),
    *(("batch_size", value, "at least 1") for value in (0, 10.0, None)),
    *(("max_epochs", value, "at least 1") for value in (0, -1, 1.5)),
    *(("tol", value, "at least 0, or None") for value in (-1e-5, "small", np.nan)),
    *(("time_limit", value, "above 0, or None") for value in (0, -1.0, np.nan)),
    *(("learning_rate", value, "at least 0") for value in (-0.1, np.inf, None)),
    *(("natural_rate", value, "above 0") for value in (-0.1, 0.0, 1.5, None)),
    *(("checkpoint_seconds", value, "at least 0") for value in (-1, None)),
    ("random_state", "seed", "seed"),
]


@pytest.mark.parametrize("cls", [SVGPCR, SVGP])
@pytest.mark.parametrize(("name", "value", "hint"), WRONG, ids=str)
def test_a_wrong_setting_is_refused_by_name(cls, data, name, value, hint):
    if name not in cls().get_params():
        pytest.skip("a setting of the other class")
    model = cls().set_params(**{name: value})  # past the types of the constructor
    with pytest.raises(ValueError, match=hint) as error:
        model.fit(data[0], data[2])
    if name != "random_state":  # scikit-learn's words
        assert str(error.value).startswith(f"{name}={value!r} ")
        assert str(error.value).endswith(".")


@pytest.mark.parametrize("cls", [SVGPCR, SVGP])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, -0.1, "no", 0, 1])
def test_an_epsilon_that_is_no_share_is_refused(cls, data, epsilon):
    model = cls(link="robustmax", epsilon=epsilon)
    with pytest.raises(InputError, match=rf"^epsilon={epsilon!r} .*between 0 and 1\.$"):
        model.fit(data[0], data[2])


@pytest.mark.parametrize("cls", [SVGPCR, SVGP])
@pytest.mark.parametrize("epsilon", [0.1, "learn"])
def test_an_epsilon_without_robust_max_is_refused(cls, data, epsilon):
    with pytest.raises(
        InputError, match=rf"^epsilon={epsilon!r} belongs to robust max"
    ):
        cls(epsilon=epsilon).fit(data[0], data[2])


def test_resuming_needs_a_file(data):
    with pytest.raises(InputError, match=r"^resume=True needs checkpoint=.*\.$"):
        SVGPCR(resume=True).fit(*data[:2])


@pytest.mark.parametrize("prior", ["uniform", np.zeros((2, 2)), np.ones((3, 2))])
def test_a_prior_that_is_none_is_refused(data, prior):
    with pytest.raises(InputError, match="annotator_prior"):
        SVGPCR(annotator_prior=prior).fit(*data[:2])


@pytest.mark.parametrize("dependence", [-0.1, 1.5, "no"])
def test_a_dependence_that_is_none_is_refused(data, dependence):
    model = SVGPCR().set_params(dependence=dependence)
    with pytest.raises(InputError, match=rf"^dependence={dependence!r} must be .*1\.$"):
        model.fit(*data[:2])


def test_numbers_of_numpy_are_numbers(data):
    model = SVGPCR().set_params(
        n_inducing=np.int64(8), max_epochs=np.int32(4), learning_rate=0, tol=None,
        natural_rate=np.float32(0.03), time_limit=60, dependence=np.float64(0.1),
    )  # fmt: skip
    assert_sensible(model.fit(*data[:2]), data[0])


# -- SVGP ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def right(data):
    """Labels of the first forty items, one of them "can't tell"; gold of two."""
    said = data[2][:40].astype(str).astype(object)
    said[3] = "can't tell"
    answers = wc.Annotations.from_triples(
        range(40), ["ann"] * 40, said, classes=["0", "1"], answers=["can't tell"]
    )
    gold = {0: str(1 - data[2][0]), 50: str(1 - data[2][50])}
    return SVGP(n_inducing=8, max_epochs=60).fit(data[0], answers, gold=gold), gold


def test_svgp_trusts_gold_first_then_labels_then_features(right, data):
    model, gold = right
    want = data[2].astype(str)
    for item, known in gold.items():
        want[item] = known
    clamped = [n for n in range(60) if (n < 40 and n != 3) or n in gold]
    assert (model.label_proba_.max(1) == 1.0).nonzero()[0].tolist() == clamped
    assert_array_equal(model.labels_[clamped], want[clamped])
    free = np.setdiff1d(np.arange(60), clamped)
    assert (model.labels_[free] == want[free]).mean() > 0.8


@pytest.mark.parametrize(
    ("items", "people"),
    [([0, 0, 1], ["ann", "ann", "ann"]), ([0, 1, 2], ["ann", "bob", "ann"])],
)
def test_svgp_refuses_a_crowd_and_repeated_labels(data, items, people):
    answers = wc.Annotations.from_triples(items, people, [0, 1, 1])
    with pytest.raises(InputError, match=r"one right label .*Use SVGPCR for a crowd"):
        SVGP(**GP).fit(data[0], answers)


# -- what a fit leaves ---------------------------------------------------------------


def test_the_summary_has_a_row_per_annotator(fitted):
    summary = fitted.annotator_summary()
    assert summary.columns.tolist() == [
        "annotator", "n_answers", "accuracy", "low", "high", "informativeness",
        "spammer", "adversarial",
    ]  # fmt: skip
    assert summary["n_answers"].tolist() == [60, 60, 60]
    narrow = fitted.annotator_summary(level=0.5)
    assert (narrow["low"] > summary["low"]).all()
    assert (narrow["high"] < summary["high"]).all()


def test_inducing_points_are_in_the_units_of_x(data):
    X, y, _ = data
    units = np.array([1e-3, 1e5])
    model = SVGPCR(**QUICK).fit(X * units + 7 * units, y)
    points, classes = model.inducing_points()
    assert points.shape == (8, 2)
    low, high = X.min(0) + 6.5, X.max(0) + 7.5
    assert ((points > low * units) & (points < high * units)).all()
    assert_array_equal(classes, model.predict(points))


@pytest.mark.parametrize("cut", [{"max_epochs": 1}, {"max_epochs": 4}], ids=str)
def test_a_fit_cut_short_still_knows_what_the_answers_say(data, cut):
    X, y, truth = data
    model = SVGPCR(**{**QUICK, **cut}).fit(X, y)
    assert model.trace_.index[-1] == cut["max_epochs"]  # a batch is all of the items
    assert (model.labels_ == truth).mean() > 0.8


def test_progress_draws_a_bar_on_stderr(data, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # what rich takes for a terminal
    SVGPCR(**QUICK, progress=True).fit(*data[:2])
    said = capsys.readouterr()
    assert "SVGPCR" in said.err
    assert "bound" in said.err
    assert said.out == ""
    SVGPCR(**QUICK, progress=False).fit(*data[:2])
    assert capsys.readouterr().err == ""


def test_an_unfitted_model_says_so(data):
    for ask in ("predict", "predict_proba", "latent_moments"):
        with pytest.raises(ValueError, match="not fitted"):
            getattr(SVGPCR(), ask)(data[0])


def test_a_callable_kernel_predicts_but_is_not_saved(data, tmp_path):
    def near(x, y):
        return 20 * jnp.exp(-((x - y) ** 2).sum() / 4)

    model = SVGPCR(**LONGER, kernel=near).fit(*data[:2])
    assert (model.predict(data[0]) == data[2]).mean() > 0.9
    with pytest.raises(InputError, match="setting kernel is a function"):
        wc.save(model, tmp_path)
