"""What a fit leaves behind: a row per iteration, and a progress bar while it runs."""

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import pandas as pd

STARTING = "starting (the steps may have to be compiled) ..."


class Trace:
    """Rows of numbers with the seconds since the start, shown as they come.

    Parameters
    ----------
    what : str
        What the bar says it is doing.
    total : int
        The most steps there will be.
    show : bool or None
        Whether to draw a progress bar; None: when standard error is a terminal.

    Examples
    --------
    >>> with Trace("climbing", total=2, show=False) as trace:
    ...     trace.record(bound=-3.0)
    ...     trace.record(bound=-2.5)
    >>> trace.frame()["bound"].tolist()
    [-3.0, -2.5]
    """

    def __init__(self, what: str, total: int, show: bool | None = None) -> None:
        self._rows: list[Mapping[str, float | int]] = []
        self._began = time.perf_counter()
        self._total = total
        self._bar: Any = None
        if sys.stderr.isatty() if show is None else show:
            self._bar = _progress_bar()
            # Without a total the bar moves to and fro: the first row can take a while,
            # because JAX compiles the steps before it.
            self._job = self._bar.add_task(what, total=None, said=STARTING)

    def __enter__(self) -> "Trace":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def seconds(self) -> float:
        """Seconds since the trace was made."""
        return time.perf_counter() - self._began

    def record(self, **terms: float) -> None:
        """Add a row: the terms of the bound and their total, ``bound``."""
        self.add({**terms, "seconds": self.seconds})

    def add(
        self,
        row: Mapping[str, float | int],
        *,
        done: int | None = None,
        total: int | None = None,
    ) -> None:
        """Add a row as it is, and show that `done` of `total` steps are done."""
        self._rows.append(row)
        if self._bar is not None:
            completed, most = done or len(self._rows), total or self._total
            said = f"{completed}/{most} bound {row['bound']:,.1f}"
            self._bar.update(self._job, completed=completed, total=most, said=said)

    def last(self, name: str) -> float:
        """Return a number of the last row."""
        return float(self._rows[-1][name])

    def frame(self) -> pd.DataFrame:
        """Return all rows as a table; its index is the number of the step."""
        table = pd.DataFrame(self._rows)
        return table.set_index("step") if "step" in table else table.rename_axis("step")


def _progress_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
