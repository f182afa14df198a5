"""Which items are settled."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import wisecrowd as wc
from wisecrowd.experiments.crowds import known, settled_beside
from wisecrowd.results.findings import findings
from wisecrowd.results.settled import expected_error_high, settled
from wisecrowd.results.tables import class_table, label_table

# In steps of 1 %, so that ties are frequent and sums are exact enough.
PROBABILITIES = st.lists(st.integers(0, 100), min_size=1, max_size=12)


@given(PROBABILITIES, st.integers(0, 30))
def test_settled_are_the_most_items_that_keep_the_limit(hundredths, at):
    p = np.array(hundredths) / 100
    chosen = settled(p, at / 100)
    best = np.zeros(len(p), bool)
    for least in {100, *hundredths}:  # oracle: try every limit
        if least < min(80, 100 - at):
            continue
        some = np.array(hundredths) >= least
        unknown = [100 - h for h in hundredths if least <= h < 100]
        if sum(unknown) <= at * len(unknown) and some.sum() >= best.sum():
            best = some
    assert_array_equal(chosen, best)


def test_known_classes_do_not_make_room_for_doubtful_ones():
    p = np.array([1.0] * 96 + [0.6, 0.99])
    assert settled(p, 0.02).tolist() == [True] * 96 + [False, True]


def test_a_doubtful_label_is_not_settled_by_the_certainty_of_others():
    p = np.array([0.999] * 1000 + [0.55])
    assert settled(p, 0.02).tolist() == [True] * 1000 + [False]
    assert settled(p, 0.5).all()


@pytest.mark.parametrize("at", [-0.1, 1.1])
def test_a_limit_is_a_share(at):
    with pytest.raises(wc.InputError, match="settled_at"):
        settled(np.array([0.5]), at)


def error_of_settled(answers, truth, at):
    """Return how many labels are settled, and how many of these are wrong."""
    model = wc.aggregate(answers)
    chosen = findings(model, answers, settled_at=at).items["settled"].to_numpy()
    return chosen.sum(), (model.labels_ != truth)[chosen].sum()


@pytest.mark.parametrize("at", [0.02, 0.1])
def test_on_simulated_crowds_the_settled_are_as_wrong_as_they_may_be(at):
    total = np.zeros(2)
    for seed in range(4):
        crowd = wc.simulate(
            400, 20, 3, answers_per_item=4, spammers=0.1, random_state=seed
        )
        total += error_of_settled(crowd.answers, crowd.classes[crowd.truth], at)
    n, n_wrong = total
    assert n > 400  # there is something to see
    # Three standard deviations of a binomial above the limit.
    assert n_wrong <= at * n + 3 * np.sqrt(n * at * (1 - at))


def test_settled_labels_may_be_too_certain_by_the_doubt_of_the_pool():
    items = pd.DataFrame({"settled": [True, True, False], "p_a": [0.98, 1.0, 0.5]})
    items["p_b"] = 1 - items["p_a"]
    odds = (0.98 / 0.02) ** math.exp(-0.5)
    assert_allclose(expected_error_high(items), (1 / (1 + odds) + 0) / 2)
    assert expected_error_high(items[items["p_a"] < 0.9]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", wc.datasets.CROWDS)
@pytest.mark.usefixtures("data_folder")
def test_on_real_crowds_no_more_are_wrong_than_the_sentence_says(name):
    crowd = wc.datasets.load_crowd(name)
    gold = crowd.gold.reindex(crowd.answers.items)
    found = findings(wc.aggregate(crowd.answers), crowd.answers, settled_at=0.05)
    scored = found.items["settled"].to_numpy() & gold.notna().to_numpy()
    n_wrong = (found.items["label"].to_numpy() != gold.to_numpy())[scored].sum()
    limit = found.about["expected_error_high"]
    assert n_wrong <= limit * scored.sum() + 1  # trec: 3 of 18, limit .14


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
def test_the_prevalence_of_most_real_crowds_is_in_its_interval():
    held = []
    for name in wc.datasets.CROWDS:
        crowd = wc.datasets.load_crowd(name)
        model = wc.aggregate(crowd.answers)
        gold = crowd.gold.reindex(model.items_).dropna()
        items = label_table(model, crowd.answers).set_index("item").loc[gold.index]
        found = class_table(items, model.classes_).set_index("class")
        truth = gold.value_counts(normalize=True).reindex(found.index, fill_value=0.0)
        held += list((found["low"] <= truth) & (truth <= found["high"]))
    assert (sum(held), len(held)) == (37, 41)  # docs/files.md


# Not face4, dog and civilcomments: their crowds are sure of what gold calls wrong, and
# .15, .10 and .10 of the settled labels are wrong (docs/files.md).
@pytest.mark.slow
@pytest.mark.parametrize("name", ["bluebird", "snow-rte", "snow-temp", "sp_amt"])
def test_on_real_crowds_the_settled_are_as_wrong_as_they_may_be(name, real_crowd):
    answers, gold = real_crowd(name)
    known = gold.reindex(answers.items)
    n, n_wrong = error_of_settled(answers, known.to_numpy(), 0.05)
    assert n_wrong <= 0.05 * n + 3 * np.sqrt(n * 0.05 * 0.95)


PAGE = Path(__file__).parents[2] / "docs/report.md"
WRONG = r"([\d,]+ of [\d,]+)"
ROW = rf"^\| ([\w-]+) \| ([\d,]+) \| {WRONG} \| {WRONG} \| {WRONG} \|$"


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
@pytest.mark.filterwarnings("ignore:no item is labelled")
@pytest.mark.parametrize("row", re.findall(ROW, PAGE.read_text("utf-8"), re.M))
def test_the_page_tells_how_many_settled_labels_are_wrong(row):
    crowd = known(row[0])
    found = settled_beside(crowd.answers, crowd.codes, crowd.rows).split("; ")
    told = [cell.replace(",", "") for cell in row[1:]]
    assert found[:2] == told[:2]
    for here, there in zip(found[2:], told[2:], strict=True):
        counts = [[int(n) for n in cell.split(" of ")] for cell in (here, there)]
        assert_allclose(*counts, rtol=0.05, atol=2)  # rounding decides close ones
