"""Skill that depends on features: on some items an annotator guesses."""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from wisecrowd._types import Array, Confusion
from wisecrowd.answers import Answers
from wisecrowd.simulation.sampling import MOST_CELLS, chunks

ATTENTION_BIAS, ATTENTION_SLOPE = 2.0, 2.0
"""Attention is expit(bias + slope · standardised direction): .8 on average."""

MOST_ITEMS_AVERAGED = 1000
"""Most items per class over which attention is averaged."""


def attention(along: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """expit(bias + slope · x·v): the probability of not guessing."""
    return expit(ATTENTION_BIAS + ATTENTION_SLOPE * along)


def with_guesses(
    answers: Answers,
    confusion: Confusion,
    truth: Int[Array, " N"],
    X: Float[Array, "N D"],
    rng: np.random.Generator,
) -> tuple[Answers, Confusion]:
    """Replace answers by guesses, each with probability 1 − attention.

    Returns the answers, and the confusion matrices averaged over the items of each
    class: attention · R[a, c, :] + (1 − attention) / K.
    """
    centred = X - X.mean(0)
    direction = _directions(len(confusion), centred, rng)
    answer = answers.answer.copy()
    for rows in chunks(np.arange(len(answer)), max(1, MOST_CELLS // X.shape[1])):
        x, v = centred[answers.item[rows]], direction[answers.annotator[rows]]
        guess = rows[rng.random(len(rows)) > attention(np.einsum("ld,ld->l", x, v))]
        answer[guess] = rng.integers(confusion.shape[2], size=len(guess))
    n_classes = confusion.shape[1]
    mean = _mean_attention(truth, centred, direction, n_classes, rng)[..., None]
    averaged = mean * confusion + (1 - mean) / confusion.shape[2]
    return answers.with_answer(answer), averaged


def _directions(
    n_annotators: int, X: Float[Array, "N D"], rng: np.random.Generator
) -> Float[Array, "A D"]:
    """Draw one direction per annotator; the items have deviation one along it."""
    direction = rng.standard_normal((n_annotators, X.shape[1]))
    covariance = X.T @ X / len(X)
    deviation = np.sqrt(np.einsum("ad,de,ae->a", direction, covariance, direction))
    return direction / np.maximum(deviation, np.finfo(float).tiny)[:, None]


def _mean_attention(
    truth: Int[Array, " N"],
    X: Float[Array, "N D"],
    direction: Float[Array, "A D"],
    n_classes: int,
    rng: np.random.Generator,
) -> Float[Array, "A C"]:
    """Return the mean attention of each annotator to the items of each class."""
    mean = np.ones((len(direction), n_classes))
    for c in np.unique(truth):
        items = rng.permutation(np.flatnonzero(truth == c))[:MOST_ITEMS_AVERAGED]
        total = np.zeros(len(direction))
        for some in chunks(items, max(1, MOST_CELLS // len(direction))):
            total += attention(direction @ X[some].T).sum(1)
        mean[:, c] = total / len(items)
    return mean
