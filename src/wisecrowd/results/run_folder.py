"""The folder of a run: the model and its tables (docs/files.md)."""

import csv
import io
import json
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from wisecrowd._checks import InputError
from wisecrowd._files import check_outputs, replacing
from wisecrowd._text import for_spreadsheet, printable
from wisecrowd.annotations import Annotations
from wisecrowd.io.sources import MISSING
from wisecrowd.metrics.reliability_figure import pyplot
from wisecrowd.persist import load, save
from wisecrowd.persist.files import (
    JSON_NAME,
    TENSORS_NAME,
    check_ours,
    content_of,
    damaged,
)
from wisecrowd.results.findings import Findings, findings, n_gold_of, plain
from wisecrowd.results.tables import annotator_table, class_table

DIGITS = "%.6g"  # digits in a CSV; Parquet has all of them
LEDGER, FINDINGS, PAGE = "ledger.parquet", "findings.json", "report.html"
TEX = ".tex"
FILES = (
    JSON_NAME, TENSORS_NAME, "labels.parquet", "labels.csv", "annotators.csv",
    "confusion.parquet", "trace.csv", LEDGER, FINDINGS,
)  # fmt: skip
"""The files of a run folder; the command line adds the page."""

TABLE = {".csv": "CSV", ".parquet": "Parquet"}
FORMATS = {
    "table": TABLE,
    "scores": {**TABLE, TEX: "LaTeX"},
    "figure": {".png": "PNG", ".svg": "SVG", ".pdf": "PDF"},
    "page": {".html": "HTML"},
}
"""The endings of files that can be written, beside runs."""


def write_run(
    model: Any, annotations: Annotations, folder: Path, *, force: bool = False
) -> None:
    """Write a fitted model and its tables into a folder, all of them or none.

    Parameters
    ----------
    model : fitted method
        The model.
    annotations : Annotations
        The answers that it was fitted on, over the same items.
    folder : path
        Made if need be. Other files in it are left alone.
    force : bool
        Whether to replace files of the same names that no run has written.
    """
    write_findings(findings(model, annotations), folder, force=force)


def write_findings(
    found: Findings,
    folder: Path,
    *,
    page: Callable[[Path], None] | None = None,
    force: bool = False,
) -> None:
    """Write what was learned, and the model, into a folder; all files or none.

    `page` is what writes report.html. `force` replaces files of the same names that no
    run has written. Other files in the folder are left alone.
    """
    trace = found.model.trace_.reset_index()
    tables: dict[str, Callable[[Path], None]] = {
        "labels.parquet": partial(_write_parquet, found.items),
        "labels.csv": partial(_write_csv, found.items),
        "annotators.csv": partial(_write_csv, found.annotators),
        "confusion.parquet": partial(_write_parquet, found.confusion),
        "trace.csv": partial(_write_csv, trace, digits=None),
        FINDINGS: partial(_write_findings, found),
    }
    if found.ledger is not None:
        tables[LEDGER] = partial(_write_parquet, found.ledger)
    if page is not None:
        tables[PAGE] = page
    save(found.model, folder, tables=tables, force=force)


def _write_findings(found: Findings, path: Path) -> None:
    """Write what the tables and the model do not say."""
    content = {
        "about": found.about,
        "said": found.said,
        "confused": found.confused,
        "reliability": found.reliability,
        "disagreements": found.disagreements,
        "known": found.known,
    }
    text = json.dumps(plain(content), allow_nan=False, indent=1)
    path.write_text(text, encoding="ascii")


def read_findings(folder: Path) -> Findings:
    """Return what a run learned, from its folder."""
    model = load(folder)
    try:
        return _read_findings(model, folder)
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} holds no {Path(error.filename).name}: it was written by an "
            f"older wisecrowd, or only the model was saved. Fit again, with the "
            f"command line or with write_run."
        ) from None
    except (
        ArithmeticError, AttributeError, LookupError, OSError, RecursionError,
        TypeError, ValueError,
    ) as error:  # fmt: skip
        raise damaged(folder / FINDINGS, "or the tables beside it were") from error


def _read_findings(model: Any, folder: Path) -> Findings:
    content = json.loads(content_of(folder / FINDINGS))
    items = _read_parquet(folder / "labels.parquet")
    ledger = folder / LEDGER
    tables = {
        name: None if content[name] is None else pd.DataFrame(content[name])
        for name in ("reliability", "disagreements")
    }
    return Findings(
        model,
        items,
        annotator_table(model),
        class_table(items, model.classes_, n_gold_of(model)),
        dict(content["about"]),
        {str(topic): str(said) for topic, said in content["said"].items()},
        {name: np.array(rows, float) for name, rows in content["confused"].items()},
        ledger=_read_parquet(ledger) if ledger.is_file() else None,
        known=list(content.get("known", [])),
        **tables,
    )


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a CSV or a Parquet file, as the ending of its name says."""
    write = _write_csv if path.suffix.lower() == ".csv" else _write_parquet
    _write(path, partial(write, table))


def write_text(text: str, path: Path) -> None:
    """Write a text, such as a table in LaTeX."""
    _write(path, partial(Path.write_text, data=text, encoding="utf-8"))


def write_figure(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib, in the format that the ending of its name says."""
    form = path.suffix.lower().lstrip(".")
    _write(path, partial(figure.savefig, format=form, dpi=150))


def _write(path: Path, write: Callable[[Path], Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        write(temporary)


def check_folder(
    folder: Path | None, inputs: Iterable[Path | None] = (), *, force: bool = False
) -> None:
    """Refuse a folder that cannot be made or written, before any long work.

    Of `inputs`, the files that are read, none is ever replaced.
    """
    if folder is None:
        return
    _check_place(folder)
    names = (*FILES, PAGE)
    check_outputs([folder / name for name in names], inputs, force=True)
    check_ours(folder, names, force=force)


def _check_place(folder: Path) -> None:
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


def files_of_run(run: Path) -> list[Path]:
    """Return the files of a run, with its page; no command replaces one of them."""
    return [run / name for name in (*FILES, PAGE)]


def check_file(
    path: Path | None, kind: str, inputs: Iterable[Path | None], *, force: bool
) -> None:
    """Refuse a file that could not or should not be written; `kind` is of `FORMATS`.

    Of `inputs`, the files that are read, none is ever replaced. A figure is also
    refused if matplotlib is not installed.
    """
    if path is None:
        return
    formats = FORMATS[kind]
    if path.suffix.lower() not in formats:
        raise InputError(
            f"{path}: only {_joined(formats.values(), 'and')} can be written. End the "
            f"name in {_joined(formats, 'or')}."
        )
    if path.is_dir():
        raise InputError(f"{path}: this is a folder. Choose another name.")
    _check_place(path.parent)
    check_outputs([path], inputs, force=force)
    if kind == "figure":
        try:
            pyplot()
        except ImportError as error:
            raise InputError(str(error)) from None


def _joined(words: Iterable[str], last: str) -> str:
    *most, end = words
    return f"{', '.join(most)} {last} {end}" if most else end


def _write_csv(table: pd.DataFrame, path: Any, digits: str | None = DIGITS) -> None:
    safe = for_spreadsheet(table)
    words = _words(safe)
    quoting = csv.QUOTE_MINIMAL
    if not words.isdisjoint(MISSING):
        # In quotation marks, a class called NA is a name for our readers. Pandas would
        # also quote numbers that it has to round.
        safe, digits, quoting = _rounded(safe, digits), None, csv.QUOTE_NONNUMERIC
    # Python's csv quotes a carriage return only if it is part of the line's end.
    end = "\r\n" if any("\r" in word for word in words) else "\n"
    safe.to_csv(
        path, index=False, float_format=digits, lineterminator=end, quoting=quoting
    )


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as the text of a CSV, without characters that move a cursor."""
    words = table.select_dtypes(exclude="number").columns
    file = io.StringIO()
    _write_csv(table.assign(**{w: table[w].map(printable) for w in words}), file)
    return file.getvalue()


def _words(table: pd.DataFrame) -> set[str]:
    """Return the texts in a table, and its headers; an empty cell is none."""
    words = set(table.columns)
    for _, column in table.select_dtypes(exclude="number").items():
        words.update(column.unique().tolist())
    return {word for word in words if isinstance(word, str) and word}


def _rounded(table: pd.DataFrame, digits: str | None) -> pd.DataFrame:
    """Return the table with floats of so many digits."""
    if digits is None:
        return table
    floats = table.select_dtypes("float").columns
    return table.assign(
        **{name: [float(digits % x) for x in table[name]] for name in floats}
    )


def _read_parquet(path: Path) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(content_of(path)))


def _write_parquet(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, index=False)
