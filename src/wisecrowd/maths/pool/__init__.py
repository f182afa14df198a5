"""The pool: labels made in one place, from what each witness says about an item.

Witnesses are the answers, read in two ways (confusion matrices under two priors, each
item's own part left out), the plain votes, the predictions of a classifier that has
not seen the item's answers, and gold. How much each counts is one small record,
:class:`Pool`. The log-probability of class c of an item with n answers is, up to a
constant,

    t [(1 − v) mean_m (log π_m[c] / √d̄ + Σ log R_m[a, c, y] / d(n)) + v log votes[c]]
      + x log features[c] + b[c] + Σ l[a] log R[a, c, y] / d(n),

with d(n) = 1 + ρ (n − 1), the design effect of survey statistics: n answers whose
mistakes have the correlation ρ carry as much information as n / d(n) independent ones,
never more than 1 / ρ. Without gold t = 1, b = 0 and l = 0.
"""

from wisecrowd.maths.pool.formula import (
    CLASS_PRIOR,
    bounded_log,
    evidence,
    labels,
    log_given,
    log_labels,
    log_votes,
    normalised,
    readings,
    readings_by,
    row_totals,
    said_by_crowd,
)
from wisecrowd.maths.pool.gold import (
    N_GOLD,
    cross_fitted,
    pool_with_gold,
    ruled,
    weighted_answers,
)
from wisecrowd.maths.pool.learn import (
    BESIDE,
    LOG_EXPONENT,
    N_LEARN,
    RATES,
    Signs,
    exponent_of_features,
    exponents_beside,
    fitted_exponent,
    learned_pool,
    left_out,
    likely_rates,
    n_several,
    signs_of,
)
from wisecrowd.maths.pool.method import (
    Pooled,
    beyond_shares,
    checked_dependence,
    exponent_for_new,
    labels_of_new,
    pooled,
    with_predictions,
    witnesses_of,
)
from wisecrowd.maths.pool.records import (
    DOUBTS,
    Doubts,
    Pool,
    Reading,
    Witnesses,
    design_effect,
)

__all__ = [  # of a method, and of tests
    "BESIDE",
    "CLASS_PRIOR",
    "DOUBTS",
    "LOG_EXPONENT",
    "N_GOLD",
    "N_LEARN",
    "RATES",
    "Doubts",
    "Pool",
    "Pooled",
    "Reading",
    "Signs",
    "Witnesses",
    "beyond_shares",
    "bounded_log",
    "checked_dependence",
    "cross_fitted",
    "design_effect",
    "evidence",
    "exponent_for_new",
    "exponent_of_features",
    "exponents_beside",
    "fitted_exponent",
    "labels",
    "labels_of_new",
    "learned_pool",
    "left_out",
    "likely_rates",
    "log_given",
    "log_labels",
    "log_votes",
    "n_several",
    "normalised",
    "pool_with_gold",
    "pooled",
    "readings",
    "readings_by",
    "row_totals",
    "ruled",
    "said_by_crowd",
    "signs_of",
    "weighted_answers",
    "with_predictions",
    "witnesses_of",
]  # fmt: skip
