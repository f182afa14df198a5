"""``wisecrowd reproduce``: the paper's tables and figures, run again."""

from pathlib import Path
from typing import Annotated

from wisecrowd.cli import options as opt

NAMES = "mnist|ligo-binary|ligo|ligo-tuning|all"


def reproduce(
    experiment: Annotated[str, opt.argument(NAMES, "Which part of it.")],
    *,
    out: Annotated[
        Path,
        opt.out_folder(
            "Folder for the rows, one per fit, and for tables and figures. The same "
            "command goes on from the rows that are there."
        ),
    ],
    size: Annotated[
        str,
        opt.option(
            "small|medium|full",
            "small takes minutes, full is the paper's and takes hours.",
        ),
    ] = "small",
    seeds: Annotated[
        int | None,
        opt.option(
            "N",
            "Fits with so many seeds. Default: as many as the size has.",
            min=1,
            max=1000,
        ),
    ] = None,
    methods: Annotated[
        str | None,
        opt.option(
            "--methods -m A,B,...",
            "Only these methods. Default: all of the experiment.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        opt.option("SECONDS", "The most that one fit may take.", min=0.001),
    ] = None,
    redraw: Annotated[
        bool,
        opt.option(
            "--redraw", "Fit nothing: tables and figures of the rows in FOLDER."
        ),
    ] = False,
    page: Annotated[
        Path | None,
        opt.option(
            "FILE",
            "Write a page with all tables and figures, in Markdown. The figures go to "
            "images/ beside it, and its rows to a file that later runs add to. "
            "Default: FOLDER/README.md.",
        ),
    ] = None,
    quiet: opt.Silent = False,
) -> None:
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
