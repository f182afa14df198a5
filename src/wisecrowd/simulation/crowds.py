"""Crowds whose truth and whose confusion matrices are known.

A crowd is made in steps, each a function of its own: kinds of annotators
(:func:`draw_kinds`), their confusion matrices (:func:`draw_confusion`, or
:func:`.skills.paper_annotators`), features (:func:`draw_features`), and who answers
what (:func:`draw_answers`). :func:`simulate` does them all.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._checks import InputError, listed, one_of, vocabulary_values
from wisecrowd._types import Array, Confusion, Ids
from wisecrowd.annotations import Annotations
from wisecrowd.answers import Answers
from wisecrowd.simulation.annotators import Number, Seed, draw_confusion, draw_kinds
from wisecrowd.simulation.sampling import different_annotators, draw_rows
from wisecrowd.simulation.skill_by_features import with_slips

LOG_ACTIVITY_SPREAD = 2.0
"""Standard deviation of log activity: 5 % of the people give 60 % of the answers."""


@dataclass(frozen=True, eq=False, repr=False)
class Crowd:
    """Annotations with all that is usually hidden.

    Attributes
    ----------
    answers : Annotations
        What the crowd said; items and annotators are numbered.
    truth : int array of length N
        The true class of each item, a code.
    confusion : (A, C, K) array
        The true confusion matrices. Where skill depends on features, their mean.
    X : (N, D) float32 array or None
        Features.
    classes : array of length C
        The names of the classes.
    kinds : array of length A
        "skilled", "spammer", "adversary" or "specialist".
    """

    answers: Annotations
    truth: Int[np.ndarray, " N"]
    confusion: Confusion
    X: Float[np.ndarray, "N D"] | None
    classes: Array
    kinds: Array

    def __repr__(self) -> str:
        features = "no features" if self.X is None else f"{self.X.shape[1]} features"
        return f"Crowd({self.answers!r}, {features})"


def simulate(  # noqa: PLR0913  the settings of a crowd are its arguments
    n_items: int = 1000,
    n_annotators: int = 30,
    n_classes: int = 4,
    *,
    answers_per_item: Number = 5.0,
    n_answers: int | None = None,
    skill: Literal["beta", "dirichlet"] = "beta",
    accuracy: Number = 0.75,
    spammers: Number = 0.1,
    adversaries: Number = 0.0,
    specialists: Number = 0.0,
    cant_tell: Number = 0.0,
    activity: Any = "heavy",
    class_weights: Ids | None = None,
    classes: Ids | None = None,
    n_features: int = 0,
    n_clusters: int = 3,
    separation: Number = 4.0,
    skill_by_features: bool = False,
    repeats: bool = False,
    random_state: Seed = None,
) -> Crowd:
    """Draw a crowd, its items and its answers.

    Parameters
    ----------
    n_items, n_annotators, n_classes : int
        Sizes.
    answers_per_item : float
        Mean number of answers an item; items differ by one at most.
    n_answers : int, optional
        The exact total, instead of `answers_per_item`.
    skill : {"beta", "dirichlet"}
        One accuracy for all classes, or a row of the matrix drawn for each class.
    accuracy : float
        Mean accuracy of the skilled annotators.
    spammers, adversaries, specialists : float
        Their shares of the annotators; the others are skilled.
    cant_tell : float
        How often people say that they cannot tell, an answer more than classes.
    activity : {"heavy", "equal"} or array of length A
        Whether few people give most answers, or how active each is.
    class_weights : sequence of length C, optional
        How frequent the classes are. Default: all the same.
    classes : sequence of length C, optional
        Their names. Default: numbers.
    n_features, n_clusters, separation
        As in :func:`draw_features`; no features by default.
    skill_by_features : bool
        Whether people attend to an item or guess depending on its features.
    repeats : bool
        Whether a person may answer an item more than once.
    random_state : int or Generator
        Where the random numbers come from.

    Examples
    --------
    >>> crowd = simulate(50, 7, 3, answers_per_item=4, n_features=2, random_state=0)
    >>> crowd
    Crowd(Annotations(50 items, 7 annotators, 3 classes, 200 answers; 4.0 per item),
    2 features)
    >>> crowd.truth.shape, crowd.confusion.shape, crowd.X.shape
    ((50,), (7, 3, 3), (50, 2))
    """
    if skill_by_features and not n_features:
        raise InputError("skill_by_features=True needs features: pass n_features=2.")
    for_truth, for_crowd, for_x, for_answers, for_slips = _generators(random_state, 5)
    truth = draw_truth(
        n_items, n_classes, class_weights=class_weights, random_state=for_truth
    )
    kinds = draw_kinds(
        n_annotators,
        spammers=spammers,
        adversaries=adversaries,
        specialists=specialists,
        random_state=for_crowd,
    )
    confusion = draw_confusion(
        kinds,
        n_classes,
        skill=skill,
        accuracy=accuracy,
        cant_tell=cant_tell,
        random_state=for_crowd,
    )
    X = None
    if n_features:
        X = draw_features(
            truth,
            n_features,
            n_clusters=n_clusters,
            separation=separation,
            random_state=for_x,
        )
    answers = draw_answers(
        truth,
        confusion,
        answers_per_item=answers_per_item,
        n_answers=n_answers,
        activity=activity,
        classes=classes,
        repeats=repeats,
        random_state=for_answers,
    )
    if X is not None and skill_by_features:
        answers, confusion = with_slips(answers, confusion, truth, X, for_slips)
    return Crowd(answers, truth, confusion, X, answers.classes, kinds)


# -- items -------------------------------------------------------------------------


def draw_truth(
    n_items: int,
    n_classes: int,
    *,
    class_weights: Ids | None = None,
    random_state: Seed = None,
) -> Int[np.ndarray, " N"]:
    """Return the code of a class for each item, by `class_weights` or all the same.

    Examples
    --------
    >>> draw_truth(4, 2, class_weights=[0, 1]).tolist()
    [1, 1, 1, 1]
    """
    given = np.ones(n_classes) if class_weights is None else class_weights
    weights = np.asarray(given, dtype=float)
    if weights.shape != (n_classes,):
        raise InputError(f"class_weights needs {n_classes} entries: {weights.shape}.")
    if n_items < 1:
        raise InputError(f"a crowd needs at least one item, not {n_items}.")
    share = _shares(weights, "class_weights")
    return np.random.default_rng(random_state).choice(n_classes, n_items, p=share)


def draw_features(
    truth: Int[np.ndarray, " N"],
    n_features: int,
    *,
    n_clusters: int = 3,
    separation: Number = 4.0,
    random_state: Seed = None,
) -> Float[np.ndarray, "N D"]:
    """Return points of Gaussian clusters, several a class.

    Parameters
    ----------
    truth : int array of length N
        The class of each item.
    n_features : int
        D.
    n_clusters : int
        Clusters of each class.
    separation : float
        Root mean square distance between two centres, in standard deviations of a
        cluster: at 4 two clusters overlap by about 2 %, at 0 the features say nothing.
    random_state : int or Generator
        Where the random numbers come from.

    Examples
    --------
    >>> draw_features(np.array([0, 1, 1]), 2, random_state=0).shape
    (3, 2)
    """
    rng = np.random.default_rng(random_state)
    n_classes = int(truth.max(initial=0)) + 1
    centres = rng.standard_normal((n_classes, n_clusters, n_features), np.float32)
    centres *= np.float32(separation / np.sqrt(2 * n_features))
    X = rng.standard_normal((len(truth), n_features), np.float32)
    X += centres[truth, rng.integers(n_clusters, size=len(truth))]
    return X


# -- answers -----------------------------------------------------------------------


def draw_answers(
    truth: Int[np.ndarray, " N"],
    confusion: Confusion,
    *,
    answers_per_item: Number | None = None,
    n_answers: int | None = None,
    activity: Any = "equal",
    classes: Ids | None = None,
    repeats: bool = False,
    random_state: Seed = None,
) -> Annotations:
    """Return what annotators with these confusion matrices say about these items.

    Parameters
    ----------
    truth : int array of length N
        The class of each item, a code.
    confusion : (A, C, K) array
        K is C, or C + 1 where there is an answer "can't tell".
    answers_per_item : float, optional
        Mean number of answers an item; items differ by one at most. Default: every
        annotator answers every item.
    n_answers : int, optional
        The exact total, instead.
    activity : {"equal", "heavy"} or array of length A
        How active each annotator is: the next answer of an item comes from one of
        those who have not answered it yet, with probability in proportion.
    classes : sequence of length C, optional
        Names of the classes. Default: numbers. The answer beyond the classes is
        "can't tell" where they are text, else the number C.
    repeats : bool
        Whether a person may answer an item more than once.
    random_state : int or Generator
        Where the random numbers come from.

    Examples
    --------
    >>> from wisecrowd.simulation.annotators import paper_annotators
    >>> confusion = paper_annotators(3, 0)
    >>> draw_answers(np.array([0, 2]), confusion, random_state=0)
    Annotations(2 items, 5 annotators, 3 classes, 10 answers; 5.0 per item)
    """
    for_activity, for_pairs, for_answers = _generators(random_state, 3)
    n_annotators, n_items = len(confusion), len(truth)
    if n_answers is None:
        mean = n_annotators if answers_per_item is None else answers_per_item
        if not 0 < mean < np.inf:
            raise InputError(f"answers_per_item={mean} must be a number above 0.")
        n_answers = round(mean * n_items)
    n_of_item = _answers_of_items(n_answers, n_items, for_pairs)
    weights = _activity(activity, n_annotators, for_activity)
    item = np.repeat(np.arange(n_items), n_of_item)
    if repeats:
        annotator = for_pairs.choice(n_annotators, len(item), p=weights)
    else:
        annotator = different_annotators(item, n_of_item, weights, for_pairs)
    answer = draw_rows(confusion, annotator, truth[item], for_answers)
    names = _answer_names(classes, *confusion.shape[1:])
    return Annotations(
        items=np.arange(n_items),
        annotators=np.arange(n_annotators),
        answers=names,
        codes=Answers.from_codes(item, annotator, answer, (n_items, *confusion.shape)),
        gold_codes=np.full(n_items, -1, dtype=np.int32),
    )


def _answers_of_items(
    n_answers: int, n_items: int, rng: np.random.Generator
) -> Int[Array, " N"]:
    """Return how many answers each item gets: as even as can be, the rest by lot."""
    if n_answers < 1 or n_items < 1:
        raise InputError(
            f"there must be items and answers; n_answers={n_answers}, items: {n_items}."
        )
    each, rest = divmod(n_answers, n_items)
    counts = np.full(n_items, each)
    counts[rng.choice(n_items, rest, replace=False)] += 1
    return counts


def _activity(
    activity: Any, n_annotators: int, rng: np.random.Generator
) -> Float[Array, " A"]:
    if isinstance(activity, str):
        one_of(activity, ("equal", "heavy"), "activity")
        spread = LOG_ACTIVITY_SPREAD if activity == "heavy" else 0.0
        weights = np.exp(spread * rng.standard_normal(n_annotators))
    else:
        weights = np.asarray(activity, dtype=float)
    if weights.shape != (n_annotators,):
        raise InputError(
            f"activity is 'equal', 'heavy' or {n_annotators} numbers, one an "
            f"annotator; its shape is {weights.shape}."
        )
    return _shares(weights, "activity")


def _answer_names(classes: Ids | None, n_classes: int, n_answers: int) -> Array:
    given = np.arange(n_classes) if classes is None else classes
    names = vocabulary_values(given, "class")
    if len(names) != n_classes or n_answers - n_classes not in (0, 1):
        raise InputError(
            f"{len(names)} names of classes do not fit confusion matrices with "
            f"{n_classes} classes and {n_answers} answers."
        )
    if n_answers == n_classes:
        return names
    extra: Any = "can't tell" if names.dtype.kind == "O" else n_classes
    return np.append(names, np.array([extra], dtype=names.dtype))


# -- small ones --------------------------------------------------------------------


def _generators(random_state: Seed, n: int) -> list[np.random.Generator]:
    return np.random.default_rng(random_state).spawn(n)


def _shares(weights: Float[Array, " S"], name: str) -> Float[Array, " S"]:
    """Return the weights over their sum."""
    if not ((weights >= 0).all() and 0 < weights.sum() < np.inf):
        raise InputError(
            f"{name} must be finite, not negative, and not all zero: "
            f"{listed(weights, 6)}."
        )
    return weights / weights.sum()
