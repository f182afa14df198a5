"""Consensus, the default: what its settings do, and what it tells."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import wisecrowd as wc
from wisecrowd import Consensus, InputError
from wisecrowd.simulation.crowds import simulate


@pytest.fixture(scope="module")
def families():
    """Nine judges of three families, who slip together."""
    return simulate(
        300, 9, 3, answers_per_item=9, groups=3, group_slip=0.6, spammers=0,
        accuracy=0.7, activity="equal", random_state=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def fitted(families):
    return Consensus().fit(families.answers)


def test_aggregate_is_consensus(families, fitted):
    found = wc.aggregate(families.answers)
    assert type(found) is Consensus
    assert found.get_params() == Consensus().get_params()
    assert_array_equal(found.label_proba_, fitted.label_proba_)


def test_aggregate_passes_gold_and_groups_on(families):
    gold = {i: int(families.truth[i]) for i in range(0, 60, 2)}
    groups = {who: who // 3 for who in range(9)}
    found = wc.aggregate(families.answers, gold=gold, groups=groups)
    again = Consensus(groups=groups).fit(families.answers, gold=gold)
    assert_array_equal(found.label_proba_, again.label_proba_)
    assert_array_equal(found.labels_[list(gold)], list(gold.values()))
    assert found.calibration_.n_gold == len(gold)


def test_the_same_answers_have_the_same_labels_in_any_order(families, fitted):
    table = families.answers.to_frame().sample(frac=1, random_state=0)
    again = Consensus().fit(wc.Annotations.from_frame(table))
    place = [again.items_.tolist().index(item) for item in fitted.items_.tolist()]
    assert_allclose(again.label_proba_[place], fitted.label_proba_, atol=1e-8)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_the_trace_has_one_row_per_iteration_and_no_more_than_max_iter(
    families, fitted, max_iter
):
    few = Consensus(max_iter=max_iter).fit(families.answers)
    assert len(few.trace_) == max_iter < len(fitted.trace_)
    assert_allclose(fitted.trace_["bound"][:max_iter], few.trace_["bound"])


@pytest.mark.parametrize("max_iter", [0, 2.5, "ten", None])
def test_a_max_iter_that_is_no_number_is_refused_with_a_sentence(max_iter):
    with pytest.raises(InputError, match=r"^max_iter=.* a whole number, at least 1\.$"):
        Consensus().set_params(max_iter=max_iter).fit([[0, 1], [1, 1], [0, 0]])


@pytest.mark.parametrize("dependence", [-0.1, 1.5, "know", None])
def test_a_dependence_that_is_no_correlation_is_refused(dependence):
    model = Consensus().set_params(dependence=dependence)
    with pytest.raises(InputError, match=r"^dependence=.*'learn' or from 0 to 1"):
        model.fit([[0, 1], [1, 1], [0, 0]])


# -- families ---------------------------------------------------------------------


def true_groups(families):
    return dict(enumerate(families.group.tolist()))


def test_known_families_change_labels_and_are_worth_no_more_than_their_number(
    families, fitted
):
    known = Consensus(groups=true_groups(families)).fit(families.answers)
    n_families = len(set(families.group.tolist()))
    assert np.abs(known.label_proba_ - fitted.label_proba_).max() > 0.05
    assert known.worth_ <= n_families
    assert fitted.worth_ < 9


def test_without_dependence_a_family_still_has_one_vote(families):
    alone = Consensus(dependence=0).fit(families.answers)
    known = Consensus(dependence=0, groups=true_groups(families)).fit(families.answers)
    assert alone.worth_ == 9
    assert_allclose(known.worth_, len(set(families.group.tolist())))
    assert known.label_proba_.max(1).mean() < alone.label_proba_.max(1).mean()


def test_families_of_one_change_nothing_where_nobody_copies(families, fitted):
    alone = {who: f"family {who}" for who in range(9)}
    found = Consensus(groups=alone).fit(families.answers)
    assert_array_equal(found.label_proba_, fitted.label_proba_)


def test_families_of_unknown_annotators_are_refused_with_a_sentence(families):
    said = r"^groups names no annotator of these answers\. It names 'gpt-4'; .*0, 1, 2"
    with pytest.raises(InputError, match=said):
        Consensus(groups={"gpt-4": "gpt"}).fit(families.answers)
    with pytest.raises(InputError, match=said):
        wc.aggregate(families.answers, groups={"gpt-4": "gpt"})


# -- what it tells ------------------------------------------------------------------


def test_independent_annotators_are_worth_more_than_families(fitted):
    made = simulate(
        300, 9, 3, answers_per_item=9, spammers=0, accuracy=0.7, activity="equal",
        random_state=1,
    )  # fmt: skip
    apart = Consensus().fit(made.answers)
    assert apart.dependence_ < 0.1 < fitted.dependence_
    assert apart.worth_ > 5 > fitted.worth_
    for model in (apart, fitted):
        low, high = model.worth_interval_
        assert 1 <= low <= model.worth_ <= high <= 9


def test_new_items_are_labelled_from_their_answers(families, fitted):
    some = families.answers.subset(items=range(50))
    proba = fitted.predict_proba(some)
    assert_allclose(proba.sum(1), 1.0)
    assert (proba.argmax(1) == fitted.label_proba_[:50].argmax(1)).mean() > 0.8


def test_one_wrong_gold_class_does_not_turn_the_labels_around():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    right = rng.random((300, 5)) < 0.95
    rows = np.where(right, truth[:, None], 1 - truth[:, None])
    item = int(np.flatnonzero(right.all(1))[0])
    found = wc.aggregate(rows, gold={item: int(1 - truth[item])})
    assert (found.labels_ == truth).mean() > 0.9  # it was .003
