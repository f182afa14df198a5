"""Options that several commands share, and what they turn into."""

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wisecrowd import CLASSIFIERS, METHODS

if TYPE_CHECKING:
    from wisecrowd.annotations import Annotations

_FEATURES = "Reading the file of features"

LabelsFile = Annotated[
    Path,
    typer.Argument(
        metavar="LABELS",
        show_default=False,
        help="The answers: a table (CSV, TSV, Parquet, JSON) or an export of "
        "Zooniverse, Label Studio, MTurk, Toloka or peerannot.",
    ),
]
RunFolder = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="RUN", help="Folder to write the run into."),
]
GoldFile = Annotated[
    Path | None,
    typer.Option(
        "--gold",
        metavar="FILE",
        help="Known classes (columns item and gold), used inside the fit.",
    ),
]
ItemIds = Annotated[
    str | None,
    typer.Option(
        "--ids",
        rich_help_panel=_FEATURES,
        metavar="COL",
        help="Column (or array) of the item ids. Default: the one called item, id or "
        "the like; without one, rows are items 0, 1, 2, ...",
    ),
]
FeaturesKey = Annotated[
    str | None,
    typer.Option(
        "--key",
        rich_help_panel=_FEATURES,
        metavar="NAME",
        help="Array (npz, HDF5) or column of vectors (Parquet) that holds them.",
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of tables.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing but what is asked for.")
]


def _reading(text: str, metavar: str | None = None) -> Any:
    panel = "Reading the file of answers"
    return typer.Option(rich_help_panel=panel, metavar=metavar, help=text)


READING = {
    "format": _reading(
        "long, wide, zooniverse, label_studio, mturk, toloka or peerannot, if the "
        "file does not show it."
    ),
    "task": _reading("The question, if people answered several."),
    "workflow": _reading("Of Zooniverse: id or name."),
    "version": _reading("Of Zooniverse: workflow version."),
    "item": _reading("Column of the items.", "COL"),
    "annotator": _reading("Column of the annotators.", "COL"),
    "label": _reading("Column of the labels.", "COL"),
    "classes": _reading(
        "The classes, in order, if not just those that occur.", "A,B,..."
    ),
    "answers": _reading(
        "Answers that are not classes, such as 'cannot tell'.", "A,B,..."
    ),
    "drop_repeats": _reading("Keep one answer of a person on an item.", "first|last"),
}
"""The options that say how to read a file of answers; each is a text, or None."""

Reading = dict[str, str | None]  # what was given for them
Command = Callable[..., None]


def with_reading(*, without: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Give a command the options of `READING`; it gets them as one, ``reading``."""
    offered = [name for name in READING if name not in without]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> None:
            chosen = {name: given.pop(name) for name in offered}
            command(**given, reading={**dict.fromkeys(READING), **chosen})

        own = signature(command)
        kept = [p for name, p in own.parameters.items() if name != "reading"]
        more = [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[str | None, READING[name]],
            )
            for name in offered
        ]
        # what Typer looks at to make options of arguments
        run.__signature__ = own.replace(parameters=kept + more)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in kept + more}
        return run

    return decorate


_KEYWORDS = (
    "(format|task|workflow|version|item|annotator|label|classes|answers|drop_repeats|"
    "key|n_inducing)"
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
    dashed = dashed.replace("--n_inducing", "--inducing")
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


def labels_from(path: Path, reading: Reading) -> "Annotations":
    """Read the answers; names given as text become numbers where labels are."""
    from wisecrowd.io.columns import retyped
    from wisecrowd.io.read import read_annotations

    options: dict[str, Any] = dict(reading)
    for name in ("classes", "answers"):
        given = several(reading[name])
        options[name] = retyped(given).tolist() if given else None
    return read_annotations(path, **options)


def method_name(name: str, methods: Mapping[str, type]) -> str:
    """Return the name as ``METHODS`` has it, or say which there are.

    Examples
    --------
    >>> from wisecrowd import AGGREGATORS
    >>> method_name("Dawid_Skene", AGGREGATORS)
    'dawid-skene'
    """
    from wisecrowd._checks import InputError, listed

    key = name.strip().lower().replace("_", "-")
    if key in methods:
        return key
    if key in METHODS:
        other = "fit, with --features" if key in CLASSIFIERS else "aggregate"
        raise InputError(
            f"{key} is a method of another command, 'wisecrowd {other}'; the methods "
            f"of this one are {listed(methods)}."
        )
    close = get_close_matches(key, list(methods), n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise InputError(
        f"there is no method {name!r}; the methods are {listed(methods)}.{hint}"
    )


def made_method(
    name: str, methods: Mapping[str, type], *, seed: int, quiet: bool, **settings: Any
) -> Any:
    """Return a method with these settings, None being its default.

    The seed goes where something is drawn at random.
    """
    from wisecrowd._checks import InputError

    key = method_name(name, methods)
    kind: Any = methods[key]
    known = kind._get_param_names()
    chosen = {name: value for name, value in settings.items() if value is not None}
    unknown = [OPTION_OF[name] for name in chosen if name not in known]
    if unknown:
        raise InputError(f"{key} has no use for {' and '.join(unknown)}: leave it out.")
    wanted = {"random_state": seed, "progress": False if quiet else None}
    return kind(**{k: v for k, v in wanted.items() if k in known}, **chosen)


OPTION_OF = {
    "n_inducing": "--inducing",
    "kernel": "--kernel",
    "link": "--link",
    "epsilon": "--epsilon",
    "annotator_prior": "--prior",
    "max_epochs": "--epochs",
    "time_limit": "--time-limit",
}
"""The option that sets each setting of a classifier."""
