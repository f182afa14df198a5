"""AggNet (Albarqouni et al. 2016): a network and a confusion matrix each, by EM.

The model is Raykar's, with a network in the place of the regression. The E-step is
q(z) ∝ p(z | x) exp(Σ E log R[a, z, y]); it is normalised, in logs, for any number of
annotators and answers. The annotators have Dirichlet priors and posteriors.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.answers import Answers
from wisecrowd.base import WithConfusionMatrices
from wisecrowd.maths import crowd
from wisecrowd.methods.deep.shared import NetworkClassifier
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import ConfusionMatrices


class Annotators(NamedTuple):
    """Dirichlet concentrations, and what the answers say about every item with them."""

    prior: Float[np.ndarray, "P C K"]
    counts: Float[np.ndarray, "A C K"]
    evidence: Float[np.ndarray, "N C"]


@dataclass(frozen=True, eq=False)
class EvidenceOfAnswers:
    """The crowd of AggNet: see :class:`~wisecrowd.fit.deep.Crowd`.

    `before` is the prior as the skill of everybody. The annotators are learned from the
    answers `taught`. Gold rules out all other classes.
    """

    before: ConfusionMatrices
    answers: Answers
    taught: Answers
    gold: Int[np.ndarray, " N"]
    learns: bool = True

    def skills(self, learned: Annotators) -> ConfusionMatrices:
        """Return the skills that have these concentrations."""
        return replace(self.before, prior=learned.prior, counts=learned.counts)

    def learned_from(
        self, skills: ConfusionMatrices, proba: Float[np.ndarray, "N C"]
    ) -> Annotators:
        """Return the annotators for these class probabilities, with their evidence."""
        skills = skills.learned_from(self.taught, proba)
        said = crowd.evidence_per_item(self.answers, np.log(skills.confusion()))
        said = crowd.clamped(said, self.gold).astype(np.float32)
        return Annotators(skills.prior, skills.counts, said)

    def start(self) -> Annotators:
        """Return what the votes say about the annotators."""
        votes = crowd.vote_proba(self.answers.votes(), self.gold)
        return self.learned_from(self.before, votes)

    def given(self, learned: Annotators, items: Int[np.ndarray, "T B"]) -> Array:
        """Return the evidence about the items."""
        return learned.evidence[items]

    def after_pass(
        self, learned: Annotators, log_proba: Float[np.ndarray, "N C"]
    ) -> Annotators:
        """Return the annotators for the E-step of these predictions."""
        proba, _ = crowd.posterior(log_proba + learned.evidence)
        return self.learned_from(self.skills(learned), proba)


@dataclass(eq=False, repr=False, kw_only=True)
class AggNet(WithConfusionMatrices, NetworkClassifier):
    """AggNet: a neural network learned together with confusion matrices, by EM.

    Parameters
    ----------
    network : "mlp", "conv", record, module or function
        "mlp" is ``MLP()``: 128 relu units, dropout .5. "conv" is ``ConvNet`` for
        square images. Also records such as ``MLP(hidden=(64, 32))`` and
        ``ConvNet(shape=(28, 28))``, an Equinox module that makes C logits from one row
        of X, or a function (n_features, n_classes, key) that returns one.
    scaling : {"auto", "each", "one", "none"}
        Divide each feature by its own standard deviation, or all by one number. "auto"
        uses one number if the standard deviations are similar.
    batch_size : int
        Items per step.
    max_epochs : int or None
        The most passes over the items. None: 20, or more where the items are few.
    tol : float or None
        Convergence: when the log-likelihood of held-out answers gains less than this,
        in nats per item in 40 steps, the rates are lowered and the fit ends soon after.
        None: no early end.
    time_limit : float or None
        Seconds after which the fit should end. The rates are lowered in time for it.
    learning_rate : float
        Step size of Adam.
    held_out : float
        The share of items whose answers are held out. The network that makes them
        likeliest is kept. If that would be fewer than 20 items, none are held out.
    temperature : {"auto", None}
        Whether to divide the logits by a number that makes the held-out answers
        likeliest.
    dependence : "learn", float or None
        How the labels are made at the end; see :class:`BCC`. None: the published
        posterior, which is far too sure on real crowds.
    random_state : int, RandomState or None
        Seed of the weights, of dropout, of the batches and of the held-out items.
    progress : bool or None
        Whether to draw a progress bar. None: on a terminal.
    checkpoint : path or None
        File in which the state of the fit is kept while it runs. It is deleted when
        the fit is complete.
    checkpoint_seconds : float
        The least time between two checkpoints.
    resume : bool
        Whether to continue from the checkpoint, if there is one. The data and the
        settings must be the same.
    annotator_prior : "learned", "flat", "diagonal", array or mapping
        Dirichlet concentrations of the annotators' rows; see :class:`BCC`.

    Attributes
    ----------
    network_ : Network
        The fitted network: architecture, weights, scaling and temperature.
    temperature_ : float
        What the logits are divided by.
    n_features_in_ : int
        Number of features at the fit.
    feature_names_in_ : array
        Their names, where X was a DataFrame.

    Notes
    -----
    With its defaults this is an extension of the published method: a learned prior of
    the annotators, a temperature, and labels that take shared mistakes into account.
    :meth:`as_published` is the paper's.

    The bound in the trace is the log-likelihood of the held-out answers. A model with a
    module or a function of your own cannot be saved by ``wc.save``, which writes no
    pickles.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 60)
    >>> X = truth[:, None] + 0.3 * rng.normal(size=(60, 2))
    >>> wrong = rng.random((60, 3)) < [0.1, 0.2, 0.4]  # three annotators
    >>> answers = np.where(wrong, 1 - truth[:, None], truth[:, None])
    >>> model = AggNet(max_epochs=100).fit(X, answers)
    >>> bool((model.labels_ == truth).mean() > 0.9)
    True
    """

    annotator_prior: Any = "learned"

    published: ClassVar[dict[str, Any]] = {
        "annotator_prior": "flat",
        "temperature": None,
        "dependence": None,
    }
    method = MethodInfo(
        name="aggnet",
        needs="features",
        learns="a confusion matrix, while a neural network learns the classes",
        paper="Albarqouni et al., *IEEE TMI* 35(5), 2016",
        bibtex="""\
@article{albarqouni2016aggnet,
  author = {Albarqouni, Shadi and Baur, Christoph and Achilles, Felix and Belagiannis,
    Vasileios and Demirci, Stefanie and Navab, Nassir},
  title = {{AggNet}: deep learning from crowds for mitosis detection in breast cancer
    histology images},
  journal = {IEEE Transactions on Medical Imaging},
  volume = {35},
  number = {5},
  pages = {1313--1321},
  year = {2016}
}""",
    )

    def _recipe(
        self, annotations: Annotations, answers: Answers, items: Any, batch_size: int
    ) -> Any:
        from wisecrowd.fit.deep import Rates, Recipe
        from wisecrowd.maths.deep.layers import Marginal

        before = ConfusionMatrices.before_answers(
            self.annotator_prior, annotations.annotators, *answers.shape[2:]
        )
        taught = answers.some(np.isin(answers.item, items.train))
        people = EvidenceOfAnswers(before, answers, taught, annotations.gold_codes)
        rate = float(self.learning_rate)
        return Recipe(Marginal(), people, Rates(rate, rate))

    def _learned_skills(
        self, recipe: Any, found: Any, answers: Answers, X: Array
    ) -> Any:
        return recipe.crowd.skills(found.crowd)

    def _evidence(self, skills: Any, answers: Answers) -> Float[np.ndarray, "N C"]:
        """Σ log R[a, c, y], R = the posterior mean of the matrices."""
        return crowd.evidence_per_item(answers, np.log(skills.confusion()))

    def _counted(
        self, skills: Any, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> Any:
        counts = crowd.soft_counts(answers, proba)
        return skills.with_statistics(counts).with_doubt(answers, proba)
