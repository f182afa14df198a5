"""Exports of the platforms: whose answer to what, and what is left out."""

import csv
import json

import pytest

from export_rows import classification, rows_of, survey, write_table
from wisecrowd._checks import InputError
from wisecrowd.io.platforms import zooniverse
from wisecrowd.io.platforms.zooniverse_workflow import answers_in
from wisecrowd.io.read import read_annotations

NO_ANSWER = "a drawing, a text or another form, not a class"


@pytest.fixture(scope="session")
def exports(data_folder):
    """Return the folder with real exports, which is not part of the project."""
    return data_folder / "zooniverse"


# -- Zooniverse -----------------------------------------------------------------


@pytest.fixture
def export(tmp_path):
    """Write an export and return its path."""
    return lambda *rows: write_table(tmp_path / "export.csv", rows)


def test_a_question_task_is_read_with_subject_user_and_answer(export):
    path = export(classification(5, "ann", "Yes"), classification(6, "bob", "No"))
    annotations = read_annotations(path)
    assert rows_of(annotations) == [(5, "ann", "Yes"), (6, "bob", "No")]
    assert annotations.report.format == "Zooniverse classification export"
    assert annotations.report.left_out == {}


def test_a_survey_with_several_choices_gives_several_annotations(export):
    path = export(classification(5, "ann", survey("DEER", "ELK", "DEER")))
    annotations = read_annotations(path)
    assert [answer for *_, answer in rows_of(annotations)] == ["DEER", "ELK"]
    assert (annotations.report.n_rows, annotations.report.n_kept) == (1, 2)


def test_people_not_logged_in_are_kept_apart_and_each_is_one(export):
    path = export(
        classification(5, "not-logged-in-aa", "Yes"),
        classification(6, "not-logged-in-aa", "Yes"),
        classification(5, "not-logged-in-bb", "No"),
        classification(5, "", "No", user_ip="cc"),
        classification(5, "", "No", user_ip="dd"),
        classification(5, "not-logged-in", "No", user_ip="ee"),
        classification(5, "", "No", user_ip="", classification_id="901"),
    )
    annotations = read_annotations(path)
    ends = ["901", "aa", "bb", "cc", "dd", "ee"]
    assert annotations.annotators.tolist() == [f"not-logged-in-{end}" for end in ends]
    assert annotations.counts("annotator").sum(1).tolist() == [1, 2, 1, 1, 1, 1]


def test_an_address_that_is_not_hashed_does_not_become_a_name(export):
    path = export(classification(5, "", "No", user_ip="192.0.2.1"))
    name = read_annotations(path).annotators[0]
    assert name.startswith("not-logged-in-")
    assert "192" not in name.removeprefix("not-logged-in-")[:4]
    assert "." not in name


def test_the_most_answered_task_is_chosen_and_the_others_are_named(export):
    path = export(
        classification(5, "ann", "Yes", "black"), classification(6, "ann", "No")
    )
    annotations = read_annotations(path)
    assert annotations.classes.tolist() == ["No", "Yes"]
    assert "'T1' (Question 1?), 1 answer." in str(annotations.report)


@pytest.mark.parametrize("task", ["T1", "Question 1?"])
def test_a_task_is_named_by_its_key_or_its_question(export, task):
    path = export(
        classification(5, "ann", "Yes", "black"), classification(6, "ann", "No")
    )
    annotations = read_annotations(path, task=task)
    assert rows_of(annotations) == [(5, "ann", "black")]
    assert annotations.report.left_out == {"task T1 was not asked": 1}


def test_an_unknown_task_workflow_or_version_is_refused_with_those_known(export):
    path = export(classification(5, "ann", "Yes"))
    cases = [
        ({"task": "T9"}, "'T0'"),
        ({"workflow": 99}, "'10' (Cats)"),
        ({"version": "4"}, "'3.10'"),
    ]
    for options, known in cases:
        with pytest.raises(InputError) as caught:
            read_annotations(path, **options)
        assert known in str(caught.value)


@pytest.mark.parametrize("workflow", [11, "11", "Dogs"])
def test_a_workflow_is_named_by_its_number_or_its_name(export, workflow):
    path = export(
        classification(5, "ann", "Yes"),
        classification(6, "ann", "No"),
        classification(7, "ann", "Bark", workflow_id="11", workflow_name="Dogs"),
    )
    annotations = read_annotations(path, workflow=workflow)
    assert rows_of(annotations) == [(7, "ann", "Bark")]
    assert annotations.report.left_out == {"other workflow": 2}
    chosen = read_annotations(path).report
    assert "'11' (Dogs), 1 rows" in str(chosen)
    assert chosen.left_out == {"other workflow": 1}


@pytest.mark.parametrize(
    ("version", "subjects"), [("3.1", [6]), ("3", [5, 6]), ("4.1", [7]), (4, [7])]
)
def test_a_version_is_chosen_whole_or_by_its_first_number(export, version, subjects):
    path = export(
        classification(5, "ann", "Yes"),
        classification(6, "ann", "Yes", workflow_version="3.1"),
        classification(7, "ann", "No", workflow_version="4.1"),
    )
    annotations = read_annotations(path, version=version)
    assert annotations.items.tolist() == subjects
    lost = {"other version of the workflow": 3 - len(subjects)}
    assert annotations.report.left_out == lost
    assert "3 versions" in str(read_annotations(path).report)


def test_gold_answers_by_experts_are_gold_and_not_the_crowds(export):
    gold = {"gold_standard": "true", "expert": "expert"}
    path = export(
        classification(5, "ann", "Yes"),
        classification(5, "pro", "No", **gold),
        classification(6, "pro", "Yes", **gold),
        classification(7, "pro", "Yes", **gold),
        classification(7, "pro", "No", **gold),
    )
    annotations = read_annotations(path)
    assert rows_of(annotations) == [(5, "ann", "Yes")]
    assert annotations.gold.to_dict() == {5: "No", 6: "Yes"}
    assert annotations.report.left_out == {"gold answer of an expert": 4}
    assert "more than one gold answer" in str(annotations.report)


def test_an_expert_who_did_not_mark_gold_is_one_of_the_crowd(export):
    annotations = read_annotations(
        export(classification(5, "pro", "No", expert="owner"))
    )
    assert rows_of(annotations) == [(5, "pro", "No")]


def test_gold_in_the_metadata_of_a_subject_is_gold(export):
    data = json.dumps({"5": {"#gold": "No"}})
    path = export(
        classification(5, "ann", "Yes", subject_data=data),
        classification(6, "ann", "No"),
    )
    annotations = read_annotations(path)
    assert annotations.gold.to_dict() == {5: "No"}
    assert len(annotations) == 2


def test_a_field_of_the_metadata_can_name_the_item(export):
    data = json.dumps({"5": {"Filename": "cat.jpg"}})
    path = export(
        classification(5, "ann", "Yes", subject_data=data),
        classification(6, "ann", "No"),
    )
    annotations = read_annotations(path, item="Filename")
    assert rows_of(annotations) == [("cat.jpg", "ann", "Yes")]
    assert annotations.report.left_out == {"no id for the subject": 1}


def test_gravity_spys_codes_become_class_names(export):
    path = export(
        classification(5, "ann", survey("BLP")),
        classification(6, "ann", survey("KFSH")),
        classification(6, "bob", survey("NEWONE")),
        classification(5, "pro", survey("WHSTL"), gold_standard="true"),
    )
    annotations = read_annotations(path)
    assert annotations.classes.tolist() == ["Blip", "Koi_Fish", "NEWONE", "Whistle"]
    assert annotations.gold.to_dict() == {5: "Whistle"}
    assert "'NEWONE' stay as they are" in str(annotations.report)


def test_codes_of_another_survey_stay_as_they_are(export):
    path = export(*(classification(5, "ann", survey(c)) for c in ("DR", "LK", "HLX")))
    assert read_annotations(path).classes.tolist() == ["DR", "HLX", "LK"]


def test_the_table_of_codes_is_the_published_one(exports):
    table = exports.parent / "gravityspy" / "glitch-classes.csv"
    with table.open(newline="") as file:
        published = [(r["HCID"], r["Name"]) for r in csv.DictReader(file) if r["HCID"]]
    assert set(zooniverse.GRAVITY_SPY) == {code for code, _ in published}
    assert set(zooniverse.GRAVITY_SPY.items()) <= set(published)


@pytest.mark.parametrize(
    ("value", "answers", "problem"),
    [
        ("Yes", ["Yes"], ""),
        (3, ["3"], ""),
        (["red"], ["red"], ""),
        ([{"value": "a1", "option": True, "label": "Alabama"}], ["Alabama"], ""),
        (["red", "blue"], [], "several answers to one question"),
        (None, [], "no answer"),
        ([], [], "no answer"),
        ("", [], "no answer"),
        ([{"x": 1.5, "y": 2, "tool": 0}], [], NO_ANSWER),
        ([{"start": 1, "end": 2, "text": "a"}] * 2, [], NO_ANSWER),
    ],
)  # fmt: skip
def test_a_value_is_an_answer_or_has_a_reason(value, answers, problem):
    assert answers_in(value) == (answers, problem)


def test_what_is_no_answer_is_counted_by_reason(export):
    path = export(
        classification(5, "ann", ["red"]),
        classification(6, "ann", ["red", "blue"]),
        classification(7, "ann", None),
        classification(8, "ann", [{"x": 1, "y": 2}]),
    )
    report = read_annotations(path).report
    assert report.n_kept == 1
    assert sorted(report.left_out.values()) == [1, 1, 1]


def test_a_combo_task_is_unpacked(export):
    combo = [
        {"task": "T1", "task_label": "Colour?", "value": "red"},
        {"task": "T2", "task_label": "Size?", "value": "big"},
    ]
    path = export(classification(5, "ann", combo))
    assert rows_of(read_annotations(path, task="T2")) == [(5, "ann", "big")]


def test_a_choice_is_preferred_to_free_text(export):
    rows = [classification(i, "ann", f"words {i}", "Yes") for i in range(30)]
    rows.append(classification(30, "ann", "words again"))
    annotations = read_annotations(export(*rows))
    assert annotations.classes.tolist() == ["Yes"]


def test_a_broken_json_row_is_named(export):
    rows = [classification(i, "ann", "Yes") for i in range(1300)]
    rows[1233]["annotations"] = '[{"task": "T0", "value": '
    rows[1233]["classification_id"] = "4711"
    with pytest.raises(InputError) as caught:
        read_annotations(export(*rows))
    assert "row 1,234 (classification 4711), column 'annotations'," in str(caught.value)


def test_a_subject_export_is_told_from_a_classification_export(exports):
    with pytest.raises(InputError, match="subject export"):
        read_annotations(exports / "cat-project-subjects.csv")


@pytest.mark.parametrize(
    ("name", "options", "sizes"),
    [
        # items, annotators, annotations, gold
        ("caesar-test-cls_export", {}, (7, 1, 7, 0)),
        ("michigan-sample", {}, (1536, 30, 1964, 37)),
        ("michigan-sample", {"task": "T2"}, (1536, 30, 1963, 37)),
        ("pmason-survey-classifications", {}, (5, 15, 69, 0)),
        ("pmason-example_classifications", {"workflow": 371}, (10, 6, 10, 0)),
    ],
)  # fmt: skip
def test_a_real_export_is_read_whole(exports, name, options, sizes):
    annotations = read_annotations(exports / f"{name}.csv", **options)
    found = (
        len(annotations.items),
        len(annotations.annotators),
        len(annotations),
        len(annotations.gold),
    )
    assert found == sizes


@pytest.mark.parametrize("name", ["michigan-sample", "pmason-survey-classifications"])
def test_a_real_export_agrees_with_a_plain_loop(exports, name):
    """Counts, by user and choice, of the rows that are no gold, from the raw file."""
    expected = {}
    with (exports / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["gold_standard"] == "true":
                continue
            first = json.loads(row["annotations"])[0]
            for part in first["value"]:
                key = (int(row["subject_ids"]), row["user_name"], part["choice"])
                expected[key] = expected.get(key, 0) + 1
    found = {}
    for key in rows_of(read_annotations(exports / f"{name}.csv")):
        found[key] = found.get(key, 0) + 1
    assert found == expected


def test_an_export_of_drawings_says_that_nothing_is_an_answer(exports):
    with pytest.raises(InputError, match=r"\(a drawing.*: 143; no answer: 10\).*Turn"):
        read_annotations(exports / "cat-project-classifications.csv")


# -- Label Studio ---------------------------------------------------------------


def task(number, *annotations, **data):
    return {"id": number, "data": data, "annotations": list(annotations)}


def choice(who, *choices, name="animal", **changes):
    value = {"choices": list(choices)}
    result = {"from_name": name, "to_name": "image", "type": "choices", "value": value}
    return {"completed_by": who, "result": [result], "was_cancelled": False} | changes


@pytest.fixture
def studio(tmp_path):
    def write(*tasks):
        path = tmp_path / "export.json"
        path.write_text(json.dumps(tasks))
        return path

    return write


def test_label_studio_choices_are_read(studio):
    path = studio(
        task(1, choice(7, "cat"), choice(8, "dog")),
        task(2, choice(7, "cat"), choice(7, was_cancelled=True)),
        task(3, choice(7, "cat", "dog"), choice(8, "dog", ground_truth=True)),
        task(4),
    )
    annotations = read_annotations(path)
    assert rows_of(annotations) == [(1, 7, "cat"), (1, 8, "dog"), (2, 7, "cat")]
    assert annotations.gold.to_dict() == {3: "dog"}
    assert annotations.items.tolist() == [1, 2, 3, 4]
    assert annotations.report.left_out == {
        "several choices": 1,
        "ground truth": 1,
        "skipped by the annotator": 1,
        "no answer": 1,
    }
    assert annotations.report.n_rows == 7


def test_a_label_studio_annotator_may_be_a_record(studio):
    path = studio(task(1, choice({"id": 3, "email": "ann@example.org"}, "cat")))
    assert read_annotations(path).annotators.tolist() == ["ann@example.org"]


def test_a_label_studio_tag_and_field_are_chosen_by_name(studio):
    both = choice(7, "cat")
    both["result"] += choice(7, "red", name="colour")["result"]
    path = studio(
        task(1, both, image="a.jpg"), task(2, choice(8, "dog"), image="b.jpg")
    )
    annotations = read_annotations(path, task="colour", item="image")
    assert rows_of(annotations) == [("a.jpg", 7, "red")]
    assert "'colour', 1 answer" in str(read_annotations(path).report)


def test_ratings_and_taxonomies_are_answers_and_boxes_are_not(studio):
    def result(**value):
        return choice(7, result=[{"from_name": "r", "value": value}])

    path = studio(
        task(1, result(rating=4)),
        task(2, result(taxonomy=[["animal", "cat"]])),
        task(3, result(x=1, y=2, rectanglelabels=["cat"])),
    )
    annotations = read_annotations(path)
    assert rows_of(annotations) == [(1, 7, "4"), (2, 7, "animal > cat")]
    assert annotations.report.left_out == {"a region or a text, not a choice": 1}


# -- MTurk ----------------------------------------------------------------------


def assignment(hit, worker, status="Approved", **answers):
    row = {"HITId": hit, "WorkerId": worker, "AssignmentStatus": status}
    return (
        row
        | {"Input.image": f"{hit}.jpg"}
        | {f"Answer.{k}": v for k, v in answers.items()}
    )


def test_mturk_answers_are_read_without_rejected_assignments(tmp_path):
    path = write_table(
        tmp_path / "batch.csv",
        [
            assignment("H1", "W1", **{"category.label": "cat"}),
            assignment("H1", "W2", "Submitted", **{"category.label": "dog"}),
            assignment("H2", "W1", "Rejected", **{"category.label": "cat"}),
            assignment("H2", "W2", **{"category.label": ""}),
        ],
    )
    annotations = read_annotations(path)
    assert rows_of(annotations) == [("H1", "W1", "cat"), ("H1", "W2", "dog")]
    assert annotations.report.left_out == {"assignment was rejected": 1, "no answer": 1}
    by_image = read_annotations(path, item="Input.image", task="category")
    assert by_image.items.tolist() == ["H1.jpg"]


def test_mturk_boxes_that_are_ticked_are_answers(tmp_path):
    path = write_table(
        tmp_path / "batch.csv",
        [
            assignment("H1", "W1", **{"a.cat": "true", "a.dog": "false"}),
            assignment("H2", "W1", **{"a.cat": "true", "a.dog": "true"}),
        ],
    )
    annotations = read_annotations(path)
    assert rows_of(annotations) == [("H1", "W1", "cat")]
    assert annotations.report.left_out == {"several answers to one question": 1}


def test_mturk_answers_in_json_are_answers(tmp_path):
    forms = (
        '[{"a": {"label": "cat"}}]',
        '[{"a": {"cat": false, "dog": true}}]',
        '[{"a": "elk"}]',
    )
    path = write_table(
        tmp_path / "batch.csv",
        [assignment(f"H{i}", "W1", taskAnswers=f) for i, f in enumerate(forms)],
    )
    annotations = read_annotations(path)
    assert [answer for *_, answer in rows_of(annotations)] == ["cat", "dog", "elk"]


def test_mturk_gold_in_the_input_is_gold(tmp_path):
    rows = [assignment("H1", "W1", a="cat") | {"Input.gold": "dog"}]
    annotations = read_annotations(write_table(tmp_path / "batch.csv", rows))
    assert annotations.gold.to_dict() == {"H1": "dog"}


# -- Toloka and peerannot -------------------------------------------------------


def toloka_row(image, worker, answer, status="APPROVED", golden=""):
    return {
        "INPUT:image": image,
        "OUTPUT:result": answer,
        "GOLDEN:result": golden,
        "ASSIGNMENT:task_id": f"t-{image}",
        "ASSIGNMENT:worker_id": worker,
        "ASSIGNMENT:status": status,
    }


def test_toloka_assignments_are_read_with_their_gold(tmp_path):
    rows = [
        toloka_row("a", "w1", "cat", golden="dog"),
        toloka_row("a", "w2", "dog", golden="dog"),
        toloka_row("b", "w1", "cat", "REJECTED"),
        toloka_row("c", "w1", ""),
    ]
    path = write_table(tmp_path / "assignments.tsv", rows, "\t")
    annotations = read_annotations(path)
    assert rows_of(annotations) == [("a", "w1", "cat"), ("a", "w2", "dog")]
    assert annotations.gold.to_dict() == {"a": "dog"}
    assert annotations.report.left_out == {"assignment was rejected": 1, "no answer": 1}
    by_task = read_annotations(path, item="ASSIGNMENT:task_id")
    assert by_task.items.tolist() == ["t-a", "t-c"]


def test_peerannot_answers_are_read_with_repeats_and_bare_items(tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({"0": {"5": 1, "6": [0, 1]}, "1": {}, "2": {"5": None}}))
    annotations = read_annotations(path)
    assert rows_of(annotations) == [(0, 5, 1), (0, 6, 0), (0, 6, 1)]
    assert annotations.items.tolist() == [0, 1, 2]
    assert annotations.report.format == "peerannot JSON"
    assert annotations.report.left_out == {"no answer": 2}
    assert annotations.report.n_rows == 5


# -- the same twice ---------------------------------------------------------------


def test_the_same_mturk_assignment_counts_once(tmp_path):
    rows = [
        {"HITId": "h", "AssignmentId": n, "WorkerId": w, "Answer.kind": a}
        for n, w, a in [("1", "ann", "cat"), ("2", "bob", "dog"), ("1", "ann", "cat")]
    ]
    made = read_annotations(write_table(tmp_path / "batch.csv", rows))
    assert len(made) == 2
    assert dict(made.report.left_out) == {"the same assignment again": 1}


def test_the_same_toloka_assignment_counts_once_but_all_its_tasks_do(tmp_path):
    rows = [
        {
            "INPUT:image": i,
            "OUTPUT:kind": a,
            "ASSIGNMENT:worker_id": "ann",
            "ASSIGNMENT:assignment_id": "77",
        }
        for i, a in [("x", "cat"), ("y", "dog"), ("x", "cat")]
    ]
    made = read_annotations(write_table(tmp_path / "toloka.tsv", rows, "\t"))
    assert rows_of(made) == [("x", "ann", "cat"), ("y", "ann", "dog")]
    assert dict(made.report.left_out) == {"the same assignment again": 1}


def test_the_same_label_studio_annotation_counts_once(tmp_path):
    def task(number, who, choice):
        part = {"from_name": "kind", "value": {"choices": [choice]}}
        given = {"id": number, "completed_by": who, "result": [part]}
        return {"id": 1, "annotations": [given]}

    content = [task(5, 1, "cat"), task(6, 2, "dog"), task(5, 1, "cat")]
    path = tmp_path / "studio.json"
    path.write_text(json.dumps(content))
    made = read_annotations(path)
    assert rows_of(made) == [(1, 1, "cat"), (1, 2, "dog")]
    assert dict(made.report.left_out) == {"the same annotation again": 1}


# -- MTurk's radio buttons ------------------------------------------------------


@pytest.mark.parametrize(
    "ticks",
    [
        [{"Answer.yes.on": "true", "Answer.no.on": "false"},
         {"Answer.yes.on": "false", "Answer.no.on": "true"}],
        [{"Answer.b1.yes": "true", "Answer.b2.no": "false"},
         {"Answer.b1.yes": "false", "Answer.b2.no": "true"}],
        [{"Answer.taskAnswers": '[{"yes": {"on": true}, "no": {"on": false}}]'},
         {"Answer.taskAnswers": '[{"yes": {"on": false}, "no": {"on": true}}]'}],
        [{"Answer.taskAnswers": '[{"b1": {"yes": true}}]'},
         {"Answer.taskAnswers": '[{"b2": {"no": true}}]'}],
    ],
)  # fmt: skip
def test_radio_buttons_of_mturk_are_one_question(tmp_path, ticks):
    rows = [{"HITId": "h", "WorkerId": f"w{i}", **t} for i, t in enumerate(ticks)]
    path = write_table(tmp_path / "batch.csv", rows)
    annotations = read_annotations(path)
    assert rows_of(annotations) == [("h", "w0", "yes"), ("h", "w1", "no")]


def test_boxes_of_mturk_that_are_ticked_together_are_questions_of_their_own(tmp_path):
    names = ("HITId", "WorkerId", "Answer.cat.on", "Answer.dog.on")
    given = [("h", "w1", "true", "true"), ("h", "w2", "true", "false")]
    rows = [dict(zip(names, row, strict=True)) for row in given]
    path = write_table(tmp_path / "batch.csv", rows)
    assert rows_of(read_annotations(path, task="cat", classes=["on", "off"])) == [
        ("h", "w1", "on"),
        ("h", "w2", "on"),
    ]
