"""Gold classes: read from a file, and matched to the items of the annotations."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from types import MappingProxyType
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from wisecrowd._checks import InputError, counted, listed
from wisecrowd._types import Gold
from wisecrowd.annotations import Annotations
from wisecrowd.annotations.headers import ALIASES, check_column, first_named
from wisecrowd.annotations.headers import GOLD_NAMES as GOLD_COLUMNS
from wisecrowd.annotations.vocabulary import Coded, gold_series, positions
from wisecrowd.io.columns import checked_column, coded, retyped_column
from wisecrowd.io.contents import json_content, json_records, whole_table
from wisecrowd.io.feature_columns import range_index
from wisecrowd.io.long_tables import Names, json_rows, record_columns
from wisecrowd.io.raw import gold_of_rows
from wisecrowd.io.sources import Source, errors_of_parquet, errors_that_name, recognised

NAMES = {"item": ALIASES["item"], "gold": (*GOLD_COLUMNS, *ALIASES["answer"])}
"""The names by which the two columns are recognised, in order of preference."""
Given = Mapping[str, str | None]  # the two columns, if the user named them
Usual = Mapping[str, Sequence[str]]
Finder = Callable[[Any, Given], Names]  # finds the two among the names of columns


def read_gold(
    path: str | PathLike[str], *, item: str | None = None, gold: str | None = None
) -> pd.Series:
    r"""Read the classes that are known for certain: a Series from item to class.

    Parameters
    ----------
    path : path
        A CSV, TSV, Parquet, JSON or JSON lines file with one row per item, or JSON
        ``{item: class}``. Rows without an item or without a class are ignored.
    item, gold : str, optional
        The two columns. Default: the ones called item, task or subject, and gold,
        truth, label or class (docs/formats.md).

    Returns
    -------
    Series
        Named gold, with an index named item. Whole numbers in text files are numbers.
        Pass it to ``fit(..., gold=gold)``. If it has items without answers and
        features, remove them with :func:`matched_gold`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "gold.csv"
    >>> _ = path.write_text("item,gold\n8,dog\n7,cat\n")
    >>> read_gold(path).to_dict()
    {7: 'cat', 8: 'dog'}
    """
    return gold_in(path, {"item": item, "gold": gold})


def gold_in(
    path: str | PathLike[str],
    given: Mapping[str, str | None],
    also: Mapping[str, str | None] = MappingProxyType({}),
) -> pd.Series:
    """Return what :func:`read_gold` does.

    `given` names the columns. `also` has names that they may have, before the usual
    ones: those of the answers.
    """
    with errors_that_name(path):
        usual = {
            role: [name for name in (also.get(role), *names) if name]
            for role, names in NAMES.items()
        }
        items, classes = _columns(recognised(path), partial(_names, usual), given)
        known = gold_series(gold_of_rows(items, classes))
        if known is None:
            raise InputError("there is no row with an item and a class.")
        return known.rename("gold").rename_axis("item")


def matched_gold(gold: Gold, annotations: Annotations) -> tuple[pd.Series, list[str]]:
    """Return the gold classes of the items at hand, and a note about other items.

    Ids and classes are compared as text where one side is numbers and the other text.
    A command calls ``gold, notes = matched_gold(read_gold(path), annotations)``, prints
    the notes, and passes the gold to ``fit``.

    Parameters
    ----------
    gold : dict or Series
        From item to class, for example from :func:`read_gold`.
    annotations : Annotations
        The answers, after the join with the features if there are any.

    Returns
    -------
    gold : Series
        From item to class, in the ids and the classes of the annotations.
    notes : list of str
        Sentences about gold items that are not among the items of the annotations,
        and about gold that most answers contradict; empty if there is nothing to say.

    Examples
    --------
    >>> answers = Annotations.from_triples([7, 8], ["ann", "ann"], ["cat", "dog"])
    >>> gold, notes = matched_gold({"8": "dog", "9": "cat"}, answers)
    >>> gold.to_dict(), notes
    ({8: 'dog'}, ["1 gold item is not among the items and is left out: '9'."])
    """
    known = gold_series(gold)
    if known is None:
        return annotations.with_gold({}).gold, []
    items = known.index.to_numpy()
    where = positions(items, annotations.items)
    if (where < 0).all():
        raise InputError(
            f"none of the {counted(len(items), 'gold item')} is among the items: gold "
            f"is known for {listed(items, 3)}, the answers are about "
            f"{listed(annotations.items, 3)}."
        )
    try:
        matched = annotations.with_gold(known[where >= 0]).gold
    except InputError as error:
        hint = "If nobody gave this answer yet, name all classes with classes=."
        raise InputError(f"{error} {hint}") from None
    notes = []
    if (where < 0).any():
        are = "is" if (where < 0).sum() == 1 else "are"
        notes.append(
            f"{counted(int((where < 0).sum()), 'gold item')} {are} not among the items "
            f"and {are} left out: {listed(items[where < 0], 3)}."
        )
    return matched, [*notes, *_contradicted(matched, annotations)]


# -- inside ---------------------------------------------------------------------


def _contradicted(gold: pd.Series, annotations: Annotations) -> list[str]:
    """Return a note if most gold items have another class than most answers say."""
    codes = annotations.with_gold(gold).gold_codes
    votes = annotations.codes.votes()
    most = votes.max(1)
    clear = (codes >= 0) & (most > 1) & (2 * most > annotations.codes.n_per_item)
    n_other = int((votes.argmax(1) != codes)[clear].sum())
    if 2 * n_other <= clear.sum():
        return []
    return [
        f"ATTENTION: most answers contradict the gold class of {n_other:,} of the "
        f"{counted(int(clear.sum()), 'gold item')} on which most of them agree. Gold "
        f"is taken as certain, so that good annotators would count as wrong. Check it."
    ]


def _columns(source: Source, named: Finder, given: Given) -> Any:
    """Return the items and the classes; text tables and keys in JSON have no types."""
    untyped = NAMES.keys() if source.kind == "table" else set()
    if source.kind in ("json", "jsonl"):
        columns, untyped = _json_columns(source, named, given)
    elif source.kind in ("table", "parquet"):
        if source.kind == "table":
            names = named(source.columns, given)
            table = whole_table(source, list(names.values()))
        else:
            with errors_of_parquet():
                table = pq.read_table(source.path)
            for name, ids in range_index(table.schema, len(table)).items():
                table = table.append_column(name, ids)
            names = named(table.column_names, given)
        columns = {role: coded(table[name]) for role, name in names.items()}
    else:
        raise InputError(
            f"this is a {source.kind} file; gold is read from CSV, Parquet or JSON."
        )
    return [
        retyped_column(column, role)[0]
        if role in untyped
        else checked_column(column, role)
        for role, column in columns.items()
    ]


def _names(known: Usual, columns: Any, given: Given) -> dict[str, str]:
    """Return the columns of the item and of the class, given or found by name."""
    found: dict[str, str] = {}
    for role, usual in known.items():
        name = given[role]
        if name is not None:
            check_column(name, columns, role)
        free = [c for c in columns if c not in (*found.values(), *given.values())]
        found[role] = name or first_named(free, usual)
        if found[role] is None:
            raise InputError(
                f"no column for the {role} was found; the columns are "
                f"{listed(columns, 20)}. Name it with {role}=, or call it one of "
                f"{listed(usual[:4])}."
            )
    return found


def _json_columns(
    source: Source, named: Finder, given: Given
) -> tuple[dict[str, Coded], set[str]]:
    """Return the columns of a list of records, or of {item: class}, and the untyped."""
    if source.kind == "jsonl":
        records: Any = [record for _, record in json_records(source)]
        if len(records) == 1 and not _is_record(records[0], named, given):
            records = records[0]  # {item: class} on one line
    else:
        records = json_content(source)
    rows, untyped = json_rows(records), set()
    records = records if rows is None else rows
    if isinstance(records, dict):
        records = [{"item": item, "gold": known} for item, known in records.items()]
        given, untyped = dict.fromkeys(NAMES), {"item"}
    if not isinstance(records, list):
        raise InputError(
            f"this JSON is a {type(records).__name__}; a list of records with item and "
            f"gold, or {{item: class}}, was expected."
        )
    numbered = enumerate(records, start=1)
    return record_columns(numbered, given, "record", named)[0], untyped


def _is_record(record: Any, named: Finder, given: Given) -> bool:
    try:
        return isinstance(record, dict) and bool(named(record, given))
    except InputError:
        return False
