"""A whole default fit at the size of Gravity Spy (LIGO): seconds and memory.

Run: python benchmarks/ligo_size.py [METHOD]
173,565 simulated items with 256 features, 3,443 annotators, 15 classes, 1.8 million
answers; prints the seconds of the fit, the peak memory and the share of right labels.
"""

import resource
import sys
import time
from typing import Any

import wisecrowd as wc
from wisecrowd.metrics import accuracy


def ligo_crowd() -> Any:
    """A crowd of that size."""
    return wc.simulate(
        173_565, 3_443, 15,
        answers_per_item=10.5, n_features=256, separation=6.0, random_state=0,
    )  # fmt: skip


def main() -> None:
    crowd = ligo_crowd()
    print(crowd.answers, flush=True)
    began = time.perf_counter()
    kind = wc.METHODS[sys.argv[1] if len(sys.argv) > 1 else "svgpcr"]
    X = () if kind.method.needs == "answers" else (crowd.X,)
    model = kind().fit(*X, crowd.answers)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{time.perf_counter() - began:.0f} s, {peak:.1f} GB at the peak")
    votes = wc.MajorityVote().fit(crowd.answers)
    for made in (votes, model):
        right = accuracy(crowd.truth, made.label_proba_)
        print(f"labels of {type(made).__name__} right: {right:.5f}")


if __name__ == "__main__":
    main()
