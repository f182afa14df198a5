"""Whether what a file says can be a fitted model: shapes, types, finite numbers.

A checksum shows that a file is as it was written, and not by whom. So everything that
predictions and tables use is checked against what the class needs, before it is used.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import pairwise
from numbers import Integral
from types import UnionType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from wisecrowd._types import Array
from wisecrowd.base import CrowdClassifier, Learned, WithConfusionMatrices
from wisecrowd.maths.pool import Pool
from wisecrowd.maths.scaling import Scaling
from wisecrowd.methods.crowd_em import CrowdEM
from wisecrowd.methods.svgpcr.record import Beside, Networks, SparseGP
from wisecrowd.metrics.calibration import Calibration
from wisecrowd.persist import records
from wisecrowd.skills import (
    Ability,
    ConfusionMatrices,
    Tally,
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
    for name, kind in (("calibration", Calibration), ("pool", Pool)):
        if getattr(learned, name) is not None:
            _check_record(_of_type(getattr(learned, name), name, kind), name, sizes)
    if hasattr(model, "easiness_"):
        _check_array(model.easiness_, "easiness_", (sizes["N"],), above=0.0)
    if isinstance(model, CrowdEM) or "sharpness_" in vars(model):
        _check_number(vars(model).get("sharpness_"), "sharpness_", 0.0, np.inf)
    if isinstance(model, CrowdClassifier):
        _check_classifier(model, learned.classifier, sizes)


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


class Rule(NamedTuple):
    """What a field of a record has to be.

    Attributes
    ----------
    axes : str or None
        The axes of an array, a letter each; None for a number. An axis that the model
        does not know has the size that the first array gives it. P is 1 or A.
    least, above, most
        The limits of the numbers.
    sums : bool
        Whether rows sum to one.
    or_none : bool
        Whether the field may be empty.
    """

    axes: str | None = None
    least: float | None = None
    above: float | None = None
    most: float = MAX_SIZE
    sums: bool = False
    or_none: bool = False


def _check_record(record: Any, name: str, sizes: Sizes) -> None:
    """Check a record by its fields; of an unknown one, that its arrays are finite."""
    if not records.is_record(record):
        raise Unfit(f"{name} is a {type(record).__name__}")
    kind = type(record).__name__
    if kind in FIELDS:
        sizes = sizes | (DERIVED[kind](record) if kind in DERIVED else {})
        for field, rule in FIELDS[kind].items():
            _check_field(getattr(record, field), field, rule, sizes)
    elif kind not in RULES:
        for field, value in records.parts(record).items():
            if isinstance(value, np.ndarray):
                _check_array(value, field, value.shape)
    if kind in RULES:
        RULES[kind](record, sizes)


def _check_field(value: Any, name: str, rule: Rule | type | None, sizes: Sizes) -> None:
    if rule is None:
        if value is not None:
            raise Unfit(f"{name} is not empty: the skills hold features of items")
    elif isinstance(rule, type):
        _check_record(_of_type(value, name, rule), name, sizes)
    elif value is None and rule.or_none:
        return
    elif rule.axes is None:
        least = -np.inf if rule.least is None else rule.least
        _check_number(value, name, least, rule.most)
    else:
        shape = _shape(rule.axes, np.shape(_of_type(value, name, np.ndarray)), sizes)
        how: Any = {"least": rule.least, "above": rule.above, "most": rule.most}
        _check_array(value, name, shape, **how)
        if rule.sums:
            _check_sums(value, name)


def _shape(axes: str, found: tuple[int, ...], sizes: Sizes) -> tuple[int, ...]:
    """Return the shape that an array should have; new axes are as they are."""
    for axis, n in zip(axes, found, strict=False):
        if axis == "P":
            sizes["P"] = n if n == 1 else sizes["A"]
        sizes.setdefault(axis, n)
    return tuple(sizes.get(axis, 0) for axis in axes)


def _check_hyperprior(skills: ConfusionMatrices, sizes: Sizes) -> None:
    if skills.hyper is not None:
        table = (sizes["C"], sizes["K"])
        for value in _of_type(skills.hyper, "hyper", tuple):
            _check_array(value, "hyper", np.broadcast_shapes(np.shape(value), table))


def _check_interval(pool: Pool, _: Sizes) -> None:
    for end in pool.between:
        _check_number(end, "between", 0.0, 1.0)


def _check_abilities(skills: Ability, sizes: Sizes) -> None:
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
    if gp.beside is not None:
        beside = _of_type(gp.beside, "beside", Beside)
        _check_field(beside.networks, "networks", Networks, sizes)
        _check_array(beside.exponents, "exponents", (2,), least=0.0)
        _check_number(beside.reach, "reach", 0.0, np.inf)


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


def _check_factor(process: Any, _: Sizes) -> None:
    if (np.diagonal(process.factor) <= 0).any():
        raise Unfit("factor is not a Cholesky factor")


def _check_network(network: Any, sizes: Sizes) -> None:
    if network.n_classes != sizes["C"]:
        raise Unfit("the network has another number of classes")
    shapes = _shapes_of(network.architecture, sizes)
    weights = list(_of_type(network.weights, "weights", dict).values())
    if len(weights) != len(shapes):
        raise Unfit(f"the network has {len(weights)} arrays, not {len(shapes)}")
    for values, shape in zip(weights, shapes, strict=True):
        _check_array(values, "weights", shape, most=MAX_WEIGHT)
    _check_field(network.scaling, "scaling", Scaling, sizes)
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
            most = MAX_WEIGHT if part == "network" else MAX_SIZE
            shape = np.shape(expected[part][name])
            _check_array(value, name, shape, above=above, most=most)
    _check_array(gp.inducing, "inducing", (len(gp.inducing), deep.n_outputs))
    _check_kernel(deep.kernel, found["kernel"], sizes | {"D": deep.n_outputs})


PROBA = Rule(None, 0.0, None, 1.0)
COUNT = Rule(None, 0.0, None, MAX_COUNT)
LOG = Rule(None, -MAX_LOG, None, MAX_LOG)
KERNEL: dict[str, Any] = {"log_variance": LOG, "log_scale": LOG, "scaling": Scaling}
FIELDS: dict[str, Mapping[str, Rule | type | None]] = {
    "Ability": {
        "mean": Rule("A"), "spread": Rule("A", above=0.0),
        "prior_spread": Rule(least=0.0), "easiness": Rule(least=0.0),
    },
    "ByFeatures": {
        "tally": Tally, "weights": Rule("AD"), "offset": Rule("A"),
        "scaling": Scaling, "features": None,
    },
    "Calibration": {
        "n_gold": COUNT, "log_loss": COUNT, "level": PROBA,
        **dict.fromkeys(("accuracy", "accuracy_low", "accuracy_high"), PROBA),
        "confidence": PROBA,
        **{f"overconfidence{end}": Rule(None, -1.0, None, 1.0)
           for end in ("", "_low", "_high")},
    },
    "CommonConfusions": {
        "tally": Tally, "common": Rule("CK", 0.0, sums=True),
        "own": Rule("ACK", 0.0, sums=True), "mean_share": Rule("A", 0.0, most=1.0),
        "mixing": Mixing, "scaling": Scaling, "features": None,
    },
    "ConfusionMatrices": {
        "prior": Rule("PCK", above=0.0, most=MAX_COUNT),
        "counts": Rule("ACK", above=0.0, most=MAX_COUNT),
        "hit_variance": Rule("A", 0.0, or_none=True),
        "n_compared": Rule("A", 0.0, or_none=True), "doubt": PROBA,
    },
    "EPProcess": {
        "items": Rule("nD"), "precision": Rule("n"), "shift": Rule("n"), **KERNEL,
    },
    "FourierProcess": {
        "frequencies": Rule("MD"), "weights": Rule("F"), "factor": Rule("FF"), **KERNEL,
    },
    "FullProcess": {
        "X": Rule("nD"), "weights": Rule("n"), "root": Rule("n", 0.0),
        "factor": Rule("nn"), **KERNEL,
    },
    "LayerMatrices": {"tally": Tally, "matrices": Rule("ACK", 0.0, sums=True)},
    "Logistic": {"weights": Rule("DC"), "bias": Rule("C"), "scaling": Scaling},
    "Mixing": {
        "seen": Rule("DH"), "seen_bias": Rule("H"), "item": Rule("HE"),
        "item_bias": Rule("E"), "annotator": Rule("AE"),
    },
    "Networks": {
        name: Rule(axes, most=MAX_WEIGHT)
        for name, axes in (("inner", "EDH"), ("inner_bias", "EH"), ("outer", "EHC"),
                           ("outer_bias", "EC"))
    },
    "Pool": {
        "dependence": PROBA, "votes": PROBA, "explained": PROBA, "features": COUNT,
        "exponent": COUNT, "n_mean": COUNT, "shift": Rule("C", most=MAX_LOG),
        "lean": Rule("A", most=MAX_LOG), "selective": Rule("A", 0.0, most=1.0),
    },
    "Scaling": {"centre": Rule("D"), "spread": Rule("D", above=0.0)},
    "SparseGP": {
        "scaling": Scaling, "jitter": PROBA, "epsilon": PROBA,
        "sharpness": Rule(least=0.0),
    },
    "Subtypes": {
        "matrices": ConfusionMatrices, "shares": Rule("CM", above=0.0, sums=True),
        "prior": Rule("PRK", above=0.0, most=MAX_COUNT),
        "counts": Rule("ARK", above=0.0, most=MAX_COUNT),
    },
    "Tally": {
        "table": Rule("ACK", -CLOSE, most=MAX_COUNT), "hit_variance": Rule("A"),
    },
    "Trusted": {"tally": Tally},
    "Votes": {"tally": Tally},
}  # fmt: skip
"""What the fields of each record have to be; None: empty; a class: such a record."""
DERIVED: dict[str, Callable[[Any], Sizes]] = {
    "FourierProcess": lambda process: {"F": 2 * len(process.frequencies)},
    "Subtypes": lambda skills: {"R": skills.shares.size},
}
"""Axes whose size depends on another field."""
RULES: dict[str, Callable[[Any, Sizes], None]] = {
    "Ability": _check_abilities,
    "ConfusionMatrices": _check_hyperprior,
    "FourierProcess": _check_factor,
    "FullProcess": _check_factor,
    "Network": _check_network,
    "Pool": _check_interval,
    "SparseGP": _check_gp,
}
"""What else is asked of some records, by their names: networks know JAX."""


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
    most: float = MAX_SIZE,
) -> None:
    _of_type(values, name, np.ndarray)
    if values.shape != shape:
        raise Unfit(f"{name} has the shape {values.shape}, not {shape}")
    if values.dtype.kind not in "fiub":
        raise Unfit(f"{name} has the type {values.dtype}")
    if not np.isfinite(values).all():
        raise Unfit(f"{name} has an entry that is not finite")
    if (np.abs(values) > most).any():
        raise Unfit(f"{name} has an entry above {most:g}")
    if least is not None and (values < least).any():
        raise Unfit(f"{name} has an entry below {least:g}")
    if above is not None and (values <= above).any():
        raise Unfit(f"{name} has an entry that is not above {above:g}")


def _check_proba(values: Array, name: str, shape: tuple[int, ...]) -> None:
    _check_array(values, name, shape, least=-CLOSE)
    _check_sums(values, name)


def _check_sums(values: Array, name: str) -> None:
    if (abs(values.sum(-1) - 1) > CLOSE * values.shape[-1]).any():
        raise Unfit(f"{name} does not sum to one")


def _check_number(value: Any, name: str, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise Unfit(f"{name} is a {type(value).__name__}")
    if not (least <= value <= most and np.isfinite(value)):
        raise Unfit(f"{name} is {value}")
