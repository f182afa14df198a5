"""``wisecrowd reproduce``: the paper's tables and figures, run again."""

from pathlib import Path
from typing import Annotated

import typer

NAMES = "mnist|ligo-binary|ligo|ligo-tuning|all"


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(metavar=NAMES, show_default=False, help="Which part of it."),
    ],
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FOLDER", show_default=False,
            help="Folder for the rows, one per fit, and for tables and figures. The "
            "same command goes on from the rows that are there.",
        ),
    ],
    size: Annotated[
        str,
        typer.Option(
            metavar="small|medium|full",
            help="small takes minutes, full is the paper's and takes hours.",
        ),
    ] = "small",
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1, max=1000, metavar="N",
            help="Fits with so many seeds. Default: as many as the size has.",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods", "-m", metavar="A,B,...",
            help="Only these methods. Default: all of the experiment.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.001, metavar="SECONDS", help="The most that one fit may take."
        ),
    ] = None,
    redraw: Annotated[
        bool,
        typer.Option(
            "--redraw", help="Fit nothing: tables and figures of the rows in FOLDER."
        ),
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page with all tables and figures, in Markdown. The figures "
            "go to images/ beside it. Default: FOLDER/README.md.",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print no messages.")
    ] = False,
) -> None:  # fmt: skip
    """Run the experiments of the paper; write tables and figures beside its numbers."""
    from wisecrowd._checks import one_of
    from wisecrowd.cli.show import say
    from wisecrowd.experiments import EXPERIMENTS
    from wisecrowd.experiments.reproduction import reproduced

    one_of(experiment, (*EXPERIMENTS, "all"), "experiment")
    files = reproduced(
        EXPERIMENTS if experiment == "all" else (experiment,),
        out,
        size=size,
        seeds=range(seeds or 0),
        methods=methods,
        limit=time_limit,
        redraw=redraw,
        page=page,
        say=(lambda line: None) if quiet else say,
    )
    if not quiet:
        say(f"Wrote {len(files)} files: {', '.join(path.name for path in files)}.")
