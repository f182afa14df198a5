"""How far do annotators err together, and can it be seen without gold?

Run: python experiments/dependence.py
For every label-only crowd, LabelMe and four simulated, independent ones: the
correlation of "is right" between two answers on one item, with gold and as learned
without; the log loss and the accuracy of votes, of BCC, of BCC whose items do not
judge themselves (CVB0), and of that with the learned dependence.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import wisecrowd as wc
from wisecrowd.datasets import load_label_only, load_labelme
from wisecrowd.maths import crowd, dependence, dirichlet
from wisecrowd.metrics import accuracy, log_loss
from wisecrowd.simulation.crowds import simulate

LABEL_ONLY = ("bluebird", "dog", "face4", "snow-rte", "snow-temp", "sp_amt")
ROUNDS = 30


def crowds() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield a name, the answers, and the true class of every item (-1: unknown)."""
    for name in LABEL_ONLY:
        data = load_label_only(name)
        yield name, data.answers, codes(data.answers, data.gold)
    labelme = load_labelme()
    yield "labelme", labelme.answers, codes(labelme.answers, labelme.gold)
    shapes = ((2, 20, 3.0), (5, 100, 5.0), (10, 50, 8.0), (4, 300, 2.0))
    for seed, (n_classes, n_annotators, per_item) in enumerate(shapes):
        made = simulate(
            1500, n_annotators, n_classes, answers_per_item=per_item, random_state=seed
        )
        yield f"simulated {seed}", made.answers, made.truth


def codes(annotations: Any, gold: Any) -> np.ndarray:
    """Return the class of every item as a position."""
    place = {name: c for c, name in enumerate(annotations.classes.tolist())}
    known = dict(zip(gold.index.tolist(), gold.tolist(), strict=True))
    return np.array(
        [place.get(known.get(item), -1) for item in annotations.items.tolist()]
    )


def without_own(answers: Any, bcc: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the log posterior of the labels by CVB0, from BCC's, and the counts."""
    proba, counts = bcc.label_proba_, bcc.confusion_counts_
    for _ in range(ROUNDS):
        said = crowd.evidence_of_others(answers, counts, proba)
        log_joint = said + np.log(proba.mean(0))
        proba, _ = crowd.posterior(log_joint)
        seen = crowd.soft_counts(answers, proba)
        counts = bcc.annotator_prior_ + seen
    return log_joint, counts


def main() -> None:
    for name, annotations, truth in crowds():
        known = np.flatnonzero(truth >= 0)
        answers, bcc = annotations.codes, wc.BCC().fit(annotations)
        log_joint, counts = without_own(answers, bcc)
        shares = np.log(crowd.posterior(log_joint)[0].mean(0))
        learned = dependence.learned_dependence(
            answers,
            dirichlet.mean(counts),
            np.tile(shares, (len(truth), 1)),
            np.random.RandomState(0),
        )
        exact = np.zeros_like(log_joint)
        exact[known, truth[known]] = 1.0
        seen = crowd.soft_counts(answers, exact)
        gold = dependence.right_together(
            answers,
            dirichlet.mean(bcc.annotator_prior_ + seen),
            exact,
        )
        weight = dependence.weight_of_answers(answers.n_per_item, learned)
        found = {
            "votes": wc.MajorityVote().fit(annotations).label_proba_,
            "bcc": bcc.label_proba_,
            "cvb0": crowd.posterior(log_joint)[0],
            "dependent": crowd.posterior(weight[:, None] * log_joint)[0],
        }
        print(f"{name:12} gold {gold:5.2f}  learned {learned:5.2f}", end="")
        for method, proba in found.items():
            loss = log_loss(truth[known], proba[known])
            share = accuracy(truth[known], proba[known])
            print(f"  {method} {loss:.3f} ({share:.4f})", end="")
        print(flush=True)


if __name__ == "__main__":
    main()
