"""Where a fit begins: the inducing points, and what the answers say alone."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.cluster import KMeans

from wisecrowd.annotations import Annotations
from wisecrowd.fit.consensus import MAX_ITERATIONS, Agreed, agreed
from wisecrowd.fit.trace import Trace
from wisecrowd.fit.variational import of_answers_alone
from wisecrowd.maths import crowd
from wisecrowd.skills import ConfusionMatrices

FEW_ITEMS = 20_000  # up to here, a fit takes fewer and larger steps
N_FOR_START = 20_000  # items that k-means sees: more of them move no centre
MAX_START = 50  # iterations of BCC before the first step
START_CLASS_PRIOR = 1.0  # as published; on LabelMe, 10 cost robust max .005
PER_POINT = 20  # items per inducing point; with more, k-means needs no distinct ones


def n_points(X: Float[np.ndarray, "n D"], n_inducing: int) -> int:
    """Return how many inducing points there will be: no more than distinct items."""
    if len(X) > PER_POINT * n_inducing:
        return n_inducing
    return min(n_inducing, len(np.unique(X, axis=0)))


def inducing_points(
    X: Float[np.ndarray, "n D"], n_inducing: int, rng: np.random.RandomState
) -> Float[np.ndarray, "M D"]:
    """Return the centres of k-means; all distinct items, where there are no more."""
    distinct = np.unique(X, axis=0) if len(X) <= PER_POINT * n_inducing else X
    if len(distinct) <= n_inducing:
        return distinct.astype(np.float64)
    centres = KMeans(n_inducing, n_init=1, max_iter=30, random_state=rng).fit(X)
    return centres.cluster_centers_.astype(np.float64)


class Start(NamedTuple):
    """What the answers say without the features.

    `alone` is what the pool uses in the end, `skills` where the loop begins: BCC. Its
    annotators are sharper, and the classifier learned better from them.
    """

    alone: Agreed
    skills: Any


def start_of(annotations: Annotations, prior: crowd.PriorSpec) -> Start:
    """Return where a fit with this prior of the annotators begins."""
    answers = annotations.codes
    before = ConfusionMatrices.before_answers(
        prior, annotations.annotators, *answers.shape[2:]
    )
    with Trace("annotators", total=MAX_ITERATIONS, show=False) as trace:
        alone = agreed(
            answers,
            annotations.gold_codes,
            before,
            max_iter=MAX_ITERATIONS,
            trace=trace,
        )
    bcc = of_answers_alone(annotations, prior, MAX_START, START_CLASS_PRIOR)
    return Start(alone, bcc.skills)
