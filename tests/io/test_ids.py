"""Ids of the rows of features that are not in the file of the features."""

import json

import numpy as np
import pytest

from wisecrowd._checks import InputError
from wisecrowd.io.features import read_features

IDS = ["a7", "b8", "c9"]


@pytest.fixture
def array(tmp_path):
    np.save(tmp_path / "emb.npy", np.arange(6.0).reshape(3, 2))
    return tmp_path / "emb.npy"


@pytest.mark.parametrize(
    "content",
    [
        "a7\nb8\nc9\n",
        "image\na7\nb8\nc9",
        "nr,image\n1,a7\n2,b8\n3,c9\n",
        json.dumps(IDS),
        "\ufeffa7\r\nb8\r\n\r\nc9\r\n",
    ],
)
def test_a_file_of_ids_may_have_any_usual_form(array, tmp_path, content):
    (tmp_path / "ids").write_text(content, encoding="utf-8", newline="")
    X, items = read_features(array, ids=tmp_path / "ids")
    assert (items.tolist(), X.shape) == (IDS, (3, 2))


def test_ids_are_a_list_or_an_array_too(array, tmp_path):
    np.save(tmp_path / "ids.npy", np.array(IDS))
    for ids in (IDS, np.array([7, 8, 9]), tmp_path / "ids.npy"):
        assert len(read_features(array, ids=ids)[1]) == 3
    assert read_features(array, ids=[7, 8, 9])[1].tolist() == [7, 8, 9]


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["a", "b"], "2 ids for 3 rows"),
        (["a", "a", "b"], "more than once"),
        (["a", None, "b"], "no item"),
        ("nowhere.txt", "no such file"),
    ],
)
def test_ids_that_do_not_fit_are_refused(array, ids, said):
    with pytest.raises(InputError, match=said):
        read_features(array, ids=ids)


def test_an_array_has_no_column_of_ids(array):
    with pytest.raises(InputError, match="with ids="):
        read_features(array, item="image")


def test_json_lines_are_no_list_of_ids(array, tmp_path):
    path = tmp_path / "ids.jsonl"
    path.write_text('{"item": 1, "x": 2}\n' * 4)
    with pytest.raises(InputError, match="ids are read from"):
        read_features(array, ids=path)
