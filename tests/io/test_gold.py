"""Gold files: any table with an item and a class, matched to answers by id."""

import json

import pandas as pd
import pytest

import wisecrowd as wc
from wisecrowd import InputError
from wisecrowd.io.gold import matched_gold, read_gold

NUMBERS = wc.Annotations.from_triples([1, 1, 2, 3], list("abab"), ["x", "y", "y", "x"])
TEXT = NUMBERS.with_items(["1", "2", "3"])


def truth_of(annotations, gold):
    """The gold class of every item, None where there is none."""
    names = [*annotations.classes.tolist(), None]  # code -1 is the last
    return [names[code] for code in annotations.with_gold(gold).gold_codes]


def gold_file(tmp_path, text, name="gold.csv"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gold.csv", "item,gold\n1,x\n3,y\n"),
        ("gold.tsv", "Task\tLabel\n1\tx\n3\ty\n"),
        ("gold.csv", "note;subject_id;class\nfirst;1;x\nsecond;3;y\nthird;2;\n"),
        ("gold.csv", "label,item,truth\nno,1,x\nno,3,y\n"),
        ("gold.json", '{"1": "x",\n "3": "y"}'),
        ("gold.json", '{"1": "x", "3": "y"}'),
        ("gold.json", '[{"item": 1, "truth": "x"}, {"item": 3, "truth": "y"}]'),
        ("gold.jsonl", '{"item": 1, "gold": "x"}\n{"item": 3, "gold": "y"}\n'),
        ("gold.csv", "item,gold\n1,x\n1,x\n3,y\n,x\n"),
        ("gold.csv", "item,gold\n1.0,x\n3,y\n"),
    ],
)
def test_every_form_of_file_gives_the_same_gold(name, text, tmp_path):
    gold = read_gold(gold_file(tmp_path, text, name))
    assert gold.to_dict() == {1: "x", 3: "y"}
    assert (gold.name, gold.index.name) == ("gold", "item")
    matched, notes = matched_gold(gold, NUMBERS)
    assert matched.equals(NUMBERS.with_gold({1: "x", 3: "y"}).gold)
    assert notes == []
    assert truth_of(NUMBERS, matched) == ["x", None, "y"]


@pytest.mark.parametrize("index", [True, False])
def test_parquet_is_read_with_the_item_as_a_column_or_as_the_index(index, tmp_path):
    for items in ([1, 3], [1, 4, 3]):  # pandas keeps the first as a range
        table = pd.DataFrame({"item": items, "gold": ["x", "y", "y"][: len(items)]})
        table = table.set_index("item") if index else table
        table.to_parquet(tmp_path / "gold.parquet")
        gold = wc.read_gold(tmp_path / "gold.parquet").to_dict()
        assert gold == dict(zip(items, table["gold"], strict=True))


def test_the_columns_can_be_named(tmp_path):
    path = gold_file(tmp_path, "picture,item,expert,gold\na,1,x,z\n")
    assert read_gold(path, item="picture", gold="expert").to_dict() == {"a": "x"}
    with pytest.raises(InputError, match=r"no column 'image' for the item"):
        read_gold(path, item="image")


def test_types_are_those_of_an_annotation_file(tmp_path):
    path = gold_file(tmp_path, "item,gold\n007,1\n8,0\n")
    assert read_gold(path).to_dict() == {"007": 1, "8": 0}
    path = gold_file(tmp_path, json.dumps([{"item": "8", "gold": "1"}]), "gold.json")
    assert read_gold(path).to_dict() == {"8": "1"}


@pytest.mark.parametrize("annotations", [NUMBERS, TEXT])
@pytest.mark.parametrize("gold", [{1: "x", 3: "y"}, {"1": "x", "3": "y"}])
def test_numbers_and_text_are_the_same_items(annotations, gold):
    matched, notes = matched_gold(gold, annotations)
    assert matched.index.tolist() == annotations.items[[0, 2]].tolist()
    assert matched.tolist() == ["x", "y"]
    assert notes == []
    assert truth_of(annotations, gold) == ["x", None, "y"]


def test_numbers_and_text_are_the_same_classes():
    numbers = wc.Annotations.from_triples([1, 2], ["a", "a"], [0, 1])
    text = wc.Annotations.from_triples([1, 2], ["a", "a"], ["0", "1"])
    assert matched_gold({1: "1"}, numbers)[0].to_dict() == {1: 1}
    assert matched_gold({1: 1}, text)[0].to_dict() == {1: "1"}
    with pytest.raises(InputError, match="gold class 'cat'"):
        matched_gold({1: "cat"}, numbers)


def test_booleans_are_those_of_the_answers_whatever_their_capitals(tmp_path):
    answers = wc.Annotations.from_triples([1, 2], ["a", "a"], ["true", "maybe"])
    gold = read_gold(gold_file(tmp_path, "item,gold\n1,true\n2,true\n"))
    assert gold.tolist() == [True, True]
    assert matched_gold(gold, answers)[0].tolist() == ["true", "true"]


def test_items_that_are_not_at_hand_are_left_out_with_a_note(tmp_path):
    gold = read_gold(gold_file(tmp_path, "item,gold\n1,x\n77,y\n78,z\n"))
    matched, notes = matched_gold(gold, NUMBERS)
    assert matched.to_dict() == {1: "x"}
    assert notes == ["2 gold items are not among the items and are left out: 77, 78."]


def test_no_gold_is_an_empty_series():
    assert matched_gold({}, NUMBERS)[0].empty
    assert truth_of(NUMBERS, {}) == [None, None, None]


@pytest.mark.parametrize(
    ("gold", "sentence"),
    [
        (
            {77: "x", 78: "y"},
            "none of the 2 gold items is among the items.*77, 78.*1, 2, 3",
        ),
        ({1: "z"}, "gold class 'z' of item 1 .* name all classes with classes="),
        (["x"], "from item to class, not a list"),
    ],
)
def test_gold_that_does_not_fit_the_answers_is_refused(gold, sentence):
    with pytest.raises(InputError, match=sentence):
        matched_gold(gold, NUMBERS)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "item,gold\n1,x\n1,y\n",
            "more than one gold class was given for 1 item: item 1",
        ),
        ("item,colour\n1,x\n", "no column for the gold .*'item', 'colour'"),
        ("thing,gold\n1,x\n", "no column for the item"),
        ("item,gold\n1,\n", "no row with an item and a class"),
        ("item,gold\n", "no rows below the header"),
        ("", "empty"),
    ],
)
def test_a_mistake_is_a_sentence_that_names_the_file(text, sentence, tmp_path):
    with pytest.raises(InputError, match=rf"gold\.csv: .*{sentence}"):
        read_gold(gold_file(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[1, 2]", "record 1 is not a record"),
        ('{"a": {"b": 1}}', "the gold in record 1 is a dict"),
        ("[]", "no record"),
        ('[{"item": 1}]', "no column for the gold"),
    ],
)
def test_json_of_another_form_is_refused(text, sentence, tmp_path):
    with pytest.raises(InputError, match=rf"gold\.json: .*{sentence}"):
        read_gold(gold_file(tmp_path, text, "gold.json"))


def test_an_array_is_not_gold(tmp_path):
    (tmp_path / "gold.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(InputError, match="npy file; gold is read from CSV"):
        read_gold(tmp_path / "gold.npy")


@pytest.mark.parametrize("orient", ["columns", "index", "records", "split", "table"])
def test_gold_is_read_from_json_of_pandas(tmp_path, orient):
    table = pd.DataFrame({"image": ["x", "y"], "class": ["cat", "dog"]})
    table.to_json(tmp_path / "gold.json", orient=orient)
    assert read_gold(tmp_path / "gold.json").to_dict() == {"x": "cat", "y": "dog"}


def test_gold_that_most_answers_contradict_is_noted():
    answers = wc.Annotations.from_matrix([[0, 0, 0], [1, 1, 1], [0, 0, 1], [0, 1, 2]])
    _, notes = matched_gold({0: 1, 1: 1, 2: 1, 3: 2}, answers)
    assert "contradict the gold class of 2 of the 3 gold items on which" in notes[0]
    assert matched_gold({0: 0, 1: 1, 2: 1, 3: 2}, answers)[1] == []
