"""The posterior of an item's class, given what its annotators say and f.

Two families. :class:`Conditional`, q(Z | F): the exact posterior of z for every f. It
leaves E_f log Σ_c p(c | f) e^{evidence_c} of the bound, the largest possible value for
given q(F) and q(R), and an item without answers has no effect on f.
:class:`Factorised`, q(Z) q(F), is the paper's. It leaves
log Σ_c exp(E_f log p(c | f) + evidence_c).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp, xlogy
from jaxtyping import Array, Float

from wisecrowd._checks import one_of
from wisecrowd._records import record
from wisecrowd.maths.gp.links import States, mean_log_proba


@record
@dataclass(frozen=True)
class Conditional:
    """q(Z | F): the class of an item depends on f."""

    def proba_by_state(
        self, states: States, evidence: Float[Array, "B C"]
    ) -> Float[Array, "B S C"]:
        """q(z | state) ∝ p(z | state) e^{evidence}."""
        return jax.nn.softmax(states.log_proba + evidence[:, None, :], axis=2)

    def best_bound(
        self, states: States, evidence: Float[Array, "B C"]
    ) -> Float[Array, " B"]:
        """E_f log Σ_c p(c | f) e^{evidence_c}."""
        inside = logsumexp(states.log_proba + evidence[:, None, :], axis=2)  # [B, S]
        return (states.weight * inside).sum(1)


@record
@dataclass(frozen=True)
class Factorised:
    """q(Z) q(F): the class of an item is independent of f in the posterior."""

    def proba_by_state(
        self, states: States, evidence: Float[Array, "B C"]
    ) -> Float[Array, "B 1 C"]:
        """q(z) ∝ exp(E_f log p(z | f) + evidence), one for all states."""
        return jax.nn.softmax(mean_log_proba(states) + evidence, axis=1)[:, None, :]

    def best_bound(
        self, states: States, evidence: Float[Array, "B C"]
    ) -> Float[Array, " B"]:
        """Return log Σ_c exp(E_f log p(c | f) + evidence_c)."""
        return logsumexp(mean_log_proba(states) + evidence, axis=1)


Family = Conditional | Factorised
FAMILIES: dict[str, Family] = {
    "conditional": Conditional(),
    "factorised": Factorised(),
}
"""The posterior families that have a name."""


def as_family(family: Any) -> Family:
    """Return a posterior family from its name or from itself."""
    if isinstance(family, Conditional | Factorised):
        return family
    one_of(family, FAMILIES, "posterior")
    return FAMILIES[family]


class ItemTerms(NamedTuple):
    """The three terms of the bound that are sums over items, one entry per item."""

    answers: Float[Array, " B"]
    features: Float[Array, " B"]
    entropy: Float[Array, " B"]

    @property
    def total(self) -> Float[Array | np.ndarray, " B"]:
        """Return the three together: `best_bound` of the family."""
        return self.answers + self.features + self.entropy


def label_proba(
    family: Family, states: States, evidence: Float[Array, "B C"]
) -> Float[Array, "B C"]:
    """q(z) = Σ_s w_s q(z | s)."""
    given = family.proba_by_state(states, evidence)
    return (states.weight[:, :, None] * given).sum(1)


def item_terms(
    family: Family, states: States, evidence: Float[Array, "B C"]
) -> ItemTerms:
    """Return E log p(y | z, R), E log p(z | f) and the entropy of q(z | f).

    They sum to `best_bound`. A class that is ruled out (evidence −∞) adds nothing.
    q(z | f) is at its best, so the slope of the sum does not depend on how q moves: it
    is kept out of the gradient, which is then that of `best_bound`, and cheap.
    """
    given = jax.lax.stop_gradient(family.proba_by_state(states, evidence))
    weight = states.weight[:, :, None]
    possible = jnp.where(jnp.isfinite(evidence), evidence, 0)[:, None, :]
    return ItemTerms(
        answers=(weight * given * possible).sum((1, 2)),
        features=(weight * given * states.log_proba).sum((1, 2)),
        entropy=-(weight * xlogy(given, given)).sum((1, 2)),
    )


def agreement(
    family: Family, states: States, evidence: Float[Array, "B C"]
) -> Float[Array, " B"]:
    """q(z is the class whose f is the largest); robust max only, where S = C."""
    given = family.proba_by_state(states, evidence)
    same = jnp.diagonal(given, axis1=1, axis2=2) if given.shape[1] > 1 else given[:, 0]
    return (states.weight * same).sum(1)
