"""How honest are the probabilities? Real crowds, semi-real and small ones, in tables.

Run: python experiments/honest.py PART [--seeds 5], where PART is one of

labels     the six label-only crowds: accuracy and log loss of smoothed votes and BCC
gold       the same crowds with 3, 50 or 300 gold items: log loss of the other items,
           and how often the interval of `calibration_` holds their accuracy
semi-real  the same answers with features drawn given the gold class, at four strengths
small      simulated first try-outs: accuracy and mean confidence, votes beside BCC
skills     how often 90 % intervals hold an annotator's accuracy on gold
leave-one-out  the constants of the last step of BCC, chosen on five crowds and scored
           on the sixth
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from wisecrowd.fit.ending import Known, finished

import wisecrowd as wc
from wisecrowd.datasets import load_label_only
from wisecrowd.maths import dependence, hard_items
from wisecrowd.metrics import accuracy, log_loss
from wisecrowd.results.comparison import smoothed_votes

CROWDS = ("bluebird", "dog", "face4", "snow-rte", "snow-temp", "sp_amt")
STRENGTHS = {"useless": 0.0, "weak": 0.8, "fair": 1.6, "strong": 3.5}
NOISE = 0.707
SMALL = {  # items, annotators, classes, accuracy; None: they guess
    "100 items, 3 annotators": (100, 3, 2, 0.65),
    "20 items, 5 annotators": (20, 5, 3, 0.60),
    "300 items, 3 annotators": (300, 3, 2, 0.65),
    "three who guess": (100, 3, 2, None),
}


class Constants(NamedTuple):
    """Constants of the last step of BCC, which have no setting."""

    hard_share: float = hard_items.HARD_SHARE
    decoy_part: float = hard_items.DECOY_PART
    power: float = dependence.POWER


GRID = [
    Constants(*values)
    for values in product(
        (0.01, 0.02, 0.04, 0.08), (0.25, 0.5, 0.75), (1.0, 1.3, 1.6, 1.9, 2.2)
    )
]


def crowds() -> Iterator[tuple[str, Any, np.ndarray, np.ndarray]]:
    """Yield the name, the answers, the items with gold and their classes."""
    for name in CROWDS:
        data = load_label_only(name)
        place = {c: k for k, c in enumerate(data.answers.classes.tolist())}
        gold = dict(zip(data.gold.index.tolist(), data.gold.tolist(), strict=True))
        code = np.array(
            [place.get(gold.get(i), -1) for i in data.answers.items.tolist()]
        )
        yield name, data.answers, np.flatnonzero(code >= 0), code


def scores(truth: np.ndarray, proba: np.ndarray) -> tuple[float, float]:
    """Return the accuracy and the log loss."""
    return accuracy(truth, proba), log_loss(truth, proba)


def labels(seeds: int) -> None:
    """Print accuracy and log loss without features."""
    rows = []
    for name, answers, known, gold in crowds():
        votes = scores(gold[known], smoothed_votes(answers)[known])
        bcc = scores(gold[known], wc.BCC().fit(answers).label_proba_[known])
        rows.append([*votes, *bcc])
        print(f"{name:10s} votes {_two(votes)}   BCC {_two(bcc)}", flush=True)
    mean = np.mean(rows, 0)
    print(f"{'mean':10s} votes {_two(mean[:2])}   BCC {_two(mean[2:])}")


def gold(seeds: int) -> None:
    """Print what gold items do for the labels of the others."""
    for n_gold in (3, 50, 300):
        rows, held = [], []
        for _, answers, known, codes in crowds():
            if len(known) < 2 * n_gold:
                continue
            found = [
                _with_gold(answers, known, codes, n_gold, seed) for seed in range(seeds)
            ]
            rows.append(np.mean([row for row, _ in found], 0))
            held += [covered for _, covered in found]
        without, clamped, ruled, right = np.mean(rows, 0)
        print(
            f"{n_gold:3d} gold items, {len(rows)} crowds: log loss of the others "
            f"{without:.4f} without gold, {clamped:.4f} if gold is only clamped, "
            f"{ruled:.4f} as a ruler; accuracy {right:.4f}; intervals hold it in "
            f"{np.mean(held):.2f} of {len(held)} fits",
            flush=True,
        )


def _with_gold(
    answers: Any, known: np.ndarray, codes: np.ndarray, n_gold: int, seed: int
) -> tuple[list[float], bool]:
    chosen = np.random.default_rng(seed).permutation(known)
    some, rest = chosen[:n_gold], chosen[n_gold:]
    given = {answers.items[i]: answers.classes[codes[i]] for i in some}
    alone = wc.BCC().fit(answers)
    clamped = wc.BCC(dependence=alone.dependence_).fit(answers, gold=given)
    ruled = wc.BCC().fit(answers, gold=given)
    truth = codes[rest]
    losses = [log_loss(truth, m.label_proba_[rest]) for m in (alone, clamped, ruled)]
    right = accuracy(truth, ruled.label_proba_[rest])
    found = ruled.calibration_
    return [*losses, right], found.accuracy_low <= right <= found.accuracy_high


def semi_real(seeds: int) -> None:
    """Print how SVGPCR's labels compare with BCC's and votes', by strength."""
    rows = []
    for name, answers, known, gold in crowds():
        truth = gold[known]
        bcc = scores(truth, wc.BCC().fit(answers).label_proba_[known])
        votes = scores(truth, smoothed_votes(answers)[known])
        for strength, distance in STRENGTHS.items():
            for n_features in (8, 200):
                found = [
                    _with_features(answers, gold, known, distance, n_features, seed)
                    for seed in range(seeds)
                ]
                (right, loss, sharpness), worst = np.mean(found, 0), np.min(found, 0)[0]
                behind = right - max(bcc[0], votes[0])
                rows.append((strength, n_features, right, loss, behind))
                print(
                    f"{name:10s} {strength:8s} {n_features:4d}  {right:.3f} {loss:.3f}"
                    f"  worst {worst:.3f}  behind the better {behind:+.3f}"
                    f"  sharpness {sharpness:.2f}  BCC {_two(bcc)}",
                    flush=True,
                )
    for n_features in (8, 200):
        some = [row for row in rows if row[1] == n_features]
        strong = np.mean([row[2] for row in some if row[0] == "strong"])
        print(
            f"{n_features} features: log loss {np.mean([r[3] for r in some]):.3f}, "
            f"strong {strong:.3f}, worst {min(r[4] for r in some):+.3f}, "
            f"more than .01 behind {sum(r[4] < -0.01 for r in some)} of {len(some)}"
        )


def _with_features(
    answers: Any,
    gold: np.ndarray,
    known: np.ndarray,
    distance: float,
    n_features: int,
    seed: int,
) -> tuple[float, float, float]:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(answers.n_classes, n_features))
    between = centres[:, None] - centres[None]
    square = (between**2).sum(-1)[~np.eye(len(centres), dtype=bool)].mean()
    centres *= distance / np.sqrt(square)
    classes = np.where(gold >= 0, gold, rng.integers(answers.n_classes, size=len(gold)))
    X = centres[classes] + NOISE * rng.normal(size=(len(gold), n_features))
    model = wc.SVGPCR(50, random_state=seed, progress=False).fit(X, answers)
    right, loss = scores(gold[known], model.label_proba_[known])
    return right, loss, model.sharpness_


def small(seeds: int) -> None:
    """Print accuracy and confidence on small, weak crowds; sixty of each."""
    for name, (n_items, n_annotators, n_classes, skill) in SMALL.items():
        rows = []
        for seed in range(60):
            rng = np.random.default_rng(seed)
            truth = rng.integers(n_classes, size=n_items)
            other = rng.integers(1, n_classes, size=(n_items, n_annotators))
            wrong = (truth[:, None] + other) % n_classes
            right = rng.random(wrong.shape) < (skill or 1 / n_classes)
            given = np.where(right, truth[:, None], wrong)
            answers = wc.Annotations.from_matrix(given, classes=range(n_classes))
            proba = wc.BCC().fit(answers).label_proba_
            votes = wc.MajorityVote(random_state=seed).fit(answers).label_proba_
            hits = accuracy(truth, proba)
            rows.append((hits, proba.max(1).mean(), accuracy(truth, votes)))
        hits, confidence, votes = np.mean(rows, 0)
        print(
            f"{name:24s} BCC {hits:.3f}, confidence {confidence:.3f}; votes {votes:.3f}"
        )


def skills(seeds: int) -> None:
    """Print how often the intervals of annotators hold the accuracy on gold."""
    shares = []
    for name, answers, known, gold in crowds():
        has_gold = np.isin(answers.codes.item, known)
        item, annotator = (
            answers.codes.item[has_gold],
            answers.codes.annotator[has_gold],
        )
        right = answers.codes.answer[has_gold] == gold[item]
        n_gold = np.bincount(annotator, minlength=len(answers.annotators))
        share = np.bincount(annotator, right, minlength=len(answers.annotators))
        enough = n_gold >= 20
        share = share[enough] / n_gold[enough]
        found = wc.BCC().fit(answers).annotator_summary(0.9)[enough]
        held = (found["low"] <= share) & (share <= found["high"])
        shares.append(held.mean())
        above = (found["accuracy"] - share).mean()
        print(
            f"{name:10s} {enough.sum():4d} annotators: {held.mean():.2f}, {above:+.3f}"
        )
    print(f"mean {np.mean(shares):.3f}, least {np.min(shares):.2f}")


def leave_one_out(seeds: int) -> None:
    """Print the log loss of each crowd with the constants that the others choose."""
    names, votes, losses = [], [], []
    for name, answers, known, gold in crowds():
        truth = gold[known]
        names.append(name)
        votes.append(log_loss(truth, smoothed_votes(answers)[known]))
        losses.append([log_loss(truth, p[known]) for p in _endings(answers)])
    loss, default = np.array(losses), GRID.index(Constants())
    print("held out   share decoy power  log loss  default  votes")
    rows = []
    for held, name in enumerate(names):
        best = int(np.delete(loss, held, axis=0).mean(0).argmin())
        rows.append((loss[held, best], loss[held, default], votes[held]))
        chosen = "{:5.2f} {:5.2f} {:5.1f}".format(*GRID[best])
        print(f"{name:10s} {chosen}    {_three(rows[-1])}")
    print(f"{'mean':10s} {'':17s}    {_three(np.mean(rows, 0))}")
    best = int(loss.mean(0).argmin())
    chosen = "{:5.2f} {:5.2f} {:5.1f}".format(*GRID[best])
    print(f"all six    {chosen}     {loss.mean(0)[best]:.3f} (chosen on all of them)")


def _endings(answers: Any) -> Iterator[np.ndarray]:
    """Yield the labels of one fit of BCC, with the last step once per constants."""
    fit = wc.BCC(dependence=None).fit(answers)
    codes, nobody = answers.codes, np.full(len(answers.items), -1)
    known = Known.of_answers(codes, nobody, fit.label_proba_, fit.class_prior_)
    # The correlation does not depend on the constants: it is learned once.
    learned = finished(known, fit.learned_.skills, "learn").skills.dependence
    for constants in GRID:
        with _used(constants):  # 0 would mean: no hard items
            end = finished(known, fit.learned_.skills, max(learned, 1e-12))
        yield end.proba


@contextmanager
def _used(constants: Constants) -> Iterator[None]:
    """Replace the constants of the modules for a while."""
    _set(constants)
    try:
        yield
    finally:
        _set(Constants())


def _set(constants: Constants) -> None:
    hard_items.HARD_SHARE = constants.hard_share
    hard_items.DECOY_PART = constants.decoy_part
    dependence.POWER = constants.power


def _three(values: Any) -> str:
    return "    ".join(f"{value:.3f}" for value in values)


def _two(pair: Any) -> str:
    return f"{pair[0]:.4f} {pair[1]:.3f}"


PARTS = {
    "labels": labels,
    "gold": gold,
    "semi-real": semi_real,
    "small": small,
    "skills": skills,
    "leave-one-out": leave_one_out,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    PARTS[given.part](given.seeds)


if __name__ == "__main__":
    main()
