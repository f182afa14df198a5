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
from wisecrowd.results.flags import (
    ADVERSARY,
    CERTAIN,
    SPAMMER,
    n_certain,
)
from wisecrowd.results.run_folder import csv_text
from wisecrowd.results.tables import uncertain_items

LEAST_NAME = 14  # letters in a line of a name on a narrow terminal; methods have less
MOST_CLASSES = 20  # rows of the table of classes; more do not fit on a page


def say(*lines: Any) -> None:
    """Print lines of a message where they do not disturb the output.

    This and the other functions here are where text of strangers meets the terminal:
    what a name does to a terminal is taken from it (:func:`printable`).
    """
    typer.echo("\n".join(map(printable, lines)), err=True)


def say_sentences(sentences: Iterable[str]) -> None:
    """Print sentences in lines that fit a terminal."""
    say(*(line for said in sentences for line in textwrap.wrap(printable(said), 80)))


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
    heads = [_cell(name.lstrip("<"), most) for name in columns]
    cells = [[_cell(text, most) for text in row] for row in rows]
    least = 0
    for place, (name, head) in enumerate(zip(columns, heads, strict=True)):
        text = name.startswith("<")
        width = max(one[place].cell_len for one in [heads, *cells])
        width = min(width, LEAST_NAME) if text else width
        least += width + 2
        table.add_column(
            head,
            justify="left" if text else "right",
            no_wrap=not text,
            overflow="fold",
            min_width=width,
        )
    for row in cells:
        table.add_row(*row)
    console = Console(highlight=False)
    if console.width < least:
        console = Console(highlight=False, width=least)
    console.print(Text(printable(title), style="bold"))
    console.print(table)


def _cell(text: str, most: int) -> Text:
    """Return a cell as it is read: no control characters, no markup, not too long."""
    return Text(shortened(printable(text), most))


def number(value: float, digits: int = 3) -> str:
    """Write a score: 0.913, or – where there is none.

    Examples
    --------
    >>> number(0.91266), number(float("nan"))
    ('0.913', '–')
    """
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


def show_classes(table: pd.DataFrame) -> None:
    """Print how many items each class has; of many classes, the most frequent."""
    title, n_more = "Classes", len(table) - MOST_CLASSES
    if n_more > 0:
        title = f"The {MOST_CLASSES} most frequent of {len(table):,} classes"
        table = table.sort_values("n_items", ascending=False, kind="stable")
        rest, table = table[MOST_CLASSES:], table[:MOST_CLASSES]
    shown = ("class", "n_items", "share", "mean_probability")
    columns = (table[name].tolist() for name in shown)
    rows = [
        (str(name), f"{n_items:,}", f"{share:.1%}", number(probability))
        for name, n_items, share, probability in zip(*columns, strict=True)
    ]
    show_table(title, ("<class", "items", "share", "mean probability"), rows)
    if n_more > 0:
        typer.echo(_said_of_rest(rest))


def _said_of_rest(rest: pd.DataFrame) -> str:
    """Return what is to know about the classes that are not in the table."""
    n_items, n_empty = int(rest["n_items"].sum()), int((rest["n_items"] == 0).sum())
    empty = f"; {n_empty:,} of them are the label of no item" if n_empty else ""
    return (
        f"The other {counted(len(rest), 'class')} together: "
        f"{counted(n_items, 'item')} ({rest['share'].sum():.1%}){empty}.\n"
    )


def show_items(items: pd.DataFrame) -> None:
    """Print the items whose label is least probable."""
    each: Any = uncertain_items(items).itertuples()
    rows = [
        (
            str(row.item),
            str(row.label),
            number(row.probability),
            str(row.next_label),
            number(row.next_probability),
            str(row.n_answers),
        )
        for row in each
    ]
    title = (
        f"Most uncertain items ({n_certain(items):,} of {len(items):,} labels have a "
        f"probability of {CERTAIN} or more)"
    )
    columns = ("<item", "<label", "probability", "<next", "probability", "answers")
    show_table(title, columns, rows)


def show_annotators(annotators: pd.DataFrame, most: int = 5) -> None:
    """Print the most and the least reliable annotators, with intervals and flags.

    A column ``truth``, if there is one, is shown instead of the informativeness.
    """
    best = annotators.sort_values("low", ascending=False, kind="stable")
    columns = (
        "<annotator",
        "answers",
        "accuracy",
        "95 % interval",
        "in truth" if "truth" in annotators else "informative",
        "<flag",
    )
    if len(annotators) <= 2 * most:
        show_table("Annotators, the most reliable first", columns, _rows_of(best))
        return
    show_table("Most reliable annotators", columns, _rows_of(best.head(most)))
    others = best.iloc[most:]
    worst = others.sort_values("accuracy", kind="stable").head(most)
    show_table("Least reliable annotators", columns, _rows_of(worst))


def _rows_of(annotators: pd.DataFrame) -> list[tuple[str, ...]]:
    each: Any = annotators.itertuples()
    return [
        (
            str(row.annotator),
            f"{row.n_answers:,}",
            number(row.accuracy),
            f"{number(row.low)} to {number(row.high)}",
            number(row.truth if "truth" in annotators else row.informativeness),
            _flag(row),
        )
        for row in each
    ]


def _flag(row: Any) -> str:
    """Return the flag of an annotator with its probability."""
    probability = {ADVERSARY: row.adversarial, SPAMMER: row.spammer}
    return f"{row.flag} {probability[row.flag]:.2f}" if row.flag else ""
