"""The bound of SVGPCR against loops and integrals; its slopes; its updates."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.maths.gp import class_posterior, kernels, links, sparse_gp
from wisecrowd.maths.gp.class_posterior import Conditional, Factorised
from wisecrowd.maths.gp.links import RobustMax, Softmax
from wisecrowd.methods.svgpcr import model, natural
from wisecrowd.methods.svgpcr.model import Batch, Divergence, Hyper, Recipe
from wisecrowd.methods.svgpcr.parts import Parts
from wisecrowd.skills import ConfusionMatrices

N_ITEMS, N_INDUCING, N_CLASSES, N_ANSWERS, JITTER = 7, 4, 3, 4, 1e-8
EPSILON = 0.07
LINKS = pytest.mark.parametrize("link", [Softmax(), RobustMax()], ids=str)
FAMILIES = pytest.mark.parametrize("family", [Conditional(), Factorised()], ids=str)


def recipe(link, family, shared=True, n_items=N_ITEMS):
    kernel = kernels.Stationary("se")
    return Recipe(kernel, link, family, shared, n_items, JITTER)


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
        "scale": scale, "variance": variance, "rows": rows, "evidence": evidence,
        "skills": ConfusionMatrices(prior, counts),
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


def slow_bound(given, link, family, largest):
    """The first five terms, by loops over items, states and classes."""
    mean, var, kl_gp = slow_latent(given)
    terms = np.zeros(3)
    nodes = links.normal_nodes(Softmax().n_samples, N_CLASSES)
    for n in range(N_ITEMS):
        if link == Softmax():
            states = oracles.softmax_states(mean[n], var[n], nodes)
        else:
            states = oracles.robust_max_states(mean[n], var[n], EPSILON, largest)
        evidence = given["evidence"][n]
        terms += oracles.label_terms(states, evidence, family == Factorised())
    prior, counts = given["skills"].prior, given["skills"].counts
    kl_annotators = sum(
        oracles.dirichlet_kl(counts[a, c], prior[a, c])
        for a in range(5)
        for c in range(N_CLASSES)
    )
    return np.array([*terms, kl_gp, kl_annotators])


def same_grid(mean, var):
    """Of one item, with the nodes of the model: the integral has its own tests."""
    row = links.largest_proba(jnp.asarray(mean)[None], jnp.asarray(var)[None])
    return np.array(row[0])


def cost(skills, log_hyperprior=0.0):
    return Divergence(jnp.asarray(skills.divergence()), jnp.asarray(log_hyperprior))


@functools.partial(jax.jit, static_argnums=0)
def watched(how, state, batch, epsilon, divergence):
    """The bound, and what each item adds to it, as a fit watches them."""
    one = jnp.ones((), batch.X.dtype)
    # JAX does not compile what has options of the compiler inside another function.
    visited, bound = natural.visited.__wrapped__, natural.bound.__wrapped__
    terms = visited(how, state, batch, epsilon, one).terms
    return bound(how, terms, state.natural, divergence), terms.total


def fast_bound(how, given, batch=None, log_hyperprior=0.0):
    """The bound as the trace of a fit has it."""
    state = natural.begun(given["natural"], given["hyper"])
    batch = given["batch"] if batch is None else batch
    divergence = cost(given["skills"], log_hyperprior)
    return watched(how, state, batch, jnp.asarray(EPSILON), divergence)[0]


@LINKS
@FAMILIES
@pytest.mark.parametrize("shared", [True, False])
def test_the_terms_are_the_loop(link, family, shared):
    given = problem(0, shared)
    got = fast_bound(recipe(link, family, shared), given, log_hyperprior=-1.7)
    want = slow_bound(given, link, family, same_grid)
    assert_allclose([float(t) for t in got[:5]], want, rtol=1e-10, atol=1e-10)
    assert float(got.log_hyperprior) == -1.7
    assert_allclose(got.total, want[:3].sum() - want[3:].sum() - 1.7, rtol=1e-10)


def test_robust_max_is_the_bound_of_the_exact_integral():
    given = problem(1)
    got = fast_bound(recipe(RobustMax(), Conditional()), given)
    want = slow_bound(given, RobustMax(), Conditional(), oracles.largest_proba)
    assert_allclose([float(term) for term in got[:5]], want, atol=1e-6)


@LINKS
@FAMILIES
def test_the_mean_over_batches_is_the_full_bound(link, family):
    given = problem(2)
    # Six items: three batches of two.
    how = recipe(link, family, n_items=6)
    batch = Batch(given["batch"].X[:6], given["batch"].evidence[:6])
    whole = fast_bound(how, given, batch)
    order = np.random.default_rng(0).permutation(6).reshape(3, 2)
    parts = [
        fast_bound(how, given, Batch(batch.X[rows], batch.evidence[rows]))
        for rows in order
    ]
    mean = [np.mean([float(part[i]) for part in parts]) for i in range(len(whole))]
    assert_allclose(mean, [float(term) for term in whole], rtol=1e-10)


@LINKS
def test_the_posterior_given_f_has_the_tighter_bound(link):
    for seed in range(5):
        given = problem(seed)
        tight, loose = (
            fast_bound(recipe(link, family), given)
            for family in (Conditional(), Factorised())
        )
        assert tight.total >= loose.total - 1e-10


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_bound_is_a_64_bit_number_whatever_the_batch_is(dtype):
    given = problem(0)
    batch = Batch(*(part.astype(dtype) for part in given["batch"]))
    how = recipe(Softmax(), Conditional())
    state = natural.begun(given["natural"], given["hyper"])
    epsilon = jnp.asarray(EPSILON, dtype)
    got, per_item = watched(how, state, batch, epsilon, cost(given["skills"]))
    assert got.total.dtype == "float64"
    assert per_item.dtype == dtype
    assert_allclose(got.total, fast_bound(how, given).total, rtol=1e-5)


# -- its slopes ----------------------------------------------------------------------

SOME = pytest.mark.parametrize(
    ("link", "family", "shared"),
    [
        (Softmax(), Conditional(), True),
        (RobustMax(), Factorised(), False),
        (RobustMax(), Conditional(), True),
    ],
    ids=str,
)
STEP = jax.jit(natural.step, static_argnums=0)


def total(how, natural, hyper, batch):
    """The assembled bound as a function of all that a step moves."""
    latent = model.latent(how, natural, hyper, batch.X)
    terms = model.item_terms(how, latent, batch.evidence, jnp.asarray(EPSILON))
    nothing = Divergence(jnp.zeros(()), jnp.zeros(()))
    kl = sparse_gp.kl_to_prior(natural)
    return model.bound(how, terms, kl, nothing).total


def stepped(how, given, natural_rate):
    """The state after one step of a fit, from a fresh memory of Adam."""
    rates = natural.Rates(jnp.asarray(natural_rate), jnp.asarray(0.01))
    state = natural.begun(given["natural"], given["hyper"])
    return STEP(how, state, given["batch"], jnp.asarray(EPSILON), rates)[0]


@SOME
def test_adam_sees_the_slope_of_the_bound_by_kernel_and_inducing_points(
    link, family, shared
):
    # Twice as many items as in the batch: the batch stands for all of them.
    given, how = problem(5, shared), recipe(link, family, shared, n_items=2 * N_ITEMS)
    slope = jax.jit(jax.grad(total, argnums=2), static_argnums=0)
    want = slope(how, given["natural"], given["hyper"], given["batch"])
    memory = stepped(how, given, 0.01).memory.mu  # a tenth of the first slope
    seen, slopes = jax.tree.leaves(memory), jax.tree.leaves(want)
    assert max(np.abs(np.array(slope)).max() for slope in slopes) > 1e-2
    for ours, slope in zip(seen, slopes, strict=True):
        assert_allclose(2 * 10 * np.array(ours), slope, rtol=1e-7, atol=1e-9)


@SOME
def test_a_step_of_q_is_the_natural_gradient_of_the_bound(link, family, shared):
    """That is the slope by the mean parameters, E w and E w wᵀ."""
    given, how = problem(6, shared), recipe(link, family, shared, n_items=2 * N_ITEMS)
    moments = sparse_gp.to_moments(given["natural"])
    outer = moments.mean[:, :, None] * moments.mean[:, None, :]

    def by_mean_parameters(first, second):
        cov = second - first[:, :, None] * first[:, None, :]
        precision = jnp.linalg.inv(cov)
        shift = (precision @ first[:, :, None])[:, :, 0]
        natural = sparse_gp.Natural(shift, precision)
        return total(how, natural, given["hyper"], given["batch"])

    by_both = jax.jit(jax.grad(by_mean_parameters, argnums=(0, 1)))
    slope = by_both(moments.mean, moments.cov + outer)
    rate = 1e-3
    moved = stepped(how, given, rate).natural
    symmetric = (slope[1] + jnp.swapaxes(slope[1], 1, 2)) / 2
    assert_allclose(
        (moved.shift - given["natural"].shift) / rate, slope[0], rtol=1e-6, atol=1e-7
    )
    bend = (moved.precision - given["natural"].precision) / rate
    assert_allclose(bend, -2 * symmetric, rtol=1e-6, atol=1e-7)


class FilledUp(Parts):
    """One process, whose part of a batch three copies fill up."""

    n_own = property(lambda self: self.batch + 3)


@pytest.mark.parametrize("rate", [0.03, 0.9])  # 0.9: robust max needs the safer step
@SOME
def test_steps_that_are_shared_are_the_same_and_filling_counts_for_nothing(
    link, family, shared, rate
):
    given, how = problem(7, shared), recipe(link, family, shared, n_items=2 * N_ITEMS)
    rng = np.random.default_rng(0)
    rows = rng.permuted(np.tile(np.arange(N_ITEMS), (4, 1)), axis=1)
    rates = natural.Rates(np.full(4, rate), np.full(4, 0.01))

    def after(how, rows):
        state = natural.begun(given["natural"], given["hyper"])
        X, said = (np.asarray(table)[rows] for table in given["batch"])
        return natural.steps(how, state, X, said, jnp.asarray(EPSILON), rates)

    mesh = jax.sharding.Mesh(jax.devices()[:1], ("process",))
    one = FilledUp(mesh, N_ITEMS)
    found = after(how._replace(parts=one), one.rows(rows, 0))
    for got, want in zip(*map(jax.tree.leaves, (found, after(how, rows))), strict=True):
        assert got.shape == want.shape
        assert_allclose(got, want, rtol=1e-8, atol=1e-10)


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


def climbed(how, X, rows, prior, hyper, n_rounds, rate):
    """Bounds after every full-batch update of q(U) and of q(R)."""
    answers = Answers.from_codes(*rows, (len(X), *prior.shape))
    state = natural.begun(
        sparse_gp.prior_natural(prior.shape[1], len(hyper.inducing)), hyper
    )
    skills, out = ConfusionMatrices(prior, prior + 0.1), []
    rates = natural.Rates(jnp.asarray(rate), jnp.asarray(0.0))
    epsilon = jnp.asarray(EPSILON)

    def batch():
        return Batch(jnp.asarray(X), jnp.asarray(skills.evidence(answers)))

    def value():
        found, _ = watched(how, state, batch(), epsilon, cost(skills))
        return float(found.total)

    for _ in range(n_rounds):
        state, _ = STEP(how, state, batch(), epsilon, rates)
        out.append(value())
        _, seen = STEP(how, state, batch(), epsilon, rates)
        skills = skills.learned_from(answers, np.array(seen.proba))
        out.append(value())
    return np.array(out)


@LINKS
@FAMILIES
def test_the_bound_climbs_and_stays_below_the_evidence(link, family):
    X, rows, prior, hyper, cov = tiny(0)
    how = recipe(link, family, n_items=3)
    bounds = climbed(how, X, rows, prior, hyper, 15, 0.2)
    if link == Softmax():
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


@FAMILIES
def test_full_batch_updates_never_lower_the_bound(family):
    given = problem(3)
    bounds = climbed(
        recipe(Softmax(), family),
        given["X"], given["rows"], given["skills"].prior, given["hyper"], 10, 0.2,
    )  # fmt: skip
    assert (np.diff(bounds) > -1e-9).all()


@FAMILIES
def test_epsilons_update_climbs_to_the_best_of_a_grid(family):
    given = problem(4)
    latent = sparse_gp.Latent(*(jnp.asarray(a) for a in slow_latent(given)[:2]))
    evidence = given["batch"].evidence

    @jax.jit
    def at(epsilon):
        states = links.robust_max_states(*latent, epsilon)
        bound = family.best_bound(states, evidence).sum()
        return bound, class_posterior.agreement(family, states, evidence)

    epsilon, before = 0.3, -np.inf
    for _ in range(200):
        bound, agreement = at(jnp.asarray(epsilon))
        assert bound >= before - 1e-12
        epsilon, before = natural.best_epsilon(np.array(agreement)), bound
    grid = [float(at(jnp.asarray(e))[0]) for e in np.linspace(2e-3, 0.5, 60)]
    assert before >= max(grid) - 1e-6
