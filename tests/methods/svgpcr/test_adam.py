"""The paper's inference: its bound against loops, its slopes, its start, its fits."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from numpy.testing import assert_allclose, assert_array_equal

import contract
import oracles
import wisecrowd as wc
from wisecrowd import SVGPCR, InputError
from wisecrowd.answers import Answers
from wisecrowd.feature_source import InMemory
from wisecrowd.fit import stochastic
from wisecrowd.fit.checkpoint import Checkpoint
from wisecrowd.fit.training import Plan, StepBudget
from wisecrowd.maths.gp import kernels, sparse_gp
from wisecrowd.maths.gp.class_posterior import Factorised
from wisecrowd.maths.gp.links import RobustMax, Softmax
from wisecrowd.methods.svgpcr import adam
from wisecrowd.methods.svgpcr.model import Data, Hyper, Recipe, SparsePlan

N, A, C, K, M, D, JITTER, EPSILON = 6, 5, 3, 4, 7, 2, 1e-8, 0.07
QUICK = {"n_inducing": 8, "max_epochs": 200, "learning_rate": 0.03}


ROBUST_MAX = RobustMax(EPSILON)


def recipe(link=ROBUST_MAX):
    return Recipe(kernels.Stationary("se"), link, Factorised(), True, N, JITTER)


@functools.cache
def problem():
    """A task of six items, one of them gold, and a q of everything."""
    rng = np.random.default_rng(0)
    drawn = oracles.drawn_crowd(0, n_items=N, n_annotators=A, n_classes=C, n_answers=K)
    rows = drawn["item"], drawn["annotator"], drawn["label"]
    answers = Answers.from_codes(*rows, (N, A, C, K))
    gold = np.array([-1, -1, 2, -1, -1, -1])
    X = rng.normal(size=(N, D))
    prior = rng.uniform(0.5, 3, (A, C, K))
    data = Data(InMemory(X), answers, gold)
    run = Plan("adam", 0, N, stochastic.Schedule(30, N, 10))
    numbers = StepBudget(30, 1, 1), 0.0, 0.01  # Adam's rate is .01
    plan = SparsePlan(run, *numbers, recipe(), None, M, "float64")
    task = adam.AdamTask(plan, data, prior)
    kernel = {"log_scale": jnp.asarray([0.3]), "log_variance": jnp.asarray([0.7])}
    params = adam.AdamParams(
        sparse_gp.Rooted(
            jnp.asarray(rng.normal(size=(C, M))),
            jnp.asarray(np.eye(M) + 0.2 * rng.normal(size=(C, M, M))),
        ),
        Hyper(kernel, jnp.asarray(rng.normal(size=(M, D)))),
        jnp.asarray(rng.normal(size=(N, C))),
        jnp.asarray(rng.normal(size=(A, C, K))),
    )
    return task, params


@functools.partial(jax.jit, static_argnums=0)
def bound_of(recipe, params, prior, batch):
    return adam.bound(recipe, params, prior, batch)[0]


def batch_of(task, items):
    return jax.tree.map(lambda part: jnp.asarray(part[0]), task.batches(items[None]))


def slow_terms(task, params):
    """The terms of the bound, by loops in the coordinates of u."""
    hyper = params.hyper
    k = oracles.se_kernel(*(float(np.exp(hyper.kernel[name][0])) for name in
                            ("log_scale", "log_variance")))  # fmt: skip
    Z, X = np.array(hyper.inducing), task.data.features.X
    cov = oracles.gram(k, Z, Z)
    cov += JITTER * np.diag(cov).mean() * np.eye(M)
    root = np.linalg.cholesky(cov)
    means, variances, kl_gp = [], [], 0.0
    for c in range(C):
        half = np.tril(np.array(params.gp.root[c]))
        mean = root @ np.array(params.gp.mean[c])
        spread = root @ half @ half.T @ root.T
        found = oracles.sparse_latent(k, Z, X, mean, spread, JITTER)
        means.append(found[0])
        variances.append(found[1])
        kl_gp += oracles.gaussian_kl(mean, spread, cov)
    q, _ = oracles.normalised(np.array(params.logits))
    for n, known in enumerate(task.data.gold):
        if known >= 0:
            q[n] = np.arange(C) == known
    answers = task.data.answers
    *items, kl_annotators = oracles.published_bound(
        q, (answers.item, answers.annotator, answers.answer),
        np.exp(np.array(params.log_counts)), task.prior,
        (np.array(means).T, np.array(variances).T), EPSILON, oracles.largest_proba,
    )  # fmt: skip
    return [*items, kl_gp, kl_annotators]


def test_the_terms_are_those_of_the_paper():
    task, params = problem()
    got = bound_of(
        task.recipe, params, jnp.asarray(task.prior), batch_of(task, np.arange(N))
    )
    want = slow_terms(task, params)
    assert_allclose([float(term) for term in got[:5]], want, rtol=1e-6, atol=1e-6)
    assert_allclose(got.total, sum(want[:3]) - sum(want[3:]), rtol=1e-6)


@pytest.mark.parametrize("link", [ROBUST_MAX, Softmax(8)], ids=str)
def test_the_mean_over_batches_is_the_full_bound(link):
    task, params = problem()
    prior, how = jnp.asarray(task.prior), recipe(link)
    whole = bound_of(how, params, prior, batch_of(task, np.arange(N)))
    order = np.random.default_rng(1).permutation(N).reshape(3, 2)
    parts = [bound_of(how, params, prior, batch_of(task, items)) for items in order]
    mean = [np.mean([float(part[i]) for part in parts]) for i in range(len(whole))]
    assert_allclose(mean, [float(term) for term in whole], rtol=1e-10)


def test_the_slopes_are_those_of_the_bound():
    task, params = problem()
    prior, batch = jnp.asarray(task.prior), batch_of(task, np.array([4, 1, 2]))

    @jax.jit
    def total(params):
        return adam.bound(task.recipe, params, prior, batch)[0].total

    got = jax.jit(lambda params: adam.slopes(task.recipe, params, prior, batch))(params)
    want = jax.jit(jax.grad(total))(params)
    for ours, slope in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        # Robust max does not see the kernel's variance, where q(w) is whitened.
        assert slope.size == 1 or np.abs(slope).max() > 1e-2
        assert_allclose(ours, slope, rtol=1e-7, atol=1e-9)
    check_grads(total, (params,), order=1, modes=["rev"], rtol=1e-4)
    assert_array_equal(got.logits[np.array([0, 3, 5])], 0)  # not in the batch
    assert_array_equal(got.logits[2], 0)  # gold


def test_a_fit_begins_with_the_votes():
    task, params = problem()
    start = task.start(params.hyper).params
    answers = task.data.answers
    votes = answers.votes() + 1.0
    proba = votes / votes.sum(1, keepdims=True)
    assert_allclose(jax.nn.softmax(start.logits, axis=1), proba, rtol=1e-10)
    counts = np.exp(np.array(start.log_counts))
    assert_allclose(counts.sum(-1), 1.0, rtol=1e-10)
    rows = answers.item, answers.annotator, answers.answer
    table = oracles.soft_counts(proba, *rows, (A, C, K)) + 1 / K
    assert_allclose(counts, table / table.sum(-1, keepdims=True), rtol=1e-10)


def test_the_rate_is_a_tenth_in_the_last_third(monkeypatch):
    task, params = problem()
    state, taken = task.start(params.hyper), []

    def steps(recipe, params, memory, prior, batches, rates):
        taken.extend(rates.tolist())
        return params, memory

    monkeypatch.setattr(adam, "steps", steps)
    schedule = stochastic.Schedule(30, N, 10, cool_down=adam.LATE_SHARE)
    run = stochastic.Run(state, 0, 30)
    while not run.done:
        run = stochastic.advanced(task, N, schedule, run)
    assert_allclose(taken, [0.01] * 21 + [0.001] * 9)


# -- as an estimator -----------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    return contract.two_clouds()


@pytest.fixture(scope="module")
def fitted(data):
    return SVGPCR.as_published(**QUICK).fit(*data[:2])


def test_the_published_method_is_model_and_inference():
    model = SVGPCR.as_published(8, max_epochs=80)
    assert model.get_params() == SVGPCR(
        8, max_epochs=80, link="robustmax", epsilon=1e-3, posterior="factorised",
        annotator_prior="flat", dependence=None, inference="adam", batch_size=1000,
        learning_rate=0.01,
    ).get_params()  # fmt: skip
    other = SVGPCR.as_published(inference="natural")
    assert other.batch_size == SVGPCR().batch_size
    assert other.learning_rate == SVGPCR().learning_rate
    assert SVGPCR.as_published(dependence="learn").dependence == "learn"


def test_labels_and_predictions_are_right(data, fitted):
    X, _, truth = data
    assert (fitted.labels_ == truth).mean() > 0.9
    assert (fitted.predict(X) == truth).mean() > 0.95
    assert fitted.learned_.pool is None
    assert fitted.epsilon_ == 1e-3
    assert fitted.sharpness_ == 1.0
    assert_array_equal(fitted.annotator_prior_, np.ones((1, 2, 2)))
    accuracy = fitted.annotator_summary()["accuracy"]
    assert accuracy[0] > accuracy[1] > accuracy[2]


def test_the_trace_has_the_terms_and_the_bound_climbs(fitted):
    trace = fitted.trace_
    gained = trace[["answers", "features", "entropy"]].sum(axis=1)
    lost = trace[["kl_gp", "kl_annotators"]].sum(axis=1)
    assert_allclose(trace["bound"], gained - lost, rtol=1e-9)
    assert (np.diff(trace["bound"]) > 0).all()
    assert trace.index.tolist() == list(range(20, 201, 20))


def test_our_inference_of_the_published_model_keeps_its_posterior(data):
    X, y, truth = data
    settings = {"n_inducing": 8, "max_epochs": 80}
    model = SVGPCR.as_published(inference="natural", **settings).fit(X, y)
    assert (model.labels_ == truth).mean() > 0.9
    assert model.learned_.pool is None
    item, who = np.divmod(np.arange(y.size), 3)
    seen = oracles.soft_counts(model.label_proba_, item, who, y.ravel(), (3, 2, 2))
    assert_allclose(model.confusion_counts_, 1 + seen, atol=1e-4)


def test_gold_is_certain(data):
    X, y, truth = data
    gold = {0: 1 - int(truth[0]), 1: int(truth[1])}
    model = SVGPCR.as_published(**QUICK).fit(X, y, gold=gold)
    assert_array_equal(model.label_proba_[0], np.eye(2)[gold[0]])
    assert_array_equal(model.label_proba_[1], np.eye(2)[gold[1]])


def test_a_fit_that_was_killed_goes_on_where_it_stood(
    data, fitted, tmp_path, monkeypatch
):
    X, y, _ = data

    class Killed(Exception):
        pass

    def write(keep, run, write=Checkpoint.write):
        write(keep, run)
        if run.step == 60:
            raise Killed

    keep = {"checkpoint": tmp_path / "fit", "checkpoint_seconds": 0}
    monkeypatch.setattr(Checkpoint, "write", write)
    with pytest.raises(Killed):
        SVGPCR.as_published(**QUICK, **keep).fit(X, y)
    monkeypatch.undo()
    model = SVGPCR.as_published(**QUICK, **keep, resume=True).fit(X, y)
    assert_array_equal(model.label_proba_, fitted.label_proba_)
    assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
    assert not (tmp_path / "fit").exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"posterior": "conditional"},
        {"epsilon": "learn"},
        {"annotator_prior": "learned"},
        {"kernel": "deep"},
        {"inference": "sgd"},
    ],
    ids=str,
)
def test_what_adam_does_not_learn_is_refused(data, settings):
    with pytest.raises(InputError, match="inference"):
        SVGPCR.as_published(**{**QUICK, **settings}).fit(*data[:2])


def test_a_saved_fit_answers_as_before(data, fitted, tmp_path):
    wc.save(fitted, tmp_path / "model")
    loaded = wc.load(tmp_path / "model")
    assert_array_equal(loaded.predict_proba(data[0]), fitted.predict_proba(data[0]))
    assert loaded.inference == "adam"
