"""The model of SVGPCR, its bound, and what a fit by either inference is given.

p(y = k | z = c, annotator a) = R[a, c, k];  R[a, c, :] ~ Dir(α[c, :]);
p(z | f) is robust max or softmax;  f_c ~ GP(0, kernel), inducing values u_c.

What the annotators say about an item reaches the Gaussian process as one row, its
*evidence* Σ E log R[a, c, y]; this file knows nothing else about them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from wisecrowd.answers import Answers
from wisecrowd.blocks import Blocks
from wisecrowd.feature_source import FeatureSource, as_source, filled
from wisecrowd.fit.stochastic import Schedule, Watched, watched_items
from wisecrowd.fit.training import Plan, StepBudget
from wisecrowd.maths.gp import class_posterior, kernels, links, sparse_gp
from wisecrowd.maths.scaling import Scaling
from wisecrowd.methods.svgpcr.parts import Parts
from wisecrowd.methods.svgpcr.record import SparseGP

N_SAID = 20_000  # items of which an error speaks
# With XLA's newer fusions, compiling takes a third longer and a step a tenth. Versions
# of JAX that were not tried may not know the option, and would refuse it.
COMPILER = (
    {"xla_cpu_use_fusion_emitters": False} if jax.__version_info__ < (0, 11) else {}
)
compiled = partial(jax.jit, static_argnames="recipe", compiler_options=COMPILER)


class Recipe(NamedTuple):
    """What is fixed while fitting; hashable, so that a step is compiled for it once."""

    kernel: kernels.Kernel
    link: links.Link
    family: class_posterior.Family
    shared: bool
    n_items: int
    jitter: float = sparse_gp.JITTER
    parts: Parts = Parts()  # of a batch


def recipe_of(
    kernel: Any, link: Any, epsilon: Any, posterior: Any, shared: bool, n_items: int
) -> Recipe:
    """Return what is fixed while fitting, from the settings."""
    return Recipe(
        kernel=kernels.as_kernel(kernel),
        link=links.as_link(link, epsilon),
        family=class_posterior.as_family(posterior),
        shared=shared,
        n_items=n_items,
    )


class Hyper(NamedTuple):
    """The kernel's parameters (leading axis: 1 or C) and the inducing points.

    The points are where the kernel compares them: under a network, E is the number of
    its outputs; otherwise it is D.
    """

    kernel: kernels.Params
    inducing: Float[Array, "M E"]


class Batch(NamedTuple):
    """Some items: their features and what the annotators say about them."""

    X: Float[Array, "B D"]
    evidence: Float[Array, "B C"]


class Divergence(NamedTuple):
    """What the skills of the annotators cost: two numbers that no item changes."""

    kl_annotators: Float[Array, ""]
    log_hyperprior: Float[Array, ""]


class Bound(NamedTuple):
    """The terms of the bound, each with its sign in `total`."""

    answers: Float[Array, ""]  # E log p(y | z, R)
    features: Float[Array, ""]  # E log p(z | f)
    entropy: Float[Array, ""]  # of q(z | f), or of the paper's q(z)
    kl_gp: Float[Array, ""]
    kl_annotators: Float[Array, ""]
    log_hyperprior: Float[Array, ""]  # 0 unless the annotators' prior is learned

    @property
    def total(self) -> Any:
        """Return the bound itself: a number of JAX or of NumPy, as the terms are."""
        gained = self.answers + self.features + self.entropy + self.log_hyperprior
        return gained - self.kl_gp - self.kl_annotators


def projections(
    recipe: Recipe, hyper: Hyper, X: Float[Array, "B D"]
) -> tuple[Float[Array, "P M B"], Float[Array, "P B"]]:
    """Return the projection on the inducing points for every kernel (one, or C).

    A network under the kernel is the same for all of them, and is run once.
    """
    kernel, own, points = recipe.kernel.inner(hyper.kernel, X)

    def one(params: kernels.Params) -> tuple[Array, Array]:
        return sparse_gp.projection(
            kernel, params, hyper.inducing, points, recipe.jitter
        )

    return jax.lax.map(one, own)


def latent(
    recipe: Recipe, natural: sparse_gp.Natural, hyper: Hyper, X: Float[Array, "B D"]
) -> sparse_gp.Latent:
    """q(f) at every point."""
    moments = sparse_gp.to_moments(natural)
    return sparse_gp.latent_moments(moments, *projections(recipe, hyper, X))


def item_terms(
    recipe: Recipe,
    latent: sparse_gp.Latent,
    evidence: Float[Array, "B C"],
    epsilon: Float[Array, ""],
) -> class_posterior.ItemTerms:
    """Return what every item adds to the bound, given q(f) at the item."""
    states = recipe.link.states(*latent, epsilon)
    return class_posterior.item_terms(recipe.family, states, evidence)


def bound(
    recipe: Recipe,
    terms: class_posterior.ItemTerms,
    kl_gp: Float[Array, ""],
    divergence: Divergence,
) -> Bound:
    """Return the bound, estimated from the items at hand.

    Its mean over an equal partition of the items is exact. The divergences belong to
    what all items share: they are not scaled by N / B.
    """
    scale = recipe.n_items / terms.answers.shape[0]
    # In 64 bits, as the divergences are: thousands of items would round in 32.
    sums = (scale * term.sum(dtype=jnp.float64) for term in terms)
    answers, features, entropy = sums
    return Bound(answers, features, entropy, kl_gp, *divergence)


def watched(found: Bound, terms: class_posterior.ItemTerms) -> Watched:
    """Return the bound by its terms, as the driver takes it."""
    named = {name: float(value) for name, value in found._asdict().items()}
    shared = named["log_hyperprior"] - named["kl_gp"] - named["kl_annotators"]
    named["bound"] = float(found.total)
    return Watched(named, np.asarray(terms.total, np.float64), shared)


def starting_kernel(recipe: Recipe, n_features: int, n_classes: int) -> kernels.Params:
    """Return the kernel's parameters to begin with, stacked along the classes."""
    n_kernels = 1 if recipe.shared else n_classes
    return recipe.kernel.stacked(recipe.kernel.start(n_features), n_kernels)


# -- what a fit is given --------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """What is learned from: large, and never saved."""

    features: FeatureSource
    answers: Answers
    gold: Int[np.ndarray, " N"]


class SparsePlan(NamedTuple):
    """What the settings of an estimator come to, made once: plain numbers and records.

    `run` is the plan of the steps, `budget` says how many fewer items would take. The
    rates are full step sizes: of the natural gradient, and of Adam.
    """

    run: Plan
    budget: StepBudget
    natural_rate: float
    learning_rate: float
    recipe: Recipe
    scale: Scaling  # from the units of the user to those of the model
    n_inducing: int
    dtype: str  # of arrays with a row per item
    dependence: Any = None  # of the pool; None: no pool
    networks: bool = False

    def again(self, name: str, n_items: int, n_steps: int) -> Plan:
        """Return the plan of so many steps, in which f is learned from labels.

        They follow from the steps of the fit itself, so that a fit which its time limit
        has ended early is followed by few of them.
        """
        whole = self.run.schedule
        if n_items < self.run.n_items:
            batch = min(whole.batch_size, n_items)
            most = self.budget.n_steps(n_items, batch)
            whole = Schedule.of(n_items, batch, most, tol=whole.tol)
        n_chunks = max(1, min(n_steps, whole.n_steps) // whole.chunk)
        again = replace(whole, n_steps=n_chunks * whole.chunk, time_limit=None)
        return self.run._replace(name=name, n_items=n_items, schedule=again)


@dataclass(frozen=True)
class SparseTask:
    """What both inferences share as tasks: see :class:`~wisecrowd.fit.stochastic.Task`.

    Their states have a `jitter`.
    """

    plan: SparsePlan
    data: Data

    @property
    def recipe(self) -> Recipe:
        """The model."""
        return self.plan.recipe

    @property
    def seed(self) -> int:
        """Of all that is random."""
        return self.plan.run.seed

    @cached_property
    def watched_rows(self) -> Int[np.ndarray, " W"]:
        """The items on which the bound is watched."""
        return watched_items(self.recipe.n_items, self.seed)

    @cached_property
    def watched_features(self) -> Float[np.ndarray, "W D"]:
        """Their features: read once, because they lie all over a file."""
        return self.data.features.batches(self.watched_rows[None])[0]

    @property
    def blocks(self) -> Blocks | None:
        """The blocks of features beyond memory."""
        return getattr(self.data.features, "blocks", None)

    def expect(self, rows: Int[np.ndarray, "T B"]) -> None:
        """Begin to read the features of the next chunk of steps."""
        features: Any = self.data.features
        features.expect(rows)

    def recipe_of(self, state: Any) -> Recipe:
        """Return the recipe with the jitter that was needed."""
        return self.recipe._replace(jitter=float(state.jitter))

    def recovered(self, state: Any) -> Any:
        """Return the state before the failure, with ten times the jitter."""
        return state._replace(jitter=state.jitter * 10)

    def what_is_wrong(self) -> str:
        """Return what to say about features whose covariance cannot be factorised."""
        some = np.arange(min(N_SAID, self.recipe.n_items))
        X = self.data.features.batches(some[None])[0]
        return (
            f"the covariance of the inducing points could not be factorised, even with "
            f"more jitter. Of {len(X)} items {len(np.unique(X, axis=0))} are "
            f"distinct, and the scaled features reach {np.abs(X).max():.3g}. Remove "
            f"repeated items and outliers, or use fewer inducing points or a smaller "
            f"learning_rate."
        )


# -- what a fitted process says about new items ---------------------------------------


def latent_of_new(recipe: Recipe, gp: SparseGP, X: Any, dtype: str) -> Any:
    """Return mean and variance of f, (n, C) each; X is an array or a source."""
    return _by_pieces(_latent, recipe, gp, X, dtype)


def predictive(recipe: Recipe, gp: SparseGP, X: np.ndarray, dtype: str) -> np.ndarray:
    """Return p(z | x), (n, C)."""
    return _by_pieces(_predictive, recipe, gp, X, dtype)[0]


def _by_pieces(
    function: Callable[..., Any], recipe: Recipe, gp: SparseGP, X: Any, dtype: str
) -> list[np.ndarray]:
    recipe = recipe._replace(jitter=gp.jitter)
    scaled = as_source(X).changed(partial(gp.scaling.apply, dtype=dtype))
    out = []
    with jax.enable_x64(True):
        natural = sparse_gp.Natural(jnp.asarray(gp.shift), jnp.asarray(gp.precision))
        hyper = jax.tree.map(jnp.asarray, Hyper(gp.kernel, jnp.asarray(gp.inducing)))
        epsilon = jnp.asarray(gp.epsilon, dtype)
        for _, piece in scaled.pieces():
            rows = jnp.asarray(filled(piece, scaled.n_items))
            found = function(recipe, natural, hyper, rows, epsilon)
            out.append([np.asarray(part, np.float64)[: len(piece)] for part in found])
    return [np.concatenate(parts) for parts in zip(*out, strict=True)]


@compiled
def _latent(
    recipe: Recipe, natural: sparse_gp.Natural, hyper: Hyper, X: Any, epsilon: Any
) -> sparse_gp.Latent:
    return latent(recipe, natural, hyper, X)


@compiled
def _predictive(
    recipe: Recipe, natural: sparse_gp.Natural, hyper: Hyper, X: Any, epsilon: Any
) -> tuple[Any]:
    said = latent(recipe, natural, hyper, X)
    return (links.predictive(recipe.link.states(*said, epsilon)),)
