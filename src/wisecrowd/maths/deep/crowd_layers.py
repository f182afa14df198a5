"""From a network's class probabilities to the answers of annotators.

Answers come as flat rows (which item of the batch, annotator, answer). Rows that only
fill up a batch to a fixed length have the weight 0. A layer is a frozen recipe, which a
compiled function is specialised for; its parameters are a dictionary of arrays.
"""

from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

Params: TypeAlias = dict[str, Any]

SMALLEST = 1e-30  # of a probability or of a squared length: logs and slopes stay finite
DETERMINANT_FLOOR = 1e-6  # added to the diagonal: classes that a batch lacks
N_SHARED = 20  # length of the vectors that CoNAL compares
N_SEEN = 128  # units between the features and such a vector


class Rows(NamedTuple):
    """The answers on a batch of items, as flat rows.

    Attributes
    ----------
    place : array (P,)
        Which item of the batch the answer is about.
    annotator, answer : array (P,)
        Who, and what.
    weight : array (P,)
        1, or 0 where the row is only there to fill up.
    gold : array (B,)
        Codes of the classes known for certain, -1 elsewhere.
    """

    place: Int[Any, "*T P"]
    annotator: Int[Any, "*T P"]
    answer: Int[Any, "*T P"]
    weight: Float[Any, "*T P"]
    gold: Int[Any, "*T B"]


def with_gold(
    log_proba: Float[Array, "B C"], gold: Int[Array, " B"]
) -> tuple[Float[Array, "B C"], Float[Array, " B"]]:
    """Return the log-probabilities that the answers see, and log p(gold).

    Where the class is known, annotators see it and not the prediction; the prediction
    is judged by the class: log p(y, z = g) = log p(z = g) + log p(y | z = g).
    """
    known = (gold >= 0)[:, None]
    one = jax.nn.one_hot(gold, log_proba.shape[1], dtype=log_proba.dtype)
    surely = jnp.log(jnp.maximum(one, SMALLEST))
    of_gold = jnp.where(known, one * log_proba, 0).sum(1)
    return jnp.where(known, surely, log_proba), of_gold


def picked(
    log_answers: Float[Array, "P K"], answer: Int[Array, " P"]
) -> Float[Array, " P"]:
    """Return the entry of each row's own answer."""
    return jnp.take_along_axis(log_answers, answer[:, None], 1)[:, 0]


def per_item(
    log_given: Float[Array, "P C"], rows: Rows, n_items: int
) -> Float[Array, "B C"]:
    """Σ log p(y | c, a) over the answers of each item; filling rows count nothing."""
    counted = jnp.where(rows.weight[:, None] > 0, log_given, 0)
    return jax.ops.segment_sum(counted, rows.place, n_items)


# -- the published layer: softmax of activations ---------------------------------------


def matrices_of_weights(
    weight: Float[Array, "P C"], offset: Float[Array, "P K"]
) -> Float[Array, "P C K"]:
    """W[c, k] = w_c [c = k] + b_k, so that Σ_c p_c W[c, k] = w_k p_k + b_k."""
    n_more = offset.shape[1] - weight.shape[1]
    diagonal = jax.vmap(jnp.diag)(weight)
    return jnp.pad(diagonal, ((0, 0), (0, 0), (0, n_more))) + offset[:, None]


def activations(
    proba: Float[Array, "P C"], matrices: Float[Array, "P C K"]
) -> Float[Array, "P K"]:
    """a_k = Σ_c p_c W[c, k]."""
    return jnp.einsum("pc,pck->pk", proba, matrices)


# -- mixtures: the rows of a matrix are probabilities ----------------------------------


def log_mixture(
    log_proba: Float[Array, "P C"], log_given: Float[Array, "P C"]
) -> Float[Array, " P"]:
    """Log p(y | x, a) = log Σ_c p(c | x) R[a, c, y]; `log_given` are its log R."""
    return jax.nn.logsumexp(log_proba + log_given, axis=1)


def log_given(
    matrices: Float[Array, "P C K"], answer: Int[Array, " P"]
) -> Float[Array, "P C"]:
    """Log R[c, y] of every row, R = softmax of W over the answers."""
    log_confusion = jax.nn.log_softmax(matrices, axis=2)
    return jnp.take_along_axis(log_confusion, answer[:, None, None], 2)[:, :, 0]


# -- penalties -------------------------------------------------------------------------


def explained(log_proba: Float[Array, "B C"]) -> Float[Array, ""]:
    """1 − mean H(p) / H(mean p): the share of the classes' entropy explained."""

    def entropy(proba: Float[Array, "... C"]) -> Float[Array, "..."]:
        return -(proba * jnp.log(jnp.maximum(proba, SMALLEST))).sum(-1)

    proba = jnp.exp(log_proba)
    before = jnp.maximum(entropy(proba.mean(0)), SMALLEST)
    return jnp.maximum(1 - entropy(proba).mean() / before, 0)


def trace_penalty(
    matrices: Float[Array, "P C K"],
    weight: Float[Array, " P"],
    log_proba: Float[Array, "B C"],
) -> Float[Array, ""]:
    """Return e² times the mean diagonal of the confusion matrices of rows' annotators.

    Tanno et al. 2019: among matrices that explain the answers equally well, the true
    ones have the smallest trace, if annotators are right more often than not. The mean
    is over answers: an annotator with few of them is not judged by the penalty alone.
    e² is that of :func:`volume_penalty`: if the features say little, matrices of small
    trace do not explain the answers, and yet the penalty would prefer them.
    """
    confusion = jax.nn.softmax(matrices, axis=2)
    diagonal = jnp.diagonal(confusion, axis1=1, axis2=2).mean(1)
    mean = (diagonal * weight).sum() / jnp.maximum(weight.sum(), 1)
    return jax.lax.stop_gradient(explained(log_proba)) ** 2 * mean


def volume_penalty(
    log_proba: Float[Array, "B C"], counted: Float[Array, " C"]
) -> Float[Array, ""]:
    """−e² log det of the mean of p pᵀ over a batch (GeoCrowdNet: Ibrahim et al. 2023).

    Rows and columns of the classes that are `counted` (1, others 0).

    It is small if every class has items of which the network is certain. Where the
    features leave classes uncertain, there are none, and the published penalty makes
    the network certain of anything. So it counts e², the square of the share of the
    classes' entropy that the predictions explain, taken as a constant.
    """
    proba = jnp.exp(log_proba)
    n_items = len(proba)
    gram = jnp.outer(counted, counted) * (proba.T @ proba) / n_items
    floor = jnp.where(counted > 0, DETERMINANT_FLOOR, 1).astype(proba.dtype)
    weight = jax.lax.stop_gradient(explained(log_proba)) ** 2
    return -weight * jnp.linalg.slogdet(gram + jnp.diag(floor))[1]


def distance(
    own: Float[Array, "A C K"], common: Float[Array, "C K"]
) -> Float[Array, ""]:
    """Σ_a |W[a] − G|, the distance of each annotator's matrix from the common one."""
    apart = own - common[None]
    return jnp.sqrt((apart * apart).sum((1, 2)) + SMALLEST).sum()


def gaussian_penalty(
    params: Float[Array, "A ..."], centre: Float[Any, "#A ..."]
) -> Float[Array, ""]:
    """½ Σ (W − W₀)²: minus the log density of a Gaussian prior around the start."""
    apart = params - jnp.broadcast_to(jnp.asarray(centre, params.dtype), params.shape)
    return (apart * apart).sum() / 2


def scaled_identity(n_classes: int, n_answers: int, scale: float) -> np.ndarray:
    """Return a matrix with `scale` where the answer is the class, 0 elsewhere."""
    return scale * np.eye(n_classes, n_answers, dtype=np.float32)
