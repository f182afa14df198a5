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
from wisecrowd.base import answer_matrix
from wisecrowd.datasets import load_label_only, load_labelme
from wisecrowd.simulation.crowds import simulate
from wisecrowd.maths import crowd, dependence, dirichlet
from wisecrowd.metrics import accuracy, log_loss

LABEL_ONLY = ("bluebird", "dog", "face4", "snow-rte", "snow-temp", "sp_amt")
ROUNDS = 30


def crowds() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield a name, the answers, and the true class of every item (-1: unknown)."""
    for name in LABEL_ONLY:
        data = load_label_only(name)
        yield name, data.answers, codes(data.answers, data.gold)
    labelme = load_labelme()
    yield "labelme", labelme.labels, codes(labelme.labels, labelme.gold)
    shapes = ((2, 20, 3.0), (5, 100, 5.0), (10, 50, 8.0), (4, 300, 2.0))
    for seed, (n_classes, n_annotators, per_item) in enumerate(shapes):
        made = simulate(
            1500, n_annotators, n_classes, answers_per_item=per_item, random_state=seed
        )
        yield f"simulated {seed}", made.labels, made.truth


def codes(labels: Any, gold: Any) -> np.ndarray:
    """Return the class of every item as a position."""
    place = {name: c for c, name in enumerate(labels.classes.tolist())}
    known = dict(zip(gold.index.tolist(), gold.tolist(), strict=True))
    return np.array([place.get(known.get(item), -1) for item in labels.items.tolist()])


def without_own(answers: Any, bcc: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the log posterior of the labels by CVB0, from BCC's, and the counts."""
    proba, counts = bcc.label_proba_, bcc.confusion_counts_
    for _ in range(ROUNDS):
        said = crowd.evidence_of_others(answers, counts, proba)
        log_joint = said + np.log(proba.mean(0))
        proba, _ = crowd.posterior(log_joint)
        seen = crowd.soft_counts(answers, proba, counts.shape[2])
        counts = bcc.annotator_prior_ + seen
    return log_joint, counts


def main() -> None:
    for name, labels, truth in crowds():
        known = np.flatnonzero(truth >= 0)
        answers, bcc = answer_matrix(labels), wc.BCC().fit(labels)
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
        seen = crowd.soft_counts(answers, exact, counts.shape[2])
        gold = dependence.right_together(
            dependence.rows(answers, counts.shape[2]),
            dirichlet.mean(bcc.annotator_prior_ + seen),
            exact,
        )
        weight = dependence.weight_of_answers(np.diff(answers.indptr), learned)
        found = {
            "votes": wc.MajorityVote().fit(labels).label_proba_,
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
