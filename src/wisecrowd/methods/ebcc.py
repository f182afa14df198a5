"""EBCC (Li, Rubinstein and Cohn 2019): classes with subtypes, by variational Bayes.

z ~ τ, the subtype g | z = k ~ π[k, :], y | z = k, g = m ~ v[a, k, m, :]. Annotators are
independent given the subtype, so given the class they may err together. With one
subtype it is BCC. Here class and subtype are one variable of C * M values, whose
confusion matrices are those of BCC.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._checks import random_numbers, whole_number
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.answers import Answers
from wisecrowd.base import Aggregator, Learned, LearnedByEM, Published
from wisecrowd.fit.em import Steps, Terms, with_bound
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import ConfusionMatrices, Subtypes

__all__ = ["EBCC"]

RIGHT, WRONG = 4.0, 1.0  # of the published prior: the right answer, each wrong one


class Prior(NamedTuple):
    """Dirichlet concentrations of τ, of the rows of π and of the rows of v."""

    classes: float
    subtypes: float
    answers: Float[np.ndarray, "P CM K"]


class Posterior(NamedTuple):
    """The same after the answers, q(τ) q(π) q(v)."""

    classes: Float[np.ndarray, " C"]
    subtypes: Float[np.ndarray, "C M"]
    answers: Float[np.ndarray, "A CM K"]


def published_prior(n_classes: int, n_answers: int) -> Float[np.ndarray, "1 C K"]:
    """Return four for the right answer and one for each wrong answer."""
    prior = np.full((1, n_classes, n_answers), WRONG)
    prior[:, range(n_classes), range(n_classes)] = RIGHT
    return prior


def posterior_of(
    rho: Float[np.ndarray, "N C M"], answers: Answers, prior: Prior
) -> Posterior:
    """Return q(τ), q(π) and q(v) for q(z, g) = ρ: the prior and soft counts."""
    flat = rho.reshape(len(rho), -1)
    mass = np.einsum("nj->j", flat).reshape(rho.shape[1:])
    return Posterior(
        prior.classes + mass.sum(1),
        prior.subtypes + mass,
        prior.answers + crowd.soft_counts(answers, flat),
    )


def updated(
    post: Posterior, answers: Answers, prior: Prior, gold: Int[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, "N C M"], Terms]:
    """ρ ∝ exp(E log τ[k] + E log π[k, m] + Σ E log v[a, k, m, y]), and the bound."""
    shape = post.subtypes.shape
    log_v = dirichlet.mean_log(post.answers, prior.answers)
    said = crowd.evidence_per_item(answers, log_v)
    log_class = np.repeat(dirichlet.mean_log(post.classes), shape[1])
    log_subtype = dirichlet.mean_log(post.subtypes).ravel()
    joint = (said + (log_class + log_subtype)).reshape(-1, *shape)
    known = np.flatnonzero(gold >= 0)
    joint[known] = np.where(
        np.arange(shape[0])[:, None] == gold[known, None, None], joint[known], -np.inf
    )
    rho, _ = crowd.posterior(joint.reshape(len(joint), -1))
    even = np.full(shape[0], prior.classes)
    even_subtypes = np.full(shape, prior.subtypes)
    return rho.reshape(joint.shape), with_bound(
        answers=float(np.vdot(rho, said)),
        classes=float((rho @ log_class).sum()),
        subtypes=float((rho @ log_subtype).sum()),
        entropy=float(crowd.entropy(rho).sum()),
        kl_classes=float(dirichlet.kl(post.classes, even)),
        kl_subtypes=float(dirichlet.kl(post.subtypes, even_subtypes).sum()),
        kl_annotators=float(dirichlet.kl(post.answers, prior.answers).sum()),
    )


def starting_rho(
    votes: Float[np.ndarray, "N C"], n_subtypes: int, rng: np.random.RandomState
) -> Float[np.ndarray, "N C M"]:
    """Return the shares of the votes, divided at random over the subtypes."""
    part = rng.dirichlet(np.ones(n_subtypes), votes.shape)
    out: Array = part * votes[:, :, None]
    return out


class EBCCSteps(Steps[Array]):
    """The loop; its state is q(z, g), and every start draws another."""

    def __init__(self, annotations: Annotations, model: "EBCC") -> None:
        super().__init__(annotations)
        shape, spec = self.answers.shape[2:], model.annotator_prior
        if isinstance(spec, str) and spec == "published":
            self.rows = published_prior(*shape)
        else:
            self.rows = crowd.annotator_prior(spec, annotations.annotators, *shape)
        self.n_subtypes = int(model.n_subtypes)
        self.prior = Prior(
            float(model.class_pseudo_items),
            float(model.subtype_pseudo_items) / self.n_subtypes,
            np.repeat(self.rows, self.n_subtypes, axis=1),
        )
        self.rng = random_numbers(model.random_state)

    def start(self) -> Array:
        """Return the votes, divided at random over the subtypes."""
        return starting_rho(self.votes(), self.n_subtypes, self.rng)

    def update(self, rho: Array) -> tuple[Array, Terms]:
        """Update q(τ) q(π) q(v), then ρ."""
        post = posterior_of(rho, self.answers, self.prior)
        return updated(post, self.answers, self.prior, self.gold)

    def learned(self, rho: Array) -> Learned:
        """Return the skills by subtype, and those by class for the reports."""
        post = posterior_of(rho, self.answers, self.prior)
        proba = rho.sum(-1)
        counts = self.rows + crowd.soft_counts(self.answers, proba)
        matrices = ConfusionMatrices(self.rows, counts)
        skills = Subtypes(
            matrices.with_doubt(self.answers, proba),
            self.prior.answers,
            post.answers,
            dirichlet.mean(post.subtypes),
        )
        return Learned(proba, dirichlet.mean(post.classes), skills)


@dataclass(eq=False, repr=False, kw_only=True)
class EBCC(LearnedByEM, Published, Aggregator):
    """Enhanced Bayesian classifier combination: annotators who err together.

    Each class has subtypes of items, such as easy and misleading ones, and each
    annotator has a row of the confusion matrix for every subtype. Of several random
    starts, the one with the highest bound is kept.

    Parameters
    ----------
    n_subtypes : int
        Subtypes of each class. With 1, this is BCC.
    subtype_pseudo_items : float
        Items of each class that are assumed before the answers, divided equally over
        its subtypes. Little of it leaves most subtypes empty.
    class_pseudo_items : float
        Items of each class that are assumed before the answers.
    annotator_prior : "published", "diagonal", "flat", array or mapping
        Dirichlet concentrations of the rows of all subtypes. "published" has four for
        the right answer and one for each wrong answer. Otherwise as in :class:`BCC`.
    n_starts : int
        Random starts.
    random_state : int, RandomState or None
        Seed of the starts.
    dependence, max_iter, tol, progress
        As in :class:`DawidSkene`; the loop for each start.

    Examples
    --------
    >>> from wisecrowd.annotations import Annotations
    >>> answers = Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0]])
    >>> EBCC().fit(answers).labels_.tolist()
    [0, 1, 0, 1]
    """

    n_subtypes: int = 10
    subtype_pseudo_items: float | int = 0.1
    class_pseudo_items: float | int = 1.0
    annotator_prior: Any = "published"
    n_starts: int = 5
    dependence: float | int | str | None = "learn"
    random_state: Any = 0
    max_iter: int = 500
    tol: float | int | None = 1e-6
    progress: bool | None = None

    method = MethodInfo(
        name="ebcc",
        needs="answers",
        learns="a distribution of confusion matrices for each subtype of the classes",
        paper="Li et al., *ICML* 2019",
        bibtex="""\
@inproceedings{li2019ebcc,
  author = {Li, Yuan and Rubinstein, Benjamin I. P. and Cohn, Trevor},
  title = {Exploiting worker correlation for label aggregation in crowdsourcing},
  booktitle = {Proceedings of the 36th International Conference on Machine Learning},
  pages = {3886--3895},
  year = {2019}
}""",
    )

    def _fit(self, annotations: Annotations) -> tuple[Learned, Trace]:
        self._check_settings()
        steps = EBCCSteps(annotations, self)
        ends = (
            self._climbed(steps, f"EBCC, start {s + 1} of {self.n_starts}")
            for s in range(int(self.n_starts))
        )
        rho, trace = max(ends, key=lambda end: end[1].last("bound"))
        return steps.learned(rho), trace

    def _check_settings(self) -> None:
        whole_number(self.n_subtypes, "n_subtypes", most=100_000)
        whole_number(self.n_starts, "n_starts")
        for name in ("subtype_pseudo_items", "class_pseudo_items"):
            crowd.check_pseudo_items(getattr(self, name), name)
