"""GLAD (Whitehill et al. 2009): the ability of annotators, the easiness of items.

EM for the maximum a posteriori; the formulas are in :mod:`wisecrowd.maths.ability`.
"""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from wisecrowd._checks import number, one_of
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.answers import Answers
from wisecrowd.base import Aggregator, Learned, Published
from wisecrowd.fit.em import climb, least_gain
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd
from wisecrowd.maths.ability import (
    MEAN_ABILITY,
    Params,
    Spread,
    class_answers,
    curvature,
    evidence_per_item,
    expected_log_joint,
    log_prior,
    logits,
)
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import Ability

__all__ = ["GLAD"]

SMOOTHING = 0.01  # of an item for every class: its logarithm stays finite
INNER_STEPS = 5  # L-BFGS iterations of one M-step: it need not arrive, only climb


class State(NamedTuple):
    """q(Z) and the parameters that it was made with."""

    proba: Float[np.ndarray, "N C"]
    params: Params


def better_params(
    params: Params, right: Float[np.ndarray, " L"], answers: Answers, spread: Spread
) -> Params:
    """Climb the expected log joint by a few steps of L-BFGS; it never falls.

    The steps are taken in units of each parameter's own curvature: an annotator with
    a thousand answers and an item with three are then alike.
    """
    n_annotators = len(params.ability)
    unit = 1 / np.sqrt(np.concatenate(curvature(params, answers, spread)))

    def split(scaled: Array) -> Params:
        flat = scaled * unit
        return Params(flat[:n_annotators], flat[n_annotators:])

    def loss(scaled: Array) -> tuple[float, Array]:
        value, slope = expected_log_joint(split(scaled), right, answers, spread)
        return -value, -np.concatenate(slope) * unit

    start = np.concatenate(params) / unit
    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": INNER_STEPS},
    )
    return split(found.x) if found.fun <= loss(start)[0] else params


class GLAD(Published, Aggregator):
    """GLAD: an ability for every annotator, an easiness for every item, by EM.

    Finds the maximum a posteriori. Answers that are not classes (such as "can't
    tell") say nothing here and are left out of the likelihood, with a warning. The
    confusion matrices are those of a typical item, one accuracy for all classes;
    intervals come from the curvature at the maximum.

    Parameters
    ----------
    class_prior : {"uniform", "learned"}
        Whether the classes are equally frequent, as in the paper, or their
        frequencies are learned. Learned ones can run away with a crowd of little
        ability: one class explains all answers.
    ability_spread, easiness_spread : float
        Standard deviations of the Gaussian priors on the ability (mean 1) and on the
        log easiness (mean 0).
    dependence : "learn", float or None
        How the labels are made at the end; see :class:`BCC`. None: the published
        posterior, which is far too sure on real crowds.
    max_iter, tol, progress
        As in :class:`DawidSkene`.

    Attributes
    ----------
    ability_ : array (A,)
        The log odds of a right answer on an item of easiness one: 0 tells nothing
        of two classes, below 0 is an adversary.
    easiness_ : array (N,)
        What multiplies the ability on each item; above one is easier than most.

    Examples
    --------
    >>> from wisecrowd.annotations import Annotations
    >>> answers = Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> model = GLAD().fit(answers)
    >>> model.labels_.tolist()
    [0, 1, 0, 1]
    >>> bool(model.ability_[0] > model.ability_[2])
    True
    >>> bool(model.easiness_[2] > model.easiness_[0])
    True
    """

    method = MethodInfo(
        name="glad",
        needs="answers",
        learns="an ability, and the easiness of each item",
        paper="Whitehill et al., *NeurIPS* 2009",
        bibtex="""\
@inproceedings{whitehill2009glad,
  author = {Whitehill, Jacob and Ruvolo, Paul and Wu, Tingfan and Bergsma, Jacob and
    Movellan, Javier},
  title = {Whose vote should count more: optimal integration of labels from labelers
    of unknown expertise},
  booktitle = {Advances in Neural Information Processing Systems 22},
  pages = {2035--2043},
  year = {2009}
}""",
    )
    per_item = ("easiness_",)

    def __init__(
        self,
        *,
        class_prior: Literal["uniform", "learned"] = "uniform",
        ability_spread: float | int = 1.0,
        easiness_spread: float | int = 1.0,
        dependence: float | int | str | None = "learn",
        max_iter: int = 1000,
        tol: float | int | None = 1e-7,
        progress: bool | None = None,
    ) -> None:
        self.class_prior = class_prior
        self.ability_spread = ability_spread
        self.easiness_spread = easiness_spread
        self.dependence = dependence
        self.max_iter = max_iter
        self.tol = tol
        self.progress = progress

    def _fit(self, annotations: Annotations) -> tuple[Learned, Trace]:
        one_of(self.class_prior, ("learned", "uniform"), "class_prior")
        answers, gold = class_answers(annotations.codes, "GLAD"), annotations.gold_codes
        for name in ("ability_spread", "easiness_spread"):
            wanted = "a standard deviation, above 0 and at most 1e6"
            number(getattr(self, name), name, wanted, lambda v: 0 < v <= 1e6)
        spread = Spread(float(self.ability_spread), float(self.easiness_spread))

        def update(state: State) -> tuple[State, dict[str, float]]:
            right = answers.right_proba(state.proba)
            params = better_params(state.params, right, answers, spread)
            log_class = np.log(self._class_prior(state.proba))
            evidence = evidence_per_item(logits(params, answers), answers)
            joint = crowd.clamped(evidence + log_class, gold)
            proba, log_likelihood = crowd.posterior(joint)
            terms = {
                "log_likelihood": float(log_likelihood.sum()),
                "log_prior": log_prior(params, spread)
                + SMOOTHING * float(log_class.sum()),
            }
            return State(proba, params), {**terms, "bound": sum(terms.values())}

        average = Params(
            np.full(answers.n_annotators, MEAN_ABILITY), np.zeros(answers.n_items)
        )
        start = State(crowd.vote_proba(answers.votes(), gold), average)
        tol = least_gain(self.tol, len(answers))
        with Trace("GLAD", self.max_iter, self.progress) as trace:
            end = climb(update, start, trace=trace, max_iter=self.max_iter, tol=tol)
        self.easiness_ = np.exp(end.params.log_easiness)
        skills = Ability(
            mean=end.params.ability,
            spread=1 / np.sqrt(curvature(end.params, answers, spread).ability),
            prior_spread=spread.ability,
            easiness=float(np.exp(end.params.log_easiness.mean())),
            n_classes=answers.n_classes,
            n_answers=answers.n_answers,
        )
        return Learned(end.proba, self._class_prior(end.proba), skills), trace

    def _class_prior(self, proba: Float[np.ndarray, "N C"]) -> Array:
        mass = proba.sum(0) + SMOOTHING
        if self.class_prior == "uniform":
            mass = np.ones_like(mass)
        return mass / mass.sum()

    @property
    def ability_(self) -> Array:
        """The ability of each annotator."""
        return self.learned_.skills.mean
