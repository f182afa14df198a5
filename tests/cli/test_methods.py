"""``wisecrowd methods`` and ``wisecrowd cite``."""

import json

import pytest

import wisecrowd as wc
from mistakes import one_sentence
from wisecrowd.cli.values import parameter_texts


def test_all_methods_are_listed_with_what_they_need(run):
    result = run("methods")
    assert result.exit_code == 0
    for name in wc.METHODS:
        assert name in result.stdout
    assert "Dawid and Skene" in result.stdout
    assert "*" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("name", list(wc.METHODS))
def test_the_settings_of_a_method_are_listed_with_their_defaults(name, run):
    result = run("methods", name)
    assert result.exit_code == 0, result.output
    for setting in wc.METHODS[name]().get_params():
        assert f" {setting} " in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("name", list(wc.METHODS))
def test_no_sentence_about_a_setting_is_cut(name, run):
    assert "..." not in run("methods", name).stdout
    words = "".join(run("methods", "aggnet").stdout.split())
    assert "".join(parameter_texts(wc.AggNet)["tol"].split())[:40] in words


def test_json_has_the_same_content(run):
    found = json.loads(run("methods", "--json").stdout)["methods"]
    assert [row["name"] for row in found] == list(wc.METHODS)
    one = json.loads(run("methods", "BCC", "--json").stdout)
    assert one["needs"] == "answers"
    defaults = {row["name"]: row["default"] for row in one["settings"]}
    assert defaults == wc.BCC().get_params()


def test_an_unknown_method_is_a_sentence(run):
    one_sentence(run("methods", "bccc"), "Did you mean 'bcc'?")
    one_sentence(run("cite", "bccc"), "Did you mean 'bcc'?")


@pytest.mark.parametrize("name", list(wc.METHODS))
def test_every_setting_is_documented(name):
    kind = wc.METHODS[name]
    assert set(kind().get_params()) <= set(parameter_texts(kind))


def test_a_parameter_that_is_described_elsewhere_has_the_text_from_there():
    assert (
        parameter_texts(wc.BCC)["max_iter"]
        == (parameter_texts(wc.DawidSkene)["max_iter"])
    )


def test_only_the_section_of_the_parameters_is_read():
    class Documented:
        """Do something.

        Parameters
        ----------
        a, b : int
            Both of ``them``, as in :class:`Other`. And
            more.
        c
            One line
        e : {"one", "two"} or None
            How many.

        Notes
        -----
        d : int
            Is not a parameter.
        """

    both = "Both of them, as in Other."
    assert parameter_texts(Documented) == {
        "a": both,
        "b": both,
        "c": "One line",
        "e": "How many. One of one, two or none.",
    }


def test_a_class_without_parameters_has_no_texts():
    assert parameter_texts(type("Nothing", (), {})) == {}


def test_a_citation_is_that_of_the_library(run, answers, tmp_path):
    assert run("cite", "dawid_skene").stdout == wc.cite(wc.DawidSkene) + "\n"
    run("aggregate", answers, "-m", "glad", "-q", "--out", tmp_path / "run")
    assert run("cite", tmp_path / "run").stdout == wc.cite(wc.GLAD) + "\n"


def test_a_folder_without_a_run_is_a_sentence(run, tmp_path):
    one_sentence(run("cite", tmp_path), "model")


def test_a_narrow_terminal_keeps_the_names_of_settings(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert "subtype_pseudo_items" in run("methods", "ebcc").stdout
