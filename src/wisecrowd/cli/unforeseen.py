"""A file with the details of an error that nobody foresaw."""

import os
import platform
import sys
import tempfile
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from wisecrowd._version import __version__

PACKAGES = (
    "numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "jax", "optax", "h5py",
    "safetensors", "typer", "rich",
)  # fmt: skip
WIDTH = 500  # a message may have a whole file in it

HEAD = """\
wisecrowd met an error that it did not foresee. Please send this file to its authors.
It has the command without its file names, the versions, and where the error arose.
Read it before you send it: the last lines may contain names from your data.
"""


def details_file(error: BaseException, command: str) -> Path:
    """Write what somebody needs who has to mend this; return the file."""
    trace = "".join(traceback.format_exception(error))
    lines = [
        HEAD,
        f"command: wisecrowd {command} {' '.join(options(sys.argv[1:]))}",
        f"wisecrowd {__version__}, Python {platform.python_version()}, "
        f"{platform.platform()}",
        ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        "",
        *(line[:WIDTH] for line in trace.splitlines()),
    ]
    text = "\n".join(lines) + "\n"
    handle, path = tempfile.mkstemp(prefix="wisecrowd-error-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return Path(path)


def options(arguments: list[str]) -> list[str]:
    """Return the options that were given, without what was given for them.

    Examples
    --------
    >>> options(["fit", "secret.csv", "--seed", "3", "--out=run"])
    ['--seed', '--out']
    """
    return [a.split("=")[0] for a in arguments if a.startswith("-") and a != "-"]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "is not installed"
