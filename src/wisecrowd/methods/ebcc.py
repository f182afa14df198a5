"""EBCC (Li, Rubinstein and Cohn 2019): classes with subtypes, by variational Bayes.

z ~ τ, the subtype g | z = k ~ π[k, :], y | z = k, g = m ~ v[a, k, m, :]. Annotators are
independent given the subtype, so given the class they may err together. With one
subtype it is BCC. Here class and subtype are one variable of C * M values, whose
confusion matrices are those of BCC.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._checks import number, random_numbers, whole_number
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.answers import Answers
from wisecrowd.base import Aggregator, Learned, Published
from wisecrowd.fit.em import climb, least_gain
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
    post: Posterior,
    answers: Answers,
    prior: Prior,
    gold: Int[np.ndarray, " N"],
) -> tuple[Float[np.ndarray, "N C M"], dict[str, float]]:
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
    terms = {
        "answers": float(np.vdot(rho, said)),
        "classes": float((rho @ log_class).sum()),
        "subtypes": float((rho @ log_subtype).sum()),
        "entropy": float(crowd.entropy(rho).sum()),
        "kl_classes": float(dirichlet.kl(post.classes, even)),
        "kl_subtypes": float(
            dirichlet.kl(post.subtypes, np.full(shape, prior.subtypes)).sum()
        ),
        "kl_annotators": float(dirichlet.kl(post.answers, prior.answers).sum()),
    }
    lost = [name for name in terms if name.startswith("kl_")]
    bound = sum(-v if name in lost else v for name, v in terms.items())
    return rho.reshape(joint.shape), {**terms, "bound": bound}


def starting_rho(
    votes: Float[np.ndarray, "N C"], n_subtypes: int, rng: np.random.RandomState
) -> Float[np.ndarray, "N C M"]:
    """Return the shares of the votes, divided at random over the subtypes."""
    part = rng.dirichlet(np.ones(n_subtypes), votes.shape)
    out: Array = part * votes[:, :, None]
    return out


class EBCC(Published, Aggregator):
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
    dependence : "learn", float or None
        How the labels are made at the end; see :class:`BCC`. None: the published
        posterior, which is far too sure on real crowds.
    max_iter, tol, progress
        As in :class:`DawidSkene`, for each start.

    Examples
    --------
    >>> from wisecrowd.annotations import Annotations
    >>> answers = Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0]])
    >>> EBCC().fit(answers).labels_.tolist()
    [0, 1, 0, 1]
    """

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

    def __init__(
        self,
        *,
        n_subtypes: int = 10,
        subtype_pseudo_items: float | int = 0.1,
        class_pseudo_items: float | int = 1.0,
        annotator_prior: Any = "published",
        n_starts: int = 5,
        dependence: float | int | str | None = "learn",
        random_state: Any = 0,
        max_iter: int = 500,
        tol: float | int | None = 1e-6,
        progress: bool | None = None,
    ) -> None:
        self.n_subtypes = n_subtypes
        self.subtype_pseudo_items = subtype_pseudo_items
        self.class_pseudo_items = class_pseudo_items
        self.annotator_prior = annotator_prior
        self.n_starts = n_starts
        self.dependence = dependence
        self.random_state = random_state
        self.max_iter = max_iter
        self.tol = tol
        self.progress = progress

    def _fit(self, annotations: Annotations) -> tuple[Learned, Trace]:
        self._check_settings()
        answers, gold = annotations.codes, annotations.gold_codes
        rows = self._rows(annotations)
        n_subtypes = int(self.n_subtypes)
        prior = Prior(
            float(self.class_pseudo_items),
            float(self.subtype_pseudo_items) / n_subtypes,
            np.repeat(rows, n_subtypes, axis=1),
        )
        votes = crowd.vote_proba(answers.votes(), gold)
        rng = random_numbers(self.random_state)
        tol = least_gain(self.tol, len(answers))

        def update(rho: Array) -> tuple[Array, dict[str, float]]:
            return updated(posterior_of(rho, answers, prior), answers, prior, gold)

        best, found = -np.inf, None
        for s in range(int(self.n_starts)):
            rho = starting_rho(votes, n_subtypes, rng)
            name = f"EBCC, start {s + 1} of {self.n_starts}"
            with Trace(name, self.max_iter, self.progress) as trace:
                rho = climb(update, rho, trace=trace, max_iter=self.max_iter, tol=tol)
            if found is None or trace.last("bound") > best:
                best, found = trace.last("bound"), (rho, trace)
        assert found is not None
        rho, trace = found
        return self._learned(rho, answers, prior, rows), trace

    def _learned(
        self, rho: Array, answers: Answers, prior: Prior, rows: Array
    ) -> Learned:
        post = posterior_of(rho, answers, prior)
        proba = rho.sum(-1)
        matrices = ConfusionMatrices(rows, rows + crowd.soft_counts(answers, proba))
        skills = Subtypes(
            matrices.with_doubt(answers, proba),
            prior.answers,
            post.answers,
            dirichlet.mean(post.subtypes),
        )
        return Learned(proba, dirichlet.mean(post.classes), skills)

    def _check_settings(self) -> None:
        whole_number(self.n_subtypes, "n_subtypes", most=100_000)
        whole_number(self.n_starts, "n_starts")
        for name in ("subtype_pseudo_items", "class_pseudo_items"):
            wanted = f"above 0 and at most {crowd.LARGEST_PRIOR:g}"
            number(
                getattr(self, name),
                name,
                wanted,
                lambda v: 0 < v <= crowd.LARGEST_PRIOR,
            )

    def _rows(self, annotations: Annotations) -> Array:
        shape = annotations.codes.shape[2:]
        spec = self.annotator_prior
        if isinstance(spec, str) and spec == "published":
            return published_prior(*shape)
        return crowd.annotator_prior(spec, annotations.annotators, *shape)
