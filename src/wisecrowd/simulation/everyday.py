"""Small crowds as people have them, each of which once misled a method.

Every function draws one crowd from a generator and returns an :class:`Everyday`. The
tests of honesty and `experiments/crowds.py` use them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.simulation.crowds import Crowd, draw_features, simulate

Rng = np.random.Generator
Codes = Int[np.ndarray, "..."]
BETTER = 0.1  # than chance: from there on a simulated annotator counts as honest


class Everyday(NamedTuple):
    """A crowd whose truth is known."""

    answers: Annotations  # items, annotators and classes are numbers
    truth: Codes
    X: Float[np.ndarray, "N D"] | None
    honest: Array  # which annotators know more than chance
    gold: Codes  # the items whose class is told to the method

    @property
    def told(self) -> dict[int, int]:
        """The classes that the method is told."""
        return {int(i): int(self.truth[i]) for i in self.gold}


def _said(rng: Rng, truth: Codes, accuracy: float | Array, n_classes: int) -> Codes:
    """Draw answers that are right with this probability, else any other class."""
    other = (truth + rng.integers(1, n_classes, np.shape(truth))) % n_classes
    return np.where(rng.random(np.shape(truth)) < accuracy, truth, other)


def _made(
    item: Codes,
    who: Codes,
    answer: Codes,
    truth: Codes,
    n_classes: int,
    *,
    X: Array | None = None,
    honest: Array | None = None,
    gold: Codes | None = None,
) -> Everyday:
    n_annotators = int(who.max()) + 1
    answers = Annotations.from_triples(
        item, who, answer, items=range(len(truth)), annotators=range(n_annotators),
        classes=range(n_classes),
    )  # fmt: skip
    honest = np.ones(n_annotators, bool) if honest is None else honest
    return Everyday(
        answers, truth, X, honest, np.zeros(0, int) if gold is None else gold
    )


def _by_some(
    rng: Rng, n_items: int, n_annotators: int, n_each: int
) -> tuple[Codes, Codes]:
    """Return items and annotators: `n_each` different annotators for every item."""
    who = rng.random((n_items, n_annotators)).argsort(1)[:, :n_each]
    return np.repeat(np.arange(n_items), n_each), who.ravel()


def one_answer_each(rng: Rng) -> Everyday:
    """600 items, one answer each, 20 classes, 12 honest annotators, features."""
    truth = rng.integers(20, size=600)
    item, who = _by_some(rng, 600, 12, 1)
    skill = rng.uniform(0.52, 1.0, 12)
    X = draw_features(truth, 8, n_clusters=1, separation=6.0, random_state=rng)
    return _made(item, who, _said(rng, truth[item], skill[who], 20), truth, 20, X=X)


def two_answers_each(rng: Rng) -> Everyday:
    """300 items, two answers each, 5 classes, 40 honest annotators."""
    truth = rng.integers(5, size=300)
    item, who = _by_some(rng, 300, 40, 2)
    skill = rng.uniform(0.5, 0.95, 40)
    return _made(item, who, _said(rng, truth[item], skill[who], 5), truth, 5)


def busy_guesser(rng: Rng, n_classes: int = 10) -> Everyday:
    """Annotator 0 guesses on all 600 items; one of 30 others answers each as well."""
    truth = rng.integers(n_classes, size=600)
    skill = rng.uniform(0.65, 0.9, 31)
    helper = rng.integers(1, 31, 600)
    item = np.concatenate([np.arange(600)] * 2)
    who = np.concatenate([np.zeros(600, int), helper])
    said = _said(rng, truth, skill[helper], n_classes)
    answer = np.concatenate([rng.integers(n_classes, size=600), said])
    return _made(item, who, answer, truth, n_classes, honest=np.arange(31) > 0)


def runs_of_one_class(rng: Rng) -> Everyday:
    """Camera traps: every volunteer sees eight photographs of one of six species."""
    truth = np.arange(600) // 8 % 6
    who = np.arange(600) // 8
    skill = rng.uniform(0.85, 0.98, int(who.max()) + 1)
    more = np.flatnonzero(rng.random(600) < 0.3)
    item = np.concatenate([np.arange(600), more])
    who = np.concatenate([who, rng.integers(0, who.max() + 1, len(more))])
    _, first = np.unique(item * 1000 + who, return_index=True)
    item, who = item[first], who[first]
    return _made(item, who, _said(rng, truth[item], skill[who], 6), truth, 6)


def judges_with_gold(rng: Rng) -> Everyday:
    """Three judges of one family (.72 right), two independent (.85, .80), 50 gold."""
    truth = rng.integers(2, size=500)
    family = _said(rng, truth, 0.72, 2)
    said = [
        np.where(rng.random(500) < 0.8, family, _said(rng, truth, 0.72, 2))
        for _ in range(3)
    ]
    said += [_said(rng, truth, skill, 2) for skill in (0.85, 0.80)]
    item, who = np.divmod(np.arange(2500), 5)
    gold = rng.permutation(500)[:50]
    return _made(item, who, np.stack(said, 1).ravel(), truth, 2, gold=gold)


def three_of_seven_copy(rng: Rng) -> Everyday:
    """Seven annotators answer everything; two of them copy a third."""
    truth = rng.integers(3, size=400)
    said = _said(rng, np.repeat(truth[:, None], 7, 1), rng.uniform(0.6, 0.75, 7), 3)
    said[:, 1] = said[:, 2] = said[:, 0]
    item, who = np.divmod(np.arange(2800), 7)
    return _made(item, who, said.ravel(), truth, 3)


def mostly_nothing(rng: Rng) -> Everyday:
    """One answer per item, 28 classes, 75 % of the items are of class 0, "nothing"."""
    shares = np.r_[0.75, np.full(27, 0.25 / 27)]
    truth = rng.choice(28, size=2000, p=shares)
    item, who = _by_some(rng, 2000, 60, 1)
    skill = rng.uniform(0.75, 0.98, 60)
    return _made(item, who, _said(rng, truth[item], skill[who], 28), truth, 28)


def same_file_four_times(rng: Rng) -> Everyday:
    """Every answer is there four times, as in a file that was joined to itself."""
    crowd = simulate(300, 20, 3, answers_per_item=3, accuracy=0.7, random_state=rng)
    codes = crowd.answers.codes
    item, who, answer = (
        np.tile(part, 4) for part in (codes.item, codes.annotator, codes.answer)
    )
    return _made(item, who, answer, crowd.truth, 3, honest=_of(crowd).honest)


def one_class_rules(rng: Rng) -> Everyday:
    """Ten rules, each of which names one of two classes or is silent."""
    truth = rng.integers(2, size=800)
    names = np.arange(10) % 2
    fires = np.where(truth[:, None] == names, 0.25, rng.uniform(0.01, 0.06, 10))
    item, who = np.nonzero(rng.random((800, 10)) < fires)
    return _made(item, who, names[who], truth, 2)


def _of(crowd: Crowd) -> Everyday:
    right = np.diagonal(crowd.confusion, axis1=1, axis2=2).mean(1)
    honest = right > 1 / len(crowd.classes) + BETTER
    return Everyday(crowd.answers, crowd.truth, crowd.X, honest, np.zeros(0, int))


def _simulated(*sizes: int, **settings: Any) -> Callable[[Rng], Everyday]:
    return lambda rng: _of(simulate(*sizes, **settings, random_state=rng))


SHAPES: dict[str, Callable[[Rng], Everyday]] = {
    shape.__name__: shape
    for shape in (
        one_answer_each,
        two_answers_each,
        busy_guesser,
        runs_of_one_class,
        judges_with_gold,
        three_of_seven_copy,
        mostly_nothing,
        same_file_four_times,
    )
} | {
    # 30 % of the items are taken for another class.
    "hard_items": _simulated(
        800, 40, 4, answers_per_item=3, difficulty=0.3, spammers=0
    ),
    # A third of the people copy what others said.
    "copiers": _simulated(800, 40, 4, answers_per_item=3, copiers=0.3, spammers=0),
    # One item of a hundred is of the class that is looked for.
    "rare_class": _simulated(
        2000, 50, 2, answers_per_item=5, class_weights=(99, 1), accuracy=0.85,
        spammers=0,
    ),
    # A third of the answers are "can't tell".
    "cannot_tell": _simulated(
        500, 30, 3, answers_per_item=4, cant_tell=0.3, accuracy=0.75, spammers=0
    ),
    # Four families of judges, whose members slip together.
    "families_of_judges": _simulated(
        400, 24, 2, answers_per_item=24, groups=4, group_slip=0.6, spammers=0,
        accuracy=0.75, activity="equal",
    ),
    "one_class_rules": one_class_rules,
    # What the models assume: independent annotators of unequal skill.
    "independent": _simulated(
        500, 30, 4, answers_per_item=5, skill="dirichlet", n_features=4
    ),
}  # fmt: skip
