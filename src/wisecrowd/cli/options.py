"""Options that several commands share, and what they turn into."""

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wisecrowd.registry import CLASSIFIERS, METHODS, Methods, method_name

if TYPE_CHECKING:
    import pandas as pd

    from wisecrowd.annotations import Annotations
    from wisecrowd.io.join import FeatureTable

AnswersFile = Annotated[
    list[Path],
    typer.Argument(
        metavar="ANSWERS",
        show_default=False,
        help="The answers: a table (CSV, TSV, Parquet, JSON) or an export of "
        "Zooniverse, Label Studio, MTurk, Toloka or peerannot. Several files, or a "
        "folder, are read as one; - is standard input.",
    ),
]
Run = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        show_default=False,
        help="A folder that fit or aggregate has written.",
    ),
]
RunFolder = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="RUN", help="Folder to write the run to."),
]
GoldFile = Annotated[
    Path | None,
    typer.Option(
        "--gold",
        metavar="FILE",
        help="Known classes (columns item and gold), used in the fit.",
    ),
]
GroupsFile = Annotated[
    Path | None,
    typer.Option(
        "--groups",
        metavar="FILE",
        help="Families of annotators who answer alike (columns annotator and group), "
        "such as language models of one maker. A family has one vote per item.",
    ),
]
LeaveOutItems = Annotated[
    Path | None,
    typer.Option(
        "--leave-out-items",
        metavar="FILE",
        help="Items to leave out of the fit, such as retired subjects: one id per "
        "line, or a table with a column of items.",
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Seed of all random numbers.")
]
SettledAt = Annotated[
    float,
    typer.Option(
        metavar="SHARE",
        help="Share of the settled items whose label may be expected to be wrong.",
    ),
]
Processes = Annotated[
    int,
    typer.Option(
        min=1, help="Of a prepared folder: processes here that share the work."
    ),
]
Distributed = Annotated[
    bool,
    typer.Option(
        "--distributed",
        help="Of a prepared folder: be one of the processes that Slurm, Open MPI or "
        "Kubernetes has started with this command.",
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Replace files that exist, even if no run has written them."
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of tables.")
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print no messages; only what was requested with --json.",
    ),
]
Silent = Annotated[bool, typer.Option("--quiet", "-q", help="Print no messages.")]


def out_file(text: str) -> Any:
    """Return the option ``--out`` of a command that writes one file."""
    return typer.Option("--out", "-o", metavar="FILE", help=text)


def method_option(methods: Methods) -> Any:
    """Return the option ``--method``, with the names of these methods as its help."""
    names = ", ".join(methods)
    text = f"One of {names}. See [bold]wisecrowd methods[/bold]."
    return typer.Option("--method", "-m", metavar="NAME", help=text)


# -- options that a command gets as one ---------------------------------------------


def _reading(text: str, metavar: str | None = None, what: str = "answers") -> Any:
    panel = f"Reading the file of {what}"
    return typer.Option(rich_help_panel=panel, metavar=metavar, help=text)


READING = {
    "format": _reading(
        "long, wide, zooniverse, label_studio, mturk, toloka or peerannot. Default: "
        "recognised from the content."
    ),
    "task": _reading("The question, if the annotators answered several."),
    "workflow": _reading("Zooniverse only: id or name of the workflow."),
    "version": _reading("Zooniverse only: version of the workflow."),
    "item": _reading("Column of the items.", "COL"),
    "annotator": _reading("Column of the annotators.", "COL"),
    "answer": _reading("Column of the answers.", "COL"),
    "annotators": _reading(
        "Columns of a wide table that are annotators. Default: those that share "
        "answers.",
        "A,B,...",
    ),
    "gold_column": _reading(
        "Column of known classes: of the file --gold, or else of ANSWERS.", "COL"
    ),
    "gold_item": _reading(
        "Column of the items in the file --gold. Default: as in ANSWERS, or a usual "
        "name.",
        "COL",
    ),
    "classes": _reading(
        "The classes, in order. Default: all answers that occur.", "A,B,..."
    ),
    "answers": _reading(
        "Possible answers that are not classes, such as 'cannot tell'.", "A,B,..."
    ),
    "drop_repeats": _reading(
        "Keep one answer per annotator and item: the first or the last.", "first|last"
    ),
    "rename": _reading(
        "New names of answers, such as GRFF=GIRAFFE,BFFL=BUFFALO, or a file of them.",
        "OLD=NEW,...|FILE",
    ),
}
"""The options that say how to read a file of answers; each is a text, or None."""

TABLE = {
    "ids": _reading(
        "Column (or array) of the item ids, or a file with one id per line. Default: a "
        "column with a usual name, such as item or id. Without one, the rows are items "
        "0, 1, 2, ...",
        "COL|FILE",
        "features",
    ),
    "key": _reading(
        "Array (npz, HDF5) or column of vectors (Parquet) that has the features.",
        "NAME",
        "features",
    ),
    "columns": _reading(
        "Columns that are the features, in this order; 'all' for all columns of "
        "numbers. Default: columns of numbers, except classes, ids and times.",
        "A,B,...",
        "features",
    ),
    "leave_out": _reading("Columns that are not features.", "A,B,...", "features"),
}
"""The options that say how to read a file of features; each is a text, or None."""

Reading = dict[str, str | None]  # what was given for them
Command = Callable[..., None]


def gathered(
    offered: Mapping[str, Any], into: str, made: Callable[[dict[str, Any]], Any]
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command more options, which it gets as one.

    Parameters
    ----------
    offered : mapping
        From the name of an argument to its annotation, as Typer reads it. The default
        of each is None.
    into : str
        The argument of the command that receives them.
    made : function
        What that argument becomes, from the values of all of them.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> None:
            chosen = {name: given.pop(name) for name in offered}
            command(**given, **{into: made(chosen)})

        own = signature(command)
        kept = [p for name, p in own.parameters.items() if name != into]
        more = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=what)
            for name, what in offered.items()
        ]
        # Typer makes options from the signature and the annotations.
        run.__signature__ = own.replace(parameters=kept + more)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in kept + more}
        return run

    return decorate


LEAVE_OUT = _reading("Columns of a wide table that are not annotators.", "A,B,...")
"""Of a command without features, where the option means the columns of those."""


def with_reading(
    *, without: Sequence[str] = (), leave_out: bool = False
) -> Callable[[Command], Command]:
    """Give a command the options of `READING`; it gets them as one, ``reading``."""
    options = READING | ({"leave_out": LEAVE_OUT} if leave_out else {})
    offered = {
        name: Annotated[str | None, option]
        for name, option in options.items()
        if name not in without
    }
    everything = dict.fromkeys((*READING, "leave_out"))
    return gathered(offered, "reading", lambda given: everything | given)


def with_table_reading() -> Callable[[Command], Command]:
    """Give a command the options of `TABLE`; it gets them as one, ``reading_table``."""
    offered = {name: Annotated[str | None, option] for name, option in TABLE.items()}
    return gathered(offered, "reading_table", dict)


# -- what the options turn into -----------------------------------------------------


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


def answers_from(
    paths: Sequence[Path], reading: Reading, gold: Path | None = None
) -> "Annotations":
    """Read the answers. Classes given as text become numbers if the answers are.

    If there is a file of gold, ``--gold-column`` belongs to it. If that is one of
    `paths`, the column is no annotator.
    """
    from wisecrowd.io.columns import retyped
    from wisecrowd.io.read import read_annotations

    options: dict[str, Any] = dict(reading)
    for name in ("classes", "answers"):
        given = several(reading[name])
        options[name] = retyped(given).tolist() if given else None
    for name in ("annotators", "leave_out"):
        options[name] = several(reading[name])
    column = options.pop("gold_column")
    options.pop("gold_item")
    options["gold"] = column if gold is None or _is_among(gold, paths) else None
    return read_annotations(paths, **options)


def _is_among(path: Path, paths: Sequence[Path]) -> bool:
    """Return whether this is one of the files of answers."""
    from wisecrowd.io.read import files_in

    files = [Path(file).expanduser() for file in files_in(paths)]
    return path.exists() and any(f.exists() and f.samefile(path) for f in files)


def inputs(reading: Reading, *paths: Path | Sequence[Path] | None) -> list[Path]:
    """Return the files that a command reads, of which none may be replaced."""
    from wisecrowd.io.read import files_in

    files: list[Path] = []
    for path in paths:
        if path is not None and not (isinstance(path, Sequence) and not path):
            files += map(Path, files_in(path))
    names = reading["rename"]
    more = [Path(names)] if names is not None and Path(names).is_file() else []
    return [*files, *more]


def features_from(
    path: Path, reading: Reading, columns: Sequence[str] | None = None
) -> "FeatureTable":
    """Read the features: the columns given, or those that the options name."""
    from wisecrowd._checks import InputError
    from wisecrowd.io.join import read_feature_table

    ids = reading["ids"]
    is_file = ids is not None and Path(ids).expanduser().is_file()
    try:
        return read_feature_table(
            path,
            item=None if is_file else ids,
            ids=ids if is_file else None,
            key=reading["key"],
            columns=columns or several(reading["columns"]),
            leave_out=several(reading["leave_out"]) or (),
        )
    except InputError as error:
        # On the command line, --item is a column of the answers.
        raise InputError(re.sub(r"\bitem=", "ids=", str(error))) from None


def gold_from(
    path: Path | None,
    annotations: "Annotations",
    reading: Reading,
    answers: Sequence[Path],
) -> tuple["pd.Series | None", list[str]]:
    """Read known classes of the annotations' items; and what to tell about them.

    If `path` is one of the files of answers, they are the known classes in there.
    """
    from wisecrowd._checks import InputError
    from wisecrowd.io.gold import gold_in, matched_gold
    from wisecrowd.io.join import item_hints

    if path is None:
        return None, []
    if _is_among(path, answers):
        if not len(annotations.gold):
            raise InputError(
                f"{path}: no column of the answers has known classes. Name theirs with "
                f"gold_column=."
            )
        return annotations.gold, []
    given = {"item": reading["gold_item"], "gold": reading["gold_column"]}
    also = {"item": reading["item"], "gold": reading["answer"]}
    try:
        known, notes = matched_gold(gold_in(path, given, also), annotations)
    except InputError as error:
        said = str(error)
        for role, option in {"item": "gold_item", "gold": "gold_column"}.items():
            said = said.replace(f"with {role}=", f"with {option}=")
        hints = item_hints(annotations) if "is among the items" in said else []
        raise InputError(" ".join([_about(path, said), *hints])) from None
    return known, [_about(path, note) for note in notes]


def groups_from(
    path: Path, method: str, annotators: Any
) -> tuple[dict[Any, Any], list[str]]:
    """Read the families of annotators, and note names that nobody here has."""
    from wisecrowd._checks import InputError, counted, listed
    from wisecrowd.io.gold import read_gold

    if method != "consensus":
        raise InputError(f"--groups is for the method consensus, not for {method}.")
    try:
        groups = read_gold(path, item="annotator", gold="group").to_dict()
    except InputError as error:
        raise InputError(_said_of_groups(str(error))) from None
    here = {str(who) for who in annotators}
    unknown = [who for who in groups if str(who) not in here]
    if not 0 < len(unknown) < len(groups):
        return groups, []
    are = "is" if len(unknown) == 1 else "are"
    note = (
        f"{counted(len(unknown), 'annotator')} of the groups {are} not among the "
        f"annotators of the answers: {listed(unknown, 3)}."
    )
    return groups, [_about(path, note)]


def _said_of_groups(said: str) -> str:
    """Return what the reader of gold says, in the words of groups.

    Examples
    --------
    >>> _said_of_groups("more than one gold class was given for 1 item: item 'ann' ...")
    "more than one group was given for 1 annotator: annotator 'ann' ..."
    """
    words = {
        r"' for the (item|gold); ": r"'; ",
        r"\ban item and a class\b": "an annotator and a group",
        r"; gold is read": "; groups are read",
        r"\bone gold class was given for ([\d,]+ )item(s?): item ": (
            r"one group was given for \1annotator\2: annotator "
        ),
    }
    for seen, meant in words.items():
        said = re.sub(seen, meant, said)
    return said


def _about(path: Path, sentence: str) -> str:
    """Return a sentence that names its file."""
    return sentence if str(path) in sentence else f"{path}: {sentence}"


def method_of_command(name: str, methods: Methods) -> str:
    """Return the name of a method of this command, or say which command has it."""
    from wisecrowd._checks import InputError, listed

    key = name.strip().lower().replace("_", "-")
    if key in METHODS and key not in methods:
        what = "features" if key in CLASSIFIERS else "answers alone"
        other = "fit ANSWERS --features FILE" if key in CLASSIFIERS else "aggregate"
        raise InputError(
            f"{key} learns from {what}: use 'wisecrowd {other}'. The methods of this "
            f"command are {listed(methods, 20)}."
        )
    return method_name(name, methods)
