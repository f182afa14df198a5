"""``wisecrowd fit``: a classifier and annotators' skills from answers and features."""

from pathlib import Path
from typing import Annotated

import typer

from wisecrowd import CLASSIFIERS
from wisecrowd.cli import options as opt

ALLOWED = {
    "kernel": ("se", "se-ard", "matern32", "matern52", "linear", "linear+se"),
    "link": ("softmax", "robustmax"),
    "prior": ("learned", "flat", "diagonal"),
}
_MODEL = "The classifier"


def fit(
    labels: opt.LabelsFile,
    *,
    features: Annotated[
        Path,
        typer.Option(
            "--features",
            "-f",
            metavar="FILE",
            show_default=False,
            help="Features: npy, npz, CSV, Parquet or HDF5, one row an item.",
        ),
    ],
    out: opt.RunFolder = None,
    gold: opt.GoldFile = None,
    method: Annotated[
        str,
        typer.Option(
            "--method", "-m", help="svgpcr; or svgp, for labels that are right."
        ),
    ] = "svgpcr",
    inducing: Annotated[
        int | None,
        typer.Option(
            min=1,
            rich_help_panel=_MODEL,
            show_default=False,
            help="Inducing points: more are finer and slower. Default: 100.",
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=_MODEL,
            show_default=False,
            help=f"How similarity falls with distance: {', '.join(ALLOWED['kernel'])}. "
            "Default: se.",
        ),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(ALLOWED["link"]),
            rich_help_panel=_MODEL,
            show_default=False,
            help="From functions to classes; robustmax is the paper's. Default: "
            "softmax.",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="learn|NUMBER",
            rich_help_panel=_MODEL,
            show_default=False,
            help="Of robustmax: the share of items that defy the features. Default: "
            "learn.",
        ),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(ALLOWED["prior"]),
            rich_help_panel=_MODEL,
            show_default=False,
            help="What is expected of an annotator before any answer. Default: "
            "learned.",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            rich_help_panel=_MODEL,
            show_default=False,
            help="The most passes over the items. Default: 20, more where they "
            "are few.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            rich_help_panel=_MODEL,
            help="Wind down after this time.",
        ),
    ] = None,
    seed: opt.Seed = 0,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
    ids: opt.ItemIds = None,
    key: opt.FeaturesKey = None,
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
    """Learn a classifier from answers and features, and judge every annotator.

    [bold]wisecrowd fit answers.csv --features features.parquet --out run/[/bold]

    Items without an answer are labelled too. New items: [bold]wisecrowd predict[/bold].
    """
    _check_words(kernel=kernel, link=link, prior=prior)
    model = opt.made_method(
        method, CLASSIFIERS, seed=seed, quiet=quiet, n_inducing=inducing, kernel=kernel,
        link=link, epsilon=_epsilon(epsilon), annotator_prior=prior, max_epochs=epochs,
        time_limit=time_limit,
    )  # fmt: skip
    from wisecrowd.cli.joined import features_from, joined, said
    from wisecrowd.cli.outcome import fit_and_report
    from wisecrowd.cli.run_folder import check_folder

    check_folder(out)
    table = features_from(features, ids, key)
    read = opt.labels_from(
        labels, format=format, task=task, workflow=workflow, version=version, item=item,
        annotator=annotator, label=label, classes=classes, answers=answers,
        drop_repeats=drop_repeats,
    )  # fmt: skip
    both = joined(read, table)
    fit_and_report(
        lambda known: model.fit(table.X, both, items=both.items, gold=known),
        both, out=out, gold=gold, as_json=as_json, quiet=quiet,
        notes=said(table, both),
    )  # fmt: skip


def _check_words(**given: str | None) -> None:
    from wisecrowd._checks import InputError, listed

    for name, value in given.items():
        if value is not None and value not in ALLOWED[name]:
            raise InputError(
                f"--{name} {value} is not one of {listed(ALLOWED[name], 20)}."
            )


def _epsilon(text: str | None) -> float | str | None:
    """Return a number between 0 and 1, or "learn"."""
    from wisecrowd._checks import InputError

    if text is None or text == "learn":
        return text
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise InputError(
            f"--epsilon {text} is neither 'learn' nor a number between 0 and 1, such "
            f"as 1e-3."
        )
    return value
