"""Whether a fit has lost a class that its annotators see.

With a flat prior of the annotators, a model can explain all answers with a class left
empty: everybody is taken to call another class by its name. The bound can be as
high as with all classes, and only the labels show it.
"""

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._checks import counted, listed
from wisecrowd._types import Array
from wisecrowd.answers import Answers

MANY, MANY_SHARE = 10, 0.25  # items, and their share of N / C, that name a class
NEARLY_NONE = 0.02  # of them, that the class may have as labels


def items_by_class(answers: Answers) -> Int[np.ndarray, " C"]:
    """Return on how many items most answers name the class, for every class."""
    return (2 * answers.votes() > answers.n_per_item[:, None]).sum(0)


def lost_classes(
    answers: Answers, proba: Float[np.ndarray, "N C"]
) -> Int[np.ndarray, " lost"]:
    """Return the classes that most answers name on many items, and that no label has.

    Many are at least ten items, and a quarter of an equal share N / C: a rare class
    that is named by mistake is not lost. One label per fifty of these items is none.
    """
    named = items_by_class(answers)
    labelled = np.bincount(proba.argmax(1), minlength=proba.shape[1])
    many = named >= max(MANY, MANY_SHARE * answers.n_items / answers.n_classes)
    return np.flatnonzero(many & (labelled < NEARLY_NONE * named))


def said_of_lost(
    answers: Answers,
    proba: Float[np.ndarray, "N C"],
    classes: Array,
    *,
    has_prior: bool,
) -> str:
    """Return the warning: which classes were lost, why, what to do; "" for none.

    Examples
    --------
    >>> item = np.arange(30)
    >>> answers = Answers.from_codes(item, 0 * item, item % 2, (30, 1, 2, 2))
    >>> all_cats = np.tile([0.9, 0.1], (30, 1))
    >>> said = said_of_lost(answers, all_cats, np.array(["cat", "dog"]), has_prior=True)
    >>> said[:66]
    "no item is labelled 'dog', but most answers on 15 items name it. T"
    """
    lost = lost_classes(answers, proba)
    if not len(lost):
        return ""
    n_items = int(items_by_class(answers)[lost].sum())
    given = "annotator_prior='learned' or 'diagonal', or " if has_prior else ""
    return (
        f"{'hardly any' if np.isin(proba.argmax(1), lost).any() else 'no'} item is "
        f"labelled {listed(classes[lost])}, but most answers on "
        f"{counted(n_items, 'item')} name {'it' if len(lost) == 1 else 'one of them'}. "
        f"The fit may have collapsed: it takes these answers for mistakes of the "
        f"annotators. Compare with MajorityVote(). If the items exist, try {given}the "
        f"default settings of the method, or give the gold class of some of them."
    )
