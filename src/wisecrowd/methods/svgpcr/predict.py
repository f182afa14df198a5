"""What a fitted Gaussian process says about new items, piece by piece."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from wisecrowd._types import Array
from wisecrowd.features import InMemory, filled
from wisecrowd.fit.processes import check_not_forked
from wisecrowd.maths.gp import class_posterior, kernels, links, sparse_gp
from wisecrowd.methods.svgpcr import model
from wisecrowd.methods.svgpcr.model import Hyper, Recipe
from wisecrowd.methods.svgpcr.record import SparseGP


def latent(settings: Any, gp: SparseGP, X: Array) -> list[Array]:
    """Return mean and variance of f, (n, C) each."""
    return _by_pieces(_latent, settings, gp, X)


def predictive(settings: Any, gp: SparseGP, X: Array) -> Array:
    """Return p(z | x), (n, C)."""
    return _by_pieces(_predictive, settings, gp, X)[0]


def _by_pieces(
    function: Callable[..., Any], settings: Any, gp: SparseGP, X: Array
) -> list[Array]:
    check_not_forked()
    recipe = Recipe(
        kernel=kernels.as_kernel(settings.kernel),
        link=links.as_link(settings.link, settings.epsilon),
        family=class_posterior.Conditional(),  # of no use without answers
        shared=settings.shared_kernel,
        n_items=1,
        jitter=gp.jitter,
    )
    scaled = InMemory(gp.scaling.apply(X, settings.dtype))
    out = []
    with jax.enable_x64(True):
        natural = sparse_gp.Natural(jnp.asarray(gp.shift), jnp.asarray(gp.precision))
        hyper = jax.tree.map(jnp.asarray, Hyper(gp.kernel, jnp.asarray(gp.inducing)))
        epsilon = jnp.asarray(gp.epsilon, settings.dtype)
        for _, piece in scaled.pieces():
            rows = jnp.asarray(filled(piece, len(X)))
            found = function(recipe, natural, hyper, rows, epsilon)
            out.append([np.asarray(part, np.float64)[: len(piece)] for part in found])
    return [np.concatenate(parts) for parts in zip(*out, strict=True)]


@partial(jax.jit, static_argnames="recipe")
def _latent(
    recipe: Recipe, natural: sparse_gp.Natural, hyper: Hyper, X: Any, epsilon: Any
) -> sparse_gp.Latent:
    return model.latent(recipe, natural, hyper, X)


@partial(jax.jit, static_argnames="recipe")
def _predictive(
    recipe: Recipe, natural: sparse_gp.Natural, hyper: Hyper, X: Any, epsilon: Any
) -> tuple[Any]:
    latent = model.latent(recipe, natural, hyper, X)
    return (links.predictive(recipe.link.states(*latent, epsilon)),)
