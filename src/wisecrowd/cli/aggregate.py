"""``wisecrowd aggregate``: labels and annotators' skills from a file of answers."""

from typing import Annotated, Any

from wisecrowd.cli import options as opt
from wisecrowd.cli import settings as cfg
from wisecrowd.cli.prepare import aggregate_prepared, is_prepared
from wisecrowd.registry import AGGREGATORS


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
    from wisecrowd._checks import InputError
    from wisecrowd.cli import outcome
    from wisecrowd.io.join import without_items
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
        raise InputError(
            "several processes share the work on a prepared folder only: make one "
            "with 'wisecrowd prepare'."
        )
    inputs = opt.inputs(reading, path, gold, groups, leave_out_items)
    outcome.check_folder(out, inputs, force=force)
    read, left = opt.answers_from(path, reading, gold), list[str]()
    if leave_out_items is not None:
        read, _, left = without_items(leave_out_items, read)
    known, notes = opt.gold_from(gold, read, reading, path)
    if groups is not None:
        families, said = opt.groups_from(groups, name, read.annotators)
        model.set_params(groups=families)
        notes = [*notes, *said]
    outcome.say_read(read, [*left, *notes], quiet=quiet)
    model.fit(read, gold=known)
    outcome.report(model, read, known, out=out, settled_at=settled_at, **how)
