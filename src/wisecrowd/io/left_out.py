"""Items that are left out of a fit, such as retired subjects."""

from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from wisecrowd._checks import InputError, counted, listed, vocabulary_values
from wisecrowd.annotations import Annotations
from wisecrowd.annotations.vocabulary import positions
from wisecrowd.io.ids import read_ids
from wisecrowd.io.join import FeatureTable
from wisecrowd.io.sources import errors_that_name

WHY = "the item is one of those to leave out"


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
        keep = found[1] < 0
        table = table._replace(X=table.X[keep], items=table.items[keep])
    left = _left(annotations, of_answers < 0)
    return left, table, _notes(path, ids, known)


def _left(annotations: Annotations, keep: Any) -> Annotations:
    """Return the answers on some items; the report counts the others."""
    left, report = annotations.subset(items=annotations.items[keep]), annotations.report
    n_gone = len(annotations) - len(left)
    if report is None or not n_gone:
        return left
    more = {**report.left_out, WHY: n_gone}
    report = replace(report, n_kept=report.n_kept - n_gone, left_out=more)
    return replace(left, report=report)


def _notes(path: Any, ids: Any, known: Any) -> list[str]:
    n_known = int(known.sum())
    are = "is" if n_known == 1 else "are"
    notes = [f"{path}: {counted(n_known, 'item')} {are} left out of the fit."]
    unknown = ids[~known]
    if len(unknown):
        are = "is not an item" if len(unknown) == 1 else "are not items"
        notes.append(f"{path}: {counted(len(unknown), 'id')} {are}: {listed(unknown)}.")
    return notes
