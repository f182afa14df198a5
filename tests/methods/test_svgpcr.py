"""The bound of SVGPCR against loops and integrals; its updates; the estimator."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import contract
import oracles
import wisecrowd as wc
from wisecrowd._checks import InputError
from wisecrowd.maths import crowd, dirichlet, kernels, labels, links, sparse_gp
from wisecrowd.methods.svgpcr import inference, model, training
from wisecrowd.methods.svgpcr.estimator import SVGP, SVGPCR
from wisecrowd.methods.svgpcr.model import Batch, Hyper, Recipe

# -- the bound -----------------------------------------------------------------------

N_ITEMS, N_INDUCING, N_CLASSES, N_ANSWERS, JITTER = 7, 4, 3, 4, 1e-8
EPSILON = 0.07


def recipe(link="softmax", factorised=False, shared=True, n_items=N_ITEMS):
    return Recipe(
        kernel=kernels.Stationary("se"),
        link=link,
        factorised=factorised,
        shared=shared,
        n_items=n_items,
        jitter=JITTER,
    )


def problem(seed=0, shared=True):
    """Features, answers, and a q of everything."""
    rng = np.random.default_rng(seed)
    drawn = oracles.drawn_crowd(seed)
    n_kernels = 1 if shared else N_CLASSES
    scale = rng.uniform(0.8, 2.0, n_kernels)
    variance = rng.uniform(1.0, 3.0, n_kernels)
    params = {
        "log_scale": jnp.asarray(np.log(scale)),
        "log_variance": jnp.asarray(np.log(variance)),
    }
    X, Z = rng.normal(size=(N_ITEMS, 2)), rng.normal(size=(N_INDUCING, 2))
    root = rng.normal(size=(N_CLASSES, N_INDUCING, N_INDUCING))
    natural = sparse_gp.Natural(
        jnp.asarray(rng.normal(size=(N_CLASSES, N_INDUCING))),
        jnp.asarray(np.eye(N_INDUCING) + 0.3 * root @ root.transpose(0, 2, 1)),
    )
    prior = rng.uniform(0.5, 3, (5, N_CLASSES, N_ANSWERS))
    counts = prior + rng.uniform(0, 5, prior.shape)
    rows = (drawn["item"], drawn["annotator"], drawn["label"])
    evidence = oracles.evidence_per_item(dirichlet.mean_log(counts), *rows, N_ITEMS)
    return {
        "X": X, "Z": Z, "natural": natural, "hyper": Hyper(params, jnp.asarray(Z)),
        "scale": scale, "variance": variance, "rows": rows, "prior": prior,
        "counts": counts, "evidence": evidence,
        "batch": Batch(jnp.asarray(X), jnp.asarray(evidence)),
    }  # fmt: skip


def slow_latent(given):
    """Mean and variance of f, [N, C], and KL(q(U) ‖ p(U)), in plain coordinates."""
    moments = sparse_gp.to_moments(given["natural"])
    means, variances, divergence = [], [], 0.0
    for c in range(N_CLASSES):
        which = c if len(given["scale"]) > 1 else 0
        k = oracles.se_kernel(given["scale"][which], given["variance"][which])
        cov = oracles.gram(k, given["Z"], given["Z"])
        cov += JITTER * np.diag(cov).mean() * np.eye(len(cov))
        root = np.linalg.cholesky(cov)
        mean = root @ np.array(moments.mean[c])
        spread = root @ np.array(moments.cov[c]) @ root.T
        found = oracles.sparse_latent(k, given["Z"], given["X"], mean, spread, JITTER)
        means.append(found[0])
        variances.append(found[1])
        divergence += oracles.gaussian_kl(mean, spread, cov)
    return np.array(means).T, np.array(variances).T, divergence


def slow_bound(given, link, factorised, largest):
    """The five terms, by loops over items, states and classes."""
    mean, var, kl_gp = slow_latent(given)
    terms = np.zeros(3)
    nodes = links.normal_nodes(model.N_SAMPLES, N_CLASSES)
    for n in range(N_ITEMS):
        if link == "softmax":
            states = oracles.softmax_states(mean[n], var[n], nodes)
        else:
            states = oracles.robust_max_states(mean[n], var[n], EPSILON, largest)
        terms += oracles.label_terms(states, given["evidence"][n], factorised)
    kl_annotators = sum(
        oracles.dirichlet_kl(given["counts"][a, c], given["prior"][a, c])
        for a in range(5)
        for c in range(N_CLASSES)
    )
    return np.array([*terms, kl_gp, kl_annotators])


def same_grid(mean, var):
    """Of one item, with the nodes of the model: the integral has its own tests."""
    row = links.largest_proba(jnp.asarray(mean)[None], jnp.asarray(var)[None])
    return np.array(row[0])


def fast_bound(how, given, batch=None, natural=None):
    kl = crowd.annotators_kl(given["counts"], given["prior"], None)
    return BOUND(
        how,
        given["natural"] if natural is None else natural,
        given["hyper"],
        batch or given["batch"],
        jnp.asarray(EPSILON),
        jnp.asarray(kl),
    )


BOUND = jax.jit(model.bound, static_argnums=0)


@pytest.mark.parametrize("link", ["softmax", "robustmax"])
@pytest.mark.parametrize("factorised", [False, True])
@pytest.mark.parametrize("shared", [True, False])
def test_the_five_terms_are_the_loop(link, factorised, shared):
    given = problem(0, shared)
    got = fast_bound(recipe(link, factorised, shared), given)
    want = slow_bound(given, link, factorised, same_grid)
    assert_allclose([float(term) for term in got], want, rtol=1e-10, atol=1e-10)
    assert_allclose(got.total, want[:3].sum() - want[3:].sum(), rtol=1e-10)


def test_robust_max_is_the_bound_of_the_exact_integral():
    given = problem(1)
    got = fast_bound(recipe("robustmax"), given)
    want = slow_bound(given, "robustmax", False, oracles.largest_proba)
    assert_allclose([float(term) for term in got], want, atol=1e-6)


@pytest.mark.parametrize("link", ["softmax", "robustmax"])
@pytest.mark.parametrize("factorised", [False, True])
def test_the_mean_over_batches_is_the_full_bound(link, factorised):
    given = problem(2)
    # Six items: three batches of two.
    how = recipe(link, factorised, n_items=6)
    batch = Batch(given["batch"].X[:6], given["batch"].evidence[:6])
    whole = fast_bound(how, given, batch)
    order = np.random.default_rng(0).permutation(6).reshape(3, 2)
    parts = [
        fast_bound(how, given, Batch(batch.X[rows], batch.evidence[rows]))
        for rows in order
    ]
    mean = [np.mean([float(part[i]) for part in parts]) for i in range(5)]
    assert_allclose(mean, [float(term) for term in whole], rtol=1e-10)


@pytest.mark.parametrize("link", ["softmax", "robustmax"])
def test_the_posterior_given_f_has_the_tighter_bound(link):
    for seed in range(5):
        given = problem(seed)
        tight, loose = (fast_bound(recipe(link, how), given) for how in (False, True))
        assert tight.total >= loose.total - 1e-10


# -- below the evidence --------------------------------------------------------------


def tiny(seed):
    """Three items, two classes, two annotators; every item is an inducing point."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3, 1))
    rows = (np.array([0, 0, 1, 2, 2]), np.array([0, 1, 0, 0, 1]), rng.integers(0, 2, 5))
    prior = np.tile(crowd.diagonal_prior(2, 2, 4.0, 1.0), (2, 1, 1))
    params = {"log_scale": jnp.zeros(1), "log_variance": jnp.log(jnp.full(1, 3.0))}
    hyper = Hyper(params, jnp.asarray(X))
    cov = oracles.gram(oracles.se_kernel(1.0, 3.0), X, X)
    return X, rows, prior, hyper, cov


CLIMB = jax.jit(inference.step, static_argnums=0)


def climbed(how, X, rows, prior, hyper, n_rounds, rate):
    """Bounds after every full-batch update of q(U) and of q(R)."""
    matrix = crowd.answer_matrix(*rows, (len(X), len(prior), prior.shape[2]))
    natural = sparse_gp.prior_natural(prior.shape[1], len(hyper.inducing))
    state, counts, out = inference.start(natural, hyper), prior, []
    rates = inference.Rates(jnp.asarray(rate), jnp.asarray(0.0))
    epsilon = jnp.asarray(EPSILON)
    counts = prior + 0.1

    def batch():
        said = crowd.evidence_per_item(matrix, dirichlet.mean_log(counts))
        return Batch(jnp.asarray(X), jnp.asarray(said))

    def value():
        kl = jnp.asarray(crowd.annotators_kl(counts, prior, None))
        return float(BOUND(how, state.natural, hyper, batch(), epsilon, kl).total)

    for _ in range(n_rounds):
        state, _ = CLIMB(how, state, batch(), epsilon, rates)
        out.append(value())
        _, seen = CLIMB(how, state, batch(), epsilon, rates)
        counts = prior + crowd.soft_counts(matrix, np.array(seen.proba), prior.shape[2])
        out.append(value())
    return np.array(out)


@pytest.mark.parametrize("link", ["softmax", "robustmax"])
@pytest.mark.parametrize("factorised", [False, True])
def test_the_bound_climbs_and_stays_below_the_evidence(link, factorised):
    X, rows, prior, hyper, cov = tiny(0)
    how = recipe(link, factorised, n_items=3)
    bounds = climbed(how, X, rows, prior, hyper, 15, 0.2)
    if link == "softmax":
        proba = oracles.softmax_labelling_proba(cov)
    else:
        proba = oracles.robust_max_labelling_proba(cov, EPSILON)
    evidence = oracles.svgpcr_log_evidence(*rows, prior, proba)
    assert (np.diff(bounds) > -1e-9).all()
    assert bounds[-1] > bounds[0] + 1e-3
    assert (bounds < evidence).all()
    assert bounds[-1] > evidence - 1.5  # and not far


def test_a_labelling_has_a_probability():
    *_, cov = tiny(0)
    for proba in (
        oracles.softmax_labelling_proba(cov),
        oracles.robust_max_labelling_proba(cov, EPSILON),
    ):
        total = sum(proba((i, j, k)) for i in (0, 1) for j in (0, 1) for k in (0, 1))
        assert_allclose(total, 1.0, rtol=1e-9)


@pytest.mark.parametrize("factorised", [False, True])
def test_full_batch_updates_never_lower_the_bound(factorised):
    given = problem(3)
    bounds = climbed(
        recipe("softmax", factorised),
        given["X"], given["rows"], given["prior"], given["hyper"], 10, 0.2,
    )  # fmt: skip
    assert (np.diff(bounds) > -1e-9).all()


@pytest.mark.parametrize("factorised", [False, True])
def test_epsilons_update_climbs_to_the_best_of_a_grid(factorised):
    given = problem(4)
    latent = sparse_gp.Latent(*(jnp.asarray(a) for a in slow_latent(given)[:2]))
    evidence = given["batch"].evidence

    @jax.jit
    def at(epsilon):
        states = links.robust_max_states(*latent, epsilon)
        bound = labels.best_bound(states, evidence, factorised).sum()
        return bound, labels.agreement(states, evidence, factorised)

    epsilon, before = 0.3, -np.inf
    for _ in range(200):
        bound, agreement = at(jnp.asarray(epsilon))
        assert bound >= before - 1e-12
        epsilon, before = training.best_epsilon(np.array(agreement)), bound
    grid = [float(at(jnp.asarray(e))[0]) for e in np.linspace(2e-3, 0.5, 60)]
    assert before >= max(grid) - 1e-6


# -- the estimator -------------------------------------------------------------------

QUICK = {"n_inducing": 8, "max_epochs": 80}


@pytest.fixture(scope="module")
def data():
    return contract.two_clouds()


@pytest.fixture(scope="module")
def fitted(data):
    return SVGPCR(**QUICK).fit(*data[:2])


def test_labels_skills_and_predictions_are_right(fitted, data):
    X, _, truth = data
    assert (fitted.labels_ == truth).mean() > 0.95
    assert (fitted.predict(X) == truth).mean() > 0.95
    accuracy = fitted.annotator_summary()["accuracy"]
    assert accuracy[0] > accuracy[1] > accuracy[2]


def test_counts_are_the_prior_and_the_soft_counts(fitted, data):
    item, who = np.divmod(np.arange(data[1].size), 3)
    seen = oracles.soft_counts(
        fitted.label_proba_, item, who, data[1].ravel(), (3, 2, 2)
    )
    assert_allclose(fitted.confusion_counts_, fitted.annotator_prior_ + seen, atol=1e-6)


def test_the_trace_has_the_five_terms_and_their_total(fitted):
    trace = fitted.trace_
    gained = trace[["labels", "features", "entropy"]].sum(axis=1)
    total = gained - trace[["kl_gp", "kl_annotators"]].sum(axis=1)
    assert_allclose(trace["bound"], total)
    assert trace["bound"].iloc[-1] > trace["bound"].iloc[0]


def test_joining_by_id_index_or_row_number_is_one_fit(fitted, data):
    X, y, _ = data
    ids = [f"i{n}" for n in range(len(X))]
    answers = wc.Annotations.from_matrix(y, items=ids)
    long = answers.to_frame().sample(frac=1, random_state=0)
    by_id = SVGPCR(**QUICK).fit(X, answers, items=ids)
    by_index = SVGPCR(**QUICK).fit(pd.DataFrame(X, index=ids, columns=["a", "b"]), long)
    for other in (by_id, by_index):
        assert_allclose(other.label_proba_, fitted.label_proba_, atol=1e-6)
        assert list(other.items_) == ids
    assert by_index.feature_names_in_.tolist() == ["a", "b"]
    answers = wc.Annotations.from_matrix(y, items=[*ids[:-1], "stranger"])
    with pytest.raises(InputError, match="stranger"):
        SVGPCR(**QUICK).fit(X, answers, items=ids)


def test_items_without_answers_get_the_predictions_label(data):
    X, y, truth = data
    some = wc.Annotations.from_matrix(y[:40])
    model = SVGPCR(**QUICK).fit(X, some)
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
    again = SVGPCR(**QUICK).fit(*data[:2])
    assert_array_equal(again.label_proba_, fitted.label_proba_)
    assert_array_equal(again.gp_["shift"], fitted.gp_["shift"])
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
    assert_array_equal(mean.argmax(1), fitted.predict_proba(data[0]).argmax(1))
    points, classes = fitted.inducing_points()
    assert points.shape == (8, 2)
    assert set(classes) <= {0, 1}
    low, high = data[0].min(0) - 3, data[0].max(0) + 3
    assert ((points > low) & (points < high)).all()


def test_a_piece_of_the_items_is_predicted_as_the_whole(fitted, data):
    whole = fitted.predict_proba(data[0])
    assert_allclose(fitted.predict_proba(data[0][:33]), whole[:33], atol=1e-5)


def test_time_that_is_up_ends_the_fit(fitted, data):
    model = SVGPCR(**QUICK, time_limit=1e-3).fit(*data[:2])
    assert len(model.trace_) < len(fitted.trace_)
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
    model = SVGPCR(**QUICK).fit(X, y)
    assert_sensible(model, X)
    assert (model.labels_ == y[:, 0]).mean() > 0.7


def test_odd_answers_give_a_sensible_result(data):
    X, y, _ = data
    table = y.astype(object)
    table[1:, 2] = None  # an annotator with one answer
    lazy = SVGPCR(**QUICK).fit(X, table)
    assert_sensible(lazy, X)
    assert lazy.n_labels_.tolist() == [60, 60, 1]
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
        {"link": "robustmax", "epsilon": 1e-3, "factorised": True},
        {"kernel": "linear+se", "shared_kernel": False, "dtype": "float64"},
    ],
    ids=str,
)
def test_other_models_fit_too(data, settings):
    X, y, truth = data
    model = SVGPCR(**QUICK, **settings).fit(X, y)
    assert_sensible(model, X)
    assert (model.predict(X) == truth).mean() > 0.95


def test_svgp_learns_from_right_labels_and_refuses_a_crowd(data):
    X, y, truth = data
    model = SVGP(**QUICK).fit(X, truth)
    assert (model.predict(X) == truth).mean() > 0.95
    assert_array_equal(model.labels_, truth)
    with pytest.raises(InputError, match="SVGPCR"):
        SVGP(**QUICK).fit(X, y)


def test_a_fit_leaves_jaxs_settings_alone():
    code = """
import jax, numpy as np
from wisecrowd import SVGPCR
X = np.linspace(-1, 1, 20)[:, None]
model = SVGPCR(n_inducing=3, max_epochs=4).fit(X, (X > 0).astype(int))
assert np.isfinite(model.predict_proba(X)).all()
assert not jax.config.jax_enable_x64
assert jax.numpy.ones(1).dtype == "float32"
"""
    subprocess.run([sys.executable, "-c", code], check=True)
