"""Small networks beside the Gaussian process: half learn labels, half learn answers.

A hundred inducing points reach few of the directions of many features. A network with
dropout finds others, and errs on other items. But networks that learn the labels repeat
what is wrong with them. So the other half are crowd layers: they learn the answers one
by one, so that mistakes which annotators share do not add up as in a label. What
the process, the networks of labels and those of answers say is calibrated one by one,
and averaged in logs.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from wisecrowd.answers import Answers
from wisecrowd.feature_source import PIECE, FeatureSource
from wisecrowd.fit.deep import ADAM, blank_adam
from wisecrowd.fit.partners import own_share, partners
from wisecrowd.fit.soft_labels import in_own_space, out_of_fold, regression
from wisecrowd.maths.deep import crowd_layers
from wisecrowd.maths.deep.layers import MIXTURE_START
from wisecrowd.maths.pool import bounded_log, fitted_exponent, normalised
from wisecrowd.methods.svgpcr.model import COMPILER
from wisecrowd.methods.svgpcr.record import Beside, Networks

N_FOLDS = 3
# Compiling took longer than the steps.
QUICK = {**COMPILER, "xla_backend_optimization_level": 1}
MOST_ITEMS = 60_000  # that the networks are learned from; 20,000 cost MNIST .0035
MOST_NUMBERS = 80_000_000  # features of these items: .3 GB
N_UNITS = 128
DROPOUT = 0.5
BATCH = 128
RATE = 2e-3  # of Adam, falling to zero
PASSES = 15
LEAST_STEPS, MOST_STEPS = 800, 3000
# Of the crowd layer with the geometric penalty: its defaults.
VOLUME = 0.1
OFTEN = 8
"""Items of a class per batch, from which on the penalty asks for some. With fifteen
classes, of which seven are rarer, it made the networks call other items so."""
MATRIX_RATE = 0.03
MATRIX_L2 = 0.5


class Given(NamedTuple):
    """Answers one by one: the place of the item among those learned, who, and what."""

    item: Int[Any, " L"]
    annotator: Int[Any, " L"]
    answer: Int[Any, " L"]


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


def loss_of_labels(
    said: Float[Array, "E B C"],
    proba: Float[Array, "B C"],
    seen: Float[Array, "E B"],
) -> Float[Array, ""]:
    """−Σ_c proba_c log p(z = c | x): the mean over a batch, summed over networks."""
    return -(seen * (proba[None] * said).sum(2)).mean(1).sum()


def loss_of_answers(
    said: Float[Array, "E B C"],
    log_given: Float[Array, "B C"],
    seen: Float[Array, "E B"],
    often: Float[Array, " C"],
) -> Float[Array, ""]:
    """−log Σ_c p(z = c | x) R[a, c, y]: the same of answers, with the volume penalty.

    The penalty asks for items of which a network is certain, of every class that is
    there `often` (1, others 0).
    """
    gained = (seen * jax.nn.logsumexp(said + log_given[None], axis=2)).mean(1)
    volume = jax.vmap(crowd_layers.volume_penalty, (0, None))(said, often)
    return (VOLUME * volume - gained).sum()


@partial(jax.jit, static_argnames="n_steps", compiler_options=QUICK)
def learned(
    networks: tuple[Networks, Networks],
    matrices: Float[Array, "A C K"],
    X: Float[Array, "n D"],
    proba: Float[Array, "n C"],
    given: Given,
    seen: Float[Array, "E n"],
    key: Any,
    n_steps: int,
) -> tuple[Networks, Networks]:
    """Learn E networks from labels and E from answers, each from what it may see.

    Adam takes random batches of items and of answers. The networks of answers share
    the annotators' matrices, the softmax of whose rows are R.
    """
    start, n_batch = matrices, min(BATCH, len(X))
    units = (2, len(seen), n_batch, N_UNITS)
    often = (n_batch * proba.mean(0) >= OFTEN).astype(X.dtype)

    def loss(learns: Any, items: Any, at: Any, kept: Any) -> Float[Array, ""]:
        (of_labels, of_answers), matrices = learns
        row = given.item[at]
        own = matrices[given.annotator[at]]
        said = jax.nn.log_softmax(of_labels.logits(X[items], kept[0]), axis=2)
        other = jax.nn.log_softmax(of_answers.logits(X[row], kept[1]), axis=2)
        prior = MATRIX_L2 * crowd_layers.gaussian_penalty(matrices, start)
        return (
            loss_of_labels(said, proba[items], seen[:, items])
            + loss_of_answers(
                other,
                crowd_layers.log_given(own, given.answer[at]),
                seen[:, row],
                often,
            )
            + len(seen) / len(given.item) * prior
        )

    def one(state: Any, at: Any) -> Any:
        (learns, adam), (key, share) = state, at
        of_items, of_answers, drop = jax.random.split(key, 3)
        items = jax.random.randint(of_items, (n_batch,), 0, len(X))
        answers = jax.random.randint(of_answers, (n_batch,), 0, len(given.item))
        # Bytes, not numbers: drawing these took half of the time.
        kept = (jax.random.bits(drop, units, "uint8") >= 256 * DROPOUT) / (1 - DROPOUT)
        change, adam = ADAM.update(jax.grad(loss)(learns, items, answers, kept), adam)
        networks = jax.tree.map(lambda w, c: w - RATE * share * c, learns[0], change[0])
        matrices = learns[1] - MATRIX_RATE * share * change[1]
        return ((networks, matrices), adam), None

    shares = jnp.linspace(1, 0, n_steps, dtype=jnp.float32)
    keys = jax.random.split(key, n_steps)
    before = networks, matrices
    return jax.lax.scan(one, (before, blank_adam(before)), (keys, shares))[0][0][0]


class KnownItems(NamedTuple):
    """What the networks are learned from.

    Attributes
    ----------
    features : FeatureSource
        Of all items, scaled.
    answers : Answers
        Of all items.
    rows : array (n,)
        The items that they learn from: those with answers or gold, not too many.
    fold : array (n,)
        Which network of each kind does not see the item; the last one sees all.
    seed : int
        Of weights, batches and dropout.
    """

    features: FeatureSource
    answers: Answers
    rows: Int[np.ndarray, " n"]
    fold: Int[np.ndarray, " n"]
    seed: int

    @classmethod
    def of(
        cls,
        features: FeatureSource,
        answers: Answers,
        known: Bool[np.ndarray, " N"],
        seed: int,
    ) -> "KnownItems | None":
        """Choose the items, and divide them; None: too little is known."""
        rng = np.random.RandomState(seed)
        most = min(MOST_ITEMS, MOST_NUMBERS // features.n_features)
        rows = np.sort(rng.permutation(np.flatnonzero(known))[:most])
        if len(rows) < N_FOLDS or not answers.n_per_item[rows].any():
            return None
        fold = rng.permutation(len(rows)) % N_FOLDS
        return cls(features, answers, rows, fold, seed)

    def given(self) -> Given:
        """Return the answers on the items that the networks learn from."""
        own = self.answers.of_items(self.rows)
        codes = (own.item, own.annotator, own.answer)
        return Given(*(part.astype("int32") for part in codes))

    def networks(self, proba: Float[np.ndarray, "N C"]) -> Networks:
        """Return networks of labels, then of answers: one per fold, and one of all."""
        seen = np.stack([*(self.fold != f for f in range(N_FOLDS)), self.fold >= 0])
        rng = np.random.default_rng([self.seed, 5])
        X, back = in_own_space(self._of_rows())
        shape = self.answers.shape[1:]
        n_networks, n_features = 2 * len(seen), self.features.n_features
        start = drawn(n_networks, n_features, shape[1], rng)
        if back is not None:
            start = start._replace(inner=back.T @ start.inner)
        halves = [jax.tree.map(lambda w: w[: len(seen)], start)]
        halves += [jax.tree.map(lambda w: w[len(seen) :], start)]
        one = crowd_layers.scaled_identity(*shape[1:], MIXTURE_START)
        n_steps = PASSES * len(self.rows) // BATCH
        with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"):
            found = learned(
                tuple(halves),
                np.broadcast_to(one, shape),
                X,
                proba[self.rows].astype("float32"),
                self.given(),
                seen.astype("float32"),
                rng.integers(2**32, size=2, dtype=np.uint32),
                int(np.clip(n_steps, LEAST_STEPS, MOST_STEPS)),
            )
        both = jax.tree.map(lambda *parts: np.concatenate(parts), *found)
        return both if back is None else both._replace(inner=back @ both.inner)

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
        networks, all_of_us = self.networks(proba), partners()
        alone = np.zeros((2, *process.shape))
        mine = own_share(all_of_us, len(process), PIECE)
        for where, X in self.features.pieces(mine.start, mine.stop):
            said = networks.by_kind(X)  # [2, E, piece, C]
            alone[:, where] = said.mean(1)
            own = slice(*np.searchsorted(self.rows, (where.start, where.stop)))
            rows = self.rows[own]
            alone[:, rows] = said[:, self.fold[own], rows - where.start]
        alone = all_of_us.sum(alone)
        X = self._of_rows()
        reach = float(np.einsum("nd,nd->n", X, X, dtype="float64").max()) ** 0.5
        parts = [process, *(bounded_log(kind) for kind in alone)]
        suits = [fitted_exponent(p[self.rows], proba[self.rows])[0] for p in parts]
        both = Beside(networks, np.array(suits), reach)
        return both, normalised(both.mean_of(parts))

    def _of_rows(self) -> Float[np.ndarray, "n D"]:
        return np.asarray(self.features.batches(self.rows[None])[0], "float32")
