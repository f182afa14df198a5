"""How honest are the labels? Sixteen real crowds, and everyday ones, in tables.

Run: python -m wisecrowd.experiments.crowds PART [--seeds 5], where PART is one of

labels         accuracy and log loss of smoothed votes, BCC and the default, Consensus;
               calibration error, and how often 90 % intervals hold the accuracy of an
               annotator on gold
leave-one-out  the constants of the pool (maths/pool/records.py: Doubts), chosen on
               fifteen crowds and scored on the sixteenth
gold           log loss of the other items, with 50 gold items
settled        how many labels are settled, and how many of these are wrong, beside
               items on which all annotators agree
features       labels of CrowdEM and SVGPCR on six crowds with real features
shapes         simulated crowds as people have them (simulation/everyday.py)
independent    simulated crowds whose annotators are independent
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

import wisecrowd as wc
from wisecrowd.datasets import CROWDS
from wisecrowd.experiments.runner import command
from wisecrowd.experiments.scoring import data_of
from wisecrowd.fit.consensus import agreed
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import pool, together
from wisecrowd.maths.pool import Doubts
from wisecrowd.metrics import accuracy, calibration_error, log_loss, truth_codes
from wisecrowd.results.comparison import smoothed_votes
from wisecrowd.results.flags import flags_of
from wisecrowd.results.tables import label_table
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


class Known(NamedTuple):
    """A crowd, and the classes as far as they are known."""

    data: Any
    codes: np.ndarray  # of all items; -1 where the class is not known
    rows: np.ndarray  # the answered items with gold
    truth: np.ndarray  # their classes
    votes: np.ndarray  # and what smoothed votes say of them

    @property
    def answers(self) -> Any:
        """Its answers."""
        return self.data.answers

    def labels_of(self, model: Any, **settings: Any) -> np.ndarray:
        """Fit a method; return what it says of the items with gold."""
        found: np.ndarray = model.fit(self.answers, **settings).label_proba_[self.rows]
        return found


def known(name: str) -> Known:
    """Return a crowd by its name."""
    data: Any = data_of(name)
    codes = truth_codes(data.gold.reindex(data.answers.items), data.classes)
    rows = np.flatnonzero((codes >= 0) & (data.answers.codes.n_per_item > 0))
    votes = smoothed_votes(data.answers)[rows]
    return Known(data, codes, rows, codes[rows], votes)


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
    for name in CROWDS:
        crowd = known(name)
        truth, votes = crowd.truth, crowd.votes
        bcc = crowd.labels_of(wc.BCC(progress=False))
        model = wc.Consensus(progress=False)
        proba = crowd.labels_of(model)
        found = [log_loss(truth, p) for p in (votes, bcc, proba)]
        right = [votes_right(truth, votes), *(accuracy(truth, p) for p in (bcc, proba))]
        off, held = calibration_error(truth, proba), coverage(model, crowd)
        rows.append([*right, *found, off, held])
        low, high = model.worth_interval_
        print(
            f"{name:14s} {right[0]:.3f}/{found[0]:.3f} {two(truth, bcc)} "
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


def coverage(model: Any, crowd: Known) -> float:
    """Return how often 90 % intervals hold an annotator's accuracy on gold."""
    given, codes = crowd.answers.codes, crowd.codes
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
    loss, right, votes = [], [], []
    for name in CROWDS:
        crowd = known(name)
        said = learned(crowd.answers)
        found = [labels_with(doubts, *said)[crowd.rows] for doubts in GRID]
        loss.append([log_loss(crowd.truth, p) for p in found])
        right.append([accuracy(crowd.truth, p) for p in found])
        votes.append(log_loss(crowd.truth, crowd.votes))
    table, hits, smoothed = np.array(loss), np.array(right), np.array(votes)
    default, rows = GRID.index(Doubts()), []
    for held, name in enumerate(CROWDS):
        others = np.arange(len(CROWDS)) != held
        behind = (table[others] - smoothed[others, None]).max(0)
        best = int((table[others].mean(0) + np.maximum(behind - 0.03, 0)).argmin())
        rows.append((hits[held, best], table[held, best], table[held, default]))
        print(f"{name:14s} {rows[-1][0]:.3f}/{rows[-1][1]:.3f}  {GRID[best][:5]}")
    mean, behind = np.mean(rows, 0), np.array(rows)[:, 1] - smoothed
    print(
        f"mean {mean[0]:.3f}/{mean[1]:.3f}, default {mean[2]:.3f}, votes "
        f"{smoothed.mean():.3f}; most behind the votes {behind.max():+.3f}"
    )


def learned(answers: Any) -> tuple[pool.Witnesses, np.ndarray, pool.Signs]:
    """Return what the answers say, and the signs of shared mistakes."""
    given, nobody = answers.codes, np.full(len(answers.items), -1)
    shape = given.shape[2:]
    before = ConfusionMatrices.before_answers("learned", answers.annotators, *shape)
    with Trace("labels", 20, show=False) as trace:
        first = agreed(given, nobody, before, max_iter=20, trace=trace)
    distinct = given.distinct()
    found = pool.witnesses_of(distinct, first.proba, first.skills.priors(), "learn")
    selective = together.selective(distinct)
    return found, selective, pool.signs_of(found, selective)


def labels_with(
    doubts: Doubts, found: pool.Witnesses, selective: np.ndarray, signs: pool.Signs
) -> np.ndarray:
    """Return the labels with these constants."""
    counts = pool.learned_pool(found, selective, "learn", doubts, signs)
    return pool.labels(found, counts, np.full(found.answers.n_items, -1))


def gold(seeds: int) -> None:
    """Print what 50 gold items do for the labels of the others."""
    rows, held = [], []
    for name in CROWDS:
        crowd, found = known(name), []
        answers, codes = crowd.answers, crowd.codes
        for seed in range(seeds if len(crowd.rows) >= 100 else 0):
            chosen = np.random.default_rng(seed).permutation(crowd.rows)
            some, rest = chosen[:50], chosen[50:]
            given = {answers.items[i]: answers.classes[codes[i]] for i in some}
            alone = wc.Consensus(progress=False).fit(answers).label_proba_[rest]
            model = wc.Consensus(progress=False).fit(answers, gold=given)
            proba, scale = model.label_proba_[rest], model.calibration_
            right = accuracy(codes[rest], proba)
            found.append([*(log_loss(codes[rest], p) for p in (alone, proba)), right])
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


def settled(seeds: int) -> None:
    """Print wrong of settled labels, on items with gold: Consensus, then BCC."""
    print("crowd: items with gold; all agree; Consensus; BCC. Wrong of settled.")
    for name in ("labelme", "sentiment", *CROWDS):
        crowd = known(name)
        print(f"{name}: {settled_beside(crowd.answers, crowd.codes, crowd.rows)}")
    for name, draw in SHAPES.items():
        for seed in range(seeds):
            made = draw(np.random.default_rng(seed))
            answered = np.flatnonzero(made.answers.codes.n_per_item > 0)
            rest, told = np.setdiff1d(answered, made.gold), made.told or None
            found = settled_beside(made.answers, made.truth, rest, told)
            print(f"{name} {seed}: {found}", flush=True)


def settled_beside(answers: Any, codes: Any, rows: Any, gold: Any = None) -> str:
    """Return how many of these items there are, then wrong of settled, three times."""
    votes = answers.codes.distinct().votes()[rows]
    agree = (votes.max(1) == votes.sum(1)) & (votes.sum(1) > 1)
    truth, found = codes[rows], [(agree, votes)]
    for method in (wc.Consensus(progress=False), wc.BCC(progress=False)):
        items = label_table(method.fit(answers, gold=gold), answers)
        chosen = items["settled"].to_numpy()[rows]
        found.append((chosen, method.label_proba_[rows]))
    wrong = [(some, proba.argmax(1) != truth) for some, proba in found]
    return "; ".join(
        [
            str(len(rows)),
            *(f"{(some & off).sum()} of {some.sum()}" for some, off in wrong),
        ]
    )


def features(seeds: int) -> None:
    """Print the labels of methods with features."""
    for name in ("labelme", "sentiment", *WITH_FEATURES):
        crowd = known(name)
        alone = crowd.labels_of(wc.Consensus(progress=False))
        votes = two(crowd.truth, crowd.votes)
        print(f"{name:14s} votes {votes} Consensus {two(crowd.truth, alone)}", end="")
        for make in (wc.CrowdEM, wc.SVGPCR):
            found = []
            for seed in range(seeds):
                model = make(random_state=seed, progress=False)
                model.fit(crowd.data.X, crowd.answers, items=crowd.answers.items)
                proba = model.label_proba_[crowd.rows]
                found.append(
                    (accuracy(crowd.truth, proba), log_loss(crowd.truth, proba))
                )
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
        draw = np.random.default_rng(seed).choice
        sizes = [int(draw(n)) for n in ([100, 300, 1000], [10, 30, 100], [2, 4, 8])]
        each, skill = float(draw([3, 5, 10])), draw(["beta", "dirichlet"]).item()
        made = wc.simulate(
            *sizes, answers_per_item=each, skill=skill, random_state=seed
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
    part.__name__.replace("_", "-"): part
    for part in (labels, leave_one_out, gold, settled, features, shapes, independent)
}


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = command(__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args(arguments)
    PARTS[given.part](given.seeds)


if __name__ == "__main__":
    main()
