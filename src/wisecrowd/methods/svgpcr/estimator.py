"""SVGPCR and SVGP as scikit-learn estimators."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from wisecrowd._checks import InputError, listed, number, one_of, whole_number
from wisecrowd._types import Array
from wisecrowd.base import CrowdClassifier, answer_matrix, checked_features
from wisecrowd.annotations import Annotations
from wisecrowd.fit.variational import Combined, combine
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, kernels, links, sparse_gp
from wisecrowd.maths.dependence import checked_dependence
from wisecrowd.methods.svgpcr import model
from wisecrowd.methods.svgpcr.annotators import Annotators
from wisecrowd.methods.svgpcr.model import Hyper, Recipe
from wisecrowd.methods.svgpcr.start import SCALINGS, Scaling, inducing_points, scaling
from wisecrowd.methods.svgpcr.training import (
    CHUNK_ITEMS,
    Schedule,
    Trained,
    train,
)

MIN_STEPS = 300  # what the smallest crowd needs
DEFAULT_PASSES = 20  # what the largest does


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
class GaussianProcessClassifier(CrowdClassifier):
    """What SVGPCR and SVGP share: the Gaussian process and its predictions."""

    n_inducing: int = 100
    _: KW_ONLY
    kernel: Any = "se"
    shared_kernel: bool = True
    link: str = "softmax"
    epsilon: float | str = "learn"
    scaling: str = "auto"
    batch_size: int = 500
    max_epochs: int | None = None
    tol: float | None = 1e-5
    time_limit: float | None = None
    learning_rate: float = 0.03
    natural_rate: float = 0.03
    dtype: str = "float32"
    random_state: Any = 0
    progress: bool | None = None

    def _learn(self, X: Array, annotators: Annotators, name: str) -> Trained:
        rng = check_random_state(self.random_state)
        scale = scaling(X, self.scaling)
        scaled = scale.apply(X, self.dtype)
        recipe = self._recipe(len(X), sparse_gp.JITTER)
        with jax.enable_x64(True):
            n_features, n_classes = X.shape[1], annotators.prior.shape[1]
            start = model.starting_kernel(recipe, n_features, n_classes)
            hyper = Hyper(
                start, jnp.asarray(inducing_points(scaled, int(self.n_inducing), rng))
            )
        schedule = self._schedule(len(X))
        with Trace(name, schedule.n_steps, self.progress) as trace:
            trained = train(
                recipe, hyper, scaled, annotators, self.epsilon, schedule, trace, rng
            )
        self._remember(trained, scale, trace)
        return trained

    def _remember(self, trained: Trained, scale: Scaling, trace: Trace) -> None:
        self.gp_: dict[str, Any] = {
            "shift": trained.natural.shift,
            "precision": trained.natural.precision,
            "inducing": trained.hyper.inducing,
            "kernel": trained.hyper.kernel,
            "centre": scale.centre,
            "spread": scale.spread,
        }
        self.jitter_ = trained.recipe.jitter
        self.epsilon_ = trained.epsilon
        self.sharpness_ = trained.sharpness
        self.dependence_ = trained.annotators.dependence
        self.label_proba_ = trained.proba
        self.class_prior_ = trained.proba.mean(0)
        self.trace_ = trace.frame()

    def _recipe(self, n_items: int, jitter: float) -> Recipe:
        return Recipe(
            kernel=as_kernel(self.kernel),
            link=self.link,
            factorised=getattr(self, "factorised", False),
            shared=self.shared_kernel,
            n_items=n_items,
            jitter=jitter,
        )

    def _schedule(self, n_items: int) -> Schedule:
        # Plain numbers: a grid's are NumPy's.
        batch = min(int(self.batch_size), n_items)
        passes = self.max_epochs
        if passes is None:
            passes = max(DEFAULT_PASSES, -(-MIN_STEPS * batch // n_items))
        return Schedule(
            n_steps=max(1, int(passes) * n_items // batch),
            batch_size=batch,
            natural_rate=float(self.natural_rate),
            learning_rate=float(self.learning_rate),
            tol=self.tol,
            time_limit=None if self.time_limit is None else float(self.time_limit),
        )

    def _check_settings(self) -> None:
        one_of(self.link, ("softmax", "robustmax"), "link")
        one_of(self.dtype, ("float32", "float64"), "dtype")
        one_of(self.scaling, SCALINGS, "scaling")
        as_kernel(self.kernel)
        whole_number(self.n_inducing, "n_inducing")
        whole_number(self.batch_size, "batch_size")
        wanted = "a number, at least 0"
        number(self.learning_rate, "learning_rate", wanted, lambda v: 0 <= v < np.inf)
        wanted = "above 0 and at most 1"
        number(self.natural_rate, "natural_rate", wanted, lambda v: 0 < v <= 1)
        if self.epsilon != "learn":
            wanted = "'learn' or between 0 and 1"
            number(self.epsilon, "epsilon", wanted, lambda v: 0 < v < 1)
        if self.max_epochs is not None:
            whole_number(self.max_epochs, "max_epochs")
        if self.tol is not None:
            number(self.tol, "tol", "at least 0, or None", lambda v: v >= 0)
        if self.time_limit is not None:
            wanted = "seconds above 0, or None"
            number(self.time_limit, "time_limit", wanted, lambda v: v > 0)

    # -- predictions ------------------------------------------------------------

    def latent_moments(self, X: Any) -> LatentMoments:
        """Return mean and variance of the C latent functions at new items, (n, C)."""
        check_is_fitted(self)
        table = checked_features(self, X, reset=False)
        return LatentMoments(*self._by_pieces(_latent, table))

    def inducing_points(self) -> InducingPoints:
        """Return the inducing points in the units of X, each with its class."""
        check_is_fitted(self)
        points = self._scaling().undo(self.gp_["inducing"])
        classes = self.classes_[self.latent_moments(points).mean.argmax(1)]
        return InducingPoints(points, classes)

    def _predict_proba(self, X: Array) -> Array:
        (proba,) = self._by_pieces(_predictive, X)
        with np.errstate(divide="ignore"):
            log_proba = self.sharpness_ * np.log(proba)
        return crowd.posterior(log_proba)[0]

    def _scaling(self) -> Scaling:
        return Scaling(self.gp_["centre"], self.gp_["spread"])

    def _by_pieces(self, function: Callable[..., Any], X: Array) -> list[Array]:
        """Return what a compiled function says of all items, piece by piece."""
        scaled = self._scaling().apply(X, self.dtype)
        recipe = self._recipe(1, self.jitter_)
        with jax.enable_x64(True):
            natural = sparse_gp.Natural(
                jnp.asarray(self.gp_["shift"]), jnp.asarray(self.gp_["precision"])
            )
            hyper = jax.tree.map(
                jnp.asarray, Hyper(self.gp_["kernel"], self.gp_["inducing"])
            )
            epsilon = jnp.asarray(self.epsilon_, self.dtype)
            out = [
                function(recipe, natural, hyper, jnp.asarray(piece), epsilon)
                for piece in _padded_pieces(scaled)
            ]
        parts = [
            np.concatenate([np.asarray(o[i]) for o in out]) for i in range(len(out[0]))
        ]
        return [part[: len(X)].astype(np.float64) for part in parts]


@dataclass(eq=False, repr=False, kw_only=True)
class SVGPCR(GaussianProcessClassifier):
    """Sparse variational Gaussian processes for crowdsourcing.

    A classifier and the skill of every annotator, learned together from features and
    raw answers (Morales-Álvarez et al. 2019), with closed-form updates of labels and
    annotators, natural gradients, and a tighter bound. ``link="robustmax",
    epsilon=1e-3, annotator_prior="flat", dependence=0, factorised=True`` is the
    paper's model.

    Parameters
    ----------
    n_inducing : int
        Inducing points: more of them make a finer and slower classifier.
    kernel : str, Kernel or function
        "se", "se-ard", "matern32", "matern52", "linear", "linear+se", sums and products
        of those in `wisecrowd.maths.gp.kernels`, or a function k(x, y) of two points.
    shared_kernel : bool
        One kernel for all classes, or one for each.
    link : {"softmax", "robustmax"}
        From latent functions to classes. Softmax copes with classes that overlap;
        robust max, the paper's, is sharper where they do not.
    epsilon : "learn" or float
        Robust max only: the share of items whose class is not the one with the largest
        latent function.
    annotator_prior : "learned", "flat", "diagonal", array or mapping
        Dirichlet concentrations of the annotators' rows; see :class:`BCC`.
    dependence : "learn" or float
        The correlation, given the class, of two answers on one item: real annotators
        err together. n answers are believed as n / (1 + dependence (n - 1)) would be;
        0 takes them as independent.
    factorised : bool
        True: the paper's q(Z) q(F), with a looser bound. False: q(Z | F) q(F).
    scaling : {"auto", "each", "one", "none"}
        Divide each feature by its own spread, or all by one; "auto" decides by whether
        their spreads are alike.
    batch_size : int
        Items a step.
    max_epochs : int or None
        The most passes over the items; None: 20, or more where the items are few.
    tol : float or None
        Stop early when the bound gains less than this many nats an item in 60 steps.
    time_limit : float or None
        Seconds after which to wind down.
    learning_rate, natural_rate : float
        Of Adam (kernel, inducing points) and of the natural gradient (q(U)).
    dtype : {"float32", "float64"}
        Precision of what is as long as a batch.
    random_state : int, RandomState or None
        Seed of the inducing points and of the batches.
    progress : bool or None
        Draw a progress bar; None: on a terminal.

    Attributes
    ----------
    gp_ : dict
        The Gaussian process: natural parameters, kernel, inducing points, scaling.
    epsilon_, sharpness_, dependence_, jitter_ : float
        Learned epsilon; the power that calibrates predictions; how far the answers on
        one item depend on one another; the jitter that was needed.
    n_features_in_ : int
        Features seen at the fit.
    feature_names_in_ : array
        Their names, where X was a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 200)
    >>> X = truth[:, None] + 0.3 * rng.normal(size=(200, 2))
    >>> wrong = rng.random((200, 3)) < [0.1, 0.3, 0.5]  # three annotators
    >>> model = SVGPCR(n_inducing=10).fit(X, np.where(wrong, 1 - truth[:, None],
    ...                                               truth[:, None]))
    >>> bool((model.labels_ == truth).mean() > 0.95)
    True
    >>> model.predict([[0.0, 0.0], [1.0, 1.0]]).tolist()
    [0, 1]
    """

    annotator_prior: Any = "learned"
    dependence: float | str = "learn"
    factorised: bool = False

    def _fit(self, X: Array, labels: Annotations) -> None:
        self._check_settings()
        checked_dependence(self.dependence)
        trained = self._learn(X, self._starting_annotators(labels), "SVGPCR")
        self.annotator_prior_ = trained.annotators.prior
        self.confusion_counts_ = trained.annotators.counts
        self._remember_doubt(labels)

    def _starting_annotators(self, labels: Annotations) -> Annotators:
        """Return what the answers alone say of the annotators: BCC."""
        n_classes, n_answers = labels.n_classes, len(labels.answers)
        answers = answer_matrix(labels)
        prior, hyper = crowd.prior_and_hyper(
            self.annotator_prior, labels.annotators, n_classes, n_answers
        )
        votes = labels.counts()[:, :n_classes]
        start = Combined(crowd.vote_proba(votes, labels.gold_codes), prior)
        with Trace("annotators", total=50, show=False) as trace:
            alone = combine(
                answers, start, labels.gold_codes, hyper,
                trace=trace, max_iter=50, tol=None,
            )  # fmt: skip
        learn = self.dependence == "learn"
        annotators = Annotators(
            answers, labels.gold_codes, alone.prior, alone.prior, hyper,
            dependence=0.0 if learn else float(self.dependence),
            learn_dependence=learn,
        )  # fmt: skip
        return annotators.learn(alone.proba)


class SVGP(GaussianProcessClassifier):
    """A sparse variational Gaussian process classifier for labels that are right.

    What :class:`SVGPCR` would be if its annotators never erred; the same code.
    Parameters and attributes are those of :class:`SVGPCR` that do not concern
    annotators. ``y`` is a one-dimensional target.

    Attributes
    ----------
    gp_, epsilon_, sharpness_, dependence_, jitter_, n_features_in_, feature_names_in_
        As in :class:`SVGPCR`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> SVGP(n_inducing=5).fit(X, X[:, 0] > 0).predict([[-0.5], [0.5]]).tolist()
    [False, True]
    """

    def _fit(self, X: Array, labels: Annotations) -> None:
        self._check_settings()
        known = _right_labels(labels)
        right = np.ones((1, labels.n_classes, len(labels.answers)))
        self._learn(X, Annotators(None, known, right, right, None), "SVGP")
        self.annotator_prior_ = right
        answers = answer_matrix(labels)
        seen = crowd.soft_counts(answers, self.label_proba_, right.shape[2])
        self.confusion_counts_ = right + seen
        self._remember_doubt(labels)


def _right_labels(labels: Annotations) -> Array:
    """Return the class of every item, -1 where there is none; gold comes first."""
    who, n_answered = np.unique(labels.annotator), len(np.unique(labels.item))
    if len(who) > 1 or n_answered < len(labels):
        raise InputError(
            f"SVGP learns from one right label an item, but there are {len(labels)} "
            f"answers of {len(who)} annotators "
            f"({listed(labels.annotators[who], 3)}) on {n_answered} items. Use "
            f"SVGPCR for a crowd."
        )
    said = np.full(len(labels.items), -1)
    names_a_class = labels.label < labels.n_classes  # and not "can't tell"
    said[labels.item[names_a_class]] = labels.label[names_a_class]
    return np.where(labels.gold_codes >= 0, labels.gold_codes, said)


def as_kernel(kernel: Any) -> kernels.Kernel:
    """Return a kernel from its name, from itself, or from a function of two points."""
    if isinstance(kernel, kernels.Kernel):
        return kernel
    if callable(kernel):
        return kernels.Given(kernel)
    one_of(kernel, kernels.KERNELS, "kernel")
    return kernels.KERNELS[kernel]


@partial(jax.jit, static_argnames="recipe")
def _latent(
    recipe: Recipe, natural: sparse_gp.Natural, hyper: Hyper, X: Any, epsilon: Any
) -> sparse_gp.Latent:
    return model.latent(recipe, natural, hyper, X)


@partial(jax.jit, static_argnames="recipe")
def _predictive(
    recipe: Recipe, natural: sparse_gp.Natural, hyper: Hyper, X: Any, epsilon: Any
) -> tuple[Any]:
    latent = model.latent(recipe, natural, hyper, X)
    return (links.predictive(model.states(recipe, latent, epsilon)),)


def _padded_pieces(X: Array) -> list[Array]:
    """Cut X into pieces of few different lengths, so that few are compiled."""
    pieces = [X[i : i + CHUNK_ITEMS] for i in range(0, len(X), CHUNK_ITEMS)]
    last = pieces[-1]
    full = CHUNK_ITEMS if len(pieces) > 1 else 1 << max(0, len(last) - 1).bit_length()
    pieces[-1] = np.concatenate([last, np.repeat(last[:1], full - len(last), axis=0)])
    return pieces


__all__ = ["SVGP", "SVGPCR", "InducingPoints"]
