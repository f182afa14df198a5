"""``wisecrowd demo``: what the library does, on a crowd whose truth is known."""

from pathlib import Path
from typing import Annotated

import typer

from wisecrowd import METHODS
from wisecrowd.cli import options as opt


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="RUN", help="Folder for the run.")
    ] = Path("demo-run"),
    seed: opt.Seed = 0,
) -> None:
    """Show what wisecrowd does, on a simulated crowd whose truth is known."""
    import pandas as pd

    from wisecrowd.cli import show
    from wisecrowd.cli.contest import contest
    from wisecrowd.cli.run_folder import check_folder, write_run
    from wisecrowd.data.simulate import simulate

    check_folder(out)
    crowd = simulate(
        1000, 40, 4, answers_per_item=5, spammers=0.2, adversaries=0.1, accuracy=0.7,
        classes=["blip", "chirp", "whistle", "scattered light"], random_state=seed,
    )  # fmt: skip
    show.say(
        "A simulated crowd names glitches. Of 40 people, 8 guess and 4 are wrong on "
        f"purpose.\n{crowd.labels}\n"
    )
    truth = pd.Series(crowd.classes[crowd.truth], index=crowd.labels.items)
    models = {name: opt.made_method(name, seed=seed, quiet=False) for name in METHODS}
    table = contest(models, crowd.labels, truth, seed=seed)
    chosen = ["accuracy", "log_loss", "calibration_error"]
    show.show_table(
        "Against the truth, which no method has seen",
        ("<method", "accuracy", "log loss", "calibration error", "seconds"),
        [
            (row["method"], *map(show.number, row[chosen]), f"{row['seconds']:.1f}")
            for _, row in table.iterrows()
        ],
    )  # fmt: skip
    best = models["bcc"]
    show.show_annotators(best.annotator_summary())
    write_run(best, crowd.labels, out)
    show.say(
        f"wrote what bcc found to {out}/ (labels, annotators, confusion, model)\n"
        f"next: wisecrowd aggregate YOUR-ANSWERS.csv --out run/"
    )
