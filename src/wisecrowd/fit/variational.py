"""Variational Bayes of a crowd without features: all of BCC, and SVGPCR's start.

π ~ Dir(class_prior), R[a, c, :] ~ Dir(α[c, :]), with q(Z) q(R) q(π).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.answers import Answers
from wisecrowd.fit.em import climb
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, dirichlet, pairs
from wisecrowd.maths.pool import CLASS_PRIOR
from wisecrowd.skills import ConfusionMatrices

START_TOL = 1e-7  # nats per answer, as BCC: on LabelMe less of it cost .012 of accuracy
MINKA_ITERATIONS = 3
"""First iterations in which the prior is learned by Minka's steps: Newton's go too far
when q(Z) is still that of the votes, and may lead to a worse optimum."""


Learn: TypeAlias = Callable[[pairs.Counts, Array, crowd.Hyperprior], Array]
"""From counts, prior and hyperprior to a better prior."""


class Labelled(NamedTuple):
    """q(Z) of every item, and the skills that follow from it."""

    proba: Float[np.ndarray, "N C"]
    skills: ConfusionMatrices


class Step(NamedTuple):
    """q(Z) of every item, the prior that it was made with, the bound, its number."""

    proba: Float[np.ndarray, "N C"]
    prior: Float[np.ndarray, "P C K"]
    bound: float
    number: int


def class_counts(
    proba: Float[np.ndarray, "N C"], class_prior: float
) -> Float[np.ndarray, " C"]:
    """Return the concentrations of q(π): those of the prior, and the labels."""
    return class_prior + proba.sum(0)


def of_answers_alone(
    annotations: Annotations, prior: crowd.PriorSpec, max_iter: int, class_prior: float
) -> Labelled:
    """Return BCC without a progress bar: where a classifier of a crowd begins."""
    answers = annotations.codes
    before = ConfusionMatrices.before_answers(
        prior, annotations.annotators, *answers.shape[2:]
    )
    with Trace("annotators", total=max_iter, show=False) as trace:
        alone = combined(
            answers,
            before,
            annotations.gold_codes,
            trace=trace,
            max_iter=max_iter,
            tol=START_TOL * len(answers),
            class_prior=class_prior,
            warn=False,
        )
    return alone._replace(skills=alone.skills.learned_from(answers, alone.proba))


def combined(
    answers: Answers,
    skills: ConfusionMatrices,
    gold: Int[np.ndarray, " N"],
    *,
    trace: Trace,
    max_iter: int,
    tol: float | int | None,
    class_prior: float = CLASS_PRIOR,
    warn: bool = True,
) -> Labelled:
    """Alternate q(Z), q(R), q(π) and the prior until the bound gains less than `tol`.

    The start is the share of the votes.
    """
    before = np.full(answers.n_classes, class_prior)
    hyper = skills.hyper
    seen = pairs.pairs_of(answers, shared_prior=len(skills.prior) == 1)

    def step(last: Step, learn: Learn) -> tuple[Step, dict[str, float]]:
        n = pairs.counts(seen, last.proba)
        prior = last.prior if hyper is None else learn(n, last.prior, hyper)
        classes = class_counts(last.proba, class_prior)
        evidence, divergence = pairs.evidence_and_divergence(seen, n, prior)
        log_class = dirichlet.mean_log(classes)
        joint = evidence + log_class
        proba, _ = crowd.posterior(crowd.clamped(joint, gold))
        terms = {
            "answers": float((proba * evidence).sum()),
            "classes": float((proba @ log_class).sum()),
            "entropy": float(crowd.entropy(proba).sum()),
            "kl_classes": float(dirichlet.kl(classes, before)),
            "kl_annotators": divergence,
            "log_hyperprior": crowd.log_hyperprior(prior, hyper),
        }
        gained = terms["answers"] + terms["classes"] + terms["entropy"]
        lost = terms["kl_classes"] + terms["kl_annotators"] - terms["log_hyperprior"]
        bound = gained - lost
        return Step(proba, prior, bound, last.number + 1), {**terms, "bound": bound}

    start = Step(crowd.vote_proba(answers.votes(), gold), skills.prior, -np.inf, 0)
    how = {"trace": trace, "max_iter": max_iter, "tol": tol, "warn": warn}
    end = climb_with_prior(step, start, learned=hyper is not None, **how)
    statistics = crowd.soft_counts(answers, end.proba)
    skills = replace(skills, prior=end.prior).with_statistics(statistics)
    return Labelled(end.proba, skills)


def climb_with_prior(
    step: Callable[[Any, Learn], Any], start: Any, *, learned: bool, **how: Any
) -> Any:
    """Climb by steps, where Newton's of the prior count if the bound does not fall.

    A step goes from a state with its bound and its number to the next one.
    """

    def update(last: Any) -> Any:
        if learned and last.number >= MINKA_ITERATIONS:
            found = step(last, pairs.after_newton)
            if found[0].bound >= last.bound:
                return found
        return step(last, pairs.after_minka)

    return climb(update, start, **how)
