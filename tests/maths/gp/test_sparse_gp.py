import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from numpy.testing import assert_allclose

import oracles
from wisecrowd.maths.gp import links, sparse_gp
from wisecrowd.maths.gp.class_posterior import Conditional
from wisecrowd.maths.gp.kernels import Stationary
from wisecrowd.maths.gp.sparse_gp import Latent, Moments, Natural

N_CLASSES, N_INDUCING, N_ITEMS = 3, 4, 6
JITTER = 1e-9
KERNEL = Stationary("se")
PARAMS = {
    "log_scale": jnp.log(jnp.asarray(1.3)),
    "log_variance": jnp.log(jnp.asarray(2.0)),
}
SLOW_KERNEL = oracles.se_kernel(1.3, 2.0)
rng = np.random.default_rng(0)
X = jnp.asarray(rng.normal(size=(N_ITEMS, 2)))
Z = jnp.asarray(rng.normal(size=(N_INDUCING, 2)))
# Compiled once: operation by operation each would be compiled on its own.
PROJECTION = jax.jit(sparse_gp.projection, static_argnums=(0, 4))
MOMENTS = jax.jit(sparse_gp.to_moments)
LATENT = jax.jit(sparse_gp.latent_moments)


def drawn(seed, n_inducing=N_INDUCING):
    """Natural parameters of some q(w)."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(N_CLASSES, n_inducing, n_inducing))
    precision = np.eye(n_inducing) + root @ root.transpose(0, 2, 1)
    shift = rng.normal(size=(N_CLASSES, n_inducing))
    return Natural(jnp.asarray(shift), jnp.asarray(precision))


def projected(points, inducing=Z, jitter=JITTER):
    project, left = PROJECTION(KERNEL, PARAMS, inducing, points, jitter)
    return project[None], left[None]


def root_of(inducing, jitter):
    cov = oracles.gram(SLOW_KERNEL, np.array(inducing), np.array(inducing))
    return np.linalg.cholesky(
        cov + jitter * np.diag(cov).mean() * np.eye(len(inducing))
    )


def test_moments_are_inverses():
    natural = drawn(1)
    moments = MOMENTS(natural)
    for c in range(N_CLASSES):
        cov = np.linalg.inv(natural.precision[c])
        assert_allclose(moments.cov[c], cov, rtol=1e-9)
        assert_allclose(moments.mean[c], cov @ natural.shift[c], rtol=1e-9)


def test_the_inverse_root_of_no_covariance_is_not_a_number():
    good, bad = np.eye(3), np.diag([1.0, -1.0, 1.0])
    inverse = sparse_gp.inverse_root(jnp.asarray(np.stack([good, bad])))
    assert_allclose(inverse[0], good)
    assert np.isnan(inverse[1]).any()
    natural = Natural(jnp.zeros((2, 3)), jnp.asarray(np.stack([good, bad])))
    assert not sparse_gp.is_valid(natural)
    assert sparse_gp.is_valid(drawn(0))


def test_whitened_is_the_plain_parametrisation():
    natural = drawn(2)
    moments = MOMENTS(natural)
    latent = LATENT(moments, *projected(X))
    root = root_of(Z, JITTER)
    divergence = 0.0
    for c in range(N_CLASSES):
        mean, cov = root @ moments.mean[c], root @ np.array(moments.cov[c]) @ root.T
        want = oracles.sparse_latent(
            SLOW_KERNEL, np.array(Z), np.array(X), mean, cov, JITTER
        )
        assert_allclose(latent.mean[:, c], want[0], rtol=1e-8)
        assert_allclose(latent.var[:, c], want[1], rtol=1e-8)
        divergence += oracles.gaussian_kl(mean, cov, root @ root.T)
    assert_allclose(sparse_gp.kl_to_prior(natural), divergence, rtol=1e-8)


def test_the_prior_has_no_divergence_and_the_variance_of_the_kernel():
    natural = sparse_gp.prior_natural(N_CLASSES, N_INDUCING)
    assert_allclose(sparse_gp.kl_to_prior(natural), 0.0, atol=1e-12)
    moments = MOMENTS(natural)
    latent = LATENT(moments, *projected(X))
    assert_allclose(latent.mean, 0.0)
    assert_allclose(latent.var, 2.0, rtol=1e-8)


def test_with_every_point_inducing_f_is_u():
    natural = drawn(3, n_inducing=N_ITEMS)
    moments = MOMENTS(natural)
    latent = LATENT(moments, *projected(X, X))
    root = root_of(X, JITTER)
    for c in range(N_CLASSES):  # a full variational GP: q(f) = N(L m, L S Lᵀ)
        assert_allclose(latent.mean[:, c], root @ moments.mean[c], atol=1e-6)
        cov = root @ np.array(moments.cov[c]) @ root.T
        assert_allclose(latent.var[:, c], np.diag(cov), atol=1e-6)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_the_projection_has_the_precision_of_the_points(dtype):
    project, left = projected(X.astype(dtype))
    assert project.dtype == left.dtype == dtype
    latent = LATENT(MOMENTS(drawn(4)), project, left)
    assert latent.mean.dtype == latent.var.dtype == dtype
    assert (left >= 0).all()


def test_equal_inducing_points_are_no_trouble():
    twice = jnp.concatenate([Z, Z])
    project, left = projected(X, twice, sparse_gp.JITTER)
    assert np.isfinite(project).all()
    assert_allclose(left, projected(X)[1], atol=1e-4)


# -- natural gradients ---------------------------------------------------------------


def gain(latent):
    """Some expected log-likelihood: softmax, conditional."""
    states = links.softmax_states(*latent, jnp.asarray(links.normal_nodes(8, 3)))
    evidence = jnp.asarray(np.random.default_rng(5).normal(size=(N_ITEMS, 3)))
    return Conditional().best_bound(states, evidence).sum()


def test_the_site_is_the_gradient_by_mean_parameters():
    project, left = projected(X)
    moments = sparse_gp.to_moments(drawn(5))
    latent = sparse_gp.latent_moments(moments, project, left)
    slope = jax.jit(jax.grad(gain))(latent)
    site = sparse_gp.site_parameters(project, latent, slope, 2.5)

    def by_mean_parameters(first, second):
        outer = first[:, :, None] * first[:, None, :]
        moments = Moments(first, second - outer)
        return 2.5 * gain(sparse_gp.latent_moments(moments, project, left))

    second = moments.cov + moments.mean[:, :, None] * moments.mean[:, None, :]
    by_both = jax.jit(jax.grad(by_mean_parameters, argnums=(0, 1)))
    want = by_both(moments.mean, second)
    assert_allclose(site.shift, want[0], atol=1e-9)
    assert_allclose(site.precision, -2 * want[1], atol=1e-9)


def regression():
    """Targets, their noise, and the slopes of E log N(y | f, noise)."""
    y = np.random.default_rng(6).normal(size=(N_ITEMS, N_CLASSES))
    return (
        y,
        0.4,
        lambda latent: Latent(
            (jnp.asarray(y) - latent.mean) / 0.4, jnp.full(y.shape, -0.5 / 0.4)
        ),
    )


def test_one_whole_step_on_a_gaussian_likelihood_is_the_exact_posterior():
    y, noise, slope = regression()
    project, left = projected(X, X)
    natural = drawn(7, n_inducing=N_ITEMS)
    latent = LATENT(MOMENTS(natural), project, left)
    site = sparse_gp.site_parameters(project, latent, slope(latent), 1.0)
    done = sparse_gp.natural_step(natural, site, 1.0)
    again = LATENT(MOMENTS(done), project, left)
    cov = oracles.gram(SLOW_KERNEL, np.array(X), np.array(X))
    cavity = sparse_gp.cavity(again, left, slope(again))
    for c in range(N_CLASSES):
        mean, posterior, without = oracles.gp_regression(cov, y[:, c], noise)
        assert_allclose(again.mean[:, c], mean, atol=1e-6)
        assert_allclose(again.var[:, c], np.diag(posterior), atol=1e-6)
        # And dividing an item's own site out leaves it out exactly.
        assert_allclose(cavity.mean[:, c], without[:, 0], atol=1e-5)
        assert_allclose(cavity.var[:, c], without[:, 1], atol=1e-5)
    # The optimum stays where it is.
    site = sparse_gp.site_parameters(project, again, slope(again), 1.0)
    still = sparse_gp.natural_step(done, site, 0.3)
    assert_allclose(still.precision, done.precision, rtol=1e-6)


def test_with_few_inducing_points_too_a_cavity_is_the_fit_without_the_item():
    _, _, slope = regression()
    project, left = projected(X)
    assert float(left.max()) > 0.1  # what the inducing points leave matters here

    def fitted(without):
        natural = drawn(7)
        latent = LATENT(MOMENTS(natural), project, left)
        kept = 1.0 * (np.arange(N_ITEMS) != without)[:, None]
        slopes = Latent(*(s * kept for s in slope(latent)))
        site = sparse_gp.site_parameters(project, latent, slopes, 1.0)
        done = sparse_gp.natural_step(natural, site, 1.0)
        return LATENT(MOMENTS(done), project, left)

    everything = fitted(without=-1)
    cavity = sparse_gp.cavity(everything, left, slope(everything))
    for n in range(N_ITEMS):
        assert_allclose(cavity.mean[n], fitted(n).mean[n], atol=1e-6)
        assert_allclose(cavity.var[n], fitted(n).var[n], atol=1e-6)


def test_small_natural_steps_climb():
    project, left = projected(X)

    @jax.jit
    def bound(natural):
        moments = sparse_gp.to_moments(natural)
        latent = sparse_gp.latent_moments(moments, project, left)
        return gain(latent) - sparse_gp.kl_to_prior(natural), latent

    @jax.jit
    def stepped(natural, latent):
        slope = jax.grad(gain)(latent)
        site = sparse_gp.site_parameters(project, latent, slope, 1.0)
        return sparse_gp.natural_step(natural, site, 0.2)

    natural = drawn(8)
    value, latent = bound(natural)
    for _ in range(10):
        natural = stepped(natural, latent)
        better, latent = bound(natural)
        assert better > value - 1e-12
        value = better


def test_a_cavity_has_a_variance_however_strong_the_site():
    latent = Latent(jnp.asarray([[1.0, 0.0]]), jnp.asarray([[0.5, 0.5]]))
    slope = Latent(jnp.asarray([[3.0, 0.0]]), jnp.asarray([[-50.0, 50.0]]))
    cavity = sparse_gp.cavity(latent, jnp.zeros((1, 1)), slope)
    assert (np.array(cavity.var) > 0).all()
    assert np.isfinite(cavity.mean).all()
    assert_allclose(cavity.var[0, 1], 0.5)  # bends upwards: taken as flat


# -- gradients by what is learned ----------------------------------------------------


def test_gradients_of_the_latent_moments_by_kernel_and_inducing_points():
    moments = sparse_gp.to_moments(drawn(9))

    def latent(params, inducing):
        params = jax.tree.map(jnp.asarray, params)
        project, left = sparse_gp.projection(
            KERNEL, params, jnp.asarray(inducing), X, 1e-6
        )
        return sparse_gp.latent_moments(moments, project[None], left[None])

    check_grads(
        jax.jit(latent), (PARAMS, Z), order=1, modes=["rev"], atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("n_kernels", [1, 3], ids=["shared", "one per class"])
def test_the_slopes_by_the_projection_are_what_differentiation_gives(n_kernels):
    rng = np.random.default_rng(7)
    moments = sparse_gp.to_moments(drawn(8))
    n_classes, n_inducing = moments.mean.shape
    assert n_kernels in (1, n_classes)
    project = jnp.asarray(rng.normal(size=(n_kernels, n_inducing, 6)))
    left = jnp.asarray(rng.uniform(0.1, 1, size=(n_kernels, 6)))
    slope = Latent(*(jnp.asarray(rng.normal(size=(6, n_classes))) for _ in range(2)))
    _, pull_back = jax.vjp(
        lambda a, v: sparse_gp.latent_moments(moments, a, v), project, left
    )
    found = sparse_gp.projection_slopes(moments, project, slope)
    for ours, theirs in zip(found, pull_back(slope), strict=True):
        assert_allclose(ours, theirs, rtol=1e-10)


def test_gradients_of_the_divergence():
    symmetric = jax.vmap(lambda p: (p + p.T) / 2)

    @jax.jit
    def divergence(shift, precision):
        return sparse_gp.kl_to_prior(Natural(shift, symmetric(precision)))

    natural = drawn(10)
    check_grads(
        divergence,
        tuple(natural),
        order=1,
        modes=["rev"],
        rtol=1e-5,
    )


def test_monte_carlo_of_the_latent_moments():
    # 5 standard errors, 36 comparisons: one failure in 50,000 runs, were it not seeded.
    natural = drawn(11)
    moments = MOMENTS(natural)
    project, left = projected(X)
    latent = LATENT(moments, project, left)
    rng, n = np.random.default_rng(0), 20_000
    for c in range(N_CLASSES):
        w = rng.multivariate_normal(moments.mean[c], moments.cov[c], n)
        f = w @ np.array(project[0]) + np.sqrt(left[0]) * rng.normal(size=(n, N_ITEMS))
        error = np.sqrt(latent.var[:, c] / n)
        assert (np.abs(f.mean(0) - latent.mean[:, c]) < 5 * error).all()
        ratio = f.var(0) / np.array(latent.var[:, c])
        assert (np.abs(ratio - 1) < 5 * np.sqrt(2 / n)).all()
