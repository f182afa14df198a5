"""``wisecrowd simulate`` and ``simulate glitches``: files of simulated crowds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import wisecrowd as wc
from wisecrowd.cli import options as opt

MOST = 100_000_000  # numbers of one kind, 0.8 GB
FILES = (
    "answers.parquet", "features.parquet", "gold.csv", "volunteers.csv",
    "test_features.parquet", "test_gold.csv",
)  # fmt: skip
PICTURES = "pictures.png"
MOST_PICTURES = 20  # per class; more would not be readable


def number(text: str, least: int = 0) -> Any:
    """Return an option that is a number, at least `least`."""
    return opt.option("", text, min=least)


def share(text: str) -> Any:
    """Return an option that is a share, from 0 to 1."""
    return opt.option("", text, min=0, max=1)


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
        bool, opt.option("--repeats", "An annotator may answer an item again.")
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
    from wisecrowd._checks import counted
    from wisecrowd._files import check_outputs
    from wisecrowd.cli.show import say, sizes
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
    if quiet:
        return
    say(sizes(crowd.answers))
    n_silent = int((crowd.answers.codes.n_per_annotator == 0).sum())
    if n_silent:  # a reader of the file counts fewer annotators
        who, are = counted(n_silent, "annotator"), "is" if n_silent == 1 else "are"
        say(f"{who} gave no answer and {are} not in the file.")
    say(f"Wrote {', '.join(map(str, written))}.")


def _check_size(n: int | float, what: str) -> None:
    if n > MOST:
        raise wc.InputError(
            f"simulate: this crowd would have {n:.3g} {what}, and at most {MOST:,} are "
            f"allowed. Ask for a smaller crowd."
        )


def _files(out: Path, *, with_features: bool) -> list[Path]:
    """Return the files of answers, of true classes and, if any, of features."""
    endings = [".gold.csv"] + [".features.parquet"] * with_features
    return [out, *(out.with_suffix(ending) for ending in endings)]


def _write(crowd: Any, out: Path) -> list[Path]:
    """Write the answers, the true classes and any features; return the files."""
    files = _files(out, with_features=crowd.X is not None)
    wc.write_annotations(crowd.answers, out)
    truth = crowd.classes[crowd.truth]
    _write_items(crowd.answers.items, truth, crowd.X, files[1:])
    return files


def _write_items(items: Any, gold: Any, X: Any, files: Sequence[Path]) -> None:
    """Write a table of true classes, and one of features if there are any."""
    import pandas as pd

    from wisecrowd.results.run_folder import write_table

    write_table(pd.DataFrame({"item": items, "gold": gold}), files[0])
    if X is not None:
        table = pd.DataFrame(X).add_prefix("x")
        table.insert(0, "item", items)
        write_table(table, files[1])


def glitches(
    out: Annotated[Path, opt.out_folder(f"Folder for the files: {', '.join(FILES)}.")],
    *,
    size: Annotated[
        str,
        opt.option(
            "small|medium|full",
            "2,000, 20,000 or 173,565 glitches with answers, and 1,000, 4,000 or "
            "9,997 for tests. The full size takes minutes.",
        ),
    ] = "small",
    pictures: Annotated[
        int,
        opt.option(
            "",
            f"So many glitches of each class as a picture, {PICTURES}. Needs "
            f"matplotlib.",
            min=0,
            max=MOST_PICTURES,
        ),
    ] = 0,
    seed: opt.Seed = 0,
    force: opt.Force = False,
    quiet: opt.Silent = False,
) -> None:
    """Draw glitches of a gravitational-wave detector and the answers of volunteers."""
    from wisecrowd._checks import one_of
    from wisecrowd._files import check_outputs
    from wisecrowd.cli.show import say, sizes
    from wisecrowd.results.run_folder import check_file, write_figure
    from wisecrowd.simulation.glitches.dataset import SIZES, simulate_glitches

    one_of(size, SIZES, "size")
    check_outputs([out / name for name in FILES], (), force=force)
    picture = out / PICTURES if pictures else None
    check_file(picture, "figure", (), force=force)
    out.mkdir(parents=True, exist_ok=True)
    made = simulate_glitches(size, random_state=seed, show=False if quiet else None)
    _write_glitches(made, out)
    if picture is not None:
        from wisecrowd.simulation.glitches.pictures import drawn

        write_figure(drawn(pictures, size, seed), picture)
    if not quiet:
        say(sizes(made.answers))
        say(f"Wrote {out}/: {', '.join([*FILES, *[PICTURES] * (pictures > 0)])}.")


def _write_glitches(made: Any, out: Path) -> None:
    """Write the tables; test items are numbered on from the annotated ones."""
    import numpy as np
    import pandas as pd

    from wisecrowd.results.run_folder import write_table

    items, X = made.answers.items, made.X_test
    wc.write_annotations(made.answers, out / "answers.parquet")
    files = [out / "gold.csv", out / "features.parquet"]
    _write_items(items, made.gold.to_numpy(), made.X, files)
    files = [out / "test_gold.csv", out / "test_features.parquet"]
    _write_items(len(items) + np.arange(len(X)), made.gold_test, X, files)
    habits = {"annotator": made.answers.annotators, "habit": made.kinds}
    write_table(pd.DataFrame(habits), out / "volunteers.csv")
