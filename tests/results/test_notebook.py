"""What a notebook shows."""

import pytest

import wisecrowd as wc
from wisecrowd.results.comparison import compared
from wisecrowd.results.findings import findings

NAMES = ["<script>alert(1)</script>", "\u202eback", "a" * 10_000]


def is_inert(text):
    return "<script" not in text and "\u202e" not in text and len(text) < 50_000


def test_a_fitted_model_shows_what_it_learned(crowd, model):
    text = model._repr_html_()
    assert is_inert(text)
    for sentence in findings(model, crowd.answers).said.values():
        assert sentence.replace("'", "&#x27;") in text
    assert text.count("<table") == 2
    assert model._repr_mimebundle_()["text/html"] == text
    votes = wc.MajorityVote().fit(crowd.answers)._repr_html_()
    assert "those of majority-vote alone" in votes  # it warns as the page does


def test_a_model_that_is_not_fitted_shows_its_settings():
    assert "BCC" in wc.BCC()._repr_html_()
    assert "sk-" in wc.BCC()._repr_mimebundle_()["text/html"]  # scikit-learn's


def test_a_loaded_model_shows_its_annotators(model, tmp_path):
    wc.save(model, tmp_path)
    text = wc.load(tmp_path)._repr_html_()
    assert "does not hold the answers" in text
    assert text.count("<table") == 1


@pytest.mark.filterwarnings("ignore:.*do not name a class")
def test_findings_and_annotations_and_a_comparison_are_shown(crowd, model, gold):
    found = findings(model, crowd.answers)
    assert found._repr_html_() == model._repr_html_()
    text = crowd.answers._repr_html_()
    assert "30 items, 9 annotators, 3 classes" in text
    assert "blip" in text
    both = compared(["majority-vote", "glad"], crowd.answers, gold=gold, held_out=0)
    text = both._repr_html_()
    assert is_inert(text)
    assert all(word in text for word in ("glad", "smoothed-votes", "log loss"))


def test_names_in_a_notebook_are_text():
    rows = [(item, who, said) for item in NAMES for who in NAMES for said in NAMES[:1]]
    rows.append((NAMES[0], NAMES[0], NAMES[1]))
    answers = wc.Annotations.from_triples(*zip(*rows, strict=True))
    assert is_inert(answers._repr_html_())
    assert is_inert(wc.MajorityVote().fit(answers)._repr_html_())
