"""What a feature is: ids, classes, row numbers and times are none."""

import numpy as np
import pandas as pd
import pytest

from wisecrowd import InputError
from wisecrowd.io.features import read_features
from wisecrowd.io.join import read_feature_table

N = 12
WIDTH, HEIGHT = np.linspace(0.5, 3.0, N), np.linspace(9.0, 1.5, N)
FRAME = pd.DataFrame({"item": range(100, 100 + N), "w": WIDTH, "h": HEIGHT})
TIMES = pd.date_range("2024-05-01 10:00", periods=N, freq="h")

NOT_FEATURES = {
    "gold": (np.arange(N) % 2, "the class"),
    "label": (np.arange(N) % 3, "the class"),
    "Class": (np.arange(N) % 3, "the class"),
    "Unnamed: 0": (np.arange(N), "row numbers"),
    "": (np.arange(N), "row numbers"),
    "subject_id": (np.arange(N) + 7, "ids"),
    "camera_id": (np.arange(N) % 2, "ids"),
    "image": (np.arange(N) + 50, "ids"),
    "created_at": (TIMES, "times"),
    "timestamp": (1.7e9 + np.arange(N) * 60.5, "times"),
}


def write(frame, path):
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", NOT_FEATURES)
def test_a_column_that_is_no_feature_is_left_out_and_said(tmp_path, name, ending):
    values, why = NOT_FEATURES[name]
    table = read_feature_table(
        write(FRAME.assign(**{name: values}), tmp_path / f"f.{ending}")
    )
    assert table.names == ["w", "h"]
    assert table.left_out == {name: why}
    assert table.items.tolist() == FRAME["item"].tolist()
    np.testing.assert_array_equal(table.X, FRAME[["w", "h"]])
    assert "'w', 'h'" in str(table)
    assert f"left out: {name!r} ({why})" in str(table)


def test_the_index_of_to_csv_is_not_a_feature(tmp_path):
    FRAME.to_csv(tmp_path / "f.csv")
    table = read_feature_table(tmp_path / "f.csv")
    assert table.names == ["w", "h"]
    assert table.items.tolist() == FRAME["item"].tolist()


@pytest.mark.parametrize("name", ["photo_nr", "number", "snapshot"])
def test_ids_with_an_unknown_name_are_refused_and_can_be_named(tmp_path, name):
    path = write(FRAME.rename(columns={"item": name}), tmp_path / "f.csv")
    with pytest.raises(InputError, match=f"{name!r} looks like ids.*columns='all'"):
        read_features(path)
    with pytest.raises(InputError, match=f"ids={name!r}"):
        read_feature_table(path)
    assert read_feature_table(path, name).names == ["w", "h"]
    whole = read_feature_table(path, columns="all")
    assert whole.names == [name, "w", "h"]
    assert not whole.with_ids


def test_ids_with_an_unknown_name_beside_an_index_are_refused(tmp_path):
    FRAME.rename(columns={"item": "photo"}).to_csv(tmp_path / "f.csv")
    with pytest.raises(InputError, match="'photo' looks like ids"):
        read_features(tmp_path / "f.csv")


def test_text_ids_beside_an_index_are_the_ids(tmp_path):
    names = [f"p{i}" for i in range(N)]
    FRAME.assign(item=names).rename(columns={"item": "photo"}).to_csv(
        tmp_path / "f.csv"
    )
    table = read_feature_table(tmp_path / "f.csv")
    assert table.items.tolist() == names
    assert table.names == ["w", "h"]


def test_features_can_be_named_and_ordered(tmp_path):
    path = write(FRAME.assign(label=np.arange(N) % 2), tmp_path / "f.parquet")
    table = read_feature_table(path, columns=["label", "w"])
    assert table.names == ["label", "w"]
    assert table.left_out == {"h": "not in columns="}
    assert read_feature_table(path, columns="h, w").names == ["h", "w"]
    assert read_feature_table(path, leave_out="h").names == ["w"]
    for option in ("columns", "leave_out"):
        with pytest.raises(InputError, match="no column 'z'"):
            read_feature_table(path, **{option: ["z"]})


def test_text_columns_can_be_left_out(tmp_path):
    path = write(FRAME.assign(a=list("uvwxyzuvwxyz"), b="b"), tmp_path / "f.csv")
    with pytest.raises(InputError, match="leave_out="):
        read_features(path)
    assert read_feature_table(path, leave_out=["a", "b"]).names == ["w", "h"]
    assert read_feature_table(path, columns=["w", "h"]).names == ["w", "h"]


def test_a_table_of_classes_alone_has_no_feature(tmp_path):
    path = write(FRAME[["item"]].assign(label=1), tmp_path / "f.csv")
    with pytest.raises(InputError, match=r"no feature.*'label' \(the class\)"):
        read_features(path)


def test_ids_of_the_wrong_length_in_npz_are_refused(tmp_path):
    X = FRAME[["w", "h"]].to_numpy()
    np.savez(tmp_path / "f.npz", X=X, items=np.arange(N - 1))
    with pytest.raises(InputError, match=r"'items'.*\(11,\) where 12 ids"):
        read_features(tmp_path / "f.npz")


def test_names_and_classes_in_npz_are_told_apart(tmp_path):
    X = FRAME[["w", "h"]].to_numpy()
    np.savez(
        tmp_path / "f.npz", X=X, ids=np.arange(N), target=np.ones(N), names=["w", "h"]
    )
    table = read_feature_table(tmp_path / "f.npz")
    assert table.names == ["w", "h"]
    assert table.left_out == {"target": "the class"}
    assert table.items.tolist() == list(range(N))
