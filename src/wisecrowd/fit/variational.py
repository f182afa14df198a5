"""Variational Bayes of a crowd without features: all of BCC, and SVGPCR's start.

π ~ Dir(1), R[a, c, :] ~ Dir(α[c, :]), with q(Z) q(R) q(π).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd.answers import Answers
from wisecrowd.fit.em import climb
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.skills import ConfusionMatrices


class Labelled(NamedTuple):
    """q(Z) of every item, and the skills that it was made with."""

    proba: Float[np.ndarray, "N C"]
    skills: ConfusionMatrices


def class_counts(proba: Float[np.ndarray, "N C"]) -> Float[np.ndarray, " C"]:
    """Return the concentrations of q(π): one answer per class, and the labels."""
    return 1.0 + proba.sum(0)


def combined(
    answers: Answers,
    skills: ConfusionMatrices,
    gold: Int[np.ndarray, " N"],
    *,
    trace: Trace,
    max_iter: int,
    tol: float | int | None,
    warn: bool = True,
) -> Labelled:
    """Alternate q(Z), q(R), q(π) and the prior until the bound gains less than `tol`.

    The start is the share of the votes.
    """
    flat = np.ones(answers.n_classes)

    def update(state: Labelled) -> tuple[Labelled, dict[str, float]]:
        skills = state.skills.learned_from(answers, state.proba)
        classes = class_counts(state.proba)
        evidence = skills.evidence(answers)
        log_class = dirichlet.mean_log(classes)
        proba, _ = crowd.posterior(crowd.clamped(evidence + log_class, gold))
        terms = {
            "answers": float((proba * evidence).sum()),
            "classes": float((proba @ log_class).sum()),
            "entropy": float(crowd.entropy(proba).sum()),
            "kl_classes": float(dirichlet.kl(classes, flat)),
            "kl_annotators": skills.divergence(),
            "log_hyperprior": skills.log_hyperprior(),
        }
        gained = terms["answers"] + terms["classes"] + terms["entropy"]
        lost = terms["kl_classes"] + terms["kl_annotators"] - terms["log_hyperprior"]
        return Labelled(proba, skills), {**terms, "bound": gained - lost}

    start = Labelled(crowd.vote_proba(answers.votes(), gold), skills)
    return climb(update, start, trace=trace, max_iter=max_iter, tol=tol, warn=warn)
