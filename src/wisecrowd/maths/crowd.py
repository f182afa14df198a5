"""What all models of a crowd share: evidence of answers, soft counts, priors."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln

from wisecrowd._checks import InputError, listed, number, one_of
from wisecrowd._records import record
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import dirichlet

PriorSpec: TypeAlias = str | Mapping[Any, Any] | Any

LARGEST_SUM = 1e200  # of exp(log joint) over classes; far from where float64 ends
BLOCK = 5000  # items whose answers are held at a time, so that they fit into a cache
EVERY = slice(None)
SMALLEST_PRIOR, LARGEST_PRIOR = 1e-12, 1e12  # given pseudo-answers; beyond, NaN
SMALLEST_COUNT = 1e-9  # what rounding may leave of a count after its own item
HYPER_SHAPE = 0.3  # how strongly a learned prior is held where it is small
HITS, MISSES = 24.0, 34.0  # of the most probable prior: right, and wrong times C
FEW_CLASSES = 4  # up to which it is as strong as that
LEAST_HITS, LEAST_MISSES = 8.0, 1.0  # however many classes there are


def evidence_per_item(
    answers: Answers, log_confusion: Float[np.ndarray, "A C K"]
) -> Float[np.ndarray, "N C"]:
    """Σ over an item's answers of log R[a, c, y], for every class c."""
    n_classes = log_confusion.shape[1]
    return answers.matrix @ log_confusion.transpose(0, 2, 1).reshape(-1, n_classes)


def given_others(
    answers: Answers,
    counts: Float[np.ndarray, "A C K"],
    proba: Float[np.ndarray, "N C"] | None,
    rows: slice = EVERY,
    totals: Float[np.ndarray, "A C"] | None = None,
) -> Float[np.ndarray, "rows C"]:
    """p(y | z = c, the annotator's other items) of every answer, or of some rows.

    With q(R) integrated out, p(y) = (n[a, c, y] − q(c)) / (Σₖ n[a, c, k] − q(c)): the
    item's own contribution is removed from the counts before the item is labelled (the
    zeroth-order collapsed bound, CVB0). Otherwise an item confirms itself: a lone
    answer makes its annotator look right, and that makes the answer look certain.
    Without `proba` the items are new. `totals` are what the counts of a row are
    divided by, if not their sum.
    """
    item, annotator = answers.item[rows], answers.annotator[rows]
    own: Any = 0.0
    if proba is not None:
        own = proba[item] * answers.n_repeats[rows, None]
    totals = counts.sum(2) if totals is None else totals
    by_answer = counts.transpose(0, 2, 1).reshape(-1, counts.shape[1])  # [A * K, C]
    at = annotator.astype(np.int64) * answers.n_answers + answers.answer[rows]
    given = np.maximum(by_answer[at] - own, SMALLEST_COUNT)
    given /= np.maximum(totals[annotator] - own, SMALLEST_COUNT)
    return given


def soft_counts(
    answers: Answers, proba: Float[np.ndarray, "N C"]
) -> Float[np.ndarray, "A C K"]:
    """n[a, c, k] = Σ over a's answers k of q(z = c) of the answered item."""
    table = answers.transposed @ proba  # [A * K, C]
    return table.reshape(-1, answers.n_answers, proba.shape[1]).transpose(0, 2, 1)


def hit_variance(
    answers: Answers, proba: Float[np.ndarray, "N C"]
) -> Float[np.ndarray, " A"]:
    """Σ q (1 − q) over an annotator's answers, q = q(z = y): the variance of the hits.

    The number of right answers is uncertain, because the classes are.
    """
    right = answers.right_proba(proba)
    return np.bincount(
        answers.annotator, right * (1 - right), minlength=answers.n_annotators
    )


def n_compared(answers: Answers) -> Float[np.ndarray, " A"]:
    """Count each annotator's answers on items that somebody else answered too."""
    item, who = answers.item, answers.annotator
    others = np.zeros(answers.n_items, bool)
    first = np.full(answers.n_items, -1)
    first[item[::-1]] = who[::-1]
    others[item[who != first[item]]] = True
    return np.bincount(who, others[item], answers.n_annotators).astype(float)


def clamped(
    log_joint: Float[np.ndarray, "N C"], gold: Int[np.ndarray, " N"]
) -> Float[np.ndarray, "N C"]:
    """Rule out every class but the known one, where one is known (gold >= 0)."""
    known = np.flatnonzero(gold >= 0)
    if not len(known):
        return log_joint
    out = np.array(log_joint)
    out[known] = -np.inf
    out[known, gold[known]] = log_joint[known, gold[known]]
    return out


def posterior(
    log_joint: Float[np.ndarray, "N C"],
) -> tuple[Float[np.ndarray, "N C"], Float[np.ndarray, " N"]]:
    """q(z) ∝ exp(log_joint), and the log of what it was divided by.

    The largest entry of a row is taken out first only where exp would leave its range:
    finding it for every row costs more than all the rest.
    """
    with np.errstate(over="ignore"):
        proba = np.exp(log_joint)
    total = np.einsum("nc->n", proba)  # a quarter of the time of sum(1)
    shift = np.zeros(len(total))
    far = np.flatnonzero(~((total > 1 / LARGEST_SUM) & (total < LARGEST_SUM)))
    if len(far):
        shift[far] = log_joint[far].max(1)
        proba[far] = np.exp(log_joint[far] - shift[far, None])
        total[far] = proba[far].sum(1)
    proba /= total[:, None]
    return proba, shift + np.log(total)


def entropy(proba: Float[np.ndarray, "*rows C"]) -> Float[np.ndarray, "*rows"]:
    """−Σ q log q, with 0 log 0 = 0."""
    return np.asarray(-(proba * np.log(np.where(proba > 0, proba, 1.0))).sum(-1))


def vote_proba(
    votes: Float[np.ndarray, "N C"] | Int[np.ndarray, "N C"],
    gold: Int[np.ndarray, " N"],
) -> Float[np.ndarray, "N C"]:
    """Return the share of the votes for each class; uniform where nobody voted."""
    total = votes.sum(1, keepdims=True)
    even = np.full(votes.shape, 1 / votes.shape[1])
    share = np.divide(votes, total, out=even, where=total > 0)
    known = np.flatnonzero(gold >= 0)
    share[known] = 0.0
    share[known, gold[known]] = 1.0
    return share


# -- priors on the annotators ------------------------------------------------------


def diagonal_prior(
    n_classes: int, n_answers: int, hit: float, miss: float
) -> Float[np.ndarray, "C K"]:
    """`hit` pseudo-answers for the truth, `miss` spread over all other answers."""
    prior = np.full((n_classes, n_answers), miss / max(n_answers - 1, 1))
    np.fill_diagonal(prior, hit)
    return prior


def annotator_prior(
    spec: PriorSpec, annotators: Array, n_classes: int, n_answers: int
) -> Float[np.ndarray, "P C K"]:
    """Dirichlet concentrations from a setting; P is 1 (shared) or A.

    Parameters
    ----------
    spec : str, array or mapping
        "flat": one pseudo-answer everywhere. "diagonal": four on the truth, one
        spread over the rest. "learned": the same, as the start. An array (C, K) or
        (A, C, K). A mapping from annotators to (C, K) concentrations, such as the
        ``confusion_counts_`` of an earlier fit; the others get "diagonal".
    """
    if isinstance(spec, str):
        one_of(spec, ("flat", "diagonal", "learned"), "annotator_prior")
        if spec == "flat":
            return np.ones((1, n_classes, n_answers))
        return diagonal_prior(n_classes, n_answers, 4.0, 1.0)[None]
    if isinstance(spec, Mapping):
        return _prior_of_each(spec, annotators, n_classes, n_answers)
    prior = _checked_prior(np.asarray(spec, dtype=float), (n_classes, n_answers))
    if prior.ndim == 2:
        return prior[None]
    if len(prior) != len(annotators):
        raise InputError(
            f"annotator_prior has {len(prior)} tables for {len(annotators)} annotators."
        )
    return prior


def _prior_of_each(
    spec: Mapping[Any, Any], annotators: Array, n_classes: int, n_answers: int
) -> Float[np.ndarray, "A C K"]:
    unknown = set(spec) - set(annotators.tolist())
    if unknown:
        raise InputError(
            f"annotator_prior names {len(unknown)} annotators without an answer here: "
            f"{listed(sorted(unknown, key=str), 5)}. Leave them out."
        )
    prior = np.repeat(
        diagonal_prior(n_classes, n_answers, 4.0, 1.0)[None], len(annotators), 0
    )
    for a, name in enumerate(annotators.tolist()):
        if name in spec:
            prior[a] = _checked_prior(np.asarray(spec[name], float), prior.shape[1:])
    return prior


def _checked_prior(prior: Array, shape: tuple[int, int]) -> Array:
    if prior.shape[-2:] != shape or prior.ndim > 3:
        raise InputError(
            f"annotator_prior has shape {prior.shape}; expected (C, K) = {shape} "
            f"(true class, answer), or one such table for each annotator."
        )
    if not ((prior >= SMALLEST_PRIOR) & (prior <= LARGEST_PRIOR)).all():
        raise InputError(
            f"annotator_prior must be finite and above zero: from {SMALLEST_PRIOR:g} "
            f"to {LARGEST_PRIOR:g} pseudo-answers."
        )
    return prior


def check_pseudo_items(value: Any, name: str) -> None:
    """Refuse a setting that is no number of pseudo-items."""
    wanted = f"above 0 and at most {LARGEST_PRIOR:g}"
    number(value, name, wanted, lambda v: 0 < v <= LARGEST_PRIOR)


# -- a prior that the crowd learns -------------------------------------------------


@record
class Hyperprior(NamedTuple):
    """A Gamma on every concentration of the shared prior."""

    shape: Float[np.ndarray, "C K"]
    rate: Float[np.ndarray, "C K"]


def prior_hyper(n_classes: int, n_answers: int) -> Hyperprior:
    """Return the hyperprior of a learned prior.

    Its mode has `HITS` right pseudo-answers and `MISSES` / C wrong ones: with two
    classes it expects little more than guessing. With more than `FEW_CLASSES` classes
    both are multiplied by (`FEW_CLASSES` / C)², to no less than 8 and 1, because the
    answers of an annotator are then spread over many rows. Chosen on seven real crowds
    and on simulated small ones. A weaker one lets a crowd of few agree that one busy
    annotator is always right, and with fewer wrong ones small crowds are too sure. The
    `HYPER_SHAPE` keeps the many small concentrations of a crowd with many classes from
    vanishing.
    """
    weaker = min(1.0, (FEW_CLASSES / n_classes) ** 2)
    hits = max(LEAST_HITS, HITS * weaker)
    misses = max(LEAST_MISSES, MISSES * weaker / n_classes)
    mode = diagonal_prior(n_classes, n_answers, hits, misses)
    return Hyperprior(1 + HYPER_SHAPE + mode, 1 + HYPER_SHAPE / mode)


def updated_prior(
    counts: Float[np.ndarray, "A C K"],
    prior: Float[np.ndarray, "#A C K"],
    hyper: Hyperprior | None,
) -> Float[np.ndarray, "#A C K"]:
    """Return the prior after a few steps of empirical Bayes; as it is, if not learned.

    For fixed q(Z) the best q(R) leaves Σₐ log_evidence(nₐ, α) of the bound, so the
    prior climbs what is left when the annotators are integrated out.
    """
    if hyper is None:
        return prior
    return dirichlet.learned_prior(counts, prior[0], hyper.shape, hyper.rate)[None]


def log_hyperprior(
    prior: Float[np.ndarray, "#A C K"], hyper: Hyperprior | None
) -> float:
    """Return log p(α) of a prior that is learned; 0 for one that is given."""
    if hyper is None:
        return 0.0
    norm = (hyper.shape * np.log(hyper.rate) - gammaln(hyper.shape)).sum()
    return dirichlet.log_hyperprior(prior[0], *hyper) + float(norm)


def prior_and_hyper(
    spec: PriorSpec, annotators: Array, n_classes: int, n_answers: int
) -> tuple[Float[np.ndarray, "P C K"], Hyperprior | None]:
    """Return the prior to start with, and what holds it if it is to be learned."""
    prior = annotator_prior(spec, annotators, n_classes, n_answers)
    learned = isinstance(spec, str) and spec == "learned"
    return prior, prior_hyper(n_classes, n_answers) if learned else None
