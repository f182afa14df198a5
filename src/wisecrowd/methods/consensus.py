"""Consensus: the labels that a crowd agrees on, with honest probabilities.

No method of the literature, but what is left when none of them can be trusted on every
crowd: confusion matrices under two priors, learned only as long as left-out answers
gain from it, plain votes, and a discount for mistakes that annotators share.
"""

from dataclasses import dataclass
from typing import Any

from wisecrowd._checks import whole_number
from wisecrowd._types import Gold
from wisecrowd.annotations import Annotations
from wisecrowd.annotations.groups import group_codes
from wisecrowd.base import Aggregator, Learned, WithConfusionMatrices, WithPool
from wisecrowd.fit.consensus import MAX_ITERATIONS, agreed
from wisecrowd.fit.trace import Trace
from wisecrowd.maths.pool import pooled
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import ConfusionMatrices

__all__ = ["Consensus", "aggregate"]


@dataclass(eq=False, repr=False, kw_only=True)
class Consensus(WithPool, WithConfusionMatrices, Aggregator):
    """Labels with honest probabilities from answers alone: the default.

    Parameters
    ----------
    dependence : "learn" or float
        The correlation ρ of the mistakes of two answers on one item, learned from the
        answers or given; n answers count as n / (1 + ρ (n - 1)) independent ones. 0:
        answers are independent given the class.
    groups : mapping or Series, optional
        From annotators to families whose members answer alike, such as language models
        of one maker. A family has one vote per item. Who is not named is alone. None:
        only copies are found, annotators with the same answers, mistakes included.
    max_iter : int
        The most iterations of labels and annotators.
    progress : bool or None
        Draw a progress bar; None: on a terminal.

    Notes
    -----
    The trace has one row per iteration. Its bound is the mean log-probability of an
    answer, given the other answers on the item; the last iteration did not raise it.

    Examples
    --------
    >>> from wisecrowd.annotations import Annotations
    >>> answers = Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0]])
    >>> Consensus().fit(answers).labels_.tolist()
    [0, 1, 0, 1]
    """

    dependence: float | int | str = "learn"
    groups: Any = None
    max_iter: int = MAX_ITERATIONS
    progress: bool | None = None

    method = MethodInfo(
        name="consensus",
        needs="answers",
        learns="confusion matrices under two priors, and how much answers are worth",
    )

    def _fit(self, annotations: Annotations) -> tuple[Learned, Trace]:
        self._check_dependence()
        whole_number(self.max_iter, "max_iter")
        answers, gold = annotations.codes, annotations.gold_codes
        group = group_codes(self.groups, annotations.annotators)
        before = ConfusionMatrices.before_answers(
            "learned", annotations.annotators, *answers.shape[2:]
        )
        with Trace("Consensus", self.max_iter, self.progress) as trace:
            proba, skills = agreed(
                answers, gold, before, max_iter=self.max_iter, trace=trace
            )
        end = pooled(
            answers, gold, proba, skills.priors(), self.dependence, group=group
        )
        skills = skills.with_labels(answers, end)
        return Learned.of(end, end.proba.mean(0), skills), trace


def aggregate(
    answers: Any, *, gold: Gold | None = None, groups: Any = None
) -> Consensus:
    """Return the labels that a crowd agrees on: a fitted :class:`Consensus`.

    Parameters
    ----------
    answers : Annotations, DataFrame (long), or (N, A) matrix
        The answers.
    gold : dict or Series, optional
        Classes that are known for certain. Fifty are enough to set how much each
        annotator and each class counts.
    groups : mapping or Series, optional
        Families of annotators; see :class:`Consensus`.

    Examples
    --------
    >>> import wisecrowd as wc
    >>> found = wc.aggregate({"x": {"ann": "cat", "bob": "cat"}, "y": {"ann": "dog"}})
    >>> found.labels_.tolist()
    ['cat', 'dog']
    """
    return Consensus(groups=groups).fit(answers, gold=gold)
