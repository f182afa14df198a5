"""Vocabularies: from names (ids, answers, classes, gold) to integer codes."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from wisecrowd._checks import (
    InputError,
    as_series,
    counted,
    listed,
    vocabulary_values,
)
from wisecrowd._types import Array, Gold, Ids


class Coded(NamedTuple):
    """A column as codes: positions in its distinct values, -1 for a missing value."""

    codes: Array
    names: Array


def unique(names: Array, what: str) -> Array:
    """Return the names; raise an error if one of them occurs twice."""
    twice = pd.Series(names).duplicated()
    if twice.any():
        raise InputError(
            f"{int(twice.sum())} {what} ids occur more than once: "
            f"{listed(pd.unique(names[twice.to_numpy()]), 5)}. Each must be unique."
        )
    return names


def encoded(values: Ids, vocabulary: Ids | None, what: str) -> Coded:
    """Return the codes of the values, and the sorted (or the given) vocabulary."""
    values = as_series(values, what)
    try:
        codes, found = pd.factorize(values, use_na_sentinel=True)
    except (TypeError, UnicodeEncodeError):
        vocabulary_values(values, what)  # raises an error with the type
        raise
    if (codes < 0).any():
        vocabulary_values(values, what)  # raises an error with the row
    seen = vocabulary_values(np.asarray(found), what)
    if vocabulary is None:
        order = np.argsort(seen, kind="stable")
        return Coded(np.argsort(order)[codes], seen[order])
    names = unique(vocabulary_values(vocabulary, what), what)
    where = positions(seen, names)
    if (where < 0).any():
        raise InputError(
            f"{int((where < 0).sum())} {what} ids are not in {what}s=: "
            f"{listed(seen[where < 0], 5)}.{type_hint(seen, names)}"
        )
    return Coded(where[codes], names)


def positions(values: Array, vocabulary: Array) -> Array:
    """Return the positions of values in a vocabulary, -1 where they are not in it.

    Numbers and text are compared as text: the 7 of a table of features is the "7" of a
    file of answers. So are true, false and text, whatever their capitals.

    Examples
    --------
    >>> positions(np.array([7, 8]), np.array(["a", "7"], dtype=object)).tolist()
    [1, -1]
    """
    kinds = {values.dtype.kind, vocabulary.dtype.kind}
    here, there = pd.Index(values), pd.Index(vocabulary)
    if len(kinds) == 2 and "O" in kinds:
        text = [pd.Index(index.astype(str)) for index in (here, there)]
        here, there = [t.str.lower() for t in text] if "b" in kinds else text
    if kinds == {"i", "b"} or not there.is_unique:
        return np.full(len(values), -1)
    return there.get_indexer(here)


def type_hint(left: Array, right: Array) -> str:
    """Return a remark that two vocabularies differ in type, if they do."""
    if left.dtype.kind == right.dtype.kind:
        return ""
    kinds = {"i": "numbers", "O": "text", "b": "true/false"}
    here, there = (kinds.get(a.dtype.kind, "other") for a in (left, right))
    return f" (They are {here} on one side and {there} on the other.)"


def union(left: Array, right: Array, what: str) -> Array:
    """Return the names of both vocabularies; sorted, if both are."""
    if len(left) and len(right) and left.dtype.kind != right.dtype.kind:
        raise InputError(
            f"the two sets cannot be merged: the {what} ids differ in type."
            f"{type_hint(left, right)} Convert one of them."
        )
    if left is right or (len(left) == len(right) and (left == right).all()):
        return left
    both = pd.unique(np.concatenate([left, right]))
    are_sorted = all((np.sort(names) == names).all() for names in (left, right))
    return np.sort(both) if are_sorted else both  # an order that was given is kept


def answer_names(
    seen: Array, classes: Ids | None, answers: Ids | None, gold: pd.Series | None
) -> tuple[Array, int]:
    """Return all possible answers, the classes first, and the number of classes."""
    extra = vocabulary_values(answers, "answer") if answers is not None else seen[:0]
    if classes is None:
        known = seen if gold is None else _with_gold(seen, np.unique(gold))
        names = known[~np.isin(known, extra)] if len(extra) else known
    else:
        names = unique(vocabulary_values(classes, "class"), "class")
    extra = extra[~np.isin(extra, names)]
    if not len(extra):
        return names, len(names)
    if extra.dtype.kind != names.dtype.kind:
        raise InputError(
            f"answers= and the classes differ in type.{type_hint(extra, names)}"
        )
    return np.concatenate([names, pd.unique(extra)]), len(names)


def _with_gold(seen: Array, classes: Array) -> Array:
    if classes.dtype.kind != seen.dtype.kind:
        raise InputError(
            f"the gold classes ({listed(classes, 3)}) and the answers "
            f"({listed(seen, 3)}) differ in type.{type_hint(classes, seen)}"
        )
    return union(seen, classes, "class")


def check_answers_known(
    codes: Array, said: Callable[[int], list[Any]], names: Array
) -> None:
    """Raise an error about the first answer without a code.

    `said` returns the item, the annotator and the answer of a row.
    """
    bad = np.flatnonzero(codes < 0)
    if not len(bad):
        return
    who = said(int(bad[0]))
    item, annotator, answer = (listed([name]) for name in who)
    raise InputError(
        f"answer {answer} of annotator {annotator} on item {item} is not one of the "
        f"{len(names)} known answers ({listed(names)}); {counted(len(bad), 'row')} "
        f"with unknown answers. Add it to classes=, to answers= if it is not a class, "
        f"or drop the rows."
        f"{type_hint(vocabulary_values([who[2]], 'answer'), names)}"
    )


def gold_series(gold: Gold | None) -> pd.Series | None:
    """Return gold as a Series from item to class, or None if it is empty."""
    if gold is None:
        return None
    if not isinstance(gold, (pd.Series, Mapping)):
        raise InputError(
            f"gold is a dict or a Series from item to class, not a "
            f"{type(gold).__name__}. Add the items that the classes belong to."
        )
    series = gold if isinstance(gold, pd.Series) else pd.Series(dict(gold))
    series = series.dropna()
    if not len(series):
        return None
    index = unique(vocabulary_values(series.index, "gold item"), "gold item")
    return pd.Series(vocabulary_values(series.to_numpy(), "gold class"), index=index)


def gold_codes_of(gold: pd.Series | None, items: Array, classes: Array) -> Array:
    """Return the code of the gold class of each item, -1 for an item without gold."""
    codes = np.full(len(items), -1, dtype=np.int32)
    if gold is None:
        return codes
    index, values = vocabulary_values(gold.index, "gold item"), gold.to_numpy()
    where, what = positions(index, items), positions(values, classes)
    if (where < 0).any():
        raise InputError(
            f"{int((where < 0).sum())} gold items are not among the {len(items)} "
            f"items: {listed(index[where < 0], 5)}.{type_hint(index, items)}"
        )
    if (what < 0).any():
        raise InputError(
            f"gold class {listed(values[what < 0][:1])} of item "
            f"{listed(index[what < 0][:1])} is not one of the classes "
            f"{listed(classes, 20)}.{type_hint(values, classes)}"
        )
    codes[where] = what
    return codes
