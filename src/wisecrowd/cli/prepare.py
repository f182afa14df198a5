"""``wisecrowd prepare``, and ``wisecrowd aggregate`` of what it has written."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from wisecrowd.cli import options as opt

COLUMNS = ("item", "annotator", "answer")
OFFERED = (*COLUMNS, "classes", "answers")


@opt.with_reading(without=[name for name in opt.READING if name not in OFFERED])
def prepare(
    path: Annotated[
        list[Path],
        typer.Argument(
            metavar="ANSWERS",
            show_default=False,
            help="Long tables, with one row per answer: CSV, TSV (also gzipped) or "
            "Parquet. Several files, or a folder, are read as one.",
        ),
    ],
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            show_default=False,
            help="Folder to write: new, or empty.",
        ),
    ],
    shards: Annotated[
        int,
        typer.Option(
            min=1, help="Number of parts. Each is read by one process of aggregate."
        ),
    ] = 4,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a folder that prepare has written.")
    ] = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
    reading: opt.Reading,
) -> None:
    """Sort answers that are too many for memory, for [bold]aggregate[/bold].

    [bold]wisecrowd prepare answers.parquet --out prepared/[/bold]
    """
    from wisecrowd._checks import counted
    from wisecrowd.cli import show
    from wisecrowd.io.columns import retyped
    from wisecrowd.prepared.write import prepare as prepared

    columns = {role: reading[role] for role in COLUMNS}
    names: dict[str, Any] = {
        name: retyped(given) if (given := opt.several(reading[name])) else None
        for name in ("classes", "answers")
    }
    found = prepared(path, out, shards=shards, force=force, **names, **columns).about
    if as_json:
        show.show_json({**found, "folder": str(out)})
    if not quiet:
        words = {"n_items": "item", "n_annotators": "annotator", "n_answers": "answer"}
        sizes = [counted(found[name], word) for name, word in words.items()]
        n_classes = counted(len(found["classes"]), "class")
        show.say_sentences(
            [
                f"Wrote {out}: {', '.join(sizes)} and {n_classes} in "
                f"{counted(found['n_shards'], 'shard')}.",
                f"Next: wisecrowd aggregate {out} --out RUN",
            ]
        )


def is_prepared(paths: Sequence[Path]) -> bool:
    """Return whether the answers are a folder that prepare has written."""
    from wisecrowd.prepared.folder import ABOUT

    return len(paths) == 1 and (paths[0] / ABOUT).is_file()


def aggregate_prepared(
    model: Any,
    folder: Path,
    out: Path | None,
    *,
    gold: Path | None,
    groups: Path | None,
    reading: opt.Reading,
    n_processes: int,
    distributed: bool,
    **how: bool,
) -> None:
    """Label the items of a prepared folder, and print what was learned."""
    from wisecrowd._checks import InputError
    from wisecrowd.cli import show
    from wisecrowd.prepared.folder import opened
    from wisecrowd.results.run_folder import check_folder

    given = [name for name, value in reading.items() if value is not None]
    if given and not given[0].startswith("gold"):
        raise InputError(f"{given[0]}= is for 'wisecrowd prepare', not for its folder.")
    if out is None:
        raise InputError(
            "the labels of a prepared folder are written, not shown. Add --out RUN."
        )
    check_folder(out, [], force=how["force"])
    prepared, notes = _with_gold(opened(folder), gold, reading)
    if groups is not None:
        who = prepared.annotators
        families, said = opt.groups_from(groups, model.method.name, who)
        model.set_params(groups=families)
        notes = [*notes, *said]
    if notes and not how["quiet"]:
        show.say_sentences(notes)
    if distributed:
        _join(model, prepared, out, **how)
        return
    from wisecrowd.prepared.processes import aggregate_in_processes

    found = aggregate_in_processes(
        model, prepared, out, n_processes, force=how["force"]
    )
    _show(found, prepared, out, **how)


def _join(model: Any, prepared: Any, out: Path, *, force: bool, **how: bool) -> None:
    """Be one of the processes that a cluster has started."""
    from wisecrowd._checks import InputError
    from wisecrowd.prepared.aggregate import aggregate_prepared as aggregated
    from wisecrowd.prepared.partners import OverJax

    partners = OverJax()
    try:
        aggregated(model, prepared, out, partners, force=force)
        if partners.rank == 0:
            _show(model, prepared, out, **how)
        partners.part()
    except InputError as error:
        typer.echo(f"error: {error}", err=True)
        os._exit(2)  # at the usual end, JAX would wait for a partner that is dead


def _show(
    model: Any, prepared: Any, out: Path, *, as_json: bool, quiet: bool, **_: bool
) -> None:
    from wisecrowd.cli import show
    from wisecrowd.prepared.aggregate import LABELS
    from wisecrowd.results.tables import annotator_table

    table = annotator_table(model)
    n_items, n_answers = (prepared.about[name] for name in ("n_items", "n_answers"))
    if as_json:
        found = {
            "method": model.method.name,
            "n_items": n_items,
            "n_answers": n_answers,
            "class_shares": dict(zip(model.classes_, model.class_prior_, strict=True)),
            "independent_answers_per_item": model.worth_,
            "annotators": table,
            "run": str(out),
        }
        show.show_json(found)
    elif not quiet:
        show.show_annotators(table)
    if not quiet:
        show.say_sentences(
            [
                f"The {n_answers / n_items:.1f} answers per item are worth "
                f"{model.worth_:.1f} independent ones.",
                f"Wrote {out}: labels of {n_items:,} items in {out / LABELS}, "
                f"annotators, confusion, trace and model.",
            ]
        )


def _with_gold(prepared: Any, path: Path | None, reading: opt.Reading) -> Any:
    from wisecrowd.io.gold import read_gold

    if path is None:
        return prepared, []
    columns = {"item": reading["gold_item"], "gold": reading["gold_column"]}
    return prepared.with_gold(read_gold(path, **columns))
