"""The ledger of a label: what speaks for it adds up to it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from wisecrowd.results.findings import findings
from wisecrowd.results.ledger import (
    ANSWER,
    FEATURES,
    GOLD,
    METHOD,
    SHARES,
    SHIFT,
    VOTES,
    ledger_table,
    one_of_ledger,
)  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore:.*do not name a class")  # GLAD
METHODS = {
    "consensus": wc.Consensus,
    "bcc": wc.BCC,
    "votes": wc.MajorityVote,
    "published": wc.BCC.as_published,
    "glad": wc.GLAD,
    "dawid-skene": wc.DawidSkene,
    "classifier": lambda: wc.CrowdEM(n_rounds=1, progress=False),
}


@pytest.fixture(scope="module")
def crowd():
    """Features that tell the classes apart, and the answer "can't tell"."""
    return wc.simulate(
        30, 9, 3, answers_per_item=5, cant_tell=0.1, n_features=2, separation=8.0,
        classes=["blip", "chirp", "whistle"], random_state=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def gold(crowd):
    return dict(zip(crowd.answers.items, crowd.classes[crowd.truth], strict=True))


def fitted(method, crowd, gold=None):
    model = METHODS[method]()
    features = () if method != "classifier" else (crowd.X,)
    return model.fit(*features, crowd.answers, gold=gold)


def totals(table):
    """Return the sum of the rows of every item, (N, C)."""
    names = [name for name in table if name.startswith("log_") and name != "log_odds"]
    return table.groupby("item", sort=False)[names].sum().to_numpy()


@pytest.mark.parametrize("n_gold", [0, 8])
@pytest.mark.parametrize("method", METHODS)
def test_the_rows_add_up_to_the_log_probability(method, n_gold, crowd, gold):
    some = dict(list(gold.items())[:n_gold])
    model = fitted(method, crowd, some or None)
    table = ledger_table(model, np.arange(30))
    total = totals(table)
    with np.errstate(divide="ignore"):
        wanted = np.log(model.label_proba_)
    assert_allclose(
        total - total.max(1, keepdims=True),
        wanted - wanted.max(1, keepdims=True),
        atol=1e-9,
    )
    assert set(table["item"][table["kind"] == GOLD]) == set(some)
    two = -np.sort(-wanted, axis=1)[:, :2]
    odds = table.groupby("item", sort=False)["log_odds"].sum()
    assert_allclose(odds, two[:, 0] - two[:, 1], atol=1e-9)


def test_the_kinds_of_rows_are_the_witnesses_of_the_method(crowd, gold):
    kinds = {
        name: set(ledger_table(fitted(name, crowd), np.arange(30))["kind"])
        for name in METHODS
    }
    assert kinds["consensus"] == {SHARES, ANSWER, VOTES}
    assert kinds["classifier"] == {SHARES, ANSWER, VOTES, FEATURES}
    assert kinds["votes"] == kinds["published"] == {METHOD}
    assert kinds["glad"] == {METHOD, VOTES}
    with_gold = ledger_table(fitted("consensus", crowd, gold), np.arange(30))
    assert set(with_gold["kind"]) == {SHARES, SHIFT, ANSWER, VOTES, GOLD}


@pytest.mark.parametrize("method", ["consensus", "classifier"])
def test_the_shares_of_the_classes_say_the_same_about_every_item(method, crowd, gold):
    table = ledger_table(fitted(method, crowd, gold), np.arange(30))
    rows = table[table["kind"] == SHARES].filter(like="log_").drop(columns="log_odds")
    assert len(rows) == 30
    assert_allclose(rows, np.tile(rows.iloc[:1], (30, 1)), atol=1e-9)


def test_every_answer_of_the_item_has_a_row(crowd):
    model = fitted("consensus", crowd)
    table = model.explain(4)
    rows = table[table["kind"] == ANSWER]
    mine = crowd.answers.to_frame().query("item == 4")
    said = set(zip(mine["annotator"].astype(str), mine["answer"], strict=True))
    assert set(zip(rows["who"], rows["answer"], strict=True)) == said
    n = len(rows)
    factor = (1 - model.learned_.pool.votes) / (1 + model.dependence_ * (n - 1))
    assert_allclose(rows["counts"], factor)


def test_copies_of_an_annotator_have_one_row():
    crowd = wc.simulate(120, 6, 2, answers_per_item=6, accuracy=0.7, random_state=0)
    table = crowd.answers.to_frame()
    copy = table[table["annotator"] == 2].assign(annotator=9)
    model = wc.aggregate(pd.concat([table, copy]))
    found = ledger_table(model, np.arange(120))
    assert {"2", "9"} & set(found["who"].dropna()) == {"2"}
    total = totals(found)
    wanted = np.log(model.label_proba_)
    assert_allclose(total, wanted - wanted.mean(1, keepdims=True), atol=1e-9)


def test_an_item_without_answers_is_explained_by_its_features(crowd):
    X = np.vstack([crowd.X, crowd.X[:1]])
    model = wc.CrowdEM(n_rounds=1, progress=False).fit(X, crowd.answers)
    table = model.explain(30)
    assert table["kind"].tolist() == [FEATURES]
    one, other = -np.sort(-np.log(model.label_proba_[30]))[:2]
    assert_allclose(table["log_odds"].sum(), one - other)


def test_an_unknown_item_and_a_loaded_model_are_refused(crowd, tmp_path):
    model = fitted("consensus", crowd)
    with pytest.raises(wc.InputError, match="'zebra' is not an item of the fit"):
        model.explain("zebra")
    wc.save(model, tmp_path)
    with pytest.raises(wc.InputError, match="does not hold the answers"):
        wc.load(tmp_path).explain(4)


def test_data_of_the_fit_are_neither_saved_nor_pickled(crowd, tmp_path):
    model = fitted("consensus", crowd)
    wc.save(model, tmp_path)
    assert "witnesses" not in vars(wc.load(tmp_path))
    assert not {"_given", "_witnesses"} & set(vars(wc.load(tmp_path)))
    assert not {"_given", "_witnesses"} & set(vars(pickle.loads(pickle.dumps(model))))
    assert vars(model)["_given"].n_classes == 3


def test_an_item_is_found_by_its_text_and_the_sum_is_said(crowd):
    found = findings(fitted("consensus", crowd), crowd.answers)
    rows, chosen = one_of_ledger(found, "4")
    assert_allclose(chosen["log_odds"], rows["log_odds"].sum())
    times = np.exp(chosen["log_odds"])
    assert f"{times:,.1f} times as probable" in chosen["sentence"]
    with pytest.raises(wc.InputError, match="not an item of the run"):
        one_of_ledger(found, "30")


def test_a_hundred_and_fifty_classes_are_explained_without_a_warning():
    answers = wc.Annotations.from_matrix(np.arange(150)[:, None] + np.zeros(3, int))
    assert len(wc.aggregate(answers).explain(7)) == 5
