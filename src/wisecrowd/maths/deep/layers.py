"""The annotators' part of a network: recipes with parameters of their own.

A recipe is frozen and holds no arrays, so that a compiled function can be specialised
for it. `start` gives the parameters, `log_likelihood` the log-probability of all that
is known about each item of a batch, and `loss` what a step of Adam lowers.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from wisecrowd.maths.deep import crowd_layers as formulas
from wisecrowd.maths.deep.crowd_layers import Params, Rows

LogProba: TypeAlias = Float[Array, "B C"]
Features: TypeAlias = Float[Array, "B D"]
PerItem: TypeAlias = Float[Array, " B"]
Loss: TypeAlias = Float[Array, ""]

MATRICES = ("matrix", "common", "weight", "offset")
"""The parameters that describe annotators; Adam has a step size of their own."""
MIXTURE_START = 3.0  # W of a mixture: e³ to 1 for the class, before any answer


class Strength(NamedTuple):
    """How much the penalties count, per answer.

    `prior` is the precision of the Gaussian prior of the annotators' parameters over
    the number of answers; `regularizer` is the setting of that name.
    """

    prior: Any
    regularizer: Any


@runtime_checkable
class Layer(Protocol):
    """What a method adds to the network."""

    def start(self, rng: np.random.Generator) -> Params:
        """Return the parameters to begin with."""

    def log_likelihood(
        self, params: Params, log_proba: LogProba, X: Features, given: Any
    ) -> PerItem:
        """Return log p(all that is known about the item | x) of every item."""

    def loss(
        self,
        params: Params,
        log_proba: LogProba,
        X: Features,
        given: Any,
        strength: Strength,
    ) -> Loss:
        """Return what a step lowers."""


@dataclass(frozen=True)
class Marginal:
    """No parameters: the annotators are given, as their evidence about every item.

    The slope of log Σ_c p_c e^{evidence_c} is that of Σ_c q_c log p_c with the
    posterior q ∝ p e^{evidence}. So every step of Adam has its own E-step.
    """

    def start(self, rng: np.random.Generator) -> Params:
        """Return nothing."""
        return {}

    def log_likelihood(
        self, params: Params, log_proba: LogProba, X: Features, given: LogProba
    ) -> PerItem:
        """Log Σ_c p(c | x) e^{evidence_c}."""
        return jax.nn.logsumexp(log_proba + given, axis=1)

    def loss(
        self,
        params: Params,
        log_proba: LogProba,
        X: Features,
        given: LogProba,
        strength: Strength,
    ) -> Loss:
        """Minus the mean log-likelihood of the items."""
        return -self.log_likelihood(params, log_proba, X, given).mean()


@dataclass(frozen=True)
class AnswerLayer(ABC):
    """What all layers share that predict each answer by itself.

    Attributes
    ----------
    n_annotators, n_classes, n_answers : int
        A, C and K.
    mixture : bool
        Whether the rows of W are made probabilities, whose mixture predicts the answer:
        Σ_c p_c softmax_k(W[c]). Otherwise, as published, the softmax of the activations
        does: softmax_k(Σ_c p_c W[c, k]).
    """

    n_annotators: int
    n_classes: int
    n_answers: int
    mixture: bool = True

    @abstractmethod
    def of_rows(self, params: Params, X: Features, rows: Rows) -> Float[Array, "P C K"]:
        """Return W of the annotator of every row, and of nobody else."""

    @abstractmethod
    def penalty(
        self, params: Params, log_proba: LogProba, rows: Rows, strength: Strength
    ) -> Loss:
        """Return what is added to the loss."""

    @property
    def scale(self) -> float:
        """The diagonal of the start; one, the identity, as published."""
        return MIXTURE_START if self.mixture else 1.0

    def log_given(self, params: Params, X: Features, rows: Rows) -> Float[Array, "P C"]:
        """Return log p(y | z = c, x, a): the answer to a class that is certain."""
        return formulas.log_given(self.of_rows(params, X, rows), rows.answer)

    def log_answer(
        self, params: Params, log_proba: LogProba, X: Features, rows: Rows
    ) -> Float[Array, " P"]:
        """Return log p(y | x, a) of every row."""
        log_proba = log_proba[rows.place]
        if self.mixture:
            return formulas.log_mixture(log_proba, self.log_given(params, X, rows))
        matrices = self.of_rows(params, X, rows)
        activations = formulas.activations(jnp.exp(log_proba), matrices)
        return formulas.picked(jax.nn.log_softmax(activations), rows.answer)

    def log_likelihood(
        self, params: Params, log_proba: LogProba, X: Features, given: Rows
    ) -> PerItem:
        """Return log p(gold, all answers | x), the answers independent given the class.

        Training predicts each answer by itself. What is watched is how well network and
        annotators explain all answers on an item together.
        """
        seen, of_gold = formulas.with_gold(log_proba, given.gold)
        said = formulas.per_item(self.log_given(params, X, given), given, len(X))
        return of_gold + jax.nn.logsumexp(seen + said, axis=1)

    def loss(
        self,
        params: Params,
        log_proba: LogProba,
        X: Features,
        given: Rows,
        strength: Strength,
    ) -> Loss:
        """Minus the mean log-probability of an answer, and the penalties."""
        seen, of_gold = formulas.with_gold(log_proba, given.gold)
        log_answer = self.log_answer(params, seen, X, given)
        total = (log_answer * given.weight).sum() + of_gold.sum()
        n_answers = jnp.maximum(given.weight.sum(), 1)
        return self.penalty(params, log_proba, given, strength) - total / n_answers


@dataclass(frozen=True)
class CrowdLayerRecipe(AnswerLayer):
    """A layer between the class probabilities and the answers of each annotator.

    Attributes
    ----------
    kind : {"vw", "vwb", "mw"}
        A weight per class; a weight per class and an offset per answer; a matrix.
    regularizer : "trace", "geometric" or None
        What is penalised, besides the prior.
    """

    kind: str = "mw"
    regularizer: str | None = None

    @property
    def centre(self) -> Params:
        """The start of everybody, and the mean of the prior."""
        if self.kind == "mw":
            size = self.n_classes, self.n_answers
            return {"matrix": formulas.scaled_identity(*size, self.scale)}
        weight = np.full(self.n_classes, self.scale, np.float32)
        return {"weight": weight, "offset": np.zeros(self.n_answers, np.float32)}

    def start(self, rng: np.random.Generator) -> Params:
        """Return the same start for everybody."""
        return {
            name: np.repeat(value[None], self.n_annotators, 0)
            for name, value in self.centre.items()
        }

    def matrices(self, params: Params) -> Float[Array, "n C K"]:
        """Return W of the annotators with these parameters."""
        if self.kind == "mw":
            return jnp.asarray(params["matrix"])
        # VW has an offset only for answers that are no class, which have no weight.
        free = (self.kind == "vwb") | (np.arange(self.n_answers) >= self.n_classes)
        offset = jnp.where(jnp.asarray(free)[None], params["offset"], 0)
        return formulas.matrices_of_weights(jnp.asarray(params["weight"]), offset)

    def of_rows(self, params: Params, X: Features, rows: Rows) -> Float[Array, "P C K"]:
        """Return W of the annotator of every row, and of nobody else."""
        return self.matrices({k: v[rows.annotator] for k, v in params.items()})

    def penalty(
        self, params: Params, log_proba: LogProba, rows: Rows, strength: Strength
    ) -> Loss:
        """Return the Gaussian prior around the start, and the regulariser."""
        prior = sum(
            formulas.gaussian_penalty(params[name], centre[None])
            for name, centre in self.centre.items()
        )
        out = strength.prior * prior
        if self.regularizer == "trace":
            matrices = params["matrix"][rows.annotator]
            trace = formulas.trace_penalty(matrices, rows.weight, log_proba)
            return out + strength.regularizer * trace
        if self.regularizer == "geometric":
            every = jnp.ones(log_proba.shape[1], log_proba.dtype)
            volume = formulas.volume_penalty(log_proba, every)
            return out + strength.regularizer * volume
        return out


@dataclass(frozen=True)
class CommonLayer(AnswerLayer):
    """A common confusion matrix and one per annotator, mixed by features (CoNAL).

    p(y | x, a, c) = s G[c, y] + (1 − s) R[a, c, y], s = σ(v(x) · u[a]), with v and u of
    length one; v has two linear layers. Without `mixture`, as published, the matrices
    before the softmax are mixed: W = s W_G + (1 − s) W[a].
    """

    n_features: int = 0  # D

    @property
    def centre(self) -> np.ndarray:
        """The start of all matrices."""
        return formulas.scaled_identity(self.n_classes, self.n_answers, self.scale)

    def start(self, rng: np.random.Generator) -> Params:
        """Return a scaled identity everywhere; the mixing network is drawn."""
        n_between, n_shared = formulas.N_SEEN, formulas.N_SHARED

        def drawn(n_in: int, *shape: int) -> np.ndarray:
            reach = n_in**-0.5
            return rng.uniform(-reach, reach, shape).astype(np.float32)

        return {
            "common": self.centre,
            "matrix": np.tile(self.centre, (self.n_annotators, 1, 1)),
            "seen": drawn(self.n_features, self.n_features, n_between),
            "seen_bias": np.zeros(n_between, np.float32),
            "item": drawn(n_between, n_between, n_shared),
            "item_bias": np.zeros(n_shared, np.float32),
            "annotator": drawn(1, self.n_annotators, n_shared),
        }

    def common_share(
        self, params: Params, X: Features, rows: Rows
    ) -> Float[Array, " P"]:
        """S = σ(v(x) · u[a]) of every row."""
        between = X @ params["seen"] + params["seen_bias"][None]
        item = unit(between @ params["item"] + params["item_bias"][None])
        annotator = unit(params["annotator"][rows.annotator])
        return jax.nn.sigmoid((item[rows.place] * annotator).sum(1))

    def of_rows(self, params: Params, X: Features, rows: Rows) -> Float[Array, "P C K"]:
        """Return s W_G + (1 − s) W[a] of every row."""
        share = self.common_share(params, X, rows)[:, None, None]
        own = params["matrix"][rows.annotator]
        return share * params["common"][None] + (1 - share) * own

    def log_given(self, params: Params, X: Features, rows: Rows) -> Float[Array, "P C"]:
        """Return log (s G[c, y] + (1 − s) R[a, c, y]), or that of mixed matrices."""
        if not self.mixture:
            return super().log_given(params, X, rows)
        share = self.common_share(params, X, rows)[:, None]
        common = jax.nn.softmax(params["common"], axis=1).T[rows.answer]
        matrices = params["matrix"][rows.annotator]
        own = jnp.exp(formulas.log_given(matrices, rows.answer))
        return jnp.log(share * common + (1 - share) * own)

    def penalty(
        self, params: Params, log_proba: LogProba, rows: Rows, strength: Strength
    ) -> Loss:
        """Return the prior of own and common matrices minus their distance."""
        own = formulas.gaussian_penalty(params["matrix"], self.centre[None])
        common = formulas.gaussian_penalty(params["common"][None], self.centre[None])
        apart = formulas.distance(params["matrix"], params["common"])
        return strength.prior * (own + common) - strength.regularizer * apart


def unit(vectors: Float[Array, "n E"]) -> Float[Array, "n E"]:
    """Return the vectors with length one."""
    squared = (vectors * vectors).sum(1, keepdims=True)
    return vectors / jnp.sqrt(squared + formulas.SMALLEST)
