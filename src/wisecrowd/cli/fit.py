"""``wisecrowd aggregate`` and ``fit``: labels, skills and, with features, a model."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import wisecrowd as wc
from wisecrowd.cli import inputs
from wisecrowd.cli import options as opt
from wisecrowd.cli import settings as cfg
from wisecrowd.cli.prepare import aggregate_prepared, is_prepared
from wisecrowd.registry import AGGREGATORS, CLASSIFIERS


@cfg.with_settings("prior", "dependence")
@opt.with_reading(leave_out=True)
def aggregate(
    path: opt.AnswersFile,
    *,
    method: Annotated[str, opt.method_option(AGGREGATORS)] = "consensus",
    groups: opt.GroupsFile = None,
    out: opt.RunFolder = None,
    gold: opt.GoldFile = None,
    leave_out_items: opt.LeaveOutItems = None,
    settled_at: opt.SettledAt = 0.02,
    processes: opt.Processes = 1,
    distributed: opt.Distributed = False,
    seed: opt.Seed = 0,
    published: cfg.AsPublished = False,
    force: opt.Force = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
    settings: list[cfg.Given],
    reading: opt.Reading,
) -> None:
    """Find the label of every item and the skill of every annotator.

    [bold]wisecrowd aggregate answers.csv --out run/[/bold]

    Answers beyond memory: give the folder that [bold]wisecrowd prepare[/bold] wrote.
    """
    name = opt.method_of_command(method, AGGREGATORS)
    model = cfg.made_method(name, settings, seed=seed, quiet=quiet, published=published)
    from wisecrowd.cli import outcome
    from wisecrowd.results.settled import check_limit

    check_limit(settled_at)
    how: Any = {"force": force, "as_json": as_json, "quiet": quiet}
    shared: Any = {"n_processes": processes, "distributed": distributed}
    if is_prepared(path):
        without = None if leave_out_items is None else str(leave_out_items)
        shared["reading"] = reading | {"leave_out_items": without}
        shared |= {"gold": gold, "groups": groups}
        aggregate_prepared(model, path[0], out, **shared, **how)
        return
    if distributed or processes > 1:
        raise wc.InputError(
            "several processes share the work on a prepared folder only: make one "
            "with 'wisecrowd prepare'."
        )
    given = inputs.files_of(reading, path, gold, groups, leave_out_items)
    outcome.check_folder(out, given, force=force)
    data = inputs.data_from(path, reading, gold, leave_out_items=leave_out_items)
    if groups is not None:
        data.notes.extend(inputs.set_groups(model, groups, data.answers.annotators))
    outcome.say_read(data.answers, data.notes, quiet=quiet)
    model.fit(data.answers, gold=data.gold)
    outcome.report(model, data, out=out, settled_at=settled_at, **how)


@cfg.with_settings(*cfg.FRIENDLY)
@opt.with_reading()
@opt.with_table_reading()
def fit(
    path: opt.AnswersFile,
    *,
    features: Annotated[
        Path,
        opt.option(
            "--features -f FILE",
            "Features: npy, npz, CSV, Parquet or HDF5, one row per item. A folder of "
            "npy or Parquet files is read in pieces, for features beyond memory.",
            show_default=False,
        ),
    ],
    out: opt.RunFolder = None,
    gold: opt.GoldFile = None,
    leave_out_items: opt.LeaveOutItems = None,
    method: Annotated[str, opt.method_option(CLASSIFIERS)] = "svgpcr",
    settled_at: opt.SettledAt = 0.02,
    processes: opt.Processes = 1,
    distributed: opt.Distributed = False,
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
    from wisecrowd.cli.together import how_to_go_on, joined
    from wisecrowd.prepared import processes as shared
    from wisecrowd.results.settled import check_limit

    check_limit(settled_at)
    if distributed and processes > 1:
        raise wc.InputError(
            "--processes starts processes here, and --distributed joins those of a "
            "cluster: use one of them."
        )
    if distributed or processes > 1:
        shared.check_shared(model)
    files = inputs.files_of(reading, path, features, gold, leave_out_items)
    outcome.check_folder(out, files, force=force)
    data: Any = inputs.data_from(
        path, reading, gold, (features, reading_table), leave_out_items
    )
    given = data.table.to_frame(), data.answers
    more = {"items": data.answers.items, "gold": data.gold}
    with joined(distributed, partial(how_to_go_on, model)) as partners:
        first = partners.rank == 0
        outcome.say_read(data.answers, data.notes, quiet=quiet or not first)
        if distributed:
            shared.fit_with(partners, model, given, more)
        elif processes > 1:
            model = shared.fit_in_processes(model, processes, *given, **more)
        else:
            model.fit(*given, **more)
    how: Any = {"force": force, "as_json": as_json, "quiet": quiet}
    if first:
        outcome.report(model, data, out=out, settled_at=settled_at, **how)
