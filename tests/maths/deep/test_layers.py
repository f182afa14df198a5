"""Every layer against loops, its gradient, and what must not reach it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from wisecrowd.maths.deep import crowd_layers, layers
from wisecrowd.maths.deep.crowd_layers import Rows

N, A, C, K, D = 7, 5, 3, 4, 2
KINDS = [(kind, mixture) for kind in ("vw", "vwb", "mw") for mixture in (True, False)]
NONE = layers.Strength(0.0, 0.0)


@pytest.fixture(scope="module")
def crowd():
    """Answers on seven items (one has none), with an answer that is no class."""
    made = oracles.drawn_crowd(3, n_answers=K)
    item, annotator, answer = (made[name] for name in ("item", "annotator", "label"))
    keep = item != 2
    rng = np.random.default_rng(0)
    return {
        "rows": (item[keep], annotator[keep], answer[keep]),
        "X": jnp.asarray(rng.normal(size=(N, D))),
        "log_proba": jnp.asarray(np.log(rng.dirichlet(np.ones(C), N))),
        "gold": np.array([-1, 1, -1, -1, 0, -1, -1]),
    }


def flat(rows, gold, n_fill=3):
    """Rows with some that only fill up, which carry the worst of values."""
    item, annotator, answer = (np.asarray(r, np.int32) for r in rows)
    fill = np.zeros(n_fill, np.int32)
    weight = np.append(np.ones(len(item)), np.zeros(n_fill))
    columns = (np.append(c, fill).astype(np.int32) for c in (item, annotator, answer))
    made = Rows(*columns, weight, np.asarray(gold, np.int32))
    return jax.tree.map(jnp.asarray, made)


def recipe_of(kind, mixture, **more):
    return layers.CrowdLayerRecipe(A, C, K, kind=kind, mixture=mixture, **more)


def drawn_params(recipe, seed=0):
    rng = np.random.default_rng(seed)
    start = recipe.start(rng)
    return {
        k: jnp.asarray(v.astype(float) + rng.normal(size=v.shape))
        for k, v in start.items()
    }


def plain(params):
    """The same in NumPy: loops over arrays of JAX take long."""
    return {name: np.asarray(value) for name, value in params.items()}


def given_of(kind, params):
    params = plain(params)

    def given(n, a, y):
        W = oracles.layer_matrix(kind, params, a, C, K)
        return [oracles.softmaxed(W[c])[y] for c in range(C)]

    return given


@pytest.mark.parametrize(("kind", "mixture"), KINDS)
def test_answers_have_the_probabilities_of_the_oracle(crowd, kind, mixture):
    recipe = recipe_of(kind, mixture)
    params = drawn_params(recipe)
    rows = flat(crowd["rows"], np.full(N, -1))
    got = recipe.log_answer(params, crowd["log_proba"], crowd["X"], rows)
    proba = np.exp(np.asarray(crowd["log_proba"]))
    want = [
        np.log(oracles.layer_answer(kind, mixture, plain(params), a, proba[n], K)[y])
        for n, a, y in zip(*crowd["rows"], strict=True)
    ]
    assert_allclose(got[: len(want)], want, rtol=1e-10)


@pytest.mark.parametrize(("kind", "mixture"), KINDS)
def test_items_have_the_likelihood_of_the_oracle(crowd, kind, mixture):
    recipe = recipe_of(kind, mixture)
    params = drawn_params(recipe)
    rows = flat(crowd["rows"], crowd["gold"])
    got = recipe.log_likelihood(params, crowd["log_proba"], crowd["X"], rows)
    want = oracles.items_log_likelihood(
        np.exp(np.asarray(crowd["log_proba"])),
        given_of(kind, params),
        crowd["rows"],
        crowd["gold"],
    )
    assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_conal_has_the_likelihood_of_the_oracle(crowd):
    recipe = layers.CommonLayer(A, C, K, n_features=D)
    params = drawn_params(recipe)
    known, X = plain(params), np.asarray(crowd["X"])
    rows = flat(crowd["rows"], crowd["gold"])
    got = recipe.log_likelihood(params, crowd["log_proba"], crowd["X"], rows)
    want = oracles.items_log_likelihood(
        np.exp(np.asarray(crowd["log_proba"])),
        lambda n, a, y: oracles.conal_given(known, X[n], a, y),
        crowd["rows"],
        crowd["gold"],
    )
    assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_conal_as_published_mixes_activations(crowd):
    recipe = layers.CommonLayer(A, C, K, n_features=D, mixture=False)
    params = drawn_params(recipe)
    known, X = plain(params), np.asarray(crowd["X"])
    proba = np.exp(np.asarray(crowd["log_proba"]))
    rows = flat(crowd["rows"], np.full(N, -1))
    got = recipe.log_answer(params, crowd["log_proba"], crowd["X"], rows)
    given = recipe.log_given(params, crowd["X"], rows)
    for at, (n, a, y) in enumerate(zip(*crowd["rows"], strict=True)):
        want = oracles.conal_answer(known, X[n], a, proba[n])[y]
        assert_allclose(got[at], np.log(want), rtol=1e-10)
        mixed = oracles.conal_mixed(known, X[n], a)
        want = [np.log(oracles.softmaxed(mixed[c])[y]) for c in range(C)]
        assert_allclose(given[at], want, rtol=1e-10)


def test_aggnet_has_the_likelihood_of_the_oracle(crowd):
    log_confusion = np.log(np.random.default_rng(0).dirichlet(np.ones(K), (A, C)))
    evidence = oracles.evidence_per_item(log_confusion, *crowd["rows"], N)
    got = layers.Marginal().log_likelihood(
        {}, crowd["log_proba"], crowd["X"], jnp.asarray(evidence)
    )
    want = oracles.items_log_likelihood(
        np.exp(np.asarray(crowd["log_proba"])),
        lambda n, a, y: np.exp(log_confusion[a, :, y]),
        crowd["rows"],
        np.full(N, -1),
    )
    assert_allclose(got, want, rtol=1e-10, atol=1e-12)


def test_a_step_of_aggnet_has_its_own_e_step(crowd):
    evidence = jnp.asarray(np.random.default_rng(0).normal(size=(N, C)))

    def loss(log_proba):
        return layers.Marginal().loss({}, log_proba, crowd["X"], evidence, NONE)

    posterior, _ = oracles.normalised(np.asarray(crowd["log_proba"] + evidence))
    slope = jax.grad(loss)(crowd["log_proba"])
    assert_allclose(slope, -posterior / N, rtol=1e-9)


ALL = {
    **{f"{kind} {mixture}": recipe_of(kind, mixture) for kind, mixture in KINDS},
    "trace": recipe_of("mw", True, regularizer="trace"),
    "geometric": recipe_of("mw", True, regularizer="geometric"),
    "conal": layers.CommonLayer(A, C, K, n_features=D),
    "conal softmax": layers.CommonLayer(A, C, K, n_features=D, mixture=False),
}


@pytest.mark.parametrize("name", [name for name in ALL if name != "vw False"])
def test_the_gradient_is_that_of_finite_differences(crowd, name, monkeypatch):
    # What is a constant for the gradient must be one for the differences too.
    monkeypatch.setattr(crowd_layers, "explained", lambda log_proba: jnp.asarray(0.7))
    recipe = ALL[name]
    params = drawn_params(recipe)
    rows = flat(crowd["rows"], crowd["gold"])
    strength = layers.Strength(0.3, 0.2)

    def loss(params, logits):
        log_proba = jax.nn.log_softmax(logits)
        return recipe.loss(params, log_proba, crowd["X"], rows, strength)

    at = params, crowd["log_proba"]
    check_grads(jax.jit(loss), at, order=1, modes=["rev"], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["vwb True", "mw False", "trace", "conal"])
def test_a_missing_answer_changes_neither_loss_nor_slope(crowd, name):
    """The rows that fill up have any annotator, item and answer, and weight 0."""
    recipe, rng = ALL[name], np.random.default_rng(1)
    params = drawn_params(recipe)
    made = flat(crowd["rows"], crowd["gold"], n_fill=4)
    n = len(crowd["rows"][0])

    def refilled(column, most):
        return jnp.asarray(np.append(column[:n], rng.integers(1, most, 4)), jnp.int32)

    other = made._replace(
        place=refilled(made.place, N),
        annotator=refilled(made.annotator, A),
        answer=refilled(made.answer, K),
    )

    def loss(params, rows):
        given = crowd["log_proba"], crowd["X"], rows, layers.Strength(0.3, 0.2)
        return recipe.loss(params, *given)

    value = jax.jit(jax.value_and_grad(loss))
    for got, want in zip(
        jax.tree.leaves(value(params, other)),
        jax.tree.leaves(value(params, made)),
        strict=True,
    ):
        assert_allclose(got, want, rtol=1e-12, atol=1e-15)
    likelihoods = [
        recipe.log_likelihood(params, crowd["log_proba"], crowd["X"], rows)
        for rows in (made, other)
    ]
    assert_array_equal(*likelihoods)
    leaking = other._replace(weight=jnp.ones(n + 4))  # the test can fail
    assert abs(float(loss(params, leaking) - loss(params, made))) > 1e-6


def test_the_identity_start_answers_as_the_network_predicts(crowd):
    """As published, the activations at the start are the class probabilities."""
    proba = jnp.exp(crowd["log_proba"])
    for kind in ("vw", "vwb", "mw"):
        recipe = recipe_of(kind, False)
        params = jax.tree.map(jnp.asarray, recipe.start(np.random.default_rng(0)))
        matrices = recipe.matrices(params)[np.zeros(N, int)].astype(float)
        found = crowd_layers.activations(proba, matrices)
        assert_allclose(found[:, :C], proba, rtol=1e-12)
        assert_array_equal(found[:, C:], 0)


def test_the_penalties_are_those_of_the_oracles(crowd):
    proba = np.exp(np.asarray(crowd["log_proba"]))
    share = oracles.explained_share(proba)
    assert 0.1 < share < 0.9
    assert_allclose(crowd_layers.explained(crowd["log_proba"]), share, rtol=1e-9)
    want = share**2 * oracles.volume(proba, crowd_layers.DETERMINANT_FLOOR)
    every, some = jnp.ones(C), jnp.array([1.0, 0.0, 1.0])
    found = crowd_layers.volume_penalty(crowd["log_proba"], every)
    assert_allclose(found, want, rtol=1e-9)
    found = crowd_layers.volume_penalty(crowd["log_proba"], some)
    want = oracles.volume(proba[:, [0, 2]], crowd_layers.DETERMINANT_FLOOR)
    assert_allclose(found, share**2 * want, rtol=1e-9)
    rng = np.random.default_rng(0)
    own, common = (jnp.asarray(rng.normal(size=s)) for s in ((A, C, K), (C, K)))
    weight = jnp.array([1.0, 0.0, 1.0, 1.0, 0.0])
    tables = np.asarray(own)
    diagonal = [
        np.mean([oracles.softmaxed(tables[a, c])[c] for c in range(C)])
        for a in range(A)
    ]
    want = share**2 * np.mean([diagonal[a] for a in (0, 2, 3)])
    got = crowd_layers.trace_penalty(own, weight, crowd["log_proba"])
    assert_allclose(got, want, rtol=1e-9)
    apart = sum(np.sqrt(((own[a] - common) ** 2).sum()) for a in range(A))
    assert_allclose(crowd_layers.distance(own, common), apart, rtol=1e-9)
    squared = sum(((own[a] - common) ** 2).sum() / 2 for a in range(A))
    got = crowd_layers.gaussian_penalty(own, np.asarray(common)[None])
    assert_allclose(got, squared, rtol=1e-9)


def test_a_volume_is_largest_where_every_class_is_certain():
    certain = jnp.log(jnp.maximum(jnp.eye(C), 1e-12))[np.arange(9) % C]
    assert crowd_layers.explained(certain) > 0.999
    got = crowd_layers.volume_penalty(certain, jnp.ones(C))
    assert_allclose(got, C * np.log(C), rtol=1e-4)  # the weight is one, det = C^-C
    rng = np.random.default_rng(0)
    for _ in range(5):
        doubtful = jnp.asarray(np.log(rng.dirichlet(np.ones(C), 9)))
        weight = crowd_layers.explained(doubtful) ** 2
        assert crowd_layers.volume_penalty(doubtful, jnp.ones(C)) / weight > got
    assert crowd_layers.explained(jnp.full((4, C), -np.log(C))) < 1e-9


def test_strengths_count(crowd):
    recipe = ALL["geometric"]
    params = drawn_params(recipe)
    rows = flat(crowd["rows"], crowd["gold"])

    def loss(*strength):
        given = crowd["log_proba"], crowd["X"], rows, layers.Strength(*strength)
        return float(recipe.loss(params, *given))

    apart = np.asarray(params["matrix"]) - recipe.centre["matrix"]
    squared = (apart**2).sum() / 2
    assert_allclose(loss(2.0, 0.0) - loss(0.0, 0.0), 2 * squared, rtol=1e-9)
    volume = float(crowd_layers.volume_penalty(crowd["log_proba"], jnp.ones(C)))
    assert_allclose(loss(0.0, 3.0) - loss(0.0, 0.0), 3 * volume, rtol=1e-9)
