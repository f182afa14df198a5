"""The loop that VGPCR, RFFGPCR and VFFGPCR share: q(Z) q(R) q(f), ξ and the kernel.

Every step maximises one bound with the rest fixed, so the bound never falls. The kernel
and q(f) move together: for given q(Z) and ξ, the best q(f) leaves log ∫ p(f) exp(sites)
df of the bound, and the kernel climbs that.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize

from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, jaakkola
from wisecrowd.maths.jaakkola import Latent, Sites
from wisecrowd.skills import ConfusionMatrices

WARM_UP = 5
"""First iterations, in which the kernel stays: votes alone would make it overfit."""
FARTHEST = 1.0  # that a logarithm of the kernel may move in one iteration
LARGEST_VARIANCE, LARGEST_SCALE = 1e3, 1e2  # relative to the start, and one over them

Evaluate: TypeAlias = Callable[[Array, Sites], Latent]
"""From the parameters of the kernel and the sites to the best q(f)."""


class State(NamedTuple):
    """Where the loop stands; `latent` is None before the first iteration."""

    proba: Float[np.ndarray, "N 2"]
    xi: Float[np.ndarray, " N"]
    theta: Float[np.ndarray, " P"]
    latent: Latent | None
    number: int


class Climb(NamedTuple):
    """How the kernel moves: which parameters, how far in all, how many steps."""

    free: Int[np.ndarray, " Q"]  # positions of the parameters that are learned
    low: Float[np.ndarray, " P"]
    high: Float[np.ndarray, " P"]
    n_steps: int


def better_kernel(
    evaluate: Evaluate, theta: Float[np.ndarray, " P"], sites: Sites, climb: Climb
) -> tuple[Float[np.ndarray, " P"], Latent]:
    """Climb by a few steps of L-BFGS, no farther than `FARTHEST`; it never falls."""
    best = [theta, evaluate(theta, sites)]
    n_items = len(sites.shift)
    first = theta[climb.free], best[1]

    def loss(some: Array) -> tuple[float, Array]:
        full = theta.copy()
        full[climb.free] = some
        found = first[1] if (some == first[0]).all() else evaluate(full, sites)
        if found.value > best[1].value:
            best[:] = full, found
        return -found.value / n_items, -found.slope[climb.free] / n_items

    if len(climb.free):
        low = np.maximum(climb.low, theta - FARTHEST)[climb.free]
        high = np.minimum(climb.high, theta + FARTHEST)[climb.free]
        minimize(
            loss,
            np.clip(first[0], low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=np.stack([low, high], axis=1),
            options={"maxiter": climb.n_steps, "maxfun": 3 * climb.n_steps},
        )
    return best[0], best[1]


def updated(
    state: State,
    answers: Answers,
    before: ConfusionMatrices,
    gold: Int[np.ndarray, " N"],
    evaluate: Evaluate,
    climb: Climb,
) -> tuple[State, dict[str, float]]:
    """Return the next state (annotators, kernel with q(f), ξ, classes) and the bound."""
    skills = before.learned_from(answers, state.proba)
    sites = jaakkola.sites(state.proba, state.xi)
    if state.number < WARM_UP:
        climb = climb._replace(free=climb.free[:0])
    theta, latent = better_kernel(evaluate, state.theta, sites, climb)
    xi = jaakkola.tangent_point(latent.mean, latent.var)
    evidence = skills.evidence(answers)
    log_class = jaakkola.log_classes(latent.mean, latent.var, xi)
    proba, _ = crowd.posterior(crowd.clamped(evidence + log_class, gold))
    terms = {
        "answers": float((proba * evidence).sum()),
        "classes": float((proba * log_class).sum()),
        "entropy": float(crowd.entropy(proba).sum()),
        "kl_process": latent.divergence,
        "kl_annotators": skills.divergence(),
    }
    bound = terms["answers"] + terms["classes"] + terms["entropy"]
    bound -= terms["kl_process"] + terms["kl_annotators"]
    state = State(proba, xi, theta, latent, state.number + 1)
    return state, {**terms, "bound": bound}
