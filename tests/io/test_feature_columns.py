"""Vectors and numbers in tables: every Arrow layout gives the same array."""

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from wisecrowd import InputError
from wisecrowd.io.feature_columns import BATCH_ROWS, Asked, Columns, features_and_ids
from wisecrowd.io.features import read_features

N, D = 7, 3
X = (np.arange(N * D) / 8).reshape(N, D)
KINDS = {
    "list": pa.list_(pa.float64()),
    "large list": pa.large_list(pa.float64()),
    "fixed-size list": pa.list_(pa.float64(), D),
    "float32": pa.list_(pa.float32()),
}


def vectors(kind, rows):
    return pa.array([None if row is None else list(row) for row in rows], type=kind)


def sliced(kind):
    """The same rows as part of a longer array, whose ends do not belong to them."""
    padding = np.full((2, D), 99.0)
    return vectors(kind, np.concatenate([padding, X, padding]))[2 : 2 + N]


LAYOUTS = {
    "one chunk": lambda kind: [vectors(kind, X)],
    "chunks": lambda kind: [vectors(kind, part) for part in (X[:2], X[2:2], X[2:])],
    "an empty chunk first": lambda kind: [vectors(kind, X[:0]), vectors(kind, X)],
    "sliced": lambda kind: [sliced(kind)],
    "sliced chunks": lambda kind: [sliced(kind)[:4], sliced(kind)[4:]],
}


def found(chunks):
    table = pa.table({"v": pa.chunked_array(chunks)})
    return features_and_ids(Columns.of_table(table), Asked()).X


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_layout_of_vectors_gives_the_same_array(layout, kind):
    got = found(layout(kind))
    assert_array_equal(got, X)
    single = kind.value_type == pa.float32()
    assert got.dtype == (np.float32 if single else np.float64)
    assert got.flags.writeable


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("n_rows", [BATCH_ROWS - 1, 2 * BATCH_ROWS + 5])
def test_vectors_are_read_from_parquet_in_batches(kind, n_rows, tmp_path):
    rows = np.arange(n_rows * D).reshape(n_rows, D) % 8
    ids = np.arange(n_rows)[::-1]
    table = pa.table({"id": ids, "v": vectors(kind, rows), "v.w": ids})
    pq.write_table(table, tmp_path / "f.parquet", row_group_size=1500)
    got, items = read_features(tmp_path / "f.parquet")
    assert_array_equal(got, rows)
    assert_array_equal(items, ids)


@pytest.mark.parametrize("kind", [pa.int64(), pa.bool_(), pa.decimal128(21, 2)])
def test_vectors_of_other_numbers_are_float64(kind):
    rows = [[True, False], [False, True]]
    got = found([pa.array(np.array(rows, int).tolist()).cast(pa.list_(kind))])
    assert got.dtype == np.float64
    assert_array_equal(got, rows)


def test_a_missing_value_in_a_vector_is_nan(tmp_path):
    chunk = pa.array([[1.0, 2.0], [None, 3.0]])
    assert_array_equal(found([chunk]), [[1.0, 2.0], [np.nan, 3.0]])
    pq.write_table(pa.table({"v": chunk}), tmp_path / "f.parquet")
    with pytest.raises(InputError, match=r"1 of 4 values .* row 2, column 0"):
        read_features(tmp_path / "f.parquet")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[1.0, 2.0], [3.0]], "row 1 has 2 values, row 2 has 1"),
        ([[1.0], [2.0], [], [3.0]], "row 1 has 1 values, row 3 has 0"),
        ([[1.0], None, [2.0]], "row 2 has no vector"),
        ([None, [1.0]], "row 1 has no vector"),
        ([["a"], ["b"]], "hold string, not numbers"),
    ],
)
@pytest.mark.parametrize("cut", [0, 1, 2])
def test_vectors_that_make_no_array_are_refused_with_their_row(rows, sentence, cut):
    whole = pa.array(rows)
    with pytest.raises(InputError, match=sentence):
        found([whole[:cut], whole[cut:]])


def test_a_missing_vector_of_fixed_size_is_refused():
    with pytest.raises(InputError, match="row 2 has no vector"):
        found([vectors(pa.list_(pa.float64(), D), [X[0], None, X[1]])])


# -- memory ---------------------------------------------------------------------


def peak_of(read):
    """Return the result, and the most bytes that Python, NumPy and Arrow held.

    The pool is one that lives as long as the process. Arrow's threads give memory back
    after a read has returned: a pool of our own, gone by then, crashed CI once.
    """
    pool = pa.system_memory_pool()
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        result = read()
        return result, tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


@pytest.mark.parametrize("form", ["vectors", "columns"])
def test_features_are_in_memory_about_once(form, tmp_path):
    wide = np.random.default_rng(0).normal(size=(40_000, 64)).astype(np.float32)
    path = tmp_path / "f.parquet"
    if form == "vectors":
        table = pa.table({"v": pa.FixedSizeListArray.from_arrays(wide.ravel(), 64)})
        pq.write_table(table, path)
    else:
        pd.DataFrame(wide, columns=[f"f{d}" for d in range(64)]).to_parquet(path)
    read_features(path)  # imports
    (got, _), peak = peak_of(lambda: read_features(path))
    assert_array_equal(got, wide)
    assert 1 <= peak / got.nbytes < 2  # 14 when they went through Python lists
