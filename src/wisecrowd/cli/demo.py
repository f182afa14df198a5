"""``wisecrowd demo``: digits that five people labelled, and what can be learned."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wisecrowd.cli import options as opt

N_INDUCING = 50  # half of the default: digits this small need no more
INTRODUCTION = """\
Five people say which digit they see: three with care, one at random, and one
who is wrong on purpose. What can be learned from them, and who is who?
"""


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="RUN", help="Folder for the run.")
    ] = Path("demo-run"),
    seed: opt.Seed = 0,
) -> None:
    """Learn to read digits from five annotators, two of whom cannot be trusted."""
    from wisecrowd.cli import show
    from wisecrowd.cli.run_folder import check_folder, write_run
    from wisecrowd.datasets import load_digits_crowd
    from wisecrowd.methods.svgpcr import SVGP, SVGPCR

    check_folder(out)
    digits: Any = load_digits_crowd(random_state=seed)
    truth = digits.gold.to_numpy()
    show.say(f"{INTRODUCTION}{digits.labels}\n")
    rows = [_row(*way, digits) for way in _two_steps(digits)]
    show.say("learning labels, people and a classifier together (SVGPCR) ...")
    crowd = SVGPCR(N_INDUCING, random_state=seed).fit(
        digits.X, digits.labels, items=digits.labels.items
    )
    proba = crowd.predict_proba(digits.X_test)
    rows.append(_row("SVGPCR, both at once", crowd.label_proba_, proba, digits))
    show.say("learning from the truth, for comparison (SVGP) ...\n")
    right = SVGP(N_INDUCING, random_state=seed).fit(digits.X, truth)
    proba = right.predict_proba(digits.X_test)
    rows.append(_row("SVGP, on the truth itself", right.label_proba_, proba, digits))
    show.show_table(
        f"{len(digits.X_test):,} new digits, which nobody labelled",
        ("<method", "accuracy", "log loss", "calibration error", "labels right"),
        rows,
    )  # fmt: skip
    typer.echo(
        "log loss and calibration error: lower is better. labels right: of the "
        f"{len(truth):,}\ndigits that people labelled.\n"
    )
    show.show_annotators(crowd.annotator_summary().assign(truth=_accuracies(digits)))
    write_run(crowd, digits.labels, out)
    show.say(
        f"wrote what SVGPCR found to {out}/ (labels, annotators, confusion, model)\n"
        f"next: wisecrowd fit ANSWERS.csv --features FEATURES.parquet --out run/\n"
        f"      wisecrowd aggregate ANSWERS.csv --out run/     if there are no features"
    )


def _two_steps(digits: Any) -> list[tuple[str, Any, Any]]:
    """Return what one learns by labelling first, and then training on the labels."""
    from sklearn.linear_model import LogisticRegression

    from wisecrowd.methods.dawid_skene import DawidSkene
    from wisecrowd.methods.majority_vote import MajorityVote

    ways = {"majority vote": MajorityVote(), "Dawid-Skene": DawidSkene(progress=False)}
    found = []
    for name, method in ways.items():
        method.fit(digits.labels)
        classifier = LogisticRegression(max_iter=1000)
        classifier.fit(digits.X, method.labels_)
        proba = classifier.predict_proba(digits.X_test)
        found.append((f"{name}, then logistic", method.label_proba_, proba))
    return found


def _row(name: str, trained: Any, proba: Any, digits: Any) -> tuple[str, ...]:
    from wisecrowd import metrics
    from wisecrowd.cli.show import number

    scored = (metrics.accuracy, metrics.log_loss, metrics.calibration_error)
    test = [number(score(digits.gold_test, proba)) for score in scored]
    return (name, *test, f"{metrics.accuracy(digits.gold.to_numpy(), trained):.1%}")


def _accuracies(digits: Any) -> Any:
    """Return the share of each annotator's answers that are right, in truth."""
    import numpy as np

    labels, truth = digits.labels, digits.gold.to_numpy()
    right = digits.classes[labels.label] == truth[labels.item]
    n_right = np.bincount(labels.annotator, right, len(labels.annotators))
    return n_right / np.bincount(labels.annotator, minlength=len(labels.annotators))
