"""Options that several commands share, and what they turn into."""

import csv
import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wisecrowd import METHODS

if TYPE_CHECKING:
    from wisecrowd.data.annotations import Annotations

_READING = "Reading the file"

LabelsFile = Annotated[
    Path,
    typer.Argument(
        metavar="LABELS",
        show_default=False,
        help="The answers: a table (CSV, TSV, Parquet, JSON) or an export of "
        "Zooniverse, Label Studio, MTurk, Toloka or peerannot.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_READING,
        help="long, wide, zooniverse, label_studio, mturk, toloka or peerannot, if the "
        "file does not show it.",
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_READING, help="The question, if people answered several."
    ),
]
Workflow = Annotated[
    str | None,
    typer.Option(rich_help_panel=_READING, help="Of Zooniverse: id or name."),
]
Version = Annotated[
    str | None,
    typer.Option(rich_help_panel=_READING, help="Of Zooniverse: workflow version."),
]
Item = Annotated[
    str | None,
    typer.Option(rich_help_panel=_READING, metavar="COL", help="Column of the items."),
]
Annotator = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_READING, metavar="COL", help="Column of the annotators."
    ),
]
Label = Annotated[
    str | None,
    typer.Option(rich_help_panel=_READING, metavar="COL", help="Column of the labels."),
]
Classes = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_READING,
        metavar="A,B,...",
        help="The classes, in order, if not just those that occur.",
    ),
]
Answers = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_READING,
        metavar="A,B,...",
        help="Answers that are not classes, such as 'cannot tell'.",
    ),
]
DropRepeats = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_READING,
        metavar="first|last",
        help="Keep one answer of a person on an item.",
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of tables.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing but what is asked for.")
]


_KEYWORDS = (
    "(format|task|workflow|version|item|annotator|label|classes|answers|drop_repeats)"
)


def as_options(sentence: str) -> str:
    """Return a sentence of the library in the words of the command line.

    Examples
    --------
    >>> as_options("Choose with task=. Or say format='wide'.")
    "Choose with --task. Or say --format 'wide'."
    >>> as_options("Pass classes=['1.5', '2', ...], or answers=[...].")
    'Pass --classes 1.5,2,..., or --answers A,B,....'
    """
    dashed = re.sub(rf"\b{_KEYWORDS}=\[(.*?)\]", _as_list, sentence)
    dashed = re.sub(rf"\b{_KEYWORDS}=(?=')", r"--\1 ", dashed)
    dashed = re.sub(rf"\b{_KEYWORDS}=(?=[\s,.;)])", r"--\1", dashed)
    dashed = dashed.replace("repeats=True", "--repeats")
    return dashed.replace("--drop_repeats", "--drop-repeats")


def _as_list(found: re.Match[str]) -> str:
    name, names = found[1], found[2].replace("'", "").replace(", ", ",")
    return f"--{name} {'A,B,...' if names == '...' else names}"


def several(text: str | None) -> list[str] | None:
    """Return the names in a list with commas; a name that has one goes in quotes.

    Examples
    --------
    >>> several('cat, dog,"a, b"')
    ['cat', 'dog', 'a, b']
    """
    if text is None:
        return None
    row = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in row if name.strip()]


def labels_from(path: Path, **options: Any) -> "Annotations":
    """Read the answers; names given as text become numbers where labels are."""
    from wisecrowd.data.found import retyped
    from wisecrowd.data.tables import read_annotations

    for name in ("classes", "answers"):
        given = several(options[name])
        options[name] = retyped(given).tolist() if given else None
    return read_annotations(path, **options)


def method_name(name: str) -> str:
    """Return the name as ``METHODS`` has it, or say which there are.

    Examples
    --------
    >>> method_name("Dawid_Skene")
    'dawid-skene'
    """
    from wisecrowd._checks import InputError, listed

    key = name.strip().lower().replace("_", "-")
    if key in METHODS:
        return key
    close = get_close_matches(key, list(METHODS), n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise InputError(
        f"there is no method {name!r}; the methods are {listed(METHODS)}.{hint}"
    )


def made_method(name: str, *, seed: int, quiet: bool) -> Any:
    """Return a method with its default settings, the seed where it draws at random."""
    kind: Any = METHODS[method_name(name)]
    known = kind._get_param_names()
    wanted = {"random_state": seed, "progress": False if quiet else None}
    return kind(**{key: value for key, value in wanted.items() if key in known})
