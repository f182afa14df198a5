"""How honest are the labels? Sixteen real crowds, and everyday ones, in tables.

Run: python -m wisecrowd.experiments.crowds PART [--seeds 5], where PART is one of

labels         accuracy and log loss of smoothed votes, BCC and the default, Consensus;
               calibration error, and how often 90 % intervals hold the accuracy of an
               annotator on gold
leave-one-out  the constants of the pool (maths/pool.py: Doubts), chosen on fifteen
               crowds and scored on the sixteenth
gold           log loss of the other items, with 50 gold items
features       labels of CrowdEM and SVGPCR on six crowds with real features
shapes         simulated crowds as people have them (simulation/everyday.py)
independent    simulated crowds whose annotators are independent
"""

import argparse
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

import wisecrowd as wc
from wisecrowd.datasets import CROWDS, load_crowd, load_labelme, load_sentiment
from wisecrowd.fit.consensus import agreed
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import pool, together
from wisecrowd.maths.pool import Doubts
from wisecrowd.metrics import accuracy, calibration_error, log_loss
from wisecrowd.results.comparison import smoothed_votes
from wisecrowd.results.flags import flags_of
from wisecrowd.simulation.everyday import SHAPES
from wisecrowd.skills import ConfusionMatrices

WITH_FEATURES = ("relex_treat", "civilcomments", "llmbar_human", "youtube")
GRID = [
    Doubts(left_out=a, excess=b, few=c, votes=d, half=e)
    for a, b, c, d, e in product(
        (1.0, 2.0, 3.0), (0.05, 0.1, 0.3), (0.25, 0.5, 1.0), (0.35, 0.5, 0.65),
        (0.1, 0.3, 0.6),
    )
]  # fmt: skip
ENOUGH = 20  # answers on gold items, before an annotator's accuracy on them is known


def codes_of(data: Any) -> np.ndarray:
    """Return the class of every item as a code; -1 where it is not known."""
    place = {c: k for k, c in enumerate(data.classes.tolist())}
    known = data.gold.to_dict()
    return np.array([place.get(known.get(i), -1) for i in data.answers.items.tolist()])


def crowds() -> Iterator[tuple[str, Any, np.ndarray, np.ndarray]]:
    """Yield the name, the answers, the answered items with gold and all classes."""
    for name in CROWDS:
        data = load_crowd(name)
        codes = codes_of(data)
        answered = data.answers.codes.n_per_item > 0
        yield name, data.answers, np.flatnonzero((codes >= 0) & answered), codes


def votes_right(truth: np.ndarray, votes: np.ndarray) -> float:
    """Return the accuracy of the votes that is expected, if ties are drawn."""
    tied = votes >= votes.max(1, keepdims=True) - 1e-5  # shares decide ties by less
    return float((tied[np.arange(len(truth)), truth] / tied.sum(1)).mean())


def two(truth: np.ndarray, proba: np.ndarray) -> str:
    """Return accuracy and log loss.

    Examples
    --------
    >>> two(np.array([0, 1]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    '1.000/0.164'
    """
    return f"{accuracy(truth, proba):.3f}/{log_loss(truth, proba):.3f}"


# -- real crowds ---------------------------------------------------------------------


def labels(seeds: int) -> None:
    """Print accuracy / log loss without features, and coverage."""
    rows = []
    print(f"{'crowd':14s} votes       BCC         Consensus   off   held  worth (90 %)")
    for name, answers, known, codes in crowds():
        truth, votes = codes[known], smoothed_votes(answers)[known]
        bcc = wc.BCC(progress=False).fit(answers).label_proba_[known]
        model = wc.Consensus(progress=False).fit(answers)
        proba, held = model.label_proba_[known], coverage(model, answers, codes)
        off = calibration_error(truth, proba)
        found = [log_loss(truth, p) for p in (votes, bcc, proba)]
        right = [accuracy(truth, p) for p in (bcc, proba)]
        rows.append([votes_right(truth, votes), *right, *found, off, held])
        low, high = model.worth_interval_
        print(
            f"{name:14s} {rows[-1][0]:.3f}/{found[0]:.3f} {two(truth, bcc)} "
            f"{two(truth, proba)} {off:.3f} {held:.2f}  {model.worth_:.1f} "
            f"({low:.1f} to {high:.1f})",
            flush=True,
        )
    table = np.array(rows)
    mean = table.mean(0)
    print(
        f"mean: right votes {mean[0]:.3f}, BCC {mean[1]:.3f}, Consensus {mean[2]:.3f}; "
        f"log loss {mean[3]:.3f}, {mean[4]:.3f}, {mean[5]:.3f}; calibration error "
        f"{mean[6]:.3f}; coverage {mean[7]:.3f}, least {table[:, 7].min():.2f}; most "
        f"behind the votes {(table[:, 5] - table[:, 3]).max():+.3f}"
    )


def coverage(model: Any, answers: Any, codes: np.ndarray) -> float:
    """Return how often 90 % intervals hold an annotator's accuracy on gold."""
    given = answers.codes
    has_gold = codes[given.item] >= 0
    who = given.annotator[has_gold]
    right = given.answer[has_gold] == codes[given.item[has_gold]]
    n_gold = np.bincount(who, minlength=given.n_annotators)
    enough = n_gold >= ENOUGH
    share = np.bincount(who, right, given.n_annotators)[enough] / n_gold[enough]
    found = model.annotator_summary(0.9)[enough]
    return float(((found["low"] <= share) & (share <= found["high"])).mean())


def leave_one_out(seeds: int) -> None:
    """Print the log loss of each crowd with the constants that the others choose."""
    names, loss, right, votes = [], [], [], []
    for name, answers, known, codes in crowds():
        truth = codes[known]
        found = [labels_with(doubts, learned(answers))[known] for doubts in GRID]
        names.append(name)
        loss.append([log_loss(truth, p) for p in found])
        right.append([accuracy(truth, p) for p in found])
        votes.append(log_loss(truth, smoothed_votes(answers)[known]))
    table, hits, smoothed = np.array(loss), np.array(right), np.array(votes)
    default, rows = GRID.index(Doubts()), []
    for held, name in enumerate(names):
        others = np.arange(len(names)) != held
        behind = (table[others] - smoothed[others, None]).max(0)
        best = int((table[others].mean(0) + np.maximum(behind - 0.03, 0)).argmin())
        rows.append((hits[held, best], table[held, best], table[held, default]))
        print(f"{name:14s} {rows[-1][0]:.3f}/{rows[-1][1]:.3f}  {GRID[best][:5]}")
    mean, behind = np.mean(rows, 0), np.array(rows)[:, 1] - smoothed
    print(
        f"mean {mean[0]:.3f}/{mean[1]:.3f}, default {mean[2]:.3f}, votes "
        f"{smoothed.mean():.3f}; most behind the votes {behind.max():+.3f}"
    )


_LEARNED: dict[int, Any] = {}


def learned(answers: Any) -> tuple[pool.Witnesses, np.ndarray, pool.Signs]:
    """Return what the answers say, and the signs of shared mistakes; made once."""
    if id(answers) not in _LEARNED:
        given, nobody = answers.codes, np.full(len(answers.items), -1)
        shape = given.shape[2:]
        before = ConfusionMatrices.before_answers("learned", answers.annotators, *shape)
        with Trace("labels", 20, show=False) as trace:
            first = agreed(given, nobody, before, max_iter=20, trace=trace)
        distinct = given.distinct()
        found = pool.witnesses_of(distinct, first.proba, first.skills.priors(), "learn")
        selective = together.selective(distinct)
        _LEARNED.clear()
        signs = pool.signs_of(found, selective)
        _LEARNED[id(answers)] = found, selective, signs
    known: tuple[pool.Witnesses, np.ndarray, pool.Signs] = _LEARNED[id(answers)]
    return known


def labels_with(doubts: Doubts, known: Any) -> np.ndarray:
    """Return the labels with these constants."""
    found, selective, signs = known
    counts = pool.learned_pool(found, selective, "learn", doubts, signs)
    return pool.labels(found, counts, np.full(found.answers.n_items, -1))


def gold(seeds: int) -> None:
    """Print what 50 gold items do for the labels of the others."""
    rows, held = [], []
    for name, answers, known, codes in crowds():
        found = []
        for seed in range(seeds if len(known) >= 100 else 0):
            chosen = np.random.default_rng(seed).permutation(known)
            some, rest = chosen[:50], chosen[50:]
            given = {answers.items[i]: answers.classes[codes[i]] for i in some}
            alone = wc.Consensus(progress=False).fit(answers).label_proba_[rest]
            model = wc.Consensus(progress=False).fit(answers, gold=given)
            right = accuracy(codes[rest], model.label_proba_[rest])
            losses = [
                log_loss(codes[rest], p) for p in (alone, model.label_proba_[rest])
            ]
            found.append([*losses, right])
            scale = model.calibration_
            assert scale is not None
            held.append(scale.accuracy_low <= right <= scale.accuracy_high)
        if found:
            rows.append(np.mean(found, 0))
            print(
                f"{name:14s} log loss {rows[-1][0]:.3f} -> {rows[-1][1]:.3f}, right "
                f"{rows[-1][2]:.3f}",
                flush=True,
            )
    mean = np.mean(rows, 0)
    print(
        f"mean log loss {mean[0]:.3f} -> {mean[1]:.3f}, right {mean[2]:.3f}; intervals "
        f"of the accuracy hold it in {np.mean(held):.2f} of {len(held)} fits"
    )


def features(seeds: int) -> None:
    """Print the labels of methods with features."""
    for name in ("labelme", "sentiment", *WITH_FEATURES):
        data = {"labelme": load_labelme, "sentiment": load_sentiment}.get(
            name, lambda name=name: load_crowd(name)
        )()
        codes = codes_of(data)
        answered = data.answers.codes.n_per_item > 0
        known = np.flatnonzero((codes >= 0) & answered)
        truth, votes = codes[known], smoothed_votes(data.answers)[known]
        alone = wc.Consensus(progress=False).fit(data.answers).label_proba_[known]
        print(
            f"{name:14s} votes {two(truth, votes)} Consensus {two(truth, alone)}",
            end="",
        )
        for make in (wc.CrowdEM, wc.SVGPCR):
            found = []
            for seed in range(seeds):
                model = make(random_state=seed, progress=False)
                model.fit(data.X, data.answers, items=data.answers.items)
                proba = model.label_proba_[known]
                found.append((accuracy(truth, proba), log_loss(truth, proba)))
            right, loss = np.mean(found, 0)
            print(f" {make.__name__} {right:.3f}/{loss:.3f}", end="", flush=True)
        print()


# -- simulated crowds ----------------------------------------------------------------


def shapes(seeds: int) -> None:
    """Print accuracy / log loss beside the votes', and who is flagged."""
    for name, draw in SHAPES.items():
        rows = []
        for seed in range(seeds):
            made = draw(np.random.default_rng(seed))
            model = wc.Consensus(progress=False)
            model.fit(made.answers, gold=made.told or None)
            n_each = made.answers.codes.n_per_item
            rest = np.setdiff1d(np.flatnonzero(n_each > 0), made.gold)
            truth, votes = made.truth[rest], smoothed_votes(made.answers)[rest]
            proba, summary = model.label_proba_[rest], model.annotator_summary()
            flagged = flags_of(summary) != ""
            busiest = int(model.n_answers_.argmax())
            said = made.answers.codes.annotator == busiest
            hit = made.answers.codes.answer == made.truth[made.answers.codes.item]
            rows.append(
                [
                    votes_right(truth, votes), log_loss(truth, votes),
                    accuracy(truth, proba), log_loss(truth, proba),
                    (flagged & made.honest).sum(), (flagged & ~made.honest).sum(),
                    summary["accuracy"][busiest] - hit[said].mean(),
                ]
            )  # fmt: skip
        mean = np.mean(rows, 0)
        behind = mean[2] < mean[0] - 0.01 or mean[3] > mean[1] + 0.02 or mean[4] > 0
        print(
            f"{name:22s} votes {mean[0]:.3f}/{mean[1]:.3f}  Consensus "
            f"{mean[2]:.3f}/{mean[3]:.3f}  flagged: honest {mean[4]:.1f}, others "
            f"{mean[5]:.1f}; accuracy of the busiest off by {mean[6]:+.2f}"
            f"{'  BEHIND' if behind else ''}",
            flush=True,
        )


def independent(seeds: int) -> None:
    """Print the log loss beside that of BCC with independent annotators."""
    rows = []
    for seed in range(4 * seeds):
        rng = np.random.default_rng(seed)
        made = wc.simulate(
            int(rng.choice([100, 300, 1000])),
            int(rng.choice([10, 30, 100])),
            int(rng.choice([2, 4, 8])),
            answers_per_item=float(rng.choice([3, 5, 10])),
            skill="beta"
            if rng.choice(["beta", "dirichlet"]) == "beta"
            else "dirichlet",
            random_state=seed,
        )
        models = wc.BCC(dependence=0, progress=False), wc.Consensus(progress=False)
        found = [m.fit(made.answers).label_proba_ for m in models]
        votes = smoothed_votes(made.answers)
        rows.append([log_loss(made.truth, p) for p in (votes, *found)])
    mean = np.mean(rows, 0)
    print(
        f"{len(rows)} crowds: votes {mean[0]:.3f}, BCC(dependence=0) {mean[1]:.3f}, "
        f"Consensus {mean[2]:.3f}"
    )


PARTS = {
    "labels": labels,
    "leave-one-out": leave_one_out,
    "gold": gold,
    "features": features,
    "shapes": shapes,
    "independent": independent,
}


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args(arguments)
    PARTS[given.part](given.seeds)


if __name__ == "__main__":
    main()
