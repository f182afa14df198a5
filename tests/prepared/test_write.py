"""A prepared folder has the names and codes that the reader of small files has."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import wisecrowd as wc
from wisecrowd.prepared import write
from wisecrowd.prepared.folder import opened
from wisecrowd.prepared.write import prepare

LINES = (
    "task,worker,label\n010,bob,cat\n9,ann,dog\n010,ann,dog\n9,bob,\n9,eve,NA\n"
    '2,"x, y",cat\n'
)


def codes_of(folder):
    """Return item, annotator and answer of all blocks, and the names of the items."""
    blocks = list(folder.blocks())
    columns = [
        np.concatenate([b.first + b.answers.item for b in blocks]),
        np.concatenate([b.answers.annotator for b in blocks]),
        np.concatenate([b.answers.answer for b in blocks]),
    ]
    return columns, np.concatenate([names.to_numpy() for names in folder.names()])


def assert_same(folder, read):
    """Claim that a folder has all that the reader has, in the same codes."""
    columns, items = codes_of(folder)
    assert_array_equal(items, read.items)
    assert_array_equal(folder.annotators, read.annotators)
    assert_array_equal(folder.answers, read.answers)
    assert_array_equal(folder.classes, read.classes)
    order = np.lexsort((read.answer, read.annotator, read.item))
    want = [c[order] for c in (read.item, read.annotator, read.answer)]
    assert_array_equal(columns, want)


@pytest.mark.parametrize("shards", [1, 3])
def test_codes_are_those_of_the_reader(prepared, file, shards):
    assert prepared[shards].about["n_shards"] == shards
    assert_same(prepared[shards], wc.read_annotations(file))


@pytest.mark.parametrize("numbers", [True, False])
def test_text_tables_are_read_as_the_reader_reads_them(numbers, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(LINES.replace("010", "10") if numbers else LINES)
    folder = prepare(path, tmp_path / "prepared")
    assert_same(folder, wc.read_annotations(path))
    assert isinstance(codes_of(folder)[1][0], np.integer if numbers else str)


def test_several_files_of_several_kinds_are_one_crowd(tmp_path):
    (tmp_path / "a.csv").write_text("item,annotator,answer\n1,7,2\n3,7,1\n")
    with gzip.open(tmp_path / "b.tsv.gz", "wt") as file:
        file.write("task\tworker\tlabel\n1\t8\t2\n")
    table = pd.DataFrame({"item": [3, 20], "annotator": [8, 8], "answer": [2, 1]})
    table.to_parquet(tmp_path / "c.parquet")
    paths = [tmp_path / name for name in ("a.csv", "b.tsv.gz", "c.parquet")]
    folder = prepare(paths, tmp_path / "prepared", shards=2)
    assert_array_equal(codes_of(folder)[1], [1, 3, 20])
    assert_array_equal(folder.annotators, [7, 8])
    assert folder.about["n_answers"] == 5


def test_an_answer_with_an_id_counts_once_and_one_without_counts_twice(tmp_path):
    rows = {"item": [1, 1, 2], "annotator": ["a", "a", "a"], "answer": [0, 0, 1]}
    pd.DataFrame(rows).to_parquet(tmp_path / "without.parquet")
    rows["annotation_id"] = [5, 5, 6]
    pd.DataFrame(rows).to_parquet(tmp_path / "with.parquet")
    n_answers = [
        prepare(tmp_path / f"{name}.parquet", tmp_path / name).about["n_answers"]
        for name in ("with", "without")
    ]
    assert n_answers == [2, 3]


def test_classes_and_other_answers_are_in_the_given_order(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(LINES)
    folder = prepare(
        path, tmp_path / "p", classes=["dog", "emu"], answers=["cat"], item="task"
    )
    assert folder.classes.tolist() == ["dog", "emu"]
    assert_same(
        folder, wc.read_annotations(path, classes=["dog", "emu"], answers=["cat"])
    )


def test_a_file_that_wisecrowd_wrote_keeps_its_classes_and_empty_names(tmp_path):
    answers = wc.Annotations.from_triples(
        ["a", "a", ""], ["x", "y", "x"], ["no", "yes", "?"],
        classes=["yes", "no", "maybe"], answers=["?"],
    )  # fmt: skip
    path = wc.write_annotations(answers, tmp_path / "answers.parquet")
    assert_same(prepare(path, tmp_path / "p"), answers)
    answers.to_frame().to_parquet(tmp_path / "other.parquet")
    other = prepare(tmp_path / "other.parquet", tmp_path / "o")
    assert_same(other, wc.read_annotations(tmp_path / "other.parquet"))
    assert other.about["n_answers"] == 2


def test_quotation_marks_in_names_do_no_harm(tmp_path):
    rows = {'the "item"': ["o'", '"'], "who; --": ["a", "b"], "an'swer": ["'", '"']}
    path = tmp_path / "it's.parquet"
    pd.DataFrame(rows).to_parquet(path)
    columns = dict(zip(("item", "annotator", "answer"), rows, strict=True))
    folder = prepare(path, tmp_path / "o'p", **columns)
    assert_same(folder, wc.read_annotations(path, **columns))


def test_a_row_group_has_whole_items(file, tmp_path, monkeypatch):
    monkeypatch.setattr(write, "LEAST_ROWS", 100)
    folder = prepare(file, tmp_path / "p", shards=2)
    blocks = list(folder.blocks())
    assert len(blocks) > 10
    firsts = [block.first for block in blocks]
    ends = [block.first + block.answers.n_items for block in blocks]
    assert firsts == [0, *ends[:-1]]
    assert ends[-1] == folder.about["n_items"]
    assert_same(folder, wc.read_annotations(file))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", '[{"item": 1, "annotator": 2, "answer": 3}]', "long tables"),
        ("a.csv", "item,annotator,answer\n1,ann,\n", "no answers"),
        ("a.csv", "item,annotator,answer\n1,ann,cat\n", "only one class, 'cat'"),
        ("a.csv", "item,who\n1,ann\n", "no column for the answer"),
        ("a.csv", "item,who,answer\n1,ann,x\n2\n", "row 2 has 1 values where"),
    ],
)
def test_what_cannot_be_prepared_is_a_sentence(name, text, said, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(wc.InputError, match=said):
        prepare(tmp_path / name, tmp_path / "p")
    assert not list(tmp_path.glob("p/*")) + list(tmp_path.glob("p/.*"))


def test_a_folder_with_other_files_is_never_replaced(file, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(wc.InputError, match="is not empty"):
        prepare(file, tmp_path, force=True)
    folder = tmp_path / "p"
    prepare(file, folder, shards=3)
    with pytest.raises(wc.InputError, match="pass --force"):
        prepare(file, folder)
    prepare(file, folder, shards=1, force=True)
    assert len(list(folder.glob("answers-*.parquet"))) == 1


def test_a_folder_that_was_not_finished_is_not_opened(file, tmp_path):
    with pytest.raises(wc.InputError, match="wisecrowd prepare ANSWERS"):
        opened(tmp_path)
    folder = prepare(file, tmp_path / "p", shards=2)
    (folder.path / "answers-00001.parquet").unlink()
    with pytest.raises(wc.InputError, match=r"00001\.parquet is missing"):
        list(opened(folder.path).blocks())
    (folder.path / "prepared.json").write_text("{}")
    with pytest.raises(wc.InputError, match="is damaged, or of another wisecrowd"):
        opened(folder.path)


def test_without_duckdb_the_extra_is_named(file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(wc.InputError, match=r"pip install 'wisecrowd\[scale\]'"):
        prepare(file, tmp_path / "p")
