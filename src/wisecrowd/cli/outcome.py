"""What a fit leaves, whichever command asked for it: tables, JSON, a run folder."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from wisecrowd.annotations import Annotations
from wisecrowd.cli import show
from wisecrowd.cli.inputs import Data
from wisecrowd.results.findings import Findings, cautions, findings
from wisecrowd.results.run_folder import check_folder, write_findings

__all__ = ["check_folder", "report", "say_read", "write_all"]


def say_read(annotations: Annotations, notes: Iterable[str], *, quiet: bool) -> None:
    """Print what was read, and what to know about it before the fit."""
    if not quiet:
        warned = [f"note: {sentence}" for sentence in cautions(annotations)]
        show.say_read(annotations, [*notes, *warned])


def report(
    model: Any,
    data: Data,
    *,
    out: Path | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    settled_at: float,
) -> None:
    """Write the run folder, and print what was found.

    Without gold in the fit, the labels are compared with the gold of the answers.
    """
    read = data.answers if data.gold is None else data.answers.with_gold({})
    found = findings(model, read, settled_at=settled_at)
    said = ["Nothing was written. Add --out RUN to keep the results."]
    if out is not None:
        said = write_all(found, out, force=force)
    if as_json:
        show.show_json({**found.summary(), "run": None if out is None else str(out)})
    elif not quiet:
        show.show_classes(found.classes)
        show.show_items(found.items)
        show.show_annotators(found.annotators)
        doubts = [f"Note: {sentence}" for sentence in found.about["contradictions"]]
        show.say_sentences([*found.said.values(), *doubts])
    if not quiet:
        show.say(*said)


def write_all(
    found: Findings, out: Path, *, images: Path | None = None, force: bool
) -> list[str]:
    """Write the run folder, with its page; return where to look for what, in lines."""
    from wisecrowd.report import write_report

    page = partial(write_report, found, images=images)
    write_findings(found, out, page=page, force=force)
    return [
        f"Wrote {out}: labels, annotators, confusion, trace, ledger and model.",
        f"Open {out / 'report.html'} in a browser to see it all.",
    ]
