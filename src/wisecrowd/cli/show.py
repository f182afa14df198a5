"""What a person sees in the terminal: tables on stdout, messages on stderr."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wisecrowd._checks import listed
from wisecrowd.cli.options import as_options
from wisecrowd.annotations import Annotations

FLAGGED = 0.9
"""From which probability on an annotator is called a spammer or an adversary."""

SETTLED = 0.95
"""From which probability on an item counts as settled."""

MOST_CLASSES = 20


def say(message: str) -> None:
    """Print a message where it does not disturb the output."""
    typer.echo(message, err=True)


def say_read(labels: Annotations, notes: Iterable[str]) -> None:
    """Print what was read from a file of answers, and what to note."""
    lines = [str(labels.report), f"  {labels}", *notes]
    say(as_options("\n".join(lines)))


def show_json(content: Any) -> None:
    """Print one JSON object; what JSON cannot say (NaN, infinity) is null."""
    typer.echo(json.dumps(_plain(content), allow_nan=False))


def show_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]
) -> None:
    """Print a table; columns whose name begins with ``<`` hold text."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in columns:
        text = name.startswith("<")
        table.add_column(
            Text(name.lstrip("<")),
            justify="left" if text else "right",
            no_wrap=not text,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(highlight=False)
    console.print(Text(title, style="bold"))
    console.print(table)


def number(value: float, digits: int = 3) -> str:
    """Write a score: 0.913, or – where there is none.

    Examples
    --------
    >>> number(0.91266), number(float("nan"))
    ('0.913', '–')
    """
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


def show_classes(items: pd.DataFrame, classes: Any) -> None:
    """Print how many items each class has, if they fit on a page."""
    if len(classes) > MOST_CLASSES:
        return
    rows = []
    for name in classes:
        mine = items["probability"][items["label"] == name]
        share = f"{len(mine) / len(items):.1%}"
        rows.append((str(name), f"{len(mine):,}", share, number(mine.mean())))
    show_table("Classes", ("<class", "items", "share", "mean probability"), rows)


def show_items(items: pd.DataFrame, most: int = 5) -> None:
    """Print the items that are furthest from settled: answered ones, if there are."""
    classes = [name for name in items.columns if name.startswith("p_")]
    answered = items[items["n_answers"] > 0]
    shown = items if answered.empty else answered
    open_items = shown.sort_values("probability", kind="stable").head(most)
    second = np.argsort(-open_items[classes].to_numpy(), axis=1, kind="stable")[:, 1]
    each: Any = open_items.itertuples()
    rows = [
        (
            str(row.item),
            str(row.label),
            number(row.probability),
            classes[i].removeprefix("p_"),
            number(row.probability - row.margin),
            str(row.n_answers),
        )
        for row, i in zip(each, second, strict=True)
    ]
    n_settled = int((items["probability"] >= SETTLED).sum())
    title = (
        f"Least settled items ({n_settled:,} of {len(items):,} are settled: "
        f"probability {SETTLED} or more)"
    )
    columns = ("<item", "<label", "probability", "<next", "probability", "answers")
    show_table(title, columns, rows)


def show_annotators(summary: pd.DataFrame, most: int = 5) -> None:
    """Print the most and the least reliable annotators, with intervals and flags.

    A column ``truth``, if there is one, is shown instead of the informativeness.
    """
    best = summary.sort_values("low", ascending=False, kind="stable")
    columns = (
        "<annotator",
        "answers",
        "accuracy",
        "95 % interval",
        "in truth" if "truth" in summary else "informative",
        "<flag",
    )
    if len(summary) <= 2 * most:
        show_table("Annotators, the most reliable first", columns, _people(best))
        return
    show_table("Most reliable annotators", columns, _people(best.head(most)))
    others = best.iloc[most:]
    worst = others.sort_values("accuracy", kind="stable").head(most)
    show_table("Least reliable annotators", columns, _people(worst))
    for what, who in flagged(summary).items():
        typer.echo(f"Flagged as {what}: {listed(who, 5) or 'nobody'}.")


def flags_of(row: Any) -> str:
    """Return whether an annotator is probably an adversary or a spammer."""
    if row.adversarial >= FLAGGED:
        return f"adversary {row.adversarial:.2f}"
    return f"spammer {row.spammer:.2f}" if row.spammer >= FLAGGED else ""


def flagged(summary: pd.DataFrame) -> dict[str, list[Any]]:
    """Return who is probably an adversary, and who of the others a spammer."""
    adversary = summary["adversarial"] >= FLAGGED
    spammer = (summary["spammer"] >= FLAGGED) & ~adversary
    return {
        "adversaries": summary["annotator"][adversary].tolist(),
        "spammers": summary["annotator"][spammer].tolist(),
    }


def _people(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    each: Any = rows.itertuples()
    return [
        (
            str(row.annotator),
            f"{row.n_labels:,}",
            number(row.accuracy),
            f"{number(row.low)} to {number(row.high)}",
            number(row.truth if "truth" in rows else row.informativeness),
            flags_of(row),
        )
        for row in each
    ]


def _plain(value: Any) -> Any:
    """Return the same content in the types of JSON."""
    if isinstance(value, pd.DataFrame):
        return [_plain(record) for record in value.to_dict("records")]
    if isinstance(value, dict):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
