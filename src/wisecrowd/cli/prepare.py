"""``wisecrowd prepare``, and ``wisecrowd aggregate`` of what it has written."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import wisecrowd as wc
from wisecrowd.cli import inputs
from wisecrowd.cli import options as opt

COLUMNS = ("item", "annotator", "answer")


@opt.with_reading(*COLUMNS, "classes", "answers")
def prepare(
    path: Annotated[
        list[Path],
        opt.argument(
            "ANSWERS",
            "Long tables, with one row per answer: CSV, TSV (also gzipped) or "
            "Parquet. Several files, or a folder, are read as one.",
        ),
    ],
    *,
    out: Annotated[Path, opt.out_folder("Folder to write: new, or empty.")],
    shards: Annotated[
        int,
        opt.option(
            "", "Number of parts. Each is read by one process of aggregate.", min=1
        ),
    ] = 4,
    force: Annotated[
        bool, opt.option("--force", "Replace a folder that prepare has written.")
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
    from wisecrowd.prepared.write import prepare as prepared

    columns = {role: reading[role] for role in COLUMNS}
    names = {name: inputs.named(reading[name]) for name in ("classes", "answers")}
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
    force: bool,
    **how: bool,
) -> None:
    """Label the items of a prepared folder, and print what was learned."""
    from wisecrowd.cli import show
    from wisecrowd.cli.together import joined
    from wisecrowd.prepared.aggregate import aggregate_prepared as aggregated
    from wisecrowd.prepared.folder import opened
    from wisecrowd.prepared.processes import aggregate_in_processes
    from wisecrowd.results.run_folder import check_folder

    given = [name for name, value in reading.items() if value is not None]
    if given and not given[0].startswith("gold"):
        raise wc.InputError(
            f"{given[0]}= is for 'wisecrowd prepare', not for its folder."
        )
    if out is None:
        raise wc.InputError(
            "the labels of a prepared folder are written, not shown. Add --out RUN."
        )
    check_folder(out, [], force=force)
    prepared, notes = opened(folder), list[str]()
    if gold is not None:
        columns = {"item": reading["gold_item"], "gold": reading["gold_column"]}
        prepared, notes = prepared.with_gold(wc.read_gold(gold, **columns))
    if groups is not None:
        notes = [*notes, *inputs.set_groups(model, groups, prepared.annotators)]
    if notes and not how["quiet"]:
        show.say_sentences(notes)
    if not distributed:
        model = aggregate_in_processes(model, prepared, out, n_processes, force=force)
    with joined(distributed) as partners:
        if distributed:
            aggregated(model, prepared, out, partners, force=force)
        if partners.rank == 0:
            _show(model, prepared, out, **how)


def _show(model: Any, prepared: Any, out: Path, *, as_json: bool, quiet: bool) -> None:
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
