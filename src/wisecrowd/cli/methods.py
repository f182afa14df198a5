"""``wisecrowd methods`` and ``wisecrowd cite``: what there is, and whose it is."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wisecrowd.cli import options as opt
from wisecrowd.registry import METHODS, method_name
from wisecrowd.registry import cite as citation

MOST_LETTERS = 500  # of a sentence about a setting: all of it


def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", show_default=False, help="Show the settings of this one."
        ),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """List all methods, or the settings of one method.

    [bold]wisecrowd methods bcc[/bold]
    """
    if name is None:
        _all_methods(as_json=as_json)
    else:
        _one_method(method_name(name), as_json=as_json)


def cite(
    what: Annotated[
        str,
        typer.Argument(
            metavar="METHOD|RUN",
            show_default=False,
            help="Name of a method, or a folder that aggregate or fit has written.",
        ),
    ],
) -> None:
    """Print the BibTeX of a method, or of the method of a run."""
    if Path(what).is_dir():
        from wisecrowd.persist import load

        typer.echo(citation(load(what)))
    else:
        typer.echo(citation(method_name(what)))


def _all_methods(*, as_json: bool) -> None:
    from wisecrowd.cli.show import say, show_json, show_table

    found = [METHODS.info(name) for name in METHODS]
    if as_json:
        records = [_without_markup(vars(info)) for info in found]
        show_json({"methods": records})
        return
    rows = [
        (m.name, m.needed, m.learns, m.paper.replace("*", "") or "–") for m in found
    ]
    columns = ("<name", "<needs", "<what it learns about an annotator", "<paper")
    show_table("Methods", columns, rows)
    say(
        "Settings of a method: wisecrowd methods NAME. To cite it: wisecrowd cite NAME."
    )


def _one_method(name: str, *, as_json: bool) -> None:
    from wisecrowd.cli.show import say, show_json, show_table
    from wisecrowd.cli.values import parameter_texts, settings_of
    from wisecrowd.results.findings import plain

    info, found = METHODS.info(name), settings_of(METHODS[name]).values()
    texts = parameter_texts(METHODS[name])
    if as_json:
        records = [
            {
                "name": s.name,
                "default": _plain(s.default),
                "about": texts.get(s.name, ""),
            }
            for s in found
        ]
        show_json({**_without_markup(vars(info)), "settings": plain(records)})
        return
    rows = [(s.name, _shown(s.default), texts.get(s.name, "")) for s in found]
    title = f"{name}: needs {info.needed}; about an annotator: {info.learns}"
    columns = ("<setting", "<default", "<what it does")
    show_table(title, columns, rows, most=MOST_LETTERS)
    say(
        f"Change one with --set NAME=VALUE, such as --set {_example(rows)} (a default)."
    )
    if hasattr(METHODS[name], "as_published"):
        say("The defaults extend the published method. For that one: --as-published.")


def _example(rows: Any) -> str:
    name, default, _ = rows[0]
    return f"{name}={default}"


def _shown(value: Any) -> str:
    """Return a default as it would be written after ``--set name=``."""
    return (
        str(value).lower() if value is None or isinstance(value, bool) else str(value)
    )


def _plain(value: Any) -> Any:
    simple = value is None or isinstance(value, str | bool | int | float)
    return value if simple else str(value)


def _without_markup(words: dict[str, str]) -> dict[str, str]:
    return {**words, "paper": words["paper"].replace("*", "")}
