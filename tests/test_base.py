import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

import contract
import oracles
from wisecrowd import (
    BCC,
    GLAD,
    SVGPCR,
    Annotations,
    DawidSkene,
    InputError,
    MajorityVote,
    load,
    save,
    simulate,
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
    assert_allclose(summary["accuracy"], [0.95, 0.9, 0.8, 0.2, 0.1], atol=0.03)
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
    model = BCC().fit(contract.crowd(n_items=100))
    asked = Annotations.from_triples(
        ["x", "x"], ["ann", "eve"], ["dog", "owl"], classes=["cat", "dog", "owl"]
    )
    new = model.annotator_prior_.mean(0)
    new = new / new.sum(-1, keepdims=True)
    given = np.array([model.confusion_[0, :, 1], new[:, 2]])
    share = model.learned_.skills.hard_share
    weight = oracles.answer_weight([0, 0], 1, model.dependence_)
    log_class = weight * np.log(model.class_prior_)[None]
    want, _, _ = oracles.with_decoys(
        given, [0, 0], [1, 2], weight, log_class, share, 0.5
    )
    assert_allclose(model.predict_proba(asked)[0], want[0], rtol=1e-9)


def test_a_stranger_counts_as_the_mean_of_the_crowd_in_dawid_skene():
    _, answers = paper_crowd(300)
    good = answers.subset(annotators=[0, 1, 2])
    model = DawidSkene().fit(good)
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


# -- hard items ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def misleading():
    """A crowd in which a fifth of the items mislead annotators, half of the time."""
    rng = np.random.default_rng(2)
    difficulty = np.where(rng.random(600) < 0.2, 0.5, 0.0)
    names = ["cat", "dog", "owl", "yak"]
    return simulate(
        600, 20, 4, answers_per_item=10, accuracy=0.9, difficulty=difficulty,
        classes=names, random_state=2,
    )  # fmt: skip


@pytest.fixture(scope="module")
def found_hard(misleading):
    return BCC(dependence=1e-9).fit(misleading.answers)


def test_hard_items_and_their_decoys_are_found(misleading, found_hard):
    model, hard = found_hard, misleading.difficulty > 0
    assert model.hard_proba_.shape == (600,)
    assert model.hard_proba_[hard].mean() > 0.5
    assert model.hard_proba_[~hard].mean() < 0.1
    assert_allclose(model.hard_share_, 0.2, atol=0.15)
    right = model.label_proba_.argmax(1) == misleading.truth
    decoys = misleading.classes[misleading.decoy[hard & right]]
    assert (model.decoy_[hard & right] == decoys).mean() > 0.9


def test_a_decoy_is_a_class_that_was_named_and_is_not_the_label(found_hard, misleading):
    votes = misleading.answers.codes.votes()
    several = (votes > 0).sum(1) > 1
    nothing = np.array([name is None for name in found_hard.decoy_])
    assert (nothing == ~several).all()
    assert set(found_hard.decoy_[several]) == set(misleading.classes)
    assert (found_hard.decoy_ != found_hard.labels_).all()
    place = {name: c for c, name in enumerate(misleading.classes)}
    codes = [place[name] for name in found_hard.decoy_[several]]
    assert (votes[several, codes] > 0).all()


def test_gold_says_which_item_misled_everybody():
    answers = Annotations.from_matrix([[0, 0, 0], [1, 1, 1], [0, 1, 0]] * 20)
    free = BCC(dependence=0.1).fit(answers)
    told = BCC(dependence=0.1).fit(answers, gold={0: 1})
    assert told.hard_proba_[0] > 10 * free.hard_proba_[0]
    assert (told.decoy_[0], free.decoy_[0]) == (0, None)


def test_hard_items_are_saved_with_the_model(found_hard, tmp_path):
    save(found_hard, tmp_path)
    back = load(tmp_path)
    assert (back.hard_proba_ == found_hard.hard_proba_).all()
    assert (back.decoy_ == found_hard.decoy_).all()
    assert back.hard_share_ == found_hard.hard_share_


@pytest.mark.parametrize("dependence", [0, None])
def test_no_item_is_hard_where_answers_are_independent(dependence):
    model = BCC(dependence=dependence).fit(contract.crowd())
    assert not hasattr(model, "hard_proba_")
    assert not hasattr(model, "decoy_")
    assert model.hard_share_ == 0
    with pytest.raises(AttributeError, match="No item is hard with dependence=0"):
        _ = model.hard_proba_


def test_other_methods_have_no_hard_items():
    for method in (MajorityVote, DawidSkene, GLAD):
        assert not hasattr(method().fit(contract.crowd()), "hard_proba_")
    assert not hasattr(BCC.as_published().fit(contract.crowd()), "hard_proba_")
