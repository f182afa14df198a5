"""Read annotations from files; the format is recognised by the content."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import pyarrow.parquet as pq

from wisecrowd._checks import InputError, listed, one_of
from wisecrowd._types import Ids
from wisecrowd.annotations import Annotations, Repeats
from wisecrowd.annotations.headers import ROLES, column_names
from wisecrowd.io.long_tables import (
    is_long_json,
    long_json,
    long_json_lines,
    long_parquet,
    long_text,
)
from wisecrowd.io.platforms import label_studio, mturk, peerannot, toloka, zooniverse
from wisecrowd.io.raw import RawAnnotations, annotations_from
from wisecrowd.io.renaming import Renaming, new_names
from wisecrowd.io.sources import (
    NUMBER,
    Source,
    errors_of_parquet,
    errors_that_name,
    json_content,
    recognised,
    sample_rows,
)
from wisecrowd.io.wide_tables import looks_wide, wide_parquet, wide_text

TEXT_READERS: dict[str, Callable[[Source, Any], RawAnnotations]] = {
    "long": long_text,
    "wide": wide_text,
}
TABLE_PLATFORMS: dict[str, Any] = {
    "zooniverse": zooniverse,
    "mturk": mturk,
    "toloka": toloka,
}
OPTIONS_OF = {
    "long": ROLES,
    "wide": ("item",),
    "zooniverse": ("task", "workflow", "version", "item"),
    "label_studio": ("task", "item"),
    "mturk": ("task", "item"),
    "toloka": ("task", "item"),
    "peerannot": (),
}
"""The formats, and the options that apply to each."""
Options = Mapping[str, Any]


def read_annotations(  # noqa: PLR0913  (options of several formats)
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  (the word that users look for)
    task: str | None = None,
    workflow: str | int | None = None,
    version: str | int | float | None = None,
    item: str | None = None,
    annotator: str | None = None,
    answer: str | None = None,
    classes: Ids | None = None,
    answers: Ids | None = None,
    drop_repeats: Repeats = None,
    rename: Renaming | None = None,
) -> Annotations:
    r"""Read the answers of a crowd from a file.

    Long and wide tables (CSV, TSV, Parquet, JSON, JSON lines; CSV also gzipped),
    Zooniverse classification exports, Label Studio JSON, MTurk batch results, Toloka
    assignments and peerannot's ``answers.json`` are recognised by their content.

    Parameters
    ----------
    path : path
        The file.
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
        "item": item, "annotator": annotator, "answer": answer,
    }  # fmt: skip
    names = new_names(rename)
    with errors_that_name(path):
        found = _found(recognised(path), form, given)
        return annotations_from(
            found,
            path,
            classes=classes,
            answers=answers,
            drop_repeats=drop_repeats,
            rename=names,
        )


# -- which format ---------------------------------------------------------------


def _found(source: Source, form: str | None, given: Options) -> RawAnnotations:
    if source.kind == "parquet":
        return _from_parquet(source, form, given)
    if source.kind in ("json", "jsonl"):
        return _from_json(source, form, given)
    if source.kind != "table":
        raise InputError(
            f"this is a {source.kind} file, which cannot hold annotations. (A "
            f"spreadsheet is a zip file: save it as CSV. Features are read by "
            f"read_features.)"
        )
    return _from_text(source, form, given)


def _from_text(source: Source, form: str | None, given: Options) -> RawAnnotations:
    form = form or _platform_of(source) or _shape(source, sample_rows(source), given)
    options = _options(form, given)
    if form in TEXT_READERS:
        return TEXT_READERS[form](source, options)
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
    source = replace(source, columns=tuple(file.schema_arrow.names))
    first = next(file.iter_batches(1000)).to_pydict()
    form = form or _shape(source, list(zip(*first.values(), strict=True)), given)
    options = _options(form, given)
    if form == "long":
        return long_parquet(source.path, file.schema_arrow, options)
    if form == "wide":
        return wide_parquet(file, options)
    raise InputError(f"format={form!r} is not kept in Parquet; use 'long' or 'wide'.")


def _from_json(source: Source, form: str | None, given: Options) -> RawAnnotations:
    if source.kind == "jsonl" and form in (None, "long"):
        return long_json_lines(source, _options("long", given))
    content = json_content(source)
    form = form or _json_form(content)
    options = _options(form, given)
    if form == "label_studio":
        return label_studio.read(content, **options)
    if form == "peerannot":
        return peerannot.read(content)
    if form == "long":
        return long_json(content, options)
    raise InputError(f"format={form!r} is a table, and this file is JSON.")


def _options(form: str, given: Options) -> Options:
    """Return the options of this format; raise an error about others."""
    unknown = [
        k for k, v in given.items() if v is not None and k not in OPTIONS_OF[form]
    ]
    if unknown:
        raise InputError(
            f"{unknown[0]}={given[unknown[0]]!r} is not an option of the format "
            f"{form!r}; its options are {listed(OPTIONS_OF[form]) or 'none'}."
        )
    return {name: given[name] for name in OPTIONS_OF[form]}


def _platform_of(source: Source) -> str | None:
    for name, platform in TABLE_PLATFORMS.items():
        if platform.recognises(source.columns):
            return name
    if {"subject_id", "locations", "metadata"} <= set(source.columns):
        raise InputError(
            "this is a Zooniverse subject export: it has no answers. Read the "
            "classification export."
        )
    return None


def _json_form(content: Any) -> str:
    if label_studio.recognises(content):
        return "label_studio"
    if is_long_json(content):
        return "long"
    if peerannot.recognises(content):
        return "peerannot"
    if not content:
        raise InputError("the file is empty: there is no record in it.")
    seen = f"a {type(content).__name__}"
    if isinstance(content, dict):
        seen += f" with the keys {listed(content)}"
    raise InputError(
        f"this JSON has no known form: it is {seen}. A list of records with item, "
        f"annotator and answer, {{item: {{annotator: answer}}}} or a Label Studio "
        f"export was expected."
    )


def _shape(source: Source, rows: Sequence[Sequence[Any]], given: Options) -> str:
    """Return "long" or "wide", by the column names and then by the values."""
    try:
        column_names(source.columns, **{role: given.get(role) for role in ROLES})
    except InputError as error:
        named = [name for name in ROLES if given.get(name) is not None]
        if set(named) <= {"item"} and looks_wide(source, rows, given.get("item")):
            return "wide"
        raise InputError(f"{error}{_shape_hint(source) * (not named)}") from None
    return "long"


def _shape_hint(source: Source) -> str:
    if any(NUMBER.fullmatch(name) for name in source.columns):
        return (
            " If the file has no header, add a first line such as "
            "item,annotator,answer."
        )
    return " If each column but the first is an annotator, pass format='wide'."
