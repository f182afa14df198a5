"""Wide tables as people have them: which columns are annotators, and which are not."""

import json

import pandas as pd
import pytest

from wisecrowd._checks import InputError
from wisecrowd.io.read import read_annotations

JUDGES = """question,prompt,gpt-4,claude,human,majority,count
q1,What is one?,A,A,A,A,3
q2,What is two?,A,B,B,B,2
q3,What is three?,B,B,A,B,2
q4,What is four?,,B,B,B,2
"""


@pytest.fixture
def judges(tmp_path):
    path = tmp_path / "judges.csv"
    path.write_text(JUDGES)
    return path


def test_a_table_of_judges_is_read_at_once(judges):
    annotations = read_annotations(judges)
    assert annotations.annotators.tolist() == ["claude", "gpt-4", "human"]
    assert annotations.classes.tolist() == ["A", "B"]
    assert len(annotations) == 11


def test_all_columns_are_named_in_the_report(judges):
    said = " ".join(read_annotations(judges).report.notes)
    for name in JUDGES.splitlines()[0].split(","):
        assert repr(name) in said
    assert "'prompt' (no value in common with the others)" in said
    assert "'majority' (a summary, by its name)" in said


def test_the_columns_can_be_chosen(judges):
    chosen = read_annotations(judges, annotators="claude,human")
    assert chosen.annotators.tolist() == ["claude", "human"]
    left = read_annotations(judges, leave_out=["human"])
    assert left.annotators.tolist() == ["claude", "gpt-4"]
    with pytest.raises(InputError, match="no column 'humans'"):
        read_annotations(judges, annotators=["humans"])


def test_a_column_can_be_the_gold(judges):
    annotations = read_annotations(judges, gold="human")
    assert annotations.annotators.tolist() == ["claude", "gpt-4"]
    assert annotations.gold.to_dict() == {"q1": "A", "q2": "B", "q3": "A", "q4": "B"}
    long = "item,who,said,known\nx,ann,0,1\ny,ann,1,1\n"
    judges.write_text(long)
    annotations = read_annotations(judges, answer="said", gold="known")
    assert annotations.gold.to_dict() == {"x": 1, "y": 1}
    with pytest.raises(InputError, match="no column 'truth' for the gold class"):
        read_annotations(judges, answer="said", gold="truth")


def test_the_index_of_a_frame_does_not_hide_the_items(judges):
    pd.read_csv(judges).to_csv(judges)
    annotations = read_annotations(judges)
    assert annotations.items.tolist() == ["q1", "q2", "q3", "q4"]
    assert annotations.annotators.tolist() == ["claude", "gpt-4", "human"]


@pytest.mark.parametrize("name", ["wide.parquet", "wide.json", "wide.jsonl"])
def test_other_containers_are_read_alike(judges, tmp_path, name):
    table, path = pd.read_csv(judges), tmp_path / name
    if name.endswith("parquet"):
        table.to_parquet(path)
    else:
        table.to_json(path, orient="records", lines=name.endswith("jsonl"))
    annotations = read_annotations(path)
    assert annotations.annotators.tolist() == ["claude", "gpt-4", "human"]
    assert len(annotations) == 11


@pytest.mark.parametrize("orient", ["columns", "index", "records", "split", "table"])
def test_json_of_pandas_is_never_turned_around(judges, tmp_path, orient):
    path = tmp_path / "table.json"
    pd.read_csv(judges).to_json(path, orient=orient)
    wide = read_annotations(path)
    assert wide.items.tolist() == ["q1", "q2", "q3", "q4"]
    assert wide.annotators.tolist() == ["claude", "gpt-4", "human"]
    rows = {
        "task": ["x", "x", "y"],
        "worker": ["a", "b", "a"],
        "label": ["p", "q", "p"],
    }
    pd.DataFrame(rows).to_json(path, orient=orient)
    long = read_annotations(path)
    assert (long.items.tolist(), long.annotators.tolist()) == (["x", "y"], ["a", "b"])


def test_a_key_that_is_there_twice_is_refused(tmp_path):
    path = tmp_path / "answers.json"
    path.write_text('{"x": {"ann": 0, "ann": 1}, "y": {"ann": 1}}')
    with pytest.raises(InputError, match="the same key twice: 'ann'"):
        read_annotations(path)
    record = '{"item": 1, "user": 2, "label": 3, "item": 4}\n'
    path.write_text(record * 2)
    with pytest.raises(InputError, match="line 1: an object has the same key twice"):
        read_annotations(path)


def test_the_sides_of_an_object_of_objects_are_said(tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({"ann": {"x": 0, "y": 1, "z": 0}, "bob": {"x": 1}}))
    said = " ".join(read_annotations(path).report.notes)
    assert "the outer keys are items ('ann', 'bob')" in said
    assert "the inner keys are annotators ('x', 'y', 'z')" in said
    assert "there are more annotators than items" in said


def test_a_table_with_unknown_names_and_no_common_values_is_refused(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("a,b,c\np1,ann,cat\np2,bob,dog\np3,cyd,cat\np4,dan,dog\n")
    with pytest.raises(InputError, match="name these columns with annotators="):
        read_annotations(path)


def test_columns_that_were_not_chosen_are_named_too(judges):
    notes = " ".join(read_annotations(judges, annotators="claude,human").report.notes)
    assert "'gpt-4' (not in annotators=)" in notes
    assert "'prompt'" in notes


def test_a_column_called_human_may_be_the_gold(judges):
    notes = " ".join(read_annotations(judges).report.notes)
    assert "If it has the right classes, pass gold='human'." in notes
    notes = " ".join(read_annotations(judges, gold="human").report.notes)
    assert "right classes" not in notes


def test_the_index_of_a_split_table_is_its_items(judges, tmp_path):
    path = tmp_path / "table.json"
    table = pd.read_csv(judges, index_col="question")[["gpt-4", "claude", "human"]]
    table.to_json(path, orient="split")
    assert read_annotations(path).items.tolist() == ["q1", "q2", "q3", "q4"]


def test_a_measure_that_shares_a_value_with_the_answers_is_no_annotator(tmp_path):
    path = tmp_path / "binary.csv"
    rows = [f"d{i},{i % 2},{i % 3 % 2},{i // 2},{90 - i}" for i in range(30)]
    path.write_text("\n".join(["doc,ann,bob,seconds,length", *rows]))
    annotations = read_annotations(path)
    assert annotations.annotators.tolist() == ["ann", "bob"]
    assert annotations.classes.tolist() == [0, 1]
    said = "'seconds' (hardly a value in common with the others)"
    assert said in " ".join(annotations.report.notes)


def test_who_answered_rarely_among_many_classes_is_an_annotator(tmp_path):
    path = tmp_path / "species.csv"
    rows = [f"p{i},s{i},s{i % 9},{'' if i else 's7'}" for i in range(20)]
    path.write_text("\n".join(["photo,ann,bob,cyd", *rows]))
    assert read_annotations(path).annotators.tolist() == ["ann", "bob", "cyd"]


def test_a_constant_summary_does_not_hide_that_a_table_is_wide(tmp_path):
    path = tmp_path / "grades.csv"
    rows = [f"{i},{i % 5},{i % 4},{(i + 1) % 5},0.5,3" for i in range(20)]
    path.write_text("\n".join(["id,r0,r1,r2,std,weight", *rows]))
    annotations = read_annotations(path)
    assert annotations.annotators.tolist()[:3] == ["r0", "r1", "r2"]


def test_an_index_without_a_name_is_called_so(tmp_path):
    path = tmp_path / "index.csv"
    path.write_text(",ann,bob\n0,a,b\n1,b,b\n2,a,a\n3,b,a\n")
    assert "the column without a name" in read_annotations(path).report.notes[0]


def test_a_column_of_gold_may_be_left_out_too(judges):
    left = read_annotations(judges, gold="human", leave_out=["human"])
    assert left.annotators.tolist() == ["claude", "gpt-4"]
    assert len(left.gold) == 4


def test_minus_one_and_one_are_classes(tmp_path):
    path = tmp_path / "spam.csv"
    path.write_text("id,ann,bob,cyd\n1,-1,1,-1\n2,1,1,1\n3,-1,-1,1\n4,,-1,-1\n")
    annotations = read_annotations(path)
    assert annotations.classes.tolist() == [-1, 1]
    assert len(annotations) == 11


def test_minus_one_is_a_class_if_the_gold_says_so(tmp_path):
    path = tmp_path / "mood.csv"
    path.write_text("id,ann,bob,gold\n1,-1,0,-1\n2,1,1,1\n3,-1,-1,-1\n4,0,-1,0\n")
    assert read_annotations(path).classes.tolist() == [-1, 0, 1]


def test_the_report_says_how_many_cells_with_minus_one_are_no_answer(tmp_path):
    path = tmp_path / "mood.csv"
    path.write_text("id,ann,bob\n1,-1,0\n2,1,1\n3,-1,-1\n4,0,-1\n")
    annotations = read_annotations(path)
    assert len(annotations) == 4
    assert "4 cells with -1: taken as no answer" in " ".join(annotations.report.notes)


def test_columns_of_answers_by_item_in_json_are_wide_if_the_user_says_so(tmp_path):
    path = tmp_path / "wide.json"
    table = pd.DataFrame(
        {"ann": list("aab"), "bob": ["a", None, "b"]}, index=["p", "q", "r"]
    )
    table.to_json(path)
    assert "format='wide'" in " ".join(read_annotations(path).report.notes)
    annotations = read_annotations(path, format="wide")
    assert annotations.items.tolist() == ["p", "q", "r"]
    assert annotations.annotators.tolist() == ["ann", "bob"]
    assert len(annotations) == 5


def test_a_matrix_may_have_minus_one_without_a_word(tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text("0,-1,1\n1,1,-1\n-1,0,0\n")
    report = read_annotations(path).report
    assert "cells hold no answer" in report.notes[0]
    assert "-1" not in " ".join(report.notes)
