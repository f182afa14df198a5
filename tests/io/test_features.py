"""Feature tables from files, with the ids of their rows."""

import h5py
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from wisecrowd._checks import InputError
from wisecrowd.io.features import read_features

N, D = 4, 3
X = np.arange(N * D, dtype=float).reshape(N, D) / 7
IDS = ["a", "007", "c", "d"]


@pytest.fixture
def written(tmp_path):
    def write(content, name="features.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def frame(**ids):
    return pd.DataFrame({**ids, **{f"f{d}": X[:, d] for d in range(D)}})


def message_of(path, **options):
    with pytest.raises(InputError) as caught:
        read_features(path, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message


def saved(tmp_path, kind, ids):
    """Write the same features and ids in one of the formats."""
    path = tmp_path / f"features.{kind}"
    if kind == "npz":
        np.savez(path, X=X, items=np.array(ids))
    elif kind == "csv":
        frame(item=ids).to_csv(path, index=False)
    elif kind == "parquet":
        frame(item=ids).to_parquet(path)
    else:
        with h5py.File(path, "w") as file:
            file["run/X"], file["run/items"] = X, ids
    return path


@pytest.mark.parametrize("kind", ["npz", "csv", "parquet", "hdf5"])
@pytest.mark.parametrize("ids", [IDS, [10, 7, 8, 9]])
def test_every_format_gives_the_same_features_and_ids(tmp_path, kind, ids):
    found, items = read_features(saved(tmp_path, kind, ids))
    np.testing.assert_array_equal(found, X)
    assert found.dtype == np.float64
    assert items.tolist() == ids
    assert items.dtype.kind == ("i" if ids[0] == 10 else "O")


@settings(max_examples=30, deadline=None)
@given(
    array=arrays(
        st.sampled_from([np.float32, np.float64, np.int16, np.bool_]),
        array_shapes(min_dims=2, max_dims=2),
        elements={"allow_nan": False, "allow_infinity": False},
        fill=st.nothing(),
    )
)
def test_an_array_is_read_as_it_was_saved(tmp_path_factory, array):
    path = tmp_path_factory.mktemp("features") / "features.npy"
    np.save(path, array)
    found, items = read_features(path)
    np.testing.assert_array_equal(found, array)
    assert items is None
    assert found.dtype == (np.float32 if array.dtype == np.float32 else np.float64)


def test_a_table_without_ids_has_none(tmp_path):
    frame().to_csv(tmp_path / "features.csv", index=False)
    frame().to_parquet(tmp_path / "features.parquet")
    for name in ("features.csv", "features.parquet"):
        found, items = read_features(tmp_path / name)
        assert found.shape == (N, D)
        assert items is None


def test_numbers_without_a_header_are_all_features(written):
    found, items = read_features(written("0.5,1\n2,3\n4,5\n"))
    assert found.tolist() == [[0.5, 1], [2, 3], [4, 5]]
    assert items is None


def test_the_index_of_a_data_frame_is_the_ids(tmp_path):
    table = frame().set_index(pd.Index(IDS))
    table.to_csv(tmp_path / "features.csv")
    table.to_parquet(tmp_path / "features.parquet")
    for name in ("features.csv", "features.parquet"):
        assert read_features(tmp_path / name)[1].tolist() == IDS


@pytest.mark.parametrize("name", [None, "item"])
def test_an_index_that_parquet_keeps_as_a_range_is_the_ids(tmp_path, name):
    table = frame().set_index(pd.RangeIndex(1, N + 1, name=name))
    table.to_parquet(tmp_path / "features.parquet")
    found, items = read_features(tmp_path / "features.parquet")
    assert items.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(found, X)


def test_the_only_column_of_text_is_the_ids(written):
    found, items = read_features(written("picture;f0;f1\na.png;1;2\nb.png;3;4\n"))
    assert found.tolist() == [[1, 2], [3, 4]]
    assert items.tolist() == ["a.png", "b.png"]


def test_a_column_of_ids_is_chosen_by_name(written):
    path = written("f0,number,f1\n1,10,2\n3,20,4\n")
    found, items = read_features(path, item="number")
    assert found.tolist() == [[1, 2], [3, 4]]
    assert items.tolist() == [10, 20]


def test_a_column_of_vectors_is_the_features(tmp_path):
    vectors = list(X.astype(np.float32))
    pd.DataFrame({"id": IDS, "vector": vectors}).to_parquet(tmp_path / "f.parquet")
    found, items = read_features(tmp_path / "f.parquet")
    np.testing.assert_array_equal(found, X.astype(np.float32))
    assert found.dtype == np.float32
    assert items.tolist() == IDS


def test_an_array_is_chosen_by_key(tmp_path):
    path = tmp_path / "features.npz"
    np.savez(path, left=X, right=-X)
    assert "'left' (4, 3), 'right' (4, 3)" in message_of(path)
    np.testing.assert_array_equal(read_features(path, key="right")[0], -X)
    assert "'left'" in message_of(path, key="middle")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["empty"]),
        ("item,f0,f1\n", ["no rows"]),
        ("item,f0,f1\na,1,2\nb,,3\n", ["nan", "row 2", "item 'b'", "column 'f0'"]),
        ("item,f0,f1\na,1,2\nb,inf,3\n", ["inf", "row 2", "column 'f0'"]),
        ("item,f0,f1\na,1,2\nb,1,2\na,3,3\n", ["'a'", "row 3", "more than once"]),
        ("item,f0,f1\na,1,2\nb,1\n", ["row 2", "2 values", "header has 3"]),
        ("item,f0,f1\na,1,2\nb,1,red\n", ["'red' in row 2"]),
        ("item,f0,f1\na,1,red\nb,1,2\n", ["'f1' (such as 'red' in row 1)", "one-hot"]),
        ("item,f0\n,1\nb,2\n", ["have no item"]),
        ("x,y,f0\na,c,1\nb,d,2\n", ["'x' (such as 'a' in row 1)", "'y'", "item="]),
        (b"item,f0\ncaf\xe9,1\nb,2\n", ["line 2", "UTF-8"]),
        (b"\x93NUMPYrest", ["broken"]),
        (b"\x89HDF\r\n\x1a\nrest", []),
        (b"PK\x03\x04rest", ["broken"]),
        ('{"a": 1}', ["json", "npy, npz"]),
    ],
)  # fmt: skip
def test_bad_features_get_a_sentence_that_says_what_and_where(written, content, parts):
    message = message_of(written(content, "features.file"))
    for part in parts:
        assert part in message, message


def test_images_are_refused_with_their_shape(tmp_path):
    np.save(tmp_path / "images.npy", np.zeros((2, 5, 7)))
    assert "(2, 5, 7)" in message_of(tmp_path / "images.npy")


def test_python_objects_are_not_loaded(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([[{}]]), allow_pickle=True)
    assert "for safety" in message_of(tmp_path / "objects.npy")


def test_ids_that_do_not_fit_the_rows_are_refused(tmp_path):
    np.savez(tmp_path / "f.npz", X=X, who=np.arange(N + 1))
    assert "5 item ids for 4 rows" in message_of(tmp_path / "f.npz", item="who")


def test_vectors_of_different_lengths_are_refused(tmp_path):
    pd.DataFrame({"id": [1, 2], "v": [[1.0], [1.0, 2.0]]}).to_parquet(tmp_path / "f.pq")
    assert "row 2 has 2" in message_of(tmp_path / "f.pq")


def test_a_directory_and_a_missing_file_are_refused(tmp_path):
    assert "directory" in message_of(tmp_path)
    assert "no such file" in message_of(tmp_path / "nothing.npy")
