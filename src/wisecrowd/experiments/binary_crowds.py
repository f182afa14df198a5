"""Simulated crowds of two classes: Gaussian processes or lines, and the rates.

Run: python -m wisecrowd.experiments.binary_crowds [--methods gpep raykar ...]
     [--sets rings ...] [--sizes 200 500] [--seeds 10] [--out FOLDER]

Three sets: two Gaussians, where a line is right, and two moons and rings, where it is
not. Five annotators have sensitivities and specificities between .5 and .9; 2 to 4 of
them answer each item. Every method is fitted twice: to the crowd, and to the majority
votes as if they were the right classes ("votes"). One row per fit: AUC and log loss on
2,000 new items, the share of right training labels, the mean absolute error of the
rates. Then a table of means. A run that was ended goes on. With 2,000 items the slow
methods take a minute or more per fit.
"""

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning

import wisecrowd as wc
from wisecrowd.annotations.dataset import Dataset
from wisecrowd.experiments.runner import Job, Outcome, command, run
from wisecrowd.experiments.scoring import fit, scored, with_settings
from wisecrowd.metrics import auc

LOGISTIC = ("raykar", "yan", "crowd-em")
PROCESSES = ("gpep", "vgpcr", "rffgpcr", "vffgpcr", "svgpcr")
NONLINEAR = ("moons", "rings")
N_TEST = 2000
N_ANNOTATORS = 5
RATES = (0.5, 0.9)  # the lowest and the highest sensitivity and specificity
Points = tuple[np.ndarray, np.ndarray]


def gaussians(n: int, seed: int) -> Points:
    """Two overlapping Gaussians in five dimensions: a line is right."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    return rng.normal(size=(n, 5)) + 0.8 * truth[:, None], truth


SETS: dict[str, Callable[[int, int], Points]] = {
    "gaussians": gaussians,
    "moons": lambda n, seed: make_moons(n, noise=0.25, random_state=seed),
    "rings": lambda n, seed: make_circles(n, noise=0.15, factor=0.5, random_state=seed),
}


def drawn(name: str, n_items: int, seed: int) -> Dataset:
    """Draw items, and the answers of 2 to 4 of five annotators about each."""
    X, truth = SETS[name](n_items + N_TEST, seed)
    rng = np.random.default_rng([seed, n_items])
    rates = rng.uniform(*RATES, (2, N_ANNOTATORS))  # specificity, sensitivity
    z = truth[:n_items]
    right = rng.random((n_items, N_ANNOTATORS)) < rates[z]
    answers = np.where(right, z[:, None], 1 - z[:, None])
    rank = rng.random(answers.shape).argsort(1).argsort(1)
    answers[rank >= rng.integers(2, 5, n_items)[:, None]] = -1
    made = wc.Annotations.from_matrix(answers, classes=[0, 1])
    confusion = np.stack([[[s, 1 - s], [1 - r, r]] for s, r in rates.T])
    return Dataset(
        name=name, answers=made, classes=made.classes,
        gold=pd.Series(z, index=made.items), X=X[:n_items], X_test=X[n_items:],
        gold_test=truth[n_items:], confusion=confusion,
    )  # fmt: skip


def fitted(method: str, seed: int, *, set: str, n_items: int, to: str) -> Outcome:  # noqa: A002  its name in the table
    """Fit a method to the crowd or to the votes, and score it."""
    data = drawn(set, n_items, seed)
    model = with_settings(wc.METHODS[method](), random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        cost = fit(model, data, to=to, seed=seed)
    found = scored(model, data)
    found["auc"] = auc(data.gold_test, model.predict_proba(data.X_test))
    if to == "crowd":
        assert data.confusion is not None
        off = np.diagonal(model.confusion_ - data.confusion, axis1=1, axis2=2)
        found["rate_error"] = float(np.abs(off).mean())
    return Outcome(found, cost)


# -- the table -----------------------------------------------------------------------


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return means per set, size and method, beside those of the votes.

    `wins` counts the seeds in which the method has the highest AUC of all methods that
    have this seed; `beats_votes` those in which it is higher than its own with votes.
    """
    key = ["set", "n_items", "seed"]
    crowd = rows[rows["to"] == "crowd"].set_index([*key, "method"])
    votes = rows[rows["to"] == "votes"].set_index([*key, "method"])
    best = crowd.groupby(key)["auc"].transform("max")
    each = pd.DataFrame({"seeds": 1, "wins": crowd["auc"] == best})
    each["beats_votes"] = crowd["auc"] > votes["auc"].reindex(crowd.index)
    for name in ("auc", "test_log_loss", "label_accuracy"):
        each[name], each[f"{name}_votes"] = crowd[name], votes[name]
    each["rate_error"], each["seconds"] = crowd["rate_error"], crowd["seconds"]
    by = each.astype(float).groupby(["set", "n_items", "method"])
    out = by.mean()
    counts = ["seeds", "wins", "beats_votes"]
    out[counts] = by[counts].sum().astype(int)
    return out.round(3)


def statement(rows: pd.DataFrame) -> str:
    """Say whether Gaussian processes beat regressions on the nonlinear sets."""
    chosen = rows[(rows["to"] == "crowd") & rows["set"].isin(NONLINEAR)]
    areas = chosen.pivot_table(
        index=["set", "n_items", "seed"], columns="method", values="auc"
    )
    lines = [name for name in LOGISTIC if name in areas]
    processes = [name for name in PROCESSES if name in areas]
    if not lines or not processes:
        return "no Gaussian process or no regression was fitted to a nonlinear set."
    best = areas[lines].max(axis=1, skipna=False)
    said = []
    for name in processes:
        gain = (areas[name] - best).dropna()
        won = int((gain > 0).sum())
        said.append(f"{name} in {won} of {len(gain)} ({gain.mean():+.3f})")
    return (
        f"AUC on {' and '.join(NONLINEAR)} above that of the best regression "
        f"({', '.join(lines)}): {'; '.join(said)}."
    )


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    known = (*LOGISTIC, *PROCESSES)
    parser = command(__doc__)
    parser.add_argument("--methods", nargs="+", choices=known, default=known)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[200, 500])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("results/binary-crowds"))
    args = parser.parse_args(arguments)
    jobs = [
        Job("binary-crowds", m, seed, {"set": s, "n_items": n, "to": to}, fitted)
        for seed in range(args.seeds)
        for m in args.methods
        for s in args.sets
        for n in args.sizes
        for to in ("crowd", "votes")
    ]
    rows = run(jobs, args.out, apart=False, say=print).frame("binary-crowds")
    print(table(rows).to_string())
    print(statement(rows))


if __name__ == "__main__":
    main()
