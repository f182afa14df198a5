"""An experiment as a list of jobs and of parts: tables and figures made from rows.

A part is written as ``NAME.csv`` and ``NAME.md`` (tables) or ``NAME.png`` (figures).
Their paragraphs on the page are sections of ``pages.md``.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from wisecrowd._checks import one_of
from wisecrowd._files import replacing, write_whole
from wisecrowd.experiments.runner import Job, NoRows, Rows
from wisecrowd.metrics.reliability_figure import pyplot

Size = Literal["small", "medium", "full"]
SIZES: tuple[Size, ...] = ("small", "medium", "full")

COLOURS = ("#1f4e79", "#c4561a", "#3b7d4f", "#7b4f9d", "#8a6d1f", "#b0326b", "#5a5a5a")
MARKS = "osD^vP*X"
STYLE = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.92",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "image.cmap": "Blues",
    "figure.constrained_layout.use": True,
}
DOTS_PER_INCH = 130


class Part(NamedTuple):
    """One table or figure of the paper."""

    name: str  # of its files
    title: str  # the heading on the page
    make: Callable[[Rows], Any]  # a DataFrame or a figure; raises NoRows
    section: str = ""  # of pages.md, if it has not the name of the part

    @property
    def about(self) -> str:
        """Where ours differs from the paper, and why, in Markdown; or ""."""
        return _pages().get(self.section or self.name, "")


class Experiment(NamedTuple):
    """What ``wisecrowd reproduce NAME`` runs and draws.

    ``jobs(size, seeds, methods)`` returns the jobs. Where no seeds or no methods are
    given, they are those of the size.
    """

    name: str
    title: str  # the heading on the page
    methods: Sequence[str]  # names for --methods
    jobs: Callable[[Size, Sequence[int], Sequence[str]], list[Job]]
    parts: Sequence[Part]
    check: Callable[[], Any] = lambda: None  # InputError if the data are not there
    limit: float | None = None  # seconds that one job may take

    @property
    def about(self) -> str:
        """What was run, in Markdown."""
        return _pages()[f"about-{self.name}"]


@cache
def _pages() -> dict[str, str]:
    """Return the sections of pages.md by their headings."""
    text = Path(__file__).with_name("pages.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## (\S+)\n\n", text, flags=re.MULTILINE)
    texts = (part.rstrip("\n") + "\n" for part in parts[1::2])
    return dict(zip(parts[::2], texts, strict=True))


def write_part(part: Part, rows: Rows, folder: Path) -> list[Path]:
    """Write one table or figure; return its files."""
    path = folder / part.name
    with figure_style():
        try:
            made = part.make(rows)
        except NoRows:
            return []
        if not isinstance(made, pd.DataFrame):
            return [save(made, path.with_suffix(".png"))]
    csv = made.to_csv(index=False, lineterminator="\n")
    texts = {path.with_suffix(".csv"): csv, path.with_suffix(".md"): markdown(made)}
    for file, text in texts.items():
        write_whole(file, text.encode())
    return list(texts)


# -- tables --------------------------------------------------------------------------


def mean_and_deviation(values: Any, digits: int = 4) -> str:
    """Return the mean, and the standard deviation over several runs in brackets.

    Examples
    --------
    >>> mean_and_deviation([0.96, 0.98]), mean_and_deviation([0.96])
    ('.9700 (.0141)', '.9600')
    >>> mean_and_deviation([12, 15], digits=1), mean_and_deviation([])
    ('13.5 (2.1)', '')
    """
    known = np.asarray(values, dtype=float)
    known = known[~np.isnan(known)]
    if not len(known):
        return ""
    said = short(known.mean(), digits)
    return said if len(known) < 2 else f"{said} ({short(known.std(ddof=1), digits)})"


def cells(runs: pd.DataFrame, columns: Mapping[str, tuple[str, int]]) -> dict[str, str]:
    """Return means and deviations; columns are ``{name: (score, digits)}``."""
    return {
        name: mean_and_deviation(runs.get(score, []), digits)
        for name, (score, digits) in columns.items()
    }


def short(value: float, digits: int = 4) -> str:
    """Return a number as the paper prints it, without a zero before the point.

    Examples
    --------
    >>> short(0.96571), short(-0.5, 2), short(1.0, 3)
    ('.9657', '-.50', '1.000')
    """
    said = f"{value:,.{digits}f}"
    return said.replace("0.", ".", 1) if abs(value) < 1 and digits else said


def markdown(table: pd.DataFrame) -> str:
    """Return a table as Markdown.

    Examples
    --------
    >>> print(markdown(pd.DataFrame({"class": ["all"], "accuracy": [".97"]})), end="")
    | class | accuracy |
    | --- | --- |
    | all | .97 |
    """
    cells = [list(table.columns), ["---"] * table.shape[1], *table.values.tolist()]
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in cells]
    return "\n".join(lines) + "\n"


# -- figures -------------------------------------------------------------------------


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw as all our figures are drawn, without a window."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        try:
            yield
        finally:
            plt.close("all")


def axes(n_rows: int = 1, n_columns: int = 1, **settings: Any) -> tuple[Any, Any]:
    """Return a figure and its axes, an array (n_rows, n_columns)."""
    width, height = settings.pop("size", (3.4 * n_columns, 2.7 * n_rows))
    return pyplot().subplots(
        n_rows, n_columns, figsize=(width, height), squeeze=False, **settings
    )


def picture(ax: Any, pixels: Any, title: str = "", **settings: Any) -> None:
    """Draw an image without ticks."""
    ax.imshow(pixels, **settings)
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, fontsize=8)
    ax.grid(False)
    ax.spines[:].set_visible(False)


def logarithmic(ax: Any, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with plain numbers where there is room for them."""
    from matplotlib.ticker import LogFormatter

    ax.set(**{f"{which}scale": "log"})
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(LogFormatter(minor_thresholds=(1.2, 0.4)))
    axis.set_tick_params(which="minor", labelsize=7)


def save(figure: Any, path: Path) -> Path:
    """Write a figure as PNG."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
    return path


def chosen(names: str | None, known: Sequence[str], what: str) -> list[str]:
    """Return the names in a list with commas, in the order of those known; None: none.

    Examples
    --------
    >>> chosen("b, a", ["a", "b", "c"], "methods")
    ['a', 'b']
    """
    if names is None:
        return []
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        one_of(name, known, what)
    return [name for name in known if name in wanted]
