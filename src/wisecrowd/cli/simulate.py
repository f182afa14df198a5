"""``wisecrowd simulate``: files of a crowd whose true classes are known."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wisecrowd.cli import options as opt

MOST = 100_000_000  # numbers of one kind, 0.8 GB


def number(text: str, least: int = 0) -> Any:
    """Return an option that is a number, at least `least`."""
    return typer.Option(min=least, help=text)


def share(text: str) -> Any:
    """Return an option that is a share, from 0 to 1."""
    return typer.Option(min=0, max=1, help=text)


def simulate(
    out: Annotated[
        Path,
        opt.out_file(
            "Table of answers: .csv, .tsv, .parquet, .json or .jsonl. The true classes "
            "go to NAME.gold.csv."
        ),
    ],
    *,
    items: Annotated[int, number("Number of items.", 1)] = 1000,
    annotators: Annotated[int, number("Number of annotators.", 1)] = 30,
    classes: Annotated[int, number("Number of classes.", 2)] = 4,
    answers: Annotated[float, number("Mean number of answers per item.")] = 5.0,
    accuracy: Annotated[float, share("Mean accuracy of skilled annotators.")] = 0.75,
    spammers: Annotated[float, share("Share of annotators who guess.")] = 0.1,
    adversaries: Annotated[float, share("Share who are wrong on purpose.")] = 0.0,
    cant_tell: Annotated[float, share("Share of answers 'cannot tell'.")] = 0.0,
    repeats: Annotated[
        bool, typer.Option("--repeats", help="An annotator may answer an item again.")
    ] = False,
    difficulty: Annotated[
        float, share("Share of items that are hard for everybody.")
    ] = 0.0,
    copiers: Annotated[float, share("Share of annotators who copy others.")] = 0.0,
    groups: Annotated[int, number("Number of groups that make the same mistakes.")] = 0,
    features: Annotated[
        int, number("Number of features. They go to NAME.features.parquet.")
    ] = 0,
    seed: opt.Seed = 0,
    force: opt.Force = False,
    quiet: opt.Silent = False,
) -> None:
    """Draw answers of a simulated crowd, and write the true classes beside them."""
    from wisecrowd._files import check_outputs
    from wisecrowd.io.write import check_target
    from wisecrowd.simulation.crowds import simulate as simulated

    _check_size(annotators * classes**2, "entries of confusion matrices")
    _check_size(items * max(answers, 1), "answers")
    _check_size(items * features, "values of features")
    check_target(out)
    check_outputs(_files(out, with_features=features > 0), (), force=force)
    crowd = simulated(
        items, annotators, classes, answers_per_item=answers, accuracy=accuracy,
        spammers=spammers, adversaries=adversaries, cant_tell=cant_tell,
        repeats=repeats, difficulty=difficulty, copiers=copiers, groups=groups,
        n_features=features, random_state=seed,
    )  # fmt: skip
    written = _write(crowd, out)
    if not quiet:
        from wisecrowd.cli.show import say, sizes

        say(sizes(crowd.answers), *_said_of_silent(crowd))
        say(f"Wrote {', '.join(str(path) for path in written)}.")


def _said_of_silent(crowd: Any) -> list[str]:
    """Return why a reader of the file counts fewer annotators."""
    from wisecrowd._checks import counted

    n_silent = int((crowd.answers.codes.n_per_annotator == 0).sum())
    are = "is" if n_silent == 1 else "are"
    who = counted(n_silent, "annotator")
    return [f"{who} gave no answer and {are} not in the file."] * (n_silent > 0)


def _check_size(n: int | float, what: str) -> None:
    from wisecrowd._checks import InputError

    if n > MOST:
        raise InputError(
            f"simulate: this crowd would have {n:.3g} {what}, and at most {MOST:,} are "
            f"allowed. Ask for a smaller crowd."
        )


def _files(out: Path, *, with_features: bool) -> list[Path]:
    """Return the files of answers, of true classes and, if any, of features."""
    endings = [".gold.csv"] + [".features.parquet"] * with_features
    return [out, *(out.with_suffix(ending) for ending in endings)]


def _write(crowd: Any, out: Path) -> list[Path]:
    """Write the answers, the true classes and any features; return the files."""
    import pandas as pd

    from wisecrowd.io.write import write_annotations
    from wisecrowd.results.run_folder import write_table

    files = _files(out, with_features=crowd.X is not None)
    write_annotations(crowd.answers, out)
    gold = {"item": crowd.answers.items, "gold": crowd.classes[crowd.truth]}
    write_table(pd.DataFrame(gold), files[1])
    if crowd.X is not None:
        table = pd.DataFrame(crowd.X).add_prefix("x")
        table.insert(0, "item", crowd.answers.items)
        write_table(table, files[2])
    return files
