"""GLAD (Whitehill et al. 2009): the ability of annotators, the easiness of items.

EM for the maximum a posteriori; the formulas are in :mod:`wisecrowd.maths.ability`.
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from wisecrowd._checks import number, one_of
from wisecrowd._records import POSITIVE
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.answers import Answers
from wisecrowd.base import Aggregator, Learned, LearnedByEM, Published
from wisecrowd.fit.em import Steps, Terms, with_bound
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


class GLADSteps(Steps[State]):
    """The loop of a model, which gets the easiness of the items."""

    def __init__(self, annotations: Annotations, model: "GLAD") -> None:
        super().__init__(annotations)
        self.model, self.answers = model, class_answers(self.answers, "GLAD")
        self.spread = Spread(float(model.ability_spread), float(model.easiness_spread))

    def start(self) -> State:
        """Return the votes, and average annotators and items."""
        abilities = np.full(self.answers.n_annotators, MEAN_ABILITY)
        return State(self.votes(), Params(abilities, np.zeros(self.answers.n_items)))

    def update(self, state: State) -> tuple[State, Terms]:
        """Learn the parameters from the classes, and the classes from them."""
        answers, spread = self.answers, self.spread
        right = answers.right_proba(state.proba)
        params = better_params(state.params, right, answers, spread)
        log_class = np.log(self.class_prior(state.proba))
        evidence = evidence_per_item(logits(params, answers), answers)
        proba, log_likelihood = self.e_step(evidence + log_class)
        prior = log_prior(params, spread) + SMOOTHING * float(log_class.sum())
        after = State(proba, params)
        return after, with_bound(log_likelihood=log_likelihood, log_prior=prior)

    def class_prior(self, proba: Float[np.ndarray, "N C"]) -> Array:
        """Return the shares of the classes, equal or learned."""
        mass = proba.sum(0) + SMOOTHING
        if self.model.class_prior == "uniform":
            mass = np.ones_like(mass)
        return mass / mass.sum()

    def learned(self, end: State) -> Learned:
        """Return the abilities with the curvature at the maximum."""
        self.model.easiness_ = np.exp(end.params.log_easiness)
        curved = curvature(end.params, self.answers, self.spread)
        skills = Ability(
            mean=end.params.ability,
            spread=1 / np.sqrt(curved.ability),
            prior_spread=self.spread.ability,
            easiness=float(np.exp(end.params.log_easiness.mean())),
            n_classes=self.answers.n_classes,
            n_answers=self.answers.n_answers,
        )
        return Learned(end.proba, self.class_prior(end.proba), skills)


@dataclass(eq=False, repr=False, kw_only=True)
class GLAD(LearnedByEM, Published, Aggregator):
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
    dependence, max_iter, tol, progress
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

    class_prior: Literal["uniform", "learned"] = "uniform"
    ability_spread: float | int = 1.0
    easiness_spread: float | int = 1.0
    dependence: float | int | str | None = "learn"
    max_iter: int = 1000
    tol: float | int | None = 1e-7
    progress: bool | None = None

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
    easiness_: Annotated[Float[np.ndarray, " N"], POSITIVE] = field(init=False)

    def _steps(self, annotations: Annotations) -> "GLADSteps":
        one_of(self.class_prior, ("learned", "uniform"), "class_prior")
        for name in ("ability_spread", "easiness_spread"):
            wanted = "a standard deviation, above 0 and at most 1e6"
            number(getattr(self, name), name, wanted, lambda v: 0 < v <= 1e6)
        return GLADSteps(annotations, self)

    @property
    def ability_(self) -> Array:
        """The ability of each annotator."""
        return self.learned_.skills.mean
