"""Kinds of annotators, and random confusion matrices for each kind."""

from typing import Literal

import numpy as np
from jaxtyping import Float

from wisecrowd._checks import InputError, one_of
from wisecrowd._types import Array, Confusion

Seed = int | np.random.Generator | None
Number = float | int  # beartype does not accept an int as float

KINDS = ("skilled", "spammer", "adversary", "specialist")

PAPER_ACCURACIES = (0.95, 0.90, 0.80)
"""The three reliable annotators of the paper's MNIST experiment."""

ADVERSARY_CERTAINTY = 0.90
"""Probability that an adversary answers the next class."""

SPECIALIST_ACCURACY = 0.95
"""Accuracy of specialists on their own classes; on the others they guess."""

SKILL_CONCENTRATION = 10.0
"""Total concentration of the Beta or Dirichlet from which skills are drawn."""


def paper_annotators(n_classes: int, random_state: Seed = None) -> Confusion:
    """Return the five annotators of the paper's MNIST experiment.

    Three are right with probability .95, .90 and .80 in every class. The fourth
    answers at random. The fifth answers the next class with probability .90. The
    remaining probability of a row is spread randomly over the other answers.

    Examples
    --------
    >>> confusion = paper_annotators(10, 0)
    >>> confusion.shape, confusion[:4, 3, 3].tolist(), confusion[4, 9, 0].tolist()
    ((5, 10, 10), [0.95, 0.9, 0.8, 0.1], 0.9)
    """
    _check_n_classes(n_classes)
    rng = np.random.default_rng(random_state)
    reliable = np.repeat(np.array(PAPER_ACCURACIES)[:, None], n_classes, axis=1)
    return np.concatenate(
        [
            _spread(reliable, rng),
            _spammers(1, n_classes),
            _adversaries(1, n_classes, rng),
        ]
    )


def draw_kinds(
    n_annotators: int,
    *,
    spammers: Number = 0.0,
    adversaries: Number = 0.0,
    specialists: Number = 0.0,
    random_state: Seed = None,
) -> Array:
    """Draw the kind of each annotator: these shares, in random order.

    Examples
    --------
    >>> sorted(draw_kinds(5, spammers=0.4, adversaries=0.2).tolist())
    ['adversary', 'skilled', 'skilled', 'spammer', 'spammer']
    """
    if n_annotators < 1:
        raise InputError(
            f"n_annotators={n_annotators}: a crowd needs at least one annotator."
        )
    shares = {"spammer": spammers, "adversary": adversaries, "specialist": specialists}
    if not (min(shares.values()) >= 0 and sum(shares.values()) <= 1 + 1e-9):
        raise InputError(
            f"spammers={spammers}, adversaries={adversaries} and "
            f"specialists={specialists} are shares of the annotators: each must be at "
            f"least 0, and their sum at most 1."
        )
    special = [
        kind for kind, s in shares.items() for _ in range(round(s * n_annotators))
    ]
    kinds = (special + ["skilled"] * n_annotators)[:n_annotators]
    return np.random.default_rng(random_state).permutation(np.array(kinds))


def draw_confusion(
    kinds: Array,
    n_classes: int,
    *,
    skill: Literal["beta", "dirichlet"] = "beta",
    accuracy: Number = 0.75,
    cant_tell: Number = 0.0,
    random_state: Seed = None,
) -> Confusion:
    """Draw a confusion matrix for each annotator, by kind.

    - skilled, "beta": one accuracy for all classes, drawn from a Beta with mean
      `accuracy`; the remainder is spread randomly over the other answers;
    - skilled, "dirichlet": every row is drawn from a Dirichlet with mean `accuracy` on
      the diagonal;
    - spammer: every answer has the same probability, whatever the class;
    - adversary: answers the next class with probability .90;
    - specialist: right with probability .95 on half of the classes, guesses on the
      others.

    With `cant_tell` there is one more answer (K = C + 1). Each annotator gives it with
    a probability of their own, whose mean is `cant_tell`.

    Examples
    --------
    >>> draw_confusion(np.array(["spammer", "skilled"]), 2, random_state=0)[0].tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    >>> draw_confusion(draw_kinds(7), 3, cant_tell=0.1).shape
    (7, 3, 4)
    """
    one_of(skill, ("beta", "dirichlet"), "skill")
    for kind in np.unique(kinds):
        one_of(kind, KINDS, "kinds")
    _check_share(accuracy, "accuracy")
    _check_n_classes(n_classes)
    rng = np.random.default_rng(random_state)
    n_of = {kind: int((kinds == kind).sum()) for kind in KINDS}
    skilled = _beta_skills if skill == "beta" else _dirichlet_skills
    confusion = np.empty((len(kinds), n_classes, n_classes))
    confusion[kinds == "skilled"] = skilled(n_of["skilled"], n_classes, accuracy, rng)
    confusion[kinds == "spammer"] = _spammers(n_of["spammer"], n_classes)
    confusion[kinds == "adversary"] = _adversaries(n_of["adversary"], n_classes, rng)
    confusion[kinds == "specialist"] = _specialists(n_of["specialist"], n_classes, rng)
    return _with_cant_tell(confusion, cant_tell, rng) if cant_tell else confusion


def _spread(
    p: Float[Array, "A C"], rng: np.random.Generator, *, shift: int = 0
) -> Confusion:
    """Rows with p[a, c] at answer c + shift, and the rest spread randomly."""
    n_annotators, n_classes = p.shape
    others = rng.dirichlet(np.ones(n_classes - 1), size=p.shape)  # [A, C, C - 1]
    confusion = np.empty((n_annotators, n_classes, n_classes))
    for c in range(n_classes):
        target = (c + shift) % n_classes
        rest = np.delete(np.arange(n_classes), target)
        confusion[:, c, target] = p[:, c]
        confusion[:, c, rest] = (1 - p[:, c, None]) * others[:, c]
    return confusion


def _beta_skills(
    n_annotators: int, n_classes: int, accuracy: Number, rng: np.random.Generator
) -> Confusion:
    a, b = SKILL_CONCENTRATION * accuracy, SKILL_CONCENTRATION * (1 - accuracy)
    p = rng.beta(a, b, size=(n_annotators, 1))
    return _spread(np.repeat(p, n_classes, axis=1), rng)


def _dirichlet_skills(
    n_annotators: int, n_classes: int, accuracy: Number, rng: np.random.Generator
) -> Confusion:
    mean = np.full((n_classes, n_classes), (1 - accuracy) / (n_classes - 1))
    np.fill_diagonal(mean, accuracy)
    rows = [rng.dirichlet(SKILL_CONCENTRATION * row, size=n_annotators) for row in mean]
    return np.stack(rows, axis=1)


def _spammers(n_annotators: int, n_classes: int) -> Confusion:
    return np.full((n_annotators, n_classes, n_classes), 1 / n_classes)


def _adversaries(
    n_annotators: int, n_classes: int, rng: np.random.Generator
) -> Confusion:
    certainty = np.full((n_annotators, n_classes), ADVERSARY_CERTAINTY)
    return _spread(certainty, rng, shift=1)


def _specialists(
    n_annotators: int, n_classes: int, rng: np.random.Generator
) -> Confusion:
    """Each annotator knows half of the classes, at random and at least one."""
    rank = rng.random((n_annotators, n_classes)).argsort(1).argsort(1)
    own = (rank < max(1, n_classes // 2))[:, :, None]
    good = _spread(np.full(rank.shape, SPECIALIST_ACCURACY), rng)
    return np.where(own, good, 1 / n_classes)


def _with_cant_tell(
    confusion: Float[Array, "A C C"], cant_tell: Number, rng: np.random.Generator
) -> Confusion:
    _check_share(cant_tell, "cant_tell")
    a, b = SKILL_CONCENTRATION * cant_tell, SKILL_CONCENTRATION * (1 - cant_tell)
    share = rng.beta(a, b, size=(len(confusion), 1, 1))
    silent = np.broadcast_to(share, (*confusion.shape[:2], 1))
    return np.concatenate([(1 - share) * confusion, silent], axis=2)


def _check_share(value: Number, name: str) -> None:
    if not 0 < value < 1:
        raise InputError(f"{name}={value} must be above 0 and below 1.")


def _check_n_classes(n_classes: int) -> None:
    if n_classes < 2:
        raise InputError(f"n_classes={n_classes}: a crowd needs at least two classes.")
