"""The tables of a run, and the folder that holds them (docs/files.md)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from wisecrowd._checks import InputError
from wisecrowd.annotations import Annotations
from wisecrowd.maths.crowd import entropy
from wisecrowd.persist import save

DIGITS = "%.6g"  # of a CSV, which people read; Parquet has all of them


def label_table(model: Any, labels: Annotations) -> pd.DataFrame:
    """Return one row an item of the fit: its class and how sure that is."""
    n_answers = np.diff(labels.row_start)
    return probability_table(
        model.items_, model.label_proba_, model.classes_, n_answers
    )


def probability_table(
    items: Any, proba: Any, classes: Any, n_answers: Any
) -> pd.DataFrame:
    """Return one row an item: its class, how sure, and every class's probability.

    Columns are item, label, probability, n_answers, entropy (nats), margin (to the
    second class), and ``p_`` with the name of each class.
    """
    order = np.sort(proba, axis=1)
    table = pd.DataFrame(
        {
            "item": items,
            "label": classes[proba.argmax(1)],
            "probability": order[:, -1],
            "n_answers": n_answers,
            "entropy": entropy(proba),
            "margin": order[:, -1] - order[:, -2],
        }
    )
    names = [f"p_{name}" for name in classes]
    return pd.concat([table, pd.DataFrame(proba, columns=names)], axis=1)


def confusion_table(model: Any, level: float = 0.95) -> pd.DataFrame:
    """Return one row an annotator, truth and answer: mean and credible interval."""
    low, high = model.confusion_interval(level)
    shape = low.shape
    places = np.indices(shape).reshape(3, -1)
    vocabularies = model.annotators_, model.classes_, model.answers_
    names = zip(("annotator", "truth", "answer"), vocabularies, places, strict=True)
    return pd.DataFrame(
        {
            **{name: words[place] for name, words, place in names},
            "mean": model.confusion_.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
    )


def check_folder(folder: Path | None) -> None:
    """Refuse a folder that cannot be made or written, before any long work."""
    if folder is None:
        return
    nearest = next(p for p in [folder, *folder.absolute().parents] if p.exists())
    if not nearest.is_dir():
        raise InputError(
            f"{folder}: {nearest.name!r} is a file, and a run is a folder. Choose "
            f"another name."
        )
    if not os.access(nearest, os.W_OK):
        raise InputError(
            f"{folder}: there is no permission to write there. Choose another place."
        )


def check_table_file(path: Path | None) -> None:
    """Refuse a file that `write_table` could not write, before any long work."""
    if path is None:
        return
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"{path}: call the file .csv or .parquet.")
    if path.is_dir():
        raise InputError(f"{path}: this is a folder. Choose another name.")
    check_folder(path.parent)


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a CSV or a Parquet file, by the end of its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".csv":
        _write_csv(table, path)
    else:
        _write_parquet(table, path)


def write_run(model: Any, labels: Annotations, folder: Path) -> None:
    """Write the model and its tables into a folder."""
    save(model, folder)
    items = label_table(model, labels)
    _write_parquet(items, folder / "labels.parquet")
    _write_csv(items, folder / "labels.csv")
    _write_csv(model.annotator_summary(), folder / "annotators.csv")
    _write_parquet(confusion_table(model), folder / "confusion.parquet")
    _write_csv(model.trace_.reset_index(), folder / "trace.csv", digits=None)


def _write_csv(table: pd.DataFrame, path: Path, digits: str | None = DIGITS) -> None:
    with _replaced(path) as temporary:
        table.to_csv(temporary, index=False, float_format=digits)


def _write_parquet(table: pd.DataFrame, path: Path) -> None:
    with _replaced(path) as temporary:
        table.to_parquet(temporary, index=False)


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """Write under another name first, so that a failure leaves the old file whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
