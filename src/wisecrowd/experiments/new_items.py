"""Who predicts new items best? All methods with features on six real crowds.

Run: python -m wisecrowd.experiments.new_items [--crowds NAMES] [--methods NAMES]
     [--seeds 5] [--out FOLDER]

LabelMe and Sentiment have test sets. The others are divided into five folds: a method
sees the features and the answers of four of them, and predicts the items of the fifth.
Known classes are used for the scores only, except by "svgp (gold)".
The last lines are, for every method, how far it is behind the best one that learns
from the crowd: in log loss and in accuracy, on the crowd where it is farthest behind.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from wisecrowd.annotations.dataset import Dataset
from wisecrowd.experiments.one_method import made
from wisecrowd.experiments.parts import chosen
from wisecrowd.experiments.runner import (
    Job,
    Outcome,
    Rows,
    command,
    kept_in,
    on_stderr,
    run,
)
from wisecrowd.experiments.scoring import data_of, fit, scored
from wisecrowd.results.limits import Cost

CROWDS = (
    "labelme", "sentiment", "relex_treat", "civilcomments", "llmbar_human", "youtube",
)  # fmt: skip
N_FOLDS = 5
MOST_EXACT = 1000  # items of a process without inducing points: more take too long
SHOWN = (
    "test_accuracy", "test_mean_likelihood", "test_log_loss", "label_accuracy",
    "label_log_loss", "processor", "megabytes",
)  # fmt: skip


class Entry(NamedTuple):
    """A method with its settings."""

    method: str
    settings: dict[str, Any] = {}  # noqa: RUF012
    published: bool = False


ENTRIES = {
    "svgpcr": Entry("svgpcr"),
    "svgpcr published": Entry("svgpcr", published=True),
    "crowd-em": Entry("crowd-em"),
    "raykar": Entry("raykar"),
    "yan": Entry("yan"),
    "aggnet": Entry("aggnet"),
    "aggnet published": Entry("aggnet", published=True),
    "cl-mw": Entry("crowd-layer", {"kind": "mw"}),
    "cl-vw": Entry("crowd-layer", {"kind": "vw"}),
    "cl-vwb": Entry("crowd-layer", {"kind": "vwb"}),
    "cl-mw geometric": Entry("crowd-layer", {"kind": "mw", "regularizer": "geometric"}),
    "conal": Entry("conal"),
    "rffgpcr": Entry("rffgpcr"),
    "vffgpcr": Entry("vffgpcr"),
    "vgpcr": Entry("vgpcr"),
    "gpep": Entry("gpep"),
    "svgp (gold)": Entry("svgp"),
}
TWO_CLASSES = ("rffgpcr", "vffgpcr", "vgpcr", "gpep")
EXACT = ("vgpcr", "gpep")


def parts_of(data: Dataset, seed: int) -> Iterator[Dataset]:
    """Yield a data set with test items: itself, or one per fold of its items."""
    assert data.X is not None
    assert data.gold is not None
    if data.X_test is not None:
        yield data
        return
    items = data.answers.items
    fold = np.random.default_rng(seed).permutation(len(items)) % N_FOLDS
    truth = data.gold.reindex(items)
    for held in range(N_FOLDS):
        test = (fold == held) & truth.notna().to_numpy()
        rest = fold != held
        yield replace(
            data, answers=data.answers.subset(items=items[rest]),
            gold=truth[rest].dropna(), X=data.X[rest], X_test=data.X[test],
            gold_test=truth[test].to_numpy(),
        )  # fmt: skip


def fitted(method: str, seed: int, *, crowd: str) -> Outcome:
    """Fit a method to every part of a crowd; means of the scores, sums of the cost."""
    entry = ENTRIES[method]
    found, costs = [], []
    for part in parts_of(data_of(crowd), seed):
        model = made(entry.method, seed, entry.settings, entry.published)
        to = "gold" if entry.method == "svgp" else "crowd"
        costs.append(fit(model, part, to=to, seed=seed))
        found.append(scored(model, part))
    scores = {k: np.mean([f[k] for f in found]) for k in found[0] if k in SHOWN}
    total = Cost()
    total.seconds = sum(c.seconds for c in costs)
    total.processor = sum(c.processor for c in costs)
    total.megabytes = max(c.megabytes for c in costs)
    return Outcome(scores, total)


def jobs(crowds: list[str], methods: list[str], seeds: int) -> list[Job]:
    """Return one job per method, crowd and seed that can be run."""
    out = []
    for seed in range(seeds):
        for crowd in crowds:
            data = data_of(crowd)
            for name in methods:
                entry = ENTRIES[name]
                two = len(data.classes) == 2
                small = len(data.answers.items) <= MOST_EXACT
                if (two or entry.method not in TWO_CLASSES) and (
                    small or entry.method not in EXACT
                ):
                    out.append(Job("new-items", name, seed, {"crowd": crowd}, fitted))
    return out


def table(rows: Rows) -> pd.DataFrame:
    """Return the means over the seeds: a row per crowd and method."""
    frame = rows.frame("new-items")
    same = frame.groupby(["crowd", "method"])
    found = same[list(SHOWN)].mean()
    found.insert(0, "seeds", same.size())
    return found.sort_values(["crowd", "test_log_loss"])


def behind(means: pd.DataFrame) -> pd.DataFrame:
    """Return how far each method is behind the best of those that see answers only.

    Examples
    --------
    >>> index = pd.MultiIndex.from_product([["one", "two"], ["a", "b"]])
    >>> index.names = ["crowd", "method"]
    >>> given = {"test_log_loss": [0.3, 0.5, 0.4, 0.3]}
    >>> given["test_accuracy"] = [0.9, 0.8, 1, 1]
    >>> behind(pd.DataFrame(given, index=index)).round(3)
            log loss on crowd  accuracy on crowd rank
    method
    a          0.100      two       0.0      one    2
    b          0.200      one       0.1      one    2
    """
    crowd = means[means.index.get_level_values("method") != "svgp (gold)"]
    loss, right = crowd["test_log_loss"].unstack(), crowd["test_accuracy"].unstack()
    loss_gap = loss.sub(loss.min(axis=1), axis=0)
    right_gap = right.rsub(right.max(axis=1), axis=0)
    return pd.DataFrame(
        {
            "log loss": loss_gap.max(),
            "on crowd": loss_gap.idxmax(),
            "accuracy": right_gap.max(),
            "on crowd ": right_gap.idxmax(),
            "rank": loss.rank(axis=1).max().astype(int),
        }
    ).sort_values("log loss")


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = command(__doc__)
    parser.add_argument("--crowds")
    parser.add_argument("--methods")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    crowds = chosen(given.crowds, CROWDS, "crowds") or list(CROWDS)
    methods = chosen(given.methods, list(ENTRIES), "methods") or list(ENTRIES)
    with kept_in(given.out) as folder:
        rows = run(jobs(crowds, methods, given.seeds), folder, say=on_stderr)
    means = table(rows)
    print(means.round(3).to_string())
    print(behind(means).round(3).to_string())


if __name__ == "__main__":
    main()
