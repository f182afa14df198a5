"""Variational Bayes of a crowd without features: SVGPCR's start, and all of BCC."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd.fit.em import climb
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, dirichlet


class Combined(NamedTuple):
    """q(Z), and the prior that the annotators share."""

    proba: Float[np.ndarray, "N C"]
    prior: Float[np.ndarray, "P C K"]


def combine(
    answers: crowd.AnswerMatrix,
    start: Combined,
    gold: Int[np.ndarray, " N"],
    hyper: crowd.Hyperprior | None,
    *,
    trace: Trace,
    max_iter: int,
    tol: float | None,
) -> Combined:
    """Alternate q(Z), q(R), q(π) and the prior until the bound stands still.

    π ~ Dir(1), R[a, c, :] ~ Dir(α[c, :]); α is learned where there is a `hyper`.
    """
    n_answers = start.prior.shape[2]
    flat = np.ones(start.proba.shape[1])

    def update(state: Combined) -> tuple[Combined, dict[str, float]]:
        counts = crowd.soft_counts(answers, state.proba, n_answers)
        prior = crowd.updated_prior(counts, state.prior, hyper)
        classes = flat + state.proba.sum(0)
        evidence = crowd.evidence_per_item(answers, dirichlet.mean_log(prior + counts))
        log_class = dirichlet.mean_log(classes)
        proba, _ = crowd.posterior(crowd.clamped(evidence + log_class, gold))
        terms = {
            "labels": float((proba * evidence).sum()),
            "classes": float((proba @ log_class).sum()),
            "entropy": float(crowd.entropy(proba).sum()),
            "kl_classes": float(dirichlet.kl(classes, flat)),
            "kl_annotators": crowd.annotators_kl(prior + counts, prior, hyper),
        }
        bound = terms["labels"] + terms["classes"] + terms["entropy"]
        bound -= terms["kl_classes"] + terms["kl_annotators"]
        return Combined(proba, prior), {**terms, "bound": bound}

    return climb(update, start, trace=trace, max_iter=max_iter, tol=tol)
