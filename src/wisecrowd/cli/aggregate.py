"""``wisecrowd aggregate``: labels and annotators' skills from a file of answers."""

from typing import Annotated, Any

from wisecrowd.cli import options as opt
from wisecrowd.cli import settings as cfg
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
    """
    name = opt.method_of_command(method, AGGREGATORS)
    model = cfg.made_method(name, settings, seed=seed, quiet=quiet, published=published)
    from wisecrowd.cli import outcome
    from wisecrowd.io.left_out import without_items
    from wisecrowd.results.settled import check_limit

    check_limit(settled_at)
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
    how: Any = {"force": force, "as_json": as_json, "quiet": quiet}
    outcome.report(model, read, known, out=out, settled_at=settled_at, **how)
