"""``wisecrowd aggregate``: labels and annotators' skills from a file of answers."""

from typing import Annotated, Any

import typer

from wisecrowd import AGGREGATORS
from wisecrowd.cli import options as opt


@opt.with_reading()
def aggregate(
    labels: opt.LabelsFile,
    *,
    method: Annotated[
        str,
        typer.Option("--method", "-m", help="majority-vote, dawid-skene, bcc or glad."),
    ] = "bcc",
    out: opt.RunFolder = None,
    gold: opt.GoldFile = None,
    seed: opt.Seed = 0,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
    reading: opt.Reading,
) -> None:
    """Turn a file of answers into labels with probabilities, and judge every annotator.

    [bold]wisecrowd aggregate answers.csv --out run/[/bold]
    """
    model = opt.made_method(method, AGGREGATORS, seed=seed, quiet=quiet)
    read = opt.labels_from(labels, reading)
    from wisecrowd.cli.outcome import fit_and_report

    fit_and_report(
        lambda known: model.fit(read, gold=known),
        read, out=out, gold=gold, as_json=as_json, quiet=quiet,
        notes=() if quiet else _note_if_alone(read),
    )  # fmt: skip


def _note_if_alone(labels: Any) -> tuple[str, ...]:
    item = labels.without_repeats().item
    if not (item[1:] > item[:-1]).all():
        return ()
    return (
        "note: no item was answered by two people, so nothing shows who is right: "
        "the probabilities are those of a crowd that is mostly right.",
    )
