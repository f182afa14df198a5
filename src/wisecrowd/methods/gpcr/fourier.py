"""Morales-Álvarez et al. (2019): Fourier features, and two coins per annotator."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from wisecrowd._checks import random_numbers, whole_number
from wisecrowd._types import Array
from wisecrowd.maths import fourier_features
from wisecrowd.maths.fourier_features import FourierKernel, FourierProcess
from wisecrowd.maths.jaakkola import Latent, Sites
from wisecrowd.maths.scaling import Scaling
from wisecrowd.maths.squared_exponential import SquaredExponential
from wisecrowd.methods.gpcr.estimator import BinaryGPCR, Process, limits
from wisecrowd.methods.gpcr.loop import Climb
from wisecrowd.registry import MethodInfo

STEPS = 2  # of L-BFGS per iteration for variance and length-scale
STEPS_OF_FREQUENCIES = 5  # the same where the frequencies are learned


def kernel_of(theta: Float[np.ndarray, " P"], n_features: int) -> FourierKernel:
    """Return log v, log ℓ and the frequencies from one vector."""
    frequencies = theta[2:].reshape(-1, n_features)
    return FourierKernel(float(theta[0]), float(theta[1]), frequencies)


@dataclass(eq=False, repr=False, kw_only=True)
class FourierGPCR(BinaryGPCR):
    """What RFFGPCR and VFFGPCR share: a linear model in Fourier features."""

    n_frequencies: int = 100
    random_state: Any = 0

    @property
    def frequencies_(self) -> Array:
        """Frequencies for scaled features, (F, D): Ω / ℓ."""
        found: FourierProcess = self.learned_.classifier
        return found.frequencies * np.exp(-found.log_scale)

    def _process(self, X: Array, kernel: SquaredExponential) -> Process:
        whole_number(self.n_frequencies, "n_frequencies", most=100_000)
        rng = random_numbers(self.random_state)
        drawn = rng.normal(size=self.n_frequencies * X.shape[1])
        theta = np.concatenate([kernel, drawn])

        space = np.empty((len(X), 2 * self.n_frequencies))

        def evaluate(theta: Array, sites: Sites) -> Latent:
            kernel = kernel_of(theta, X.shape[1])
            return fourier_features.latent(kernel, X, sites, space)

        anywhere = np.full(len(drawn), np.inf)
        low, high = limits(kernel)
        low, high = np.append(low, -anywhere), np.append(high, anywhere)
        free = np.arange(2 if self.learn_kernel else 0)
        climb = Climb(free, low, high, STEPS)
        return Process(evaluate, theta, [climb], space.shape[1])

    def _record(self, theta: Array, latent: Latent, X: Array, scale: Scaling) -> Any:
        weights, factor = latent.posterior
        return FourierProcess(*kernel_of(theta, X.shape[1]), weights, factor, scale)


@dataclass(eq=False, repr=False, kw_only=True)
class RFFGPCR(FourierGPCR):
    """RFFGPCR: as VGPCR with random Fourier features, in time linear in the items.

    Two classes only. The features approximate the squared-exponential kernel. The more
    features the items have, the more frequencies this takes.

    Parameters
    ----------
    n_frequencies : int
        Number of random frequencies F; the linear model has 2 F weights. Time grows
        with its square.
    annotator_prior, length_scale, variance
        As in :class:`VGPCR`.
    learn_kernel, scaling
        As in :class:`VGPCR`.
    random_state : int, RandomState or None
        For drawing the frequencies.
    dependence, max_iter, tol, progress
        As in :class:`DawidSkene`.

    Attributes
    ----------
    variance_, length_scale_ : float
        Of the kernel, for scaled features.
    frequencies_ : array (F, D)
        Frequencies, for scaled features, as drawn and divided by the
        length-scale.
    n_iter_ : int
        The number of iterations.
    n_features_in_ : int
        Number of features at the fit.
    feature_names_in_ : array
        Their names, where X was a DataFrame.
    """

    method = MethodInfo(
        name="rffgpcr",
        needs="features",
        two_classes=True,
        learns="a distribution of confusion matrices, for two classes, beside "
        "random Fourier features",
        paper="Morales-Álvarez et al., *Information Fusion* 52, 2019",
        bibtex="""\
@article{moralesalvarez2019rffvff,
  author = {Morales-{\\'A}lvarez, Pablo and Ruiz, Pablo and Santos-Rodr{\\'\\i}guez,
    Ra{\\'u}l and Molina, Rafael and Katsaggelos, Aggelos K.},
  title = {Scalable and efficient learning from crowds with {G}aussian processes},
  journal = {Information Fusion},
  volume = {52},
  pages = {110--127},
  year = {2019}
}""",
    )


@dataclass(eq=False, repr=False, kw_only=True)
class VFFGPCR(FourierGPCR):
    """VFFGPCR: as RFFGPCR, while the bound chooses the frequencies too.

    Two classes only. The kernel is no longer squared-exponential: it becomes whatever
    stationary kernel suits the answers, in time linear in the items.

    Parameters
    ----------
    n_frequencies : int
        Number of frequencies F; the linear model has 2 F weights. Time grows with its
        square.
    annotator_prior, length_scale, variance
        As in :class:`VGPCR`.
    learn_kernel : bool
        Whether the bound chooses variance, length-scale and frequencies; False keeps
        those of the start.
    scaling
        As in :class:`VGPCR`.
    random_state : int, RandomState or None
        For drawing the frequencies.
    dependence, max_iter, tol, progress
        As in :class:`DawidSkene`. The frequencies begin to move when variance and
        length-scale have converged, and may take `max_iter` iterations more.

    Attributes
    ----------
    variance_, length_scale_ : float
        Of the kernel, for scaled features.
    frequencies_ : array (F, D)
        Frequencies, for scaled features.
    n_iter_ : int
        The number of iterations.
    n_features_in_ : int
        Number of features at the fit.
    feature_names_in_ : array
        Their names, where X was a DataFrame.
    """

    n_frequencies: int = 50

    method = MethodInfo(
        name="vffgpcr",
        needs="features",
        two_classes=True,
        learns="a distribution of confusion matrices, for two classes, beside "
        "Fourier features that are learned",
        paper="Morales-Álvarez et al., *Information Fusion* 52, 2019",
        bibtex="""\
@article{moralesalvarez2019rffvff,
  author = {Morales-{\\'A}lvarez, Pablo and Ruiz, Pablo and Santos-Rodr{\\'\\i}guez,
    Ra{\\'u}l and Molina, Rafael and Katsaggelos, Aggelos K.},
  title = {Scalable and efficient learning from crowds with {G}aussian processes},
  journal = {Information Fusion},
  volume = {52},
  pages = {110--127},
  year = {2019}
}""",
    )

    def _process(self, X: Array, kernel: SquaredExponential) -> Process:
        """Return that of RFFGPCR, whose end is the start of the frequencies.

        Frequencies that start with a bad variance and length-scale overfit: there are
        F D of them, and they have no prior.
        """
        process = super()._process(X, kernel)
        if not self.learn_kernel:
            return process
        first = process.climbs[0]
        every = np.arange(len(process.theta))
        more = first._replace(free=every, n_steps=STEPS_OF_FREQUENCIES)
        return process._replace(climbs=[first, more])
