"""Annotations from files; the format is found from the content."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from wisecrowd._checks import InputError, listed, one_of
from wisecrowd._types import Array, Ids
from wisecrowd.data.annotations import ALIASES, Annotations, Repeats, column_names
from wisecrowd.data.found import (
    GOLD_NAMES,
    METADATA,
    Coded,
    Coder,
    Found,
    annotations_of,
    coded,
)
from wisecrowd.data.platforms import label_studio, mturk, peerannot, toloka, zooniverse
from wisecrowd.data.sources import (
    NUMBER,
    Source,
    errors_that_name,
    json_columns,
    json_content,
    json_records,
    recognised,
    sample_rows,
    table_batches,
)

FORMATS = (
    "long", "wide", "zooniverse", "label_studio", "mturk", "toloka", "peerannot",
)  # fmt: skip
ROLES = tuple(ALIASES)
ITEM_NAMES = {*ALIASES["item"], "", "id", "index", "name", "image", "file", "filename"}
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
Options = Mapping[str, Any]


def read_annotations(  # noqa: PLR0913  (one option a difference between platforms)
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  (the word that users look for)
    task: str | None = None,
    workflow: str | int | None = None,
    version: str | int | float | None = None,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    classes: Ids | None = None,
    answers: Ids | None = None,
    drop_repeats: Repeats = None,
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
        "peerannot", where the content does not decide.
    task : str, optional
        The question, where people answered several: a Zooniverse task ("T0"), a Label
        Studio tag, what follows "Answer." or "OUTPUT:". Default: the one with the
        most answers; the report lists the others.
    workflow, version : optional
        Of a Zooniverse export: id or name of the workflow, and its version, as
        text ("12.10" is not 12.1).
    item, annotator, label : str, optional
        The columns of a long table, if they are not found by name. On a platform,
        `item` names the column or field that identifies an item.
    classes, answers, drop_repeats
        As in :meth:`Annotations.from_triples`. Given as text, labels stay text.

    Returns
    -------
    Annotations
        With ``report``, which says what was found, what was left out and why, and with
        ``gold`` where the file has it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "labels.csv"
    >>> _ = path.write_text("task,worker,label\nx,ann,cat\nx,bob,dog\nx,cyd,\n")
    >>> labels = read_annotations(path)
    >>> labels
    Annotations(1 item, 2 annotators, 2 classes, 2 annotations; 2.0 an item)
    >>> dict(labels.report.left_out)
    {'no label': 1}
    """
    form = None if format is None else format.lower().replace("-", "_")
    if form is not None:
        one_of(form, FORMATS, "format")
    given = {
        "task": task, "workflow": workflow, "version": version,
        "item": item, "annotator": annotator, "label": label,
    }  # fmt: skip
    with errors_that_name(path):
        found = _found(recognised(path), form, given)
        return annotations_of(
            found, path, classes=classes, answers=answers, drop_repeats=drop_repeats
        )


# -- which format ---------------------------------------------------------------


def _found(source: Source, form: str | None, given: Options) -> Found:
    if source.kind == "parquet":
        return _from_parquet(source, form, given)
    if source.kind in ("json", "jsonl"):
        return _from_json(source, form, given)
    if source.kind != "table":
        raise InputError(
            f"this is a {source.kind} file, and no format of annotations. (A "
            f"spreadsheet is a zip file: save it as CSV. Features are read by "
            f"read_features.)"
        )
    form = form or _platform_of(source) or _shape(source, sample_rows(source), given)
    options = _options(form, given)
    if form in TABLE_PLATFORMS:
        _check_platform(source, form)
        return TABLE_PLATFORMS[form].read(source, **options)
    return _table_readers(form)(source, options)


def _table_readers(form: str) -> Callable[[Source, Options], Found]:
    if form == "long":
        return _long_table
    if form == "wide":
        return _wide_table
    raise InputError(f"format={form!r} is JSON, and this file is a table.")


def _platform_of(source: Source) -> str | None:
    for name, platform in TABLE_PLATFORMS.items():
        if platform.recognises(source.columns):
            return name
    if {"subject_id", "locations", "metadata"} <= set(source.columns):
        raise InputError(
            "this is a Zooniverse subject export: it lists subjects, and nobody's "
            "answers. Read the classification export."
        )
    return None


def _check_platform(source: Source, form: str) -> None:
    if not TABLE_PLATFORMS[form].recognises(source.columns):
        raise InputError(
            f"the columns are not those of format={form!r}: "
            f"{listed(source.columns, 40)}."
        )


def _options(form: str, given: Options) -> Options:
    """Return the options that this format has; refuse others."""
    unknown = [
        k for k, v in given.items() if v is not None and k not in OPTIONS_OF[form]
    ]
    if unknown:
        raise InputError(
            f"{unknown[0]}={given[unknown[0]]!r} says nothing about a file in the "
            f"format {form!r}; its options are {listed(OPTIONS_OF[form]) or 'none'}."
        )
    return {name: given[name] for name in OPTIONS_OF[form]}


def _shape(source: Source, rows: Sequence[Sequence[Any]], given: Options) -> str:
    """Tell a long table from a wide one by its columns, then by its values."""
    try:
        column_names(source.columns, **_roles(given))
    except InputError as error:
        named = [name for name in ROLES if given.get(name) is not None]
        if set(named) <= {"item"} and _looks_wide(source, rows, given.get("item")):
            return "wide"
        raise InputError(f"{error}{_shape_hint(source) * (not named)}") from None
    return "long"


def _shape_hint(source: Source) -> str:
    if any(NUMBER.fullmatch(name) for name in source.columns):
        return (
            " Does the file have no header? Put one in its first line, such as "
            "item,annotator,label."
        )
    return " If each column but the first is an annotator, say format='wide'."


def _roles(given: Options) -> dict[str, str | None]:
    return {role: given.get(role) for role in ROLES}


def _looks_wide(
    source: Source, rows: Sequence[Sequence[Any]], item: str | None
) -> bool:
    """Say whether the first column is an id and the others share a few values."""
    lower = [c.strip().lower() for c in source.columns]
    others = {*ALIASES["annotator"], *ALIASES["label"]}
    if source.with_header and (
        others & set(lower) or not (item or lower[0] in ITEM_NAMES) or len(lower) < 3
    ):
        return False
    rows = [row for row in rows if len(row) == len(lower)]
    columns = list(zip(*rows, strict=True))
    ids = columns.pop(0) if source.with_header and columns else ()
    values = [{v for v in column if v not in ("", None)} for column in columns]
    shared = set().union(*values)
    n_filled = sum(v not in ("", None) for column in columns for v in column)
    few = len(shared) <= min(n_filled / 2, 2 * max(map(len, values), default=0))
    return few and len(set(ids)) == len(ids) and not any(map(_is_measure, shared))


def _is_measure(value: Any) -> bool:
    """Say whether this is a number that is not whole."""
    if isinstance(value, str):
        if not NUMBER.fullmatch(value):
            return False
        value = float(value)
    return isinstance(value, float) and np.isfinite(value) and value != round(value)


# -- tables ---------------------------------------------------------------------


def _form_name(source: Source) -> str:
    names = {",": "CSV", "\t": "TSV", " ": "table separated by blanks"}
    return names.get(source.delimiter, f"CSV separated by {source.delimiter!r}")


def _gold_column(columns: Iterable[str]) -> str | None:
    present = {str(c).strip().lower(): c for c in columns}
    return next((present[name] for name in GOLD_NAMES if name in present), None)


def _long_table(source: Source, given: Options) -> Found:
    names = column_names(source.columns, **_roles(given))
    gold = _gold_column(set(source.columns) - set(names))
    wanted = list(dict.fromkeys([*names, *([gold] if gold else [])]))
    batches = list(table_batches(source, wanted))
    if not sum(batch.num_rows for batch in batches):
        raise InputError("there are no rows below the header.")
    table = pa.Table.from_batches(batches)
    columns = {name: coded(table[name]) for name in wanted}
    return _long_found(columns, names, gold, f"long {_form_name(source)}")


def _long_found(
    columns: Mapping[str, Coded], names: list[str], gold: str | None, form: str
) -> Found:
    item, annotator, label = (columns[name] for name in names)
    notes = [f"item, annotator and label are the columns {listed(names)}."]
    found = Found(form, item, annotator, label, len(item.codes), notes=notes)
    if gold is not None:
        found.gold = _row_gold(item, columns[gold])
        notes.append(f"{len(found.gold):,} gold classes are from the column {gold!r}.")
    return found


def _row_gold(item: Coded, gold: Coded) -> dict[Any, Any]:
    """Return the gold class of each item; all rows of an item must agree."""
    known = (item.codes >= 0) & (gold.codes >= 0)
    pairs = np.unique(np.stack([item.codes[known], gold.codes[known]]), axis=1)
    twice = np.flatnonzero(np.diff(pairs[0]) == 0)
    if len(twice):
        where = twice[0]
        both = [gold.names[code] for code in pairs[1, where : where + 2]]
        raise InputError(
            f"{len(twice):,} items have more than one gold class: item "
            f"{listed([item.names[pairs[0, where]]])} has {listed(both)}. Correct them."
        )
    return dict(zip(item.names[pairs[0]].tolist(), gold.names[pairs[1]], strict=True))


def _wide_table(source: Source, given: Options) -> Found:
    batches = list(table_batches(source, source.columns))
    columns = pa.Table.from_batches(batches) if batches else None
    if columns is None or not columns.num_rows:
        raise InputError("there are no rows below the header.")
    form = f"wide {_form_name(source)}"
    if not source.with_header:
        return _wide_found(columns, None, form + " without a header")
    return _wide_found(columns, _item_of_wide(source.columns, given), form)


def _item_of_wide(columns: Sequence[str], given: Options) -> str:
    name = given.get("item") or columns[0]
    if name not in columns:
        raise InputError(
            f"there is no column {name!r} for the item; the columns are "
            f"{listed(columns, 20)}."
        )
    return name


def _wide_found(columns: Any, item_name: str | None, form: str) -> Found:
    """Turn columns of annotators into rows, one a cell with an answer."""
    gold_name = _gold_column(columns.column_names)
    people = [c for c in columns.column_names if c not in (item_name, gold_name)]
    item = _wide_items(columns, item_name)
    label, rows = Coder(), []
    for person in people:
        column = coded(columns[person])
        present = np.flatnonzero((column.codes >= 0) & _answered(column))
        for value in column.names[column.codes[present]].tolist():
            label.append(value)
        rows.append(present)
    lengths = [len(present) for present in rows]
    who = np.repeat(np.arange(len(people), dtype=np.int32), lengths)
    where = np.concatenate(rows) if rows else np.empty(0, dtype=int)
    found = Found(
        form,
        Coded(item.codes[where], item.names),
        Coded(who, np.array(people, dtype=object)),
        label.coded(),
        columns.num_rows,
        keep_annotators=True,
        notes=[_wide_note(columns, people, len(where), item_name)],
    )
    if gold_name:
        found.gold = _row_gold(item, coded(columns[gold_name]))
    return found


def _answered(column: Coded) -> Array:
    """Return which rows hold an answer: -1 is none, as in a matrix."""
    none = np.array([str(name) in ("-1", "-1.0") for name in column.names] + [True])
    return ~none[column.codes]


def _wide_items(columns: Any, item_name: str | None) -> Coded:
    if item_name is None:
        rows = np.arange(columns.num_rows)
        return Coded(rows, rows.astype(str).astype(object))
    item = coded(columns[item_name])
    counts = np.bincount(item.codes[item.codes >= 0])
    if (item.codes < 0).any():
        raise InputError(
            f"row {int((item.codes < 0).argmax()) + 1:,} has no item (column "
            f"{item_name!r}). Fill it in."
        )
    if (counts > 1).any():
        raise InputError(
            f"{int((counts > 1).sum()):,} items have more than one row in this wide "
            f"table: {listed(item.names[counts > 1], 5)}. Make them one, or write a "
            f"long table."
        )
    return item


def _wide_note(columns: Any, people: list[str], n_given: int, item: str | None) -> str:
    n_cells = columns.num_rows * len(people)
    named = "items are row numbers" if item is None else f"items are in {item!r}"
    return (
        f"{named}, {len(people):,} columns are annotators ({listed(people, 3)}); "
        f"{n_cells - n_given:,} of {n_cells:,} cells hold no answer."
    )


def _from_parquet(source: Source, form: str | None, given: Options) -> Found:
    try:
        file = pq.ParquetFile(source.path)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"the Parquet file is broken ({error}). Write it again."
        ) from None
    schema = file.schema_arrow
    if not file.metadata.num_rows:
        raise InputError("there are no rows in it.")
    source = Source(source.path, "parquet", columns=tuple(schema.names))
    first = next(file.iter_batches(1000)).to_pydict()
    form = form or _shape(source, list(zip(*first.values(), strict=True)), given)
    options = _options(form, given)
    if form == "long":
        return _long_parquet(source.path, schema, options)
    if form != "wide":
        raise InputError(
            f"format={form!r} is not kept in Parquet; use 'long' or 'wide'."
        )
    name = _item_of_wide(schema.names, options)
    found = _wide_found(file.read(), name, "wide Parquet")
    text = not isinstance(found.item.names[0], str)
    found.typed = frozenset({"item", "label"} if text else {"label"})
    return found


def _long_parquet(path: Path, schema: Any, given: Options) -> Found:
    names = column_names(schema.names, **_roles(given))
    gold = _gold_column(set(schema.names) - set(names))
    wanted = [*names, *([gold] if gold else [])]
    # one column in memory at a time, as it stands: text takes more room than codes
    columns = {
        name: coded(pq.read_table(path, columns=[name])[name]) for name in wanted
    }
    found = _long_found(columns, names, gold, "long Parquet")
    found.typed = frozenset(ROLES)
    kept = (schema.metadata or {}).get(METADATA)
    found.options = json.loads(kept) if kept else {}
    return found


# -- JSON -----------------------------------------------------------------------


def _from_json(source: Source, form: str | None, given: Options) -> Found:
    if source.kind == "jsonl" and form in (None, "long"):
        return _json_lines(source, _options("long", given))
    content = json_content(source)
    form = form or _json_form(content)
    options = _options(form, given)
    if form == "label_studio":
        return label_studio.found(content, **options)
    if form == "peerannot":
        return peerannot.found(content)
    if form != "long":
        raise InputError(f"format={form!r} is a table, and this file is JSON.")
    return _records(_numbered(content), options, "long JSON", "record")


def _json_lines(source: Source, given: Options) -> Found:
    """Read JSON lines with Arrow; where it finds more than one type, line by line."""
    _, first = next(json_records(source))
    if isinstance(first, dict):
        names = _record_names(first, given)
        table = json_columns(source, {name: first.get(name) for name in names.values()})
        if table is not None:
            columns = {role: coded(table[name]) for role, name in names.items()}
            return _found_records(columns, names, "long JSON lines")
    return _records(json_records(source), given, "long JSON lines", "line")


def _json_form(content: Any) -> str:
    if label_studio.recognises(content):
        return "label_studio"
    if _is_column_table(content) or _is_record_list(content):
        return "long"
    if peerannot.recognises(content):
        return "peerannot"
    if not content:
        raise InputError("the file is empty: it holds no record.")
    seen = f"a {type(content).__name__}"
    if isinstance(content, dict):
        seen += f" with the keys {listed(content)}"
    raise InputError(
        f"this JSON has no known form: it holds {seen}. Expected were a list of "
        f"records with item, annotator and label; {{item: {{annotator: label}}}}; or "
        f"a Label Studio export."
    )


def _is_record_list(content: Any) -> bool:
    return isinstance(content, list) and bool(content) and isinstance(content[0], dict)


def _is_column_table(content: Any) -> bool:
    """Say whether this is what ``DataFrame.to_json`` or ``to_dict("list")`` writes."""
    if not isinstance(content, dict):
        return False
    try:
        column_names(content)
    except InputError:
        return False
    return True


def _numbered(content: Any) -> Iterator[tuple[int, Any]]:
    if _is_column_table(content):
        content = [
            dict(zip(content, row, strict=True))
            for row in zip(
                *(c.values() if isinstance(c, dict) else c for c in content.values()),
                strict=True,
            )
        ]
    return enumerate(content, start=1)


def _records(
    records: Iterator[tuple[int, Any]], given: Options, form: str, word: str
) -> Found:
    """Make a long table of records; the first names the columns."""
    coders = {role: Coder() for role in (*ROLES, "gold")}
    names: dict[str, str] = {}
    for number, record in records:
        if not isinstance(record, dict):
            raise InputError(
                f"{word} {number:,} is not a record but {str(record)[:60]!r}; "
                f"expected was "
                f'{{"item": ..., "annotator": ..., "label": ...}}.'
            )
        names = names or _record_names(record, given)
        for role, name in names.items():
            value = record.get(name)
            if isinstance(value, dict | list):
                raise InputError(
                    f"the {role} in {word} {number:,} is a {type(value).__name__}: "
                    f"{str(value)[:60]}. Expected was a name or a number."
                )
            coders[role].append(None if value == "" else value)
    if not names:
        raise InputError("the file is empty: it holds no record.")
    columns = {role: coders[role].coded() for role in names}
    return _found_records(columns, names, form)


def _found_records(
    columns: Mapping[str, Coded], names: Mapping[str, str], form: str
) -> Found:
    found = Found(
        form,
        columns["item"],
        columns["annotator"],
        columns["label"],
        n_rows=len(columns["item"].codes),
        notes=[f"item, annotator and label are {listed(names[r] for r in ROLES)}."],
        typed=frozenset(ROLES),
    )
    if "gold" in columns:
        found.gold = _row_gold(columns["item"], columns["gold"])
    return found


def _record_names(record: dict[str, Any], given: Options) -> dict[str, str]:
    found = column_names(record, **_roles(given))
    names = dict(zip(ROLES, found, strict=True))
    gold = _gold_column(set(record) - set(found))
    return {**names, "gold": gold} if gold else names
