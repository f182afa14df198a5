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
from wisecrowd.fit.witness import (
    FROM_NOTHING,
    N_CALIBRATION,
    Heard,
    best_sharpness,
    explained,
    exponent_for,
)
from wisecrowd.maths import crowd, dirichlet, gold_ruler
from wisecrowd.maths.hard_items import FinalLabels
from wisecrowd.metrics.calibration import Calibration, calibration
from wisecrowd.skills import ConfusionMatrices

SHARED = 0.35  # correlation of mistakes of the crowd and of features that explain all
LEAST_TRUST = 1e-3  # in an exponent: its logarithm stays finite
LEAST_PROBA = 1e-30  # of the answers under a class, for the same reason


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

    def of_items(self, items: Int[np.ndarray, " n"]) -> "Known":
        """Return what is known of some items."""
        return self._replace(
            answers=self.answers.of_items(items),
            gold=self.gold[items],
            proba=self.proba[items],
            beyond=self.beyond[items],
        )

    @property
    def trust(self) -> float:
        """The root of the share of the classes' entropy that the features explain.

        Weak features are no independent witness: what they predict is often what the
        crowd gets wrong. On two real crowds, labels are best if features count this
        much, and with features that explain everything nothing is lost.
        """
        if not self.beyond.any():  # no features: exactly 0
            return 0.0
        share = explained(self.log_class + self.sharpness * self.beyond)
        return float(share**0.5)

    @property
    def shared(self) -> float:
        """The correlation of the crowd's mistakes with those of the features."""
        return SHARED * self.trust

    @property
    def exponent(self) -> float:
        """The exponent of what the features say, in the final labels."""
        return self.sharpness * max(self.trust, LEAST_TRUST) / (1 + self.shared)


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
        rng = np.random.RandomState(0)
        if known.beyond.any():  # predictions were given
            _, end = ended_with_features(known, skills, dependence, rng, FROM_NOTHING)
        else:
            end = ended(known, skills, dependence, rng)
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

    Gold sets the dependence, the share of hard items and the exponent of what the
    features say, unless the user has set the `dependence`.
    """
    answers, log_class = known.answers, known.log_class
    exponent, shared = known.exponent, known.shared
    if dependence == 0:  # all witnesses are independent
        exponent, shared = known.sharpness, 0.0
    skills = skills.with_dependence(dependence).with_shared(shared)
    if dependence == "learn":
        log_prior = log_class + exponent * known.beyond
        skills = skills.with_learned_dependence(answers, log_prior, rng)
    skills = skills.with_learned_hard_share(answers, log_class, known.proba)
    honest = None
    if (known.gold >= 0).any():
        ruler = ruler_of(known, skills, rng)
        dials = gold_ruler.Dials(skills.dependence, skills.hard_share, exponent)
        if dependence == "learn":
            predicted = gold_ruler.cross_fitted(ruler, dials)
            dials = gold_ruler.measured(ruler, dials)
            skills, exponent = skills.with_dials(dials), dials.sharpness
        else:
            predicted = gold_ruler.predicted(ruler, dials)
        honest = calibration(ruler.gold, predicted)
    labels = skills.final_labels(
        answers, log_class, known.gold, known.proba, exponent * known.beyond
    )
    return Ended(labels, skills, honest)


def ended_with_features(
    known: Known,
    skills: ConfusionMatrices,
    dependence: float | int | str,
    rng: np.random.RandomState,
    bounds: tuple[float, float],
) -> tuple[Known, Ended]:
    """Label, learn the skills and the sharpness from these labels, and label again.

    Returns what the labels were made from in the end, and the labels. If annotators
    are independent, nothing is to be learned again.
    """
    end = ended(known, skills, dependence, rng)
    if dependence == 0:
        return known, end
    proba, skills = learned_again(known, known, end)
    known = known_again(known, proba, skills, known.beyond, rng, bounds)
    return known, ended(known, skills, dependence, rng)


def learned_again(
    first: Known, known: Known, end: Ended
) -> tuple[Float[np.ndarray, "N C"], ConfusionMatrices]:
    """Return labels and skills to learn a classifier from once more.

    The skills were learned from labels that take the answers as independent. Where
    annotators err together, such labels repeat their mistakes, and the skills are too
    high. The final labels are discounted for that and use the features, so skills and
    classifier are learned from them again. Without good features this would only make
    the labels less certain: answers alone cannot show that they are wrong together. So
    the final labels have the weight of the `trust` in the features, and the `first`
    ones the rest.
    """
    proba = known.trust * end.proba + (1 - known.trust) * first.proba
    return proba, end.skills.learned_from(known.answers, proba)


def known_again(
    known: Known,
    proba: Float[np.ndarray, "N C"],
    skills: ConfusionMatrices,
    beyond: Float[np.ndarray, "N C"],
    rng: np.random.RandomState,
    bounds: tuple[float, float],
) -> Known:
    """Return what is known once skills, and perhaps a classifier, were learned again.

    Parameters
    ----------
    known : Known
        What was known before.
    proba, skills
        The labels that they were learned from, and the skills.
    beyond : array (N, C)
        What the features say beyond the shares, in logs, without the item's own
        answers.
    rng : RandomState
        Chooses the items that the sharpness is fitted to.
    bounds : pair of floats
        Lowest and highest logarithm of the sharpness.
    """
    log_class = np.log(dirichlet.mean(class_counts(proba, CLASS_PRIOR)))
    known = known._replace(proba=proba, log_class=log_class[None], beyond=beyond)
    part = known.of_items(np.sort(rng.permutation(len(proba))[:N_CALIBRATION]))
    said = discounted_evidence(part, skills)
    sharpness = best_sharpness(part.beyond, log_class, said, rng, bounds)
    return known._replace(sharpness=sharpness)


def discounted_evidence(
    known: Known, skills: ConfusionMatrices
) -> Float[np.ndarray, "N C"]:
    """Return what the answers say about every item, as the final labels take them.

    log p(answers | class) up to a constant per item: dependent answers, hard items, the
    item's own part in the skills left out. Gold rules out all else.
    """
    nothing = np.zeros_like(known.log_class)
    alone = skills.with_shared(0.0)
    given = alone.final_labels(known.answers, nothing, known.gold, known.proba).proba
    return crowd.clamped(np.log(np.maximum(given, LEAST_PROBA)), known.gold)


def exponents_for_labels(
    known: Known, end: Ended, alone: Float[np.ndarray, "N C"]
) -> tuple[float, float]:
    """Return the exponents of predictions that suit two kinds of labels.

    `alone` are the predictions without the item's label, in logs. The final labels are
    made with them, so they make predictions look better than they are. Labels from the
    answers alone are too uncertain, and make predictions look worse.
    """
    some = np.random.RandomState(0).permutation(len(alone))[:N_CALIBRATION]
    some = np.sort(some)
    part, skills = known.of_items(some), end.skills.with_shared(0.0)
    without = skills.final_labels(part.answers, part.log_class, part.gold, part.proba)
    first, second = (
        exponent_for(alone[some], p) for p in (end.proba[some], without.proba)
    )
    return first, second


def set_by_gold(
    exponent: float, known: Known, end: Ended, alone: Float[np.ndarray, "N C"]
) -> float:
    """Return the exponent of predictions, corrected where there is gold."""
    at = known.gold >= 0
    if end.calibration is None or not at.any():
        return exponent
    return gold_ruler.measured_exponent(alone[at], known.gold[at], exponent)


def with_predictions(
    proba: Float[np.ndarray, "N C"],
    known: Known,
    exponent: float,
    alone: Float[np.ndarray, "N C"],
) -> Float[np.ndarray, "N C"]:
    """Return the labels, with items that nobody answered predicted like new items."""
    new = (known.answers.n_per_item == 0) & (known.gold < 0)
    return np.where(new[:, None], crowd.posterior(exponent * alone)[0], proba)


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
        skills.shared,
    )
