"""Small pieces of HTML for a notebook: no scripts, the colours of the notebook.

Names of strangers are escaped, and cut if they are long.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from wisecrowd._text import printable, shortened

LONGEST = 60  # letters of a cell
LINE = "border-bottom:1px solid rgba(128,128,128,.35)"
CELL = f"padding:.25em .8em .25em 0;{LINE}"
SOFT = "opacity:.7;font-size:.9em"
WARN = "color:#c2560c"  # stands out on white and on black


def text(value: Any) -> str:
    """Return text as HTML that only shows itself.

    Examples
    --------
    >>> text("<b>")
    '&lt;b&gt;'
    """
    return escape(shortened(printable(value), LONGEST))


def block(title: str, *parts: str) -> str:
    """Return a title with parts below it; the parts are HTML."""
    head = f'<div style="font-weight:600;font-size:1.05em">{escape(title)}</div>'
    inside = "".join(part for part in parts if part)
    return f'<div style="max-width:60em;line-height:1.45">{head}{inside}</div>'


def paragraph(sentence: Any, style: str = "") -> str:
    """Return a sentence; it is not cut."""
    style = f"margin:.3em 0;{style}"
    return f'<p style="{style}">{escape(printable(sentence))}</p>'


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; columns whose name begins with ``<`` hold text."""
    align = ["left" if name.startswith("<") else "right" for name in columns]

    def cells(tag: str, words: Sequence[Any]) -> str:
        return "".join(
            f'<{tag} style="text-align:{side};{CELL}">{text(word)}</{tag}>'
            for word, side in zip(words, align, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<tr>{cells('th', [name.lstrip('<') for name in columns])}</tr>"
    said = f'<caption style="text-align:left;{SOFT}">{text(caption)}</caption>'
    style = "border-collapse:collapse;margin:.6em 0;font-size:inherit"
    return (
        f'<table style="{style}">{said}'
        f"<thead>{head}</thead><tbody>{body}</tbody></table>"
    )
