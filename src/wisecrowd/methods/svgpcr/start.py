"""Where a fit begins: the inducing points, and BCC's annotators."""

import numpy as np
from jaxtyping import Float
from sklearn.cluster import KMeans

from wisecrowd.annotations import Annotations
from wisecrowd.fit.variational import of_answers_alone
from wisecrowd.maths import crowd
from wisecrowd.skills import ConfusionMatrices

N_FOR_START = 20_000  # items that k-means sees: more of them move no centre
MAX_START = 50  # iterations of BCC before the first step
START_CLASS_PRIOR = 1.0  # as published; on LabelMe, 10 cost robust max .005
FEW = 20  # items per inducing point; with more, k-means needs no distinct ones


def n_points(X: Float[np.ndarray, "n D"], n_inducing: int) -> int:
    """Return how many inducing points there will be: no more than distinct items."""
    if len(X) > FEW * n_inducing:
        return n_inducing
    return min(n_inducing, len(np.unique(X, axis=0)))


def inducing_points(
    X: Float[np.ndarray, "n D"], n_inducing: int, rng: np.random.RandomState
) -> Float[np.ndarray, "M D"]:
    """Return the centres of k-means; all distinct items, where there are no more."""
    distinct = np.unique(X, axis=0) if len(X) <= FEW * n_inducing else X
    if len(distinct) <= n_inducing:
        return distinct.astype(np.float64)
    centres = KMeans(n_inducing, n_init=1, max_iter=30, random_state=rng).fit(X)
    return centres.cluster_centers_.astype(np.float64)


def starting_skills(
    annotations: Annotations,
    prior: crowd.PriorSpec,
    dependence: float | int | str,
    max_iter: int,
) -> ConfusionMatrices:
    """Return what the answers alone say about the annotators: BCC."""
    alone = of_answers_alone(annotations, prior, max_iter, START_CLASS_PRIOR)
    return alone.skills.with_dependence(dependence)
