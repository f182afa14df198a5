"""``python -m wisecrowd``: the command line. Ctrl-C is understood from the start."""

import atexit
import os
import sys
from contextlib import suppress

from wisecrowd._stopping import stop_on_signals


def main() -> None:
    """Run the command line, and end the process."""
    stop_on_signals()
    from wisecrowd.cli import main as run

    code: object = 0
    try:
        run()
    except SystemExit as end:
        code = end.code
    # Not by the usual way: while Python ends, a signal would be ignored.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    main()
