"""Whether a fit can be meant, and whether it fits into the memory."""

import os
from pathlib import Path

import numpy as np

from wisecrowd._checks import InputError, counted
from wisecrowd.annotations.annotations import Annotations

FREE_TEXT = 100  # different answers; with fewer, a model is small anyway
MEMINFO = Path("/proc/meminfo")  # of Linux


def check_no_free_text(annotations: Annotations) -> None:
    """Refuse answers of which more than half are different, and more than 100."""
    n_different = len(np.unique(annotations.answer))
    if n_different <= max(FREE_TEXT, len(annotations) / 2):
        return
    raise InputError(
        f"there are {n_different:,} different answers among {len(annotations):,}: is "
        f"this free text? Labels are classes that several annotators can name. Choose "
        f"the column of the answers with answer=, or merge texts that mean one class "
        f"with rename=."
    )


def check_memory(annotations: Annotations, n_copies: int) -> None:
    """Refuse a fit that would need more memory than there is.

    Per copy, there is a number for every annotator, class and answer (A C K), every
    item and class (N C), and every answer given and class (L C).
    """
    n_items, n_annotators, n_classes, n_answers = annotations.codes.shape
    cells = n_annotators * n_answers + n_items + len(annotations)
    needed = 8.0 * n_copies * n_classes * cells
    free = free_memory()
    if needed <= free:
        return
    raise InputError(
        f"the fit would need about {needed / 2**30:,.1f} GB of memory, and "
        f"{free / 2**30:,.1f} GB are free: there are {counted(n_items, 'item')}, "
        f"{counted(n_annotators, 'annotator')} and {counted(n_classes, 'class')}. "
        f"Merge classes with rename=, or fit a part of the items or annotators."
    )


def free_memory() -> float:
    """Return the bytes that a process can still get; infinity where nobody tells."""
    try:
        lines = MEMINFO.read_text().splitlines()
        found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
        return 1024.0 * int(found[0])
    except (OSError, IndexError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float(np.inf)
