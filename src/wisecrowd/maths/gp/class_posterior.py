"""The posterior of an item's class, given what its annotators say and f.

Two families. *Conditional*, q(Z | F): the exact posterior of z for every f. It leaves
E_f log Σ_c p(c | f) e^{evidence_c} of the bound, the most that is to be had for given
q(F) and q(R), and an item that nobody answered cannot pull at f. *Factorised*,
q(Z) q(F), is the paper's: it leaves log Σ_c exp(E_f log p(c | f) + evidence_c).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp, xlogy
from jaxtyping import Array, Float

from wisecrowd.maths.gp.links import States, mean_log_proba


class LabelTerms(NamedTuple):
    """The three terms of the bound that are sums over items, one entry an item."""

    labels: Float[Array, " B"]
    features: Float[Array, " B"]
    entropy: Float[Array, " B"]


def best_bound(
    states: States, evidence: Float[Array, "B C"], factorised: bool
) -> Float[Array, " B"]:
    """Return labels + features + entropy of every item at the best q(z)."""
    if factorised:
        return logsumexp(mean_log_proba(states) + evidence, axis=1)
    inside = logsumexp(states.log_proba + evidence[:, None, :], axis=2)  # [B, S]
    return (states.weight * inside).sum(1)


def proba_by_state(
    states: States, evidence: Float[Array, "B C"], factorised: bool
) -> Float[Array, "B Q C"]:
    """q(z | state) ∝ p(z | state) e^{evidence}; factorised: one q(z), Q = 1."""
    if factorised:
        return jax.nn.softmax(mean_log_proba(states) + evidence, axis=1)[:, None, :]
    return jax.nn.softmax(states.log_proba + evidence[:, None, :], axis=2)


def label_proba(
    states: States, evidence: Float[Array, "B C"], factorised: bool
) -> Float[Array, "B C"]:
    """q(z) = Σ_s w_s q(z | s)."""
    given = proba_by_state(states, evidence, factorised)
    return (states.weight[:, :, None] * given).sum(1)


def label_terms(
    states: States, evidence: Float[Array, "B C"], factorised: bool
) -> LabelTerms:
    """Return E log p(y | z, R), E log p(z | f) and the entropy of q(z | f).

    They sum to `best_bound`. A class that is ruled out (evidence −∞) adds nothing.
    """
    given = proba_by_state(states, evidence, factorised)
    weight = states.weight[:, :, None]
    possible = jnp.where(jnp.isfinite(evidence), evidence, 0)[:, None, :]
    return LabelTerms(
        labels=(weight * given * possible).sum((1, 2)),
        features=(weight * given * states.log_proba).sum((1, 2)),
        entropy=-(weight * xlogy(given, given)).sum((1, 2)),
    )


def agreement(
    states: States, evidence: Float[Array, "B C"], factorised: bool
) -> Float[Array, " B"]:
    """q(z is the class whose f is the largest); robust max only, where states = C."""
    given = proba_by_state(states, evidence, factorised)
    same = jnp.diagonal(given, axis1=1, axis2=2) if given.shape[1] > 1 else given[:, 0]
    return (states.weight * same).sum(1)
