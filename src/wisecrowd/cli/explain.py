"""``wisecrowd explain``: what speaks for a label, and how much."""

from typing import Annotated, Any

import typer

from wisecrowd.cli import options as opt


def explain(
    run: opt.Run,
    item: Annotated[
        str,
        typer.Argument(metavar="ITEM", show_default=False, help="The id of an item."),
    ],
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
        return
    show.show_table(
        f"Why item {chosen['item']!r} is labelled {chosen['label']!r} and not "
        f"{chosen['against']!r}",
        ("<what", "<answer", "counts as", "log-odds"),
        _shown(rows),
    )
    show.say_sentences([chosen["sentence"]])


def _shown(rows: Any) -> list[tuple[str, ...]]:
    from wisecrowd.cli.show import number
    from wisecrowd.results.ledger import ANSWER, SAID

    return [
        (
            SAID.get(row.kind) or f"annotator {row.who}",
            row.answer if row.kind == ANSWER else "",
            number(row.counts, 2) if row.kind == ANSWER else "",
            signed(row.log_odds),
        )
        for row in rows.itertuples()
    ]


def signed(value: float) -> str:
    """Write what is added: +1.24, -0.30, or "certain".

    Examples
    --------
    >>> signed(1.236), signed(-0.3), signed(float("inf"))
    ('+1.24', '-0.30', 'certain')
    """
    return f"{value:+.2f}" if abs(value) < float("inf") else "certain"
