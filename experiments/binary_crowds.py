"""Simulated crowds of two classes: Gaussian processes or lines, and the rates.

Run: python experiments/binary_crowds.py [--methods gpep raykar ...] [--sets rings ...]
     [--sizes 200 500 2000] [--seeds 10] [--budget 170] [--out FILE]
     python experiments/binary_crowds.py --read FILE [FILE ...]

Three sets: two Gaussians, where a line is right, and two moons and rings, where it is
not. Five annotators have sensitivities and specificities between .5 and .9; 2 to 4 of
them answer each item. Every method is fitted twice: to the crowd, and to the majority
votes as if they were the right classes ("votes"). One JSON line per fit: AUC and log
loss on 2,000 new items, the share of right training labels, the mean absolute error of
the rates, seconds (with compilation). Then a table of means. Seeds are whole: the next
one begins only if a method has used less than `--budget` seconds (0: no limit). The
defaults leave out 2,000 items, which take the slow methods a minute or more per fit.
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

import wisecrowd as wc
from wisecrowd.metrics import accuracy, log_loss

LOGISTIC = ("raykar", "yan", "crowd-em")
PROCESSES = ("gpep", "vgpcr", "rffgpcr", "vffgpcr", "svgpcr")
NONLINEAR = ("moons", "rings")
N_TEST = 2000
N_ANNOTATORS = 5
RATES = (0.5, 0.9)  # the lowest and the highest sensitivity and specificity


class Crowd(NamedTuple):
    """Items with answers, then new ones without."""

    X: np.ndarray
    answers: np.ndarray  # (N, A), -1: none
    truth: np.ndarray
    rates: np.ndarray  # (2, A): specificity, sensitivity
    X_test: np.ndarray
    truth_test: np.ndarray


def gaussians(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping Gaussians in five dimensions: a line is right."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    return rng.normal(size=(n, 5)) + 0.8 * truth[:, None], truth


def moons(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two moons, one around the end of the other."""
    return make_moons(n, noise=0.25, random_state=seed)


def rings(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A ring around another."""
    return make_circles(n, noise=0.15, factor=0.5, random_state=seed)


SETS = {"gaussians": gaussians, "moons": moons, "rings": rings}


def drawn(name: str, n_items: int, seed: int) -> Crowd:
    """Draw items, and the answers of 2 to 4 of five annotators about each."""
    X, truth = SETS[name](n_items + N_TEST, seed)
    rng = np.random.default_rng([seed, n_items])
    rates = rng.uniform(*RATES, (2, N_ANNOTATORS))
    z = truth[:n_items]
    right = rng.random((n_items, N_ANNOTATORS)) < rates[z]
    answers = np.where(right, z[:, None], 1 - z[:, None])
    rank = rng.random(answers.shape).argsort(1).argsort(1)
    answers[rank >= rng.integers(2, 5, n_items)[:, None]] = -1
    return Crowd(X[:n_items], answers, z, rates, X[n_items:], truth[n_items:])


def votes_of(crowd: Crowd, seed: int) -> np.ndarray:
    """Return the majority votes; ties are decided at random."""
    labels = wc.MajorityVote(random_state=seed).fit(crowd.answers).labels_
    return np.asarray(labels)


def scores(method: str, how: str, crowd: Crowd, seed: int) -> dict[str, float]:
    """Fit a method to the crowd or to the votes, and score it."""
    model = wc.METHODS[method]()
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if how == "crowd":
            model.fit(crowd.X, crowd.answers)
        else:
            votes = votes_of(crowd, seed)
            model.fit(crowd.X, votes[:, None], gold=dict(enumerate(votes)))
    seconds = time.perf_counter() - began
    proba = model.predict_proba(crowd.X_test)
    found = {
        "auc": float(roc_auc_score(crowd.truth_test, proba[:, 1])),
        "log_loss": float(log_loss(crowd.truth_test, proba)),
        "labels": float(accuracy(crowd.truth, model.label_proba_)),
        "seconds": seconds,
    }
    if how == "crowd":
        learned = np.diagonal(model.confusion_, axis1=1, axis2=2).T
        found["rate_error"] = float(np.abs(learned - crowd.rates).mean())
    return found


def fits(args: argparse.Namespace, method: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a method, seed by seed, until its time is up."""
    began = time.perf_counter()
    for seed in range(args.seeds):
        if args.budget and time.perf_counter() - began > args.budget:
            return
        for name in args.sets:
            for n_items in args.sizes:
                crowd = drawn(name, n_items, seed)
                about = {"set": name, "n_items": n_items, "seed": seed}
                for how in ("crowd", "votes"):
                    row = scores(method, how, crowd, seed)
                    yield {"method": method, "how": how, **about, **row}


# -- the table -----------------------------------------------------------------------


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return means per set, size and method, beside those of the votes.

    `wins` counts the seeds in which the method has the highest AUC of all methods that
    have this seed; `beats_votes` those in which it is higher than its own with votes.
    """
    key = ["set", "n_items", "seed"]
    crowd = rows[rows["how"] == "crowd"].set_index([*key, "method"])
    votes = rows[rows["how"] == "votes"].set_index([*key, "method"])
    best = crowd.groupby(key)["auc"].transform("max")
    each = pd.DataFrame({"seeds": 1, "wins": crowd["auc"] == best})
    each["beats_votes"] = crowd["auc"] > votes["auc"].reindex(crowd.index)
    for name in ("auc", "log_loss", "labels"):
        each[name], each[f"{name}_votes"] = crowd[name], votes[name]
    each["rate_error"], each["seconds"] = crowd["rate_error"], crowd["seconds"]
    by = each.astype(float).groupby(["set", "n_items", "method"])
    out = by.mean()
    counts = ["seeds", "wins", "beats_votes"]
    out[counts] = by[counts].sum().astype(int)
    return out.round(3)


def statement(rows: pd.DataFrame) -> str:
    """Say whether Gaussian processes beat regressions on the nonlinear sets."""
    chosen = rows[(rows["how"] == "crowd") & rows["set"].isin(NONLINEAR)]
    auc = chosen.pivot_table(
        index=["set", "n_items", "seed"], columns="method", values="auc"
    )
    lines = [name for name in LOGISTIC if name in auc]
    processes = [name for name in PROCESSES if name in auc]
    if not lines or not processes:
        return "no Gaussian process or no regression was fitted to a nonlinear set."
    best = auc[lines].max(axis=1, skipna=False)
    said = []
    for name in processes:
        both = pd.concat([auc[name], best], axis=1).dropna().to_numpy()
        if len(both):
            won = int((both[:, 0] > both[:, 1]).sum())
            said.append(
                f"{name} in {won} of {len(both)} ({(both @ [1, -1]).mean():+.3f})"
            )
    return (
        f"AUC on {' and '.join(NONLINEAR)} above that of the best regression "
        f"({', '.join(lines)}): {'; '.join(said)}."
    )


def printed(rows: pd.DataFrame) -> None:
    """Print the table and the statement."""
    print(table(rows).to_string())
    print(statement(rows))


def main() -> None:
    known = [name for name in (*LOGISTIC, *PROCESSES) if name in wc.METHODS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=known, default=known)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[200, 500])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=float, default=170.0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", type=Path, nargs="+")
    args = parser.parse_args()
    if args.read:
        printed(pd.concat([pd.read_json(path, lines=True) for path in args.read]))
        return
    rows = []
    for method in args.methods:
        for row in fits(args, method):
            rows.append(row)
            if args.out:
                with args.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
        print(f"{method}: {sum(r['method'] == method for r in rows)} fits", flush=True)
    printed(pd.DataFrame(rows))


if __name__ == "__main__":
    main()
