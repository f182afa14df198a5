"""``wisecrowd report``: the page about a run."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from wisecrowd.cli import options as opt


def report(
    run: opt.Run,
    *,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with an image per item, called as the item, such as 4711.png.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        opt.out_file("HTML file to write. Default: report.html in the run folder."),
    ] = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write the page about a run: one file that works offline.

    [bold]wisecrowd report run/ --images photos/[/bold]

    fit, aggregate and demo write it by themselves, without images.
    """
    from wisecrowd.cli.show import say
    from wisecrowd.report import write_report
    from wisecrowd.results.run_folder import (
        PAGE,
        check_page_file,
        read_findings,
        write_findings,
    )

    check_page_file(out, run, force=force)
    found = read_findings(run)
    write = partial(write_report, found, images=images)
    if out is None:
        write_findings(found, run, page=write, force=force)
    else:
        write(out)
    if not quiet:
        say(f"Wrote {out or run / PAGE}. Open it in a browser.")
