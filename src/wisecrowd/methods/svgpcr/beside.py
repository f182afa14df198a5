"""Small networks beside the Gaussian process, learned from the same labels.

A hundred inducing points reach few of the directions of many features. A network with
dropout finds others, and errs on other items. The two predictions are multiplied.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from wisecrowd.features import FeatureSource
from wisecrowd.fit.deep import ADAM, blank_adam
from wisecrowd.fit.soft_labels import in_own_space, out_of_fold, regression
from wisecrowd.maths.pool import bounded_log, fitted_exponents, normalised
from wisecrowd.methods.svgpcr.record import Beside, Networks

N_FOLDS = 3
QUICK = {"xla_backend_optimization_level": 1}  # compiling took longer than the steps
MOST_ITEMS = 20_000  # that the networks are learned from: more move them little
N_UNITS = 128
DROPOUT = 0.5
BATCH = 128
RATE = 2e-3  # of Adam, falling to zero
PASSES = 15
LEAST_STEPS, MOST_STEPS = 800, 3000
HELD = 0.02
"""Nats per item for which the two exponents may differ by a factor of four. Their ratio
is fitted to labels that both have helped to make, so it is held near one."""


def drawn(
    n_networks: int, n_features: int, n_classes: int, rng: np.random.Generator
) -> Networks:
    """Return networks with Glorot's uniform weights and no bias yet."""

    def weights(*shape: int) -> Float[np.ndarray, "E I O"]:
        reach = (6 / (shape[1] + shape[2])) ** 0.5
        return rng.uniform(-reach, reach, shape).astype(np.float32)

    return Networks(
        weights(n_networks, n_features, N_UNITS),
        np.zeros((n_networks, N_UNITS), np.float32),
        weights(n_networks, N_UNITS, n_classes),
        np.zeros((n_networks, n_classes), np.float32),
    )


@partial(jax.jit, static_argnames="n_steps", compiler_options=QUICK)
def learned(
    networks: Networks,
    X: Float[Array, "n D"],
    proba: Float[Array, "n C"],
    seen: Float[Array, "E n"],
    key: Any,
    n_steps: int,
) -> Networks:
    """Learn E networks at once, each from the items that it may see.

    Adam minimises the mean of −Σ_c proba_c log p(z = c | x) over random batches.
    """

    def one(state: Any, at: Any) -> Any:
        (networks, adam), (key, rate) = state, at
        draw, drop = jax.random.split(key)
        rows = jax.random.randint(draw, (min(BATCH, len(X)),), 0, len(X))
        units = len(seen), len(rows), N_UNITS
        # Bytes, not numbers: drawing these took half of the time.
        kept = (jax.random.bits(drop, units, "uint8") >= 256 * DROPOUT) / (1 - DROPOUT)

        def loss(networks: Networks) -> Any:
            said = jax.nn.log_softmax(networks.logits(X[rows], kept))
            per_network = (seen[:, rows] * (proba[None, rows] * said).sum(2)).mean(1)
            return -per_network.sum()

        change, adam = ADAM.update(jax.grad(loss)(networks), adam)
        moved = jax.tree.map(lambda w, c: w - rate * c, networks, change)
        return (moved, adam), None

    rates = jnp.linspace(RATE, 0, n_steps, dtype=jnp.float32)
    keys = jax.random.split(key, n_steps)
    return jax.lax.scan(one, (networks, blank_adam(networks)), (keys, rates))[0][0]


class LabelledItems(NamedTuple):
    """What the networks are learned from.

    Attributes
    ----------
    features : FeatureSource
        Of all items, scaled.
    rows : array (n,)
        The items that they learn from: those with answers or gold, not too many.
    fold : array (n,)
        Which of the networks does not see the item; the last one sees all.
    seed : int
        Of weights, batches and dropout.
    """

    features: FeatureSource
    rows: Int[np.ndarray, " n"]
    fold: Int[np.ndarray, " n"]
    seed: int

    @classmethod
    def of(
        cls, features: FeatureSource, known: Bool[np.ndarray, " N"], seed: int
    ) -> "LabelledItems | None":
        """Choose the items, and divide them; None: they are too few."""
        rng = np.random.RandomState(seed)
        rows = np.sort(rng.permutation(np.flatnonzero(known))[:MOST_ITEMS])
        if len(rows) < N_FOLDS:
            return None
        return cls(features, rows, rng.permutation(len(rows)) % N_FOLDS, seed)

    def networks(self, proba: Float[np.ndarray, "N C"]) -> Networks:
        """Return one network per fold, which has not seen it, and one of all items."""
        seen = np.stack([*(self.fold != f for f in range(N_FOLDS)), self.fold >= 0])
        rng = np.random.default_rng([self.seed, 5])
        X, back = in_own_space(self._of_rows("float32"))
        start = drawn(len(seen), self.features.n_features, proba.shape[1], rng)
        if back is not None:
            start = start._replace(inner=back.T @ start.inner)
        n_steps = PASSES * len(self.rows) // BATCH
        with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"):
            found = learned(
                start,
                X,
                proba[self.rows].astype("float32"),
                seen.astype("float32"),
                rng.integers(2**32, size=2, dtype=np.uint32),
                int(np.clip(n_steps, LEAST_STEPS, MOST_STEPS)),
            )
            found = jax.tree.map(np.asarray, found)
        return found if back is None else found._replace(inner=back @ found.inner)

    def by_regression(
        self, proba: Float[np.ndarray, "N C"]
    ) -> Float[np.ndarray, "N C"]:
        """Return what a regression on labels says about every item without its own.

        In a tenth of the time that networks take, so before the labels are final.
        """
        X = self.features.batches(np.arange(self.features.n_items)[None])[0]
        own = X[self.rows], proba[self.rows]
        said = regression(*own).proba(X)
        said[self.rows] = out_of_fold(None, *own, self.fold)
        return bounded_log(said)

    def beside(
        self, proba: Float[np.ndarray, "N C"], process: Float[np.ndarray, "N C"]
    ) -> tuple[Beside, Float[np.ndarray, "N C"]]:
        """Return networks, and what all say about every item without its own answers.

        If the process says this about every item without its own answers.
        """
        networks = self.networks(proba)
        each = [networks.proba(X) for _, X in self.features.pieces()]
        said = np.concatenate(each, axis=1)
        alone = said.mean(0)
        alone[self.rows] = said[self.fold, self.rows]
        both = np.stack([process, bounded_log(alone)])
        exponents, _ = fitted_exponents(both[:, self.rows], proba[self.rows], held=HELD)
        reach = float(np.linalg.norm(self._of_rows("float64"), axis=1).max())
        together = normalised(np.tensordot(exponents, both, 1))
        return Beside(networks, exponents, reach), together

    def _of_rows(self, dtype: str) -> Float[np.ndarray, "n D"]:
        return np.asarray(self.features.batches(self.rows[None])[0], dtype)
