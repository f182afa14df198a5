"""Pages: of a small crowd, of hostile names, and of one as large as LIGO's."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import wisecrowd as wc
from wisecrowd.report import page
from wisecrowd.results.findings import Findings, findings

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    "\u202eright to left",
    "a" * 10_000,
    "line\u2028separator",
    "{{ 7 * 7 }}",
    "javascript:alert(4)",
    '" onmouseover="alert(5)',
    "&lt;b&gt;",
    "<!--",
    "]]>",
    "'; alert(6); '",
    "nul\x00 and \x1b[2J",
    "${alert(7)}",
    "\ufeff",
    "日本語 und Umlaute äöü",
    "=HYPERLINK(0)",
    "+cmd|' /C calc'!A0",
    "@SUM(1+2)",
    "\U0001f9d1\u200d\U0001f52c \U0001f4a5",
    "\u2067isolate\u2069 \u200b \x07\x7f\x85",
    "`${alert(8)}`",
    "<svg/onload=alert(9)>",
    "a" + "\u0301" * 200,
    "__proto__",
]


def hostile_names(n):
    """Return n names, all different; the odd ones come first."""
    more = (f"{HOSTILE[i % len(HOSTILE)]} {i}" for i in range(len(HOSTILE), n))
    return [*HOSTILE, *more][:n]


@pytest.fixture(scope="session")
def crowd():
    return wc.simulate(
        60, 14, 3, answers_per_item=5, spammers=0.1, adversaries=0.1, n_features=2,
        separation=6.0, classes=["blip", "chirp", "whistle"], random_state=1,
    )  # fmt: skip


@pytest.fixture(scope="session")
def gold(crowd):
    return dict(zip(crowd.answers.items, crowd.classes[crowd.truth], strict=True))


@pytest.fixture(scope="session")
def found(crowd, gold):
    """What a classifier learned, compared with gold: all sections are filled."""
    model = wc.CrowdEM(n_rounds=1, progress=False).fit(crowd.X, crowd.answers)
    return findings(model, crowd.answers.with_gold(gold))


@pytest.fixture(scope="session")
def hostile():
    """200 hostile names of items, of annotators, and some of classes."""
    names = np.array(hostile_names(200), object)
    classes = np.array([*HOSTILE[:13], *(f"c{i}" for i in range(7))], object)
    item = np.repeat(np.arange(200), 3)
    who, said = (item + np.tile([0, 1, 2], 200)) % 200, (item * 7) % 20
    answers = wc.Annotations.from_triples(names[item], names[who], classes[said])
    return findings(wc.MajorityVote().fit(answers), answers)


@pytest.fixture(scope="session")
def large():
    """A record of LIGO's size that no fit has made."""
    N, A, C = 173_565, 3_443, 15
    rng = np.random.default_rng(0)
    proba = rng.gamma(0.1, size=(N, C)) + 1e-9
    proba /= proba.sum(1, keepdims=True)
    classes = np.array([f"Glitch class {c}" for c in range(C)], object)
    best = proba.max(1)
    items = pd.DataFrame(
        {
            "item": np.arange(N), "label": classes[proba.argmax(1)],
            "probability": best, "n_answers": rng.integers(1, 20, N), "entropy": 0.0,
            "margin": 0.1, "agreement": rng.random(N), "settled": best > 0.95,
        }
    )  # fmt: skip
    columns = pd.DataFrame(proba, columns=[f"p_{name}" for name in classes])
    who = np.array([f"volunteer number {a}" for a in range(A)], object)
    accuracy = rng.random(A)
    annotators = pd.DataFrame(
        {
            "annotator": who, "n_answers": rng.integers(1, 9999, A),
            "accuracy": accuracy, "low": accuracy * 0.9, "high": 0.1 + 0.9 * accuracy,
            "informativeness": accuracy, "spammer": 0.0, "adversarial": 0.0,
            "flag": rng.choice(["", "", "", "spammer", "adversary"], A),
        }
    )  # fmt: skip
    prevalence = pd.DataFrame(
        {
            "class": classes, "n_items": 9, "share": 1 / C, "mean_probability": 0.9,
            "prevalence": 1 / C, "low": 0.01, "high": 0.1,
        }
    )  # fmt: skip
    open_items = np.argsort(best)[:10_000]
    ledger = pd.DataFrame(
        {
            "item": np.repeat(open_items, 12), "kind": "answer",
            "who": rng.choice(who, 120_000), "answer": rng.choice(classes, 120_000),
            "counts": 0.62, "log_odds": rng.normal(size=120_000),
        }
    )  # fmt: skip
    about = {
        "wisecrowd": "0", "method": "consensus", "settings": {}, "read": None,
        "notes": [], "n_items": N, "n_annotators": A, "n_answers": 1_828_981,
        "settled_at": 0.02, "n_settled": int((best > 0.95).sum()), "gold": None,
        "calibration": None,
    }  # fmt: skip
    model = SimpleNamespace(
        classes_=classes, answers_=classes, class_prior_=np.full(C, 1 / C),
        trace_=pd.DataFrame({"bound": [-2.0, -1.0], "seconds": [0.1, 0.2]}),
    )  # fmt: skip
    mean = rng.dirichlet(np.ones(C), (A, C)).ravel()
    confusion = pd.DataFrame({"mean": mean, "low": mean / 2, "high": (1 + mean) / 2})
    found = Findings(
        model, pd.concat([items, columns], axis=1), annotators, prevalence, about,
        {"settled": "Some are settled.", "look": "Some are not."},
        {"crowd": rng.dirichlet(np.ones(C), C)}, ledger=ledger,
    )  # fmt: skip
    found.__dict__["confusion"] = confusion
    return found


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """Return a function that writes a page, and returns where."""
    folder = tmp_path_factory.mktemp("pages")

    def write(found, name):
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(page(found), encoding="utf-8")
        return path

    return write
