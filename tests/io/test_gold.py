"""Gold files: any table with an item and a class, joined by id."""

import json

import pandas as pd
import pytest

import wisecrowd as wc
from wisecrowd import InputError
from wisecrowd.io.gold import read_gold, truth_of

NUMBERS = wc.Annotations.from_triples([1, 1, 2, 3], list("abab"), ["x", "y", "y", "x"])
WORDS = wc.Annotations.from_triples(["007", "8"], ["a", "a"], [0, 1])


def gold_file(tmp_path, text, name="gold.csv"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gold.csv", "item,gold\n1,x\n3,y\n"),
        ("gold.tsv", "Task\tLabel\n1\tx\n3\ty\n"),
        ("gold.csv", "note;subject_id;class\nfirst;1;x\nsecond;3;y\nthird;2;\n"),
        ("gold.json", '{"1": "x", "3": "y"}'),
        ("gold.json", '[{"item": 1, "truth": "x"}, {"item": 3, "truth": "y"}]'),
        ("gold.jsonl", '{"item": 1, "gold": "x"}\n{"item": 3, "gold": "y"}\n'),
        ("gold.csv", "item,gold\n1,x\n1,x\n3,y\n"),
    ],
)
def test_every_form_of_file_gives_the_same_gold(name, text, tmp_path):
    gold, notes = read_gold(gold_file(tmp_path, text, name), NUMBERS)
    assert gold.to_dict() == {1: "x", 3: "y"}
    assert notes == []
    assert truth_of(NUMBERS, gold) == ["x", None, "y"]


@pytest.mark.parametrize("index", [True, False])
def test_parquet_is_read_with_the_item_as_a_column_or_as_the_index(index, tmp_path):
    table = pd.DataFrame({"item": [1, 3], "gold": ["x", "y"]})
    table = table.set_index("item") if index else table
    table.to_parquet(tmp_path / "gold.parquet")
    gold, _ = read_gold(tmp_path / "gold.parquet", NUMBERS)
    assert gold.to_dict() == {1: "x", 3: "y"}


def test_ids_are_compared_in_the_type_of_the_answers(tmp_path):
    gold, _ = read_gold(gold_file(tmp_path, "item,gold\n007,1\n8,0\n"), WORDS)
    assert gold.to_dict() == {"007": 1, "8": 0}
    path = gold_file(tmp_path, json.dumps([{"item": 8, "gold": 1}]), "gold.json")
    assert read_gold(path, WORDS)[0].to_dict() == {"8": 1}


def test_items_that_nobody_annotated_are_left_out_with_a_note(tmp_path):
    gold, notes = read_gold(gold_file(tmp_path, "item,gold\n1,x\n77,y\n"), NUMBERS)
    assert gold.to_dict() == {1: "x"}
    assert notes[0].endswith("1 of its items were not annotated and are left out: 77.")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("item,gold\n77,x\nabc,y\n", "none of its 2 items was annotated"),
        ("item,gold\n1,z\n", "gold class 'z' of item 1 .* name all classes with"),
        ("item,gold\n1,x\n1,y\n", "1 items have more than one class: 1"),
        ("item,colour\n1,x\n", "no column for the class .*'item', 'colour'"),
        ("thing,gold\n1,x\n", "no column for the item"),
        ("item,gold\n1,\n", "no row with an item and a class"),
        ("", "empty"),
    ],
)
def test_a_mistake_is_a_sentence_that_names_the_file(text, sentence, tmp_path):
    with pytest.raises(InputError, match=rf"gold\.csv: .*{sentence}"):
        read_gold(gold_file(tmp_path, text), NUMBERS)


@pytest.mark.parametrize("text", ["[1, 2]", '{"a": {"b": 1}}', "3"])
def test_json_of_another_form_is_refused(text, tmp_path):
    with pytest.raises(InputError, match=r"gold\.json"):
        read_gold(gold_file(tmp_path, text, "gold.json"), NUMBERS)


def test_classes_that_are_numbers_are_joined_as_numbers(tmp_path):
    annotations = wc.Annotations.from_triples([1, 2], ["a", "a"], [0, 1])
    gold, _ = read_gold(gold_file(tmp_path, "item,gold\n1,1\n2,0\n"), annotations)
    assert gold.to_dict() == {1: 1, 2: 0}
    with pytest.raises(InputError, match="gold class 'cat'"):
        read_gold(gold_file(tmp_path, "item,gold\n1,cat\n"), annotations)
