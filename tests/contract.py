"""What every method promises, as checks that run on each of them.

A check takes a :class:`Subject`: how to make a method, fit it and ask it, so that
aggregators (answers alone) and classifiers (features too) pass the same checks.
``tests/methods/test_contract.py`` runs :data:`CHECKS` on all of ``wisecrowd.METHODS``.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils import get_tags

from wisecrowd._checks import InputError
from wisecrowd._records import is_record, parts
from wisecrowd.annotations import Annotations
from wisecrowd.base import Aggregator, WithConfusionMatrices
from wisecrowd.skills import ConfusionMatrices, Skills

ATTRIBUTES = (
    "classes_", "answers_", "annotators_", "items_", "label_proba_", "labels_",
    "class_prior_", "confusion_", "n_answers_", "dependence_", "learned_", "trace_",
)  # fmt: skip


def two_clouds(seed=0, n_items=60, n_features=2):
    """Two clouds, three annotators: good, fair, and one who flips a coin."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_items)
    X = rng.normal(size=(n_items, n_features)) + 3 * truth[:, None]
    wrong = rng.random((n_items, 3)) < [0.05, 0.25, 0.5]
    return X, np.where(wrong, 1 - truth[:, None], truth[:, None]), truth


class Subject(NamedTuple):
    """A method under test: how to make, fit and ask it, and what it learns from."""

    make: Callable[[], Any]
    fit: Callable[..., Any]  # (model, answers, gold=None) -> model
    predict_proba: Callable[[Any, Any], np.ndarray]  # (model, answers)
    predict: Callable[[Any, Any], np.ndarray]
    without_answers: Callable[[Any, Any], np.ndarray]  # (model, answers): of the same
    crowd: Callable[..., Annotations]  # (seed, n_items, **options)
    classes: list[str]  # of the crowd: two where the method takes no more
    kept: dict[str, Any]  # the shared model, once it is fitted

    def fitted(self, answers: Any, gold: Any = None) -> Any:
        return self.fit(self.make(), answers, gold=gold)

    def shared(self) -> Any:
        """The model of `crowd()`, fitted once: for checks that only ask it."""
        if "model" not in self.kept:
            self.kept["model"] = self.fitted(self.crowd())
        return self.kept["model"]


def aggregator(cls: type, **settings: Any) -> Subject:
    """A method that needs no features."""
    return Subject(
        lambda: cls(**settings),
        lambda model, answers, gold=None: model.fit(answers, gold=gold),
        lambda model, answers: model.predict_proba(answers),
        lambda model, answers: model.predict(answers),
        lambda model, answers: model.class_prior_[None],
        crowd,
        CLASSES,
        {},
    )


def classifier(cls: type, **settings: Any) -> Subject:
    """A method with features; here they say a little about the item's class."""

    def fit(model: Any, answers: Any, gold: Any = None) -> Any:
        if not isinstance(answers, Annotations):
            return model.fit(np.zeros((max(2, len(answers)), 2)), answers, gold=gold)
        return model.fit(features(answers), answers, items=answers.items, gold=gold)

    classes = CLASSES if get_tags(cls()).classifier_tags.multi_class else CLASSES[:2]

    def some_crowd(seed: int = 0, n_items: int = 30, **options: Any) -> Annotations:
        make = right_answers if cls.__name__ == "SVGP" else crowd
        return make(seed, n_items, **{"n_classes": len(classes), **options})

    return Subject(
        lambda: cls(**settings),
        fit,
        lambda model, answers: model.predict_proba(
            features(answers), annotations=answers, items=answers.items
        ),
        lambda model, answers: model.predict(
            features(answers), annotations=answers, items=answers.items
        ),
        lambda model, answers: model.predict_proba(features(answers)),
        some_crowd,
        classes,
        {},
    )


def features(answers: Annotations) -> np.ndarray:
    """Two columns per item, the same for the same answers."""
    noise = np.random.default_rng(0).normal(size=(len(answers.items), 2))
    return noise + answers.counts()[:, :2]


def subject(cls: type, **settings: Any) -> Subject:
    make = aggregator if issubclass(cls, Aggregator) else classifier
    return make(cls, **settings)


# -- crowds ------------------------------------------------------------------------

CLASSES = ["cat", "dog", "owl"]


def drawn_truth(
    seed: int, n_items: int, n_classes: int
) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, n_classes, n_items), rng


def crowd(
    seed: int = 0, n_items: int = 30, n_classes: int = 3, **options: Any
) -> Annotations:
    """Four annotators with names; most answers are right."""
    truth, rng = drawn_truth(seed, n_items, n_classes)
    table = np.where(rng.random((n_items, 4)) < 0.75, truth[:, None], -2)
    table = np.where(table < 0, rng.integers(0, n_classes, table.shape), table)
    names = np.array(CLASSES, dtype=object)[table]
    absent = rng.random(table.shape) < 0.2
    absent[:, 0] = False  # ann answered everything
    names[absent] = None
    options.setdefault("classes", CLASSES[:n_classes])
    return named(names, ["ann", "bob", "cy", "dee"], **options)


def right_answers(
    seed: int = 0, n_items: int = 30, n_classes: int = 3, **options: Any
) -> Annotations:
    """One annotator, who is always right: for methods that trust every answer."""
    truth, _ = drawn_truth(seed, n_items, n_classes)
    options.setdefault("classes", CLASSES[:n_classes])
    return named(np.array(CLASSES, dtype=object)[truth][:, None], ["ann"], **options)


def named(table: np.ndarray, people: list[str], **options: Any) -> Annotations:
    items = [f"i{n:02d}" for n in range(len(table))]
    return Annotations.from_matrix(table, items=items, annotators=people, **options)


def fitted_state(model: Any) -> dict[str, Any]:
    """All that was learned, without the clock."""
    state = {n: v for n, v in vars(model).items() if n.endswith("_")}
    state["trace_"] = state["trace_"].drop(columns="seconds")
    return state


def assert_same_fit(left: Any, right: Any) -> None:
    assert_same(fitted_state(left), fitted_state(right), "")


def assert_same(one: Any, other: Any, name: str) -> None:
    assert type(one) is type(other), name
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
    elif is_record(one):
        assert_same(parts(one), parts(other), name)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key, value in one.items():
            assert_same(value, other[key], f"{name}.{key}")
    else:
        assert_array_equal(one, other, err_msg=name)


def assert_probabilities(proba: np.ndarray, shape: tuple[int, int]) -> None:
    assert proba.shape == shape
    assert (proba >= 0).all()
    assert_allclose(proba.sum(1), 1.0, rtol=1e-6)


# -- checks ------------------------------------------------------------------------


def a_second_fit_is_the_same_and_leaves_settings_and_inputs_alone(
    subject: Subject,
) -> None:
    answers, untouched, model = subject.crowd(), subject.crowd(), subject.make()
    before = dict(model.get_params())
    assert subject.fit(model, answers) is model
    assert model.get_params() == before
    assert_same_fit(subject.shared(), model)
    subject.predict_proba(model, answers)
    for name in ("item", "annotator", "answer", "gold_codes", "items", "answers"):
        assert_array_equal(getattr(answers, name), getattr(untouched, name))


def refit_forgets(subject: Subject) -> None:
    model = subject.fit(subject.fitted(subject.crowd(1)), subject.crowd())
    assert_same_fit(model, subject.shared())


def params_survive_clone_and_set_params(subject: Subject) -> None:
    model = subject.make()
    params = model.get_params()
    assert clone(model).get_params() == params
    assert type(model)().set_params(**params).get_params() == params
    copy = clone(subject.shared())
    assert not [name for name in vars(copy) if name.endswith("_")]


def one_answer_per_item_is_enough(subject: Subject) -> None:
    answers = subject.crowd()
    first = answers._rows(np.diff(answers.item, prepend=-1) > 0)
    model = subject.fitted(first)
    assert_probabilities(model.label_proba_, (len(first.items), len(subject.classes)))


def empty_input_is_refused_with_a_sentence(subject: Subject) -> None:
    for empty in (
        pd.DataFrame({"item": [], "annotator": [], "answer": []}),
        np.empty((0, 3)),
        np.full((2, 3), np.nan),
    ):
        # A classifier sees first that the features have more rows.
        why = r"^(there are no annotations|X and the answers have inconsistent).*\.$"
        with pytest.raises(InputError, match=why):
            subject.fitted(empty)


def one_class_is_refused_with_a_sentence(subject: Subject) -> None:
    with pytest.raises(InputError, match=r"^there is only one class, 0.*\.$"):
        subject.fitted(np.zeros((4, 3), dtype=int))


def proba_rows_sum_to_one_and_predict_agrees(subject: Subject) -> None:
    model, more = subject.shared(), subject.crowd(5, n_items=12)
    n_classes = len(subject.classes)
    assert_probabilities(model.label_proba_, (30, n_classes))
    assert_array_equal(model.labels_, model.classes_[model.label_proba_.argmax(1)])
    proba = subject.predict_proba(model, more)
    assert_probabilities(proba, (12, n_classes))
    assert_array_equal(subject.predict(model, more), model.classes_[proba.argmax(1)])


def most_training_labels_are_right(subject: Subject) -> None:
    truth, _ = drawn_truth(0, 30, len(subject.classes))
    model = subject.shared()
    right = model.labels_ == np.array(CLASSES, dtype=object)[truth]
    assert right.mean() > 0.8


def attributes_are_there_and_documented(subject: Subject) -> None:
    model = subject.shared()
    docs = "\n".join(c.__doc__ or "" for c in type(model).__mro__)
    learned = {n for n in vars(model) if n.endswith("_") and not n.startswith("_")}
    for name in {*ATTRIBUTES, *learned}:
        assert hasattr(model, name), name
        assert name in docs, f"{name} is not documented"


def attributes_fit_together(subject: Subject) -> None:
    answers, model = subject.crowd(), subject.shared()
    n_classes = len(subject.classes)
    assert model.confusion_.shape == (len(answers.annotators), n_classes, n_classes)
    assert_allclose(model.confusion_.sum(-1), 1.0)
    for bound in model.confusion_interval(0.9):
        assert bound.shape == model.confusion_.shape
    assert_allclose(model.class_prior_.sum(), 1.0)
    assert_array_equal(model.n_answers_, answers.counts("annotator").sum(1))
    assert 0 <= model.dependence_ <= 1
    assert {"bound", "seconds"} <= set(model.trace_.columns)
    summary = model.annotator_summary()
    assert summary["annotator"].tolist() == answers.annotators.tolist()
    assert summary["accuracy"].between(summary["low"], summary["high"]).all()
    for column in ("accuracy", "informativeness", "spammer", "adversarial"):
        assert summary[column].between(0, 1).all()


def only_dirichlet_skills_have_counts(subject: Subject) -> None:
    model = subject.shared()
    dirichlet = isinstance(model.learned_.skills, ConfusionMatrices)
    assert isinstance(model, WithConfusionMatrices) is dirichlet
    for name in ("confusion_counts_", "annotator_prior_"):
        assert hasattr(model, name) is dirichlet
    if dirichlet:
        assert model.confusion_counts_.shape == model.confusion_.shape
        n_classes = len(subject.classes)
        assert model.annotator_prior_.shape[1:] == (n_classes, n_classes)
        seen = (model.confusion_counts_ - model.annotator_prior_).sum((1, 2))
        assert_allclose(seen, model.n_answers_)


def skills_are_a_part(subject: Subject) -> None:
    assert isinstance(subject.shared().learned_.skills, Skills)


def predictions_are_the_base_classes_own(subject: Subject) -> None:
    own = {name for c in type(subject.make()).__mro__ for name in own_names(c)}
    assert not own & {"predict_proba", "predict", "confusion_", "labels_"}


def own_names(cls: type) -> set[str]:
    """What a class of wisecrowd's methods defines itself; the bases have none."""
    return set(vars(cls)) if cls.__module__.startswith("wisecrowd.methods") else set()


def a_new_annotator_is_taken_at_the_prior(subject: Subject) -> None:
    model = subject.shared()
    asked = [
        Annotations.from_triples(["x"], [who], ["dog"], classes=subject.classes)
        for who in ("eve", "fay")
    ]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "1 annotator: 0 known, 1 new", UserWarning)
        eve, fay = (subject.predict_proba(model, answers) for answers in asked)
    assert_array_equal(eve, fay)
    # Where nothing is expected of a new annotator, what was known stays.
    assert eve[0, 1] >= subject.without_answers(model, asked[0])[0, 1] - 1e-9


def an_unknown_answer_at_predict_is_an_error_that_names_it(subject: Subject) -> None:
    model = subject.shared()
    asked = Annotations.from_triples(["x", "y"], ["ann", "bob"], ["emu", "cat"])
    with pytest.raises(InputError, match=r"'emu'.*'ann'.*'x'"):
        subject.predict_proba(model, asked)


def answers_that_are_not_classes_work(subject: Subject) -> None:
    answers, classes = subject.crowd(), subject.classes
    said = answers.answers[answers.answer].copy()
    said[::7] = "can't tell"
    frame = answers.to_frame().assign(answer=said)
    answers = Annotations.from_frame(frame, classes=classes, answers=["can't tell"])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*do not name a class", UserWarning)
        model = subject.fitted(answers)
        proba = subject.predict_proba(model, answers)
    for found in (proba, model.label_proba_):
        assert_probabilities(found, (30, len(classes)))
    shape = len(answers.annotators), len(classes), len(classes) + 1
    assert model.confusion_.shape == shape
    assert model.answers_.tolist() == [*classes, "can't tell"]


def annotators_and_items_without_answers_stay_in(subject: Subject) -> None:
    frame = subject.crowd().to_frame()
    answers = Annotations.from_frame(
        frame,
        items=[*sorted(set(frame["item"])), "unseen"],
        annotators=[*sorted(set(frame["annotator"])), "eve"],
    )
    model = subject.fitted(answers)
    assert_probabilities(model.label_proba_, (len(answers.items), len(subject.classes)))
    assert model.n_answers_.tolist()[-1] == 0
    both = np.array([len(answers.annotators) - 1, -1])
    silent, stranger = model.learned_.skills.chosen(both).confusion()
    assert_allclose(silent, stranger, rtol=1e-6)
    numbers = model.annotator_summary().drop(columns="annotator")
    assert np.isfinite(numbers.to_numpy(dtype=float)).all()


def a_class_that_nobody_named_works(subject: Subject) -> None:
    two = len(subject.classes) == 2  # then only one of them is named
    classes = ["cat", "emu"] if two else ["cat", "dog", "emu", "owl"]
    answers = subject.crowd(n_classes=1 if two else 3, classes=classes)
    model = subject.fitted(answers)
    assert_probabilities(model.label_proba_, (30, len(classes)))
    assert np.isfinite(model.confusion_).all()
    assert "emu" not in model.labels_


def gold_is_respected(subject: Subject) -> None:
    answers, free = subject.crowd(), subject.shared()
    classes = subject.classes
    other = dict(zip(classes, [*classes[1:], classes[0]], strict=True))
    gold = {f"i{n:02d}": other[free.labels_[n]] for n in (0, 3, 8)}
    given = dict(gold)
    model = subject.fitted(answers, gold=gold)
    assert gold == given
    assert (answers.gold_codes == -1).all()  # those of the caller are left alone
    for item, known in gold.items():
        row = model.label_proba_[list(model.items_).index(item)]
        assert row[list(model.classes_).index(known)] > 0.999


def a_matrix_a_table_and_triples_give_one_fit(subject: Subject) -> None:
    answers = subject.crowd()
    rows = [answers.to_frame()[name] for name in ("item", "annotator", "answer")]
    table = Annotations.from_frame(answers.to_frame().sample(frac=1, random_state=0))
    triples = Annotations.from_triples(*rows)
    want = subject.shared().label_proba_
    for same in (table, triples):
        assert_allclose(subject.fitted(same).label_proba_, want, atol=1e-9)


def a_saved_model_answers_as_before(subject: Subject, folder: Any) -> None:
    from wisecrowd.persist import load, save

    model, more = subject.shared(), subject.crowd(5, n_items=12)
    save(model, folder / "run")
    back = load(folder / "run")
    assert type(back) is type(model)
    assert back.get_params() == model.get_params()
    assert_same_fit(back, model)
    assert_array_equal(
        subject.predict_proba(back, more), subject.predict_proba(model, more)
    )


CHECKS = (
    a_second_fit_is_the_same_and_leaves_settings_and_inputs_alone,
    refit_forgets,
    params_survive_clone_and_set_params,
    one_answer_per_item_is_enough,
    empty_input_is_refused_with_a_sentence,
    one_class_is_refused_with_a_sentence,
    proba_rows_sum_to_one_and_predict_agrees,
    most_training_labels_are_right,
    attributes_are_there_and_documented,
    attributes_fit_together,
    only_dirichlet_skills_have_counts,
    skills_are_a_part,
    predictions_are_the_base_classes_own,
    a_new_annotator_is_taken_at_the_prior,
    an_unknown_answer_at_predict_is_an_error_that_names_it,
    answers_that_are_not_classes_work,
    annotators_and_items_without_answers_stay_in,
    a_class_that_nobody_named_works,
    gold_is_respected,
    a_matrix_a_table_and_triples_give_one_fit,
)
