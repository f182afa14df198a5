"""``wisecrowd simulate glitches``: files of a simulated Gravity Spy."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wisecrowd.cli import options as opt

FILES = (
    "answers.parquet", "features.parquet", "gold.csv", "volunteers.csv",
    "test_features.parquet", "test_gold.csv",
)  # fmt: skip
PICTURES = "pictures.png"
MOST_PICTURES = 20  # per class; more would not be readable


def glitches(
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FOLDER", show_default=False,
            help=f"Folder for the files: {', '.join(FILES)}.",
        ),
    ],
    *,
    size: Annotated[
        str,
        typer.Option(
            metavar="small|medium|full",
            help="2,000, 20,000 or 173,565 glitches with answers, and 1,000, 4,000 or "
            "9,997 for tests. The full size takes minutes.",
        ),
    ] = "small",
    pictures: Annotated[
        int,
        typer.Option(
            min=0, max=MOST_PICTURES,
            help=f"So many glitches of each class as a picture, {PICTURES}. Needs "
            f"matplotlib.",
        ),
    ] = 0,
    seed: opt.Seed = 0,
    force: opt.Force = False,
    quiet: opt.Silent = False,
) -> None:  # fmt: skip
    """Draw glitches of a gravitational-wave detector and the answers of volunteers."""
    from wisecrowd._checks import one_of
    from wisecrowd._files import check_outputs
    from wisecrowd.results.run_folder import check_figure_file, write_figure
    from wisecrowd.simulation.glitches.dataset import SIZES, simulate_glitches

    one_of(size, SIZES, "size")
    check_outputs([out / name for name in FILES], (), force=force)
    picture = out / PICTURES if pictures else None
    check_figure_file(picture, (), force=force)
    out.mkdir(parents=True, exist_ok=True)
    made = simulate_glitches(size, random_state=seed, show=False if quiet else None)
    _write(made, out)
    if picture is not None:
        from wisecrowd.simulation.glitches.pictures import drawn

        write_figure(drawn(pictures, size, seed), picture)
    if not quiet:
        from wisecrowd.cli.show import say, sizes

        say(sizes(made.answers))
        say(f"Wrote {out}/: {', '.join([*FILES, *[PICTURES] * (pictures > 0)])}.")


def _write(made: Any, out: Path) -> None:
    """Write the tables; test items are numbered on from the annotated ones."""
    import numpy as np
    import pandas as pd

    from wisecrowd.io.write import write_annotations
    from wisecrowd.results.run_folder import write_table

    items = made.answers.items
    test_items = len(items) + np.arange(len(made.X_test))
    write_annotations(made.answers, out / "answers.parquet")
    for name, ids, X in (
        ("features.parquet", items, made.X),
        ("test_features.parquet", test_items, made.X_test),
    ):
        table = pd.DataFrame(X).add_prefix("x")
        table.insert(0, "item", ids)
        write_table(table, out / name)
    for name, ids, gold in (
        ("gold.csv", items, made.gold.to_numpy()),
        ("test_gold.csv", test_items, made.gold_test),
    ):
        write_table(pd.DataFrame({"item": ids, "gold": gold}), out / name)
    habits = {"annotator": made.answers.annotators, "habit": made.kinds}
    write_table(pd.DataFrame(habits), out / "volunteers.csv")
