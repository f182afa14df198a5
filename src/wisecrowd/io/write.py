"""Write annotations to files: tables and JSON."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from wisecrowd._checks import InputError, listed
from wisecrowd._files import replacing
from wisecrowd._text import marked
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.io.columns import retyped
from wisecrowd.io.raw import EMPTY_IS_NAME, METADATA
from wisecrowd.io.sources import errors_that_name


def write_annotations(
    annotations: Annotations | Any, path: str | PathLike[str]
) -> Path:
    """Write annotations to a file; the ending of its name is the format.

    Parameters
    ----------
    annotations : Annotations
        The annotations to write.
    path : path
        Ends in ``.csv``, ``.tsv``, ``.parquet``, ``.jsonl`` or ``.json``. The first
        four are long tables with the columns item, annotator, answer and, if there is
        gold, gold. JSON is ``{item: {annotator: answer}}``, with a list for repeated
        answers. If that form would lose gold classes, the type of the ids or empty
        names, it is a list of records.

    Returns
    -------
    Path
        The file that was written.

    Notes
    -----
    :func:`read_annotations` returns the same annotations. Parquet keeps all types and
    the list of classes. A CSV file has no types: a column of whole numbers is read as
    numbers, unless one of them has a leading zero. In CSV and TSV files, a name that a
    spreadsheet would run as a formula, such as "=1+2", has an apostrophe in front,
    which the reader takes off. Items without an answer are kept;
    annotators without an answer are not.
    """
    if not isinstance(annotations, Annotations):
        raise InputError(
            f"write_annotations takes Annotations, not a {type(annotations).__name__}. "
            f"Make them first, e.g. Annotations.from_frame(table)."
        )
    path = Path(path).expanduser()
    check_target(path)
    with errors_that_name(path), replacing(path) as temporary:
        WRITERS[_ending(path)](annotations, temporary)
    return path


def check_target(path: Path) -> None:
    """Refuse a file that `write_annotations` could not write."""
    with errors_that_name(path):
        if _ending(path) not in WRITERS:
            raise InputError(
                f"the ending {path.suffix!r} is not a known format; use one of "
                f"{listed('.' + known for known in WRITERS)}."
            )
        if path.is_dir():
            raise InputError("this is a directory, not a file.")
        if not path.parent.is_dir():
            raise InputError(
                f"there is no directory {str(path.parent)!r}; make it first."
            )


def _ending(path: Path) -> str:
    return path.suffix.lower().lstrip(".")


def _long_columns(annotations: Annotations, *, mark: bool = False) -> Any:
    """Return an Arrow table; an item without an answer has a row of its own.

    With `mark`, no name is one that a spreadsheet runs as a formula.
    """

    def column(codes: Array, names: Array) -> Any:
        texts = [
            marked(n) if mark and isinstance(n, str) else n for n in names.tolist()
        ]
        indices = pa.array(codes, mask=codes < 0)
        return pa.DictionaryArray.from_arrays(indices, pa.array(texts))

    made = annotations
    bare = np.flatnonzero(made.codes.n_per_item == 0)
    nobody = np.full(len(bare), -1, dtype=np.int32)
    item = np.concatenate([made.item, bare]).astype(np.int32)
    columns = {
        "item": column(item, made.items),
        "annotator": column(np.concatenate([made.annotator, nobody]), made.annotators),
        "answer": column(np.concatenate([made.answer, nobody]), made.answers),
    }
    if (made.gold_codes >= 0).any():
        columns["gold"] = column(made.gold_codes[item], made.classes)
    return pa.table(columns)


def _plain(columns: Any) -> Any:
    """Return the same table without dictionaries."""
    return pa.table(
        {
            name: column.cast(column.type.value_type)
            for name, column in zip(columns.column_names, columns.columns, strict=True)
        }
    )


def _write_text(annotations: Annotations, path: Path, delimiter: str) -> None:
    for what in _with_empty_name(annotations):
        raise InputError(
            f"one of the {what} is an empty text, which would be read as missing. "
            f"Rename it, or write Parquet or JSON."
        )
    options = pacsv.WriteOptions(delimiter=delimiter)
    with path.open("wb") as file:
        pacsv.write_csv(_plain(_long_columns(annotations, mark=True)), file, options)


def _write_parquet(annotations: Annotations, path: Path) -> None:
    split = annotations.n_classes
    known = {
        "classes": annotations.answers[:split].tolist(),
        "answers": annotations.answers[split:].tolist() or None,
    }
    table = _long_columns(annotations).replace_schema_metadata(
        {METADATA: json.dumps(known)}
    )
    with path.open("wb") as file:
        pq.write_table(table, file, compression="zstd")


def _record_rows(annotations: Annotations) -> Iterator[dict[str, Any]]:
    mark = {EMPTY_IS_NAME: True} if _with_empty_name(annotations) else {}
    for batch in _plain(_long_columns(annotations)).to_batches(max_chunksize=1 << 16):
        for record in batch.to_pylist():
            yield record | mark
            mark = {}


def _with_empty_name(annotations: Annotations) -> list[str]:
    """Return in which of the vocabularies there is an empty text."""
    return [
        what
        for what in ("items", "annotators", "answers")
        if (getattr(annotations, what) == "").any()
    ]


def _write_jsonl(annotations: Annotations, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for record in _record_rows(annotations):
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _write_json(annotations: Annotations, path: Path) -> None:
    as_records = (
        (annotations.gold_codes >= 0).any()
        or _with_empty_name(annotations)
        or not _survives_as_key(annotations.items, annotations.annotators)
    )
    content = list(_record_rows(annotations)) if as_records else _nested(annotations)
    with path.open("w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False)


def _survives_as_key(*vocabularies: Array) -> bool:
    """Return whether these ids keep their type as keys in JSON."""
    return all(
        names.dtype.kind == retyped([str(n) for n in names]).dtype.kind
        for names in vocabularies
    )


def _nested(annotations: Annotations) -> dict[str, dict[str, Any]]:
    content: dict[str, dict[str, Any]] = {str(item): {} for item in annotations.items}
    rows = annotations.to_frame().to_numpy(dtype=object)
    for item, annotator, answer in rows.tolist():
        given = content[str(item)]
        name = str(annotator)
        if name not in given:
            given[name] = answer
        elif isinstance(given[name], list):
            given[name].append(answer)
        else:
            given[name] = [given[name], answer]
    return content


WRITERS: dict[str, Callable[[Annotations, Path], None]] = {
    "csv": partial(_write_text, delimiter=","),
    "tsv": partial(_write_text, delimiter="\t"),
    "parquet": _write_parquet,
    "jsonl": _write_jsonl,
    "json": _write_json,
}
