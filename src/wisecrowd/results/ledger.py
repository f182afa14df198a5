"""The ledger of labels: a table of what speaks for a label, and how much."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from wisecrowd._checks import InputError, listed, named
from wisecrowd._types import Array
from wisecrowd.annotations.vocabulary import positions
from wisecrowd.maths.crowd import posterior
from wisecrowd.maths.ledger import parts

SHARES, SHIFT, ANSWER, VOTES, FEATURES, METHOD, GOLD = (
    "class shares", "shift by gold", "answer", "votes", "features", "method", "gold",
)  # fmt: skip
"""The kinds of rows."""

SAID = {
    SHARES: "how frequent the classes are",
    SHIFT: "what gold showed about the classes",
    VOTES: "the share of the votes",
    FEATURES: "what the features say",
    METHOD: "the posterior of the method",
    GOLD: "the class is known",
}
"""The same in words; an answer has its annotator instead."""


def explained(model: Any, item: Any) -> pd.DataFrame:
    """Return the ledger of one item: ``model.explain(item)``."""
    (where,) = positions(np.array([item], object), model.items_)
    if where < 0:
        raise InputError(
            f"{item!r} is not an item of the fit. The items are "
            f"{listed(model.items_, 3)}."
        )
    table = ledger_table(model, np.array([where])).drop(columns="item")
    label, against = _best_two(model.label_proba_[[where]])[0]
    table.attrs = {
        "item": str(model.items_[where]),
        "label": str(model.classes_[label]),
        "against": str(model.classes_[against]),
    }
    return table


def ledger_table(model: Any, where: Int[np.ndarray, " n"]) -> pd.DataFrame:
    """Return what each witness adds to the labels of some items.

    Parameters
    ----------
    model : fitted method
        It must still have the data of the fit, so not loaded from a file.
    where : array (n,)
        Positions of the items in ``model.items_``, in order.

    Returns
    -------
    DataFrame
        The columns are item, kind, who (an annotator), answer, counts (the weight of
        the answer), log_odds (of the label against the next most probable class), and
        ``log_NAME`` for every class. Over the rows of an item, these add up to the
        log-probability of the class, up to a constant that is the same for all.
    """
    given = getattr(model, "_given", None)
    if given is None:
        raise InputError(
            "this model was loaded from a file, which does not hold the answers. Use "
            "'wisecrowd explain RUN ITEM', or explain the model that was fitted."
        )
    pool, witnesses = model.learned_.pool, model._witnesses
    if pool is None or witnesses is None:
        rows = _rows(where, METHOD, _log(model.label_proba_[where]))
    else:
        rows = _of_pool(model, witnesses, pool, where)
    known = where[given.gold_codes[where] >= 0]
    if len(known):
        certain = np.arange(len(model.classes_)) == given.gold_codes[known][:, None]
        rows = rows[~((rows["kind"] == METHOD) & rows["item"].isin(known))]
        rows = pd.concat([rows, _rows(known, GOLD, _log(certain))])
    rows = rows.sort_values("item", kind="stable").reset_index(drop=True)
    return _named(model, rows)


def _of_pool(model: Any, witnesses: Any, pool: Any, where: Array) -> pd.DataFrame:
    some = witnesses.of_items(where)
    found, answers = parts(some, pool), some.answers
    said = _rows(where[answers.item], ANSWER, found.answers)
    said["who"] = [str(name) for name in model.annotators_[answers.annotator]]
    said["answer"] = [str(name) for name in model.answers_[answers.answer]]
    said["counts"] = found.weight
    if some.verdict is not None and not pool.lean.any():
        said = said.iloc[:0]  # answers are inside the posterior of the method
    terms = {
        SHARES: found.shares,
        SHIFT: np.tile(found.shift, (len(where), 1)),
        METHOD: found.verdict,
        VOTES: found.votes,
        FEATURES: found.features,
    }
    others = [_rows(where, kind, v) for kind, v in terms.items() if np.ptp(v) > 0]
    table = pd.concat([*others, said]) if others else said
    total = table.groupby("item")[_classes(table)].sum().reindex(where, fill_value=0.0)
    final = model.label_proba_[where]
    elsewhere = np.abs(posterior(total.to_numpy())[0] - final).max(1) > 1e-9
    # Items without an answer are predicted by the classifier, like new ones.
    new = where[elsewhere & (model._given.gold_codes[where] < 0)]
    kind = FEATURES if some.beyond is not None else METHOD
    instead = _rows(new, kind, _log(final[np.isin(where, new)]))
    return pd.concat([table[~table["item"].isin(new)], instead])


def _rows(where: Array, kind: str, value: Float[np.ndarray, "n C"]) -> pd.DataFrame:
    """Return rows of one kind; every row is about 0, unless a class is impossible."""
    centre = value.mean(1, keepdims=True)
    value = value - np.where(np.isfinite(centre), centre, 0.0)
    table = pd.DataFrame(value)
    columns: Any = {
        "item": where,
        "kind": kind,
        "who": None,
        "answer": None,
        "counts": None,
    }
    for place, (name, content) in enumerate(columns.items()):
        table.insert(place, name, content)
    return table.astype({"counts": float, "who": object, "answer": object})


def _classes(table: pd.DataFrame) -> list[Any]:
    return [name for name in table.columns if isinstance(name, int)]


def _log(proba: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(proba.astype(float))


def _best_two(proba: Array) -> Array:
    """Return the codes of the two most probable classes, as ``argmax`` breaks ties."""
    return np.argsort(-proba, axis=1, kind="stable")[:, :2]


def _named(model: Any, rows: pd.DataFrame) -> pd.DataFrame:
    place = rows["item"].to_numpy()
    best = _best_two(model.label_proba_)[place]
    value = rows[_classes(rows)].to_numpy()
    one, other = np.take_along_axis(value, best, 1).T
    names = dict(enumerate(f"log_{c}" for c in model.classes_))
    rows = rows.rename(columns=names).copy()  # in one piece: pandas warns of many
    with np.errstate(invalid="ignore"):  # two classes that are both impossible: 0
        rows.insert(
            5, "log_odds", np.nan_to_num(one - other, posinf=np.inf, neginf=-np.inf)
        )
    return rows.assign(item=model.items_[place])


def one_of_ledger(found: Any, item: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the ledger of one item (an id, as text) of a run, and what it says."""
    where = np.flatnonzero(found.items["item"].astype(str).to_numpy() == item)
    if not len(where):
        raise InputError(
            f"{named(item)} is not an item of the run. Its items are "
            f"{listed(found.items['item'].tolist(), 3)}."
        )
    ledger = pd.DataFrame({"item": []}) if found.ledger is None else found.ledger
    rows = ledger[ledger["item"].astype(str) == item]
    if rows.empty:
        n_kept = ledger["item"].nunique()
        raise InputError(
            f"the run keeps the ledger of {n_kept:,} items, the least certain ones, "
            f"and {item!r} is not among them. Fit in Python, and call "
            f"model.explain({listed(found.items['item'].iloc[where].tolist())})."
        )
    row = found.items.iloc[where[0]]
    proba = row[[f"p_{name}" for name in found.model.classes_]].to_numpy(float)
    label, against = (str(found.model.classes_[c]) for c in _best_two(proba[None])[0])
    chosen = {
        "item": str(row["item"]),
        "label": label,
        "against": against,
        "probability": float(row["probability"]),
        "log_odds": float(rows["log_odds"].sum()),
    }
    return rows.drop(columns="item"), {**chosen, "sentence": said_of(chosen)}


def said_of(chosen: dict[str, Any]) -> str:
    """Return what the sum of a ledger means."""
    if not np.isfinite(chosen["log_odds"]):
        return "The class of this item is known, so the label is certain."
    times = np.exp(min(chosen["log_odds"], 700.0))
    odds = f"{times:,.1f}" if times < 1000 else f"{times:,.0f}"
    return (
        f"Together {chosen['log_odds']:+.2f}: {chosen['label']!r} is {odds} times as "
        f"probable as {chosen['against']!r}. The probability of the label is "
        f"{chosen['probability']:.3f}. Rows above 0 speak for the label."
    )
