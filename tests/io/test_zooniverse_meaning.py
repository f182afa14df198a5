"""What a Zooniverse export means: shortcuts, versions, renamed choices, repeats."""

import json

import pytest

from export_rows import classification, rows_of, survey, write_table
from wisecrowd._checks import InputError
from wisecrowd.io.read import read_annotations


def row(number, subject, user, *parts, **changes):
    """Return a classification; a part is task, value and perhaps a label."""
    given = [
        {"task": task, "value": value} | ({"task_label": more[0]} if more else {})
        for task, value, *more in parts
    ]
    return classification(
        subject,
        user,
        classification_id=str(number),
        annotations=json.dumps(given),
        **changes,
    )


@pytest.fixture
def export(tmp_path):
    return lambda rows: write_table(tmp_path / "export.csv", rows)


BLANKS = [
    row(1, 1, "ann", ("T3", survey("DEER"))),
    row(2, 1, "bob", ("T3", []), ("T5", ["Nothing Here"])),
    row(3, 2, "ann", ("T3", []), ("T5", ["Nothing Here"])),
    row(4, 2, "bob", ("T3", []), ("T5", ["Nothing Here"])),
    row(5, 3, "ann", ("T3", [])),
]


def test_a_ticked_shortcut_is_the_answer_to_the_empty_survey(export):
    made = read_annotations(export(BLANKS))
    assert rows_of(made) == [
        (1, "ann", "DEER"),
        (1, "bob", "Nothing Here"),
        (2, "ann", "Nothing Here"),
        (2, "bob", "Nothing Here"),
    ]
    assert made.items.tolist() == [1, 2, 3]
    assert dict(made.report.left_out) == {"no answer": 1}
    assert "'Nothing Here'" in str(made.report)
    assert "1 item without an answer: kept." in made.report.notes


def test_the_survey_is_chosen_although_the_shortcut_has_more_answers(export):
    assert set(read_annotations(export(BLANKS)).classes) == {"DEER", "Nothing Here"}
    only = read_annotations(export(BLANKS), task="T5")
    assert only.classes.tolist() == ["Nothing Here"]


def test_a_shortcut_without_the_survey_beside_it_counts_too(export):
    rows = [*BLANKS, row(6, 4, "cyd", ("T5", ["Nothing Here"]))]
    assert len(read_annotations(export(rows))) == 5


def test_several_ticked_shortcuts_are_several_answers(export):
    rows = [*BLANKS, row(6, 4, "cyd", ("T3", []), ("T5", ["Human", "Vehicle"]))]
    made = read_annotations(export(rows))
    assert rows_of(made)[-2:] == [(4, "cyd", "Human"), (4, "cyd", "Vehicle")]


def test_a_question_that_is_asked_beside_every_survey_is_no_shortcut(export):
    rows = [
        row(1, 1, "ann", ("T3", survey("DEER")), ("T2", ["Snow"])),
        row(2, 1, "bob", ("T3", survey("FOX")), ("T2", ["Sun"])),
        row(3, 2, "ann", ("T3", []), ("T2", ["Snow"])),
    ]
    made = read_annotations(export(rows), task="T3")
    assert made.classes.tolist() == ["DEER", "FOX"]
    assert made.items.tolist() == [1, 2]


def test_items_whose_answers_cannot_be_used_stay_in(export):
    rows = [
        row(1, 1, "ann", ("T0", "cat")),
        row(2, 1, "bob", ("T0", "dog")),
        row(3, 2, "ann", ("T0", ["cat", "dog"])),
        row(4, 3, "ann", ("T0", None)),
    ]
    made = read_annotations(export(rows))
    assert made.items.tolist() == [1, 2, 3]
    assert "2 items without an answer: kept." in made.report.notes


def test_several_choices_of_one_classification_are_said(export):
    rows = [
        row(1, 1, "ann", ("T0", survey("DEER", "FOX"))),
        row(2, 1, "bob", ("T0", survey("DEER", "DEER"))),
    ]
    made = read_annotations(export(rows))
    assert rows_of(made) == [(1, "ann", "DEER"), (1, "ann", "FOX"), (1, "bob", "DEER")]
    assert any("1 classification has several choices" in n for n in made.report.notes)


# -- versions ---------------------------------------------------------------------


ROUND = ("T0", "Yes", "Is it round?")
RED = ("T0", "No", "Is it red?")


def test_one_task_with_two_questions_is_said_and_one_can_be_chosen(export):
    rows = [
        row(1, 1, "ann", ROUND, workflow_version="1.1"),
        row(2, 1, "bob", ROUND, workflow_version="1.1"),
        row(3, 1, "cyd", RED, workflow_version="2.1"),
    ]
    made = read_annotations(export(rows))
    note = next(n for n in made.report.notes if "2 different questions" in n)
    assert "'Is it round?'" in note
    assert "'Is it red?'" in note
    assert len(made) == 3
    versions = "read together: 1.1 (2 rows), 2.1 (1 row)."
    assert any(versions in note for note in made.report.notes)
    assert len(read_annotations(export(rows), task="Is it round?")) == 2
    assert len(read_annotations(export(rows), version="2")) == 1


OTHER_CHOICES = [
    row(i, i, "ann", ("T0", survey("GRFF" if i < 4 else "GIRAFFE")),
        workflow_version="9.1" if i < 4 else "10.2")
    for i in range(1, 7)
] + [
    row(10 + i, i, "bob", ("T0", survey("LION")),
        workflow_version="9.1" if i < 4 else "10.2")
    for i in range(1, 7)
]  # fmt: skip


def test_other_choices_in_other_versions_are_said(export):
    made = read_annotations(export(OTHER_CHOICES))
    note = next(n for n in made.report.notes if "differ between versions" in n)
    assert "'GRFF'" in note
    assert "rename={'GRFF': 'GIRAFFE'}" in note
    assert "version=" in note


def test_the_same_choices_in_all_versions_give_no_note(export):
    rows = [r for r in OTHER_CHOICES if "LION" in r["annotations"]]
    rows += [row(30, 1, "cyd", ("T0", survey("RHINO")))]
    notes = read_annotations(export(rows)).report.notes
    assert not any("differ between versions" in n for n in notes)


# -- rename -----------------------------------------------------------------------


def test_choices_can_be_renamed(export):
    made = read_annotations(export(OTHER_CHOICES), rename={"GRFF": "GIRAFFE"})
    assert made.classes.tolist() == ["GIRAFFE", "LION"]
    notes = made.report.notes
    assert not any("differ between versions" in n for n in notes)
    assert any("3 answers were renamed" in n for n in notes)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("names.csv", "old,new\nGRFF,GIRAFFE\n"),
        ("names.json", '{"GRFF": "GIRAFFE"}'),
        ("names.txt", "GRFF=GIRAFFE\n\n"),
    ],
)
def test_the_new_names_can_be_in_a_file(export, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    made = read_annotations(export(OTHER_CHOICES), rename=tmp_path / name)
    assert made.classes.tolist() == ["GIRAFFE", "LION"]


def test_new_names_can_be_a_text_as_on_the_command_line(export):
    made = read_annotations(export(OTHER_CHOICES), rename="GRFF=GIRAFFE, LION=CAT")
    assert made.classes.tolist() == ["CAT", "GIRAFFE"]


def test_a_name_that_nobody_gave_is_said(export):
    made = read_annotations(export(OTHER_CHOICES), rename={"ZEBRO": "ZEBRA"})
    assert any("'ZEBRO'" in note for note in made.report.notes)


def test_two_answers_become_one_of_the_classes_that_are_named(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("item,annotator,answer\nx,ann,cat\nx,bob,cow\ny,ann,dog\n")
    made = read_annotations(path, classes=["cat", "dog"], rename="cow=cat")
    assert made.counts().tolist() == [[2, 0], [0, 1]]


@pytest.mark.parametrize("rename", ["GRFF", "=GIRAFFE", "a=b,c", {"a": ["b"]}])
def test_what_is_no_renaming_is_refused(export, rename):
    with pytest.raises(InputError, match="rename"):
        read_annotations(export(OTHER_CHOICES), rename=rename)


def test_numbers_and_gold_can_be_renamed_in_any_format(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("item,annotator,answer,gold\n1,a,0,9\n1,b,1,9\n2,a,9,0\n")
    made = read_annotations(path, rename={"9": "1"})
    assert made.classes.tolist() == [0, 1]
    assert made.gold.to_dict() == {1: 1, 2: 0}


# -- the same twice ---------------------------------------------------------------


def test_the_same_classification_counts_once(export):
    rows = [row(1, 1, "ann", ("T0", "cat")), row(2, 1, "bob", ("T0", "dog"))]
    made = read_annotations(export([*rows, *rows[:1]]))
    assert len(made) == 2
    assert dict(made.report.left_out) == {"the same classification again": 1}


def test_two_classifications_with_the_same_answer_count_twice_and_are_said(export):
    rows = [
        row(1, 1, "ann", ("T0", "cat")),
        row(2, 1, "ann", ("T0", "cat")),
        row(3, 1, "ann", ("T0", "dog")),
    ]
    made = read_annotations(export(rows))
    assert len(made) == 3
    note = next(n for n in made.report.notes if "drop_repeats" in n)
    assert note.startswith("2 answers are by an annotator who had already answered")
    assert "1 of them gives the same answer" in note


def test_a_field_that_no_subject_has_is_named_with_those_there_are(export):
    metadata = json.dumps({"1": {"retired": None, "Filename": "a.jpg"}})
    path = export([classification(1, "ann", "Yes", subject_data=metadata)])
    assert read_annotations(path, item="Filename").items.tolist() == ["a.jpg"]
    with pytest.raises(InputError, match=r"field item='file'.*'Filename'"):
        read_annotations(path, item="file")
