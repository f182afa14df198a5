"""Names from strangers: how a terminal shows them, how a spreadsheet gets them.

A name of an item, an annotator or a class can hold anything. In memory, in Parquet and
in JSON it stays as it is. Two borders are guarded: text on a terminal
(:func:`printable`), and cells of CSV files that a spreadsheet would run as formulas
(:func:`marked`, undone by :func:`unmarked`).
"""

import re
from typing import Any

# Letters and marks by their category, but nothing can be seen of them.
INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")  # noqa: E501  # fmt: skip


def printable(text: Any) -> str:
    r"""Return text that only shows itself on a terminal.

    All that has no visible form of its own is written as an escape, as `repr` does:
    control characters, line breaks, marks that change the direction of writing,
    zero-width characters, lone surrogates.

    Examples
    --------
    >>> print(printable("a\x1b[2J\u202eb\n"))
    a\x1b[2J\u202eb\n
    >>> print(printable("Zürich 東京 [bold]"))
    Zürich 東京 [bold]
    """
    text = str(text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        letter
        if letter.isprintable() and letter not in INVISIBLE
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def shortened(text: str, most: int = 100) -> str:
    """Return text of at most so many letters; the rest is three dots.

    Examples
    --------
    >>> shortened("abcdefgh", most=6)
    'abc...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


# -- spreadsheets -------------------------------------------------------------------

# What a spreadsheet takes for a formula begins so; full-width forms do too in some.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠].", re.DOTALL)
_NUMBER = re.compile(r"'*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def _is_formula(text: str) -> bool:
    return bool(_FORMULA.match(text)) and not _NUMBER.fullmatch(text)


def marked(text: str) -> str:
    """Return a cell that no spreadsheet runs: an apostrophe before a formula.

    A formula is a text of two or more letters that begins with ``= + - @``, their
    full-width forms, a tab or a line break, and is no number. Apostrophes before it
    count as part of it, so that :func:`unmarked` returns every text as it was.

    Examples
    --------
    >>> marked("=1+2"), marked("-5"), marked("'=1+2"), marked("-")
    ("'=1+2", '-5', "''=1+2", '-')
    """
    return f"'{text}" if _is_formula(text) else text


def unmarked(text: str) -> str:
    """Return the text that :func:`marked` was given.

    Examples
    --------
    >>> unmarked("'=1+2"), unmarked("'tis"), unmarked("''=1+2")
    ('=1+2', "'tis", "'=1+2")
    """
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text


def for_spreadsheet(table: Any) -> Any:
    """Return a DataFrame whose text cells and headers are :func:`marked`.

    Numbers, and columns of numbers, stay as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": ["=A1", "b"], "margin": [-0.5, 1.0]})
    >>> for_spreadsheet(table).to_numpy().tolist()
    [["'=A1", -0.5], ['b', 1.0]]
    """
    safe = table.rename(columns=_marked_cell)
    for place, kind in enumerate(table.dtypes):
        if kind.kind in "biufcmM":
            continue
        column = table.iloc[:, place]
        words = {word: _marked_cell(word) for word in column.unique()}
        if any(word is not words[word] for word in words):
            safe.isetitem(place, column.map(words))
    return safe


def _marked_cell(cell: Any) -> Any:
    return marked(cell) if isinstance(cell, str) else cell
