"""SVGPCR and SVGP as scikit-learn estimators."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from wisecrowd._checks import InputError, listed, one_of
from wisecrowd._types import Array
from wisecrowd.base import CrowdClassifier, answer_matrix, checked_features
from wisecrowd.data.annotations import Annotations
from wisecrowd.fit.combination import Combined, combine
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, kernels, links, sparse_gp
from wisecrowd.methods.svgpcr import model
from wisecrowd.methods.svgpcr.model import Hyper, Recipe
from wisecrowd.methods.svgpcr.start import Scaling, inducing_points, scaling
from wisecrowd.methods.svgpcr.training import (
    CHUNK_ITEMS,
    Annotators,
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


class GaussianProcessClassifier(CrowdClassifier):
    """What SVGPCR and SVGP share: the Gaussian process and its predictions."""

    n_inducing: int
    kernel: Any
    shared_kernel: bool
    link: str
    epsilon: float | str
    scaling: str
    batch_size: int
    max_epochs: int | None
    tol: float | None
    time_limit: float | None
    learning_rate: float
    natural_rate: float
    dtype: str
    random_state: Any
    progress: bool | None

    def _learn(self, X: Array, annotators: Annotators, name: str) -> Trained:
        self._check_settings()
        rng = check_random_state(self.random_state)
        scale = scaling(X, self.scaling)
        scaled = scale.apply(X, self.dtype)
        recipe = self._recipe(len(X))
        with jax.enable_x64(True):
            n_features, n_classes = X.shape[1], annotators.prior.shape[1]
            start = model.starting_kernel(recipe, n_features, n_classes)
            hyper = Hyper(
                start, jnp.asarray(inducing_points(scaled, self.n_inducing, rng))
            )
        schedule = self._schedule(len(X))
        with Trace(name, -(-schedule.n_steps // 100) * 100, self.progress) as trace:
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
        self.label_proba_ = trained.proba
        self.class_prior_ = trained.proba.mean(0)
        self.trace_ = trace.frame()

    def _recipe(self, n_items: int) -> Recipe:
        return Recipe(
            kernel=as_kernel(self.kernel),
            link=self.link,
            factorised=getattr(self, "factorised", False),
            shared=self.shared_kernel,
            n_items=n_items,
            jitter=getattr(self, "jitter_", sparse_gp.JITTER),
        )

    def _schedule(self, n_items: int) -> Schedule:
        batch = min(self.batch_size, n_items)
        passes = self.max_epochs
        if passes is None:
            passes = max(DEFAULT_PASSES, -(-MIN_STEPS * batch // n_items))
        return Schedule(
            n_steps=max(1, passes * n_items // batch),
            batch_size=batch,
            natural_rate=self.natural_rate,
            learning_rate=self.learning_rate,
            tol=self.tol,
            time_limit=self.time_limit,
        )

    def _check_settings(self) -> None:
        one_of(self.link, ("softmax", "robustmax"), "link")
        one_of(self.dtype, ("float32", "float64"), "dtype")
        if self.epsilon != "learn" and not (
            isinstance(self.epsilon, float) and 0 < self.epsilon < 1
        ):
            raise InputError(
                f"epsilon={self.epsilon!r} is neither 'learn' nor between 0 and 1."
            )
        for name in ("n_inducing", "batch_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}={getattr(self, name)!r} must be at least 1.")
        if self.max_epochs is not None and self.max_epochs < 1:
            raise InputError(f"max_epochs={self.max_epochs!r} must be at least 1.")

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
        recipe = self._recipe(1)
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


class SVGPCR(GaussianProcessClassifier):
    """Sparse variational Gaussian processes for crowdsourcing.

    A classifier and the skill of every annotator, learned together from features and
    raw answers (Morales-Álvarez et al. 2019), with closed-form updates of labels and
    annotators, natural gradients, and a tighter bound. ``link="robustmax",
    epsilon=1e-3, annotator_prior="flat", factorised=True`` is the paper's model.

    Parameters
    ----------
    n_inducing : int
        Inducing points: more of them make a finer and slower classifier.
    kernel : str, Kernel or function
        "se", "se-ard", "matern32", "matern52", "linear", "linear+se", sums and products
        of those in `wisecrowd.maths.kernels`, or a function k(x, y) of two points.
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
    epsilon_, sharpness_, jitter_ : float
        Learned epsilon; the power that calibrates predictions; the jitter that was
        needed.
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

    def __init__(
        self,
        n_inducing: int = 100,
        *,
        kernel: Any = "se",
        shared_kernel: bool = True,
        link: Literal["softmax", "robustmax"] = "softmax",
        epsilon: float | str = "learn",
        annotator_prior: Any = "learned",
        factorised: bool = False,
        scaling: Literal["auto", "each", "one", "none"] = "auto",
        batch_size: int = 500,
        max_epochs: int | None = None,
        tol: float | None = 1e-5,
        time_limit: float | None = None,
        learning_rate: float = 0.03,
        natural_rate: float = 0.03,
        dtype: Literal["float32", "float64"] = "float32",
        random_state: Any = 0,
        progress: bool | None = None,
    ) -> None:
        self.n_inducing = n_inducing
        self.kernel = kernel
        self.shared_kernel = shared_kernel
        self.link = link
        self.epsilon = epsilon
        self.annotator_prior = annotator_prior
        self.factorised = factorised
        self.scaling = scaling
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.tol = tol
        self.time_limit = time_limit
        self.learning_rate = learning_rate
        self.natural_rate = natural_rate
        self.dtype = dtype
        self.random_state = random_state
        self.progress = progress

    def _fit(self, X: Array, labels: Annotations) -> None:
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
        annotators = Annotators(
            answers, labels.gold_codes, alone.prior, alone.prior, hyper
        )
        return annotators.learn(alone.proba)


class SVGP(GaussianProcessClassifier):
    """A sparse variational Gaussian process classifier for labels that are right.

    What :class:`SVGPCR` would be if its annotators never erred; the same code.
    Parameters and attributes are those of :class:`SVGPCR` that do not concern
    annotators. ``y`` is a one-dimensional target.

    Attributes
    ----------
    gp_, epsilon_, sharpness_, jitter_, n_features_in_, feature_names_in_
        As in :class:`SVGPCR`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> SVGP(n_inducing=5).fit(X, X[:, 0] > 0).predict([[-0.5], [0.5]]).tolist()
    [False, True]
    """

    def __init__(
        self,
        n_inducing: int = 100,
        *,
        kernel: Any = "se",
        shared_kernel: bool = True,
        link: Literal["softmax", "robustmax"] = "softmax",
        epsilon: float | str = "learn",
        scaling: Literal["auto", "each", "one", "none"] = "auto",
        batch_size: int = 500,
        max_epochs: int | None = None,
        tol: float | None = 1e-5,
        time_limit: float | None = None,
        learning_rate: float = 0.03,
        natural_rate: float = 0.03,
        dtype: Literal["float32", "float64"] = "float32",
        random_state: Any = 0,
        progress: bool | None = None,
    ) -> None:
        self.n_inducing = n_inducing
        self.kernel = kernel
        self.shared_kernel = shared_kernel
        self.link = link
        self.epsilon = epsilon
        self.scaling = scaling
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.tol = tol
        self.time_limit = time_limit
        self.learning_rate = learning_rate
        self.natural_rate = natural_rate
        self.dtype = dtype
        self.random_state = random_state
        self.progress = progress

    def _fit(self, X: Array, labels: Annotations) -> None:
        if len(labels.annotators) > 1 or len(labels) > len(labels.items):
            raise InputError(
                f"SVGP learns from one right label an item, but there are answers of "
                f"{len(labels.annotators)} annotators "
                f"({listed(labels.annotators, 3)}). Use SVGPCR for a crowd."
            )
        gold = labels.gold_codes.copy()
        gold[labels.item] = labels.label
        right = np.ones((1, labels.n_classes, len(labels.answers)))
        self._learn(X, Annotators(None, gold, right, right, None), "SVGP")
        self.annotator_prior_ = right
        answers = answer_matrix(labels)
        seen = crowd.soft_counts(answers, self.label_proba_, right.shape[2])
        self.confusion_counts_ = right + seen
        self._remember_doubt(labels)


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
