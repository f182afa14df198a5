"""The folder of a run: the model and its tables (docs/files.md)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from wisecrowd._checks import InputError
from wisecrowd._text import for_spreadsheet
from wisecrowd.annotations import Annotations
from wisecrowd.persist import save
from wisecrowd.results.tables import annotator_table, confusion_table, label_table

DIGITS = "%.6g"  # digits in a CSV; Parquet has all of them


def write_run(model: Any, annotations: Annotations, folder: Path) -> None:
    """Write a fitted model and its tables into a folder.

    Parameters
    ----------
    model : fitted method
        The model.
    annotations : Annotations
        The answers that it was fitted on, over the same items.
    folder : path
        Made if need be. Other files in it are left alone.
    """
    save(model, folder)
    items = label_table(model, annotations)
    _write_parquet(items, folder / "labels.parquet")
    _write_csv(items, folder / "labels.csv")
    _write_csv(annotator_table(model), folder / "annotators.csv")
    _write_parquet(confusion_table(model), folder / "confusion.parquet")
    _write_csv(model.trace_.reset_index(), folder / "trace.csv", digits=None)


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a CSV or a Parquet file, as the ending of its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".csv":
        _write_csv(table, path)
    else:
        _write_parquet(table, path)


def check_folder(folder: Path | None) -> None:
    """Refuse a folder that cannot be made or written, before any long work."""
    if folder is None:
        return
    nearest = next(p for p in [folder, *folder.absolute().parents] if p.exists())
    if not nearest.is_dir():
        raise InputError(
            f"{folder}: {nearest.name!r} is a file, but a folder is needed here. "
            f"Choose another name."
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
        raise InputError(
            f"{path}: only CSV and Parquet can be written. End the name in .csv or "
            f".parquet."
        )
    if path.is_dir():
        raise InputError(f"{path}: this is a folder. Choose another name.")
    check_folder(path.parent)


def _write_csv(table: pd.DataFrame, path: Path, digits: str | None = DIGITS) -> None:
    with _replaced(path) as temporary:
        for_spreadsheet(table).to_csv(temporary, index=False, float_format=digits)


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
