"""Files of known classes: item and gold, joined to the answers by id."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from wisecrowd._checks import InputError, listed, vocabulary_values
from wisecrowd.annotations import Annotations
from wisecrowd.annotations.headers import ALIASES, first_named
from wisecrowd.io.columns import retyped
from wisecrowd.io.sources import (
    Source,
    errors_of_parquet,
    errors_that_name,
    json_content,
    json_records,
    recognised,
    table_rows,
)

ITEM_NAMES = ALIASES["item"]
GOLD_NAMES = ("gold", "label", "class", "truth", "gold_label", "true_label", "answer")


def read_gold(path: Path, annotations: Annotations) -> tuple[pd.Series, list[str]]:
    """Return item to class, for items that were annotated, and what to note.

    Parameters
    ----------
    path : Path
        A CSV, TSV, Parquet or JSON file with a column for the item and one called
        gold, label, class or truth; or JSON ``{item: class}``.
    annotations : Annotations
        Whose items and classes they are. Ids are compared in their type: the text
        "7" of a CSV is the number 7 if the items are numbers.
    """
    with errors_that_name(path):
        frame = _table(recognised(path)).dropna()
        if frame.empty:
            raise InputError("there is no row with an item and a class.")
        item = _as_typed(frame["item"], annotations.items)
        _check_once(item, frame["gold"])
        alike = item.dtype.kind == annotations.items.dtype.kind
        if not (alike and np.isin(item, annotations.items).any()):
            raise InputError(
                f"none of its {len(item):,} items was annotated; it has "
                f"{listed(item, 3)}, the answers have {listed(annotations.items, 3)}."
            )
        gold = pd.Series(_as_typed(frame["gold"], annotations.classes), index=item)
        gold = gold[~gold.index.duplicated()]
        kept = gold[gold.index.isin(annotations.items)]
        _check_classes(annotations, kept)
        return kept, _notes(
            path, gold.index[~gold.index.isin(annotations.items)], annotations
        )


def truth_of(annotations: Annotations, gold: pd.Series) -> list[Any]:
    """Return the known class of every item, None where there is none."""
    return [
        None if pd.isna(c) else c
        for c in gold.reindex(annotations.items).astype(object)
    ]


def _table(source: Source) -> pd.DataFrame:
    """Return the two columns, called item and gold."""
    if source.kind == "table":
        names = _names(source.columns)
        frame = pd.DataFrame(
            [row for _, row in table_rows(source, names)], dtype=object
        )
        return _renamed(frame.replace("", None), names)
    if source.kind == "parquet":
        with errors_of_parquet():
            frame = pq.read_table(source.path).to_pandas()
        if "item" not in frame and frame.index.name in ITEM_NAMES:
            frame = frame.reset_index()
    elif source.kind in ("json", "jsonl"):
        frame = _json_table(source)
    else:
        raise InputError(
            f"this is a {source.kind} file; gold is a CSV, Parquet or JSON."
        )
    return _renamed(frame, _names(frame.columns))


def _json_table(source: Source) -> pd.DataFrame:
    if source.kind == "jsonl":
        records: Any = [record for _, record in json_records(source)]
        if len(records) == 1 and not {*ITEM_NAMES} & {*records[0]}:
            records = records[0]  # {item: class}, on one line
    else:
        records = json_content(source)
    if isinstance(records, dict) and not any(
        isinstance(value, dict | list) for value in records.values()
    ):
        return pd.DataFrame(records.items(), columns=["item", "gold"], dtype=object)
    if isinstance(records, list) and all(isinstance(r, dict) for r in records):
        return pd.DataFrame(records, dtype=object)
    raise InputError(
        'gold in JSON is {item: class} or a list of {"item": ..., "gold": ...}.'
    )


def _names(columns: Any) -> list[str]:
    found = [first_named(columns, names) for names in (ITEM_NAMES, GOLD_NAMES)]
    if None in found:
        missing = "the item" if found[0] is None else "the class"
        wanted = ITEM_NAMES[:3] if found[0] is None else GOLD_NAMES[:4]
        raise InputError(
            f"no column for {missing} was found; the columns are "
            f"{listed(columns, 20)}. Call it one of {listed(wanted)}."
        )
    return [str(name) for name in found]


def _renamed(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    return frame[names].set_axis(["item", "gold"], axis=1)


def _as_typed(column: pd.Series, like: Any) -> Any:
    """Return the values in the type of the vocabulary that they are meant for."""
    if like.dtype.kind == "O":
        return column.astype(str).to_numpy(dtype=object)
    if all(isinstance(value, str) for value in column):
        return retyped(column.tolist())
    return vocabulary_values(column, str(column.name))


def _check_once(item: Any, gold: pd.Series) -> None:
    different = pd.Series(gold.astype(str).to_numpy()).groupby(item).nunique() > 1
    if different.any():
        raise InputError(
            f"{int(different.sum())} items have more than one class: "
            f"{listed(different.index[different], 5)}. Keep one row of each."
        )


def _check_classes(annotations: Annotations, gold: pd.Series) -> None:
    try:
        annotations.with_gold(gold)
    except InputError as error:
        hint = "If nobody has answered it yet, name all classes with classes=."
        raise InputError(f"{error} {hint}") from None


def _notes(path: Path, unknown: Any, annotations: Annotations) -> list[str]:
    if not len(unknown):
        return []
    return [
        f"{path}: {len(unknown):,} of its items were not annotated and are left out: "
        f"{listed(unknown, 3)}."
    ]
