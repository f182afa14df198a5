"""The command line: each command reads files, calls the library and prints.

Only Typer is imported here. What a command needs is imported when it runs, so that
``--help`` is quick.
"""

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import wisecrowd as wc
from wisecrowd._stopping import INTERRUPTED, stop_on_signals
from wisecrowd._text import printable
from wisecrowd._version import __version__
from wisecrowd.cli.compare import compare
from wisecrowd.cli.demo import demo
from wisecrowd.cli.fit import aggregate, fit
from wisecrowd.cli.methods import cite, methods
from wisecrowd.cli.predict import predict
from wisecrowd.cli.prepare import prepare
from wisecrowd.cli.reproduce import reproduce
from wisecrowd.cli.runs import explain, report, review
from wisecrowd.cli.simulate import glitches, simulate
from wisecrowd.cli.wording import as_options, said_of_usage

# What the help calls a file or folder.
FILES = ("ANSWERS", "FEATURES", "FILE", "FOLDER", "RUN")
USERS_MISTAKE, OUR_MISTAKE = 2, 70


class Commands(TyperGroup):
    """The commands; whatever fails is one sentence and an exit code.

    A user's mistake has exit code 2. What wisecrowd did not foresee has 70, as
    ``EX_SOFTWARE`` of sysexits.h, and its details are kept in a file.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what comes before the command; nothing at all asks for the help."""
        nothing = not args  # the parser takes them off the list
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if nothing:
                raise
            code = _explained(error, "wisecrowd")
        raise typer.Exit(code)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command, whose name may have two words: ``simulate glitches``."""
        two = " ".join(args[:2])
        return super().resolve_command(
            ctx, [two, *args[2:]] if two in self.commands else args
        )

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None
            except Exception as error:
                code = _explained(error, ctx.invoked_subcommand or "wisecrowd")
        raise typer.Exit(code)


class Command(TyperCommand):
    """A command that refuses an empty name of a file, which would be the folder."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look at the arguments as they were typed, then parse them."""
        given, *_ = self.make_parser(ctx).parse_args(list(args))
        for parameter in self.get_params(ctx):
            word = getattr(parameter, "metavar", None)
            named = given.get(parameter.name or "")
            empty = "" in named if isinstance(named, list | tuple) else named == ""
            if word in FILES and empty:
                option = parameter.opts[0]
                what = option if option.startswith("-") else word
                raise wc.InputError(
                    f"{what}: the name is empty. Give the name of a file."
                )
        rest = super().parse_args(ctx, args)
        for name, value in ctx.params.items():
            if isinstance(value, Path):
                ctx.params[name] = value.expanduser()
        return rest


def _explained(error: Exception, command: str) -> int:
    """Print what is wrong; return the exit code. Typer's own ways to end go on."""
    if isinstance(error, typer.Exit | typer.Abort | BrokenPipeError):
        raise error
    if hasattr(error, "format_message"):  # Typer does not understand the arguments
        _complain(said_of_usage(error.format_message(), command))
    elif isinstance(error, wc.InputError):
        _complain(str(error))
    elif isinstance(error, OSError):
        _complain(f"{error.filename or command}: {error.strerror or error}.")
    elif isinstance(error, MemoryError):
        _complain(f"{command}: there is not enough memory for this. Use less data.")
    else:
        from wisecrowd.cli.unforeseen import details_file

        _complain(
            f"{command}: something went wrong that wisecrowd did not foresee "
            f"({type(error).__name__}). Please report it with the details in "
            f"{details_file(error, command)}"
        )
        return OUR_MISTAKE
    return USERS_MISTAKE


def _complain(sentence: str) -> None:
    typer.secho("error: ", fg=typer.colors.RED, bold=True, nl=False, err=True)
    typer.echo(printable(as_options(sentence)), err=True)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    typer.secho("note: ", fg=typer.colors.YELLOW, nl=False, err=True)
    typer.echo(printable(as_options(str(message))), err=True)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> bool:
    if asked:
        typer.echo(f"wisecrowd {__version__}")
        raise typer.Exit
    return asked


@app.callback()
def _about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Learn labels, annotators' skills and a classifier from the answers of a crowd.

    Start with [bold]wisecrowd demo[/bold]. Then use a file of your own:
    [bold]wisecrowd aggregate answers.csv --out run/[/bold], or with features
    [bold]wisecrowd fit answers.csv --features features.parquet --out run/[/bold]
    """


for command in (
    demo, fit, predict, aggregate, prepare, report, explain, review, compare, methods,
    simulate, glitches, reproduce, cite,
):  # fmt: skip
    words = "simulate glitches" if command is glitches else command.__name__
    app.command(words, cls=Command)(command)


def main() -> None:
    """Run the command line."""
    stop_on_signals()
    for stream in (sys.stdout, sys.stderr):
        # A terminal may have no character for a letter of a name.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="wisecrowd")
