"""What a fit may take, and what it took: seconds and memory."""

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import SupportsFloat

import numpy as np

CLEAR_REFS = Path("/proc/self/clear_refs")  # of Linux: "5" lowers the peak to now
STATUS = Path("/proc/self/status")
KILOBYTES_PER_MEGABYTE = 1024


class OutOfTime(BaseException):
    """The time limit has passed.

    Not an Exception: libraries that go on after an error must not go on after this.
    """


@contextmanager
def time_limit(seconds: SupportsFloat | None) -> Iterator[None]:
    """Raise `OutOfTime` in the block once it has taken so many seconds.

    It is raised between two operations of Python, in the thread that runs the block.
    One long operation, such as the factorisation of a large matrix, is not cut short.
    """
    if seconds is None:
        yield
        return
    thread = threading.get_ident()
    # A timer takes no number of NumPy, and none that is too long: it would not run.
    wait = min(float(seconds), threading.TIMEOUT_MAX)
    timer = threading.Timer(wait, _raise_in, (thread, OutOfTime))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        _raise_in(thread, None)  # what was not raised yet, will not be


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    exception = None if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)


class Cost:
    """What a block took: `seconds`, and `megabytes` at its peak above its beginning.

    `processor` is the time of the processor over all threads, in seconds: other jobs of
    the machine disturb it less. Memory is that of the process. It is NaN where the
    system does not tell it: only Linux does.
    """

    seconds = float("nan")
    processor = float("nan")
    megabytes = float("nan")


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure what the block takes."""
    cost, before = Cost(), _memory_from_now_on()
    began, processor = time.perf_counter(), time.process_time()
    yield cost
    cost.seconds = time.perf_counter() - began
    cost.processor = time.process_time() - processor
    cost.megabytes = float(np.maximum(_status("VmHWM") - before, 0.0))  # NaN stays


def _memory_from_now_on() -> float:
    """Begin a new peak, and return the megabytes in use; NaN if that is impossible."""
    try:
        CLEAR_REFS.write_text("5")
    except OSError:
        return float("nan")
    return _status("VmRSS")


def _status(name: str) -> float:
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        return float("nan")
    kilobytes = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return int(kilobytes[0]) / KILOBYTES_PER_MEGABYTE if kilobytes else float("nan")
