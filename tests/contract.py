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

from wisecrowd._checks import InputError
from wisecrowd.base import Aggregator
from wisecrowd.annotations import Annotations

ATTRIBUTES = (
    "classes_", "answers_", "annotators_", "items_", "label_proba_", "labels_",
    "class_prior_", "confusion_counts_", "annotator_prior_", "n_labels_", "trace_",
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
    fit: Callable[..., Any]  # (model, labels, gold=None) -> model
    predict_proba: Callable[[Any, Any], np.ndarray]  # (model, labels)
    predict: Callable[[Any, Any], np.ndarray]
    without_answers: Callable[[Any, Any], np.ndarray]  # (model, labels): of the same
    crowd: Callable[..., Annotations]  # (seed, n_items, **options)

    def fitted(self, labels: Any, gold: Any = None) -> Any:
        return self.fit(self.make(), labels, gold=gold)


def aggregator(cls: type, **settings: Any) -> Subject:
    """A method that needs no features."""
    return Subject(
        lambda: cls(**settings),
        lambda model, labels, gold=None: model.fit(labels, gold=gold),
        lambda model, labels: model.predict_proba(labels),
        lambda model, labels: model.predict(labels),
        lambda model, labels: model.class_prior_[None],
        crowd,
    )


def classifier(cls: type, **settings: Any) -> Subject:
    """A method with features; here they say a little about the item's class."""

    def fit(model: Any, labels: Any, gold: Any = None) -> Any:
        if not isinstance(labels, Annotations):
            return model.fit(np.zeros((max(2, len(labels)), 2)), labels, gold=gold)
        return model.fit(features(labels), labels, items=labels.items, gold=gold)

    return Subject(
        lambda: cls(**settings),
        fit,
        lambda model, labels: model.predict_proba(
            features(labels), annotations=labels, items=labels.items
        ),
        lambda model, labels: model.predict(
            features(labels), annotations=labels, items=labels.items
        ),
        lambda model, labels: model.predict_proba(features(labels)),
        right_labels if cls.__name__ == "SVGP" else crowd,
    )


def features(labels: Annotations) -> np.ndarray:
    """Two columns an item, the same for the same labels."""
    noise = np.random.default_rng(0).normal(size=(len(labels.items), 2))
    return noise + labels.counts()[:, :2]


def subject(cls: type, **settings: Any) -> Subject:
    make = aggregator if issubclass(cls, Aggregator) else classifier
    return make(cls, **settings)


# -- crowds ------------------------------------------------------------------------

CLASSES = ["cat", "dog", "owl"]


def drawn_truth(seed: int, n_items: int) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, n_items), rng


def crowd(seed: int = 0, n_items: int = 30, **options: Any) -> Annotations:
    """Four annotators with names, three classes; most answers are right."""
    truth, rng = drawn_truth(seed, n_items)
    table = np.where(rng.random((n_items, 4)) < 0.75, truth[:, None], -2)
    table = np.where(table < 0, rng.integers(0, 3, table.shape), table)
    names = np.array(CLASSES, dtype=object)[table]
    absent = rng.random(table.shape) < 0.2
    absent[:, 0] = False  # ann answered everything
    names[absent] = None
    return named(names, ["ann", "bob", "cy", "dee"], **options)


def right_labels(seed: int = 0, n_items: int = 30, **options: Any) -> Annotations:
    """One annotator, who is always right: for methods that believe every label."""
    truth, _ = drawn_truth(seed, n_items)
    return named(np.array(CLASSES, dtype=object)[truth][:, None], ["ann"], **options)


def named(table: np.ndarray, people: list[str], **options: Any) -> Annotations:
    items = [f"i{n:02d}" for n in range(len(table))]
    options.setdefault("classes", CLASSES)
    return Annotations.from_matrix(table, items=items, annotators=people, **options)


def fitted_state(model: Any) -> dict[str, Any]:
    """All that was learned, without the clock."""
    state = {n: v for n, v in vars(model).items() if n.endswith("_")}
    state["trace_"] = state["trace_"].drop(columns="seconds")
    return state


def assert_same_fit(left: Any, right: Any) -> None:
    assert_same(fitted_state(left), fitted_state(right), "")


def assert_same(one: Any, other: Any, name: str) -> None:
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
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


def fit_returns_self(subject: Subject) -> None:
    model = subject.make()
    assert subject.fit(model, subject.crowd()) is model


def refit_forgets(subject: Subject) -> None:
    model = subject.fit(subject.fitted(subject.crowd(1, n_items=20)), subject.crowd(2))
    assert_same_fit(model, subject.fitted(subject.crowd(2)))


def inputs_stay_as_they_were(subject: Subject) -> None:
    labels, untouched = subject.crowd(), subject.crowd()
    gold = {"i00": "cat"}
    model = subject.fitted(labels, gold=gold)
    subject.predict_proba(model, labels)
    for name in ("item", "annotator", "label", "gold_codes", "items", "answers"):
        assert_array_equal(getattr(labels, name), getattr(untouched, name))
    assert gold == {"i00": "cat"}


def same_seed_same_answer(subject: Subject) -> None:
    assert_same_fit(subject.fitted(subject.crowd()), subject.fitted(subject.crowd()))


def params_survive_clone_and_set_params(subject: Subject) -> None:
    model = subject.make()
    params = model.get_params()
    assert clone(model).get_params() == params
    assert type(model)().set_params(**params).get_params() == params
    copy = clone(subject.fit(model, subject.crowd()))
    assert not hasattr(copy, "label_proba_")


def a_fit_leaves_its_settings_alone(subject: Subject) -> None:
    model = subject.make()
    before = dict(model.get_params())
    subject.fit(model, subject.crowd())
    assert model.get_params() == before


def one_label_an_item_is_enough(subject: Subject) -> None:
    labels = subject.crowd()
    first = labels._rows(np.diff(labels.item, prepend=-1) > 0)
    model = subject.fitted(first)
    assert_probabilities(model.label_proba_, (len(first.items), 3))


def empty_input_is_refused_with_a_sentence(subject: Subject) -> None:
    for empty in (
        pd.DataFrame({"item": [], "annotator": [], "label": []}),
        np.empty((0, 3)),
        np.full((2, 3), np.nan),
    ):
        # A classifier sees first that the features have more rows.
        why = r"^(there are no annotations|X and the labels have inconsistent).*\.$"
        with pytest.raises(InputError, match=why):
            subject.fitted(empty)


def one_class_is_refused_with_a_sentence(subject: Subject) -> None:
    with pytest.raises(InputError, match=r"^there is only one class, 0.*\.$"):
        subject.fitted(np.zeros((4, 3), dtype=int))


def proba_rows_sum_to_one_and_predict_agrees(subject: Subject) -> None:
    labels, more = subject.crowd(), subject.crowd(5, n_items=12)
    model = subject.fitted(labels)
    assert_probabilities(model.label_proba_, (30, 3))
    assert_array_equal(model.labels_, model.classes_[model.label_proba_.argmax(1)])
    proba = subject.predict_proba(model, more)
    assert_probabilities(proba, (12, 3))
    assert_array_equal(subject.predict(model, more), model.classes_[proba.argmax(1)])


def most_training_labels_are_right(subject: Subject) -> None:
    truth, _ = drawn_truth(0, 30)
    model = subject.fitted(subject.crowd(0))
    right = model.labels_ == np.array(CLASSES, dtype=object)[truth]
    assert right.mean() > 0.8


def attributes_are_there_and_documented(subject: Subject) -> None:
    model = subject.fitted(subject.crowd())
    docs = "\n".join(c.__doc__ or "" for c in type(model).__mro__)
    learned = {n for n in vars(model) if n.endswith("_") and not n.startswith("_")}
    for name in {*ATTRIBUTES, *learned}:
        assert hasattr(model, name), name
        assert name in docs, f"{name} is not documented"


def attributes_fit_together(subject: Subject) -> None:
    labels = subject.crowd()
    model = subject.fitted(labels)
    assert model.confusion_counts_.shape == (len(labels.annotators), 3, 3)
    assert model.annotator_prior_.shape[1:] == (3, 3)
    assert_allclose(model.confusion_.sum(-1), 1.0)
    assert_allclose(model.class_prior_.sum(), 1.0)
    assert_array_equal(model.n_labels_, labels.counts("annotator").sum(1))
    seen = (model.confusion_counts_ - model.annotator_prior_).sum((1, 2))
    assert_allclose(seen, model.n_labels_)
    assert {"bound", "seconds"} <= set(model.trace_.columns)
    summary = model.annotator_summary()
    assert summary["annotator"].tolist() == labels.annotators.tolist()
    assert summary["accuracy"].between(summary["low"], summary["high"]).all()
    for column in ("accuracy", "informativeness", "spammer", "adversarial"):
        assert summary[column].between(0, 1).all()


def a_new_annotator_is_taken_at_the_prior(subject: Subject) -> None:
    model = subject.fitted(subject.crowd())
    asked = [
        Annotations.from_triples(["x"], [who], ["dog"], classes=CLASSES)
        for who in ("eve", "fay")
    ]
    eve, fay = (subject.predict_proba(model, labels) for labels in asked)
    assert_array_equal(eve, fay)
    # A flat prior expects nothing of a new annotator: what was known stays.
    assert eve[0, 1] >= subject.without_answers(model, asked[0])[0, 1] - 1e-9


def an_unknown_answer_at_predict_is_an_error_that_names_it(subject: Subject) -> None:
    model = subject.fitted(subject.crowd())
    asked = Annotations.from_triples(["x", "y"], ["ann", "bob"], ["emu", "cat"])
    with pytest.raises(InputError, match=r"'emu'.*'ann'.*'x'"):
        subject.predict_proba(model, asked)


def answers_that_are_not_classes_work(subject: Subject) -> None:
    labels = subject.crowd()
    label = labels.answers[labels.label].copy()
    label[::7] = "can't tell"
    frame = labels.to_frame().assign(label=label)
    labels = Annotations.from_frame(frame, classes=CLASSES, answers=["can't tell"])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*do not name a class", UserWarning)
        model = subject.fitted(labels)
        assert_probabilities(subject.predict_proba(model, labels), (30, 3))
    assert_probabilities(model.label_proba_, (30, 3))
    assert model.confusion_.shape == (len(labels.annotators), 3, 4)
    assert model.answers_.tolist() == [*CLASSES, "can't tell"]


def annotators_and_items_without_answers_stay_in(subject: Subject) -> None:
    frame = subject.crowd().to_frame()
    labels = Annotations.from_frame(
        frame,
        items=[*sorted(set(frame["item"])), "unseen"],
        annotators=[*sorted(set(frame["annotator"])), "eve"],
    )
    model = subject.fitted(labels)
    assert_probabilities(model.label_proba_, (len(labels.items), 3))
    assert model.n_labels_.tolist()[-1] == 0
    untouched = np.broadcast_to(model.annotator_prior_, model.confusion_counts_.shape)
    assert_allclose(model.confusion_counts_[-1], untouched[-1])
    numbers = model.annotator_summary().drop(columns="annotator")
    assert np.isfinite(numbers.to_numpy(dtype=float)).all()


def a_class_that_nobody_named_works(subject: Subject) -> None:
    labels = subject.crowd(classes=["cat", "dog", "emu", "owl"])
    model = subject.fitted(labels)
    assert_probabilities(model.label_proba_, (30, 4))
    assert np.isfinite(model.confusion_).all()
    assert "emu" not in model.labels_


def gold_is_respected(subject: Subject) -> None:
    labels = subject.crowd()
    free = subject.fitted(labels)
    other = {"cat": "dog", "dog": "owl", "owl": "cat"}
    gold = {f"i{n:02d}": other[free.labels_[n]] for n in (0, 3, 8)}
    model = subject.fitted(labels, gold=gold)
    for item, known in gold.items():
        row = model.label_proba_[list(model.items_).index(item)]
        assert row[list(model.classes_).index(known)] > 0.999


def a_matrix_a_table_and_triples_give_one_fit(subject: Subject) -> None:
    labels = subject.crowd()
    rows = [labels.to_frame()[name] for name in ("item", "annotator", "label")]
    table = Annotations.from_frame(labels.to_frame().sample(frac=1, random_state=0))
    triples = Annotations.from_triples(*rows)
    want = subject.fitted(labels).label_proba_
    for same in (table, triples):
        assert_allclose(subject.fitted(same).label_proba_, want, atol=1e-9)


def a_saved_model_answers_as_before(subject: Subject, folder: Any) -> None:
    from wisecrowd.persist import load, save

    model, more = subject.fitted(subject.crowd()), subject.crowd(5, n_items=12)
    save(model, folder / "run")
    back = load(folder / "run")
    assert type(back) is type(model)
    assert back.get_params() == model.get_params()
    assert_same_fit(back, model)
    assert_array_equal(
        subject.predict_proba(back, more), subject.predict_proba(model, more)
    )


CHECKS = (
    fit_returns_self,
    refit_forgets,
    inputs_stay_as_they_were,
    same_seed_same_answer,
    params_survive_clone_and_set_params,
    a_fit_leaves_its_settings_alone,
    one_label_an_item_is_enough,
    empty_input_is_refused_with_a_sentence,
    one_class_is_refused_with_a_sentence,
    proba_rows_sum_to_one_and_predict_agrees,
    most_training_labels_are_right,
    attributes_are_there_and_documented,
    attributes_fit_together,
    a_new_annotator_is_taken_at_the_prior,
    an_unknown_answer_at_predict_is_an_error_that_names_it,
    answers_that_are_not_classes_work,
    annotators_and_items_without_answers_stay_in,
    a_class_that_nobody_named_works,
    gold_is_respected,
    a_matrix_a_table_and_triples_give_one_fit,
)
