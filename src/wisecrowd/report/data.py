"""What a page shows, as plain data: aggregated and sampled, so that it stays small."""

import platform
from typing import Any

import numpy as np
import pandas as pd

from wisecrowd._text import printable, shortened
from wisecrowd._types import Array
from wisecrowd.registry import METHODS, cite
from wisecrowd.results.findings import Findings
from wisecrowd.results.flags import ADVERSARY, SPAMMER
from wisecrowd.results.ledger import ANSWER, SAID
from wisecrowd.results.notebook import against
from wisecrowd.results.sentences import mistakes, percent

LONGEST = 80  # letters of a name
MOST_ANNOTATORS = 5000
MOST_POINTS = 1500  # of the chart of annotators
MOST_CELLS = 150_000  # of the annotators' confusion matrices
MOST_CLASSES = 30  # of a confusion matrix that can be read
MOST_MISTAKES = 3
MISTAKE = 0.1  # share of the answers from which a mistake is typical
SEEN = 1.0  # answers in which it is expected; of fewer, it is an assumption
ALL_ITEMS = 1500  # crowds up to this size are shown in full
MOST_ITEMS = 300  # of every list, in larger crowds
MOST_LEDGER_ROWS = 12_000
MOST_STEPS = 200
N_BINS = 20
SCORES = {
    "n_items": "items with a known class",
    "accuracy": "accuracy (higher is better)",
    "log_loss": "log loss (lower is better)",
    "calibration_error": "calibration error (lower is better)",
}
TOPICS = ("skill", "flags", "worth", "classes", "features", "calibration", "gold")


def page_data(found: Findings) -> dict[str, Any]:
    """Return all that the page shows, in the types of JSON."""
    about, read = found.about, found.about["read"]
    classes, answers = names(found.model.classes_), names(found.model.answers_)
    path = str(read["path"]).replace("\\", "/") if read else ""
    return {
        "title": name(path.rpartition("/")[2]),
        "about": _about(found),
        "lead": [printable(found.said[t]) for t in ("settled", "look")],
        "sentences": [printable(found.said[t]) for t in TOPICS if t in found.said],
        "notes": [*map(printable, against(about))],
        "tiles": _tiles(found),
        "classes": classes,
        "answers": answers,
        "certainty": _certainty(found.items),
        "annotators": _annotators(found),
        "prevalence": _prevalence(found.classes, classes),
        "confused": _confused(found),
        "items": _items(found),
        "accuracy": _accuracy(found),
        "trace": _trace(found.model.trace_),
    }


def name(text: Any) -> str:
    """Return a name as it is shown: nothing invisible, not too long."""
    return shortened(printable(text), LONGEST)


def names(words: Any) -> list[str]:
    """Return names as they are shown."""
    return [name(word) for word in words]


def rounded(values: Any, digits: int = 3) -> list[Any]:
    """Return numbers with few digits; what is no number is None."""
    table = np.asarray(values, float)
    kept = np.round(table, digits).tolist()
    if table.ndim > 1:
        return [rounded(row, digits) for row in table]
    return [v if ok else None for v, ok in zip(kept, np.isfinite(table), strict=True)]


# -- above all ------------------------------------------------------------------------


def _about(found: Findings) -> dict[str, Any]:
    import sklearn

    about, info = found.about, METHODS.info(found.about["method"])
    sizes = {what: about[f"n_{what}"] for what in ("items", "annotators", "answers")}
    sizes["classes"] = len(found.model.classes_)
    return {
        "method": info.name,
        "learns": info.learns,
        "paper": info.paper.replace("*", ""),
        "sizes": [(what, f"{size:,}") for what, size in sizes.items()],
        "settings": [(k, name(v)) for k, v in about["settings"].items()],
        "settled_at": percent(about["settled_at"]),
        "versions": [
            ("wisecrowd", about["wisecrowd"]),
            ("Python", platform.python_version()),
            ("NumPy", np.__version__),
            ("scikit-learn", sklearn.__version__),
        ],
        "cite": cite(about["method"]),
    }


def _tiles(found: Findings) -> list[tuple[str, str]]:
    about, people = found.about, found.annotators
    n_open = about["n_items"] - about["n_settled"]
    share = about["n_settled"] / max(about["n_items"], 1)
    tiles = [
        (percent(share), f"of the items are settled ({about['n_settled']:,})"),
        (f"{n_open:,}", "need a second look"),
    ]
    weights = people["n_answers"].to_numpy()
    if weights.sum():
        mean = float(np.average(people["accuracy"], weights=weights))
        tiles.append((percent(mean), "of the answers are expected to be right"))
    n_flagged = int((people["flag"] != "").sum())
    tiles.append((f"{n_flagged:,}", f"of {len(people):,} annotators flagged"))
    return tiles


def _certainty(items: pd.DataFrame) -> list[list[int]]:
    """Return how many labels are settled and not, by their probability."""
    p, settled = items["probability"].to_numpy(), items["settled"].to_numpy()
    where = np.minimum((p * N_BINS).astype(int), N_BINS - 1)
    return [
        np.bincount(where[some], minlength=N_BINS).tolist()
        for some in (settled, ~settled)
    ]


# -- annotators -----------------------------------------------------------------------


def _annotators(found: Findings) -> dict[str, Any]:
    """Return the table of annotators, flagged ones first, then the most active."""
    table = found.annotators
    rank = table["flag"].map({ADVERSARY: 0, SPAMMER: 1, "": 2}).to_numpy()
    order = np.lexsort((-table["n_answers"].to_numpy(), rank))[:MOST_ANNOTATORS]
    shown = table.iloc[order]
    shape = tuple(map(len, (table, found.model.classes_, found.model.answers_)))
    mean = found.confusion["mean"].to_numpy().reshape(shape)[order]
    n_points = min(MOST_POINTS, len(order))
    others = np.arange(n_points // 2, len(order))
    some = np.random.RandomState(0).permutation(others)[: n_points - n_points // 2]
    numbers = ("accuracy", "low", "high", "informativeness")
    return {
        "n_all": len(table),
        "name": names(shown["annotator"]),
        "n": shown["n_answers"].tolist(),
        **{column: rounded(shown[column]) for column in numbers},
        "flag": shown["flag"].tolist(),
        "points": [*range(n_points // 2), *np.sort(some).tolist()],
        "mistakes": _mistakes(mean, shown["n_answers"], found.model.class_prior_),
        "matrices": _matrices(found, order, shape),
    }


def _mistakes(confusion: Array, n_answers: Any, class_prior: Array) -> list[list[Any]]:
    """Return the most frequent mistakes of everybody: class, answer, percent."""
    n_classes = confusion.shape[1]
    often = confusion * class_prior[:, None] * np.asarray(n_answers)[:, None, None]
    same = np.arange(n_classes)
    often[:, same, same] = 0
    often[:, :, n_classes:] = 0  # "can't tell" is no mistake
    typical = (confusion >= MISTAKE) & (often >= SEEN)
    often = np.where(typical, often, 0).reshape(len(often), -1)
    best = np.argsort(-often, axis=1, kind="stable")[:, :MOST_MISTAKES]
    found = []
    for person, cells in enumerate(best):
        kept = [divmod(int(c), confusion.shape[2]) for c in cells if often[person, c]]
        found.append(
            [[c, k, round(100 * float(confusion[person, c, k]))] for c, k in kept]
        )
    return found


def _matrices(
    found: Findings, order: Array, shape: tuple[int, ...]
) -> dict[str, list[int]]:
    """Return confusion matrices in percent: mean, low, high of every cell."""
    _, n_classes, n_answers = shape
    if n_classes > MOST_CLASSES:
        return {}
    n_kept = MOST_CELLS // (n_classes * n_answers)
    cells = found.confusion[["mean", "low", "high"]].to_numpy().reshape(*shape, 3)
    kept = np.round(100 * cells[order[:n_kept]]).astype(int)
    return {str(row): matrix.ravel().tolist() for row, matrix in enumerate(kept)}


# -- classes --------------------------------------------------------------------------


def _prevalence(table: pd.DataFrame, classes: list[str]) -> list[dict[str, Any]]:
    columns = [
        table["n_items"].tolist(),
        *(rounded(table[name], 4) for name in ("prevalence", "low", "high")),
        rounded(table["mean_probability"]),
    ]
    keys = ("name", "n", "share", "low", "high", "sure")
    return [
        dict(zip(keys, row, strict=True)) for row in zip(classes, *columns, strict=True)
    ]


def _confused(found: Findings) -> dict[str, Any]:
    """Return who confuses which classes; of many classes, the most frequent mistakes.

    `tables` has matrices, in shares; `pairs` the mistakes: class, answer, share.
    """
    tables, pairs = {}, {}
    n_classes = len(found.model.classes_)
    n_items = found.classes["n_items"].to_numpy()
    for who, table in found.confused.items():
        places = mistakes(table, n_items, MOST_CLASSES)
        pairs[who] = [[c, k, round(float(table[c, k]), 3)] for c, k in places]
        if n_classes <= MOST_CLASSES:
            tables[who] = rounded(table)
    return {"tables": tables, "pairs": pairs}


# -- items ----------------------------------------------------------------------------


def _items(found: Findings) -> dict[str, Any]:
    """Return the items to look at, and in which lists they are."""
    table = found.items
    lists = _lists(found)
    chosen = list(dict.fromkeys(i for places in lists.values() for i in places))
    place = {i: n for n, i in enumerate(chosen)}
    rows = [_item(row, found) for _, row in table.iloc[chosen].iterrows()]
    apart = found.disagreements
    if apart is not None and len(apart):
        at = {str(row.item): row for row in apart.itertuples()}
        for row, item in zip(rows, table["item"].iloc[chosen], strict=True):
            other = at.get(str(item))
            if other is not None:
                row["crowd"], row["features"] = name(other.crowd), name(other.features)
    _add_ledger(rows, table["item"].iloc[chosen], found)
    return {
        "rows": rows,
        "lists": {title: [place[i] for i in at] for title, at in lists.items()},
        "n_all": len(table),
        "n_open": int((~table["settled"]).sum()),
        "kinds": {**SAID, ANSWER: ANSWER},
    }


def _lists(found: Findings) -> dict[str, list[int]]:
    """Return the positions of the items in every list."""
    table = found.items
    p = table["probability"].to_numpy()
    n_answers = table["n_answers"].to_numpy()
    most = ALL_ITEMS if len(table) <= ALL_ITEMS else MOST_ITEMS
    answered = np.flatnonzero(n_answers > 0)
    still_open = np.flatnonzero(~table["settled"].to_numpy() & (n_answers > 0))
    unseen = np.flatnonzero(~table["settled"].to_numpy() & (n_answers == 0))
    several = answered[n_answers[answered] > 2]
    agreement = table["agreement"].to_numpy()[several]
    contested = several[np.lexsort((-n_answers[several], agreement))]
    contested = contested[np.sort(agreement) < 1][: min(most, MOST_ITEMS)]

    def unsure(at: Array) -> Array:
        return at[np.argsort(p[at], kind="stable")]

    lists = {
        "least certain": unsure(answered)[: 0 if len(still_open) else MOST_ITEMS],
        "second look": unsure(still_open)[:most],
        "contested": contested,
        "disagree": _disagreeing(found, min(most, MOST_ITEMS)),
        "no answers": unsure(unseen)[:MOST_ITEMS],
    }
    if len(table) <= ALL_ITEMS:
        lists["all"] = np.argsort(p, kind="stable")
    return {title: at.tolist() for title, at in lists.items() if len(at)}


def _disagreeing(found: Findings, most: int) -> Array:
    if found.disagreements is None or found.disagreements.empty:
        return np.array([], int)
    ids = pd.Index(found.items["item"].astype(str))
    apart = pd.Index(found.disagreements["item"].astype(str))
    return ids.get_indexer(apart)[:most]


def _item(row: Any, found: Findings) -> dict[str, Any]:
    proba = row[[f"p_{c}" for c in found.model.classes_]].to_numpy(float)
    second = int(np.argsort(-proba, kind="stable")[1])
    agreement = float(row["agreement"])
    return {
        "name": name(row["item"]),
        "label": int(proba.argmax()),
        "p": round(float(row["probability"]), 3),
        "next": second,
        "q": round(float(proba[second]), 3),
        "n": int(row["n_answers"]),
        "agreement": round(agreement, 3) if np.isfinite(agreement) else None,
        "settled": bool(row["settled"]),
    }


def _add_ledger(rows: list[dict[str, Any]], items: Any, found: Findings) -> None:
    """Add the ledger to the rows, as far as there is room: kind, who, answer, ..."""
    if found.ledger is None:
        return
    ids = items.tolist()
    ledger = found.ledger[found.ledger["item"].isin(ids)]
    groups = dict(list(ledger.groupby("item", sort=False)))
    n_rows = 0
    for row, item in zip(rows, ids, strict=True):
        part = groups.get(item)
        if part is None or n_rows + len(part) > MOST_LEDGER_ROWS:
            continue
        n_rows += len(part)
        row["ledger"] = [
            [kind]
            + ([name(who), name(said), round(counts, 2)] if kind == ANSWER else [])
            + [round(odds, 2) if np.isfinite(odds) else None]
            for kind, who, said, counts, odds in zip(
                *(part[c] for c in ("kind", "who", "answer", "counts", "log_odds")),
                strict=True,
            )
        ]


# -- gold, and the fit ----------------------------------------------------------------


def _accuracy(found: Findings) -> dict[str, Any] | None:
    about, table = found.about, found.reliability
    if about["gold"] is None and about["calibration"] is None:
        return None
    rows = []
    if table is not None:
        filled = table[table["n_items"] > 0]
        columns = ("begin", "end", "confidence", "accuracy", "low", "high")
        cells = rounded(filled[list(columns)].to_numpy())
        n_items = filled["n_items"].tolist()
        rows = [[*row, int(n)] for row, n in zip(cells, n_items, strict=True)]
    gold = about["gold"] or {}
    topics = ("gold", "calibration")
    said = [printable(found.said[topic]) for topic in topics if topic in found.said]
    return {
        "said": said,
        "rows": rows,
        "scores": [
            (word, f"{gold[key]:,.{0 if key == 'n_items' else 3}f}")
            for key, word in SCORES.items()
            if gold.get(key) is not None
        ],
    }


def _trace(trace: pd.DataFrame) -> dict[str, Any] | None:
    if len(trace) < 2:
        return None
    some = np.unique(np.linspace(0, len(trace) - 1, MOST_STEPS).astype(int))
    bound = trace["bound"].to_numpy(float)[some]
    return {
        "step": [int(s) for s in trace.index.to_numpy()[some]],
        "bound": rounded(bound, 4),
        "seconds": f"{float(trace['seconds'].iloc[-1]):,.1f}",
        "n_steps": len(trace),
    }
