"""The records that a saved model may hold: a file can name these and no others."""

from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

_WHERE = {
    "wisecrowd.base": ("Learned",),
    "wisecrowd.maths.crowd": ("Hyperprior",),
    "wisecrowd.maths.fourier_features": ("FourierProcess",),
    "wisecrowd.maths.full_process": ("FullProcess",),
    "wisecrowd.maths.gp.class_posterior": ("Conditional", "Factorised"),
    "wisecrowd.maths.gp.deep": ("Deep",),
    "wisecrowd.maths.gp.kernels": ("Linear", "Product", "Stationary", "Sum"),
    "wisecrowd.maths.gp.links": ("RobustMax", "Softmax"),
    "wisecrowd.maths.logistic": ("Logistic",),
    "wisecrowd.maths.networks": ("ConvNet", "MLP", "Network"),
    "wisecrowd.maths.pool": ("Pool",),
    "wisecrowd.maths.scaling": ("Scaling",),
    "wisecrowd.methods.gpep": ("EPProcess",),
    "wisecrowd.methods.svgpcr.record": ("Beside", "Networks", "SparseGP"),
    "wisecrowd.metrics.calibration": ("Calibration",),
    "wisecrowd.skills.ability": ("Ability",),
    "wisecrowd.skills.by_features": ("ByFeatures",),
    "wisecrowd.skills.confusion_matrices": ("ConfusionMatrices",),
    "wisecrowd.skills.layers": ("CommonConfusions", "LayerMatrices", "Mixing"),
    "wisecrowd.skills.subtypes": ("Subtypes",),
    "wisecrowd.skills.tally": ("Tally", "Trusted", "Votes"),
}
RECORDS = {name: module for module, names in _WHERE.items() for name in names}
"""From the name of a record to the module that has it."""


def is_record(value: Any) -> bool:
    """Return whether a value is a record that can be kept."""
    kind = type(value)
    return RECORDS.get(kind.__name__) == kind.__module__


def parts(record: Any) -> dict[str, Any]:
    """Return the fields of a record, a NamedTuple or a dataclass."""
    if is_dataclass(record):
        return {field.name: getattr(record, field.name) for field in fields(record)}
    return dict(record._asdict())


def made(name: str, values: dict[str, Any]) -> Any:
    """Return the record of that name; an unknown name is a KeyError."""
    return getattr(import_module(RECORDS[name]), name)(**values)
