"""Files of features, read by blocks: the same rows and ids as in memory."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

import wisecrowd as wc
from wisecrowd.io import beyond

N, D = 11, 3
X = (np.arange(N * D, dtype=np.float32) / 8).reshape(N, D)
IDS = [f"item {i}" for i in range(N)]
COLUMNS = {"item": IDS, "label": [0] * N, "w": X[:, 0], "h": X[:, 1], "d": X[:, 2]}


def in_columns(rows):
    return pa.table({name: values[rows] for name, values in COLUMNS.items()})


def in_vectors(rows):
    return pa.table({"item": IDS[rows], "x": list(X[rows])})


def written(folder, table, cuts=(0, 4, 5, N), **more):
    """Write some rows into each of several files."""
    folder.mkdir()
    for i, where in enumerate(map(slice, cuts, cuts[1:])):
        pq.write_table(table(where), folder / f"{i}.parquet", **more)
    return folder


def rows_of(source):
    return np.concatenate([piece for _, piece in source.pieces()])


@pytest.mark.parametrize("table", [in_columns, in_vectors])
@pytest.mark.parametrize("row_group_size", [2, 100])
def test_a_folder_of_parquet_has_the_rows_and_ids_of_one_table(
    tmp_path, table, row_group_size, monkeypatch
):
    monkeypatch.setattr(beyond, "BLOCK", 3 * D * 4)
    folder = written(tmp_path / "f", table, row_group_size=row_group_size)
    (folder / "_SUCCESS").write_text("")
    found = wc.features(folder)
    assert found.shape == (N, D)
    assert len(found.parts) > 3 or row_group_size == 100
    assert_array_equal(rows_of(found), X)
    assert found.dtype == np.float32
    assert found.items.tolist() == IDS
    assert found.names == (["w", "h", "d"] if table is in_columns else None)
    assert_array_equal(found.batches(np.array([[10, 0, 4]]))[0], X[[10, 0, 4]])


def test_one_parquet_file_is_read_as_read_features_reads_it(tmp_path):
    frame = pd.DataFrame({"w": X[:, 0], "gold": 1.0}, index=pd.RangeIndex(5, 5 + N))
    frame.to_parquet(tmp_path / "f.parquet")
    table = wc.read_feature_table(tmp_path / "f.parquet")
    found = wc.features(tmp_path / "f.parquet")
    assert_array_equal(rows_of(found), table.X)
    assert found.items.tolist() == table.items.tolist()
    assert (found.names, found.left_out) == (table.names, table.left_out)


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "i2"])
def test_arrays_of_numpy_are_read_one_after_the_other(tmp_path, dtype, monkeypatch):
    monkeypatch.setattr(beyond, "BLOCK", 100)
    monkeypatch.setattr(beyond, "SPARSE", 1)
    many = np.arange(40 * D).reshape(40, D).astype(dtype)
    np.save(tmp_path / "a.npy", many[:30])
    np.save(tmp_path / "b.npy", many[30:])
    found = wc.features(tmp_path)
    assert not found.with_ids
    assert_array_equal(found.items, np.arange(40))
    assert_array_equal(rows_of(found), many)
    assert rows_of(found).dtype == (np.float32 if dtype == "<f4" else np.float64)
    rows = np.array([[39, 1, 30], [0, 2, 29]])  # some of few in a block: one by one
    assert_array_equal(found.batches(rows), many[rows])


def test_object_storage_is_named_by_its_address(tmp_path):
    folder = written(tmp_path / "f", in_vectors)
    assert_array_equal(rows_of(wc.features(f"file://{folder}")), X)


def test_ids_may_be_given_and_are_checked(tmp_path):
    np.save(tmp_path / "x.npy", X)
    assert wc.features(tmp_path / "x.npy", IDS).items.tolist() == IDS
    with pytest.raises(wc.InputError, match="occur more than once"):
        wc.features(tmp_path / "x.npy", ["a"] * N)
    with pytest.raises(wc.InputError, match=r"there are 1 ids for 11 rows"):
        wc.features(tmp_path / "x.npy", ["a"])


def test_files_that_do_not_fit_together_are_named(tmp_path):
    folder = written(tmp_path / "f", in_columns)
    pq.write_table(in_columns(slice(2)).drop(["h"]), folder / "1.parquet")
    with pytest.raises(wc.InputError, match=r"1\.parquet: column 'h' is no such"):
        wc.features(folder)
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:, :2])
    (tmp_path / "f").rename(tmp_path.parent / "gone")
    with pytest.raises(wc.InputError, match=r"b\.npy: the array has 2 columns"):
        wc.features(tmp_path)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3), "two axes"),
        (np.zeros((2, 2), "U1"), "features are numbers"),
        (np.asfortranarray(X), "column by column"),
    ],
)
def test_an_array_that_cannot_be_read_by_rows_is_refused(tmp_path, array, words):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(wc.InputError, match=words):
        wc.features(tmp_path / "x.npy")


def test_what_is_no_such_file_is_refused(tmp_path):
    with pytest.raises(wc.InputError, match="no file in this folder"):
        wc.features(tmp_path)
    with pytest.raises(wc.InputError, match="no such file"):
        wc.features(tmp_path / "f")
    (tmp_path / "f.csv").write_text("item,w\na,1\n")
    with pytest.raises(wc.InputError, match=r"f\.csv: .*read_features"):
        wc.features(tmp_path / "f.csv")


def test_a_row_group_too_large_for_a_block_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(beyond, "MOST_BLOCK", 50)
    folder = written(tmp_path / "f", in_vectors)
    with pytest.raises(wc.InputError, match="row_group_size="):
        wc.features(folder)


def test_vectors_of_another_length_are_named_by_their_row(tmp_path):
    folder = written(tmp_path / "f", in_vectors)
    more = pa.table({"item": ["z"], "x": [np.zeros(2, "f4")]})
    pq.write_table(more, folder / "2.parquet")
    with pytest.raises(wc.InputError, match=r"2\.parquet: .*row 6 on have 2 values"):
        rows_of(wc.features(folder))


@pytest.mark.parametrize("name", ["x.npy", "x.parquet"])
@pytest.mark.parametrize("change", ["gone", "cut"])
def test_a_file_that_changes_ends_in_one_sentence(tmp_path, name, change):
    path = tmp_path / name
    if name == "x.npy":
        np.save(path, X)
    else:
        pq.write_table(in_vectors(slice(N)), path)
    found = wc.features(path)
    if change == "gone":
        path.unlink()
    else:
        os.truncate(path, path.stat().st_size - 20)
    words = "not there any more" if change == "gone" else "was changed"
    with pytest.raises(wc.InputError, match=words) as error:
        rows_of(found)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
