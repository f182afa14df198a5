"""``wisecrowd aggregate``: labels and annotators' skills from a file of answers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wisecrowd.cli import options as opt
from wisecrowd.cli.options import as_options


def aggregate(
    labels: opt.LabelsFile,
    *,
    method: Annotated[
        str,
        typer.Option("--method", "-m", help="majority-vote, dawid-skene, bcc or glad."),
    ] = "bcc",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="RUN", help="Folder to write the run into."
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Known classes (columns item and gold), used inside the fit.",
        ),
    ] = None,
    seed: opt.Seed = 0,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
    format: opt.Format = None,  # noqa: A002  (the word that users look for)
    task: opt.Task = None,
    workflow: opt.Workflow = None,
    version: opt.Version = None,
    item: opt.Item = None,
    annotator: opt.Annotator = None,
    label: opt.Label = None,
    classes: opt.Classes = None,
    answers: opt.Answers = None,
    drop_repeats: opt.DropRepeats = None,
) -> None:
    """Turn a file of answers into labels with probabilities, and judge every annotator.

    [bold]wisecrowd aggregate answers.csv --out run/[/bold]
    """
    model = opt.made_method(method, seed=seed, quiet=quiet)
    read = opt.labels_from(
        labels, format=format, task=task, workflow=workflow, version=version, item=item,
        annotator=annotator, label=label, classes=classes, answers=answers,
        drop_repeats=drop_repeats,
    )  # fmt: skip
    _aggregate(model, read, out=out, gold=gold, as_json=as_json, quiet=quiet)


def _aggregate(
    model: Any, labels: Any, *, out: Path | None, gold: Path | None, **how: bool
) -> None:
    from wisecrowd.cli.run_folder import check_folder, write_run
    from wisecrowd.cli.show import say

    check_folder(out)
    notes: list[str] = []
    known = None
    if gold is not None:
        from wisecrowd.cli.gold import read_gold

        known, notes = read_gold(gold, labels)
    if not how["quiet"]:
        say(as_options("\n".join([str(labels.report), f"  {labels}", *notes])))
        _note_if_alone(labels)
    model.fit(labels, gold=known)
    if out is not None:
        write_run(model, labels, out)
    if how["as_json"]:
        _show_json(model, labels, out)
    elif not how["quiet"]:
        _show(model, labels, known)
    if not how["quiet"]:
        said = "nothing was written; add --out RUN to keep it" if out is None else None
        say(said or f"wrote {out}: labels, annotators, confusion, trace, model")


def _note_if_alone(labels: Any) -> None:
    from wisecrowd.cli.show import say

    item = labels.without_repeats().item
    if (item[1:] > item[:-1]).all():
        say(
            "note: no item was answered by two people, so nothing shows who is right: "
            "the probabilities are those of a crowd that is mostly right."
        )


def _show(model: Any, labels: Any, known: Any) -> None:
    from wisecrowd.cli import show
    from wisecrowd.cli.run_folder import label_table

    show.show_classes(model)
    show.show_items(label_table(model, labels))
    show.show_annotators(model.annotator_summary())
    if known is None and len(labels.gold):
        score = _gold_scores(model, labels)
        show.say(
            f"against the gold in the file ({score['n_items']:,.0f} items), which the "
            f"fit did not use: accuracy {score['accuracy']:.3f}, "
            f"log loss {score['log_loss']:.3f}"
        )


def _gold_scores(model: Any, labels: Any) -> dict[str, float]:
    from wisecrowd.cli.gold import truth_of
    from wisecrowd.metrics import scores

    truth = truth_of(labels, labels.gold)
    table = scores(truth, model.label_proba_, model.classes_)
    return {str(name): float(table[name].loc["all"]) for name in table}


def _show_json(model: Any, labels: Any, out: Path | None) -> None:
    from wisecrowd.cli import show
    from wisecrowd.cli.run_folder import label_table

    report, summary = labels.report, model.annotator_summary()
    show.show_json(
        {
            "method": type(model).__name__,
            "read": {
                "path": str(report.path),
                "format": report.format,
                "n_rows": report.n_rows,
                "left_out": dict(report.left_out),
                "notes": list(report.notes),
            },
            "n_items": len(labels.items),
            "n_annotators": len(labels.annotators),
            "n_annotations": len(labels),
            "classes": model.classes_,
            "bound": model.trace_["bound"].iloc[-1],
            "seconds": model.trace_["seconds"].iloc[-1],
            **show.flagged(summary),
            "labels": label_table(model, labels),
            "annotators": summary,
            "run": None if out is None else str(out),
        }
    )
