"""Where a network under the Gaussian process begins: trained as a classifier.

The bound alone is a bad teacher for a network that is still random: it is flat there,
and a network can explain the answers by remembering the items. So the network is first
trained with dropout, with one linear layer on top of it, on what the answers alone say,
until held-out answers gain no more. The layer on top is then replaced by the Gaussian
process, and all is learned together, the network slowly.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from wisecrowd.features import FeatureSource, filled
from wisecrowd.fit.deep import Crowd, Items, Rates, Recipe, trained
from wisecrowd.fit.stochastic import Schedule
from wisecrowd.fit.training import Plan
from wisecrowd.maths.deep.layers import Marginal
from wisecrowd.maths.deep.modules import FLOAT, WithHead, linear, split
from wisecrowd.maths.gp.deep import Deep, embedded
from wisecrowd.maths.gp.kernels import Params
from wisecrowd.maths.networks import generator
from wisecrowd.methods.svgpcr.model import Hyper
from wisecrowd.methods.svgpcr.start import N_FOR_START, inducing_points, n_points
from wisecrowd.methods.svgpcr.task import SVGPCRTask

BATCH = 64
PASSES = 5  # the most passes over a large crowd
MIN_STEPS = 3000  # the most steps of a small one
RATE = 1e-3  # of Adam
COOL_DOWN = 0.4
HELD_OUT = 0.1  # of the items, to know when to stop
TIME_SHARE = 0.5  # of a time limit


NOT_FINITE = (
    "the network's log-likelihood is not finite, even after smaller steps. Look for "
    "outliers in the features."
)


@dataclass(frozen=True, eq=False)
class Given(Crowd):
    """What the answers say, and stays so: see :class:`~wisecrowd.fit.deep.Crowd`."""

    evidence: Float[np.ndarray, "N C"]

    def given(self, learned: Any, items: Int[np.ndarray, "T B"]) -> np.ndarray:
        """Return the evidence about the items."""
        return self.evidence[items]


def starting_hyper(task: SVGPCRTask, settings: Any, skills: Any) -> Hyper:
    """Return a kernel whose network was trained, and inducing points in its space."""
    kernel: Any = task.recipe.kernel
    features = task.data.features
    params = trained_network(
        kernel,
        features,
        task.evidence(skills),
        task.seed,
        time_limit=settings.time_limit,
        progress=settings.progress,
    )
    n_kernels = 1 if task.recipe.shared else task.data.answers.n_classes
    rng = np.random.RandomState(task.seed)
    some = rng.permutation(features.n_items)[:N_FOR_START]
    out = embedded_in_pieces(kernel, params, features)[some]
    points = inducing_points(out, n_points(out, int(settings.n_inducing)), rng)
    return Hyper(kernel.stacked(params, n_kernels), jnp.asarray(points, jnp.float64))


def trained_network(
    kernel: Deep,
    features: FeatureSource,
    evidence: Float[np.ndarray, "N C"],
    seed: int,
    *,
    time_limit: float | None = None,
    progress: bool | None = None,
) -> Params:
    """Return the kernel's parameters with a network that was trained as a classifier.

    Parameters
    ----------
    kernel : Deep
        The recipe.
    features : FeatureSource
        Scaled.
    evidence : array (N, C)
        What the answers say about every item, in logs; 0 where there are none.
    seed : int
        Of weights, batches and dropout.
    time_limit : float or None
        Seconds of the whole fit.
    progress : bool or None
        Whether to draw a progress bar.
    """
    answered = np.ptp(evidence, axis=1) > 0  # others teach nothing
    items = Items.of(InThirtyTwoBits(features), answered, HELD_OUT, seed)
    with jax.enable_x64(False):
        keys = np.random.default_rng([seed, 3]).integers(
            2**32, size=(3, 2), dtype=np.uint32
        )
        body: Any = kernel.module(features.n_features, keys[0])
        if not len(items.train):
            return in_units(kernel, split(body)[0], features)
        head = linear(kernel.n_outputs, evidence.shape[1], generator(keys[1]))
        plan = Plan(
            "network", seed, schedule_of(len(items.train), time_limit), progress
        )
        given = Given(evidence.astype(FLOAT))
        recipe = Recipe(Marginal(), given, Rates(RATE, 0.0))
        network = WithHead(body, head)
        _, state, _ = trained(recipe, plan, items, network, keys[2], failure=NOT_FINITE)
        best = state.best[0].network.body
    return in_units(kernel, best, features)


def schedule_of(n_items: int, time_limit: float | None) -> Schedule:
    """Return how long the network is trained.

    No early end: with dropout, the held-out answers stand still now and then long
    before the end. The best weights are kept anyway.
    """
    batch = min(BATCH, n_items)
    n_steps = max(MIN_STEPS, PASSES * n_items // batch)
    limit = None if time_limit is None else TIME_SHARE * time_limit
    return Schedule.of(
        n_items, batch, n_steps, tol=None, time_limit=limit, cool_down=COOL_DOWN
    )


class InThirtyTwoBits:
    """Features for a network, whatever their precision."""

    def __init__(self, features: FeatureSource) -> None:
        self.features = features
        self.n_items, self.n_features = features.n_items, features.n_features

    def batches(self, rows: Int[np.ndarray, "T B"]) -> Float[np.ndarray, "T B D"]:
        """Return the features of some items, one batch per step."""
        return self.features.batches(rows).astype(FLOAT, copy=False)

    def pieces(self) -> Iterator[tuple[slice, Float[np.ndarray, "piece D"]]]:
        """Yield all items in order."""
        for where, X in self.features.pieces():
            yield where, X.astype(FLOAT, copy=False)


def in_units(kernel: Deep, weights: Any, features: FeatureSource) -> Params:
    """Return the parameters, with outputs that have the mean 0 and the mean square 1.

    One number for all outputs: they are of one kind, and those that vary little are of
    little use to the classifier.
    """
    nothing, one = np.zeros(kernel.n_outputs, FLOAT), np.ones((), FLOAT)
    params = kernel.with_network(weights, nothing, one)
    out = embedded_in_pieces(kernel, params, features)
    centre = out.mean(0)
    spread = np.sqrt(((out - centre) ** 2).mean())
    spread = spread if spread > 0 else 1.0
    return kernel.with_network(weights, centre.astype(FLOAT), FLOAT(spread))


def embedded_in_pieces(
    kernel: Deep, params: Params, features: FeatureSource
) -> Float[np.ndarray, "N E"]:
    """Return the output of the network for all items, in pieces of few shapes."""
    found = []
    for _, X in features.pieces():
        full = jnp.asarray(filled(X, features.n_items), FLOAT)
        found.append(np.asarray(embedded(kernel, params, full))[: len(X)])
    return np.concatenate(found).astype(np.float64)
