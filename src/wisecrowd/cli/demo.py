"""``wisecrowd demo``: digits, and the answers of five annotators."""

import struct
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

import wisecrowd as wc
from wisecrowd.cli import options as opt

SETTINGS: dict[str, Any] = {"n_inducing": 50}  # enough for 8 x 8 pixels
INTRODUCTION = (
    "Five annotators say which digit they see: three are careful, one guesses, and one",
    "is wrong on purpose. wisecrowd is not told who is who.",
)


def demo(
    out: Annotated[Path, opt.option("--out -o RUN", "Folder for the run.")] = Path(
        "demo-run"
    ),
    seed: opt.Seed = 0,
    force: opt.Force = False,
) -> None:
    """Learn to read digits from five annotators, two of whom cannot be trusted."""
    from wisecrowd.cli import show
    from wisecrowd.cli.outcome import check_folder, write_all
    from wisecrowd.results.findings import findings

    check_folder(out, force=force)
    digits: Any = wc.datasets.load_digits_crowd(random_state=seed)
    truth = digits.gold.to_numpy()
    show.say(*INTRODUCTION, show.sizes(digits.answers), "")
    rows = [_row(*way, digits) for way in _two_steps(digits)]
    show.say("Learning labels, annotators and a classifier together (SVGPCR) ...")
    crowd = wc.SVGPCR(**SETTINGS, random_state=seed).fit(
        digits.X, digits.answers, items=digits.answers.items
    )
    proba = crowd.predict_proba(digits.X_test)
    rows.append(_row("SVGPCR, all at once", crowd.label_proba_, proba, digits))
    show.say("For comparison: learning from the true classes (SVGP) ...", "")
    right = wc.SVGP(**SETTINGS, random_state=seed).fit(digits.X, truth)
    proba = right.predict_proba(digits.X_test)
    rows.append(_row("SVGP, on the true classes", right.label_proba_, proba, digits))
    show.show_table(
        f"Predictions for {len(digits.X_test):,} new digits without answers",
        ("<method", "accuracy", "log loss", "calibration error", "labels right"),
        rows,
    )  # fmt: skip
    typer.echo(
        "log loss, calibration error: lower is better. labels right: share of the "
        f"{len(truth):,}\ndigits with answers whose label is the true class.\n"
    )
    found = findings(crowd, digits.answers)
    show.show_annotators(found.annotators.assign(truth=_accuracies(digits)))
    with TemporaryDirectory() as folder:
        _draw_digits(digits, Path(folder))
        wrote = write_all(found, out, images=Path(folder), force=force)
    show.say_sentences(found.said.values())
    show.say(
        *wrote,
        "Next, with files of your own:",
        "  wisecrowd fit ANSWERS.csv --features FEATURES.parquet --out run/",
        "  wisecrowd aggregate ANSWERS.csv --out run/     if there are no features",
    )


def _draw_digits(digits: Any, folder: Path) -> None:
    """Write an image of every digit, for the report page."""
    pixels = 255 - 255 * digits.X.reshape(-1, 8, 8) / digits.X.max()
    for item, image in zip(digits.answers.items, pixels, strict=True):
        (folder / f"{item}.png").write_bytes(_png(image.repeat(8, 0).repeat(8, 1)))


def _png(grey: Any) -> bytes:
    """Return a grey image of numbers from 0 to 255 as a PNG file."""

    def part(kind: bytes, content: bytes) -> bytes:
        size, check = len(content), zlib.crc32(kind + content)
        return struct.pack(">I", size) + kind + content + struct.pack(">I", check)

    height, width = grey.shape
    rows = b"".join(b"\0" + row.tobytes() for row in grey.round().astype("uint8"))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = part(b"IHDR", head) + part(b"IDAT", zlib.compress(rows, 9))
    return b"\x89PNG\r\n\x1a\n" + parts + part(b"IEND", b"")


def _two_steps(digits: Any) -> list[tuple[str, Any, Any]]:
    """Return the predictions of two steps: label first, then train on the labels."""
    from sklearn.linear_model import LogisticRegression

    ways = {
        "majority vote": wc.MajorityVote(),
        "Dawid-Skene": wc.DawidSkene(progress=False),
    }
    found = []
    for name, method in ways.items():
        method.fit(digits.answers)
        classifier = LogisticRegression(max_iter=1000)
        classifier.fit(digits.X, method.labels_)
        proba = classifier.predict_proba(digits.X_test)
        found.append((f"{name} + logistic", method.label_proba_, proba))
    return found


def _row(name: str, trained: Any, proba: Any, digits: Any) -> tuple[str, ...]:
    from wisecrowd.results.sentences import number

    scored = (wc.metrics.accuracy, wc.metrics.log_loss, wc.metrics.calibration_error)
    test = [number(score(digits.gold_test, proba)) for score in scored]
    return (name, *test, f"{wc.metrics.accuracy(digits.gold.to_numpy(), trained):.1%}")


def _accuracies(digits: Any) -> Any:
    """Return the share of each annotator's answers that name the true class."""
    import numpy as np

    answers, truth = digits.answers, digits.gold.to_numpy()
    right = digits.classes[answers.answer] == truth[answers.item]
    n_right = np.bincount(answers.annotator, right, len(answers.annotators))
    return n_right / answers.codes.n_per_annotator
