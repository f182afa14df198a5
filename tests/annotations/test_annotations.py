import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import oracles
import wisecrowd as wc
from wisecrowd._checks import InputError, vocabulary_values
from wisecrowd.annotations import Annotations
from wisecrowd.annotations.headers import column_names
from wisecrowd.annotations.read_report import ReadReport
from wisecrowd.annotations.vocabulary import positions

SEEDS = st.integers(0, 2**32 - 1)


def random_rows(seed, n_items, n_annotators, n_answers, n_rows):
    rng = np.random.default_rng(seed)
    items = np.array([f"i{n}" for n in range(n_items)], dtype=object)
    people = np.array([f"a{n}" for n in range(n_annotators)], dtype=object)
    answers = np.array([f"k{n}" for n in range(n_answers)], dtype=object)
    return (
        items[rng.integers(n_items, size=n_rows)],
        people[rng.integers(n_annotators, size=n_rows)],
        answers[rng.integers(n_answers, size=n_rows)],
    )


SIZES = {
    "seed": SEEDS,
    "n_items": st.integers(1, 7),
    "n_annotators": st.integers(1, 5),
    "n_answers": st.integers(1, 4),
    "n_rows": st.integers(1, 40),
}


def rows_of(annotations):
    return sorted(map(tuple, annotations.to_frame().to_numpy().tolist()))


@pytest.fixture
def annotations():
    """Four items, three annotators, two classes and "?", one gold class."""
    return Annotations.from_triples(
        ["y", "x", "x", "z", "y"],
        ["ann", "bob", "ann", "cy", "cy"],
        ["dog", "cat", "dog", "?", "cat"],
        items=["w", "x", "y", "z"],
        answers=["?"],
        gold={"y": "cat"},
    )


# -- round trips -------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(**SIZES)
def test_every_row_comes_back_and_rows_are_sorted_by_item(
    seed, n_items, n_annotators, n_answers, n_rows
):
    rows = random_rows(seed, n_items, n_annotators, n_answers, n_rows)
    annotations = Annotations.from_triples(*rows)
    assert rows_of(annotations) == sorted(zip(*rows, strict=True))
    assert (np.diff(annotations.item) >= 0).all()
    for names in (annotations.items, annotations.annotators, annotations.answers):
        assert names.tolist() == sorted(set(names))
    assert len(annotations) == n_rows


@settings(max_examples=60, deadline=None)
@given(**SIZES)
def test_frame_matrix_dict_and_triples_give_the_same(
    seed, n_items, n_annotators, n_answers, n_rows
):
    rows = random_rows(seed, n_items, n_annotators, n_answers, n_rows)
    once = Annotations.from_triples(*rows, drop_repeats="first").to_frame()
    annotations = Annotations.from_triples(
        once["item"], once["annotator"], once["answer"]
    )
    nested = {}
    for item, person, answer in annotations.to_frame().to_numpy():
        nested.setdefault(item, {})[person] = answer
    wide = annotations.to_frame().pivot(
        index="item", columns="annotator", values="answer"
    )
    for other in (
        Annotations.from_frame(annotations.to_frame()),
        Annotations.from_dict(nested),
        Annotations.from_matrix(wide),
    ):
        assert rows_of(other) == rows_of(annotations)
        assert_array_equal(other.items, annotations.items)
        assert_array_equal(other.annotators, annotations.annotators)
        assert_array_equal(other.answers, annotations.answers)


@settings(max_examples=40, deadline=None)
@given(**SIZES)
def test_a_matrix_of_codes_comes_back(seed, n_items, n_annotators, n_answers, n_rows):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, n_answers, size=(n_items, n_annotators))
    matrix[0, 0] = 0
    names = np.arange(n_answers)
    annotations = Annotations.from_matrix(matrix, classes=names)
    assert_array_equal(annotations.to_matrix(), matrix)
    gaps = np.where(matrix < 0, np.nan, matrix)
    assert_array_equal(Annotations.from_matrix(gaps, classes=names).to_matrix(), matrix)


@settings(max_examples=60, deadline=None)
@given(**SIZES)
def test_counts_and_row_starts_are_those_of_the_loops(
    seed, n_items, n_annotators, n_answers, n_rows
):
    rows = random_rows(seed, n_items, n_annotators, n_answers, n_rows)
    annotations = Annotations.from_triples(
        *rows, items=[f"i{n}" for n in range(n_items)]
    )
    by_item, by_annotator = oracles.answer_counts(
        annotations.item,
        annotations.annotator,
        annotations.answer,
        (n_items, n_annotators, n_answers),
    )
    seen = len(annotations.annotators), len(annotations.answers)
    assert_array_equal(annotations.counts(), by_item[:, : seen[1]])
    want = by_annotator[: seen[0], : seen[1]]
    assert_array_equal(annotations.counts(by="annotator"), want)
    start = annotations.codes.row_start
    assert start.shape == (n_items + 1,)
    for n in range(n_items):
        assert (annotations.item[start[n] : start[n + 1]] == n).all()
    assert (start[0], start[-1]) == (0, n_rows)


@settings(max_examples=60, deadline=None)
@given(**SIZES)
def test_parts_merge_into_the_whole(seed, n_items, n_annotators, n_answers, n_rows):
    rows = random_rows(seed, n_items, n_annotators, n_answers, n_rows)
    annotations = Annotations.from_triples(*rows)
    rng = np.random.default_rng(seed)
    order = rng.permutation(annotations.items)
    cut = rng.integers(len(order) + 1)
    left, right = (
        annotations.subset(items=part) for part in (order[:cut], order[cut:])
    )
    assert len(left) + len(right) == n_rows
    whole = left.merge(right)
    assert rows_of(whole) == rows_of(annotations)
    assert_array_equal(np.sort(whole.items), annotations.items)
    assert_array_equal(whole.answers, annotations.answers)


@settings(max_examples=40, deadline=None)
@given(**SIZES)
def test_aligning_changes_the_order_of_items_only(
    seed, n_items, n_annotators, n_answers, n_rows
):
    rows = random_rows(seed, n_items, n_annotators, n_answers, n_rows)
    annotations = Annotations.from_triples(*rows, gold={rows[0][0]: rows[2][0]})
    order = np.random.default_rng(seed).permutation([f"i{n}" for n in range(n_items)])
    aligned = annotations.align(order)
    assert_array_equal(aligned.items, order)
    assert rows_of(aligned) == rows_of(annotations)
    assert aligned.gold.to_dict() == annotations.gold.to_dict()
    assert (np.diff(aligned.item) >= 0).all()


# -- storage -----------------------------------------------------------------------


def test_a_row_takes_twelve_bytes(annotations):
    columns = (annotations.item, annotations.annotator, annotations.answer)
    assert sum(c.nbytes for c in columns) == 12 * len(annotations)
    assert all(c.dtype == np.int32 for c in (*columns, annotations.gold_codes))


def test_parts_keep_twelve_bytes_a_row(annotations):
    for part in (
        annotations.subset(items=["z", "x"], annotators=["cy", "ann"]),
        annotations.align(["z", "y", "x"]),
        annotations.merge(annotations),
        annotations.without_repeats(),
        annotations.recoded(classes=["dog", "cat"], answers=["dog", "cat", "?"]),
    ):
        columns = (part.item, part.annotator, part.answer)
        assert sum(c.nbytes for c in columns) == 12 * len(part)


def test_more_annotators_than_int16_holds_stay_apart():
    n = 70_000
    annotations = Annotations.from_triples(
        np.zeros(n, int), np.arange(n), np.arange(n) % 3
    )
    assert_array_equal(annotations.annotator, np.arange(n))


def test_the_input_is_not_changed():
    item, annotator, answer = np.array([2, 1]), np.array([0, 0]), np.array([1, 0])
    Annotations.from_triples(item, annotator, answer, items=np.array([2, 1]))
    assert (item.tolist(), annotator.tolist(), answer.tolist()) == (
        [2, 1],
        [0, 0],
        [1, 0],
    )


# -- kinds of values ---------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["object", "string", "category", "string[pyarrow]", "str"]
)
def test_text_of_any_kind_is_text(kind):
    column = pd.Series(["b", "a", "b"], dtype=kind)
    annotations = Annotations.from_triples(column, column, column)
    assert annotations.items.tolist() == ["a", "b"]
    assert annotations.items.dtype == object
    assert annotations.answer.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "kind", ["int8", "uint16", "int64", "float64", "Int64", "object"]
)
def test_whole_numbers_of_any_kind_are_integers(kind):
    column = pd.Series([7, 3, 7], dtype=kind)
    annotations = Annotations.from_triples(column, column, column)
    assert annotations.answers.tolist() == [3, 7]
    assert annotations.answers.dtype == np.int64


def test_booleans_are_classes():
    annotations = Annotations.from_triples([0, 1], [0, 0], [True, False])
    assert annotations.classes.tolist() == [False, True]


def test_an_unusual_index_changes_nothing():
    frame = pd.DataFrame(
        {"task": [5, 6], "worker": ["b", "a"], "label": [1, 0]}, index=[9, 9]
    )
    assert rows_of(Annotations.from_frame(frame)) == [(5, "b", 1), (6, "a", 0)]


def test_categories_without_a_row_are_not_classes():
    column = pd.Series(["b", "a"], dtype=pd.CategoricalDtype(["c", "b", "a"]))
    assert Annotations.from_triples([1, 2], [1, 1], column).classes.tolist() == [
        "a",
        "b",
    ]


@pytest.mark.parametrize(
    "matrix",
    [
        pd.DataFrame({"p": pd.array([1, None], dtype="Int64"), "q": [1, 0]}),
        [[1, 1], [None, 0]],
        np.array([[1, 1], [-1, 0]], dtype=object),
        [[1.0, 1.0], [np.nan, 0.0]],
        np.array([[1, 1], [-1, 0]], dtype=np.int8),
    ],
)
def test_a_gap_in_a_matrix_may_be_written_in_many_ways(matrix):
    assert Annotations.from_matrix(matrix).to_matrix().tolist() == [[1, 1], [-1, 0]]


def test_a_matrix_of_text_has_gaps_too():
    annotations = Annotations.from_matrix(
        np.array([["cat", None, "dog"], [None, np.nan, "cat"]], dtype=object),
        annotators=["p", "q", "r"],
    )
    assert annotations.to_matrix().tolist() == [[0, -1, 1], [-1, -1, 0]]
    assert annotations.annotators.tolist() == ["p", "q", "r"]


# -- vocabularies ------------------------------------------------------------------


def test_given_vocabularies_keep_their_order_and_what_is_unused():
    annotations = Annotations.from_triples(
        [3, 1], ["b", "c"], ["x", "y"],
        items=[9, 3, 1], annotators=["c", "d", "b"], classes=["y", "z", "x"],
    )  # fmt: skip
    assert annotations.items.tolist() == [9, 3, 1]
    assert annotations.annotators.tolist() == ["c", "d", "b"]
    assert annotations.classes.tolist() == ["y", "z", "x"]
    assert annotations.to_matrix().tolist() == [[-1, -1, -1], [-1, -1, 2], [0, -1, -1]]


def test_answers_that_are_no_class_come_last(annotations):
    assert annotations.classes.tolist() == ["cat", "dog"]
    assert annotations.answers.tolist() == ["cat", "dog", "?"]
    assert annotations.counts().tolist() == [[0, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 1]]


def test_a_class_known_from_gold_only_is_a_class():
    annotations = Annotations.from_triples([1, 2], [1, 1], ["a", "b"], gold={2: "c"})
    assert annotations.classes.tolist() == ["a", "b", "c"]
    assert annotations.gold_codes.tolist() == [-1, 2]


def test_gold_may_be_a_series_with_gaps():
    gold = pd.Series(["a", None], index=[2, 1])
    annotations = Annotations.from_triples([1, 2], [1, 1], ["a", "b"], gold=gold)
    assert annotations.gold.to_dict() == {2: "a"}
    assert annotations.gold.index.name == "item"


def test_with_gold_replaces_all_gold(annotations):
    assert annotations.with_gold({"x": "dog"}).gold.to_dict() == {"x": "dog"}
    assert annotations.with_gold({}).gold.to_dict() == {}
    assert annotations.gold.to_dict() == {"y": "cat"}


def test_repeats_are_kept_unless_dropped():
    rows = ([1, 1, 2, 1], ["a", "a", "a", "b"], ["x", "y", "x", "x"])
    assert len(Annotations.from_triples(*rows)) == 4
    first = Annotations.from_triples(*rows, drop_repeats="first")
    last = Annotations.from_triples(*rows, drop_repeats="last")
    assert rows_of(first) == [(1, "a", "x"), (1, "b", "x"), (2, "a", "x")]
    assert rows_of(last) == [(1, "a", "y"), (1, "b", "x"), (2, "a", "x")]


def test_a_list_in_a_dict_stands_for_repeats_and_empty_items_stay():
    annotations = Annotations.from_dict({10: {"a": [1, 0]}, 9: {}})
    assert annotations.items.tolist() == [9, 10]
    assert annotations.counts().tolist() == [[0, 0], [1, 1]]


def test_a_plain_target_is_one_annotator():
    annotations = Annotations.from_target(["b", "a", "b"])
    assert len(annotations.annotators) == 1
    assert annotations.to_matrix().ravel().tolist() == [1, 0, 1]


# -- parts -------------------------------------------------------------------------


def test_a_subset_keeps_the_given_order_its_gold_and_the_other_vocabularies(
    annotations,
):
    part = annotations.subset(items=["z", "y"])
    assert part.items.tolist() == ["z", "y"]
    assert rows_of(part) == [("y", "ann", "dog"), ("y", "cy", "cat"), ("z", "cy", "?")]
    assert part.gold_codes.tolist() == [-1, 0]
    assert part.annotators.tolist() == annotations.annotators.tolist()
    assert part.answers.tolist() == annotations.answers.tolist()
    assert part.codes.row_start.tolist() == [0, 1, 3]


def test_a_subset_of_annotators_keeps_all_items(annotations):
    part = annotations.subset(annotators=["cy", "bob"])
    assert part.items.tolist() == ["w", "x", "y", "z"]
    assert part.annotators.tolist() == ["cy", "bob"]
    assert part.to_matrix().tolist() == [[-1, -1], [-1, 0], [0, -1], [2, -1]]


def test_a_subset_may_be_without_any_annotation(annotations):
    part = annotations.subset(items=["w"])
    assert len(part) == 0
    assert part.counts().tolist() == [[0, 0, 0]]
    assert part.codes.row_start.tolist() == [0, 0]
    assert repr(part).endswith("0 answers; 0.0 per item)")
    assert len(annotations.subset(items=[])) == 0


def test_row_start_of_a_part_is_its_own(annotations):
    assert annotations.codes.row_start.tolist() == [0, 0, 2, 4, 5]
    assert annotations.align(["z", "v", "y", "x"]).codes.row_start.tolist() == [
        0,
        1,
        1,
        3,
        5,
    ]


def test_aligning_drops_only_items_without_an_answer(annotations):
    known = annotations.with_gold({"w": "cat", "x": "dog"})
    aligned = known.align(["x", "y", "z"])
    assert aligned.items.tolist() == ["x", "y", "z"]
    assert aligned.gold.to_dict() == {"x": "dog"}
    with pytest.raises(InputError, match=r"1 of 3 answered items .* 'z'"):
        annotations.align(["x", "y", "w"])
    with pytest.raises(InputError, match=r"none of the 3 answered items .* 'v'"):
        annotations.align(["v"])


def test_numbers_and_text_are_the_same_ids():
    text = Annotations.from_triples(["7", "10"], ["a", "b"], ["x", "y"])
    number = Annotations.from_triples([7, 10], ["a", "b"], ["x", "y"])
    for one in (text, number):
        for ids in ([10, 8, 7], ["10", "8", "7"]):
            aligned = one.align(ids)
            assert aligned.items.tolist() == ids
            assert aligned.to_matrix().tolist() == [[-1, 1], [-1, -1], [0, -1]]
        assert one.subset(items=["7"]).items.tolist() == ["7"]
        assert one.with_gold({"7": "y"}).gold.tolist() == ["y"]


@pytest.mark.parametrize(
    ("values", "names", "want"),
    [
        ([7, 8], ["a", "7"], [1, -1]),
        (["7", "07"], [7, 8], [0, -1]),
        ([True, False], ["false", "True"], [1, 0]),
        (["TRUE", "no"], [False, True], [1, -1]),
        ([True], ["true", "True"], [-1]),  # which of the two is meant?
        ([1, 0], [False, True], [-1, -1]),
        (["b", "c"], ["a", "b"], [1, -1]),
    ],
)
def test_positions_compare_types_that_differ_as_text(values, names, want):
    values, names = (vocabulary_values(v, "item") for v in (values, names))
    assert positions(values, names).tolist() == want


def test_recoding_permutes_codes_and_changes_no_answer(annotations):
    recoded = annotations.recoded(classes=["dog", "cat"], answers=["dog", "cat", "?"])
    assert rows_of(recoded) == rows_of(annotations)
    assert recoded.classes.tolist() == ["dog", "cat"]
    assert recoded.gold.to_dict() == annotations.gold.to_dict()
    same = annotations.recoded(classes=annotations.classes, answers=annotations.answers)
    assert same is annotations


# -- merging -----------------------------------------------------------------------


def test_merging_unites_vocabularies_and_gold(annotations):
    other = Annotations.from_triples(["v"], ["dan"], ["emu"], gold={"v": "emu"})
    both = annotations.merge(other)
    assert both.items.tolist() == ["v", "w", "x", "y", "z"]
    assert both.annotators.tolist() == ["ann", "bob", "cy", "dan"]
    assert both.answers.tolist() == ["cat", "dog", "emu", "?"]
    assert both.n_classes == 3
    assert both.gold.to_dict() == {"v": "emu", "y": "cat"}
    assert rows_of(both) == sorted(rows_of(annotations) + rows_of(other))


def test_what_is_a_class_in_one_is_a_class_in_both():
    left = Annotations.from_triples([1], [1], ["?"], answers=["?"], classes=["a"])
    right = Annotations.from_triples([2], [1], ["?"])
    assert left.merge(right).classes.tolist() == ["?", "a"]


def test_merging_keeps_an_order_of_classes_that_is_not_the_alphabets():
    left = Annotations.from_triples([1], [1], ["lo"], classes=["lo", "mid", "hi"])
    right = Annotations.from_triples([2], [1], ["hi"], classes=["lo", "hi"])
    assert left.merge(right).classes.tolist() == ["lo", "mid", "hi"]


def test_merging_sets_that_disagree_is_refused(annotations):
    with pytest.raises(InputError, match="gold class of 'y'"):
        annotations.merge(annotations.with_gold({"y": "dog"}))
    numbers = Annotations.from_triples([1], ["ann"], ["cat"])
    with pytest.raises(InputError, match=r"item ids differ in type.*numbers"):
        annotations.merge(numbers)


# -- what it says ------------------------------------------------------------------


def test_repr_counts_everything(annotations):
    want = (
        "Annotations(4 items, 3 annotators, 2 classes, 1 other answer, 5 answers, "
        "1 gold class; 1.2 per item)"
    )
    assert repr(annotations) == want


def test_a_read_report_says_what_was_left_out():
    report = ReadReport("a.csv", "long table", 1200, 1198, {"no answer": 2}, ("Odd.",))
    want = "a.csv: long table, 1,200 rows, 1,198 answers"
    assert str(report) == f"{want}\n  left out 2: no answer\n  Odd."


@pytest.mark.parametrize(
    ("columns", "given", "found"),
    [
        (["task", "worker", "label"], {}, ["task", "worker", "label"]),
        (["Subject", " User ", "Answer"], {}, ["Subject", " User ", "Answer"]),
        (["label", "answer", "user_id", "item"], {}, ["item", "user_id", "answer"]),
        (["a", "b", "vote"], {"item": "b", "annotator": "a"}, ["b", "a", "vote"]),
    ],
)
def test_columns_are_found_by_their_usual_names(columns, given, found):
    assert column_names(columns, **given) == found


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Annotations.from_triples([], [], []), "no annotations"),
        (lambda: Annotations.from_matrix(np.full((2, 3), -1)), "no annotations"),
        (lambda: Annotations.from_dict({}), "no annotations"),
        (lambda: Annotations.from_triples([1], [1, 2], [1]), "differ in length"),
        (
            lambda: Annotations.from_triples([1, 2], [1, 2], ["a", None]),
            "have no answer",
        ),
        (lambda: Annotations.from_triples([1, "1"], [1, 2], [1, 2]), "mixes types"),
        (lambda: Annotations.from_triples([1, 2], [1, 2], [0.5, 1]), "continuous"),
        (lambda: Annotations.from_matrix([1, 2]), "two axes"),
        (
            lambda: Annotations.from_triples([1], ["ann"], ["c"], classes=["a", "b"]),
            r"answer 'c' of annotator 'ann' on item 1 .*'a', 'b'.*classes=.*answers=",
        ),
        (
            lambda: Annotations.from_triples([1], [1], ["1"], classes=[1, 2]),
            "text on one side and numbers on the other",
        ),
        (
            lambda: Annotations.from_triples([1], [1], [1], items=[2, 3]),
            "1 item ids are not in items=: 1",
        ),
        (
            lambda: Annotations.from_triples([1], [1], [1], items=[1, 2, 2]),
            "more than once: 2",
        ),
        (
            lambda: Annotations.from_triples([1], [1], ["a"], gold={2: "a"}),
            "gold items are not among the 1 items: 2",
        ),
        (
            lambda: Annotations.from_triples(
                [1], [1], ["a"], classes=["a"], gold={1: "b"}
            ),
            "gold class 'b' of item 1",
        ),
        (
            lambda: Annotations.from_triples(
                [1, 2], [1, 1], ["a", "b"], gold=["a", "b"]
            ),
            "from item to class, not a list",
        ),
        (
            lambda: Annotations.from_triples([1], [1], [0], gold={1: "0"}),
            r"gold classes \('0'\) and the answers \(0\) differ in type",
        ),
        (
            lambda: Annotations.from_triples([1], [1], ["a"], answers=[1]),
            "differ in type",
        ),
        (
            lambda: Annotations.from_frame(pd.DataFrame({"task": [1], "label": [1]})),
            r"no column for the annotator .*'task', 'label'",
        ),
        (
            lambda: Annotations.from_frame(pd.DataFrame({"task": [1]}), answer="y"),
            "no column 'y' for the answer",
        ),
    ],
)
def test_input_that_cannot_be_used_is_refused_with_a_sentence(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda annotations: annotations.subset(items=["q"]),
            "1 of the chosen items .* 'q'",
        ),
        (
            lambda annotations: annotations.subset(items=[1]),
            "numbers on one side and text",
        ),
        (lambda annotations: annotations.subset(annotators=["x"]), "chosen annotators"),
        (lambda annotations: annotations.subset(items=["x", "x"]), "more than once"),
        (lambda annotations: annotations.align([1, 2]), "text on one side and numbers"),
        (
            lambda annotations: annotations.merge(annotations).to_matrix(),
            "without_repeats",
        ),
        (lambda annotations: annotations.with_gold({"x": "?"}), "gold class '\\?'"),
        (lambda annotations: annotations.with_gold(np.array(["cat"])), "not a ndarray"),
    ],
)
def test_questions_that_cannot_be_answered_say_why(annotations, ask, message):
    with pytest.raises(InputError, match=message):
        ask(annotations)


def test_dates_and_times_are_names():
    days = pd.DatetimeIndex(["2024-05-01 00:00", "2024-05-02 12:30"])
    made = Annotations.from_triples(days, ["a", "b"], ["cat", "dog"])
    assert made.items.tolist() == ["2024-05-01", "2024-05-02 12:30:00"]
    assert made.align(days[::-1]).items.tolist() == made.items[::-1].tolist()
    gold = pd.Series({days[0]: "cat"})
    assert made.with_gold(gold).gold.to_dict() == {"2024-05-01": "cat"}
    frame = pd.DataFrame({"item": days.date, "annotator": [1, 2], "answer": [0, 1]})
    assert Annotations.from_frame(frame).items.tolist() == ["2024-05-01", "2024-05-02"]


def test_a_model_of_items_that_are_dates_is_saved_and_loaded(tmp_path):
    days = pd.to_datetime(["2024-05-01", "2024-05-01", "2024-05-02", "2024-05-02"])
    frame = pd.DataFrame(
        {"item": days, "annotator": ["a", "b"] * 2, "answer": ["x", "x", "y", "x"]}
    )
    model = wc.MajorityVote().fit(frame)
    wc.save(model, tmp_path / "run")
    assert wc.load(tmp_path / "run").items_.tolist() == ["2024-05-01", "2024-05-02"]
