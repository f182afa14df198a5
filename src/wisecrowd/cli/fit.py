"""``wisecrowd fit``: a classifier and annotators' skills from answers and features."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wisecrowd.cli import options as opt
from wisecrowd.cli import settings as cfg
from wisecrowd.registry import CLASSIFIERS


@cfg.with_settings(*cfg.FRIENDLY)
@opt.with_reading()
@opt.with_table_reading()
def fit(
    path: opt.AnswersFile,
    *,
    features: Annotated[
        Path,
        typer.Option(
            "--features",
            "-f",
            metavar="FILE",
            show_default=False,
            help="Features: npy, npz, CSV, Parquet or HDF5, one row per item.",
        ),
    ],
    out: opt.RunFolder = None,
    gold: opt.GoldFile = None,
    leave_out_items: opt.LeaveOutItems = None,
    method: Annotated[str, opt.method_option(CLASSIFIERS)] = "svgpcr",
    settled_at: opt.SettledAt = 0.02,
    seed: opt.Seed = 0,
    published: cfg.AsPublished = False,
    force: opt.Force = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
    settings: list[cfg.Given],
    reading: opt.Reading,
    reading_table: opt.Reading,
) -> None:
    """Learn a classifier, all labels and the skill of every annotator together.

    [bold]wisecrowd fit answers.csv --features features.parquet --out run/[/bold]

    Items without an answer are labelled too. To label items that come later, use
    [bold]wisecrowd predict[/bold].
    """
    name = opt.method_of_command(method, CLASSIFIERS)
    model = cfg.made_method(name, settings, seed=seed, quiet=quiet, published=published)
    from wisecrowd.cli import outcome
    from wisecrowd.io.join import join_features, join_note, without_items
    from wisecrowd.results.settled import check_limit

    check_limit(settled_at)
    inputs = opt.inputs(reading, path, features, gold, leave_out_items)
    outcome.check_folder(out, inputs, force=force)
    table: Any = opt.features_from(features, reading_table)
    read, left = opt.answers_from(path, reading, gold), list[str]()
    if leave_out_items is not None:
        read, table, left = without_items(leave_out_items, read, table)
    both = join_features(read, table)
    known, notes = opt.gold_from(gold, both, reading, path)
    outcome.say_read(both, [join_note(both, table), *left, *notes], quiet=quiet)
    model.fit(table.to_frame(), both, items=both.items, gold=known)
    how: Any = {"force": force, "as_json": as_json, "quiet": quiet}
    outcome.report(model, both, known, out=out, settled_at=settled_at, **how)
