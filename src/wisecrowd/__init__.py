"""wisecrowd: labels, annotators' skills and a classifier from a crowd's answers.

The public names are listed in ``__init__.pyi``, for people, type checkers and the
loader alike. Each is imported when it is first used, so that ``import wisecrowd``,
reading files and aggregating answers never wait for JAX.
"""

import lazy_loader

from wisecrowd._version import __version__

__getattr__, _, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = [*_names, "__version__"]  # noqa: PLE0604


def __dir__() -> list[str]:
    return list(__all__)
