"""The names that people give to the columns of a table."""

import pytest

from wisecrowd._checks import InputError
from wisecrowd.annotations.headers import ALIASES, column_names, first_named

ANNOTATORS = (
    "annotator", "worker", "WorkerId", "workerId", "worker_id", "Worker ID", "user",
    "userId", "user_name", "userName", "username", "rater", "rater_id", "raterID",
    "judge", "judge_id", "judge_model", "model", "model_name", "llm", "labeler",
    "labeller_id",
    "coder", "reviewer", "participant_id", "respondent", "turker", "email",
    "annotatorName", "completed_by", "expert",
)  # fmt: skip
ITEMS = (
    "item", "itemId", "task", "taskId", "Task ID", "subject", "subject_id", "HITId",
    "hit_id", "image", "Image", "image_id", "imageId", "img", "image_name", "image_url",
    "photo", "picture", "file", "filename", "fileName", "file_path", "document",
    "doc_id", "example", "example_id", "instance", "sample_id", "object_id", "question",
    "questionId", "prompt", "sentence", "sentence_id", "text", "text_id", "tweet_id",
    "clip", "video_id", "url", "id", "ID",
)  # fmt: skip
ANSWERS = (
    "answer", "label", "Label", "rating", "response", "annotation", "vote", "class",
    "Class", "category", "choice", "verdict", "judgment", "judgement", "decision",
    "worker_label", "workerAnswer", "classification", "selected", "score",
)  # fmt: skip


@pytest.mark.parametrize("name", ANNOTATORS)
def test_an_annotator_is_recognised_by_the_names_that_people_use(name):
    assert column_names(["item", name, "answer"]) == ["item", name, "answer"]


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_is_recognised_by_the_names_that_people_use(name):
    assert column_names([name, "annotator", "answer"]) == [name, "annotator", "answer"]


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_recognised_by_the_names_that_people_use(name):
    assert column_names(["item", "annotator", name]) == ["item", "annotator", name]


def test_no_name_stands_for_two_roles():
    for one, names in ALIASES.items():
        for other, others in ALIASES.items():
            shared = [name for name in names if first_named([name], others)]
            assert one == other or not shared


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (["id", "image", "WorkerId", "class"], ["image", "WorkerId", "class"]),
        (["question", "model", "judge", "verdict"], ["question", "judge", "verdict"]),
        (["model", "label", "text", "source"], ["text", "model", "label"]),
        (["HITId", "WorkerId", "choice", "score"], ["HITId", "WorkerId", "choice"]),
        (["ID", "id", "user", "vote"], ["ID", "user", "vote"]),
    ],
)
def test_of_several_names_the_usual_one_is_chosen(columns, found):
    assert column_names(columns) == found


def test_a_column_that_was_named_for_one_role_is_not_found_for_another():
    columns = ["task", "subject", "worker", "label"]
    found = column_names(columns, annotator="subject")
    assert found == ["task", "subject", "label"]
    assert column_names(columns, answer="task") == ["subject", "worker", "task"]


def test_a_column_that_is_left_over_is_proposed():
    with pytest.raises(InputError, match=r"e\.g\. answer=.said."):
        column_names(["photo", "worker", "said"])


def test_a_long_name_in_a_message_is_cut():
    with pytest.raises(InputError) as error:
        column_names(["item", "worker", "x" * 20_000])
    assert len(str(error.value)) < 500


def test_all_roles_that_are_missing_are_named():
    with pytest.raises(InputError, match="for the item, annotator and answer was"):
        column_names(["thing", "who_is_it", "said_so"])
