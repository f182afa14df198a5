"""Ctrl-C and SIGTERM end a command at once, with a sentence and an exit code.

The signal is not turned into an exception: raised inside JAX, or while Python ends, an
exception is lost or tears the process apart. The operating system writes the number of
the signal into a socket, and a thread that waits there ends the process, whatever the
main thread is doing. Only a commit of files, which takes milliseconds, is awaited.

In Python, without the command line, Ctrl-C is KeyboardInterrupt as usual. Nothing but
the standard library is imported here, so that a signal is understood from the start.
"""

import os
import signal
import socket
import sys
import threading
import time
from typing import Any

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, as shells have it."""
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
PATIENCE = 10.0  # seconds for a commit; it takes milliseconds, unless the disk hangs
MOST_NAMES = 5  # of files, in the last words
SAY_WITHIN = 0.5  # seconds for the last words; whoever reads them may not

_kept: list[Any] = []  # the sockets have to stay open


def stop_on_signals() -> None:
    """From now on, end the process when a signal asks for it."""
    if _kept:
        return
    mine = [s for s in WORDS if signal.getsignal(s) != signal.SIG_IGN]
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    _kept.extend((receiver, sender))
    for number in mine:
        # Without a handler of Python nothing is written to the socket.
        signal.signal(number, _rest)
    signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(receiver, mine), daemon=True).start()


def _rest(*_: Any) -> None:
    """Hold the main thread, which would make new files while the old are removed."""
    files = sys.modules.get("wisecrowd._files")
    if files is None or not files.commit_lock._is_owned():
        time.sleep(2 * PATIENCE)


def _wait(receiver: socket.socket, mine: list[signal.Signals]) -> None:
    while True:
        for number in receiver.recv(1):
            if number in mine:
                _end(signal.Signals(number))


def _end(number: signal.Signals) -> None:
    """Leave no half of a file, say what was written, and end the process."""
    files = sys.modules.get("wisecrowd._files")
    if files is not None:
        files.commit_lock.acquire(timeout=PATIENCE)
        files.abandon()
    sentence = last_words(number, [] if files is None else files.in_place())
    speaker = threading.Thread(target=_say, args=(sentence,), daemon=True)
    speaker.start()
    speaker.join(SAY_WITHIN)
    if files is not None:
        files.abandon()  # what compiled code of the main thread has opened meanwhile
    os._exit(128 + number)


def last_words(number: signal.Signals, written: list[Any]) -> str:
    """Return what to say at the end: whether anything was written, and where.

    Examples
    --------
    >>> last_words(signal.SIGINT, [])
    'interrupted; nothing was written.'
    >>> last_words(signal.SIGTERM, ["fit.checkpoint", "fit.checkpoint"])
    'terminated; written before: fit.checkpoint.'
    >>> last_words(signal.SIGINT, [f"{n}.npz" for n in range(9)])
    'interrupted; written before: 0.npz, 1.npz, 2.npz, 3.npz, 4.npz and 4 more files.'
    """
    names = list(dict.fromkeys(str(path) for path in written))
    more = f" and {len(names) - MOST_NAMES} more files" * (len(names) > MOST_NAMES)
    done = f"written before: {', '.join(names[:MOST_NAMES])}{more}"
    done = done if names else "nothing was written"
    return f"{WORDS[number]}; {done}."


def _say(sentence: str) -> None:
    """Print to standard error, past its buffer: the main thread may hold that."""
    # A progress bar hides the cursor.
    show_cursor = "\r\x1b[K\x1b[?25h" if os.isatty(2) else ""
    os.write(2, f"{show_cursor}{sentence}\n".encode(errors="backslashreplace"))
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
