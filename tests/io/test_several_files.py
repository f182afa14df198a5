"""Several files, folders, patterns and pipes, read as one."""

import gzip
import os
import subprocess
import sys
import threading

import pandas as pd
import pytest

import wisecrowd as wc
from export_rows import classification
from wisecrowd._checks import InputError
from wisecrowd.io.gold import read_gold
from wisecrowd.io.read import files_in, read_annotations

FIRST = "task,worker,label\nx,ann,cat\nx,bob,dog\n"
SECOND = "task,worker,label\ny,ann,cat\nx,cyd,cat\n"
ROWS = [
    ("x", "ann", "cat"),
    ("x", "bob", "dog"),
    ("x", "cyd", "cat"),
    ("y", "ann", "cat"),
]


@pytest.fixture
def weeks(tmp_path):
    (tmp_path / "week1.csv").write_text(FIRST)
    (tmp_path / "week2.csv").write_text(SECOND)
    return tmp_path


def rows_of(annotations):
    return sorted(annotations.to_frame().itertuples(index=False, name=None))


def message_of(call, *args, **options):
    with pytest.raises(InputError) as caught:
        call(*args, **options)
    return str(caught.value)


def test_several_files_a_folder_and_a_pattern_are_read_as_one(weeks):
    paths = [weeks / "week1.csv", str(weeks / "week2.csv")]
    for given in (paths, weeks, str(weeks / "week*.csv")):
        annotations = read_annotations(given)
        assert rows_of(annotations) == ROWS
        assert annotations.report.n_rows == 4
        assert "2 files were read together." in annotations.report.notes
        assert "week1.csv" in annotations.report.path


def test_files_of_different_forms_are_read_as_one(weeks):
    (weeks / "week2.csv").unlink()
    wide = pd.DataFrame({"item": ["y", "z"], "ann": ["cat"] * 2, "bob": [None, "cat"]})
    wide.to_parquet(weeks / "week2.parquet")
    (weeks / "week3.json").write_text('{"x": {"cyd": "cat"}}')
    more = [("z", "ann", "cat"), ("z", "bob", "cat")]
    assert rows_of(read_annotations(weeks)) == ROWS + more


def test_ids_that_are_numbers_in_one_file_and_text_in_another_are_text(tmp_path):
    pd.DataFrame({"item": [7], "user": [1], "label": ["a"]}).to_parquet(
        tmp_path / "a.parquet"
    )
    (tmp_path / "b.csv").write_text("item,user,label\n7,2,b\nx8,1,a\n")
    annotations = read_annotations(tmp_path)
    assert annotations.items.tolist() == ["7", "x8"]
    assert annotations.annotators.tolist() == [1, 2]


def test_overlapping_exports_of_zooniverse_count_a_classification_once(tmp_path):
    rows = [
        classification(i % 3, f"u{i}", "yes", classification_id=str(i))
        for i in range(6)
    ]
    pd.DataFrame(rows[:4]).to_csv(tmp_path / "a.csv", index=False)
    more = pd.DataFrame(rows[2:]).assign(new_column=1)
    more.to_csv(tmp_path / "b.csv", index=False)
    annotations = read_annotations(tmp_path, classes=["yes", "no"])
    assert len(annotations) == 6
    assert annotations.report.left_out["the same classification again"] == 2


def test_other_repeats_between_files_are_said(weeks):
    (weeks / "week2.csv").write_text(FIRST)
    notes = " ".join(read_annotations(weeks).report.notes)
    assert "2 answers are by an annotator who had already answered the item" in notes


def test_an_item_may_have_a_row_in_each_of_two_wide_tables(tmp_path):
    (tmp_path / "a.csv").write_text("item,ann,bob\nx,0,1\ny,1,1\n")
    (tmp_path / "b.csv").write_text("item,ann,bob\nx,1,1\nz,1,0\n")
    assert len(read_annotations(tmp_path)) == 8


def test_a_broken_row_is_named_with_its_file(weeks):
    (weeks / "week2.csv").write_text("task,worker,label\ny,ann\n")
    message = message_of(read_annotations, weeks)
    assert message.startswith(f"{weeks / 'week2.csv'}: row 1 has 2 values")


def test_a_subject_export_among_several_files_is_named(weeks, tmp_path):
    subjects = tmp_path / "subjects.csv"
    subjects.write_text("subject_id,locations,metadata\n1,{},{}\n")
    with pytest.raises(InputError, match=r"^\S*subjects\.csv: .* subject export"):
        read_annotations(weeks)


def test_the_same_file_twice_an_empty_list_and_no_match_are_refused(weeks):
    path = weeks / "week1.csv"
    assert "given twice" in message_of(read_annotations, [path, path])
    assert "the name of the file is empty" in message_of(read_annotations, "")
    assert "no file was given" in message_of(read_annotations, [])
    assert "no file has such a name" in message_of(read_annotations, f"{weeks}/*.tsv")
    assert "is no file" in message_of(files_in, 7)
    assert "is no file" in message_of(files_in, [path, 7])


def test_two_files_must_agree_on_gold(weeks):
    (weeks / "week1.csv").write_text("task,worker,label,gold\nx,ann,cat,cat\n")
    (weeks / "week2.csv").write_text("task,worker,gold,label\nx,bob,dog,cat\n")
    assert "more than one gold class" in message_of(read_annotations, weeks)
    (weeks / "week2.csv").write_text("task,worker,truth,label\nx,bob,dog,cat\n")
    assert "two files disagree" in message_of(read_annotations, weeks)


def test_a_merge_says_what_both_had(weeks):
    first, second = (read_annotations(weeks / f"week{i}.csv") for i in (1, 2))
    both = first.merge(second)
    assert rows_of(both) == ROWS
    assert (both.report.n_rows, both.report.n_kept) == (4, 4)
    assert "week1.csv" in both.report.path
    assert "week2.csv" in both.report.path
    assert "1 item and 1 annotator are in both." in both.report.notes


# -- a header again -------------------------------------------------------------


def test_a_second_header_in_a_table_is_left_out_and_counted(tmp_path):
    path = tmp_path / "both.csv"
    path.write_text(FIRST * 3 + SECOND)
    assert read_annotations(path).items.tolist() == ["x", "y"]
    path.write_text(FIRST + SECOND)
    annotations = read_annotations(path)
    assert rows_of(annotations) == ROWS
    assert annotations.items.tolist() == ["x", "y"]
    assert annotations.report.left_out == {"the header again": 1}
    assert annotations.report.n_rows == 5
    path.write_bytes(FIRST.encode() + b"\xef\xbb\xbf" + SECOND.encode())
    assert rows_of(read_annotations(path)) == ROWS


def test_a_second_header_in_a_wide_table_and_in_gold_is_left_out(tmp_path):
    path = tmp_path / "both.csv"
    path.write_text("item,ann,bob\nx,0,1\ny,1,1\nitem,ann,bob\nz,1,0\n")
    assert read_annotations(path).items.tolist() == ["x", "y", "z"]
    path.write_text("item,gold\nx,0\nitem,gold\nz,1\n")
    assert read_gold(path).to_dict() == {"x": 0, "z": 1}


def test_a_second_header_in_an_export_is_left_out(tmp_path):
    path = tmp_path / "both.csv"
    export = "HITId,WorkerId,AssignmentId,Answer.kind\nh,w,a1,cat\n"
    path.write_text(export + export.replace("a1,cat", "a2,dog"))
    annotations = read_annotations(path)
    assert annotations.items.tolist() == ["h"]
    assert annotations.report.left_out == {"the header again": 1}


def test_a_second_header_in_another_order_is_refused(tmp_path):
    path = tmp_path / "both.csv"
    path.write_text(FIRST + "worker,task,label\nann,y,cat\n")
    assert "in another order" in message_of(read_annotations, path)


def test_a_matrix_whose_row_equals_its_header_keeps_it(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("item,0,1,2\n1,0,1,2\n2,0,1,2\n0,1,2,1\n")
    assert len(read_annotations(path)) == 9


# -- pipes ----------------------------------------------------------------------


def test_a_pipe_is_read_and_can_be_read_again(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(
        target=lambda: pipe.write_bytes(gzip.compress(FIRST.encode()))
    )
    writer.start()
    first = read_annotations(pipe)
    writer.join()
    assert rows_of(first) == ROWS[:2]
    assert first.report.path == str(pipe)


@pytest.mark.parametrize(
    "name",
    ["/dev/stdin", pytest.param("-", marks=pytest.mark.slow)],  # cli/ has it
)
def test_standard_input_is_read(name):
    code = f"import wisecrowd as wc; print(len(wc.read_annotations({name!r})))"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        input=FIRST,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout.strip(), ran.stderr) == ("2", "")


def test_a_device_is_no_file():
    assert "a device" in message_of(wc.read_annotations, "/dev/zero")
