"""wisecrowd: labels, annotators' skills and a classifier from a crowd's answers.

Names are found when they are first used, so that ``import wisecrowd``, reading files
and aggregating labels never wait for JAX.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from wisecrowd._version import __version__

_WHERE = {
    "Annotations": "wisecrowd.data.annotations",
    "BCC": "wisecrowd.methods.bcc",
    "DawidSkene": "wisecrowd.methods.dawid_skene",
    "GLAD": "wisecrowd.methods.glad",
    "InputError": "wisecrowd._checks",
    "MajorityVote": "wisecrowd.methods.majority_vote",
    "SVGP": "wisecrowd.methods.svgpcr.estimator",
    "SVGPCR": "wisecrowd.methods.svgpcr.estimator",
    "datasets": "wisecrowd.data.datasets",
    "load": "wisecrowd.persist",
    "metrics": "wisecrowd.metrics",
    "read_annotations": "wisecrowd.data.tables",
    "read_features": "wisecrowd.data.features",
    "save": "wisecrowd.persist",
    "simulate": "wisecrowd.data.simulate",
    "write_annotations": "wisecrowd.data.writing",
}


class _Methods(Mapping[str, type]):
    """From a command-line name to the class of a method, imported when asked for."""

    def __init__(self, classes: Mapping[str, str]) -> None:
        self._classes = classes

    def __getitem__(self, name: str) -> type:
        found: type = getattr(
            import_module(_WHERE[self._classes[name]]), self._classes[name]
        )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)

    def __contains__(self, name: object) -> bool:
        return name in self._classes  # without importing it

    def __or__(self, other: "_Methods") -> "_Methods":
        return _Methods({**self._classes, **other._classes})


AGGREGATORS = _Methods(
    {
        "majority-vote": "MajorityVote",
        "dawid-skene": "DawidSkene",
        "bcc": "BCC",
        "glad": "GLAD",
    }
)
"""The methods that need nothing but the answers."""

CLASSIFIERS = _Methods({"svgpcr": "SVGPCR", "svgp": "SVGP"})
"""The methods that learn from features too."""

METHODS = AGGREGATORS | CLASSIFIERS

__all__ = ["AGGREGATORS", "CLASSIFIERS", "METHODS", "__version__", *sorted(_WHERE)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'wisecrowd' has no attribute {name!r}")
    module = import_module(_WHERE[name])
    return getattr(module, name, module)


def __dir__() -> list[str]:
    return __all__
