"""What the README shows is what happens."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import wisecrowd as wc
from wisecrowd.cli import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language, page=README):
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def commands():
    lines = "\n".join(blocks("sh")).splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("wisecrowd")]


def test_the_examples_in_the_readme_give_what_it_says():
    assert blocks("pycon")
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    text = "".join(blocks("pycon"))
    example = doctest.DocTestParser().get_doctest(text, {}, "README", None, 0)
    runner = doctest.DocTestRunner(checker=NearlyEqual(), optionflags=flags)
    assert runner.run(example).failed == 0


class NearlyEqual(doctest.OutputChecker):
    """Numbers are compared to the digits that the README shows."""

    def check_output(self, want, got, optionflags):
        try:
            digits = len(want.strip().partition(".")[2])
            want, got = f"{float(want):.{digits}f}\n", f"{float(got):.{digits}f}\n"
        except ValueError:
            pass
        return super().check_output(want, got, optionflags)


def test_the_code_in_the_readme_runs_on_a_users_file(tmp_path, monkeypatch, capsys):
    assert blocks("python")
    monkeypatch.chdir(tmp_path)
    wc.write_annotations(wc.simulate(60, 9, random_state=0).labels, "answers.csv")
    for code in blocks("python"):
        exec(compile(code, "README.md", "exec"), {})
    assert "300 annotations" in capsys.readouterr().out
    assert (tmp_path / "run/model.json").exists()


def test_the_code_in_the_page_on_choosing_runs(capsys):
    page = (ROOT / "docs/choosing.md").read_text(encoding="utf-8")
    for code in blocks("python", page):
        exec(compile(code, "choosing.md", "exec"), {})
    assert all(0 < float(said) < 2 for said in capsys.readouterr().out.split())


def test_the_page_on_theory_names_functions_that_exist():
    page = (ROOT / "docs/theory.md").read_text(encoding="utf-8")
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in ROOT.glob("src/**/*.py")
    )
    named = re.findall(r"\.py:\s+([\w.]+)`", page)
    assert len(named) > 20
    for name in named:
        last = name.split(".")[-1]
        assert re.search(rf"(def|class) {last}\b|^\s*{last}:", source, re.M), name


def test_the_commands_in_the_readme_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = ["simulate", "aggregate", "compare"]
    assert [c[0] for c in commands()] == [*first, "simulate", "fit", "predict"]
    for command in commands():
        if command[0] == "fit":
            command += ["--inducing", "10", "--epochs", "2"]  # the same, sooner
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.stderr


def test_the_readme_names_every_method_and_every_file_of_a_run(tmp_path):
    assert all(f"`{name}`" in README for name in wc.METHODS)
    labels = wc.simulate(30, 5, random_state=0).labels
    wc.write_annotations(labels, tmp_path / "a.csv")
    out = str(tmp_path / "run")
    CliRunner().invoke(app, ["aggregate", str(tmp_path / "a.csv"), "-q", "--out", out])
    pages = README + (ROOT / "docs/files.md").read_text(encoding="utf-8")
    written = [path.name for path in (tmp_path / "run").iterdir()]
    assert len(written) == 7
    assert all(name in pages for name in written)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target


def test_the_readme_is_short_and_knows_no_machine():
    assert len(README.splitlines()) <= 150
    assert not re.search(r"/(home|work|root|Users)/|C:\\|index-url", README)
