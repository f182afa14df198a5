"""Ruiz et al. (2019): a full Gaussian process and two coins per annotator."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from wisecrowd._checks import InputError
from wisecrowd._types import Array
from wisecrowd.maths import full_process
from wisecrowd.maths.full_process import FullProcess
from wisecrowd.maths.jaakkola import Latent, Sites
from wisecrowd.maths.scaling import Scaling
from wisecrowd.maths.squared_exponential import SquaredExponential
from wisecrowd.methods.gpcr.estimator import BinaryGPCR, Process, limits
from wisecrowd.methods.gpcr.loop import Climb
from wisecrowd.registry import MethodInfo

MOST_ITEMS = 25_000
"""Largest fit: it takes some 50 GB, as the method keeps N × N numbers ten times."""
STEPS = 2  # of L-BFGS per iteration: each is as expensive as an update of q(f)


@dataclass(eq=False, repr=False, kw_only=True)
class VGPCR(BinaryGPCR):
    """VGPCR: a Gaussian process learned with the annotators, by variational Bayes.

    Two classes only. The covariance of all items is kept, so time grows with the cube
    and memory with the square of the number of items that have answers.

    Parameters
    ----------
    annotator_prior : "flat", "diagonal", (C, K) or (A, C, K) array, or mapping
        Dirichlet concentrations of the rows of the confusion matrices. "flat" is
        Beta(1, 1) for sensitivity and specificity, as published. A mapping from
        annotators to (C, K) concentrations takes over what is known of some of them.
    length_scale : "auto" or float
        Length-scale of the kernel at the start, in units of the scaled features. "auto"
        is a quarter, a half, one or two times the square root of the number of
        features: the one with the highest bound after a few iterations.
    variance : float
        Variance of the kernel at the start.
    learn_kernel : bool
        Whether the bound chooses variance and length-scale; False keeps those given.
    scaling : {"auto", "each", "one", "none"}
        Divide each feature by its own standard deviation, or all by one number. "auto"
        uses one number if the standard deviations are similar.
    dependence, max_iter, tol, progress
        As in :class:`DawidSkene`.

    Attributes
    ----------
    variance_, length_scale_ : float
        Of the kernel, for scaled features.
    n_iter_ : int
        The number of iterations.
    n_features_in_ : int
        Number of features at the fit.
    feature_names_in_ : array
        Their names, where X was a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> truth = (np.hypot(*X.T) < 1.2).astype(int)  # a disc
    >>> wrong = rng.random((200, 3)) < [0.1, 0.2, 0.5]  # three annotators
    >>> model = VGPCR().fit(X, np.where(wrong, 1 - truth[:, None], truth[:, None]))
    >>> bool((model.labels_ == truth).mean() > 0.9)
    True
    >>> model.predict([[0.0, 0.0], [2.0, 2.0]]).tolist()
    [1, 0]
    """

    method = MethodInfo(
        name="vgpcr",
        needs="features",
        two_classes=True,
        learns="a distribution of confusion matrices, for two classes",
        paper="Ruiz et al., *Pattern Recognition* 88, 2019",
        bibtex="""\
@article{ruiz2019vgpcr,
  author = {Ruiz, Pablo and Morales-{\\'A}lvarez, Pablo and Molina, Rafael and
    Katsaggelos, Aggelos K.},
  title = {Learning from crowds with variational {G}aussian processes},
  journal = {Pattern Recognition},
  volume = {88},
  pages = {298--311},
  year = {2019}
}""",
    )

    def _process(self, X: Array, kernel: SquaredExponential) -> Process:
        check_size(len(X))
        squared = cdist(X, X, "sqeuclidean")

        def evaluate(theta: Array, sites: Sites) -> Latent:
            return full_process.latent(SquaredExponential(*theta), squared, sites)

        free = np.arange(2 if self.learn_kernel else 0)
        climb = Climb(free, *limits(kernel), STEPS)
        return Process(evaluate, np.array(kernel), [climb], len(X))

    def _record(self, theta: Array, latent: Latent, X: Array, scale: Scaling) -> Any:
        found: full_process.Solved = latent.posterior
        kernel = float(theta[0]), float(theta[1])
        parts = found.weights, found.root, found.factor
        return FullProcess(*kernel, X, *parts, scale)


def check_size(n_items: int) -> None:
    """Refuse more items than a full process can take."""
    if n_items > MOST_ITEMS:
        raise InputError(
            f"VGPCR keeps the covariance of all items that have answers, and "
            f"{n_items:,} are more than {MOST_ITEMS:,}. Use RFFGPCR, VFFGPCR or "
            f"SVGPCR, whose time is linear in the items."
        )
