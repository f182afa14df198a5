"""Simulated crowds: the true classes and the confusion matrices are known.

A crowd is made in steps, each a function of its own: kinds of annotators
(:func:`.draw_kinds`), their confusion matrices (:func:`.draw_confusion`, or
:func:`.paper_annotators`), features (:func:`draw_features`), who answers what
(:func:`draw_answers`). Four more steps can make the answers dependent, or change them
with the features: hard items, guessing, groups, copying. :func:`simulate` does all.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from wisecrowd._checks import InputError, listed, one_of, vocabulary_values
from wisecrowd._types import Array, Confusion, Ids
from wisecrowd.annotations import Annotations
from wisecrowd.answers import Answers
from wisecrowd.simulation import repeated_answers as repeated
from wisecrowd.simulation.annotators import Number, Seed, draw_confusion, draw_kinds
from wisecrowd.simulation.hard_items import draw_hard_items, mean_confusion, misled
from wisecrowd.simulation.sampling import different_annotators, draw_rows
from wisecrowd.simulation.skill_by_features import with_guesses

LOG_ACTIVITY_SPREAD = 2.0
"""Deviation of log activity: 5 % of the annotators give 60 % of the answers."""
MOST_ANSWERS = 2**31 - 1
"""Answers are counted with 32 bits."""


@dataclass(frozen=True, eq=False, repr=False)
class Crowd:
    """Answers, with everything that is unknown in a real crowd.

    Attributes
    ----------
    answers : Annotations
        The answers; items and annotators are numbered.
    truth : int array of length N
        The true class of each item, a code.
    confusion : (A, C, K) array
        The true confusion matrices: p(answer | class) of each annotator. Where skill
        depends on the item or on other annotators, the mean over the items of the
        class.
    X : (N, D) float32 array or None
        Features.
    classes : array of length C
        The names of the classes.
    kinds : array of length A
        "skilled", "spammer", "adversary" or "specialist".
    difficulty : array of length N
        λ of each item, from 0 (easy) to 1: the probability that an annotator takes
        the item for its decoy.
    decoy : int array of length N
        The wrong class that a hard item resembles, a code; -1 for an easy item.
    group : int array of length A
        The group of each annotator, -1 for none.
    copier : bool array of length A
        Whether the annotator copies.
    copied_from : int array of length L
        For each answer, the annotator from whom it was copied; -1 if it was not.
    """

    answers: Annotations
    truth: Int[np.ndarray, " N"]
    confusion: Confusion
    X: Float[np.ndarray, "N D"] | None
    classes: Array
    kinds: Array
    difficulty: Float[np.ndarray, " N"]
    decoy: Int[np.ndarray, " N"]
    group: Int[np.ndarray, " A"]
    copier: Bool[np.ndarray, " A"]
    copied_from: Int[np.ndarray, " L"]

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
    difficulty: Any = 0.0,
    copiers: Number = 0.0,
    copy_probability: Number = 0.8,
    groups: Any = 0,
    group_slip: Number = 0.4,
    random_state: Seed = None,
) -> Crowd:
    """Draw a crowd, its items and its answers.

    By default annotators are independent given the class. `difficulty`, `copiers` and
    `groups` make them dependent, each in another way.

    Parameters
    ----------
    n_items, n_annotators, n_classes : int
        Sizes.
    answers_per_item : float
        Mean number of answers per item; the numbers of two items differ by one at
        most.
    n_answers : int, optional
        The exact total number of answers, instead of `answers_per_item`.
    skill : {"beta", "dirichlet"}
        One accuracy for all classes, or one random row of the matrix per class.
    accuracy : float
        Mean accuracy of the skilled annotators.
    spammers, adversaries, specialists : float
        Their shares of the annotators; the others are skilled.
    cant_tell : float
        Mean probability of the answer "can't tell", which is not a class.
    activity : {"heavy", "equal"} or array of length A
        "heavy": few annotators give most answers. "equal": all are equally active. An
        array: how active each annotator is.
    class_weights : sequence of length C, optional
        Relative frequencies of the classes. Default: all equal.
    classes : sequence of length C, optional
        Names of the classes. Default: numbers.
    n_features, n_clusters : int
        Number of features, none by default, and of Gaussian clusters per class.
    separation : float
        Root mean square distance between two centres, in standard deviations of a
        cluster. At 4 two clusters overlap by about 2 %; at 0 the features carry no
        information about the class.
    skill_by_features : bool
        Whether the features of an item decide how often each annotator guesses.
    repeats : bool
        Whether an annotator may answer an item more than once.
    difficulty : float or array of length N
        The share of hard items, or the difficulty λ of each item. On a hard item
        annotators answer as if it were of another class, its decoy, with probability
        λ: see ``wisecrowd.simulation.hard_items``.
    copiers : float
        The share of annotators who copy the answers of others on the same item.
    copy_probability : float
        Probability that an answer of a copier is copied.
    groups : int or int array of length A
        The number of groups, or the group of each annotator (-1: none). Annotators of
        one group have the same confusion matrix and are of the same kind, such as
        language models of one family.
    group_slip : float
        Probability, per item and group, that all members of the group give the same
        answer. It is the correlation of two members given the class.
    random_state : int or Generator
        Seed of the random numbers.

    Examples
    --------
    >>> crowd = simulate(50, 7, 3, answers_per_item=4, n_features=2, random_state=0)
    >>> crowd
    Crowd(Annotations(50 items, 7 annotators, 3 classes, 200 answers; 4.0 per item),
    2 features)
    >>> crowd.truth.shape, crowd.confusion.shape, crowd.X.shape
    ((50,), (7, 3, 3), (50, 2))
    >>> crowd = simulate(50, 7, 3, difficulty=0.3, copiers=0.3, random_state=0)
    >>> int((crowd.decoy >= 0).sum()), int(crowd.copier.sum())
    (15, 2)
    """
    if skill_by_features and not n_features:
        raise InputError("skill_by_features=True needs features: pass n_features=2.")
    for name, p in (("group_slip", group_slip), ("copy_probability", copy_probability)):
        if not 0 <= p <= 1:
            raise InputError(f"{name}={p} must be from 0 to 1.")
    rng = np.random.default_rng(random_state)
    for_truth, for_crowd, for_x, for_answers, for_slips = rng.spawn(5)
    # Spawned from a child: with or without them, the other numbers are the same.
    for_hard, for_groups, for_copies = for_slips.spawn(3)
    truth = draw_truth(
        n_items, n_classes, class_weights=class_weights, random_state=for_truth
    )
    kinds = draw_kinds(
        n_annotators, spammers=spammers, adversaries=adversaries,
        specialists=specialists, random_state=for_crowd,
    )  # fmt: skip
    confusion = draw_confusion(
        kinds, n_classes, skill=skill, accuracy=accuracy, cant_tell=cant_tell,
        random_state=for_crowd,
    )  # fmt: skip
    copier = repeated.draw_copiers(copiers, n_annotators, random_state=for_copies)
    group = repeated.draw_groups(groups, n_annotators, random_state=for_groups)
    model = repeated.first_member(group)
    kinds, confusion = kinds[model], confusion[model]
    X = None
    if n_features:
        X = draw_features(
            truth, n_features, n_clusters=n_clusters, separation=separation,
            random_state=for_x,
        )  # fmt: skip
    drawn = draw_answers(
        truth, confusion, answers_per_item=answers_per_item, n_answers=n_answers,
        activity=activity, classes=classes, repeats=repeats, random_state=for_answers,
    )  # fmt: skip
    answers = drawn.codes
    hard = draw_hard_items(truth, n_classes, difficulty, random_state=for_hard)
    if hard.difficulty.any():
        answers = misled(answers, confusion, hard, for_hard)
        confusion = mean_confusion(confusion, truth, hard)
    if X is not None and skill_by_features:
        answers, confusion = with_guesses(answers, confusion, truth, X, for_slips)
    if (group >= 0).any():
        source = repeated.rows_of_groups(answers, group, group_slip, for_groups)
        answers, confusion = repeated.answers_of(source, answers, confusion, truth)
    source = np.arange(len(answers))
    if copier.any():
        source = repeated.rows_of_copies(answers, copier, copy_probability, for_copies)
        answers, confusion = repeated.answers_of(source, answers, confusion, truth)
    is_copy = source != np.arange(len(answers))
    return Crowd(
        answers=replace(drawn, codes=answers), truth=truth, confusion=confusion, X=X,
        classes=drawn.classes, kinds=kinds, difficulty=hard.difficulty,
        decoy=hard.decoy, group=group, copier=copier,
        copied_from=np.where(is_copy, answers.annotator[source], -1),
    )  # fmt: skip


# -- items -------------------------------------------------------------------------


def draw_truth(
    n_items: int,
    n_classes: int,
    *,
    class_weights: Ids | None = None,
    random_state: Seed = None,
) -> Int[np.ndarray, " N"]:
    """Draw the class of each item, a code, in proportion to `class_weights`.

    Examples
    --------
    >>> draw_truth(4, 2, class_weights=[0, 1]).tolist()
    [1, 1, 1, 1]
    """
    given = np.ones(n_classes) if class_weights is None else class_weights
    weights = np.asarray(given, dtype=float)
    if weights.shape != (n_classes,):
        raise InputError(
            f"class_weights needs {n_classes} entries, one per class; its shape is "
            f"{weights.shape}."
        )
    if n_items < 1:
        raise InputError(f"n_items={n_items}: a crowd needs at least one item.")
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
    """Draw features from Gaussian clusters, several per class.

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
    """Draw who answers which item, and the answers.

    Arguments are those of :func:`simulate`. K is C, or C + 1 where there is an answer
    that is not a class: "can't tell" if the classes are text, else C. By default every
    annotator answers every item. The annotators of an item are drawn one after the
    other, with probabilities in proportion to the activity of those left.

    Examples
    --------
    >>> from wisecrowd.simulation.annotators import paper_annotators
    >>> confusion = paper_annotators(3, 0)
    >>> draw_answers(np.array([0, 2]), confusion, random_state=0)
    Annotations(2 items, 5 annotators, 3 classes, 10 answers; 5.0 per item)
    """
    rng = np.random.default_rng(random_state)
    for_activity, for_pairs, for_answers = rng.spawn(3)
    n_annotators, n_items = len(confusion), len(truth)
    if n_answers is None:
        mean = n_annotators if answers_per_item is None else answers_per_item
        if not 0 < mean < np.inf:
            raise InputError(f"answers_per_item={mean} must be a number above 0.")
        n_answers = round(mean * n_items)
    if n_answers > MOST_ANSWERS:
        raise InputError(
            f"{n_answers:.3g} answers are too many: at most {MOST_ANSWERS:,} can be "
            f"drawn. Ask for fewer."
        )
    n_of_item = _answers_of_items(n_answers, n_items, for_pairs)
    weights = _activity(activity, n_annotators, for_activity)
    item = np.repeat(np.arange(n_items), n_of_item)
    if repeats:
        annotator = for_pairs.choice(n_annotators, len(item), p=weights)
    else:
        annotator = different_annotators(item, n_of_item, weights, for_pairs)
    answer = draw_rows(confusion, annotator, truth[item], for_answers)
    names = _answer_names(classes, *confusion.shape[1:])
    codes = Answers.from_codes(item, annotator, answer, (n_items, *confusion.shape))
    return Annotations(
        items=np.arange(n_items), annotators=np.arange(n_annotators), answers=names,
        codes=codes, gold_codes=np.full(n_items, -1, dtype=np.int32),
    )  # fmt: skip


def _answers_of_items(
    n_answers: int, n_items: int, rng: np.random.Generator
) -> Int[Array, " N"]:
    """Return the number of answers per item; two items differ by one at most."""
    if n_answers < 1 or n_items < 1:
        raise InputError(
            f"n_answers={n_answers} on {n_items} items: a crowd needs at least one "
            f"item and one answer."
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
            f"activity must be 'equal', 'heavy' or {n_annotators} numbers, one per "
            f"annotator; its shape is {weights.shape}."
        )
    return _shares(weights, "activity")


def _answer_names(classes: Ids | None, n_classes: int, n_answers: int) -> Array:
    given = np.arange(n_classes) if classes is None else classes
    names = vocabulary_values(given, "class")
    if len(names) != n_classes or n_answers - n_classes not in (0, 1):
        raise InputError(
            f"classes has {len(names)} names, but the confusion matrices have "
            f"{n_classes} classes and {n_answers} answers. Pass one name per class."
        )
    if n_answers == n_classes:
        return names
    extra: Any = "can't tell" if names.dtype.kind == "O" else n_classes
    return np.append(names, np.array([extra], dtype=names.dtype))


def _shares(weights: Float[Array, " S"], name: str) -> Float[Array, " S"]:
    """Return the weights divided by their sum."""
    if not ((weights >= 0).all() and 0 < weights.sum() < np.inf):
        raise InputError(
            f"{name} must be finite, not negative, and not all zero: "
            f"{listed(weights, 6)}."
        )
    return weights / weights.sum()
