"""What a table is: long tables, triples, matrices and targets, as users bring them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import wisecrowd as wc
from wisecrowd._checks import InputError
from wisecrowd.annotations import Annotations
from wisecrowd.base import answers_of_rows, made_annotations

ROWS = [
    (item, annotator, "cat" if (i + j) % 3 else "dog")
    for i, item in enumerate(["i1", "i2", "i3"])
    for j, annotator in enumerate(["ann", "bob"])
]
FRAME = pd.DataFrame(ROWS, columns=["item", "annotator", "answer"])
NUMBERS = FRAME.assign(
    item=[0, 0, 1, 1, 2, 2], annotator=[0, 1] * 3, answer=[0, 1, 1, 0, 1, 1]
)


class Columns:
    """A table of another library: the dataframe interchange protocol and no more."""

    def __init__(self, frame):
        self.frame = pa.Table.from_pandas(frame)
        self.columns = list(frame.columns)

    def __dataframe__(self, *args, **options):
        return self.frame.__dataframe__(*args, **options)


class Stream:
    """A table with the Arrow PyCapsule interface and no more."""

    def __init__(self, frame):
        self.frame = pa.Table.from_pandas(frame)
        self.columns = list(frame.columns)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.frame.__arrow_c_stream__(requested_schema)


class Indexed(Stream):
    """A table whose columns are an Index, which is neither true nor false."""

    def __init__(self, frame):
        super().__init__(frame)
        self.columns = frame.columns


class Lazy:
    """A query that was not run yet."""

    columns = ("item", "annotator", "answer")


def polars(frame):
    return pytest.importorskip("polars").from_dicts(frame.to_dict("records"))


def narwhals(frame):
    return pytest.importorskip("narwhals").from_native(frame)


LONG = {
    "pandas": lambda frame: frame,
    "pandas with another order": lambda frame: frame[["answer", "item", "annotator"]],
    "pyarrow Table": pa.Table.from_pandas,
    "pyarrow RecordBatch": pa.RecordBatch.from_pandas,
    "polars": polars,
    "narwhals": narwhals,
    "interchange protocol": Columns,
    "PyCapsule interface": Stream,
    "an Index as columns": Indexed,
    "dict of columns": lambda frame: frame.to_dict("list"),
    "dict of arrays": lambda frame: {c: frame[c].to_numpy() for c in frame},
    "list of records": lambda frame: frame.to_dict("records"),
    "records of NumPy": lambda frame: frame.to_records(index=False),
    "structured array": lambda frame: np.array(frame.to_records(index=False)),
    "categories": lambda frame: frame.astype("category"),
}


def same(made, wanted):
    pd.testing.assert_frame_equal(made.to_frame(), wanted.to_frame())
    assert made.items.tolist() == wanted.items.tolist()


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("frame", [FRAME, NUMBERS], ids=["text", "numbers"])
def test_whatever_has_columns_is_a_long_table(kind, frame):
    made = made_annotations(LONG[kind](frame))
    same(made, Annotations.from_frame(frame))


TRIPLES = {
    "list of tuples": ROWS,
    "list of lists": [list(row) for row in ROWS],
    "values of a frame": FRAME.to_numpy(),
    "array of text": np.array(ROWS),
    "numbers and text": [(i, "ann" if i % 2 else "bob", 0) for i in range(4)],
    "text and numbers": [("x", 1, "cat"), ("y", 1, "dog")],
}


@pytest.mark.parametrize("kind", TRIPLES)
def test_rows_that_look_like_triples_are_triples(kind):
    rows = TRIPLES[kind]
    wanted = Annotations.from_triples(*map(list, zip(*rows, strict=True)))
    same(made_annotations(rows), wanted)


AMBIGUOUS = {
    "tuples of numbers": list(NUMBERS.itertuples(index=False, name=None)),
    "one tuple of text": [("x", "ann", "cat")],
    "array of numbers": np.column_stack(
        [np.repeat(range(20), 3), np.tile(range(3), 20), np.arange(60) % 2]
    ),
    "large ids": np.column_stack(
        [np.repeat(range(100, 104), 2), np.tile([7, 8], 4), [0, 1] * 4]
    ),
}


@pytest.mark.parametrize("kind", AMBIGUOUS)
def test_what_could_be_triples_or_a_matrix_is_refused(kind):
    with pytest.raises(InputError, match=r"from_triples.*from_matrix"):
        made_annotations(AMBIGUOUS[kind])


MATRICES = {
    "numbers": [[0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 1]],
    "gaps": [[0, 1, -1], [2, -1, 3], [4, 1, -1], [6, -1, 1]],
    "one row of text": [["cat", "dog", "bird"]],
    "two rows": [["a", "b"], ["c", "d"]],
    "text": [["cat", "dog", "cat"], ["dog", "dog", "cat"]] * 3,
    "NaN": np.array([[0, np.nan, 1], [1, 1, np.nan]]),
    "many classes": np.random.default_rng(0).integers(0, 5, (40, 3)),
    "constant annotators": [[0, 1]] * 6,
    "tuples with gaps": [(0, 1, -1), (1, -1, 1)],
}


@pytest.mark.parametrize("kind", MATRICES)
def test_a_matrix_stays_a_matrix(kind):
    rows = MATRICES[kind]
    same(made_annotations(rows), Annotations.from_matrix(np.array(rows)))
    assert len(made_annotations(rows).items) == len(rows)


def test_a_matrix_whose_columns_share_no_values_is_refused():
    ids = FRAME.assign(more=range(6), name=list("uvwxyz"))
    table = ids[["item", "annotator", "name", "answer"]].to_numpy()
    for made in (made_annotations, Annotations.from_matrix):
        with pytest.raises(InputError, match=r"no two columns .* share an answer"):
            made(table)
    classes = np.unique(table)
    assert len(Annotations.from_matrix(table, classes=classes).annotators) == 4


REFUSED = {
    "a lazy query": (Lazy(), "Collect"),
    "a frame without the columns": (pd.DataFrame({"a": [1], "b": [2]}), "no column"),
    "a dict of numbers": ({"x": 1, "y": 2}, "annotator: answer"),
    "a dict of lists": ({"x": [1, 2], "y": [2, 1]}, "annotator: answer"),
    "columns of two lengths": ({"item": [1, 2], "user": [1], "label": [0]}, "table"),
    "a number": (3, "not a int"),
    "None": (None, "not a NoneType"),
    "a set": ({1, 2}, "not a set"),
    "a path": ("labels.csv", "read_annotations"),
    "bytes": (b"item,annotator", "not a bytes"),
    "three axes": (np.zeros((2, 2, 2)), "two axes"),
    "ragged rows": ([[0, 1], [1]], "same length"),
    "an empty list": ([], "empty|two axes"),
    "an empty frame": (FRAME[:0], "empty"),
    "measurements": ([[0.5, 0.25], [0.1, 0.2]], "measurement"),
    "mixed types": ([[0, "cat"], [1, "dog"]], "mixes types"),
    "complex numbers": (np.array([[1j, 2j], [1j, 1j]]), "complex"),
    "lists as answers": (FRAME.assign(answer=[[1]] * 6), "type list"),
    "too large a number": ([[2**70, 1], [1, 1]], "64-bit"),
    "5,000 digits": ([[10**5000, 1], [1, 1]], "64-bit"),
    "5,000 digits in a dict": ({"x": {"a": 10**5000, "b": 1}}, "64-bit"),
    "a lone surrogate": ([(*r[:2], "\ud800") for r in ROWS], "surrogate"),
    "a lone surrogate in a dict": ({"x": {"a": "\ud800", "b": "c"}}, "surrogate"),
    "a lone surrogate in a matrix": ([["\ud800", "c"], ["c", "c"]], "surrogate"),
    "bytes as names": (FRAME.assign(item=[b"u", b"v", b"w"] * 2), "type bytes"),
    "intervals": (FRAME.assign(item=pd.interval_range(0, 6)), "Interval"),
    "gaps only": (np.full((3, 2), np.nan), "empty"),
    "a function": (len, "not a builtin"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_table_is_refused_with_a_sentence(kind):
    table, sentence = REFUSED[kind]
    with pytest.raises(InputError, match=sentence):
        made_annotations(table)


# -- beside features ------------------------------------------------------------------

IDS = ["i3", "i0", "i1", "i2"]  # another order, and an item without answers


@pytest.mark.parametrize("kind", LONG)
def test_whatever_has_columns_is_joined_to_features_by_id(kind):
    same(
        answers_of_rows(LONG[kind](FRAME), IDS),
        Annotations.from_frame(FRAME).align(IDS),
    )


@pytest.mark.parametrize("kind", ["list of tuples", "values of a frame"])
def test_triples_are_joined_to_features_by_id(kind):
    for ids in (IDS, [*IDS, "i4", "i5"]):  # also if there are as many rows as triples
        wanted = Annotations.from_frame(FRAME).align(ids)
        same(answers_of_rows(TRIPLES[kind], ids), wanted)


@pytest.fixture(scope="module")
def crowd():
    return wc.simulate(
        30, 6, 2, answers_per_item=3, n_features=2, separation=8.0, random_state=0
    )


@pytest.fixture(scope="module")
def model(crowd):
    return wc.Raykar(max_iter=200).fit(crowd.X, crowd.answers)


@pytest.mark.parametrize("kind", ["pyarrow Table", "polars", "PyCapsule interface"])
def test_a_classifier_takes_long_tables_of_any_library(kind, crowd, model):
    frame = crowd.answers.to_frame().sample(frac=1, random_state=0)
    table = LONG[kind](frame)
    again = wc.Raykar(max_iter=200).fit(crowd.X, table)
    np.testing.assert_allclose(again.label_proba_, model.label_proba_, rtol=1e-9)
    np.testing.assert_allclose(
        model.predict_proba(crowd.X, table), model.predict_proba(crowd.X, crowd.answers)
    )
    assert model.score(crowd.X, table) == model.score(crowd.X, crowd.answers)
