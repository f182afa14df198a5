"""A network under the Gaussian process, beside methods with the same network.

Run: python experiments/deep_kernel.py mnist|labelme|noise [--seeds N] [--items N]
         [--only METHOD] [NAME=VALUE ...]
`mnist`: the paper's five annotators and a small convolutional network. `labelme`: an
MLP. `noise`: BCC's labels and ours where 20 features say nothing. Settings are those
of Deep and of SVGPCR. One JSON line per fit.
"""

import argparse
import json
import time
from dataclasses import fields
from typing import Any

import numpy as np
from real_crowds import codes, value_of

import wisecrowd as wc
from wisecrowd.datasets import load_labelme, load_mnist
from wisecrowd.metrics import accuracy, calibration_error, log_loss, mean_likelihood

METHODS = ("deep SVGPCR", "AggNet", "CrowdLayer mw", "SVGPCR")
OF_DEEP = {field.name for field in fields(wc.Deep)}
ENOUGH: dict[str, Any] = {"max_epochs": 6, "tol": None}  # `tol` ends after two passes
IMAGES = wc.ConvNet(shape=(28, 28), channels=(8, 16), pool=False)


def made(name: str, network: Any, seed: int, settings: dict[str, Any]) -> Any:
    """Return a method that is not fitted yet."""
    if name == "AggNet":
        return wc.AggNet(network, random_state=seed, **ENOUGH)
    if name == "CrowdLayer mw":
        return wc.CrowdLayer(network, random_state=seed, **ENOUGH)
    if name == "SVGPCR":
        return wc.SVGPCR(random_state=seed)
    own = {k: v for k, v in settings.items() if k in OF_DEEP}
    rest = {k: v for k, v in settings.items() if k not in OF_DEEP}
    return wc.SVGPCR(kernel=wc.Deep(network, **own), random_state=seed, **rest)


def scores(model: Any, X: Any, answers: Any, gold: Any, X_new: Any, new: Any) -> Any:
    """Fit and score once."""
    began = time.perf_counter()
    model.fit(X, answers)
    seconds = time.perf_counter() - began
    truth, test = codes(gold, model.classes_), codes(new, model.classes_)
    proba = model.predict_proba(X_new)
    found = {
        "accuracy": accuracy(test, proba),
        "likelihood": mean_likelihood(test, proba),
        "log_loss": log_loss(test, proba),
        "calibration": calibration_error(test, proba),
        "train_wrong": (model.label_proba_.argmax(1) != truth).sum(),
        "train_labels": accuracy(truth, model.label_proba_),
        "train_log_loss": log_loss(truth, model.label_proba_),
        "sharpness": getattr(model, "sharpness_", np.nan),
        "steps": model.trace_.index[-1],
        "seconds": seconds,
    }
    return {name: round(float(value), 5) for name, value in found.items()}


def of_noise(seed: int, n_items: int, settings: dict[str, Any]) -> None:
    """Print how many labels of BCC and of ours are right, with useless features."""
    crowd = wc.simulate(n_items, 10, 3, answers_per_item=3, random_state=seed)
    X = np.random.default_rng(seed).normal(size=(n_items, 20))
    own = made("deep SVGPCR", "mlp", seed, settings).fit(X, crowd.answers)
    bcc = wc.BCC().fit(crowd.answers)
    shown = {
        "seed": seed,
        "bcc": accuracy(crowd.truth, bcc.label_proba_),
        "bcc_log_loss": log_loss(crowd.truth, bcc.label_proba_),
        "deep": accuracy(crowd.truth, own.label_proba_),
        "deep_log_loss": log_loss(crowd.truth, own.label_proba_),
        "agree": float((bcc.labels_ == own.labels_).mean()),
        "largest_new": own.predict_proba(X).max(1).mean(),
        "sharpness": own.sharpness_,
    }
    print(json.dumps({k: round(float(v), 4) for k, v in shown.items()}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=["mnist", "labelme", "noise"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--items", type=int)
    parser.add_argument("--only", choices=METHODS)
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE")
    args = parser.parse_intermixed_args()
    settings = {k: value_of(v) for k, v in (s.split("=", 1) for s in args.settings)}
    for seed in range(args.seeds):
        if args.data == "noise":
            of_noise(seed, args.items or 300, settings)
            continue
        mnist = args.data == "mnist"
        data = load_mnist(random_state=seed) if mnist else load_labelme()
        answers = data.answers
        n_items = args.items or len(data.X)
        if n_items < len(data.X):
            answers = answers.subset(items=answers.items[:n_items])
        gold = np.asarray(data.gold)[:n_items]
        for name in [args.only] if args.only else METHODS:
            model = made(name, IMAGES if mnist else "mlp", seed, settings)
            given = data.X[:n_items], answers, gold, data.X_test, data.gold_test
            found = {"method": name, "seed": seed, **scores(model, *given)}
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
