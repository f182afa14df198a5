"""AggNet, crowd layers and CoNAL beside majority vote with the same network.

Run: python experiments/networks.py labelme|sentiment|simulated [--seeds N] [--only M]
Prints, per method, the means of accuracy, log loss and calibration error on new items,
and the share of right training labels. `simulated`: crowds of simulated_crowds.py, of
the seeds `--shapes`.
"""

import argparse
import json
import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rivals import codes
from simulated_crowds import shape_of

import wisecrowd as wc
from wisecrowd.datasets import load_labelme, load_sentiment
from wisecrowd.metrics import accuracy, calibration_error, log_loss
from wisecrowd.simulation.crowds import simulate

SHAPES = (1, 4, 7, 11, 14, 17, 20, 23)
METHODS: dict[str, Any] = {
    "votes + network": None,
    "AggNet": wc.AggNet,
    "CrowdLayer mw": wc.CrowdLayer,
    "mw geometric": partial(wc.CrowdLayer, regularizer="geometric"),
    "mw trace": partial(wc.CrowdLayer, regularizer="trace"),
    "CrowdLayer vw": partial(wc.CrowdLayer, kind="vw"),
    "CrowdLayer vwb": partial(wc.CrowdLayer, kind="vwb"),
    "mw as published": wc.CrowdLayer.as_published,
    "CoNAL": wc.CoNAL,
}


class Data(NamedTuple):
    """A crowd, and new items."""

    X: Any
    answers: Any
    truth: Any
    X_new: Any
    truth_new: Any


def real(data: Any) -> Data:
    names = data.answers.classes
    gold, gold_new = codes(data.gold, names), codes(data.gold_test, names)
    return Data(data.X, data.answers, gold, data.X_test, gold_new)


def simulated(seed: int) -> Data:
    shape = shape_of(seed)
    shape["answers_per_item"] = min(shape["answers_per_item"], shape["n_annotators"])
    half = shape["n_items"]
    crowd = simulate(**{**shape, "n_items": 2 * half}, random_state=seed)
    answers = crowd.answers.subset(items=crowd.answers.items[:half])
    X, truth = crowd.X, crowd.truth
    return Data(X[:half], answers, truth[:half], X[half:], truth[half:])


def of_votes(data: Data, seed: int) -> Any:
    """Return the same network, learned from the labels of the majority."""
    votes = wc.MajorityVote(random_state=seed).fit(data.answers)
    n_classes = len(data.answers.classes)
    labels = wc.Annotations.from_target(
        votes.label_proba_.argmax(1), classes=range(n_classes)
    )
    trusted = 1e9 * np.eye(n_classes) + 1
    return wc.AggNet(annotator_prior=trusted, random_state=seed).fit(data.X, labels)


def scores(name: str, data: Data, seed: int) -> list[float]:
    """Fit and score once."""
    began = time.perf_counter()
    if METHODS[name] is None:
        model = of_votes(data, seed)
    else:
        model = METHODS[name](random_state=seed).fit(data.X, data.answers)
    seconds = time.perf_counter() - began
    new = model.predict_proba(data.X_new)
    measures = (accuracy, log_loss, calibration_error)
    found = [float(measure(data.truth_new, new)) for measure in measures]
    return [*found, float(accuracy(data.truth, model.label_proba_)), seconds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=["labelme", "sentiment", "simulated"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--shapes", type=int, nargs="+", default=SHAPES)
    parser.add_argument("--only", choices=list(METHODS))
    args = parser.parse_args()
    if args.data == "simulated":
        some = [(simulated(seed), 0) for seed in args.shapes]
    else:
        one = real(load_labelme() if args.data == "labelme" else load_sentiment())
        some = [(one, seed) for seed in range(args.seeds)]
    columns = ("accuracy", "log_loss", "calibration", "training_labels", "seconds")
    for name in [args.only] if args.only else METHODS:
        found = np.array([scores(name, data, seed) for data, seed in some])
        means = dict(zip(columns, found.mean(0).round(3).tolist(), strict=True))
        each = found[:, 0].round(3).tolist()
        print(json.dumps({"method": name, **means, "each": each}), flush=True)


if __name__ == "__main__":
    main()
