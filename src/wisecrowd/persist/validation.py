"""Whether what a file says can be a fitted model: shapes, types, finite numbers.

A checksum shows that a file is as it was written, and not by whom. So everything that
predictions and tables use is checked against what the class needs, before it is used.
"""

from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from numbers import Integral
from types import UnionType
from typing import Any

import numpy as np
import pandas as pd

from wisecrowd._types import Array
from wisecrowd.base import CrowdClassifier, Learned, WithConfusionMatrices
from wisecrowd.maths.fourier_features import FourierProcess
from wisecrowd.maths.full_process import FullProcess
from wisecrowd.maths.logistic import Logistic
from wisecrowd.maths.pool import Pool
from wisecrowd.maths.scaling import Scaling
from wisecrowd.methods.crowd_em import CrowdEM
from wisecrowd.methods.gpep import EPProcess
from wisecrowd.methods.svgpcr.record import SparseGP
from wisecrowd.metrics.calibration import Calibration
from wisecrowd.persist import records
from wisecrowd.skills import (
    Ability,
    ByFeatures,
    CommonConfusions,
    ConfusionMatrices,
    LayerMatrices,
    Subtypes,
    Tally,
    Trusted,
    Votes,
)
from wisecrowd.skills.layers import Mixing

CLOSE = 1e-3  # how far a sum of probabilities may be from one, in 32 bits
MAX_SAMPLES = 100_000  # of a link: the memory of a prediction grows with them
MAX_COUNT = 1e15  # of answers and pseudo-answers: with more, tables would have NaN
MAX_SIZE = 1e30  # of any number: products of larger ones would be infinite
MAX_WEIGHT = 1e6  # of a network: its layers are multiplied, in 32 bits
MAX_LOG = 300.0  # of the kernel's variance and length-scale
Sizes = dict[str, int]


class Unfit(ValueError):
    """What was read cannot be a fitted model; the message says why."""


def check_model(model: Any) -> None:
    """Raise `Unfit` if a model could not have been fitted."""
    sizes = _check_vocabularies(model)
    learned = _attribute(model, "learned_", Learned)
    _attribute(model, "trace_", pd.DataFrame)
    _check_proba(learned.proba, "proba", (sizes["N"], sizes["C"]))
    _check_proba(learned.class_prior, "class_prior", (sizes["C"],))
    if isinstance(model, WithConfusionMatrices):
        _of_type(learned.skills, "skills", ConfusionMatrices)
    has_features = isinstance(model, CrowdClassifier)
    n_features = _attribute(model, "n_features_in_", int) if has_features else 0
    _check_record(learned.skills, "skills", sizes | {"D": n_features})
    if learned.calibration is not None:
        _check_calibration(_of_type(learned.calibration, "calibration", Calibration))
    if learned.pool is not None:
        _check_pool(_of_type(learned.pool, "pool", Pool), sizes)
    if hasattr(model, "easiness_"):
        _check_array(model.easiness_, "easiness_", (sizes["N"],), above=0.0)
    if isinstance(model, CrowdEM) or "sharpness_" in vars(model):
        _check_number(vars(model).get("sharpness_"), "sharpness_", 0.0, np.inf)
    if isinstance(model, CrowdClassifier):
        _check_classifier(model, learned.classifier, sizes)


def _check_calibration(found: Calibration) -> None:
    for name, value in found._asdict().items():
        least = -1.0 if name.startswith("overconfidence") else 0.0
        most = np.inf if name in {"n_gold", "log_loss"} else 1.0
        _check_number(value, name, least, most)


def _check_pool(pool: Pool, sizes: Sizes) -> None:
    for name in ("dependence", "votes", "explained"):
        _check_number(getattr(pool, name), name, 0.0, 1.0)
    for end in pool.between:
        _check_number(end, "between", 0.0, 1.0)
    for name in ("features", "exponent", "n_mean"):
        _check_number(getattr(pool, name), name, 0.0, MAX_COUNT)
    _check_array(pool.shift, "shift", (sizes["C"],), least=-MAX_LOG)
    _check_array(pool.lean, "lean", (sizes["A"],), least=-MAX_LOG)
    _check_array(pool.selective, "selective", (sizes["A"],), least=0.0)
    if max(np.abs(pool.shift).max(), np.abs(pool.lean).max()) > MAX_LOG:
        raise Unfit("shift or lean is out of range")
    if pool.selective.max() > 1:
        raise Unfit("selective is not a probability")


def _check_vocabularies(model: Any) -> Sizes:
    names = {"C": "classes_", "K": "answers_", "A": "annotators_", "N": "items_"}
    sizes = {}
    for axis, name in names.items():
        values = _attribute(model, name, np.ndarray)
        if values.ndim != 1 or not len(values) or values.dtype.kind not in "OUiubM":
            raise Unfit(f"{name} is not a list of names")
        if not pd.Index(values).is_unique:
            raise Unfit(f"{name} has a name twice")
        sizes[axis] = len(values)
    if not np.array_equal(model.answers_[: sizes["C"]], model.classes_):
        raise Unfit("the classes are not the first answers")
    n_answers = _attribute(model, "n_answers_", np.ndarray)
    _check_array(n_answers, "n_answers_", (sizes["A"],), least=0.0)
    return sizes


def _check_classifier(model: Any, classifier: Any, sizes: Sizes) -> None:
    n_features = _attribute(model, "n_features_in_", int)
    if n_features < 1:
        raise Unfit(f"n_features_in_ is {n_features}")
    names = getattr(model, "feature_names_in_", None)
    if names is not None and np.shape(names) != (n_features,):
        raise Unfit("feature_names_in_ does not name every feature")
    if hasattr(model, "_check_settings"):
        model._check_settings()
    samples = getattr(getattr(model, "link", None), "n_samples", 1)
    if not (isinstance(samples, int) and 1 <= samples <= MAX_SAMPLES):
        raise Unfit(f"the link has {samples} samples")
    _check_record(classifier, "classifier", sizes | {"D": n_features})
    if isinstance(classifier, SparseGP):
        kernel, sizes = model.kernel, sizes | {"D": n_features}
        if kernel == "deep" or hasattr(kernel, "n_outputs"):
            _check_deep_kernel(kernel, classifier, sizes)
        else:
            _check_kernel(kernel, classifier.kernel, sizes)


# -- records ------------------------------------------------------------------------


def _check_record(record: Any, name: str, sizes: Sizes) -> None:
    """Check a record by its own rule; of one without a rule, that it is finite."""
    if not records.is_record(record):
        raise Unfit(f"{name} is a {type(record).__name__}")
    rule = RULES.get(type(record).__name__)
    if rule is not None:
        rule(record, sizes)
        return
    for field, value in records.parts(record).items():
        if isinstance(value, np.ndarray):
            _check_array(value, field, value.shape)


def _check_confusion_matrices(skills: ConfusionMatrices, sizes: Sizes) -> None:
    n, table = sizes["A"], (sizes["C"], sizes["K"])
    n_priors = len(_of_type(skills.prior, "prior", np.ndarray))
    if n_priors not in (1, n):
        raise Unfit(f"prior has {n_priors} tables for {n} annotators")
    _check_counts(skills.prior, "prior", (n_priors, *table))
    _check_counts(skills.counts, "counts", (n, *table))
    _check_number(skills.doubt, "doubt", 0.0, 1.0)
    for name in ("hit_variance", "n_compared"):
        if getattr(skills, name) is not None:
            _check_array(getattr(skills, name), name, (n,), least=0.0)
    if skills.hyper is not None:
        _of_type(skills.hyper, "hyper", tuple)
        for value in skills.hyper:
            _check_array(value, "hyper", np.broadcast_shapes(np.shape(value), table))


def _check_by_features(skills: ByFeatures, sizes: Sizes) -> None:
    _check_tally(_of_type(skills.tally, "tally", Tally), sizes)
    _check_array(skills.weights, "weights", (sizes["A"], sizes["D"]))
    _check_array(skills.offset, "offset", (sizes["A"],))
    _check_scaling(skills.scaling, sizes["D"])
    if skills.features is not None:
        raise Unfit("the skills hold features of items")


def _check_subtypes(skills: Subtypes, sizes: Sizes) -> None:
    _check_record(skills.matrices, "matrices", sizes)
    shares = _of_type(skills.shares, "shares", np.ndarray)
    if shares.ndim != 2 or len(shares) != sizes["C"]:
        raise Unfit(f"shares has the shape {shares.shape}")
    _check_proba(shares, "shares", shares.shape)
    _check_array(shares, "shares", shares.shape, above=0.0)
    n_priors = len(_of_type(skills.prior, "prior", np.ndarray))
    if n_priors not in (1, sizes["A"]):
        raise Unfit(f"prior has {n_priors} tables for {sizes['A']} annotators")
    rows = (shares.size, sizes["K"])
    _check_counts(skills.prior, "prior", (n_priors, *rows))
    _check_counts(skills.counts, "counts", (sizes["A"], *rows))


def _check_tally(tally: Tally, sizes: Sizes) -> None:
    shape = (sizes["A"], sizes["C"], sizes["K"])
    _check_array(tally.table, "table", shape, least=-CLOSE)
    _check_not_too_many(tally.table, "table")
    _check_array(tally.hit_variance, "hit_variance", (sizes["A"],))


def _check_votes(skills: Votes | Trusted, sizes: Sizes) -> None:
    _check_tally(_of_type(skills.tally, "tally", Tally), sizes)


def _check_layer_matrices(skills: LayerMatrices, sizes: Sizes) -> None:
    _check_tally(_of_type(skills.tally, "tally", Tally), sizes)
    shape = (sizes["A"], sizes["C"], sizes["K"])
    _check_proba(skills.matrices, "matrices", shape)
    _check_array(skills.matrices, "matrices", shape, least=0.0)


def _check_common_confusions(skills: CommonConfusions, sizes: Sizes) -> None:
    _check_tally(_of_type(skills.tally, "tally", Tally), sizes)
    n, table = sizes["A"], (sizes["C"], sizes["K"])
    for name, shape in (("common", table), ("own", (n, *table))):
        _check_proba(getattr(skills, name), name, shape)
        _check_array(getattr(skills, name), name, shape, least=0.0)
    _check_array(skills.mean_share, "mean_share", (n,), least=0.0)
    if skills.mean_share.max() > 1:
        raise Unfit("mean_share has an entry above 1")
    mixing = _of_type(skills.mixing, "mixing", Mixing)
    hidden = np.shape(mixing.seen_bias)
    length = np.shape(mixing.item_bias)
    _check_array(mixing.seen, "seen", (sizes["D"], *hidden))
    _check_array(mixing.seen_bias, "seen_bias", hidden)
    _check_array(mixing.item, "item", (*hidden, *length))
    _check_array(mixing.item_bias, "item_bias", length)
    _check_array(mixing.annotator, "annotator", (n, *length))
    if (len(hidden), len(length)) != (1, 1):
        raise Unfit("the biases of mixing are not vectors")
    _check_scaling(skills.scaling, sizes["D"])
    if skills.features is not None:
        raise Unfit("the skills hold features of items")


def _check_ability(skills: Ability, sizes: Sizes) -> None:
    _check_array(skills.mean, "mean", (sizes["A"],))
    _check_array(skills.spread, "spread", (sizes["A"],), above=0.0)
    _check_number(skills.prior_spread, "prior_spread", 0.0, np.inf)
    _check_number(skills.easiness, "easiness", 0.0, np.inf)
    if (skills.n_classes, skills.n_answers) != (sizes["C"], sizes["K"]):
        raise Unfit("the abilities are of another number of classes")


def _check_gp(gp: SparseGP, sizes: Sizes) -> None:
    n_classes, n_features = sizes["C"], sizes["D"]
    n_inducing = len(_of_type(gp.inducing, "inducing", np.ndarray))
    n_coordinates = n_features
    if isinstance(gp.kernel, dict) and "network" in gp.kernel:
        n_coordinates = gp.inducing.shape[-1]  # of outputs: see _check_deep_kernel
    _check_array(gp.inducing, "inducing", (n_inducing, n_coordinates))
    _check_array(gp.shift, "shift", (n_classes, n_inducing))
    _check_array(gp.precision, "precision", (n_classes, n_inducing, n_inducing))
    for name in ("inducing", "shift", "precision"):
        if getattr(gp, name).dtype not in (np.float32, np.float64):
            raise Unfit(f"{name} has the type {getattr(gp, name).dtype}")
    _check_precision(gp.precision)
    _check_scaling(gp.scaling, n_features)
    _check_number(gp.jitter, "jitter", 0.0, 1.0)
    _check_number(gp.epsilon, "epsilon", 0.0, 1.0)
    _check_number(gp.sharpness, "sharpness", 0.0, np.inf)
    if gp.regression is not None:
        _check_record(gp.regression, "regression", sizes)
        _check_array(gp.exponents, "exponents", (2,), least=0.0)


def _check_precision(precision: Array) -> None:
    """Refuse matrices that are no inverse covariances."""
    if not precision.size:
        raise Unfit("precision is empty")
    largest = np.abs(precision).max()
    if not np.allclose(precision, np.swapaxes(precision, 1, 2), atol=1e-3 * largest):
        raise Unfit("precision is not symmetric")
    least = np.linalg.eigvalsh(precision.astype(np.float64)).min()
    if least <= 1e-12 * largest:
        raise Unfit("precision is not that of a covariance")


def _check_full_process(process: FullProcess, sizes: Sizes) -> None:
    n = len(_of_type(process.X, "X", np.ndarray))
    _check_array(process.X, "X", (n, sizes["D"]))
    _check_array(process.weights, "weights", (n,))
    _check_array(process.root, "root", (n,), least=0.0)
    _check_factor(process.factor, n)
    _check_log_kernel(process, sizes)


def _check_fourier_process(process: FourierProcess, sizes: Sizes) -> None:
    n = len(_of_type(process.frequencies, "frequencies", np.ndarray))
    _check_array(process.frequencies, "frequencies", (n, sizes["D"]))
    _check_array(process.weights, "weights", (2 * n,))
    _check_factor(process.factor, 2 * n)
    _check_log_kernel(process, sizes)


def _check_ep_process(process: EPProcess, sizes: Sizes) -> None:
    n = len(_of_type(process.items, "items", np.ndarray))
    _check_array(process.items, "items", (n, sizes["D"]))
    _check_array(process.precision, "precision", (n,))  # of either sign
    _check_array(process.shift, "shift", (n,))
    _check_log_kernel(process, sizes)


def _check_factor(factor: Array, n: int) -> None:
    _check_array(factor, "factor", (n, n))
    if (np.diagonal(factor) <= 0).any():
        raise Unfit("factor is not a Cholesky factor")


def _check_log_kernel(process: Any, sizes: Sizes) -> None:
    for name in ("log_variance", "log_scale"):
        _check_number(getattr(process, name), name, -MAX_LOG, MAX_LOG)
    _check_scaling(process.scaling, sizes["D"])


def _check_network(network: Any, sizes: Sizes) -> None:
    if network.n_classes != sizes["C"]:
        raise Unfit("the network has another number of classes")
    shapes = _shapes_of(network.architecture, sizes)
    weights = list(_of_type(network.weights, "weights", dict).values())
    if len(weights) != len(shapes):
        raise Unfit(f"the network has {len(weights)} arrays, not {len(shapes)}")
    for values, shape in zip(weights, shapes, strict=True):
        _check_array(values, "weights", shape)
        if (np.abs(values) > MAX_WEIGHT).any():
            raise Unfit(f"weights has an entry above {MAX_WEIGHT:g}")
    _check_scaling(network.scaling, sizes["D"])
    _check_number(network.temperature, "temperature", 0.0, np.inf)
    if not network.temperature:
        raise Unfit("temperature is 0")


def _shapes_of(architecture: Any, sizes: Sizes) -> list[tuple[int, ...]]:
    """Return the shapes of a network's arrays, without making the network."""
    kind = type(architecture).__name__ if records.is_record(architecture) else ""
    if kind == "MLP":
        hidden = _several(architecture.hidden, "hidden")
        return _linear_shapes((sizes["D"], *hidden, sizes["C"]))
    if kind != "ConvNet":
        raise Unfit(f"architecture is a {type(architecture).__name__}")
    net = architecture
    height, width, depth = (*_several(net.shape, "shape"), 1, 1, 1)[:3]
    channels = (depth, *_several(net.channels, "channels"))
    times, size = len(channels) - 1, _whole(net.kernel, "kernel")
    flat = (height >> times) * (width >> times) * channels[-1]
    shapes: list[tuple[int, ...]] = []
    for n_in, n_out in pairwise(channels):
        shapes += [(n_out, n_in, size, size), (n_out, 1, 1)]
    return shapes + _linear_shapes((flat, net.hidden, sizes["C"]))


def _linear_shapes(n_units: tuple[Any, ...]) -> list[tuple[int, ...]]:
    pairs = pairwise(_whole(n, "hidden") for n in n_units)
    return [shape for n_in, n in pairs for shape in ((n, n_in), (n,))]


def _several(values: Any, name: str) -> list[int]:
    return [_whole(n, name) for n in _of_type(values, name, tuple | list)]


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise Unfit(f"{name} has {value!r} instead of a whole number above 0")
    return int(value)


def _check_scaling(scaling: Any, n_features: int) -> None:
    for name, value in _of_type(scaling, "scaling", Scaling)._asdict().items():
        above = 0.0 if name == "spread" else None
        _check_array(value, name, (n_features,), above=above)


def _check_logistic(regression: Logistic, sizes: Sizes) -> None:
    _check_array(regression.weights, "weights", (sizes["D"], sizes["C"]))
    _check_array(regression.bias, "bias", (sizes["C"],))
    _check_scaling(regression.scaling, sizes["D"])


def _check_kernel(kernel: Any, params: Any, sizes: Sizes) -> None:
    """Check the parameters of a kernel, without JAX: by its name, or by its parts."""
    needed = {"log_variance"}
    if kernel == "linear+se" or hasattr(kernel, "left"):
        needed = {"left", "right"}
    elif hasattr(kernel, "shape") or (isinstance(kernel, str) and kernel != "linear"):
        needed = {"log_scale", "log_variance"}
    if not isinstance(params, dict) or set(params) != needed:
        raise Unfit("the parameters are not those of the kernel")
    for name, value in params.items():
        if needed == {"left", "right"}:
            part = getattr(kernel, name, "linear" if name == "left" else "se")
            _check_kernel(part, value, sizes)
            continue
        shape = np.shape(_of_type(value, name, np.ndarray))
        first, rest = shape[:1], shape[1:]
        if first not in ((1,), (sizes["C"],)) or rest not in ((), (sizes["D"],)):
            raise Unfit(f"{name} has the shape {shape}")
        _check_array(value, name, shape)


def _check_deep_kernel(kernel: Any, gp: SparseGP, sizes: Sizes) -> None:
    """Check the network under a kernel, and the kernel on its output."""
    # By its name: only who loads a network needs JAX, and the other readers do not.
    kernels: Any = import_module("wisecrowd.maths.gp.kernels")
    deep: Any = kernels.as_kernel(kernel)
    deep.check(sizes["D"])
    expected, found = deep.start(sizes["D"]), gp.kernel
    if not isinstance(found, dict) or found.keys() != expected.keys():
        raise Unfit("the parameters are not those of a kernel with a network")
    for part in ("network", "units"):
        if not isinstance(found[part], dict) or found[part].keys() != set(
            expected[part]
        ):
            raise Unfit(f"the parameters do not have the {part} of the kernel")
        for name, value in found[part].items():
            above = 0.0 if name == "spread" else None
            _check_array(value, name, np.shape(expected[part][name]), above=above)
            if part == "network" and (np.abs(value) > MAX_WEIGHT).any():
                raise Unfit(f"the network has a weight above {MAX_WEIGHT:g}")
    _check_array(gp.inducing, "inducing", (len(gp.inducing), deep.n_outputs))
    _check_kernel(deep.kernel, found["kernel"], sizes | {"D": deep.n_outputs})


RULES: dict[str, Callable[[Any, Sizes], None]] = {
    "Ability": _check_ability,
    "ByFeatures": _check_by_features,
    "CommonConfusions": _check_common_confusions,
    "ConfusionMatrices": _check_confusion_matrices,
    "EPProcess": _check_ep_process,
    "FourierProcess": _check_fourier_process,
    "FullProcess": _check_full_process,
    "LayerMatrices": _check_layer_matrices,
    "Network": _check_network,
    "Logistic": _check_logistic,
    "SparseGP": _check_gp,
    "Subtypes": _check_subtypes,
    "Tally": _check_tally,
    "Trusted": _check_votes,
    "Votes": _check_votes,
}
"""What the arrays of each record have to be, by its name: networks know JAX."""


# -- values -------------------------------------------------------------------------


def _attribute(model: Any, name: str, kind: type) -> Any:
    if not hasattr(model, name):
        raise Unfit(f"{name} is missing")
    return _of_type(getattr(model, name), name, kind)


def _of_type(value: Any, name: str, kind: type | UnionType) -> Any:
    if not isinstance(value, kind):
        wanted = getattr(kind, "__name__", kind)
        raise Unfit(f"{name} is a {type(value).__name__}, not a {wanted}")
    return value


def _check_array(
    values: Any,
    name: str,
    shape: tuple[int, ...],
    *,
    least: float | None = None,
    above: float | None = None,
) -> None:
    _of_type(values, name, np.ndarray)
    if values.shape != shape:
        raise Unfit(f"{name} has the shape {values.shape}, not {shape}")
    if values.dtype.kind not in "fiub":
        raise Unfit(f"{name} has the type {values.dtype}")
    if not np.isfinite(values).all():
        raise Unfit(f"{name} has an entry that is not finite")
    if values.dtype.kind == "f" and (np.abs(values) > MAX_SIZE).any():
        raise Unfit(f"{name} has an entry above {MAX_SIZE:g}")
    if least is not None and (values < least).any():
        raise Unfit(f"{name} has an entry below {least:g}")
    if above is not None and (values <= above).any():
        raise Unfit(f"{name} has an entry that is not above {above:g}")


def _check_counts(values: Array, name: str, shape: tuple[int, ...]) -> None:
    _check_array(values, name, shape, above=0.0)
    _check_not_too_many(values, name)


def _check_not_too_many(values: Array, name: str) -> None:
    if (values > MAX_COUNT).any():
        raise Unfit(f"{name} has an entry above {MAX_COUNT:g}")


def _check_proba(values: Array, name: str, shape: tuple[int, ...]) -> None:
    _check_array(values, name, shape, least=-CLOSE)
    if (abs(values.sum(-1) - 1) > CLOSE * shape[-1]).any():
        raise Unfit(f"{name} does not sum to one")


def _check_number(value: Any, name: str, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise Unfit(f"{name} is a {type(value).__name__}")
    if not (least <= value <= most and np.isfinite(value)):
        raise Unfit(f"{name} is {value}")
