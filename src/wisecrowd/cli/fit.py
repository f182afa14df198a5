"""``wisecrowd fit``: a classifier and annotators' skills from answers and features."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wisecrowd import CLASSIFIERS
from wisecrowd.cli import options as opt

ALLOWED = {
    "kernel": ("se", "se-ard", "matern32", "matern52", "linear", "linear+se"),
    "link": ("softmax", "robustmax"),
    "prior": ("learned", "flat", "diagonal"),
}


def _setting(text: str, **more: Any) -> Any:
    panel = "The classifier"
    return typer.Option(rich_help_panel=panel, show_default=False, help=text, **more)


@opt.with_reading()
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
        _setting("Inducing points: more are finer and slower. Default: 100.", min=1),
    ] = None,
    kernel: Annotated[
        str | None,
        _setting(
            f"How similarity falls with distance: {', '.join(ALLOWED['kernel'])}. "
            "Default: se.",
            metavar="NAME",
        ),
    ] = None,
    link: Annotated[
        str | None,
        _setting(
            "From functions to classes; robustmax is the paper's. Default: softmax.",
            metavar="|".join(ALLOWED["link"]),
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        _setting(
            "Of robustmax: the share of items that defy the features. Default: learn.",
            metavar="learn|NUMBER",
        ),
    ] = None,
    prior: Annotated[
        str | None,
        _setting(
            "What is expected of an annotator before any answer. Default: learned.",
            metavar="|".join(ALLOWED["prior"]),
        ),
    ] = None,
    dependence: Annotated[
        str | None,
        _setting(
            "How far people err together, from 0 to 1. Default: learn.",
            metavar="learn|NUMBER",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        _setting(
            "The most passes over the items. Default: 20, more where they are few.",
            min=1,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        _setting("Wind down after this time.", min=0, metavar="SECONDS"),
    ] = None,
    seed: opt.Seed = 0,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
    ids: opt.ItemIds = None,
    key: opt.FeaturesKey = None,
    reading: opt.Reading,
) -> None:
    """Learn a classifier from answers and features, and judge every annotator.

    [bold]wisecrowd fit answers.csv --features features.parquet --out run/[/bold]

    Items without an answer are labelled too. New items: [bold]wisecrowd predict[/bold].
    """
    _check_words(kernel=kernel, link=link, prior=prior)
    model = opt.made_method(
        method, CLASSIFIERS, seed=seed, quiet=quiet, n_inducing=inducing, kernel=kernel,
        link=link, epsilon=_number("epsilon", epsilon), annotator_prior=prior,
        dependence=_number("dependence", dependence), max_epochs=epochs,
        time_limit=time_limit,
    )  # fmt: skip
    from wisecrowd.io.join import features_from, joined, said
    from wisecrowd.cli.outcome import fit_and_report
    from wisecrowd.cli.run_folder import check_folder

    check_folder(out)
    table = features_from(features, ids, key)
    read = opt.labels_from(labels, reading)
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


def _number(name: str, text: str | None) -> float | str | None:
    """Return a number from 0 to 1, or "learn"; the method says what else is wrong."""
    from wisecrowd._checks import InputError

    if text is None or text == "learn":
        return text
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(
            f"--{name} {text} is neither 'learn' nor a number from 0 to 1, such as 0.1."
        )
    return value
