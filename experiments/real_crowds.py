"""MNIST with the paper's five annotators, and LabelMe's real crowd.

Run: python experiments/real_crowds.py mnist|labelme [--seeds 5] [NAME=VALUE ...]
The settings are those of SVGPCR, such as n_inducing=400 link=robustmax epsilon=1e-3.
`published=1` is SVGPCR.as_published() with these settings, and `gold=1` fits the
gold-label SVGP instead. One JSON line per seed, and their means.
"""

import argparse
import ast
import json
import time
from typing import Any

import numpy as np

import wisecrowd as wc
from wisecrowd.datasets import Dataset, load_labelme, load_mnist
from wisecrowd.metrics import accuracy, calibration_error, log_loss, mean_likelihood


def value_of(text: str) -> Any:
    """Read a setting: a number, or a word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def codes(gold: Any, classes: Any) -> np.ndarray:
    """Return the positions of the gold classes."""
    place = {name: c for c, name in enumerate(classes.tolist())}
    return np.array([place[name] for name in np.asarray(gold).tolist()])


def one_run(data: Dataset, seed: int, method: Any, settings: dict[str, Any]) -> Any:
    """Fit and score once."""
    model = method(random_state=seed, **settings)
    gold = isinstance(model, wc.SVGP)
    began = time.perf_counter()
    model.fit(data.X, np.asarray(data.gold) if gold else data.answers)
    seconds = time.perf_counter() - began
    truth, test = (codes(g, model.classes_) for g in (data.gold, data.gold_test))
    proba = model.predict_proba(data.X_test)
    found = {
        "seed": seed,
        "accuracy": accuracy(test, proba),
        "likelihood": mean_likelihood(test, proba),
        "log_loss": log_loss(test, proba),
        "calibration": calibration_error(test, proba),
        "train_labels": accuracy(truth, model.label_proba_),
        "train_log_loss": log_loss(truth, model.label_proba_),
        "train_calibration": calibration_error(truth, model.label_proba_),
        "train_wrong": int((model.label_proba_.argmax(1) != truth).sum()),
        "epsilon": model.epsilon_,
        "dependence": model.dependence_,
        "sharpness": model.sharpness_,
        "bound": model.trace_["bound"].iloc[-1],
        "steps": model.trace_.index[-1],
        "seconds": seconds,
    }
    if data.confusion is not None and not gold:
        found["confusion_error"] = float(
            np.abs(model.confusion_ - data.confusion).max()
        )
    return {name: float(value) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=["mnist", "labelme"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE")
    args = parser.parse_intermixed_args()
    settings = {k: value_of(v) for k, v in (s.split("=", 1) for s in args.settings)}
    published = settings.pop("published", False)
    method = wc.SVGPCR.as_published if published else wc.SVGPCR
    method = wc.SVGP if settings.pop("gold", False) else method
    rows = []
    for seed in range(args.seeds):
        labelme = args.data == "labelme"
        data = load_labelme() if labelme else load_mnist(random_state=seed)
        rows.append(one_run(data, seed, method, settings))
        print(json.dumps(rows[-1]), flush=True)
    mean = {name: round(float(np.mean([r[name] for r in rows])), 4) for name in rows[0]}
    print("mean", json.dumps(mean))


if __name__ == "__main__":
    main()
