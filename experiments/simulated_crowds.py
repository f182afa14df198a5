"""Sixty simulated crowds: does SVGPCR ever lose to majority vote, or collapse?

Run: python experiments/simulated_crowds.py [--crowds 60] [--out FILE]
One JSON line a crowd: its shape, the training accuracy of majority vote, BCC and
SVGPCR with default settings, test accuracy, calibration error, and the coverage of the
90 % intervals of the annotators' accuracy.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import wisecrowd as wc
from wisecrowd.metrics import calibration_error, log_loss
from wisecrowd.simulation.crowds import simulate


def shape_of(seed: int) -> dict[str, Any]:
    """Draw the shape of a crowd: from sparse to plentiful, from poor to good."""
    rng = np.random.default_rng(1000 + seed)
    n_classes = int(rng.integers(2, 21))
    return {
        "n_items": int(rng.integers(500, 2501)),
        "n_classes": n_classes,
        "n_annotators": int(np.exp(rng.uniform(np.log(5), np.log(500)))),
        "answers_per_item": float(rng.uniform(1, 10)),
        "accuracy": float(rng.uniform(0.45, 0.9)),
        "spammers": float(rng.uniform(0, 0.3)),
        "adversaries": float(rng.uniform(0, 0.1)),
        "n_features": int(rng.integers(2, 31)),
        "separation": float(rng.uniform(1, 4)),
    }  # fmt: skip


def one_crowd(seed: int) -> dict[str, Any]:
    """Fit a crowd and say how it went."""
    shape = shape_of(seed)
    shape["answers_per_item"] = min(shape["answers_per_item"], shape["n_annotators"])
    crowd = simulate(**{**shape, "n_items": 2 * shape["n_items"]}, random_state=seed)
    half = shape["n_items"]
    labels = crowd.answers.subset(items=crowd.answers.items[:half])
    truth, test = crowd.truth[:half], crowd.truth[half:]
    began = time.perf_counter()
    model = wc.SVGPCR(progress=False).fit(crowd.X[:half], labels)
    seconds = time.perf_counter() - began
    votes, bcc = wc.MajorityVote().fit(labels), wc.BCC().fit(labels)
    proba = model.predict_proba(crowd.X[half:])
    names = model.classes_
    summary = model.annotator_summary(0.9)
    return {
        "seed": seed, **shape,
        "votes": float((votes.labels_ == names[truth]).mean()),
        "bcc": float((bcc.labels_ == names[truth]).mean()),
        "svgpcr": float((model.labels_ == names[truth]).mean()),
        "largest_share": float(np.bincount(model.label_proba_.argmax(1)).max() / half),
        "largest_class": float(np.bincount(truth).max() / half),
        "test": float((proba.argmax(1) == test).mean()),
        "test_log_loss": float(log_loss(test, proba)),
        "test_calibration": float(calibration_error(test, proba)),
        "label_calibration": float(calibration_error(truth, model.label_proba_)),
        "coverage": coverage(labels, summary, crowd, truth),
        "seconds": round(seconds, 1),
    }  # fmt: skip


def coverage(labels: Any, summary: Any, crowd: Any, truth: Any) -> float:
    """Return the share of annotators whose true accuracy is in the 90 % interval.

    The true accuracy is the mean chance of a right answer on the items they saw.
    """
    right = crowd.confusion[
        :, np.arange(len(crowd.classes)), np.arange(len(crowd.classes))
    ]
    seen = summary["n_answers"].to_numpy() > 0
    chance = right[labels.annotator, truth[labels.item]]
    total = np.bincount(labels.annotator, chance, minlength=len(summary))
    true = total[seen] / summary["n_answers"].to_numpy()[seen]
    low, high = (summary[name].to_numpy()[seen] for name in ("low", "high"))
    return float(((low <= true) & (true <= high)).mean())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--crowds", type=int, default=60)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument(
        "--out", type=Path, default=Path("results/simulated_crowds.jsonl")
    )
    args = parser.parse_args()
    args.out.parent.mkdir(exist_ok=True, parents=True)
    rows = []
    with args.out.open("w") as file:
        for seed in range(args.first, args.first + args.crowds):
            rows.append(one_crowd(seed))
            file.write(json.dumps(rows[-1]) + "\n")
            file.flush()
            shown = ("votes", "bcc", "svgpcr", "test", "coverage", "seconds")
            print(seed, {name: round(rows[-1][name], 3) for name in shown}, flush=True)
    gain = np.array([r["svgpcr"] - r["votes"] for r in rows])
    print(
        f"worst {gain.min():+.4f}; above the votes in {(gain > 0).mean():.2f} of "
        f"the crowds; not more than .01 below in {(gain >= -0.01).mean():.2f}"
    )
    print(
        "coverage of 90 % intervals",
        round(float(np.mean([r["coverage"] for r in rows])), 3),
        "calibration error of predictions",
        round(float(np.mean([r["test_calibration"] for r in rows])), 3),
    )


if __name__ == "__main__":
    main()
