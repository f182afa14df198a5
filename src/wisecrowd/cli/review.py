"""``wisecrowd review``: the items that an expert should look at first."""

from pathlib import Path
from typing import Annotated

import typer

from wisecrowd.cli import options as opt


def review(
    run: opt.Run,
    *,
    budget: Annotated[
        int, typer.Option(metavar="N", min=1, help="The most items to list.")
    ] = 100,
    out: Annotated[
        Path | None,
        opt.out_file("CSV or Parquet to write. Default: CSV on standard output."),
    ] = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
) -> None:
    """List the items whose review by an expert would mend most labels.

    [bold]wisecrowd review run/ --budget 100 --out review.csv[/bold]

    Settled and known items are left out. Let the expert write the classes into the
    column gold, and give the file to the next fit with --gold.
    """
    from wisecrowd.cli import show
    from wisecrowd.results.review import said_of_review
    from wisecrowd.results.run_folder import (
        FILES,
        PAGE,
        check_table_file,
        read_findings,
        write_table,
    )

    check_table_file(out, [run / name for name in (*FILES, PAGE)], force=force)
    found = read_findings(run)
    rows = found.to_review(budget)
    if out is None:
        show.show_csv(rows)
    else:
        write_table(rows, out)
    if not quiet:
        wrote = [] if out is None else [f"Wrote {out}."]
        show.say_sentences([*wrote, said_of_review(rows, found.items)])
