"""Annotations from files and back; what a reader says of what it found."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from wisecrowd._checks import InputError
from wisecrowd.annotations import Annotations
from wisecrowd.io import long_tables
from wisecrowd.io.read import read_annotations
from wisecrowd.io.write import write_annotations

LONG = "task,worker,label\nx,ann,cat\nx,bob,dog\ny,ann,cat\n"
ROWS = [("x", "ann", "cat"), ("x", "bob", "dog"), ("y", "ann", "cat")]


@pytest.fixture
def written(tmp_path):
    """Write a small file and return its path."""

    def write(content, name="file.csv"):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8", newline="")
        return path

    return write


def rows_of(annotations):
    return list(annotations.to_frame().itertuples(index=False, name=None))


def message_of(call, *args, **options):
    with pytest.raises(InputError) as caught:
        call(*args, **options)
    return str(caught.value)


# -- long tables in every container ---------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
def test_a_long_table_is_read_whatever_separates_its_values(written, separator):
    annotations = read_annotations(written(LONG.replace(",", separator)))
    assert rows_of(annotations) == ROWS
    assert (annotations.report.n_rows, annotations.report.n_kept) == (3, 3)
    assert annotations.report.format.startswith("long")


def test_the_content_decides_and_not_the_ending(written, tmp_path):
    table = pd.read_csv(written(LONG))
    table.to_parquet(tmp_path / "parquet.csv")
    assert rows_of(read_annotations(tmp_path / "parquet.csv")) == ROWS
    assert rows_of(read_annotations(written(LONG, "table.parquet"))) == ROWS


def test_a_gzipped_table_is_read(written):
    path = written(gzip.compress(LONG.encode()), "file.csv.gz")
    assert rows_of(read_annotations(path)) == ROWS


def test_a_byte_order_mark_is_no_part_of_the_first_column(written):
    assert rows_of(read_annotations(written(b"\xef\xbb\xbf" + LONG.encode()))) == ROWS


@pytest.mark.parametrize("orient", ["records", "list", "dict", "index", "split"])
def test_json_by_pandas_with_names_of_ones_own_is_a_long_table(written, orient):
    own = {"task": "zig", "worker": "zag", "label": "zog"}
    table = pd.read_csv(written(LONG)).rename(columns=own)[list(own.values())]
    path = written(json.dumps(table.to_dict(orient=orient)))
    found = read_annotations(path, item="zig", annotator="zag", answer="zog")
    assert "long JSON" in found.report.format
    assert len(found) == len(read_annotations(written(LONG)))


@pytest.mark.parametrize("orient", ["records", "list", "dict"])
def test_json_written_by_pandas_is_a_long_table(written, orient):
    content = json.dumps(pd.read_csv(written(LONG)).to_dict(orient=orient))
    assert rows_of(read_annotations(written(content, "file.json"))) == ROWS


def test_json_lines_keep_the_types_of_their_values(written):
    lines = [{"item": str(i), "user": i, "answer": i > 0} for i in range(3)]
    text = "\n".join(map(json.dumps, lines))
    annotations = read_annotations(written(text, "file.jsonl"))
    assert rows_of(annotations) == [(str(i), i, i > 0) for i in range(3)]


def test_one_record_is_json_lines_too(written):
    path = written('{"item": "x", "annotator": 1, "label": "a"}\n', "file.jsonl")
    assert rows_of(read_annotations(path)) == [("x", 1, "a")]


def test_columns_are_named_where_their_names_say_nothing(written):
    path = written(LONG.replace("task,worker,label", "a,b,c"))
    annotations = read_annotations(path, item="a", annotator="b", answer="c")
    assert rows_of(annotations) == ROWS


def test_whole_numbers_become_numbers_unless_one_has_a_leading_zero(written):
    annotations = read_annotations(
        written("item,user,label\n1,007,1.0\n10,8,2\n2,9,\n")
    )
    assert annotations.items.tolist() == [1, 2, 10]
    assert annotations.annotators.tolist() == ["007", "8"]
    assert annotations.classes.tolist() == [1, 2]
    assert annotations.classes.dtype == annotations.items.dtype == np.int64


def test_text_that_begins_with_numbers_for_megabytes_is_still_text(written):
    lines = [f"{i},{i % 7},1" for i in range(300_000)] + ["x,y,z"]
    annotations = read_annotations(written("item,user,label\n" + "\n".join(lines)))
    assert len(annotations) == 300_001
    assert {"x", "12"} <= set(annotations.items)
    assert annotations.classes.tolist() == ["1", "z"]


def test_answers_stay_text_where_the_classes_are_given_as_text(written):
    path = written("item,user,label\n1,1,0.5\n1,2,1\n")
    annotations = read_annotations(path, classes=["0.5", "1"])
    assert annotations.classes.tolist() == ["0.5", "1"]


def test_quoted_values_hold_separators_newlines_and_words_for_missing(written):
    path = written('item,user,label\n"a,b","c\nd","NA"\nx,y,NA\n')
    annotations = read_annotations(path)
    assert rows_of(annotations) == [("a,b", "c\nd", "NA")]
    assert annotations.report.left_out == {"no answer": 1}


# -- the report -----------------------------------------------------------------


def test_every_row_left_out_is_counted_under_its_reason(written):
    path = written(LONG + "x,cyd,\nz,ann,NaN\n,ann,cat\ny,,dog\n")
    annotations = read_annotations(path)
    report = annotations.report
    assert rows_of(annotations) == ROWS
    assert report.left_out == {"no answer": 2, "no item": 1, "no annotator": 1}
    assert report.n_rows == report.n_kept + sum(report.left_out.values()) == 7
    assert "1 item without an answer: kept" in str(report)
    assert annotations.items.tolist() == ["x", "y", "z"]


def test_repeats_that_are_dropped_are_counted(written):
    path = written(LONG + "x,ann,dog\n")
    assert len(read_annotations(path)) == 4
    last = read_annotations(path, drop_repeats="last")
    assert ("x", "ann", "dog") in rows_of(last)
    assert ("x", "ann", "cat") not in rows_of(last)
    assert last.report.left_out == {"repeats an answer (drop_repeats='last')": 1}


def test_answers_that_differ_in_capitals_are_reported(written):
    report = read_annotations(written(LONG + "y,bob,Cat\n")).report
    assert "'Cat', 'cat' differ only in blanks or capitals" in str(report)


def test_names_with_a_blank_beside_them_are_counted(tmp_path):
    path = tmp_path / "typed.csv"
    path.write_text("item,annotator,answer\na,ann, x\na,bob,x\nb ,ann,x\nb, bob,x\n")
    notes = " ".join(read_annotations(path).report.notes)
    assert "1 annotator stands in the file with and without a blank" in notes
    assert "' bob', 'bob'" in notes
    assert "1 item stands" in notes


def test_a_gold_column_comes_back_as_gold(written):
    text = "task,worker,label,gold\nx,ann,cat,dog\nx,bob,dog,dog\ny,ann,cat,\nz,,,cat\n"
    annotations = read_annotations(written(text))
    assert annotations.gold.to_dict() == {"x": "dog", "z": "cat"}
    assert len(annotations) == 3


def test_gold_has_the_type_of_the_answers(written):
    path = written("item,user,label,truth\n1,a,0,1\n1,b,1,1\n2,a,0,\n")
    assert read_annotations(path).gold.to_dict() == {1: 1}


def test_two_gold_classes_of_one_item_are_named(written):
    text = "item,user,label,gold\nx,a,1,1\nx,b,1,0\n"
    message = message_of(read_annotations, written(text))
    assert "item 'x' has '0', '1'" in message or "item 'x' has '1', '0'" in message


# -- wide tables ----------------------------------------------------------------


def test_a_wide_table_is_recognised_by_what_its_columns_share(written):
    lines = [f"i{i},{i % 2},{(i + 1) % 3},-1,{i % 3}" for i in range(9)]
    text = "item,ann,bob,cyd,dee\n" + "\n".join(lines) + "\ni9,,,,\n"
    annotations = read_annotations(written(text))
    assert annotations.report.format == "wide CSV"
    assert annotations.annotators.tolist() == ["ann", "bob", "cyd", "dee"]
    assert len(annotations.items) == 10
    assert len(annotations) == 27
    assert "13 of 40 cells hold no answer" in str(annotations.report)
    assert ("i4", "bob", 2) in rows_of(annotations)


def test_wide_and_long_give_the_same_annotations(written, tmp_path):
    wide = pd.DataFrame(
        {"item": ["x", "y", "z"], "ann": ["a", "b", "a"], "bob": ["b", None, "b"]}
    )
    wide.to_csv(tmp_path / "wide.csv", index=False)
    wide.to_parquet(tmp_path / "wide.parquet")
    long = wide.melt("item", var_name="annotator", value_name="answer")
    long.dropna().to_csv(tmp_path / "long.csv", index=False)
    names = ("wide.csv", "wide.parquet", "long.csv")
    tables = [read_annotations(tmp_path / name).to_frame() for name in names]
    for table in tables[:2]:
        pd.testing.assert_frame_equal(table, tables[2])


def test_a_wide_table_of_numbers_with_gaps_in_parquet_has_integer_classes(tmp_path):
    wide = pd.DataFrame({"item": [5, 7], "ann": [0.0, np.nan], "bob": [1.0, 0.0]})
    wide.to_parquet(tmp_path / "wide.parquet")
    annotations = read_annotations(tmp_path / "wide.parquet", format="wide")
    assert rows_of(annotations) == [(5, "ann", 0), (5, "bob", 1), (7, "bob", 0)]


def test_a_matrix_without_a_header_has_row_and_column_numbers(written):
    annotations = read_annotations(written("0 -1 1\n-1 -1 1\n0 2 2\n", "answers.txt"))
    first, last = [(0, 0, 0), (0, 2, 1), (1, 2, 1)], [(2, 0, 0), (2, 1, 2), (2, 2, 2)]
    assert rows_of(annotations) == first + last


def test_a_table_that_is_neither_long_nor_wide_is_refused_with_its_columns(written):
    message = message_of(read_annotations, written("name,age\nann,7\nbob,8\n"))
    for part in ("'name', 'age'", "item=", "format='wide'"):
        assert part in message


def test_a_table_of_measurements_is_not_taken_for_a_wide_one(written):
    text = "item,a,b\n" + "\n".join(f"{i},0.5,0.5" for i in range(9))
    assert "no column for the annotator" in message_of(read_annotations, written(text))


def test_an_item_with_two_rows_in_a_wide_table_is_named(written):
    path = written("item,ann,bob\nx,1,0\nx,0,1\n")
    assert "'x'" in message_of(read_annotations, path, format="wide")


# -- what is wrong, where, and what to do ---------------------------------------


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["empty"]),
        ("  \n\n", ["empty"]),
        ("item,user,label\n", ["no rows below the header"]),
        ("item,worker\n1,2\n", ["column for the answer", "'item', 'worker'"]),
        ("item,item,label\n1,2,3\n", ["'item'", "more than once", "Rename"]),
        ("item,user,label\n1,2,3\n1,2\n", ["row 2", "2 values", "header has 3"]),
        ("item,user,label\n1,2,3\n1,2,0.5\n", ["row 2", "0.5", "measurement"]),
        ("item,user,label\n1,2,\n", ["no annotation", "its 1 row (", "no answer: 1"]),
        ("just a line\n", ["column for the item"]),
        ('item,user,label\n1,"2,3\n1,2,3\n', ["row 1", "quotation mark opened"]),
        ("1,ann,cat\n1,bob,dog\n", ["'1', 'ann', 'cat'", "no header"]),
        ("one\ntwo\n", ["'one'", "holds one value"]),
        (b"item,user,label\n1,2,caf\xe9\n", ["line 2", "UTF-8", "café", "0xe9"]),
        ("item,user,label\n1,2,3\n".encode("utf-16")[:-1], ["UTF-16", "UTF-8"]),
        (b"PK\x03\x04rest", ["zip", "save it as CSV"]),
        (b"PAR1rest", ["Parquet file is broken"]),
        (b"\x1f\x8brest", ["compressed file is broken"]),
        ('[{"item": 1, "user": 2, "label": [3]}]', ["answer in record 1", "list"]),
        ('[{"item": 1, "user": 2}]', ["column for the answer", "'item', 'user'"]),
        ('{"x": {"ann": {"a": 1}}}', ["'ann'", "'x'", "dict"]),
        ('{"a": 1, "b": [2]}\n', ["column for the item"]),
        ("[1, 2]", ["no known form", "list"]),
        ("[]", ["no record"]),
    ],
)  # fmt: skip
def test_bad_input_gets_a_sentence_that_says_what_and_where(written, content, parts):
    path = written(content, "bad.file")
    message = message_of(read_annotations, path)
    assert message.startswith(f"{path}: ")
    for part in parts:
        assert part in message, message


def test_an_undecodable_byte_is_found_beyond_the_first_megabyte(written):
    lines = b"item,user,label\n" + b"1,2,3\n" * 400_000 + b"1,2,\xff\n"
    assert "line 400,002 is not in UTF-8" in message_of(
        read_annotations, written(lines)
    )


def test_a_broken_line_of_json_is_named(written):
    good = '{"item": 1, "user": 2, "label": 3}\n'
    path = written(good * 1233 + '{"item": 1, "us\n' + good, "file.jsonl")
    assert "line 1,234 holds broken JSON" in message_of(read_annotations, path)


def test_broken_json_says_at_which_line(written):
    path = written('{"x": {"ann": 1},\n "y": {"ann" 2}}', "answers.json")
    assert "of line 2" in message_of(read_annotations, path)


def test_mixed_types_are_shown_with_their_rows(written):
    lines = [{"item": 1, "user": 2, "label": v} for v in (1, 2, "1")]
    path = written("\n".join(map(json.dumps, lines)), "file.jsonl")
    message = message_of(read_annotations, path)
    assert "a number in row 1 (1) and text in row 3 ('1')" in message


def test_an_answer_outside_the_classes_is_named_with_its_item(written):
    message = message_of(read_annotations, written(LONG), classes=["cat", "cow"])
    assert "'dog' of annotator 'bob' on item 'x'" in message


def test_an_answer_that_is_no_class_can_be_allowed(written):
    annotations = read_annotations(
        written(LONG), classes=["cat", "cow"], answers=["dog"]
    )
    assert annotations.classes.tolist() == ["cat", "cow"]
    assert annotations.answers.tolist() == ["cat", "cow", "dog"]


def test_a_directory_without_tables_is_refused_with_what_is_in_it(written):
    path = written(LONG, "inside.doc")
    assert "'inside.doc'" in message_of(read_annotations, path.parent)
    written(LONG, "model.json")
    assert "folder of a run" in message_of(read_annotations, path.parent)


def test_a_missing_file_is_refused_with_names_like_it(written):
    path = written(LONG, "answers.csv")
    message = message_of(read_annotations, path.with_name("anwsers.csv"))
    assert "no such file" in message
    assert "'answers.csv'" in message


def test_a_file_that_may_not_be_opened_is_refused(written, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    path = written(LONG)
    monkeypatch.setattr(Path, "open", refuse)
    assert "no permission" in message_of(read_annotations, path)
    annotations = Annotations.from_triples(["x"], ["a"], [1])
    assert "no permission" in message_of(write_annotations, annotations, path)


def test_an_unknown_format_is_refused_with_those_known(written):
    message = message_of(read_annotations, written(LONG), format="excel")
    assert "'excel'" in message
    assert "'zooniverse'" in message


@pytest.mark.parametrize("form", ["zooniverse", "mturk", "toloka", "peerannot"])
def test_a_format_that_does_not_fit_the_file_is_refused(written, form):
    assert form in message_of(read_annotations, written(LONG), format=form)


def test_an_option_of_another_format_is_refused(written):
    message = message_of(read_annotations, written(LONG), task="T0")
    assert "task='T0'" in message
    assert "'long'" in message


# -- writing --------------------------------------------------------------------

ENDINGS = ("csv", "tsv", "parquet", "jsonl", "json")
CHARACTERS = st.characters(
    codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]
)
NAMES = st.text(CHARACTERS, min_size=1, max_size=6).filter(lambda s: s.strip())
IDS = st.one_of(
    st.lists(NAMES, min_size=1, max_size=5, unique=True),
    st.lists(st.integers(-9, 10**12), min_size=1, max_size=5, unique=True),
)


@st.composite
def crowds(draw):
    """Draw annotations with repeats, bare items, and gold for some."""
    items, annotators, classes = draw(IDS), draw(IDS), draw(IDS)
    rows = st.tuples(*map(st.sampled_from, (items, annotators, classes)))
    item, annotator, answer = zip(
        *draw(st.lists(rows, min_size=1, max_size=12)), strict=True
    )
    gold = draw(
        st.dictionaries(st.sampled_from(items), st.sampled_from(sorted(set(answer))))
    )
    return Annotations.from_triples(
        list(item), list(annotator), list(answer), items=sorted(items), gold=gold
    )


def looks_typed(names):
    """Would a file without types change these names?"""
    text = [str(n) for n in names]
    whole = all(t.removeprefix("-").removesuffix(".0").isdigit() for t in text)
    return names.dtype.kind == "O" and (
        whole or all(t.lower() in ("true", "false") for t in text)
    )


def assert_same(left, right, *, ordered=True):
    for name in ("items", "annotators", "answers", "gold_codes"):
        here, there = getattr(left, name), getattr(right, name)
        assert here.dtype == there.dtype, name
        assert here.tolist() == there.tolist(), name
    frames = [a.to_frame() for a in (left, right)]
    if not ordered:
        frames = [f.sort_values(["item", "annotator"], kind="stable") for f in frames]
    pd.testing.assert_frame_equal(*(f.reset_index(drop=True) for f in frames))


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=25, deadline=None)
@given(annotations=crowds())
def test_what_is_written_is_read_back(tmp_path_factory, ending, annotations):
    if ending in ("csv", "tsv"):
        names = (annotations.items, annotations.annotators, annotations.answers)
        assume(not any(map(looks_typed, names)))
    path = tmp_path_factory.mktemp("round") / f"answers.{ending}"
    assert write_annotations(annotations, path) == path
    assert_same(annotations, read_annotations(path), ordered=ending != "json")


@pytest.mark.parametrize("ending", ENDINGS)
def test_leading_zeros_and_repeats_survive(tmp_path, ending):
    annotations = Annotations.from_triples(
        ["007", "007", "007", "8"], ["01", "01", "1", "1"], [1, 0, 1, 1]
    )
    path = write_annotations(annotations, tmp_path / f"answers.{ending}")
    assert_same(annotations, read_annotations(path))


@pytest.mark.parametrize("ending", ["parquet", "json", "jsonl"])
def test_text_that_looks_like_numbers_survives_where_there_are_types(tmp_path, ending):
    annotations = Annotations.from_triples(["7", "8"], ["1", "2"], ["0", "1"])
    path = write_annotations(annotations, tmp_path / f"answers.{ending}")
    assert_same(annotations, read_annotations(path))


@pytest.mark.parametrize("ending", ENDINGS)
def test_booleans_survive(tmp_path, ending):
    annotations = Annotations.from_triples([1, 2], ["a", "b"], [True, False])
    assert_same(
        annotations,
        read_annotations(write_annotations(annotations, tmp_path / f"l.{ending}")),
    )


def test_parquet_keeps_unused_classes_and_answers_that_are_none(tmp_path):
    annotations = Annotations.from_triples(
        ["x", "y"], ["a", "b"], ["no", "?"], classes=["yes", "no"], answers=["?"]
    )
    back = read_annotations(
        write_annotations(annotations, tmp_path / "answers.parquet")
    )
    assert back.classes.tolist() == ["yes", "no"]
    assert_same(annotations, back)


def test_json_has_the_form_of_peerannot(tmp_path):
    annotations = Annotations.from_triples(["x", "x", "y"], [3, 3, 4], [0, 1, 1])
    path = write_annotations(annotations, tmp_path / "answers.json")
    assert json.loads(path.read_text()) == {"x": {"3": [0, 1]}, "y": {"4": 1}}


def test_what_cannot_be_written_is_refused(tmp_path):
    annotations = Annotations.from_triples(["x"], [""], [1])
    assert "'.xlsx'" in message_of(
        write_annotations, annotations, tmp_path / "answers.xlsx"
    )
    assert "no directory" in message_of(
        write_annotations, annotations, tmp_path / "no" / "l.csv"
    )
    (tmp_path / "folder.csv").mkdir()
    assert "directory" in message_of(
        write_annotations, annotations, tmp_path / "folder.csv"
    )
    assert "annotators" in message_of(
        write_annotations, annotations, tmp_path / "answers.csv"
    )


# -- real crowds ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("bluebird", (108, 39, 2, 4212)), ("dog", (807, 109, 4, 8070))],
)
def test_a_real_long_table_has_the_published_sizes(data_folder, name, sizes):
    annotations = read_annotations(data_folder / "label-only" / name / "labels.csv")
    found = (
        len(annotations.items),
        len(annotations.annotators),
        annotations.n_classes,
        len(annotations),
    )
    assert found == sizes
    assert annotations.report.left_out == {}


def test_labelme_is_read_as_a_matrix(data_folder):
    annotations = read_annotations(data_folder / "labelme" / "answers.txt")
    assert (len(annotations.items), len(annotations.annotators), len(annotations)) == (
        1000,
        59,
        2547,
    )
    assert annotations.classes.tolist() == list(range(8))


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "x", 1), ("b", "y", 0)],
        [("a", "x", "2020-01-01"), ("b", "y", "2020-01-02")],
        [("a", "x", 1), ("b", "y", 2.0), ("c", "y", None)],
        [("a", "x", "u"), ("b", "y", ""), ("é", "y", "w")],
        [(1, True, "u"), (2, False, "v")],
        [("a", "x", 1), ("b", "y", "1")],
        [("a", "x", 1), ("b", "y", [1])],
        [("a", "x", 1), ("b", "y", 2**64)],
        [(None, "x", 1), ("b", "y", 0)],
        [("a", "x", 1.0), ("b", "y", float("nan")), ("c", "y", 2.0)],
        [("a", "x", 1), ("", "y", 2)],
    ],
)
def test_json_lines_by_arrow_are_those_read_line_by_line(rows, tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    names = ("item", "annotator", "answer")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")

    def read():
        try:
            made = read_annotations(path)
        except InputError as error:
            return str(error)
        return made.to_frame().to_numpy().tolist(), made.items.tolist(), made.report

    by_arrow = read()
    monkeypatch.setattr(long_tables, "json_columns", lambda *_: None)
    assert read() == by_arrow


# -- the same twice, and empty names ---------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_rows_with_the_same_id_and_content_count_once(tmp_path, ending):
    frame = pd.DataFrame(
        {
            "classification_id": [1, 2, 1, 3, 3],
            "item": [7, 7, 7, 8, 8],
            "annotator": ["ann", "bob", "ann", "ann", "ann"],
            "answer": ["cat", "dog", "cat", "cat", "dog"],
        }
    )
    path = tmp_path / f"long.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    made = read_annotations(path)
    assert len(made) == 4  # two answers of classification 3 differ
    assert made.report.n_rows == 5
    assert dict(made.report.left_out) == {"the same classification_id again": 1}


def test_repeated_answers_are_said_with_what_drop_repeats_would_do(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("item,annotator,answer\n1,a,x\n1,b,y\n1,a,x\n")
    made = read_annotations(path)
    note = next(n for n in made.report.notes if "drop_repeats" in n)
    assert note.startswith("1 answer is by an annotator who had already answered")
    assert "2 of 3 answers would be left" in note
    dropped = read_annotations(path, drop_repeats="first")
    assert len(dropped) == 2
    assert not any("drop_repeats" in n for n in dropped.report.notes)


def test_an_empty_name_survives_in_parquet(tmp_path):
    made = Annotations.from_triples(["", "x", "x"], ["a", "", "b"], ["u", "v", "u"])
    again = read_annotations(write_annotations(made, tmp_path / "made.parquet"))
    assert again.items.tolist() == ["", "x"]
    assert again.annotators.tolist() == ["", "a", "b"]
    assert len(again) == 3


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_text_in_utf_16_is_read_as_a_spreadsheet_writes_it(tmp_path, encoding):
    text = "\ufeff" * (encoding != "utf-16") + "item\tuser\tlabel\r\n1\t猫\tcafé\r\n"
    for name, content in (("a.txt", text.encode(encoding)), ("a.gz", None)):
        path = tmp_path / name
        path.write_bytes(content or gzip.compress(text.encode(encoding)))
        made = read_annotations(path)
        assert made.to_frame().values.tolist() == [[1, "猫", "café"]]
        assert made.report.path == str(path)


def test_an_array_of_numpy_is_refused_with_the_way_to_a_table(tmp_path):
    np.save(tmp_path / "answers.npy", np.eye(3))
    with pytest.raises(InputError, match="from_matrix"):
        read_annotations(tmp_path / "answers.npy")
