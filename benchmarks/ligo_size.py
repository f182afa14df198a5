"""A whole default fit at the size of Gravity Spy (LIGO): seconds and memory.

Run: python benchmarks/ligo_size.py [METHOD] [PROCESSES]
173,565 simulated items with 256 features, 3,443 annotators, 15 classes, 1.8 million
answers; prints the seconds of the fit, the peak memory of its largest process and the
share of right labels.
"""

import resource
import sys
import time
from typing import Any

import wisecrowd as wc
from wisecrowd.metrics import accuracy
from wisecrowd.prepared.processes import fit_in_processes


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
    name, n_processes = (*sys.argv[1:], *("svgpcr", "1")[len(sys.argv) - 1 :])
    kind = wc.METHODS[name]
    X = () if kind.method.needs == "answers" else (crowd.X,)
    if n_processes == "1":
        model = kind().fit(*X, crowd.answers)
    else:
        model = fit_in_processes(kind(), int(n_processes), *X, crowd.answers)
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(who).ru_maxrss for who in whose) / 1e6
    print(f"{time.perf_counter() - began:.0f} s, {peak:.1f} GB at the peak")
    votes = wc.MajorityVote().fit(crowd.answers)
    for made in (votes, model):
        right = accuracy(crowd.truth, made.label_proba_)
        print(f"labels of {type(made).__name__} right: {right:.5f}")


if __name__ == "__main__":
    main()
