"""Which items an expert should look at first."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from wisecrowd._checks import counted, whole_number
from wisecrowd.results.sentences import named, percent
from wisecrowd.results.tables import with_next

COLUMNS = ["item", "label", "probability", "n_answers", "agreement"]


def to_review(
    items: pd.DataFrame,
    budget: int = 100,
    *,
    disagreements: pd.DataFrame | None = None,
    known: Sequence[Any] = (),
) -> pd.DataFrame:
    """Return the items whose review by an expert would help most.

    A label is wrong with probability 1 − p, so this is the expected number of labels
    that the review of one item mends. The least probable labels come first. Settled
    items are left out, and with them the items whose class is known.

    Parameters
    ----------
    items : DataFrame
        A label table (docs/files.md).
    budget : int
        The most items.
    disagreements : DataFrame, optional
        Items of which answers and features say different things.
    known : sequence
        Items that need no review, because their class is known.

    Returns
    -------
    DataFrame
        The columns item, label, probability, n_answers and agreement of the label
        table, why: a sentence, and gold, empty, for the expert.

    Examples
    --------
    >>> import wisecrowd as wc
    >>> model = wc.MajorityVote().fit([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> table = model.to_review()
    >>> table["item"].tolist(), table["why"][0]
    ([0], "2 of 3 answers name the label. The next class is '1' (33 %).")
    """
    whole_number(budget, "budget")
    needless = items["settled"].astype(bool) | items["item"].isin(known)
    rows = items[~needless].sort_values("probability", kind="stable").head(budget)
    contrary: dict[Any, Any] = {}
    if disagreements is not None and len(disagreements):  # from a file: no columns
        two = disagreements[["item", "crowd", "features"]].to_numpy().tolist()
        contrary = {item: (crowd, features) for item, crowd, features in two}
    each: Any = with_next(rows).to_dict("records")
    why = [_why(row, contrary.get(row["item"])) for row in each]
    # The empty column is for the expert: without it, --gold would read the labels.
    return rows[COLUMNS].assign(why=why, gold="").reset_index(drop=True)


def _why(row: dict[str, Any], contrary: Any) -> str:
    """Return why a label is not certain."""
    said = [_of_answers(row["n_answers"], row["agreement"])]
    if contrary is not None:
        crowd, features = map(named, contrary)
        said.append(f"The votes say {crowd}, the features {features}.")
    chance = percent(row["next_probability"])
    said.append(f"The next class is {named(row['next_label'])} ({chance}).")
    return " ".join(said)


def _of_answers(n_answers: int, agreement: float) -> str:
    if n_answers == 0:
        return "Nobody answered it."
    n_named = round(agreement * n_answers)
    if n_answers == 1:
        return f"Its only answer {'names' if n_named else 'does not name'} the label."
    if n_named == n_answers:
        return f"All {n_answers:,} answers name the label, but they are weak evidence."
    names = "names" if n_named == 1 else "name"
    return f"{n_named:,} of {n_answers:,} answers {names} the label."


def said_of_review(rows: pd.DataFrame, items: pd.DataFrame) -> str:
    """Return what the review (:func:`to_review`) is expected to mend, of all labels."""
    if rows.empty:
        return "No item needs a review: all labels are settled."
    mended = float((1 - rows["probability"]).sum())
    wrong = float((1 - items["probability"]).sum())
    return (
        f"The review of {'this' if len(rows) == 1 else 'these'} "
        f"{counted(len(rows), 'item')} is expected to mend {mended:.1f} of the "
        f"{wrong:.1f} wrong labels that are expected among "
        f"{counted(len(items), 'item')}."
    )
