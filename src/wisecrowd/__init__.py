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

_METHOD_NAMES = {
    "majority-vote": "MajorityVote",
    "dawid-skene": "DawidSkene",
    "bcc": "BCC",
    "glad": "GLAD",
}


class _Methods(Mapping[str, type]):
    """From a command-line name to the class of a method, imported when asked for."""

    def __getitem__(self, name: str) -> type:
        found: type = getattr(
            import_module(_WHERE[_METHOD_NAMES[name]]), _METHOD_NAMES[name]
        )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_METHOD_NAMES)

    def __len__(self) -> int:
        return len(_METHOD_NAMES)


METHODS = _Methods()

__all__ = ["METHODS", "__version__", *sorted(_WHERE)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'wisecrowd' has no attribute {name!r}")
    module = import_module(_WHERE[name])
    return getattr(module, name, module)


def __dir__() -> list[str]:
    return __all__
