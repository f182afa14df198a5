"""The command line: each command reads files, calls the library and prints.

Only Typer is imported here. What a command needs is imported when it runs, so that
``--help`` is quick.
"""

import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from wisecrowd._text import printable
from wisecrowd._version import __version__
from wisecrowd.cli.aggregate import aggregate
from wisecrowd.cli.compare import compare
from wisecrowd.cli.demo import demo
from wisecrowd.cli.fit import fit
from wisecrowd.cli.methods import cite, methods
from wisecrowd.cli.predict import predict
from wisecrowd.cli.simulate import simulate
from wisecrowd.cli.wording import as_options, printable_usage

USERS_MISTAKE, INTERRUPTED = 2, 130


class Commands(TyperGroup):
    """The commands; a user's mistake becomes one sentence and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with warnings.catch_warnings(), printable_usage():
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except BrokenPipeError:
                raise
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None
            except OSError as error:
                where = error.filename or ctx.invoked_subcommand
                _complain(f"{where}: {error.strerror or error}.")
            except ValueError as error:
                if not _is_input_error(error):
                    raise
                _complain(str(error))
        raise typer.Exit(USERS_MISTAKE)


def _is_input_error(error: ValueError) -> bool:
    from wisecrowd._checks import InputError

    return isinstance(error, InputError)


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


for command in (demo, fit, predict, aggregate, compare, methods, simulate, cite):
    app.command()(command)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal may have no character for a letter of a name.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="wisecrowd")
