"""``wisecrowd explain``, ``review`` and ``report``: what a run has learned."""

from functools import partial
from pathlib import Path
from typing import Annotated

from wisecrowd.cli import options as opt


def explain(
    run: opt.Run,
    item: Annotated[str, opt.argument("ITEM", "The id of an item.")],
    *,
    as_json: opt.AsJson = False,
) -> None:
    """Show what each answer, the features and gold add to a label.

    [bold]wisecrowd explain run/ 4711[/bold]
    """
    from wisecrowd.cli import show
    from wisecrowd.results.ledger import one_of_ledger
    from wisecrowd.results.run_folder import read_findings

    rows, chosen = one_of_ledger(read_findings(run), item)
    if as_json:
        show.show_json({**chosen, "ledger": rows})
    else:
        show.show_ledger(rows, chosen)


def review(
    run: opt.Run,
    *,
    budget: Annotated[int, opt.option("N", "The most items to list.", min=1)] = 100,
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
    from wisecrowd.results import run_folder
    from wisecrowd.results.review import said_of_review

    inputs = run_folder.files_of_run(run)
    run_folder.check_file(out, "table", inputs, force=force)
    found = run_folder.read_findings(run)
    rows = found.to_review(budget)
    if out is None:
        show.show_csv(rows)
    else:
        run_folder.write_table(rows, out)
    if not quiet:
        wrote = [] if out is None else [f"Wrote {out}."]
        show.say_sentences([*wrote, said_of_review(rows, found.items)])


def report(
    run: opt.Run,
    *,
    images: Annotated[
        Path | None,
        opt.option(
            "DIR",
            "Folder with an image per item, called as the item, such as 4711.png.",
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
    from wisecrowd.results import run_folder

    inputs = run_folder.files_of_run(run)
    run_folder.check_file(out, "page", inputs, force=force)
    found = run_folder.read_findings(run)
    write = partial(write_report, found, images=images)
    if out is None:
        run_folder.write_findings(found, run, page=write, force=force)
    else:
        write(out)
    if not quiet:
        say(f"Wrote {out or run / run_folder.PAGE}. Open it in a browser.")
