"""What is printed in the terminal: tables on stdout, messages on stderr."""

import json
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wisecrowd._checks import counted
from wisecrowd._text import printable, shortened
from wisecrowd.annotations import Annotations
from wisecrowd.cli.wording import as_options
from wisecrowd.results.findings import plain
from wisecrowd.results.flags import ADVERSARY, CERTAIN, SPAMMER, n_certain
from wisecrowd.results.ledger import ANSWER, SAID
from wisecrowd.results.run_folder import csv_text
from wisecrowd.results.sentences import cells, number
from wisecrowd.results.tables import uncertain_items

LEAST_NAME = 14  # letters in a line of a text on a narrow terminal
MOST_SETTING = 20  # letters in the name of a setting, which is never folded
MOST_CLASSES = 20  # rows of the table of classes; more do not fit on a page

CLASSES = (
    ("<class", "{class}"),
    ("items", "{n_items:,}"),
    ("share", "{share:.1%}"),
    ("mean probability", "{mean_probability:.3f}"),
)
ITEMS = (
    ("<item", "{item}"),
    ("<label", "{label}"),
    ("probability", "{probability:.3f}"),
    ("<next", "{next_label}"),
    ("probability", "{next_probability:.3f}"),
    ("answers", "{n_answers}"),
)
ANNOTATORS = (
    ("<annotator", "{annotator}"),
    ("answers", "{n_answers:,}"),
    ("accuracy", "{accuracy:.3f}"),
    ("95 % interval", "{low:.3f} to {high:.3f}"),
    ("informative", "{informativeness:.3f}"),
    ("<flag", "{flag}"),
)
"""The columns of the tables, and how their cells are written."""


def say(*lines: Any) -> None:
    """Print lines of a message where they do not disturb the output.

    This and the other functions here are where text of strangers meets the terminal:
    what a name does to a terminal is taken from it (:func:`printable`).
    """
    if lines:
        typer.echo("\n".join(map(printable, lines)), err=True)


def say_sentences(sentences: Iterable[str]) -> None:
    """Print sentences in lines that fit a terminal."""
    whole = (printable(said).replace(" %", "\xa0%") for said in sentences)
    lines = (line for said in whole for line in textwrap.wrap(said, 80))
    say(*(line.replace("\xa0%", " %") for line in lines))


def say_read(annotations: Annotations, notes: Iterable[str]) -> None:
    """Print what was read from a file of answers, and what to note."""
    lines = [*report_lines(annotations.report), f"  {sizes(annotations)}", *notes]
    say(*map(as_options, lines))


def report_lines(report: Any) -> list[str]:
    """Return the lines of the report on a file; a name in it cannot begin a line."""
    if report is None:
        return []
    left_out = {printable(why): n for why, n in report.left_out.items()}
    notes = tuple(printable(note) for note in report.notes)
    path = printable(report.path)
    return str(replace(report, path=path, left_out=left_out, notes=notes)).split("\n")


def sizes(annotations: Annotations) -> str:
    """Return how many items, annotators, classes and answers there are."""
    return repr(annotations).removeprefix("Annotations(").removesuffix(")")


def show_json(content: Any) -> None:
    """Print one JSON object on one line; NaN and infinity are null."""
    # DEL is the one control character that JSON leaves as it is.
    typer.echo(json.dumps(plain(content), allow_nan=False).replace("\x7f", "\\u007f"))


def show_csv(table: pd.DataFrame) -> None:
    """Print a table as a CSV, for a file or for another program."""
    typer.echo(csv_text(table), nl=False)


def show_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    most: int = 100,
) -> None:
    """Print a table; columns whose name begins with ``<`` hold text.

    Cells with more than `most` letters are cut: names from strangers can be long. On a
    narrow terminal names are folded, and numbers stay whole: its lines may be too long.
    """
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    lines = [[name.lstrip("<") for name in columns], *rows]
    # As they are read: no control characters, no markup, not too long.
    heads, *body = (
        [Text(shortened(printable(cell), most)) for cell in line] for line in lines
    )
    least = 0
    for place, (name, head) in enumerate(zip(columns, heads, strict=True)):
        text = name.startswith("<")
        width = max(line[place].cell_len for line in [heads, *body])
        width = min(width, LEAST_NAME if place else MOST_SETTING) if text else width
        least += width + 2
        side: Any = "left" if text else "right"
        table.add_column(
            head, justify=side, no_wrap=not text, overflow="fold", min_width=width
        )
    for line in body:
        table.add_row(*line)
    console = Console(highlight=False)
    if console.width < least:
        console = Console(highlight=False, width=least)
    console.print(Text(printable(title), style="bold"))
    console.print(table)


def show_classes(table: pd.DataFrame) -> None:
    """Print how many items each class has; of many classes, the most frequent."""
    if len(table) <= MOST_CLASSES:
        show_table("Classes", *cells(table, CLASSES))
        return
    title = f"The {MOST_CLASSES} most frequent of {len(table):,} classes"
    table = table.sort_values("n_items", ascending=False, kind="stable")
    show_table(title, *cells(table[:MOST_CLASSES], CLASSES))
    rest = table[MOST_CLASSES:]
    n_items, n_empty = int(rest["n_items"].sum()), int((rest["n_items"] == 0).sum())
    empty = f"; {n_empty:,} of them are the label of no item" if n_empty else ""
    typer.echo(
        f"The other {counted(len(rest), 'class')} together: "
        f"{counted(n_items, 'item')} ({rest['share'].sum():.1%}){empty}.\n"
    )


def show_items(items: pd.DataFrame) -> None:
    """Print the items whose label is least probable."""
    title = (
        f"Most uncertain items ({n_certain(items):,} of {len(items):,} labels have a "
        f"probability of {CERTAIN} or more)"
    )
    show_table(title, *cells(uncertain_items(items), ITEMS))


def show_annotators(annotators: pd.DataFrame, most: int = 5) -> None:
    """Print the most and the least reliable annotators, with intervals and flags.

    A column ``truth``, if there is one, is shown instead of the informativeness.
    """
    columns = ANNOTATORS
    if "truth" in annotators:
        columns = (*ANNOTATORS[:4], ("in truth", "{truth:.3f}"), ANNOTATORS[5])
    which = {ADVERSARY: "adversarial", SPAMMER: "spammer"}
    flags = [
        f"{row['flag']} {row[which[row['flag']]]:.2f}" if row["flag"] else ""
        for row in annotators.to_dict("records")
    ]
    best = annotators.assign(flag=flags)
    best = best.sort_values("low", ascending=False, kind="stable")
    if len(best) <= 2 * most:
        show_table("Annotators, the most reliable first", *cells(best, columns))
        return
    show_table("Most reliable annotators", *cells(best.head(most), columns))
    worst = best.iloc[most:].sort_values("accuracy", kind="stable").head(most)
    show_table("Least reliable annotators", *cells(worst, columns))


def show_ledger(rows: Any, chosen: dict[str, Any]) -> None:
    """Print why an item has its label."""
    lines = [
        (
            SAID.get(row.kind) or f"annotator {row.who}",
            *((row.answer, number(row.counts, 2)) if row.kind == ANSWER else ("", "")),
            signed(row.log_odds),
        )
        for row in rows.itertuples()
    ]
    title = (
        f"Why item {chosen['item']!r} is labelled {chosen['label']!r} and not "
        f"{chosen['against']!r}"
    )
    show_table(title, ("<what", "<answer", "counts as", "log-odds"), lines)
    say_sentences([chosen["sentence"]])


def signed(value: float) -> str:
    """Write what is added: +1.24, -0.30, or "certain".

    Examples
    --------
    >>> signed(1.236), signed(-0.3), signed(float("inf"))
    ('+1.24', '-0.30', 'certain')
    """
    return f"{value:+.2f}" if math.isfinite(value) else "certain"
