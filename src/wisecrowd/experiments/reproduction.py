"""Run experiments, write their tables and figures, and the page that shows them."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from wisecrowd._checks import InputError, counted, one_of
from wisecrowd._files import write_whole
from wisecrowd.experiments import EXPERIMENTS, experiment
from wisecrowd.experiments.parts import SIZES, Experiment, chosen, write_part
from wisecrowd.experiments.runner import Rows, run
from wisecrowd.metrics.reliability_figure import pyplot

HEAD = """\
# The paper, reproduced

Tables and figures of section 4 of Morales-Álvarez et al., *Scalable variational Gaussian processes for crowdsourcing: glitch detection in LIGO*
(IEEE TPAMI 44(3), 2022), run again by `wisecrowd reproduce`. This page is written by that command, from the rows of all fits.

```sh
wisecrowd reproduce mnist --size small --out results     # a few minutes
wisecrowd reproduce all --size full --out results        # hours; a run that was ended goes on
wisecrowd reproduce all --out results --redraw --page docs/reproducing.md
```

The rows of this page are kept in `docs/reproducing.jsonl`. The last command adds those of the folder, so runs on several days or machines make one page.

- **`as_published()`** is the paper's model with the paper's inference. **default** and **robust max** are ours. "paper:" marks the numbers that the paper prints.
- Where there are several runs, a cell is their mean, with the standard deviation in brackets.
- The paper's *likelihood* is the mean probability of the true class. It rewards over-confidence, so log loss and calibration error stand beside it.
"""  # noqa: E501


def reproduced(  # noqa: PLR0913  those of the command
    names: Sequence[str],
    folder: Path,
    *,
    size: str = "small",
    seeds: Sequence[int] = (),
    methods: str | None = None,
    limit: float | None = None,
    redraw: bool = False,
    page: Path | None = None,
    apart: bool = True,
    say: Callable[[str], None] = lambda line: None,
) -> list[Path]:
    """Run experiments; write their tables, figures and page; return the files.

    Rows in the folder are not run again, and with `redraw` nothing is. `methods` are
    names with commas; `seeds`, if there are none, and the `limit` of a job in seconds
    are those of the experiment. The page is by default ``README.md`` in the folder; its
    figures go to the folder ``images/NAME`` beside it. Beside a page of one's own are
    its rows, too, in a file of its name with the ending jsonl: later runs add to them.
    `apart` and `say` are those of :func:`.run`.
    """
    one_of(size, SIZES, "size")
    pyplot()  # without matplotlib there are no figures: say so now
    chosen_ones = [experiment(name) for name in names]
    known = [name for one in chosen_ones for name in one.methods]
    wanted = chosen(methods, list(dict.fromkeys(known)), "methods")
    if not redraw:
        _check_folder(folder)
        for one in chosen_ones:
            one.check()
        for one in chosen_ones:
            own = [name for name in one.methods if name in wanted]
            if methods is None or own:
                jobs = one.jobs(size, seeds, own)
                run(jobs, folder, limit=limit or one.limit, apart=apart, say=say)
    rows = Rows(folder)
    if page is not None:
        rows = rows.added_to(page.with_suffix(".jsonl"))
    if rows.frame().empty:
        notes = [row["note"] for row in rows.rows.values()]
        why = f"The first job: {notes[0]}" if notes else "Run it without --redraw."
        raise InputError(f"{folder} has no rows with a result. {why}")
    return _write(chosen_ones, rows, page or folder / "README.md")


def _check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written, before the first job has run."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file. Give the name of a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise InputError(f"{folder}: this folder cannot be written to.")


def _write(ones: Sequence[Experiment], rows: Rows, page: Path) -> list[Path]:
    """Write all parts to the folder of rows, and the page with copies of figures.

    What the page has of an earlier run, and the rows do not, is kept.
    """
    lines, files, old = [HEAD], [], _parts_of(page)
    images = page.parent / "images" / page.stem.lower()
    for one in map(experiment, EXPERIMENTS):
        before = old.get(one.title, {})
        if one not in ones or _rows_of(one, rows).empty:
            lines += before.values()
            continue
        told, made = _section(one, rows, images, before)
        lines += told
        files += made
    text = "\n".join(line.rstrip("\n") + "\n" for line in lines if line)
    write_whole(page, text.encode())
    return [*files, page]


def _section(
    one: Experiment, rows: Rows, images: Path, before: Mapping[str, str]
) -> tuple[list[str], list[Path]]:
    """Write the parts of an experiment; return its text for the page, and the files."""
    lines: list[str] = []
    files: list[Path] = []
    kept: list[str] = []
    for part in one.parts:
        made = write_part(part, rows, rows.folder)
        files += made
        if not made and part.title in before:
            kept.append(part.title)
            lines.append(before[part.title])
        if not made:
            continue
        lines.append(f"### {part.title}\n")
        if made[0].suffix == ".png":
            images.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(made[0], images / made[0].name)
            link = f"images/{images.name}/{made[0].name}"
            lines.append(f"![{part.title}]({link})\n")
        else:
            lines.append(made[1].read_text())
        lines.append(part.about)
    said = told_of_runs(_rows_of(one, rows))
    said += f" Kept from an earlier run: {', '.join(kept)}." if kept else ""
    return [f"## {one.title}\n", one.about, said, *lines], files


def _parts_of(page: Path) -> dict[str, dict[str, str]]:
    """Return the text of the parts of a page, by the titles of experiment and part.

    The part without a title is what comes before the first one.
    """
    found: dict[str, dict[str, str]] = {}
    title = part = ""
    for line in page.read_text("utf-8").splitlines() if page.is_file() else ():
        level, _, words = line.partition(" ")
        if level == "##":
            title, part = words, ""
        elif level == "###":
            part = words
        parts = found.setdefault(title, {})
        parts[part] = f"{parts.get(part, '')}{line}\n"
    return found


def _rows_of(one: Experiment, rows: Rows) -> pd.DataFrame:
    """Return the rows of an experiment: its name, or its name and a hyphen, first."""
    frame = rows.frame()
    begins, others = f"{one.name}-", set(EXPERIMENTS) - {one.name}
    return frame[
        [
            (e == one.name or e.startswith(begins)) and e not in others
            for e in frame["experiment"]
        ]
    ]


def told_of_runs(frame: pd.DataFrame) -> str:
    """Return how many fits there were, how long they took, and on what.

    Examples
    --------
    >>> machine = {"processor": "Abacus", "cores": 2}
    >>> one = {"seconds": 90.0, "commit": "1f", "date": "2026-11-18"}
    >>> one["machine"] = machine
    >>> told_of_runs(pd.DataFrame([one, one]))
    '2 fits, 3 minutes in all, on 2 cores (Abacus); commit 1f; 2026-11-18.'
    """
    machine = frame["machine"].iloc[-1]
    commits = ", ".join(dict.fromkeys(name for name in frame["commit"] if name))
    said = [
        f"{counted(len(frame), 'fit')}, {frame['seconds'].sum() / 60:,.0f} minutes in "
        f"all, on {machine['cores']} cores ({machine['processor']})",
        *[f"commit {commits}"] * bool(commits),
        f"{frame['date'].max()}.",
    ]
    return "; ".join(said)
