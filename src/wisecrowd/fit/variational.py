"""Variational Bayes of a crowd without features: all of BCC, and SVGPCR's start.

π ~ Dir(class_prior), R[a, c, :] ~ Dir(α[c, :]), with q(Z) q(R) q(π).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd.answers import Answers
from wisecrowd.fit.em import climb
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.skills import ConfusionMatrices

CLASS_PRIOR = 10.0
"""Items of each class that are assumed before the answers. With one, as is usual, a
small crowd of weak annotators ends with nearly all items in one class, sure of it."""


class Labelled(NamedTuple):
    """q(Z) of every item, and the skills that it was made with."""

    proba: Float[np.ndarray, "N C"]
    skills: ConfusionMatrices


def class_counts(
    proba: Float[np.ndarray, "N C"], class_prior: float
) -> Float[np.ndarray, " C"]:
    """Return the concentrations of q(π): those of the prior, and the labels."""
    return class_prior + proba.sum(0)


def combined(  # noqa: PLR0913  its settings are its arguments
    answers: Answers,
    skills: ConfusionMatrices,
    gold: Int[np.ndarray, " N"],
    *,
    trace: Trace,
    max_iter: int,
    tol: float | int | None,
    class_prior: float = CLASS_PRIOR,
    warn: bool = True,
    beyond: Float[np.ndarray, "N C"] | None = None,
) -> Labelled:
    """Alternate q(Z), q(R), q(π) and the prior until the bound gains less than `tol`.

    The start is the share of the votes. With `beyond`, what a witness says about the
    class of every item, in logs, it is a factor exp(beyond) of the model; the bound
    then has the term ``predictions``.
    """
    before = np.full(answers.n_classes, class_prior)

    def update(state: Labelled) -> tuple[Labelled, dict[str, float]]:
        skills = state.skills.learned_from(answers, state.proba)
        classes = class_counts(state.proba, class_prior)
        evidence = skills.evidence(answers)
        log_class = dirichlet.mean_log(classes)
        joint = evidence + log_class
        if beyond is not None:
            joint += beyond
        proba, _ = crowd.posterior(crowd.clamped(joint, gold))
        terms = {
            "answers": float((proba * evidence).sum()),
            "classes": float((proba @ log_class).sum()),
            "entropy": float(crowd.entropy(proba).sum()),
            "kl_classes": float(dirichlet.kl(classes, before)),
            "kl_annotators": skills.divergence(),
            "log_hyperprior": skills.log_hyperprior(),
        }
        gained = terms["answers"] + terms["classes"] + terms["entropy"]
        if beyond is not None:
            terms["predictions"] = float((proba * beyond).sum())
            gained += terms["predictions"]
        lost = terms["kl_classes"] + terms["kl_annotators"] - terms["log_hyperprior"]
        return Labelled(proba, skills), {**terms, "bound": gained - lost}

    start = Labelled(crowd.vote_proba(answers.votes(), gold), skills)
    return climb(update, start, trace=trace, max_iter=max_iter, tol=tol, warn=warn)
