"""``wisecrowd compare``: several methods on one file of answers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wisecrowd import AGGREGATORS
from wisecrowd.cli import options as opt

HEADINGS = {
    "accuracy": "accuracy",
    "mean_likelihood": "likelihood",
    "log_loss": "log loss",
    "calibration_error": "calibration",
    "unseen_answers": "unseen",
    "seconds": "seconds",
}


@opt.with_reading()
def compare(
    labels: opt.LabelsFile,
    *,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods", "-m", metavar="A,B,...", help="Which ones. Default: all."
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Known classes (columns item and gold) to compare with, which no "
            "method sees. Default: those in LABELS, if it has any.",
        ),
    ] = None,
    seed: opt.Seed = 0,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
    reading: opt.Reading,
) -> None:
    """Run several methods on the same answers and compare them.

    Against known classes where there are some; otherwise by how far the methods agree
    and by how well each predicts answers that it has not seen.
    """
    chosen = opt.several(methods) or AGGREGATORS
    names = [opt.method_name(n, AGGREGATORS) for n in chosen]
    models = {n: opt.made_method(n, AGGREGATORS, seed=seed, quiet=quiet) for n in names}
    read = opt.labels_from(labels, reading)
    _compare(models, read, gold=gold, seed=seed, as_json=as_json, quiet=quiet)


def _compare(
    models: dict[str, Any], labels: Any, *, gold: Path | None, seed: int, **how: bool
) -> None:
    from wisecrowd.cli.contest import agreement, contest
    from wisecrowd.cli.show import say, say_read, show_json
    from wisecrowd.metrics import krippendorff_alpha

    known, notes = labels.gold, list[str]()
    if gold is not None:
        from wisecrowd.io.gold import read_gold

        known, notes = read_gold(gold, labels)
    alpha = krippendorff_alpha(labels)
    if not how["quiet"]:
        say_read(labels, notes)
    table = contest(models, labels, known, seed=seed)
    between = agreement(models)
    if how["as_json"]:
        show_json(
            {
                "krippendorff_alpha": alpha,
                "n_gold": len(known),
                "methods": table,
                "agreement": between.to_dict(),
            }
        )
    else:
        _show(table, between, alpha, len(known))
        if not how["quiet"]:
            say(
                "unseen: mean log probability of answers hidden from the fit; nearer "
                "to 0 is better."
            )


def _show(table: Any, between: Any, alpha: float, n_gold: int) -> None:
    from wisecrowd.cli.show import number, show_table

    against = f"against {n_gold:,} gold items" if n_gold else "no gold is known"
    title = f"Methods ({against}; Krippendorff's alpha of the crowd {number(alpha)})"
    rows = [
        (row["method"], *(number(v) for v in row.iloc[1:-1]), f"{row['seconds']:.1f}")
        for _, row in table.iterrows()
    ]
    show_table(title, ("<method", *(HEADINGS[n] for n in table.columns[1:])), rows)
    if len(between) > 1:
        share = [(n, *(f"{v:.1%}" for v in between.loc[n])) for n in between.index]
        show_table("Items on which two methods agree", ("<", *between.columns), share)
