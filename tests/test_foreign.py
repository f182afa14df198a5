"""At equal parameters our terms are GPflow's. Skipped where GPflow is not installed.

`make bench` makes an environment that has it; there this file runs with
``.bench-venv/bin/python -m pytest tests/test_foreign.py``.

All inputs are drawn from seeds and given to both sides as the same 64-bit arrays. The
tests do not rely on JAX being in 64 bits: `in_64_bits` sees to that, whatever ran
before them. GPflow's settings, which are global too, are set and undone here.
"""

from typing import NamedTuple

import numpy as np
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # TensorFlow's are not ours to mend
]

N, M, C, D = 40, 12, 4, 3
VARIANCE, SCALE, EPSILON = 1.7, 1.3, 1e-3


@pytest.fixture(scope="module")
def gpflow():
    gpflow = pytest.importorskip("gpflow")
    with gpflow.config.as_context(
        gpflow.config.Config(float=np.float64, jitter=1e-6, int=np.int32)
    ):
        yield gpflow


@pytest.fixture(autouse=True)
def in_64_bits():
    """In 32 bits the means differ by 3e-6, and the tests allow 1e-6."""
    import jax

    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        yield


class Drawn(NamedTuple):
    """Data, inducing points and a whitened q(U): means and roots of covariances."""

    X: np.ndarray
    inducing: np.ndarray
    mean: np.ndarray  # [C, M]
    root: np.ndarray  # [C, M, M], lower triangles

    def natural(self):
        from wisecrowd.maths.gp.sparse_gp import Natural

        precision = np.linalg.inv(self.root @ self.root.transpose(0, 2, 1))
        shift = (precision @ self.mean[:, :, None])[:, :, 0]
        return Natural(*map(_array, (shift, precision)))


@pytest.fixture
def drawn():
    rng = np.random.default_rng(5)
    root = np.tril(0.1 * rng.normal(size=(C, M, M)), -1)
    root[:, np.arange(M), np.arange(M)] = rng.uniform(0.3, 0.9, (C, M))
    return Drawn(
        rng.normal(size=(N, D)), rng.normal(size=(M, D)), rng.normal(size=(C, M)), root
    )


def _array(values):
    import jax.numpy as jnp

    made = jnp.asarray(values, jnp.float64)
    assert made.dtype == "float64"  # not so where JAX is in 32 bits, without an error
    return made


def our_model(gpflow, drawn):
    """Recipe and kernel, with GPflow's jitter: it is absolute, and ours is relative."""
    from wisecrowd.maths.gp.class_posterior import Factorised
    from wisecrowd.maths.gp.kernels import KERNELS
    from wisecrowd.maths.gp.links import RobustMax
    from wisecrowd.methods.svgpcr.model import Hyper, Recipe

    jitter = gpflow.config.default_jitter() / VARIANCE
    recipe = Recipe(KERNELS["se"], RobustMax(EPSILON), Factorised(), True, N, jitter)
    kernel = {
        "log_scale": _array([np.log(SCALE)]),
        "log_variance": _array([np.log(VARIANCE)]),
    }
    return recipe, Hyper(kernel, _array(drawn.inducing))


def their_kernel(gpflow):
    return gpflow.kernels.SquaredExponential(VARIANCE, SCALE)


def their_likelihood(gpflow):
    """MultiClass with its two approximations taken out.

    Twenty nodes of Gauss and Hermite are off by up to a tenth where variances differ,
    and every distribution function is squeezed into [1e-6, 1 - 1e-6].
    """
    likelihood = gpflow.likelihoods.MultiClass(
        C, gpflow.likelihoods.RobustMax(C, EPSILON)
    )
    likelihood.num_gauss_hermite_points = 150
    likelihood.invlink._squash = 0.0
    return likelihood


def test_divergence_of_the_inducing_values(gpflow, drawn):
    from wisecrowd.maths.gp.sparse_gp import kl_to_prior

    theirs = gpflow.kullback_leiblers.gauss_kl(drawn.mean.T, drawn.root)
    np.testing.assert_allclose(kl_to_prior(drawn.natural()), theirs, rtol=1e-6)


def test_means_and_variances(gpflow, drawn):
    import tensorflow as tf

    from wisecrowd.methods.svgpcr import model

    recipe, hyper = our_model(gpflow, drawn)
    ours = model.latent(recipe, drawn.natural(), hyper, _array(drawn.X))
    mean, var = gpflow.conditionals.conditional(
        drawn.X,
        gpflow.inducing_variables.InducingPoints(drawn.inducing),
        their_kernel(gpflow),
        tf.constant(drawn.mean.T),
        q_sqrt=tf.constant(drawn.root),
        white=True,
    )
    np.testing.assert_allclose(ours.mean, mean, atol=1e-6)
    np.testing.assert_allclose(ours.var, var, atol=1e-6)


@pytest.mark.parametrize("spread", [1.0, 2.0])
def test_expectations_of_robust_max(gpflow, spread):
    """`spread` is the ratio of the standard deviations of the classes, at the most."""
    from wisecrowd.maths.gp import links

    rng = np.random.default_rng(6)
    mean = rng.normal(size=(N, C))
    var = np.exp(rng.uniform(0, 2 * np.log(spread), (N, C)))
    states = links.robust_max_states(_array(mean), _array(var), _array(EPSILON))
    likelihood = their_likelihood(gpflow)
    for c, ours in enumerate(np.asarray(links.mean_log_proba(states)).T):
        theirs = likelihood.variational_expectations(
            np.zeros((N, D)), mean, var, np.full((N, 1), c)
        )
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_bound_for_labels_that_are_known(gpflow, drawn):
    """With gold labels the paper's bound is that of GPflow's SVGP."""
    from wisecrowd.maths.gp import sparse_gp
    from wisecrowd.methods.svgpcr import model

    gold = np.random.default_rng(7).integers(0, C, N)
    evidence = np.where(np.arange(C) == gold[:, None], 0.0, -np.inf)
    recipe, hyper = our_model(gpflow, drawn)
    latent = model.latent(recipe, drawn.natural(), hyper, _array(drawn.X))
    terms = model.item_terms(recipe, latent, _array(evidence), _array(EPSILON))
    nothing = model.Divergence(_array(0.0), _array(0.0))
    kl = sparse_gp.kl_to_prior(drawn.natural())
    ours = model.bound(recipe, terms, kl, nothing)
    svgp = gpflow.models.SVGP(
        their_kernel(gpflow),
        their_likelihood(gpflow),
        gpflow.inducing_variables.InducingPoints(drawn.inducing),
        num_latent_gps=C,
        q_mu=drawn.mean.T,
        q_sqrt=drawn.root,
        num_data=N,
    )
    theirs = float(svgp.elbo((drawn.X, gold[:, None])))
    assert float(ours.total) == pytest.approx(theirs, rel=1e-6)
