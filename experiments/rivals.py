"""The methods with features on LabelMe and Sentiment, and those without on six crowds.

Run: python experiments/rivals.py labelme|sentiment|label-only METHOD [NAME=VALUE ...]
METHOD is a command-line name, or `crowd-em-logistic`: CrowdEM with scikit-learn's
LogisticRegression(C=.01). Prints one JSON line per data set.
"""

import argparse
import ast
import json
import time
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import wisecrowd as wc
from wisecrowd.datasets import LABEL_ONLY, load_crowd, load_labelme, load_sentiment
from wisecrowd.metrics import accuracy, calibration_error, log_loss


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


def made(method: str, settings: dict[str, Any]) -> Any:
    """Return the method of that name."""
    if method == "crowd-em-logistic":
        regression = LogisticRegression(C=0.01, max_iter=2000)
        return wc.METHODS["crowd-em"](regression, **settings)
    return wc.METHODS[method](**settings)


def scores(data: Any, model: Any) -> dict[str, Any]:
    """Fit and score once."""
    began = time.perf_counter()
    if data.X is None:
        model.fit(data.answers)
    else:
        model.fit(data.X, data.answers)
    found = {"data": data.name, "seconds": time.perf_counter() - began}
    truth = codes(data.gold, model.classes_)
    found["train_labels"] = accuracy(truth, model.label_proba_)
    found["train_log_loss"] = log_loss(truth, model.label_proba_)
    if data.X_test is not None:
        test = codes(data.gold_test, model.classes_)
        proba = model.predict_proba(data.X_test)
        found["accuracy"] = accuracy(test, proba)
        found["log_loss"] = log_loss(test, proba)
        found["calibration"] = calibration_error(test, proba)
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=["labelme", "sentiment", "label-only"])
    parser.add_argument("method")
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE")
    args = parser.parse_intermixed_args()
    settings = {k: value_of(v) for k, v in (s.split("=", 1) for s in args.settings)}
    if args.data == "label-only":
        data = [load_crowd(name) for name in LABEL_ONLY]
    else:
        data = [load_labelme() if args.data == "labelme" else load_sentiment()]
    for one in data:
        print(json.dumps(scores(one, made(args.method, settings))), flush=True)


if __name__ == "__main__":
    main()
