"""Options that several commands share."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any

import typer

import wisecrowd as wc
from wisecrowd.registry import CLASSIFIERS, METHODS, Methods, method_name


def option(spec: str, text: str, **how: Any) -> Any:
    """Return an option from ``--name -n METAVAR``; each may be left out."""
    names = [word for word in spec.split() if word.startswith("-")]
    metavar = " ".join(word for word in spec.split() if word not in names)
    return typer.Option(*names, metavar=metavar or None, help=text, **how)


def argument(metavar: str, text: str) -> Any:
    """Return an argument of a command; nothing is said of its default."""
    return typer.Argument(metavar=metavar, show_default=False, help=text)


def out_file(text: str) -> Any:
    """Return the option ``--out`` of a command that writes one file."""
    return option("--out -o FILE", text)


def out_folder(text: str) -> Any:
    """Return the option ``--out`` of a command that needs a folder to write to."""
    return option("--out -o FOLDER", text, show_default=False)


def method_option(methods: Methods) -> Any:
    """Return the option ``--method``, with the names of these methods as its help."""
    text = f"One of {', '.join(methods)}. See [bold]wisecrowd methods[/bold]."
    return option("--method -m NAME", text)


AnswersFile = Annotated[
    list[Path],
    argument(
        "ANSWERS",
        "The answers: a table (CSV, TSV, Parquet, JSON) or an export of Zooniverse, "
        "Label Studio, MTurk, Toloka or peerannot. Several files, or a folder, are "
        "read as one; - is standard input.",
    ),
]
Run = Annotated[Path, argument("RUN", "A folder that fit or aggregate has written.")]
RunFolder = Annotated[
    Path | None, option("--out -o RUN", "Folder to write the run to.")
]
GoldFile = Annotated[
    Path | None,
    option("--gold FILE", "Known classes (columns item and gold), used in the fit."),
]
GroupsFile = Annotated[
    Path | None,
    option(
        "--groups FILE",
        "Families of annotators who answer alike (columns annotator and group), such "
        "as language models of one maker. A family has one vote per item.",
    ),
]
LeaveOutItems = Annotated[
    Path | None,
    option(
        "--leave-out-items FILE",
        "Items to leave out of the fit, such as retired subjects: one id per line, or "
        "a table with a column of items.",
    ),
]
Seed = Annotated[int, option("", "Seed of all random numbers.", min=0, max=2**32 - 1)]
SettledAt = Annotated[
    float,
    option(
        "SHARE",
        "Share of the settled items whose label may be expected to be wrong.",
    ),
]
Processes = Annotated[
    int,
    option(
        "",
        "Processes here that share the work: of a prepared folder, or of a fit.",
        min=1,
    ),
]
Distributed = Annotated[
    bool,
    option(
        "--distributed",
        "Be one of the processes that Slurm, Open MPI or Kubernetes has started with "
        "this command, to share the work of a prepared folder, or of a fit.",
    ),
]
Force = Annotated[
    bool,
    option("--force", "Replace files that exist, even if no run has written them."),
]
AsJson = Annotated[bool, option("--json", "Print one JSON object instead of tables.")]
Quiet = Annotated[
    bool,
    option("--quiet -q", "Print no messages; only what was requested with --json."),
]
Silent = Annotated[bool, option("--quiet -q", "Print no messages.")]


# -- options that a command gets as one ---------------------------------------------


def _reading(text: str, metavar: str = "", what: str = "answers") -> Any:
    return option(metavar, text, rich_help_panel=f"Reading the file of {what}")


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

LEAVE_OUT = _reading("Columns of a wide table that are not annotators.", "A,B,...")
"""Of a command without features, where the option means the columns of those."""

Reading = dict[str, str | None]  # what was given for them
Command = Callable[..., None]


def gathered(
    offered: Mapping[str, Any], into: str, made: Callable[[dict[str, Any]], Any]
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command more options, which it gets as one.

    `offered` maps names of arguments to annotations, as Typer reads them. `made` turns
    the values of all of them into the argument `into` of the command.
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


def _texts(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: Annotated[str | None, option] for name, option in options.items()}


def with_reading(*names: str, leave_out: bool = False) -> Callable[[Command], Command]:
    """Give a command options of `READING`; it gets them as one, ``reading``.

    Without `names`, all of them, and with `leave_out` one more.
    """
    offered = {name: READING[name] for name in names or READING}
    offered |= {"leave_out": LEAVE_OUT} if leave_out else {}
    nothing = dict.fromkeys((*READING, "leave_out"))
    return gathered(_texts(offered), "reading", lambda given: nothing | given)


def with_table_reading() -> Callable[[Command], Command]:
    """Give a command the options of `TABLE`; it gets them as one, ``reading_table``."""
    return gathered(_texts(TABLE), "reading_table", dict)


def method_of_command(name: str, methods: Methods) -> str:
    """Return the name of a method of this command, or say which command has it."""
    from wisecrowd._checks import listed

    key = name.strip().lower().replace("_", "-")
    if key in METHODS and key not in methods:
        what = "features" if key in CLASSIFIERS else "answers alone"
        other = "fit ANSWERS --features FILE" if key in CLASSIFIERS else "aggregate"
        raise wc.InputError(
            f"{key} learns from {what}: use 'wisecrowd {other}'. The methods of this "
            f"command are {listed(methods, 20)}."
        )
    return method_name(name, methods)
