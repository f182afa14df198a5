"""``wisecrowd methods`` and ``wisecrowd cite``: what there is, and whose it is."""

from pathlib import Path
from typing import Annotated, Any

import typer

import wisecrowd as wc
from wisecrowd.cli import options as opt
from wisecrowd.registry import METHODS, MethodInfo, method_name
from wisecrowd.registry import cite as citation

MOST_LETTERS = 500  # of a sentence about a setting: all of it


def methods(
    name: Annotated[
        str | None, opt.argument("NAME", "Show the settings of this one.")
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
        opt.argument(
            "METHOD|RUN",
            "Name of a method, or a folder that aggregate or fit has written.",
        ),
    ],
) -> None:
    """Print the BibTeX of a method, or of the method of a run."""
    if Path(what).is_dir():
        typer.echo(citation(wc.load(what)))
    else:
        typer.echo(citation(method_name(what)))


def _all_methods(*, as_json: bool) -> None:
    from wisecrowd.cli.show import say, show_json, show_table

    found = [_about(METHODS.info(name)) for name in METHODS]
    if as_json:
        show_json({"methods": found})
        return
    columns = ("<name", "<needs", "<what it learns about an annotator", "<paper")
    rows = [
        (m["name"], METHODS.info(m["name"]).needed, m["learns"], m["paper"] or "–")
        for m in found
    ]
    show_table("Methods", columns, rows)
    say(
        "Settings of a method: wisecrowd methods NAME. To cite it: wisecrowd cite NAME."
    )


def _one_method(name: str, *, as_json: bool) -> None:
    from wisecrowd.cli.show import say, show_json, show_table
    from wisecrowd.cli.values import parameter_texts, settings_of

    info, kind = METHODS.info(name), METHODS[name]
    texts = parameter_texts(kind)
    records = [
        {"name": s.name, "default": _plain(s.default), "about": texts.get(s.name, "")}
        for s in settings_of(kind).values()
    ]
    if as_json:
        show_json({**_about(info), "settings": records})
        return
    rows = [(r["name"], _written(r["default"]), r["about"]) for r in records]
    title = f"{name}: needs {info.needed}; about an annotator: {info.learns}"
    columns = ("<setting", "<default", "<what it does")
    show_table(title, columns, rows, most=MOST_LETTERS)
    example = "=".join(rows[0][:2])
    say(f"Change one with --set NAME=VALUE, such as --set {example} (a default).")
    if hasattr(kind, "as_published"):
        say("The defaults extend the published method. For that one: --as-published.")


def _about(info: MethodInfo) -> dict[str, Any]:
    return {**vars(info), "paper": info.paper.replace("*", "")}


def _plain(value: Any) -> Any:
    simple = value is None or isinstance(value, str | bool | int | float)
    return value if simple else str(value)


def _written(value: Any) -> str:
    """Return a default as it would be written after ``--set name=``."""
    is_word = value is None or isinstance(value, bool)
    return str(value).lower() if is_word else str(value)
