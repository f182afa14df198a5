"""Free text, and fits that do not fit into the memory."""

import numpy as np
import pytest

import wisecrowd as wc
from mistakes import one_sentence
from wisecrowd import InputError
from wisecrowd.annotations import sizes


def crowd_of(texts):
    rows = range(len(texts))
    return wc.Annotations.from_triples(rows, [i % 7 for i in rows], texts)


def test_free_text_is_said_at_once():
    texts = crowd_of([f"text {i}" for i in range(10_000)])
    for model in (wc.MajorityVote(), wc.BCC(), wc.Consensus()):
        with pytest.raises(InputError, match="10,000 different answers among 10,000"):
            model.fit(texts)


def test_many_classes_that_are_given_again_are_no_free_text():
    again = crowd_of([f"species {i % 150}" for i in range(600)])
    assert len(wc.MajorityVote().fit(again).classes_) == 150
    some = wc.Annotations.from_matrix([[0, 1], [1, 1]], classes=range(300))
    assert len(wc.MajorityVote().fit(some).classes_) == 300


def test_memory_is_estimated_before_the_fit(monkeypatch):
    answers = crowd_of([f"species {i % 150}" for i in range(600)])
    monkeypatch.setattr(sizes, "free_memory", lambda: 2.0**20)
    with pytest.raises(InputError, match=r"about 0\.0 GB of memory.*150 classes"):
        wc.BCC().fit(answers)
    monkeypatch.setattr(sizes, "free_memory", lambda: 2.0**33)
    assert wc.MajorityVote().fit(answers)


def test_memory_is_unlimited_where_nobody_tells(monkeypatch, tmp_path):
    assert 0 < sizes.free_memory() < np.inf
    monkeypatch.setattr(sizes, "MEMINFO", tmp_path / "nowhere")
    assert sizes.free_memory() > 0


def test_free_text_on_the_command_line_names_the_options(tmp_path):
    from typer.testing import CliRunner

    from wisecrowd.cli import app

    lines = [f"{i},{i % 5},some text {i}" for i in range(500)]
    path = tmp_path / "texts.csv"
    path.write_text("item,worker,answer\n" + "\n".join(lines))
    result = CliRunner().invoke(app, ["aggregate", str(path), "-q"])
    one_sentence(result, "is this free text?", "--answer", "--rename")
