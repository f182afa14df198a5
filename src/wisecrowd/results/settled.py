"""Which items are settled, and which need more answers."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from wisecrowd._checks import number
from wisecrowd.maths.pool import DOUBTS

SETTLED_AT = 0.02
"""Share of the settled items whose label may be expected to be wrong."""

LEAST = 0.8
"""No label is called settled that is wrong more than one time in five, however certain
the others are."""


def check_limit(at: float | int) -> None:
    """Refuse a limit that is not a share; a command asks before a long fit."""
    number(at, "settled_at", "a share, from 0 to 1", lambda v: 0 <= v <= 1)


def settled(
    probability: Float[np.ndarray, " N"], at: float | int = SETTLED_AT
) -> Bool[np.ndarray, " N"]:
    """Return which labels are settled.

    The most certain labels, as many as have a mean of 1 − p of at most `at`: this is
    the share of them that is expected to be wrong. Labels that are known (p = 1) are
    settled, and the others must keep the limit without them. Items with the same p are
    settled together or not at all. No label is settled whose own p is below
    `LEAST`, or below 1 − `at` if that is smaller.

    Examples
    --------
    >>> settled(np.array([0.99, 0.6, 0.98, 1.0, 0.97]), at=0.02).tolist()
    [True, False, True, True, True]
    """
    check_limit(at)
    known = probability >= 1
    possible = ~known & (probability >= min(LEAST, 1 - at))
    wrong = np.sort(1 - probability[possible])
    n_each = np.arange(1, len(wrong) + 1)
    n_kept = int((np.cumsum(wrong) <= at * n_each + 1e-9).sum())  # rounding
    if n_kept < len(wrong):
        n_kept = int(np.searchsorted(wrong, wrong[n_kept]))
    most = wrong[n_kept - 1] if n_kept else -1.0
    return known | (possible & (1 - probability <= most))


def expected_error(items: Any) -> float:
    """Return the share of the settled labels that is expected to be wrong."""
    chosen = items["probability"][items["settled"]]
    return float((1 - chosen).mean()) if len(chosen) else 0.0


def expected_error_high(items: Any) -> float:
    """Return the same share if the probabilities are too high.

    Mistakes that all annotators share cannot be seen in their answers, and then the
    probabilities are too high. This is the mean of 1 − pᵗ / Σ pᵗ, with log t one
    standard deviation below 0: the pool's own doubt before gold.
    """
    chosen = items[items["settled"]]
    if chosen.empty:
        return 0.0
    proba = chosen[[name for name in items if name.startswith("p_")]].to_numpy()
    weaker = proba ** np.exp(-DOUBTS.gold)
    return float(1 - (weaker.max(1) / weaker.sum(1)).mean())
