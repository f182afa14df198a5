"""Read annotations from files; the format is recognised by the content."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from glob import glob
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from wisecrowd._checks import InputError, listed, one_of
from wisecrowd._types import Ids
from wisecrowd.annotations import Annotations, Repeats
from wisecrowd.annotations.headers import ROLES
from wisecrowd.io.contents import json_content, json_records
from wisecrowd.io.feature_roles import wanted_columns
from wisecrowd.io.long_tables import (
    json_rows,
    long_columns,
    long_json,
    long_parquet,
    long_text,
)
from wisecrowd.io.platforms import label_studio, mturk, peerannot, toloka, zooniverse
from wisecrowd.io.raw import RawAnnotations, annotations_from, joined
from wisecrowd.io.renaming import Renaming, new_names
from wisecrowd.io.sources import (
    NUMBER,
    Source,
    chained,
    errors_of_parquet,
    errors_that_name,
    recognised,
    sample_rows,
)
from wisecrowd.io.wide_tables import (
    keys_of,
    looks_wide,
    rows_of_objects,
    wide_json,
    wide_parquet,
    wide_text,
)

TABLE_PLATFORMS: dict[str, Any] = {
    "zooniverse": zooniverse,
    "mturk": mturk,
    "toloka": toloka,
}
OPTIONS_OF = {
    "long": (*ROLES, "gold"),
    "wide": ("item", "gold", "annotators", "leave_out"),
    "zooniverse": ("task", "workflow", "version", "item"),
    "label_studio": ("task", "item"),
    "mturk": ("task", "item"),
    "toloka": ("task", "item"),
    "peerannot": (),
}
"""The formats, and the options that apply to each."""
ENDINGS = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".json", ".jsonl", ".ndjson")
"""How the names of the files end that are read from a folder."""
NO_FILE = "a {} is no file. Give a path, or a list of paths."
NUMBERED = " If the file has no header, add a first line such as item,annotator,answer."
NOT_LONG = (
    " If there is a column per annotator, name these columns with annotators=, or pass "
    "format='wide'."
)
Options = Mapping[str, Any]
Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


def read_annotations(  # noqa: PLR0913  (options of several formats)
    path: Paths,
    *,
    format: str | None = None,  # noqa: A002  (the word that users look for)
    task: str | None = None,
    workflow: str | int | None = None,
    version: str | int | float | None = None,
    item: str | None = None,
    annotator: str | None = None,
    answer: str | None = None,
    gold: str | None = None,
    annotators: Sequence[str] | str | None = None,
    leave_out: Sequence[str] | str | None = None,
    classes: Ids | None = None,
    answers: Ids | None = None,
    drop_repeats: Repeats = None,
    rename: Renaming | None = None,
) -> Annotations:
    r"""Read the answers of a crowd from a file, or from several.

    Long and wide tables (CSV, TSV, Parquet, JSON, JSON lines; CSV also gzipped),
    Zooniverse classification exports, Label Studio JSON, MTurk batch results, Toloka
    assignments and peerannot's ``answers.json`` are recognised by their content.

    Parameters
    ----------
    path : path or sequence of paths
        The file; a folder or a pattern such as ``"exports/*.csv"``; "-" for standard
        input. Several files are read as one: classifications that are in two exports
        count once.
    format : str, optional
        "long", "wide", "zooniverse", "label_studio", "mturk", "toloka" or
        "peerannot". Default: recognised by the content.
    task : str, optional
        The question, if there are several: a Zooniverse task ("T0"), a Label Studio
        tag, what follows "Answer." (MTurk) or "OUTPUT:" (Toloka). Default: the one with
        the most answers; the report lists the others.
    workflow, version : optional
        For Zooniverse: the id or name of the workflow, and its version. Give the
        version as text: "12.10" is not 12.1.
    item, annotator, answer : str, optional
        The columns of a long table, if they do not have usual names. For an export of a
        platform, `item` is the column or field that identifies an item.
    gold : str, optional
        The column of a table that has the classes known for certain.
    annotators, leave_out : sequence of str, optional
        The columns of a wide table that are annotators, or those that are not.
    classes, answers, drop_repeats
        As in :meth:`Annotations.from_triples`. If they are text, all answers are text.
    rename : dict, text or path, optional
        New names of answers, for answers that mean the same class:
        ``{"GRFF": "GIRAFFE"}``, "GRFF=GIRAFFE,BFFL=BUFFALO", or a file with one pair
        per line (CSV, or old=new) or JSON. Gold classes are renamed too.

    Returns
    -------
    Annotations
        Its ``report`` says what was read, what was left out and why. Its ``gold`` has
        the gold classes of the file, if any.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "answers.csv"
    >>> _ = path.write_text("task,worker,label\nx,ann,cat\nx,bob,dog\nx,cyd,\n")
    >>> answers = read_annotations(path)
    >>> answers
    Annotations(1 item, 2 annotators, 2 classes, 2 answers; 2.0 per item)
    >>> dict(answers.report.left_out)
    {'no answer': 1}
    """
    form = None if format is None else format.lower().replace("-", "_")
    if form is not None:
        one_of(form, OPTIONS_OF, "format")
    given = {
        "task": task, "workflow": workflow, "version": version,
        "item": item, "annotator": annotator, "answer": answer, "gold": gold,
        "annotators": wanted_columns(annotators),
        "leave_out": wanted_columns(leave_out),
    }  # fmt: skip
    names = new_names(rename)
    files = files_in(path)
    shown = files[0] if len(files) == 1 else f"{len(files)} files"
    with errors_that_name(shown):
        found = _found_in(files, form, given)
        return annotations_from(
            found,
            ", ".join(map(str, files)),
            classes=classes,
            answers=answers,
            drop_repeats=drop_repeats,
            rename=names,
        )


# -- which files ----------------------------------------------------------------


def files_in(path: Any) -> list[Any]:
    """Return the files that are meant: one, those in a folder, or those of a pattern.

    Examples
    --------
    >>> files_in("answers.csv"), files_in(["a.csv", "b.csv"])
    (['answers.csv'], ['a.csv', 'b.csv'])
    """
    if isinstance(path, str | PathLike):
        return _files_of(path)
    if not isinstance(path, Iterable):
        raise InputError(NO_FILE.format(type(path).__name__))
    files = [file for one in path for file in _files_of(one)]
    if not files:
        raise InputError("no file was given. Give a path, or a list of paths.")
    whole = [os.path.realpath(file) for file in files]
    twice = [file for i, file in enumerate(files) if whole[i] in whole[:i]]
    if twice:
        raise InputError(f"{twice[0]}: this file is given twice. Leave one out.")
    return files


def _files_of(path: Any) -> list[Any]:
    if not isinstance(path, str | PathLike):
        raise InputError(NO_FILE.format(type(path).__name__))
    if path == "":
        raise InputError("the name of the file is empty. Give one.")
    place = Path(path).expanduser()
    if place.is_dir():
        return _files_of_folder(path, place)
    if not re.search(r"[*?]|\[.+\]", place.name) or place.exists():
        return [path]
    found = sorted(glob(str(place)))
    if not found:
        raise InputError(f"{path}: no file has such a name.")
    return list(found)


def _files_of_folder(path: Any, folder: Path) -> list[Any]:
    with errors_that_name(path):
        inside = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
        if any(p.name == "model.json" for p in inside):
            raise InputError(
                "this is the folder of a run, which has no answers in it. Give the "
                "file of answers."
            )
        files = [p for p in inside if p.suffix.lower() in ENDINGS and p.is_file()]
        if not files:
            seen = f"; there are {listed([p.name for p in inside])}" * bool(inside)
            raise InputError(
                f"this is a directory, and no file in it has the ending of a table or "
                f"of JSON ({', '.join(ENDINGS)}){seen}."
            )
        return files


def _found_in(files: Sequence[Any], form: str | None, given: Options) -> RawAnnotations:
    if len(files) == 1:
        return _found(recognised(files[0]), form, given)
    sources = []
    for file in files:
        with errors_that_name(file):
            sources.append(recognised(file))
    parts = []
    for group in _of_one_form(sources, form):
        with errors_that_name(", ".join(str(source.shown) for source in group)):
            parts.append(_found(chained(group), form, given))
    found = joined(parts)
    found.notes.insert(0, f"{len(files)} files were read together.")
    return found


def _of_one_form(sources: Sequence[Source], form: str | None) -> list[list[Source]]:
    """Return the files in groups that are read as one table each.

    Exports of one platform are, because a classification can be in two of them. So are
    tables with the same columns.
    """
    groups: dict[Any, list[Source]] = {}
    for place, source in enumerate(sources):
        key: Any = place
        if source.kind == "table":
            with errors_that_name(source.shown):
                known = form in TABLE_PLATFORMS
                platform = form if known else platform_of(source.columns)
            if source.with_header:
                key = platform or frozenset(source.columns)
        groups.setdefault(key, []).append(source)
    return list(groups.values())


# -- which format ---------------------------------------------------------------


def _found(source: Source, form: str | None, given: Options) -> RawAnnotations:
    if source.kind == "npy":
        raise InputError(
            "this is an array of NumPy, without names. Write a table of it, e.g. "
            "Annotations.from_matrix(numpy.load(...)) and write_annotations."
        )
    if source.kind not in READERS:
        raise InputError(
            f"this is a {source.kind} file, which cannot hold annotations. (A "
            f"spreadsheet is a zip file: save it as CSV.)"
        )
    return READERS[source.kind](source, form, given)


def _from_text(source: Source, form: str | None, given: Options) -> RawAnnotations:
    form = form or platform_of(source.columns)
    if form is None:
        first = source.parts[0] if source.parts else source
        with_header = source.with_header
        form = _shape(first.columns, sample_rows(first), given, with_header=with_header)
    options = _options(form, given)
    if form == "long":
        return long_text(source, options)
    if form == "wide":  # an item may have a row in each part
        parts = [replace(part, named=False) for part in source.parts]
        return joined([wide_text(part, options) for part in parts or [source]])
    if form not in TABLE_PLATFORMS:
        raise InputError(f"format={form!r} is JSON, and this file is a table.")
    if not TABLE_PLATFORMS[form].recognises(source.columns):
        raise InputError(
            f"the columns are not those of format={form!r}: "
            f"{listed(source.columns, 40)}."
        )
    return TABLE_PLATFORMS[form].read(source, **options)


def _from_parquet(source: Source, form: str | None, given: Options) -> RawAnnotations:
    with errors_of_parquet():
        file = pq.ParquetFile(source.path)
    if not file.metadata.num_rows:
        raise InputError("there are no rows in it.")
    first = next(file.iter_batches(1000)).to_pydict()
    rows = list(zip(*first.values(), strict=True))
    form = form or _shape(file.schema_arrow.names, rows, given)
    options = _options(form, given)
    if form == "long":
        return long_parquet(source.path, file.schema_arrow, options)
    if form == "wide":
        return wide_parquet(file, options)
    raise InputError(f"format={form!r} is not kept in Parquet; use 'long' or 'wide'.")


def _from_json(source: Source, form: str | None, given: Options) -> RawAnnotations:
    asked = [given[role] for role in ROLES if given.get(role) is not None]
    if source.kind == "jsonl":
        _, first = next(json_records(source))
        if form == "long" or (form is None and _is_long(first, given)):
            return long_json(source, _options("long", given))
        content: Any = [record for _, record in json_records(source)]
        alone = content[0] if len(content) == 1 else None
        if json_rows(alone, asked) is not None or peerannot.recognises(alone):
            content = alone  # one object on one line
    else:
        content = json_content(source)
    rows = json_rows(content, asked)
    if rows is None and form == "wide" and peerannot.recognises(content):
        rows = rows_of_objects(content)
    form = form or _json_form(content, rows, given)
    options = _options(form, given)
    if form == "label_studio":
        return label_studio.read(content, **options)
    if form == "peerannot":
        return peerannot.read(content)
    if form not in ("long", "wide"):
        raise InputError(f"format={form!r} is a table, and this file is JSON.")
    if rows is None:
        raise InputError(_unknown_json(content))
    if form == "wide":
        return wide_json(rows, options)
    return long_json(rows, options)


def _is_long(record: Any, given: Options) -> bool:
    """Return whether the first of several records has the columns of a long table."""
    try:  # what is no record is refused by the reader, with the line
        return not isinstance(record, dict) or bool(long_columns(record, given))
    except InputError:
        return False


def _options(form: str, given: Options) -> Options:
    """Return the options of this format; raise an error about others."""
    own = OPTIONS_OF[form]
    unknown = [k for k, v in given.items() if v is not None and k not in own]
    if unknown:
        shown = ", ".join(f"{name}=" for name in own)
        raise InputError(
            f"{unknown[0]}={given[unknown[0]]!r} is not an option of the format "
            f"{form!r}; its options are {shown or 'none'}."
        )
    return {name: given[name] for name in own}


def platform_of(columns: Iterable[Any]) -> str | None:
    """Return the platform whose exports have these columns, or None.

    Examples
    --------
    >>> platform_of(["HITId", "WorkerId", "Answer.class"])
    'mturk'
    """
    columns = tuple(map(str, columns))
    for name, platform in TABLE_PLATFORMS.items():
        if platform.recognises(columns):
            return name
    if {"subject_id", "locations", "metadata"} <= set(columns):
        raise InputError(
            "this is a Zooniverse subject export: it has no answers. Read the "
            "classification export."
        )
    return None


def _json_form(content: Any, rows: list[Any] | None, given: Options) -> str:
    if label_studio.recognises(content):
        return "label_studio"
    if rows is not None:
        columns = keys_of(rows)
        values = [
            [str(v) if isinstance(v, dict | list) else v for v in map(row.get, columns)]
            for row in rows[:1000]
        ]
        return _shape(columns, values, given)
    if peerannot.recognises(content):
        return "peerannot"
    if not content:
        raise InputError("the file is empty: there is no record in it.")
    raise InputError(_unknown_json(content))


def _unknown_json(content: Any) -> str:
    seen = f"a {type(content).__name__}"
    if isinstance(content, dict):
        seen += f" with the keys {listed(content)}"
    return (
        f"this JSON has no known form: it is {seen}. A list of records with item, "
        f"annotator and answer, {{item: {{annotator: answer}}}} or a Label Studio "
        f"export was expected."
    )


def _shape(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    given: Options,
    *,
    with_header: bool = True,
) -> str:
    """Return "long" or "wide", by the column names and then by the values."""
    if given.get("annotators") or given.get("leave_out"):
        return "wide"
    try:
        long_columns(columns, given)
    except InputError as error:
        named = [name for name in ROLES if given.get(name) is not None]
        could_be = set(named) <= {"item"}
        if could_be and looks_wide(columns, rows, given, with_header=with_header):
            return "wide"
        numbers = any(NUMBER.fullmatch(name) for name in columns)
        hint = "" if named else NUMBERED if numbers else NOT_LONG
        raise InputError(f"{error}{hint}") from None
    return "long"


READERS = {
    "table": _from_text,
    "parquet": _from_parquet,
    "json": _from_json,
    "jsonl": _from_json,
}
