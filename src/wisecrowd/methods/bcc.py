"""Bayesian classifier combination (Kim and Ghahramani 2012), by variational Bayes.

Dawid and Skene's model with a posterior instead of a point for every annotator:
π ~ Dir(1), R[a, c, :] ~ Dir(α[c, :]), q(Z) q(R) q(π). It is SVGPCR without the
Gaussian process; α may be given, or learned by empirical Bayes.
"""

from typing import Any

from wisecrowd._checks import number
from wisecrowd.annotations import Annotations
from wisecrowd.base import Aggregator, Learned, WithConfusionMatrices, WithHardItems
from wisecrowd.fit.ending import Known, finished
from wisecrowd.fit.trace import Trace
from wisecrowd.fit.variational import CLASS_PRIOR, class_counts, combined
from wisecrowd.maths import dirichlet
from wisecrowd.maths.dependence import checked_dependence
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import ConfusionMatrices

__all__ = ["BCC"]


class BCC(WithHardItems, WithConfusionMatrices, Aggregator):
    """Bayesian classifier combination: labels and annotators with uncertainty.

    Parameters
    ----------
    annotator_prior : "learned", "flat", "diagonal", array or mapping
        Dirichlet concentrations of the rows. "learned" finds one table for the whole
        crowd from the data, which lends the skill of the crowd to annotators with few
        answers. A mapping from annotators to (C, K) concentrations takes over what is
        known of some of them.
    dependence : "learn", float or None
        The correlation ρ, given the class, of two answers on one item: real annotators
        make the same mistakes. The log-likelihood of n correlated answers is
        multiplied by (1 + ρ (n - 1)) ** -1.6, at least by .15 and by 1 / n. A small
        share of the items is taken as hard: they mislead several annotators at once.
        Before an item is labelled, its own contribution is removed from the
        annotators' counts (leave-one-out, CVB0). 0: answers are independent given the
        class, and no item is hard. None: the published posterior, which also keeps the
        item's own contribution and is far too sure.
    class_pseudo_items : float
        Items of each class that are assumed before the answers: the concentration of
        the Dirichlet prior of the shares of the classes. With 1, a small crowd of weak
        annotators ends with nearly all items in one class, and is sure of it.
    max_iter, tol, progress
        As in :class:`DawidSkene`.

    Notes
    -----
    With its defaults this is an extension of the published method, by a learned prior
    and the dependence; :meth:`as_published` is the method of Kim and Ghahramani.

    Examples
    --------
    >>> from wisecrowd.annotations import Annotations
    >>> answers = Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0]])
    >>> BCC(annotator_prior="diagonal").fit(answers).labels_.tolist()
    [0, 1, 0, 1]
    """

    method = MethodInfo(
        name="bcc",
        needs="answers",
        learns="a distribution of confusion matrices, whose prior the crowd shares",
        paper="Kim and Ghahramani, *AISTATS* 2012",
        bibtex="""\
@inproceedings{kim2012bcc,
  author = {Kim, Hyun-Chul and Ghahramani, Zoubin},
  title = {Bayesian classifier combination},
  booktitle = {Proceedings of the 15th International Conference on Artificial
    Intelligence and Statistics},
  pages = {619--627},
  year = {2012}
}""",
    )

    def __init__(
        self,
        *,
        annotator_prior: Any = "learned",
        dependence: float | int | str | None = "learn",
        class_pseudo_items: float | int = CLASS_PRIOR,
        max_iter: int = 1000,
        tol: float | int | None = 1e-7,
        progress: bool | None = None,
    ) -> None:
        self.annotator_prior = annotator_prior
        self.dependence = dependence
        self.class_pseudo_items = class_pseudo_items
        self.max_iter = max_iter
        self.tol = tol
        self.progress = progress

    @classmethod
    def as_published(cls, **settings: Any) -> "BCC":
        """Return the method of the paper: a flat prior, independent annotators."""
        return cls(
            **{
                "annotator_prior": "flat",
                "dependence": None,
                "class_pseudo_items": 1,
                **settings,
            }
        )

    def _fit(self, annotations: Annotations) -> tuple[Learned, Trace]:
        if self.dependence is not None:
            checked_dependence(self.dependence)
        per_class = self.class_pseudo_items
        number(per_class, "class_pseudo_items", "above 0", lambda v: v > 0)
        answers, gold = annotations.codes, annotations.gold_codes
        before = ConfusionMatrices.before_answers(
            self.annotator_prior, annotations.annotators, *answers.shape[2:]
        )
        with Trace("BCC", self.max_iter, self.progress) as trace:
            end = combined(
                answers,
                before,
                gold,
                trace=trace,
                max_iter=self.max_iter,
                class_prior=float(per_class),
                tol=None if self.tol is None else self.tol * len(answers),
            )
        class_prior = dirichlet.mean(class_counts(end.proba, float(per_class)))
        last = finished(
            Known.of_answers(answers, gold, end.proba, class_prior),
            end.skills,
            self.dependence,
        )
        learned = Learned(
            last.proba, class_prior, last.skills,
            calibration=last.calibration, hard=last.labels.hard,
        )  # fmt: skip
        return learned, trace
