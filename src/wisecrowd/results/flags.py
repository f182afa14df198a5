"""Which annotators to look at, and which items count as certain."""

from typing import Any

import numpy as np
import pandas as pd

FLAGGED = 0.95
"""An annotator is flagged from this probability on."""

CERTAIN = 0.95
"""The label of an item counts as certain from this probability on."""

ADVERSARY, SPAMMER = "adversary", "spammer"


def flags_of(annotators: pd.DataFrame) -> Any:
    """Return "adversary", "spammer" or "" for each row of an annotator summary.

    Examples
    --------
    >>> table = pd.DataFrame({"spammer": [0.97, 0.1, 0.0], "adversarial": [0, 0.99, 0]})
    >>> flags_of(table).tolist()
    ['spammer', 'adversary', '']
    """
    adversary = annotators["adversarial"].to_numpy() >= FLAGGED
    spammer = annotators["spammer"].to_numpy() >= FLAGGED
    words = np.where(adversary, ADVERSARY, np.where(spammer, SPAMMER, ""))
    return words.astype(object)


def flagged(annotators: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the annotators who are probably adversaries, and probably spammers."""
    flag, who = flags_of(annotators), annotators["annotator"]
    return {
        "adversaries": who[flag == ADVERSARY].tolist(),
        "spammers": who[flag == SPAMMER].tolist(),
    }


def n_certain(items: pd.DataFrame) -> int:
    """Return how many rows of a label table have a label that counts as certain."""
    return int((items["probability"] >= CERTAIN).sum())
