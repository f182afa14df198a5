import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from numpy.testing import assert_allclose
from sklearn.gaussian_process import kernels as sk

import oracles
from wisecrowd._checks import InputError
from wisecrowd.maths.gp.kernels import KERNELS, Given, Linear, Stationary, as_kernel

rng = np.random.default_rng(0)
X, Y = jnp.asarray(rng.normal(size=(6, 3))), jnp.asarray(rng.normal(size=(4, 3)))
SCALES = np.array([0.5, 1.3, 2.0])


def given(log_scale, variance):
    return {
        "log_scale": jnp.log(jnp.asarray(log_scale)),
        "log_variance": jnp.log(jnp.asarray(variance)),
    }


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Stationary("se"), sk.RBF),
        (Stationary("matern32"), lambda s: sk.Matern(s, nu=1.5)),
        (Stationary("matern52"), lambda s: sk.Matern(s, nu=2.5)),
    ],
    ids=["se", "matern32", "matern52"],
)
@pytest.mark.parametrize("scale", [0.7, SCALES], ids=["one", "ard"])
def test_stationary_kernels_are_scikit_learns(ours, theirs, scale):
    want = 2.5 * theirs(scale)(np.array(X), np.array(Y))
    assert_allclose(ours(given(scale, 2.5), X, Y), want, rtol=1e-10)


def test_the_squared_exponential_is_the_loop():
    want = oracles.gram(oracles.se_kernel(SCALES, 2.5), np.array(X), np.array(Y))
    assert_allclose(Stationary("se", ard=True)(given(SCALES, 2.5), X, Y), want)


def test_the_linear_kernel_is_scikit_learns_dot_product():
    want = 2.5 * sk.DotProduct(np.sqrt(3.0))(np.array(X), np.array(Y)) / 3
    params = {"log_variance": jnp.log(jnp.asarray(2.5))}
    assert_allclose(Linear()(params, X, Y), want, rtol=1e-12)


def test_sums_and_products():
    linear, matern = Linear(), Stationary("matern52")
    params = {
        "left": {"log_variance": jnp.log(jnp.asarray(0.4))},
        "right": given(1.7, 3.0),
    }
    left, right = linear(params["left"], X, Y), matern(params["right"], X, Y)
    assert_allclose((linear + matern)(params, X, Y), left + right)
    assert_allclose((linear * matern)(params, X, Y), left * right)
    nested = linear * matern + linear
    both = {"left": params, "right": params["left"]}
    assert_allclose(nested(both, X, Y), left * right + left)


def test_a_function_of_two_points_is_a_kernel():
    kernel = Given(lambda x, y: jnp.exp(-((x - y) ** 2).sum() / 2))
    params = {"log_variance": jnp.log(jnp.asarray(3.0))}
    assert kernel.start(3).keys() == params.keys()
    want = Stationary("se")(given(1.0, 3.0), X, Y)
    assert_allclose(kernel(params, X, Y), want, rtol=1e-12)
    assert_allclose(kernel.diagonal(params, X), 3.0)


ALL = {**KERNELS, "product": Linear() * Stationary("matern32", ard=True)}


@pytest.mark.parametrize("name", ALL)
def test_every_kernel_is_symmetric_positive_and_has_its_diagonal(name):
    kernel = ALL[name]
    params = kernel.start(3)
    cov = np.array(kernel(params, X, X))
    assert_allclose(cov, cov.T)
    assert np.linalg.eigvalsh(cov).min() > -1e-12
    assert_allclose(kernel.diagonal(params, X), np.diag(cov), rtol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_gradients_of_every_kernel(name):
    kernel = ALL[name]
    # Two points are one: the root of a distance has no slope there.
    twice = jnp.concatenate([Y, X[:1]])

    @jax.jit
    def total(params, Z):
        weight = jnp.asarray(np.random.default_rng(1).normal(size=(6, 5)))
        cov = kernel(jax.tree.map(jnp.asarray, params), X, jnp.asarray(Z))
        return (weight * cov).sum()

    # One-sided differences of a Matern kernel across r = 0 are of order h: leave that
    # point out of the comparison, and only ask that its gradient is finite.
    check_grads(lambda p: total(p, twice), (kernel.start(3),), order=1, modes=["rev"])
    check_grads(
        lambda Z: total(kernel.start(3), jnp.concatenate([jnp.asarray(Z), X[:1] + 1])),
        (Y,),
        order=1,
        modes=["rev"],
    )
    assert np.isfinite(jax.grad(total, argnums=1)(kernel.start(3), twice)).all()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_keep_the_precision_of_the_points(name, dtype):
    kernel = KERNELS[name]
    params = jax.tree.map(lambda p: p.astype(dtype), kernel.start(3))
    points = X.astype(dtype)
    assert kernel(params, points, points).dtype == dtype
    assert kernel.diagonal(params, points).dtype == dtype


def test_a_kernel_is_a_key_of_what_is_compiled():
    assert hash(Stationary("se")) == hash(Stationary("se"))
    assert Stationary("se") + Linear() == Stationary("se") + Linear()
    assert Stationary("se") != Stationary("se", ard=True)


def test_a_kernel_has_a_name_is_itself_or_is_a_function():
    assert as_kernel("linear+se") == Linear() + Stationary("se")
    assert as_kernel(Linear() * Linear()) == Linear() * Linear()
    assert as_kernel(max).function is max
    with pytest.raises(
        InputError, match=r"^kernel='rbf' is not one of .*'se-ard'.*\.$"
    ):
        as_kernel("rbf")
