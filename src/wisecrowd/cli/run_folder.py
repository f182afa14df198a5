"""The tables of a run, and the folder that holds them (docs/files.md)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from wisecrowd._checks import InputError
from wisecrowd.data.annotations import Annotations
from wisecrowd.maths.crowd import entropy
from wisecrowd.persist import save

DIGITS = "%.6g"  # of a CSV, which people read; Parquet has all of them


def label_table(model: Any, labels: Annotations) -> pd.DataFrame:
    """Return one row an item: its class, how sure, and every class's probability.

    Columns are item, label, probability, n_answers, entropy (nats), margin (to the
    second class), and ``p_`` with the name of each class.
    """
    proba = model.label_proba_
    order = np.sort(proba, axis=1)
    table = pd.DataFrame(
        {
            "item": model.items_,
            "label": model.labels_,
            "probability": order[:, -1],
            "n_answers": np.diff(labels.row_start),
            "entropy": entropy(proba),
            "margin": order[:, -1] - order[:, -2],
        }
    )
    names = [f"p_{name}" for name in model.classes_]
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


def write_run(model: Any, labels: Annotations, folder: Path) -> None:
    """Write the model and its tables into a folder."""
    save(model, folder)
    items = label_table(model, labels)
    with _replaced(folder / "labels.parquet") as path:
        items.to_parquet(path, index=False)
    _write_csv(items, folder / "labels.csv")
    _write_csv(model.annotator_summary(), folder / "annotators.csv")
    with _replaced(folder / "confusion.parquet") as path:
        confusion_table(model).to_parquet(path, index=False)
    _write_csv(model.trace_.reset_index(), folder / "trace.csv", digits=None)


def _write_csv(table: pd.DataFrame, path: Path, digits: str | None = DIGITS) -> None:
    with _replaced(path) as temporary:
        table.to_csv(temporary, index=False, float_format=digits)


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """Write under another name first, so that a failure leaves the old file whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
