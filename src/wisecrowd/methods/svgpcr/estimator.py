"""SVGPCR and SVGP as scikit-learn estimators: thin shells, free of JAX until a fit."""

from dataclasses import KW_ONLY, dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from wisecrowd._checks import InputError, listed, number, one_of, whole_number
from wisecrowd._records import Sizes
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.answers import Answers
from wisecrowd.base import (
    CrowdClassifier,
    Learned,
    Published,
    WithConfusionMatrices,
)
from wisecrowd.feature_source import FeatureSource, as_source, checked_features
from wisecrowd.fit.checkpoint import Checkpoint
from wisecrowd.fit.consensus import Agreed
from wisecrowd.fit.partners import partners
from wisecrowd.fit.processes import check_not_forked
from wisecrowd.fit.trace import Trace
from wisecrowd.fit.training import StepBudget, TrainingSettings
from wisecrowd.maths import crowd
from wisecrowd.maths.scaling import scaling
from wisecrowd.methods.svgpcr.record import SparseGP, check_kernel
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import ConfusionMatrices, Tally, Trusted

FEW_ITEMS = 20_000  # up to here, a fit takes fewer and larger steps
FASTER = 2  # so many times larger, and so many times fewer
ADAM_STEPS = 3000  # what the smallest crowd needs, where Adam learns everything
DEEP_PASSES = 6  # over a large crowd, with a network that was trained before


class LatentMoments(NamedTuple):
    """Mean and variance of the latent functions, (n, C) each."""

    mean: Array
    var: Array


class InducingPoints(NamedTuple):
    """Where the inducing points are, in the user's units, and their class."""

    points: Array
    classes: Array


# A dataclass only for its constructor, which scikit-learn reads the settings from.
@dataclass(eq=False, repr=False)
class SparseGPClassifier(TrainingSettings, CrowdClassifier):
    """What SVGPCR and SVGP share: the Gaussian process and its predictions."""

    n_inducing: int = 100
    _: KW_ONLY
    kernel: Any = "se"
    shared_kernel: bool = True
    link: Any = "softmax"
    epsilon: float | int | str | None = None
    natural_rate: float | int = 0.03
    dtype: str = "float32"

    fits_in_pieces = True

    @property
    def shares_steps(self) -> bool:
        """Whether several processes can share the steps of a fit."""
        deep = self.kernel == "deep" or getattr(self.kernel, "embeds", False)
        return not deep and getattr(self, "inference", "natural") == "natural"

    @property
    def epsilon_(self) -> float:
        """Robust max's epsilon, given or learned."""
        return self._gp().epsilon

    @property
    def sharpness_(self) -> float:
        """The exponent that calibrates predictions."""
        return self._gp().sharpness

    @property
    def jitter_(self) -> float:
        """The jitter that was needed, relative to the mean variance."""
        return self._gp().jitter

    def _gp(self) -> SparseGP:
        check_is_fitted(self)
        gp: SparseGP = self.learned_.classifier
        return gp

    # -- a fit ------------------------------------------------------------------

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of(self.dtype, ("float32", "float64"), "dtype")
        one_of(self.shared_kernel, (True, False), "shared_kernel")
        whole_number(self.n_inducing, "n_inducing")
        wanted = "above 0 and at most 1"
        number(self.natural_rate, "natural_rate", wanted, lambda v: 0 < v <= 1)

    def _budget(self, n_items: int) -> StepBudget:
        budget = super()._budget(n_items)
        if self.kernel == "deep" or getattr(self.kernel, "embeds", False):
            return budget._replace(most=DEEP_PASSES)
        return budget._replace(faster=FASTER) if n_items <= FEW_ITEMS else budget

    def _recipe(self, n_items: int, posterior: Any = "conditional") -> Any:
        """Return what is compiled; from here on JAX is used."""
        check_not_forked()
        from wisecrowd.methods.svgpcr.model import recipe_of

        model = self.kernel, self.link, self.epsilon, posterior
        return recipe_of(*model, self.shared_kernel, n_items)

    def _asked(
        self, X: Any, answers: Answers, gold: Array, posterior: Any, **more: Any
    ) -> tuple[Any, Any, Checkpoint]:
        """Return what a fit is given: its plan, its data, and where it is kept."""
        n_items, n_features = X.shape
        recipe, budget = self._recipe(n_items, posterior), self._budget(n_items)
        recipe.kernel.check(n_features)
        if recipe.kernel.embeds and isinstance(X, FeatureSource):
            raise InputError(
                "a network under the kernel learns from features in memory, and X is "
                "a source of features on disk. Choose another kernel, such as 'se', or "
                "read the features into memory: wisecrowd.read_features(path)."
            )
        from wisecrowd.methods.svgpcr.model import Data, SparsePlan

        keep = Checkpoint.of(self, X, answers, gold)
        scale = scaling(X, self.scaling)
        plan = SparsePlan(
            run=self._plan(n_items, partners().broadcast(keep.seed(self._seed()))),
            budget=budget,
            natural_rate=min(1.0, budget.faster * float(self.natural_rate)),
            learning_rate=budget.faster * float(self.learning_rate),
            recipe=recipe,
            scale=scale,
            n_inducing=int(self.n_inducing),
            dtype=self.dtype,
            **more,
        )
        features = as_source(X).changed(partial(scale.apply, dtype=self.dtype))
        return plan, Data(features, answers, gold), keep

    def _check_file(self, sizes: Sizes) -> None:
        check_kernel(self.kernel, self._gp(), sizes)

    # -- predictions ------------------------------------------------------------

    def latent_moments(self, X: Any) -> LatentMoments:
        """Return mean and variance of the C latent functions at new items, (n, C)."""
        gp, recipe = self._gp(), self._recipe(1)
        from wisecrowd.methods.svgpcr.model import latent_of_new

        table = checked_features(self, X, reset=False)
        return LatentMoments(*latent_of_new(recipe, gp, table, self.dtype))

    def inducing_points(self) -> InducingPoints:
        """Return the inducing points in the units of X, each with its class."""
        gp = self._gp()
        if "network" in gp.kernel:
            raise InputError(
                "the inducing points are outputs of the network under the kernel, and "
                "no items belong to them. learned_.classifier.inducing has them."
            )
        points = gp.scaling.undo(gp.inducing)
        classes = self.classes_[self.latent_moments(points).mean.argmax(1)]
        return InducingPoints(points, classes)

    def _predicted_by_process(self, X: Array) -> Array:
        """Return log p(z | x) by the Gaussian process alone, before the sharpness."""
        gp, recipe = self._gp(), self._recipe(1)
        from wisecrowd.methods.svgpcr.model import predictive

        with np.errstate(divide="ignore"):
            return np.log(predictive(recipe, gp, X, self.dtype))

    def _predict_proba(self, X: Array) -> Array:
        gp, said = self._gp(), self._predicted_by_process(X)
        if gp.beside is not None:
            said = gp.beside.log_proba(said, gp.scaling.apply(X, "float64"))
        return crowd.posterior(self.sharpness_ * said)[0]


@dataclass(eq=False, repr=False, kw_only=True)
class SVGPCR(Published, WithConfusionMatrices, SparseGPClassifier):
    """Sparse variational Gaussian processes for crowdsourcing.

    A classifier and the skill of every annotator, learned together from features and
    raw answers (Morales-Álvarez et al. 2022).

    Parameters
    ----------
    n_inducing : int
        Inducing points: more of them make a finer and slower classifier.
    kernel : str, Kernel or function
        "se", "se-ard", "matern32", "matern52", "linear", "linear+se"; a kernel of
        `wisecrowd.maths.gp.kernels`, or sums and products of them; a function
        k(x, y) of two points; or :class:`Deep`, a kernel on the output of a network
        ("deep": one hidden layer).
    shared_kernel : bool
        One kernel for all classes, or one for each class.
    link : "softmax", "robustmax", Softmax or RobustMax
        From latent functions to classes. Softmax suits classes that overlap; robust
        max, the paper's, is sharper where they do not.
    epsilon : float, "learn" or None
        Short for ``link=RobustMax(epsilon)``: the share of items whose class is not
        the one with the largest latent function. Only robust max has it; None is the
        link's own value, which is learned by default.
    scaling : {"auto", "each", "one", "none"}
        Divide each feature by its own standard deviation, or all by one number. "auto"
        uses one number if the standard deviations are similar.
    batch_size : int
        Items per step.
    max_epochs : int or None
        The most passes over the items. None: 20; 6 with a network under the kernel; 10
        with at most 20,000 items, or more if 10 passes are fewer than 150 steps.
    tol : float or None
        Convergence: when the bound gains less than this, in nats per item in 40 steps,
        the rates are lowered and the fit ends soon after. None: no early end.
    time_limit : float or None
        Seconds after which the fit should end. The rates are lowered in time for it.
    learning_rate, natural_rate : float
        Step sizes of Adam (kernel, inducing points) and of the natural gradient (q(U)).
        With at most 20,000 items, `inference` "natural" takes steps twice as large.
    dtype : {"float32", "float64"}
        Precision of arrays with a row per item. Matrices of inducing points always
        have 64 bits.
    random_state : int, RandomState or None
        Seed of the inducing points and of the batches.
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
    posterior : {"conditional", "factorised"}
        Family of the posterior: q(Z | F) q(F), or the paper's q(Z) q(F), whose bound
        is looser.
    annotator_prior : "learned", "flat", "diagonal", array or mapping
        Dirichlet concentrations of the annotators' rows; see :class:`BCC`.
    dependence : "learn", float or None
        The correlation of the mistakes of two answers on one item; see :class:`BCC`.
        0: annotators are independent. None: the labels are the posterior of the model
        itself, as published.
    networks : bool
        Whether eight small networks stand beside the Gaussian process: four learn from
        the labels, four from the answers one by one. What they say is averaged with
        what the process says. With softmax only, and not with `dependence` None.
    inference : {"natural", "adam"}
        "natural": closed-form updates of labels and annotators, natural gradients for
        q(U). "adam": the paper's inference. Adam learns all of it, from the votes.

    Attributes
    ----------
    epsilon_ : float
        Robust max's epsilon, given or learned.
    sharpness_ : float
        The exponent of the predicted probabilities, fitted to predictions of the
        training items without their own answers. With at most 2,000 items, three more
        fits make these predictions, each without the answers on a third of the items.
    jitter_ : float
        What was added to the diagonal of the inducing points' covariance, relative to
        its mean.
    n_features_in_ : int
        Number of features at the fit.
    feature_names_in_ : array
        Their names, where X was a DataFrame.

    Notes
    -----
    With its defaults this is an extension of the published method: softmax, a tighter
    bound, a learned prior, learned dependence and another inference.
    :meth:`as_published` is the paper's model with the paper's inference.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 30)
    >>> X = truth[:, None] + 0.3 * rng.normal(size=(30, 2))
    >>> wrong = rng.random((30, 3)) < [0.1, 0.2, 0.4]  # three annotators
    >>> answers = np.where(wrong, 1 - truth[:, None], truth[:, None])
    >>> model = SVGPCR(n_inducing=5, max_epochs=20).fit(X, answers)
    >>> bool((model.labels_ == truth).mean() > 0.9)
    True
    >>> model.predict([[0.0, 0.0], [1.0, 1.0]]).tolist()
    [0, 1]
    """

    posterior: Any = "conditional"
    annotator_prior: Any = "learned"
    dependence: float | int | str | None = "learn"
    networks: bool = True
    inference: str = "natural"

    method = MethodInfo(
        name="svgpcr",
        needs="features",
        learns="a distribution of confusion matrices, while a Gaussian process "
        "learns the classes",
        paper="Morales-Álvarez et al., *IEEE TPAMI* 44(3), 2022",
        bibtex="""\
@article{morales2022svgpcr,
  author = {Morales-{\\'A}lvarez, Pablo and Ruiz, Pablo and Coughlin, Scott and
    Molina, Rafael and Katsaggelos, Aggelos K.},
  title = {Scalable variational {G}aussian processes for crowdsourcing: glitch
    detection in {LIGO}},
  journal = {IEEE Transactions on Pattern Analysis and Machine Intelligence},
  volume = {44},
  number = {3},
  pages = {1534--1551},
  year = {2022}
}""",
    )

    @classmethod
    def as_published(cls, n_inducing: int = 100, **settings: Any) -> "SVGPCR":
        """Return the paper's model with the paper's inference.

        Robust max with epsilon 1e-3, a flat prior, independent annotators, the
        posterior q(Z) q(F), whose q(Z) are the labels, and Adam for everything, in
        batches of 1,000 items.

        The inference is part of the method. With ``inference="natural"`` the same model
        reaches about the same bound, but on some crowds with classes without items.
        """
        paper = {
            "link": "robustmax",
            "epsilon": 1e-3,
            "posterior": "factorised",
            "annotator_prior": "flat",
            "dependence": None,
            "inference": "adam",
        }
        chosen = {**paper, **settings}
        if chosen["inference"] == "adam":
            chosen = {"batch_size": 1000, "learning_rate": 0.01, **chosen}
        return cls(n_inducing, **chosen)

    def _budget(self, n_items: int) -> StepBudget:
        budget = super()._budget(n_items)
        if self.inference == "adam":
            return budget._replace(least_steps=ADAM_STEPS, faster=1)
        return budget

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of(self.inference, ("natural", "adam"), "inference")
        one_of(self.networks, (True, False), "networks")

    def _fit(self, X: Any, annotations: Annotations) -> tuple[Learned, Trace]:
        self._check_settings()
        self._check_dependence()
        answers, gold = annotations.codes, annotations.gold_codes
        before = ConfusionMatrices.before_answers(
            self.annotator_prior, annotations.annotators, *answers.shape[2:]
        )
        asked = self._asked(
            X,
            answers,
            gold,
            self.posterior,
            dependence=self.dependence,
            networks=self.networks,
        )
        from wisecrowd.methods.svgpcr import adam, start, train

        if self.inference == "adam":
            return adam.trained(*asked, before)
        first = cache(partial(start.start_of, annotations, self.annotator_prior))
        return train.trained(*asked, before, first)


@dataclass(eq=False, repr=False, kw_only=True)
class SVGP(SparseGPClassifier):
    """A sparse variational Gaussian process classifier for labels that are right.

    What :class:`SVGPCR` would be if its annotators never erred; the same code.
    Parameters and attributes are those of :class:`SVGPCR` that do not concern
    annotators. ``y`` is a one-dimensional target.

    Attributes
    ----------
    epsilon_, sharpness_, jitter_, n_features_in_, feature_names_in_
        As in :class:`SVGPCR`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> model = SVGP(n_inducing=5, max_epochs=20).fit(X, X[:, 0] > 0)
    >>> model.predict([[-1.0, 0.0], [1.0, 0.0]]).tolist()
    [False, True]
    """

    method = MethodInfo(
        name="svgp",
        needs="labels",
        learns="nothing: its labels are right",
        paper="Hensman et al., *AISTATS* 2015",
        bibtex="""\
@inproceedings{hensman2015svgp,
  author = {Hensman, James and Matthews, Alexander G. de G. and Ghahramani, Zoubin},
  title = {Scalable variational {G}aussian process classification},
  booktitle = {Proceedings of the 18th International Conference on Artificial
    Intelligence and Statistics},
  pages = {351--360},
  year = {2015}
}""",
    )

    def _fit(self, X: Any, annotations: Annotations) -> tuple[Learned, Trace]:
        self._check_settings()
        check_one_label(annotations)
        codes, gold = annotations.codes, annotations.gold_codes
        trusted = codes.some(gold[codes.item] < 0)  # gold comes first
        asked = self._asked(X, trusted, gold, "conditional")
        from wisecrowd.methods.svgpcr import start, train

        shape = codes.n_annotators, codes.n_classes, codes.n_answers
        trust = Trusted(Tally(np.zeros(shape), np.zeros(codes.n_annotators)))
        first = start.Start(Agreed(np.zeros((0, codes.n_classes)), trust), trust)
        return train.trained(*asked, trust, lambda: first)


def check_one_label(annotations: Annotations) -> None:
    """Refuse a crowd: SVGP has one right label per item."""
    who, n_answered = np.unique(annotations.annotator), len(np.unique(annotations.item))
    if len(who) > 1 or n_answered < len(annotations):
        raise InputError(
            f"SVGP learns from one right label per item, but there are "
            f"{len(annotations)} answers of {len(who)} annotators "
            f"({listed(annotations.annotators[who], 3)}) on {n_answered} items. Use "
            f"SVGPCR for a crowd."
        )


__all__ = ["SVGP", "SVGPCR", "InducingPoints"]
