"""Sixty simulated crowds: whether SVGPCR ever loses to majority vote, or collapses.

Run: python -m wisecrowd.experiments.simulated_crowds [--crowds 60] [--out FOLDER]
One row per crowd: its shape, the share of right labels of majority vote, BCC and SVGPCR
with default settings, test accuracy, calibration errors, and the coverage of the 90 %
intervals of the annotators' accuracy. A run that was ended goes on.
"""

from pathlib import Path
from typing import Any

import numpy as np

import wisecrowd as wc
from wisecrowd.annotations.dataset import Dataset
from wisecrowd.experiments.runner import Job, Outcome, command, run
from wisecrowd.experiments.scoring import fit, halved, scored
from wisecrowd.metrics import accuracy, truth_codes
from wisecrowd.simulation.crowds import simulate


def shape_of(seed: int) -> dict[str, Any]:
    """Draw the shape of a crowd: from sparse to plentiful, from poor to good."""
    rng = np.random.default_rng(1000 + seed)
    n_classes = int(rng.integers(2, 21))
    shape = {
        "n_items": int(rng.integers(500, 2501)),
        "n_classes": n_classes,
        "n_annotators": int(np.exp(rng.uniform(np.log(5), np.log(500)))),
        "answers_per_item": float(rng.uniform(1, 10)),
        "accuracy": float(rng.uniform(0.45, 0.9)),
        "spammers": float(rng.uniform(0, 0.3)),
        "adversaries": float(rng.uniform(0, 0.1)),
        "n_features": int(rng.integers(2, 31)),
        "separation": float(rng.uniform(1, 4)),
    }
    most = min(shape["answers_per_item"], shape["n_annotators"])
    return shape | {"answers_per_item": most}


def drawn(seed: int) -> Dataset:
    """Draw a crowd, and as many new items."""
    shape = shape_of(seed)
    half = shape["n_items"]
    crowd = simulate(**{**shape, "n_items": 2 * half}, random_state=seed)
    return halved(crowd, half, f"simulated-{seed}")


def fitted(method: str, seed: int) -> Outcome:
    """Fit a crowd and say how it went."""
    data = drawn(seed)
    model = wc.METHODS[method](progress=False)
    cost = fit(model, data)
    truth = truth_codes(data.gold, model.classes_)
    labels = model.label_proba_.argmax(1)
    alone = {
        "votes": wc.MajorityVote().fit(data.answers),
        "bcc": wc.BCC(progress=False).fit(data.answers),
    }
    found = {name: accuracy(truth, one.label_proba_) for name, one in alone.items()}
    largest = {
        "largest_share": float(np.bincount(labels).max() / len(truth)),
        "largest_class": float(np.bincount(truth).max() / len(truth)),
        "coverage": coverage(model, data, truth),
    }
    return Outcome({**found, **largest, **scored(model, data), **shape_of(seed)}, cost)


def coverage(model: Any, data: Dataset, truth: Any) -> float:
    """Return the share of annotators whose true accuracy is in the 90 % interval.

    The true accuracy is the mean chance of a right answer on the items they saw.
    """
    assert data.confusion is not None
    summary, given = model.annotator_summary(0.9), data.answers
    right = np.diagonal(data.confusion, axis1=1, axis2=2)
    n_each = summary["n_answers"].to_numpy()
    seen = n_each > 0
    chance = right[given.annotator, truth[given.item]]
    total = np.bincount(given.annotator, chance, minlength=len(summary))
    true = total[seen] / n_each[seen]
    low, high = (summary[name].to_numpy()[seen] for name in ("low", "high"))
    return float(((low <= true) & (true <= high)).mean())


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = command(__doc__)
    parser.add_argument("--crowds", type=int, default=60)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results/simulated-crowds"))
    args = parser.parse_args(arguments)
    seeds = range(args.first, args.first + args.crowds)
    jobs = [Job("simulated-crowds", "svgpcr", seed, {}, fitted) for seed in seeds]
    table = run(jobs, args.out, apart=False, say=print).frame("simulated-crowds")
    gain = table["label_accuracy"] - table["votes"]
    print(
        f"worst {gain.min():+.4f}; above the votes in {(gain > 0).mean():.2f} of "
        f"the crowds; not more than .01 below in {(gain >= -0.01).mean():.2f}"
    )
    print(
        f"coverage of 90 % intervals {table['coverage'].mean():.3f}, calibration error "
        f"of predictions {table['test_calibration_error'].mean():.3f}"
    )


if __name__ == "__main__":
    main()
