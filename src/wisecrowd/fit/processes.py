"""JAX and forked processes: a sentence instead of a fit that hangs.

JAX runs threads, and a fork copies none of them: in a child process that was forked
after JAX was used, the first computation waits for ever.
"""

import os

from wisecrowd._checks import InputError

_used_in: int | None = None  # the process in which JAX was used first


def check_not_forked() -> None:
    """Refuse to run JAX in a process that was forked after JAX was used.

    To be called before JAX is used.
    """
    global _used_in  # noqa: PLW0603
    if _used_in is None:
        _used_in = os.getpid()
    elif _used_in != os.getpid():
        raise InputError(
            "this process was forked from one that had already used JAX, and JAX would "
            "hang here. Start processes with 'spawn' instead, such as "
            "multiprocessing.get_context('spawn').Pool(), or use joblib, which does."
        )
