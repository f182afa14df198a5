"""The end of every fit of a crowd: labels taken from what the others say.

BCC, Dawid-Skene and SVGPCR end in the same way. The dependence of the answers and the
share of hard items are learned from the answers, then corrected by gold where there is
some, and every item is labelled without its own part in the skills.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd.answers import Answers
from wisecrowd.fit.variational import CLASS_PRIOR, class_counts
from wisecrowd.fit.witness import Heard, best_sharpness, beyond_shares, explained
from wisecrowd.maths import crowd, dirichlet, gold_ruler
from wisecrowd.maths.hard_items import FinalLabels
from wisecrowd.metrics.calibration import Calibration, calibration
from wisecrowd.skills import ConfusionMatrices


class Known(NamedTuple):
    """What a fit knows when it ends.

    Attributes
    ----------
    answers : Answers
        The answers.
    gold : array (N,)
        Codes of the classes known for certain, -1 elsewhere.
    proba : array (N, C)
        The labels that the skills were learned from.
    log_class : array (1, C)
        Log of the shares of the classes.
    beyond : array (N, C)
        What the features say beyond the shares, in logs, without the item's own
        answers; 0 without features.
    sharpness : float
        The exponent of what the features say.
    """

    answers: Answers
    gold: Int[np.ndarray, " N"]
    proba: Float[np.ndarray, "N C"]
    log_class: Float[np.ndarray, "1 C"]
    beyond: Float[np.ndarray, "N C"]
    sharpness: float = 1.0

    @classmethod
    def of_answers(
        cls,
        answers: Answers,
        gold: Int[np.ndarray, " N"],
        proba: Float[np.ndarray, "N C"],
        class_prior: Float[np.ndarray, " C"],
    ) -> "Known":
        """Return what a method without features knows."""
        nothing = np.zeros_like(proba)
        return cls(answers, gold, proba, np.log(class_prior)[None], nothing)

    @classmethod
    def of_features(
        cls,
        answers: Answers,
        gold: Int[np.ndarray, " N"],
        beyond: Float[np.ndarray, "N C"],
        found: Heard,
    ) -> "Known":
        """Return what is known once the predictions were heard."""
        return cls(answers, gold, found.proba, found.log_class, beyond, found.sharpness)


class Ended(NamedTuple):
    """Labels and skills; how honest the labels are, where there is gold."""

    labels: FinalLabels
    skills: ConfusionMatrices
    calibration: Calibration | None = None

    @property
    def proba(self) -> Float[np.ndarray, "N C"]:
        """Return the probability of every class for every item."""
        return self.labels.proba


def finished(
    known: Known, skills: ConfusionMatrices, dependence: float | int | str | None
) -> Ended:
    """Return labels and skills of a method without features.

    With None as `dependence` the labels stay as they are: the published method.
    """
    if dependence is None:
        end = Ended(FinalLabels(known.proba, None), skills)
    else:
        end = ended(known, skills, dependence, np.random.RandomState(0))
        counts = crowd.soft_counts(known.answers, end.proba)
        end = end._replace(skills=end.skills.with_statistics(counts))
    return end._replace(skills=end.skills.with_doubt(known.answers, end.proba))


def ended(
    known: Known,
    skills: ConfusionMatrices,
    dependence: float | int | str,
    rng: np.random.RandomState,
) -> Ended:
    """Return the final labels, with the skills that they are made with.

    Gold sets the dependence, the share of hard items and the sharpness, unless the
    user has set the `dependence`.
    """
    answers, log_class = known.answers, known.log_class
    skills = skills.with_dependence(dependence)
    if dependence == "learn":
        log_prior = log_class + known.sharpness * known.beyond
        skills = skills.with_learned_dependence(answers, log_prior, rng)
    skills = skills.with_learned_hard_share(answers, log_class, known.proba)
    sharpness, honest = known.sharpness, None
    if (known.gold >= 0).any():
        ruler = ruler_of(known, skills, rng)
        dials = gold_ruler.Dials(skills.dependence, skills.hard_share, sharpness)
        if dependence == "learn":
            predicted = gold_ruler.cross_fitted(ruler, dials)
            dials = gold_ruler.measured(ruler, dials)
            skills, sharpness = skills.with_dials(dials), dials.sharpness
        else:
            predicted = gold_ruler.predicted(ruler, dials)
        honest = calibration(ruler.gold, predicted)
    labels = skills.final_labels(
        answers, log_class, known.gold, known.proba, sharpness * known.beyond
    )
    return Ended(labels, skills, honest)


def learned_again(
    first: Known, known: Known, end: Ended
) -> tuple[Float[np.ndarray, "N C"], ConfusionMatrices]:
    """Return labels and skills to learn a classifier from once more.

    The skills were learned from labels that take the answers as independent. Where
    annotators err together, such labels repeat their mistakes, and the skills are too
    high. The final labels are discounted for that and use the features, so skills and
    classifier are learned from them again. Without good features this would only make
    the labels less certain: answers alone cannot show that they are wrong together. So
    the final labels have the weight √s and the `first` ones the rest, where s is the
    share of the classes' entropy that the features explain.
    """
    weight = explained(known.log_class + known.sharpness * known.beyond) ** 0.5
    proba = weight * end.proba + (1 - weight) * first.proba
    return proba, end.skills.learned_from(known.answers, proba)


def known_again(
    known: Known,
    proba: Float[np.ndarray, "N C"],
    skills: ConfusionMatrices,
    alone: Float[np.ndarray, "N C"],
    rng: np.random.RandomState,
    bounds: tuple[float, float],
) -> Known:
    """Return what is known with the predictions of a classifier learned again.

    Parameters
    ----------
    known : Known
        What was known before.
    proba, skills
        The labels that the classifier was learned from, and their skills.
    alone : array (N, C)
        Log probability of the classes by the features, without the item's own answers.
    rng : RandomState
        Chooses the items that the sharpness is fitted to.
    bounds : pair of floats
        Lowest and highest logarithm of the sharpness.
    """
    beyond = beyond_shares(alone)
    log_class = np.log(dirichlet.mean(class_counts(proba, CLASS_PRIOR)))
    said = skills.evidence_of_others(known.answers, proba)
    said = crowd.clamped(said, known.gold)
    sharpness = best_sharpness(beyond, log_class, said, rng, bounds)
    return known._replace(
        proba=proba, log_class=log_class[None], beyond=beyond, sharpness=sharpness
    )


def ruler_of(
    known: Known, skills: ConfusionMatrices, rng: np.random.RandomState
) -> gold_ruler.Ruler:
    """Return the items with gold, each with its own part in the skills left out."""
    items = rng.permutation(np.flatnonzero(known.gold >= 0))[: gold_ruler.N_GOLD]
    items = np.sort(items)
    part = known.answers.of_items(items)
    return gold_ruler.Ruler(
        part,
        crowd.given_others(part, skills.counts, known.proba[items]),
        known.log_class,
        known.beyond[items],
        known.gold[items],
    )
