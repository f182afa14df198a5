"""A regression beside the Gaussian process, learned from the same labels.

A hundred inducing points reach few of the directions of many features. A regression
reaches all of them at little cost, and errs on other items. The two predictions are
multiplied.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from wisecrowd._types import Array
from wisecrowd.fit.soft_labels import out_of_fold, regression
from wisecrowd.maths.logistic import Logistic
from wisecrowd.maths.pool import bounded_log, fitted_exponents, normalised
from wisecrowd.methods.svgpcr.record import Beside

N_FOLDS = 5
MOST_ITEMS = 20_000  # that the regression is learned from: more move it little
HELD = 0.02
"""Nats per item for which the two exponents may differ by a factor of four. Their ratio
is fitted to labels that both have helped to make, so it is held near one."""


class Line(NamedTuple):
    """What a regression is learned from.

    Attributes
    ----------
    X : array (N, D)
        Features of all items.
    rows : array (n,)
        The items that it is learned from: those with answers or gold, not too many.
    fold : array (n,)
        In which of the folds each of them is.
    """

    X: Array
    rows: Int[np.ndarray, " n"]
    fold: Int[np.ndarray, " n"]

    @classmethod
    def of(cls, X: Array, known: Bool[np.ndarray, " N"], seed: int) -> "Line":
        """Choose the items, and divide them."""
        rng = np.random.RandomState(seed)
        rows = np.sort(rng.permutation(np.flatnonzero(known))[:MOST_ITEMS])
        return cls(X, rows, rng.permutation(len(rows)) % min(N_FOLDS, len(rows)))

    def learned(self, proba: Float[np.ndarray, "N C"]) -> Logistic:
        """Return the regression that these labels teach."""
        return regression(self.X[self.rows], proba[self.rows])

    def alone(self, proba: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
        """Return what it says about every item, in logs, its own label not seen."""
        said = self.learned(proba).proba(self.X)
        own = self.X[self.rows], proba[self.rows]
        said[self.rows] = out_of_fold(None, *own, self.fold)
        return bounded_log(said)

    def beside(
        self, proba: Float[np.ndarray, "N C"], process: Float[np.ndarray, "N C"]
    ) -> tuple[Beside, Float[np.ndarray, "N C"]]:
        """Return both, and what they say about every item without its own answers.

        If the process says this about every item without its own answers.
        """
        both = np.stack([process, self.alone(proba)])
        exponents, _ = fitted_exponents(both[:, self.rows], proba[self.rows], held=HELD)
        alone = normalised(np.tensordot(exponents, both, 1))
        found = self.learned(proba)
        seen = found.scaling.apply(self.X[self.rows], "float64")
        reach = float(np.linalg.norm(seen, axis=1).max())
        return Beside(found, exponents, reach), alone
