"""Where a fit begins: the scale of the features and the inducing points."""

import numpy as np
from jaxtyping import Float
from sklearn.cluster import KMeans

from wisecrowd._checks import InputError, one_of
from wisecrowd.annotations import Annotations
from wisecrowd.fit.trace import Trace
from wisecrowd.fit.variational import combined
from wisecrowd.maths import crowd
from wisecrowd.methods.svgpcr.record import FAR, ROWS, Scaling
from wisecrowd.skills import ConfusionMatrices

N_FOR_START = 20_000  # items that k-means sees: more of them move no centre
MAX_START = 50  # iterations of BCC before the first step
START_TOL = 1e-7  # nats per answer, as BCC: on LabelMe less of it cost .012 of accuracy
START_CLASS_PRIOR = 1.0  # as published; on LabelMe, 10 cost robust max .005
FEW = 20  # items per inducing point; with more, k-means needs no distinct ones
SCALINGS = ("auto", "each", "one", "none")
LARGEST = 1e150  # of a feature in the user's units, as it is squared
COMMENSURATE = 30.0  # spreads within this factor of the median are of one kind


def scaling(X: Float[np.ndarray, "N D"], kind: str) -> Scaling:
    """Return the centre and the spread of the features.

    Features of one kind, such as pixels or the outputs of a network, are divided by
    one number: dividing each by its own spread would blow up those that hardly vary.
    Features in different units are divided each by its own. Constant ones become zero.
    """
    one_of(kind, SCALINGS, "scaling")
    largest = np.maximum(X.max(0), -X.min(0)).astype(np.float64)
    most = FAR if kind == "none" else LARGEST
    if (largest > most).any():
        column = int(np.argmax(largest))
        raise InputError(
            f"column {column} of X reaches {largest[column]:.3g}; scaling={kind!r} "
            f"takes up to {most:g}. Give the features in a larger unit"
            f"{', or use another scaling' if kind == 'none' else ''}."
        )
    centre, spread = mean_and_spread(X)
    if kind == "none":
        return Scaling(np.zeros_like(centre), np.ones_like(spread))
    # What rounding leaves of a constant column is no spread.
    varies = spread > 1e-7 * np.maximum(largest, np.finfo(float).tiny)
    if not varies.any():
        return Scaling(centre, np.ones_like(spread))
    common = np.sqrt((spread[varies] ** 2).mean())
    # The lower of two: the mean of one small and one huge would be alike to the huge.
    median = np.quantile(spread[varies], 0.5, method="lower")
    alike = spread.max() <= COMMENSURATE * median
    if kind == "one" or (kind == "auto" and alike):
        return Scaling(centre, np.full_like(spread, common))
    return Scaling(centre, np.where(varies, spread, 1.0))


def mean_and_spread(
    X: Float[np.ndarray, "N D"],
) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
    """Return mean and standard deviation of every column, in 64 bits.

    Some thousand rows at a time: the features are never copied whole.
    """
    blocks = [X[i : i + ROWS] for i in range(0, len(X), ROWS)]
    mean = sum(block.sum(0, dtype=np.float64) for block in blocks) / len(X)
    squares = sum(((block - mean) ** 2).sum(0) for block in blocks)
    return mean, np.sqrt(squares / len(X))


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
    answers, gold = annotations.codes, annotations.gold_codes
    before = ConfusionMatrices.before_answers(
        prior, annotations.annotators, *answers.shape[2:]
    )
    with Trace("annotators", total=max_iter, show=False) as trace:
        alone = combined(
            answers,
            before,
            gold,
            trace=trace,
            max_iter=max_iter,
            class_prior=START_CLASS_PRIOR,
            tol=START_TOL * len(answers),
            warn=False,
        )
    skills = alone.skills.learned_from(answers, alone.proba)
    return skills.with_dependence(dependence)
