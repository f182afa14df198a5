"""The loop that VGPCR, RFFGPCR and VFFGPCR share: q(Z) q(R) q(f), ξ and the kernel.

Every step maximises one bound with the rest fixed, so the bound never falls. The kernel
and q(f) move together: for given q(Z) and ξ, the best q(f) leaves log ∫ p(f) exp(sites)
df of the bound, and the kernel climbs that.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import Bounds, minimize

from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, jaakkola
from wisecrowd.maths.jaakkola import Latent, Sites
from wisecrowd.skills import ConfusionMatrices

WARM_UP = 5
"""Iterations before the kernel moves: the votes alone would make it overfit."""
SCALES = (2.0, 1.0, 0.5, 0.25)
"""Length-scales to start with for "auto", in units of √D. Far from the best one the
bound is flat: on a checkerboard, a start with 1 never arrives."""
FARTHEST = 1.0  # that a logarithm of the kernel may move in one iteration
LARGEST_VARIANCE, LARGEST_SCALE = 1e3, 1e2  # relative to the start, and one over them

Evaluate: TypeAlias = Callable[[Array, Sites], Latent]
"""From the parameters of the kernel and the sites to the best q(f)."""
Update: TypeAlias = Callable[["State"], tuple["State", dict[str, float]]]
"""From a state to the next one and the terms of the bound."""


class State(NamedTuple):
    """Where the loop stands; `latent` is None before the first update."""

    proba: Float[np.ndarray, "N 2"]
    xi: Float[np.ndarray, " N"]
    theta: Float[np.ndarray, " P"]
    latent: Latent | None


class Climb(NamedTuple):
    """How the kernel moves: which parameters, how far in all, in how many steps."""

    free: Int[np.ndarray, " Q"]  # positions of the parameters that are learned
    low: Float[np.ndarray, " P"]
    high: Float[np.ndarray, " P"]
    n_steps: int


def better_kernel(
    evaluate: Evaluate, theta: Float[np.ndarray, " P"], sites: Sites, climb: Climb
) -> tuple[Float[np.ndarray, " P"], Latent]:
    """Climb by a few steps of L-BFGS, no farther than `FARTHEST`; it never falls."""
    start = theta[climb.free]
    at_start = best = evaluate(theta, sites)
    best_theta, n_items = theta, len(sites.shift)

    def loss(some: Array) -> tuple[float, Array]:
        nonlocal best, best_theta
        at = theta.copy()
        at[climb.free] = some
        # The first point that is asked for is the start, which is known.
        found = at_start if (some == start).all() else evaluate(at, sites)
        if found.value > best.value:
            best, best_theta = found, at
        return -found.value / n_items, -found.slope[climb.free] / n_items

    if len(climb.free):
        low = np.maximum(climb.low, theta - FARTHEST)[climb.free]
        high = np.minimum(climb.high, theta + FARTHEST)[climb.free]
        minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            options={"maxiter": climb.n_steps, "maxfun": 3 * climb.n_steps},
        )
    return best_theta, best


def updated(
    state: State,
    answers: Answers,
    before: ConfusionMatrices,
    gold: Int[np.ndarray, " N"],
    evaluate: Evaluate,
    climb: Climb,
) -> tuple[State, dict[str, float]]:
    """Update annotators, kernel with q(f), ξ and classes; return the bound in terms."""
    skills = before.learned_from(answers, state.proba)
    sites = jaakkola.sites(state.proba, state.xi)
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
    state = State(proba, xi, theta, latent)
    return state, {**terms, "bound": bound}


def warmed_up(update: Update, starts: Sequence[State]) -> State:
    """Return the start with the highest bound after `WARM_UP` updates."""
    best, best_bound = starts[0], -np.inf
    for start in starts:
        state = start
        for _ in range(WARM_UP):
            state, terms = update(state)
        if terms["bound"] > best_bound:  # no other is kept: its factor is large
            best, best_bound = state, terms["bound"]
    return best
