"""Answers and features: one join by id, for the library and for files."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import wisecrowd as wc
from wisecrowd import InputError
from wisecrowd.base import answers_of_rows
from wisecrowd.io.join import join_features, join_note, read_feature_table

ROWS = [(7, "ann", "cat"), (7, "bob", "dog"), (10, "ann", "dog")]
IDS = [10, 8, 7]  # the order of the features
X = np.arange(6.0).reshape(3, 2)
MATRIX = [[1, -1], [-1, -1], [0, 1]]  # rows as in IDS, columns ann and bob


def answers(kind):
    item, annotator, answer = zip(*ROWS, strict=True)
    return wc.Annotations.from_triples(list(map(kind, item)), annotator, answer)


def features(tmp_path, kind, name="features.parquet"):
    table = pd.DataFrame({"item": list(map(kind, IDS)), "f": X[:, 0], "g": X[:, 1]})
    path = tmp_path / name
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path)
    return path


@pytest.mark.parametrize("left", [int, str])
@pytest.mark.parametrize("right", [int, str])
def test_library_and_files_join_7_and_text_7_alike(left, right, tmp_path):
    table = read_feature_table(features(tmp_path, right))
    wc.write_annotations(answers(left), tmp_path / "answers.parquet")
    read = wc.read_annotations(tmp_path / "answers.parquet")
    ids = list(map(right, IDS))
    for joined in (
        join_features(read, table),
        answers(left).align(ids),
        answers_of_rows(answers(left), ids),
    ):
        assert joined.items.tolist() == ids
        assert joined.to_matrix().tolist() == MATRIX
    assert_array_equal(table.X, X)


def test_ids_in_csv_are_those_in_json(tmp_path):
    table = read_feature_table(features(tmp_path, int, "features.csv"))
    (tmp_path / "answers.json").write_text('{"7": {"ann": "cat", "bob": "dog"}}')
    joined = join_features(wc.read_annotations(tmp_path / "answers.json"), table)
    assert joined.to_matrix().tolist() == [[-1, -1], [-1, -1], [0, 1]]


def test_the_note_says_what_was_read_and_how_many_items_have_no_answer(tmp_path):
    path = features(tmp_path, int)
    table = read_feature_table(path)
    want = f"{path}: 3 items, 2 features: 'f', 'g' (with ids)"
    assert join_note(join_features(answers(int), table), table) == (
        f"{want}; 1 of them have no answer"
    )
    assert str(table) == want


def test_rows_without_ids_are_numbered_from_0(tmp_path):
    np.save(tmp_path / "features.npy", X)
    table = read_feature_table(tmp_path / "features.npy")
    assert table.items.tolist() == [0, 1, 2]
    assert "no ids: rows counted from 0" in str(table)
    with pytest.raises(InputError, match=r"features\.npy: .* items 0 to 2: add a col"):
        join_features(answers(int), table)


def test_an_answer_on_an_unknown_item_is_an_error_that_names_it(tmp_path):
    more = answers(str).merge(wc.Annotations.from_triples(["77"], ["ann"], ["cat"]))
    table = read_feature_table(features(tmp_path, int))
    with pytest.raises(InputError, match=r"parquet: 1 of 3 answered items .*'77'"):
        join_features(more, table)
    with pytest.raises(InputError, match=r"1 of 3 answered items .*'77'"):
        answers_of_rows(more, IDS)


def test_gold_of_an_item_without_features_is_dropped(tmp_path):
    text = "item,annotator,answer,gold\n7,ann,cat,cat\n10,ann,dog,\n99,,,dog\n"
    (tmp_path / "answers.csv").write_text(text)
    read = wc.read_annotations(tmp_path / "answers.csv")
    assert read.gold.to_dict() == {7: "cat", 99: "dog"}
    table = read_feature_table(features(tmp_path, int))
    assert join_features(read, table).gold.to_dict() == {7: "cat"}


def test_a_mistake_is_said_in_the_words_of_this_function(tmp_path):
    (tmp_path / "features.csv").write_text("x,y,f\na,c,1\nb,d,2\n")
    with pytest.raises(InputError, match="Name the column of item ids with item="):
        read_feature_table(tmp_path / "features.csv")


def test_features_with_other_names_of_the_items_say_which_column_has_them(tmp_path):
    batch, listed = tmp_path / "batch.csv", tmp_path / "features.csv"
    rows = "".join(f"H{i},W{a},u{i},x\n" for i in range(3) for a in range(2))
    batch.write_text(f"HITId,WorkerId,Input.url,Answer.kind.label\n{rows}")
    listed.write_text("url,width\n" + "".join(f"u{i},{i}.5\n" for i in range(3)))
    table = read_feature_table(listed)
    with pytest.raises(InputError, match=r"'Input\.url' could name them too"):
        join_features(wc.read_annotations(batch), table)
    named = wc.read_annotations(batch, item="Input.url")
    assert join_features(named, table).items.tolist() == ["u0", "u1", "u2"]
    assert not [n for n in named.report.notes if "item=" in n]
