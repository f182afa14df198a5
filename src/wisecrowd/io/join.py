"""Feature tables and lists of items from files, joined to annotations by the ids."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from wisecrowd._checks import (
    InputError,
    counted,
    listed,
    vocabulary_values,
    with_reasons,
)
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.annotations.vocabulary import positions
from wisecrowd.blocks import OnDisk
from wisecrowd.io.beyond import features
from wisecrowd.io.feature_columns import Asked
from wisecrowd.io.features import features_in
from wisecrowd.io.ids import GivenIds, read_ids
from wisecrowd.io.sources import errors_that_name

LEFT_OUT = "the item is one of those to leave out"


class FeatureTable(NamedTuple):
    """Features from a file, and the ids of their rows.

    Attributes
    ----------
    path : Path
        The file.
    X : array (N, D), or OnDisk
        The features, one row per item.
    items : array of length N
        The ids: those in the file, or the row numbers 0, 1, 2, ...
    with_ids : bool
        Whether there are ids: in the file, or given.
    names : list of D str, or None
        The names of the features, if the file has names.
    left_out : mapping
        From the name of a column or array that was not used, to the reason.
    """

    path: Path
    X: Any
    items: Array
    with_ids: bool
    names: list[str] | None = None
    left_out: Mapping[str, str] = MappingProxyType({})

    def to_frame(self) -> Any:
        """Return the features as a DataFrame: ids are its index, names its columns.

        Pass it to ``fit`` and ``predict_proba``: they join answers by the index, and
        compare the names of the columns. Without names, the columns are numbered.
        Features beyond memory stay what they are, and can be passed too.
        """
        if isinstance(self.X, OnDisk):
            return self.X
        return pd.DataFrame(self.X, index=self.items, columns=self.names, copy=False)

    def __str__(self) -> str:
        """Say in one line what was read."""
        n_items, n_features = self.X.shape
        ids = "with ids" if self.with_ids else "no ids: rows counted from 0"
        named = f": {listed(self.names, 8)}" if self.names else ""
        size = f"{counted(n_items, 'item')}, {counted(n_features, 'feature')}"
        line = f"{self.path}: {size}{named} ({ids})"
        unused = with_reasons(self.left_out, 8)
        return f"{line}; left out: {unused}" if unused else line


def read_feature_table(
    path: str | PathLike[str],
    *,
    item: str | None = None,
    ids: GivenIds | None = None,
    key: str | None = None,
    columns: Sequence[str] | str | None = None,
    leave_out: Sequence[str] | str = (),
) -> FeatureTable:
    r"""Read features as the command line does: with names, and what was left out.

    Parameters
    ----------
    path, item, ids, key, columns, leave_out
        As in :func:`read_features`.

    Returns
    -------
    FeatureTable
        ``X``, ``items``, ``names`` and ``left_out``. Printed, it says what was read.
        Rows without ids are items 0, 1, 2, ...

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "features.csv"
    >>> _ = path.write_text("item,width,height,label\na,1,2.5,0\nb,3,4,1\n")
    >>> table = read_feature_table(path)
    >>> table.names, table.left_out
    (['width', 'height'], {'label': 'the class'})
    >>> read_feature_table(path, columns="label,width").names
    ['label', 'width']
    >>> table.to_frame().loc["b"].to_dict()
    {'width': 3.0, 'height': 4.0}
    """
    found = features_in(path, Asked.by_user(item, ids, key, columns, leave_out))
    items = np.arange(len(found.X)) if found.ids is None else found.ids
    return FeatureTable(
        Path(path),
        found.X,
        items,
        with_ids=found.ids is not None,
        names=found.names or None,
        left_out=found.left_out,
    )


def opened_feature_table(path: str | PathLike[str], **asked: Any) -> FeatureTable:
    """Open features beyond memory as the command line does.

    See :func:`wisecrowd.features` for `path` and `asked`.
    """
    X = features(path, **asked)
    return FeatureTable(Path(path), X, X.items, X.with_ids, X.names, X.left_out)


def item_hints(annotations: Annotations) -> list[str]:
    """Return what the reader said of other columns that could name the items."""
    notes = annotations.report.notes if annotations.report else ()
    return [f"In the answers, {note}" for note in notes if note.endswith("item=.")]


def join_features(annotations: Annotations, table: FeatureTable) -> Annotations:
    """Return the annotations over all items of the table, in the order of its rows.

    This is :meth:`Annotations.align`, which ``fit(X, y, items=ids)`` uses too. An error
    names the file. A command calls::

        table = read_feature_table(path)
        joined = join_features(annotations, table)
        model.fit(table.X, joined, items=table.items)
        print(join_note(joined, table))
    """
    try:
        with errors_that_name(table.path):
            return annotations.align(table.items)
    except InputError as error:
        said = str(error)
        if not table.with_ids:
            said += (
                f" The file has no ids, so its rows are items 0 to "
                f"{len(table.items) - 1:,}: add a column of item ids, or give them as "
                f"a list or a file with ids=."
            )
        raise InputError(" ".join([said, *item_hints(annotations)])) from None


def join_note(annotations: Annotations, table: FeatureTable) -> str:
    """Say what was read, and how many of the items have no answer."""
    n_silent = int((annotations.codes.n_per_item == 0).sum())
    return f"{table}; {n_silent:,} of them have no answer" if n_silent else str(table)


def without_items(
    path: str | PathLike[str],
    annotations: Annotations,
    table: FeatureTable | None = None,
) -> tuple[Annotations, FeatureTable | None, list[str]]:
    """Return answers and features without the items that a file names, and notes.

    The file is one for :func:`~wisecrowd.io.ids.read_ids`. Numbers and text are
    compared as text. The `report` counts the answers that are left out.
    """
    with errors_that_name(path):
        ids = np.unique(vocabulary_values(read_ids(path), "item"))
        of_answers = positions(annotations.items, ids)
        found = [of_answers]
        if table is not None:
            found.append(positions(vocabulary_values(table.items, "item"), ids))
        known = np.isin(np.arange(len(ids)), np.concatenate(found))
        if not known.any():
            raise InputError(
                f"none of its ids is an item: the file has {listed(ids, 3)}, the "
                f"answers are about {listed(annotations.items, 3)}. Give one id per "
                f"line, or a table with a column 'item'."
            )
        if (of_answers >= 0).all():
            raise InputError("it names all items, so that nothing is left to fit.")
    if table is not None:
        if isinstance(table.X, OnDisk):
            raise InputError(
                f"{path}: items can be left out of features in memory only, and "
                f"{table.path} is a folder. Give one file of features, or leave their "
                f"rows out of the folder."
            )
        keep = found[1] < 0
        table = table._replace(X=table.X[keep], items=table.items[keep])
    left = annotations.subset(items=annotations.items[of_answers < 0])
    n_gone = len(annotations) - len(left)
    report = annotations.report
    if report is not None and n_gone:
        more = {**report.left_out, LEFT_OUT: n_gone}
        report = replace(report, n_kept=report.n_kept - n_gone, left_out=more)
        left = replace(left, report=report)
    n_known, unknown = int(known.sum()), ids[~known]
    are = "is" if n_known == 1 else "are"
    notes = [f"{path}: {counted(n_known, 'item')} {are} left out of the fit."]
    if len(unknown):
        are = "is not an item" if len(unknown) == 1 else "are not items"
        notes.append(f"{path}: {counted(len(unknown), 'id')} {are}: {listed(unknown)}.")
    return left, table, notes
