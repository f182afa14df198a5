"""What the README shows is what happens."""

import doctest
import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

import wisecrowd as wc
from wisecrowd.cli import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language, page=README):
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def commands():
    lines = "\n".join(blocks("sh")).splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("wisecrowd")]


def table_that_begins(heading, page=README):
    """Return the lines of the table whose first column has this heading."""
    return re.search(rf"(^\| {heading} \|.*\n(?:\|.*\n)+)", page, re.M)[1].splitlines()


def methods_table():
    """Return the table of methods, as the registry describes them."""
    heading = "class", "on the command line", "needs"
    lines = [(*heading, "what it learns about an annotator", "paper"), ("---",) * 5]
    for name, kind in wc.METHODS.items():
        info = kind.method
        names = f"`{kind.__name__}`", f"`{name}`"
        lines.append((*names, info.needed, info.learns, info.paper or "–"))
    return [f"| {' | '.join(line)} |" for line in lines]


# -- methods -------------------------------------------------------------------------


def test_the_table_of_methods_is_that_of_the_registry():
    wanted = methods_table()
    found = table_that_begins("class", (ROOT / "docs/methods.md").read_text("utf-8"))
    assert found == wanted, "the table should be:\n" + "\n".join(wanted)


def test_every_method_has_a_formula_and_a_place_with_more_of_it():
    page = (ROOT / "docs/methods.md").read_text("utf-8")
    rows = [row.split(" | ") for row in table_that_begins("method", page)[2:]]
    found = [row[0].strip("| `") for row in rows]
    assert sorted(found) == sorted(kind.__name__ for kind in wc.METHODS.values())
    assert f"{len(wc.METHODS)} methods under one interface" in README


def test_every_method_is_a_public_name():
    for kind in wc.METHODS.values():
        name = kind.__name__
        assert getattr(wc, name, None) is kind, f"{name} is not in __init__.pyi"


def test_the_readme_says_how_to_get_the_published_methods():
    for name in ("BCC", "SVGPCR"):
        assert hasattr(getattr(wc, name), "as_published")
        assert f"`{name}()`" in README
    assert "`as_published()`" in README


# -- what it beats --------------------------------------------------------------------


def test_every_figure_of_the_table_is_on_the_page_that_it_names():
    rows = table_that_begins("task")[2:]
    assert len(rows) >= 5
    for row in rows:
        *cells, link = row.strip("| ").split(" | ")
        path, place = re.search(r"\((.*?)#(.*?)\)", link).groups()
        section = section_of((ROOT / path).read_text("utf-8"), place)
        numbers = re.findall(r"(?<![\w.])\d*\.\d+|\d[\d,]*\d(?= ms)", " ".join(cells))
        assert len(numbers) >= 1
        assert [number for number in numbers if number not in section] == []


def section_of(page, place):
    """Return the text of a section, with those below it."""
    parts = re.split(r"^(#+) (.*)$", page, flags=re.M)
    found, depth = "", 9
    for marks, heading, text in zip(*(parts[n::3] for n in (1, 2, 3)), strict=True):
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        if anchor == place:
            depth = len(marks)
        elif len(marks) <= depth:
            depth = 0
        found += text if depth else ""
    return found


# -- code and commands ----------------------------------------------------------------


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
    wc.write_annotations(wc.simulate(60, 9, random_state=0).answers, "answers.csv")
    # a reader has followed the commands before: nothing is mixed, nothing is refused
    assert CliRunner().invoke(app, commands()[1]).exit_code == 0
    for code in blocks("python"):
        exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert re.search(r"answers\.csv: long.* 300 (annotations|answers)", printed)
    assert "@software{wisecrowd" in printed
    assert (tmp_path / "model/model.json").exists()


def test_the_commands_in_the_readme_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = ["simulate", "aggregate", "explain", "review", "compare"]
    assert [c[0] for c in commands()] == [*first, "simulate", "fit", "predict"]
    for command in commands():
        assert "--force" not in command
        if command[0] == "fit":
            command += ["--inducing", "10", "--epochs", "2"]  # the same, sooner
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.stderr


def test_the_readme_names_every_file_of_a_run(tmp_path):
    answers = wc.simulate(30, 5, random_state=0).answers
    wc.write_annotations(answers, tmp_path / "a.csv")
    out = str(tmp_path / "run")
    CliRunner().invoke(app, ["aggregate", str(tmp_path / "a.csv"), "-q", "--out", out])
    pages = README + (ROOT / "docs/files.md").read_text(encoding="utf-8")
    written = [path.name for path in (tmp_path / "run").iterdir()]
    assert len(written) >= 7
    assert all(name in pages for name in written)


def test_the_readme_is_short_and_knows_no_machine():
    assert len(README.splitlines()) <= 150
    assert not re.search(r"/(home|work|root|Users)/|C:\\|index-url", README)
