"""What a fit leaves, whichever command asked for it: tables, JSON, a run folder."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from wisecrowd.annotations import Annotations
from wisecrowd.cli import show
from wisecrowd.results.findings import Findings, cautions, findings
from wisecrowd.results.run_folder import check_folder, write_findings
from wisecrowd.results.settled import SETTLED_AT

__all__ = ["check_folder", "report", "say_read", "write_all"]


def say_read(annotations: Annotations, notes: Iterable[str], *, quiet: bool) -> None:
    """Print what was read, and what to know about it before the fit."""
    if not quiet:
        warned = [f"note: {sentence}" for sentence in cautions(annotations)]
        show.say_read(annotations, [*notes, *warned])


def report(
    model: Any,
    annotations: Annotations,
    known: Any,
    *,
    out: Path | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    settled_at: float = SETTLED_AT,
) -> None:
    """Write the run folder, and print what was found.

    `annotations` are over all items of the model. `known` is the gold that the fit
    used; without it, the labels are compared with the gold of the file.
    """
    if known is not None:
        annotations = annotations.with_gold({})
    found = findings(model, annotations, settled_at=settled_at)
    if out is not None:
        write_all(found, out, force=force)
    if as_json:
        show.show_json({**found.summary(), "run": None if out is None else str(out)})
    elif not quiet:
        _show(found)
    if not quiet:
        said = ["Nothing was written. Add --out RUN to keep the results."]
        if out is not None:
            said = said_of_run(out)
        show.say(*said)


def write_all(
    found: Findings, out: Path, *, images: Path | None = None, force: bool
) -> None:
    """Write the run folder, with its page."""
    from wisecrowd.report import write_report

    page = partial(write_report, found, images=images)
    write_findings(found, out, page=page, force=force)


def said_of_run(out: Path) -> list[str]:
    """Return where to look for what, in lines."""
    return [
        f"Wrote {out}: labels, annotators, confusion, trace, ledger and model.",
        f"Open {out / 'report.html'} in a browser to see it all.",
    ]


def _show(found: Findings) -> None:
    show.show_classes(found.classes)
    show.show_items(found.items)
    show.show_annotators(found.annotators)
    doubts = [f"Note: {sentence}" for sentence in found.about["contradictions"]]
    show.say_sentences([*found.said.values(), *doubts])
