import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

import contract
from wisecrowd import (
    BCC,
    SVGPCR,
    Annotations,
    DawidSkene,
    InputError,
    MajorityVote,
)
from wisecrowd.base import as_annotations

N_CLASSES = 5


def paper_crowd(n_items, seed=0):
    """The paper's five annotators: three that are good, a spammer, an adversary."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, N_CLASSES, n_items)
    table = np.empty((n_items, 5), dtype=int)
    for a, skill in enumerate((0.95, 0.9, 0.8)):
        wrong = (truth + rng.integers(1, N_CLASSES, n_items)) % N_CLASSES
        table[:, a] = np.where(rng.random(n_items) < skill, truth, wrong)
    table[:, 3] = rng.integers(0, N_CLASSES, n_items)
    swapped = (truth + 1) % N_CLASSES
    table[:, 4] = np.where(rng.random(n_items) < 0.9, swapped, truth)
    return truth, Annotations.from_matrix(table)


@pytest.mark.parametrize("make", [BCC, DawidSkene], ids=lambda m: m.__name__)
@pytest.mark.parametrize("n_items", [60, 1000])
def test_the_papers_spammer_and_adversary_are_flagged_and_nobody_else(make, n_items):
    _, answers = paper_crowd(n_items)
    summary = make().fit(answers).annotator_summary()
    assert (summary["spammer"] > 0.5).tolist() == [False, False, False, True, False]
    flagged = (summary["adversarial"] > 0.5).tolist()
    assert flagged == [False, False, False, False, True]


def test_accuracy_and_informativeness_are_those_of_the_simulation():
    _, answers = paper_crowd(5000)
    summary = BCC().fit(answers).annotator_summary()
    assert_allclose(summary["accuracy"], [0.95, 0.9, 0.8, 0.2, 0.1], atol=0.04)
    told = summary["informativeness"].to_numpy()
    assert told[0] > told[1] > told[2] > 0.3
    assert told[3] < 0.02
    assert told[4] > 0.5  # a perfect adversary tells as much as an oracle


def test_doubtful_labels_widen_the_interval_and_gold_narrows_it():
    answers = contract.crowd(n_items=40)
    model = BCC().fit(answers)
    truth = dict(zip(model.items_, model.labels_, strict=True))
    certain = BCC().fit(answers, gold=truth)
    assert (
        model.learned_.skills.hit_variance > certain.learned_.skills.hit_variance
    ).all()
    assert_allclose(certain.learned_.skills.hit_variance, 0.0)


def test_the_level_must_be_a_probability():
    model = MajorityVote().fit(contract.crowd())
    for level in (0.0, 1.0, 95.0):
        with pytest.raises(InputError, match="between 0 and 1"):
            model.annotator_summary(level=level)
        with pytest.raises(InputError, match="between 0 and 1"):
            model.confusion_interval(level=level)


def test_asking_before_the_fit_is_scikit_learns_error():
    for ask in (
        lambda m: m.annotator_summary(),
        lambda m: m.confusion_interval(),
        lambda m: m.predict_proba(contract.crowd()),
    ):
        with pytest.raises(NotFittedError):
            ask(BCC())


def test_as_annotations_takes_what_users_have():
    matrix = [[0, 1, -1], [1, 1, 0]]
    want = Annotations.from_matrix(matrix)
    table = want.to_frame()
    nested = {0: {0: 0, 1: 1}, 1: {0: 1, 1: 1, 2: 0}}
    for given in (want, np.array(matrix), table, nested, pd.DataFrame(table)):
        made = as_annotations(given)
        assert made.to_matrix().tolist() == [[0, 1, -1], [1, 1, 0]]
    target = as_annotations([0, 1, 1])
    assert target.to_matrix().tolist() == [[0], [1], [1]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("answers.csv", r"read_annotations\('answers.csv'\)"),
        (None, "not a NoneType"),
        (pd.DataFrame({"task": [], "worker": [], "label": []}), "input is empty"),
    ],
)
def test_as_annotations_says_what_to_bring(given, said):
    with pytest.raises(InputError, match=said):
        as_annotations(given)


def test_an_annotator_tells_nothing_where_there_is_nothing_to_tell():
    same = Annotations.from_matrix([[0, 0], [0, 0]], classes=[0, 1])
    summary = MajorityVote().fit(same).annotator_summary()
    assert summary["informativeness"].tolist() == [0.0, 0.0]


def test_gold_is_used_only_where_it_is_passed():
    answers = contract.crowd().with_gold({"i00": "owl"})
    assert (as_annotations(answers).gold_codes == -1).all()
    assert (as_annotations(answers, answers.gold).gold_codes >= 0).sum() == 1


def test_the_matrix_of_answers_has_a_column_for_every_annotator_and_answer():
    codes = contract.crowd().codes
    assert codes.matrix.shape == (30, 4 * 3)
    assert codes.matrix.sum() == len(codes)


def test_fit_predict_is_fit_and_then_labels():
    answers = contract.crowd()
    model = DawidSkene().fit(answers)
    assert (DawidSkene().fit_predict(answers) == model.labels_).all()
    assert_allclose(DawidSkene().fit_predict_proba(answers), model.label_proba_)


def test_prediction_multiplies_the_answers_into_the_class_prior():
    model = BCC(dependence=0).fit(contract.crowd(n_items=100))
    asked = Annotations.from_triples(
        ["x", "x"], ["ann", "eve"], ["dog", "owl"], classes=["cat", "dog", "owl"]
    )
    new = model.annotator_prior_.mean(0)
    new = new / new.sum(-1, keepdims=True)
    want = model.class_prior_ * model.confusion_[0, :, 1] * new[:, 2]
    assert_allclose(model.predict_proba(asked)[0], want / want.sum(), rtol=1e-9)


def test_a_stranger_counts_as_the_mean_of_the_crowd_in_dawid_skene():
    _, answers = paper_crowd(300)
    good = answers.subset(annotators=[0, 1, 2])
    model = DawidSkene.as_published().fit(good)
    asked = Annotations.from_triples(
        ["x", "y"], ["new", "other"], [3, 1], classes=range(5)
    )
    with pytest.warns(UserWarning, match="2 annotators: 0 known, 2 new"):
        proba = model.predict_proba(asked)
    want = model.class_prior_ * model.confusion_.mean(0)[:, 3]
    assert_allclose(proba[0], want / want.sum(), rtol=1e-9)
    assert proba[0].argmax() == 3
    assert proba[0, 3] > 0.7


def test_strangers_are_better_than_the_shares_of_the_classes():
    truth, answers = paper_crowd(300)
    model = DawidSkene().fit(answers.subset(annotators=[0, 1]))
    stranger = answers.subset(annotators=[2])
    with pytest.warns(UserWarning, match="1 new"):
        found = model.predict(stranger)
    assert (found == truth).mean() > 0.7


def test_answers_on_items_without_features_name_the_argument():
    model = contract_classifier()
    X = np.zeros((3, 2))
    with pytest.raises(InputError, match="items="):
        model.fit(X, {"a": {"ann": 0, "bob": 1}})


def contract_classifier():

    return SVGPCR(n_inducing=2, max_epochs=1)
