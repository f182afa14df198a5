"""What the pages under docs/ name is there: files, functions, settings, columns."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import wisecrowd as wc
from test_readme import blocks, table_that_begins

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/wisecrowd"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
CHANGED = [*PAGES, ROOT / "CHANGELOG.md"]

# `maths/crowd.py: posterior` or `base.py: CrowdModel._posterior, Aggregator`
REFERENCE = re.compile(r"`([\w/]+\.py):\s+([\w.]+(?:,\s+[\w.]+)*)`")


def text_of(page):
    return page.read_text(encoding="utf-8")


def references(text):
    """Yield the file and the name of every reference to source code in a page."""
    for file, names in REFERENCE.findall(text):
        for name in re.split(r",\s+", names):
            yield file, name


@cache
def names_in(path):
    """Return the names that a file defines: functions, classes and their members."""
    return set(_names(ast.parse(path.read_text(encoding="utf-8")).body))


def _names(body, within=""):
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield within + node.name
        if isinstance(node, ast.ClassDef):
            yield from _names(node.body, f"{within}{node.name}.")
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        for target in targets:
            for name in ast.walk(target) if target is not None else ():
                if isinstance(name, ast.Name):
                    yield within + name.id


def missing(text):
    """Return the references that lead nowhere."""
    return [
        f"{file}: {name}"
        for file, name in references(text)
        if not (SOURCE / file).is_file() or name not in names_in(SOURCE / file)
    ]


# -- source code ----------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_function_that_a_page_names_exists(page):
    assert missing(text_of(page)) == []


def test_the_theory_names_the_function_of_every_formula():
    assert len(list(references(text_of(ROOT / "docs/theory.md")))) > 100


@pytest.mark.parametrize(
    "wrong",
    [
        "`maths/crowds.py: posterior`",
        "`maths/crowd.py: posteriors`",
        "`base.py: CrowdModel.predict_proba`",  # a method of another class
        "`maths/crowd.py: posterior, prior_of`",
        "`maths/crowd.py:\nposteriors`",
    ],
)
def test_a_reference_that_leads_nowhere_is_found(wrong):
    assert len(missing(wrong)) == 1


@pytest.mark.parametrize(
    "right",
    [
        "`maths/crowd.py: posterior, Hyperprior.shape`",
        "`base.py: CrowdModel.labels_, Aggregator.predict_proba`",
        "`maths/crowd.py: BLOCK`, `methods/svgpcr/task.py: START_EPSILON`",
    ],
)
def test_functions_methods_fields_and_constants_are_found(right):
    assert len(list(references(right))) == 2
    assert missing(right) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_file_that_a_page_names_exists(page):
    for path in re.findall(r"(?<![\w./:])(?:\w+/)+\w+\.py\b", text_of(page)):
        assert (SOURCE / path).is_file() or (ROOT / path).is_file(), path


# -- links ----------------------------------------------------------------------------


@pytest.mark.parametrize("page", CHANGED, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target, place in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text_of(page)):
        path = page.parent / target if target else page
        assert path.exists(), target
        if place:
            assert place in anchors(text_of(path)), f"{target}#{place}"


def anchors(text):
    """Return the anchors of a page's headings, as GitHub and MkDocs make them."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings]


# -- settings, attributes, columns ------------------------------------------------------


def test_the_page_on_choosing_has_every_setting_with_its_default():
    page = text_of(ROOT / "docs/choosing.md")
    rows = [row.split(" | ") for row in table_that_begins("setting", page)[2:]]
    found = {row[0].strip("| `"): row[1].strip("` ") for row in rows}
    settings = {k: repr(v) for k, v in wc.SVGPCR().get_params().items()}
    wanted = {k: v.replace("'", '"') for k, v in settings.items()}
    assert found == wanted


def test_the_notation_names_terms_of_the_bound():
    from wisecrowd.methods.svgpcr.model import Bound

    named = re.findall(r'trace_\["(\w+)"\]', text_of(ROOT / "docs/notation.md"))
    assert set(named) == {*Bound._fields, "bound"}


def test_the_notation_names_what_a_fit_leaves_behind():
    from wisecrowd.methods.svgpcr.record import SparseGP

    page = text_of(ROOT / "docs/notation.md")
    parts = re.findall(r"learned_\.classifier\.(\w+)", page)
    assert {"inducing", "kernel", "shift", "precision"} <= set(parts)
    assert set(parts) <= set(SparseGP._fields)


def test_the_theory_has_a_row_for_every_term_of_the_bound():
    from wisecrowd.methods.svgpcr.model import Bound

    page = text_of(ROOT / "docs/theory.md")
    rows = table_that_begins("term", page)[2:]
    assert [row.split(" | ")[0].strip("| `") for row in rows] == list(Bound._fields)


# -- code -----------------------------------------------------------------------------


def test_the_code_in_the_page_on_choosing_runs(capsys):
    for code in blocks("python", text_of(ROOT / "docs/choosing.md")):
        exec(compile(code, "choosing.md", "exec"), {})
    assert all(0 < float(said) < 2 for said in capsys.readouterr().out.split())


# -- English --------------------------------------------------------------------------

HARD_TO_READ = (
    r"(answers?|labels?|rows?|columns?|nats|points?) an? (item|annotator|person|class)\b",
    r"\bbeliev(e|es|ed|ing)\b",
    r"\bjudg(e|es|ed|ing)\b",
)


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(
        ROOT / f"docs/{name}.md"
        for name in ("benchmarks", "choosing", "notation", "theory")
    )],
    ids=lambda page: page.name,
)  # fmt: skip
def test_rates_have_per_and_models_have_no_opinions(page):
    text = " ".join(text_of(page).split())
    for pattern in HARD_TO_READ:
        found = re.search(pattern, text)
        assert not found, text[found.start() - 30 : found.end() + 30]
