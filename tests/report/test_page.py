"""The page, as text: whole, small, and inert whatever the names are."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from wisecrowd.report import as_script_data, page, write_report
from wisecrowd.report.data import _mistakes, page_data
from wisecrowd.results.findings import findings

VOID = {"meta", "link", "img", "input", "br", "hr"}


class Outline(HTMLParser):
    """The elements of a page, and whether each that is opened is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += [(tag, *attr) for attr in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def outline(text):
    found = Outline()
    found.feed(text)
    found.close()
    assert found.open == []
    return found


def data_of(text):
    (inside,) = re.findall(r'<script type="application/json" id="data">(.*?)<', text)
    return json.loads(inside)


def test_a_page_is_one_file_that_asks_for_nothing(found):
    text = page(found)
    parts = outline(text)
    assert parts.seen.count("script") == 2
    assert "link" not in parts.seen
    links = [v for _, name, v in parts.attributes if name in ("href", "src")]
    assert links
    assert all(link.startswith("#") for link in links)
    assert "default-src 'none'" in text
    assert "url(http" not in text


def test_a_page_tells_what_was_learned(found):
    text = page(found)
    for sentence in found.said.values():
        assert sentence.replace("'", "&#39;") in text
    data = data_of(text)
    assert data["annotators"]["n_all"] == 14
    assert [row["n"] for row in data["prevalence"]] == found.classes["n_items"].tolist()
    assert sum(map(sum, data["certainty"])) == 60
    assert len(data["items"]["lists"]["all"]) == 60


def test_a_folder_in_place_of_the_page_is_a_sentence(found, tmp_path):
    with pytest.raises(wc.InputError, match=r" is a folder\. Give a file"):
        write_report(found, tmp_path)


def test_the_home_folder_can_be_written_as_a_tilde(found, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_report(found, "~/page.html")
    assert (tmp_path / "page.html").is_file()


def test_flagged_annotators_come_first_then_the_most_active(found):
    shown = page_data(found)["annotators"]
    ranks = [["adversary", "spammer", ""].index(flag) for flag in shown["flag"]]
    assert ranks == sorted(ranks)
    assert ranks[0] < 2
    n = np.array(shown["n"])[np.array(ranks) == 2]
    assert (np.diff(n) <= 0).all()


def test_a_ledger_on_the_page_adds_up(found):
    rows = page_data(found)["items"]["rows"]
    assert len(rows) == 60
    for row in rows:
        total = sum(part[-1] for part in row["ledger"])
        assert_allclose(total, np.log(row["p"] / row["q"]), atol=0.2)  # it is rounded


def test_matrices_are_those_of_the_annotators(found):
    shown = page_data(found)["annotators"]
    place = found.annotators["annotator"].astype(str).tolist().index(shown["name"][2])
    cells = found.confusion[["mean", "low", "high"]].to_numpy().reshape(14, 27)
    assert_allclose(shown["matrices"]["2"], 100 * cells[place], atol=0.51)


def test_typical_mistakes_are_frequent_and_wrong(found):
    shown = page_data(found)["annotators"]
    assert any(shown["mistakes"])
    for person, mistakes in enumerate(shown["mistakes"]):
        for c, k, share in mistakes:
            assert c != k
            assert share >= 10
            assert shown["matrices"][str(person)][3 * (3 * c + k)] == share


def test_a_mistake_that_is_in_less_than_one_answer_is_not_typical():
    confusion, shares = np.array([[[0.8, 0.2], [0.3, 0.7]]] * 2), np.array([0.9, 0.1])
    often, once = _mistakes(confusion, [100, 6], shares)
    assert often == [[0, 1, 20], [1, 0, 30]]
    assert once == [[0, 1, 20]]  # six answers, of which .18 are that mistake


@pytest.mark.parametrize(
    "model", [wc.MajorityVote(), wc.Consensus(), wc.GLAD(), wc.DawidSkene()], ids=str
)
def test_sections_that_a_method_cannot_fill_are_left_out(model, crowd):
    text = page(findings(model.fit(crowd.answers), crowd.answers))
    outline(text)
    assert 'id="accuracy"' not in text
    assert "disagree" not in data_of(text)["items"]["lists"]
    assert "classifier" not in data_of(text)["confused"]["tables"]
    assert ('id="chart-trace"' in text) == (len(model.trace_) > 1)


def test_a_page_with_gold_of_the_fit_says_how_right_it_is(crowd, gold):
    some = dict(list(gold.items())[:30])
    model = wc.Consensus().fit(crowd.answers, gold=some)
    text = page(findings(model, crowd.answers))
    assert "Estimated from 30 gold items" in text
    assert 'id="accuracy"' in text


def test_the_figures_in_the_docs_can_be_drawn(found, gold):
    plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not there")
    text = (Path(__file__).parents[2] / "docs/report.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    plt.close("all")
    code = code.replace('"ann"', "3")
    exec(compile(code, "report.md", "exec"), {"model": found.model, "gold": gold})
    assert len(plt.get_fignums()) == 4
    plt.close("all")


# -- names ----------------------------------------------------------------------------


def test_hostile_names_are_text(hostile):
    text = page(hostile)
    parts = outline(text)
    assert parts.seen.count("script") == 2
    assert "img" not in parts.seen
    assert not [a for a in parts.attributes if a[1].startswith("on")]
    assert "\u202e" not in text
    assert "\u2028" not in text
    assert "\x00" not in text
    data = data_of(text)
    assert len(data["annotators"]["name"]) == 200
    shown = data["annotators"]["name"] + data["classes"]
    assert "<script>alert(1)</script>" in shown
    assert max(map(len, shown)) <= 80
    assert "{{ 7 * 7 }}" in shown


def test_data_cannot_end_their_element():
    content = {"</script>": ["<!--", "&", "\u2028", "a\u2029b"]}
    text = as_script_data(content)
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == content


# -- size -----------------------------------------------------------------------------


def test_at_the_size_of_ligo_a_page_is_below_five_megabytes(large):
    text = page(large)
    assert len(text.encode()) < 5_000_000
    data = data_of(text)
    assert len(data["annotators"]["name"]) == 3_443
    assert len(data["annotators"]["points"]) <= 1500
    assert len(data["items"]["rows"]) <= 1000
    assert sum(map(sum, data["certainty"])) == 173_565


def test_of_many_annotators_and_classes_the_page_has_some(large, monkeypatch):
    monkeypatch.setattr("wisecrowd.report.data.MOST_ANNOTATORS", 100)
    monkeypatch.setattr("wisecrowd.report.data.MOST_CLASSES", 10)
    data = page_data(large)
    assert len(data["annotators"]["name"]) == 100
    assert data["annotators"]["matrices"] == {}
    assert data["confused"]["tables"] == {}
    assert len(data["confused"]["pairs"]["crowd"]) == 10


# -- from a model ---------------------------------------------------------------------


def test_a_model_writes_its_page_and_a_loaded_one_says_how(crowd, tmp_path):
    model = wc.Consensus().fit(crowd.answers)
    model.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!doctype html>")
    wc.save(model, tmp_path)
    with pytest.raises(wc.InputError, match="wisecrowd report RUN"):
        wc.load(tmp_path).report(tmp_path / "again.html")
