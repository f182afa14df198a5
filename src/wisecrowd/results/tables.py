"""The tables of a fitted model (docs/files.md)."""

from typing import Any

import numpy as np
import pandas as pd

from wisecrowd.annotations import Annotations
from wisecrowd.fit.collapse import lost_classes
from wisecrowd.maths.crowd import entropy
from wisecrowd.maths.pool import DOUBTS
from wisecrowd.results.flags import flags_of
from wisecrowd.results.settled import SETTLED_AT, settled

N_COLUMNS = 6  # of a table of probabilities, before those of the classes
NORMAL_95 = 1.96  # standard deviations on either side of a 95 % interval


def label_table(
    model: Any, annotations: Annotations, settled_at: float | int = SETTLED_AT
) -> pd.DataFrame:
    """Return one row per item of the fit: its label and every class's probability.

    Parameters
    ----------
    model : fitted method
        Whose labels they are.
    annotations : Annotations
        The answers that it was fitted on, over the same items.
    settled_at : float
        Share of the settled items whose label may be expected to be wrong.

    Returns
    -------
    DataFrame
        The columns of :func:`.probability_table`; before those of the classes also
        agreement (the share of the item's answers that name the label) and settled.
        No item is settled if the labels have lost a class that the answers name.
    """
    table = answered_table(
        model.items_, model.label_proba_, model.classes_, annotations.codes
    )
    found = settled(table["probability"].to_numpy(), settled_at)
    if len(lost_classes(annotations.codes, model.label_proba_)):
        found[:] = False  # labels that lost a class are sure, and wrong
    table.insert(N_COLUMNS + 1, "settled", found)
    return table


def answered_table(items: Any, proba: Any, classes: Any, answers: Any) -> pd.DataFrame:
    """Return :func:`.probability_table` with the column agreement."""
    n_answers = answers.n_per_item
    table = probability_table(items, proba, classes, n_answers)
    named = np.take_along_axis(answers.votes(), proba.argmax(1)[:, None], 1)[:, 0]
    agreement = np.where(n_answers, named / np.maximum(n_answers, 1), np.nan)
    table.insert(N_COLUMNS, "agreement", agreement)
    return table


def probability_table(
    items: Any, proba: Any, classes: Any, n_answers: Any
) -> pd.DataFrame:
    """Return one row per item: its label and every class's probability.

    The columns are item, label, probability (of the label), n_answers, entropy (in
    nats), margin (to the second most probable class), and one column per class: its
    name after ``p_``.

    Examples
    --------
    >>> proba = np.array([[0.8, 0.2], [0.5, 0.5]])
    >>> table = probability_table(["x", "y"], proba, np.array(["cat", "dog"]), [5, 0])
    >>> table[["item", "label", "probability", "n_answers", "p_dog"]].values.tolist()
    [['x', 'cat', 0.8, 5, 0.2], ['y', 'cat', 0.5, 0, 0.5]]
    """
    order = np.sort(proba, axis=1)
    table = pd.DataFrame(
        {
            "item": items,
            "label": classes[proba.argmax(1)],
            "probability": order[:, -1],
            "n_answers": n_answers,
            "entropy": entropy(proba),
            "margin": order[:, -1] - order[:, -2],
        }
    )
    names = [f"p_{name}" for name in classes]
    return pd.concat([table, pd.DataFrame(proba, columns=names)], axis=1)


def class_table(items: pd.DataFrame, classes: Any, n_gold: int = 0) -> pd.DataFrame:
    """Return one row per class: how many items have it as their label, and how surely.

    The variance of a prevalence π is the sum of three: of items drawn at random, of
    labels that err each on its own, and of labels that err together. For the last, the
    log-odds of the class are wrong by b on all items. Before gold, b has the pool's
    standard deviation σ; a gold item tells as much about it as a label leaves open:

        π (1 − π) / N  +  v / N  +  v² / (1 / σ² + n v),    v = mean of p (1 − p)

    Parameters
    ----------
    items : DataFrame
        A label table.
    classes : array (C,)
        The classes, in order; also those that no item has.
    n_gold : int
        Number of items, drawn at random, whose class was known to the fit.

    Returns
    -------
    DataFrame
        The columns are class, n_items (with this label), share, mean_probability (of
        the label); prevalence (mean probability over all items), low and high: its
        95 % interval, for more items of the same kind.
    """
    by_label = items.groupby("label", sort=False)["probability"]
    n_items = by_label.size().reindex(classes, fill_value=0).to_numpy()
    proba = items[[f"p_{name}" for name in classes]].to_numpy()
    n = max(len(items), 1)
    prevalence = proba.sum(0) / n
    left_open = (proba * (1 - proba)).sum(0) / n
    together = left_open**2 / (1 / DOUBTS.gold**2 + n_gold * left_open)
    variance = (prevalence * (1 - prevalence) + left_open) / n + together
    beside = NORMAL_95 * np.sqrt(variance)
    return pd.DataFrame(
        {
            "class": classes,
            "n_items": n_items,
            "share": n_items / n,
            "mean_probability": by_label.mean().reindex(classes).to_numpy(),
            "prevalence": prevalence,
            "low": np.maximum(prevalence - beside, 0.0),
            "high": np.minimum(prevalence + beside, 1.0),
        }
    )


def uncertain_items(items: pd.DataFrame, most: int = 5) -> pd.DataFrame:
    """Return the items whose label is least probable, the least probable first.

    Items without an answer are shown only if there are no others. The columns
    next_label and next_probability are the second most probable class.
    """
    answered = items[items["n_answers"] > 0]
    rows = items if answered.empty else answered
    rows = rows.sort_values("probability", kind="stable").head(most)
    return with_next(rows).reset_index(drop=True)


def with_next(items: pd.DataFrame) -> pd.DataFrame:
    """Add to rows of a label table the second most probable class: its name and p."""
    names = [name for name in items.columns if name.startswith("p_")]
    second = np.argsort(-items[names].to_numpy(), axis=1, kind="stable")[:, 1]
    return items.assign(
        next_label=[names[c].removeprefix("p_") for c in second],
        next_probability=items["probability"] - items["margin"],
    )


def annotator_table(model: Any, level: float = 0.95) -> pd.DataFrame:
    """Return one row per annotator: ``annotator_summary``, and a column flag.

    The flag is "spammer", "adversary" or "".
    """
    table: pd.DataFrame = model.annotator_summary(level)
    return table.assign(flag=flags_of(table))


def confusion_table(model: Any, level: float = 0.95) -> pd.DataFrame:
    """Return one row per annotator, true class and answer: mean, credible interval."""
    low, high = model.confusion_interval(level)
    places = np.indices(low.shape).reshape(3, -1)
    vocabularies = model.annotators_, model.classes_, model.answers_
    names = zip(("annotator", "truth", "answer"), vocabularies, places, strict=True)
    return pd.DataFrame(
        {
            **{name: words[place] for name, words, place in names},
            "mean": model.confusion_.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
    )
