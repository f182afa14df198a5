"""What the pages under docs/ name is there: files, functions, settings, columns."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from pkgutil import iter_modules

import pytest
import typer

import contract
import wisecrowd as wc
from test_readme import blocks, table_that_begins
from wisecrowd import methods
from wisecrowd.cli import app

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/wisecrowd"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
CHANGED = [*PAGES, ROOT / "CHANGELOG.md"]

# `maths/crowd.py: posterior`, `base.py: CrowdModel.labels_, Aggregator.fit`, and with a
# value `fit/stochastic.py: WINDOW = 40`
NAME = r"[\w.]+(?:\s=\s[\w.-]+)?"
REFERENCE = re.compile(rf"`([\w/]+\.py):\s+({NAME}(?:,\s+{NAME})*)`")


def text_of(page):
    return page.read_text(encoding="utf-8")


def references(text):
    """Yield file, name and value (or None) of every reference to source code."""
    for file, names in REFERENCE.findall(text):
        for named in re.split(r",\s+", names):
            name, _, value = " ".join(named.split()).partition(" = ")
            yield file, name, ast.literal_eval(value) if value else None


@cache
def values_in(path):
    """Return what a file defines, with the values of constants: {name: value}."""
    return dict(_defined(ast.parse(path.read_text(encoding="utf-8")).body))


def _defined(body, within=""):
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield within + node.name, None
        if isinstance(node, ast.ClassDef):
            yield from _defined(node.body, f"{within}{node.name}.")
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            yield from _assigned(target, getattr(node, "value", None), within)


def _assigned(target, value, within):
    """Yield the names and values of an assignment; of ``a, b = 1, 2`` both."""
    if isinstance(target, ast.Name):
        constant = isinstance(value, ast.Constant)
        yield within + target.id, value.value if constant else None
    if isinstance(target, ast.Tuple):
        several = getattr(value, "elts", [None] * len(target.elts))
        for one, its_value in zip(target.elts, several, strict=True):
            yield from _assigned(one, its_value, within)


def missing(text):
    """Return the references that lead nowhere, or to another value."""
    wrong = []
    for file, name, value in references(text):
        found = values_in(SOURCE / file) if (SOURCE / file).is_file() else {}
        if name not in found:
            wrong.append(f"{file}: {name}")
        elif value is not None and found[name] != value:
            wrong.append(f"{file}: {name} = {found[name]}, not {value}")
    return wrong


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
        "`fit/stochastic.py: WINDOW = 41`",
        "`methods/svgpcr/natural.py: START_EPSILON = 1e-3, EPSILON_FLOOR = 1e-3`",
        "`fit/stochastic.py: gain_per_item = 1`",
    ],
)
def test_a_reference_that_leads_nowhere_is_found(wrong):
    assert len(missing(wrong)) == 1


@pytest.mark.parametrize(
    "right",
    [
        "`maths/crowd.py: posterior, Hyperprior.shape`",
        "`base.py: CrowdModel.labels_, Aggregator.predict_proba`",
        "`maths/crowd.py: HYPER_SHAPE`, `methods/svgpcr/natural.py: WARM_UP = 60`",
        "`fit/stochastic.py: WINDOW = 40, Schedule.cool_down = 0.6`",
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


# -- commands -------------------------------------------------------------------------


def commands_in(text):
    """Yield the words of every command ``wisecrowd NAME ...`` that a page shows."""
    for shown in re.findall(r"(?:^|`)(wisecrowd [a-z][^`\n]*)", text, re.M):
        yield shown.partition("#")[0].replace("`", " ").split()[1:]


@pytest.mark.parametrize("page", CHANGED, ids=lambda page: page.name)
def test_every_command_and_option_that_a_page_shows_exists(page):
    known = {
        name: {option for param in command.params for option in param.opts}
        for name, command in typer.main.get_command(app).commands.items()
    }
    for first, *words in commands_in(text_of(page)):
        both = " ".join([first, *words[:1]])
        name = both if both in known else first  # "simulate glitches" is one
        assert name in known, name
        named = {word.strip(".,;:)") for word in words if word.startswith("--")}
        assert named <= known[name] | {"--help"}, f"wisecrowd {name} {words}"


# -- numbers that stand on several pages ----------------------------------------------

README_PAGE, CHANGES = "README.md", "CHANGELOG.md"
FACTS = {
    "log loss of the default on sixteen crowds": [
        ("docs/theory.md", r"^\| mean \|.*\| \.\d+/(\.\d+) \| \.\d+ \| \.\d+ \| \|$"),
        ("docs/theory.md", r"With the defaults, (\.\d+) and"),
        (README_PAGE, r"log loss \| smoothed votes \.\d+ \| (\.\d+)"),
        (CHANGES, r"On sixteen real crowds log loss (\.\d+)"),
    ],
    "log loss of smoothed votes on them": [
        ("docs/theory.md", r"^\| mean \| \.\d+/(\.\d+)"),
        (README_PAGE, r"log loss \| smoothed votes (\.\d+)"),
        (CHANGES, r"\(smoothed votes (\.\d+)"),
    ],
    "labels of the default that are right": [
        ("docs/theory.md", r"^\| mean \|.*\| (\.\d+)/\.\d+ \| \.\d+ \| \.\d+ \| \|$"),
        (README_PAGE, r"right \| smoothed votes \.\d+ \| (\.\d+)"),
    ],
    "votes on LabelMe": [
        ("docs/choosing.md", r"LabelMe, 59 real annotators.*? \| (\.\d+)"),
        ("docs/deep.md", r"majority vote, then the network \| [^|]* \| (\.\d+)"),
        (README_PAGE, r"votes (\.\d+), BCC"),
    ],
    "labels of SVGPCR on LabelMe": [
        ("docs/choosing.md", r"LabelMe, 59 real annotators.*?\*\*(\.\d+)\*\*"),
        (README_PAGE, r"`SVGPCR` (\.\d+)"),
    ],
    "SVGPCR on new items of LabelMe": [
        ("docs/choosing.md", r"LabelMe, 59 real annotators.*\| (\.\d+), \.\d+ \|"),
        ("docs/rivals.md", r"\| `SVGPCR\(\)` \| \*\*(\.\d+)\*\*"),
    ],
    "SVGPCR on LabelMe without networks, when its parts were compared": [
        ("docs/choosing.md", r"by one number: LabelMe \.\d+ → (\.\d+)"),
        ("docs/deep.md", r"On LabelMe .* the plain kernel has (\.\d+):"),
    ],
    "log loss of SVGPCR on new items of six crowds": [
        ("docs/rivals.md", r"best log loss on all six: (\.\d+)"),
        (README_PAGE, r"next best method \.\d+ \| `SVGPCR` (\.\d+)"),
    ],
    "that of the next best method": [
        ("docs/rivals.md", r"next best, `CrowdEM`, has (\.\d+)"),
        (README_PAGE, r"next best method (\.\d+)"),
    ],
    "seconds of Dawid-Skene at the size of LIGO": [
        ("docs/benchmarks.md", r"Dawid–Skene, 1\.83M answers \| ([\d.]+) s"),
        (README_PAGE, r"crowd-kit [\d.]+ s \| ([\d.]+) s"),
    ],
    "labels of judges with families and gold": [
        ("docs/judges.md", r"verdicts, families and 50 human labels \| (\.\d+)"),
        (README_PAGE, r"five judges, .* \| votes \.\d+ \| (\.\d+)"),
    ],
    "items of LIGO": [
        ("docs/benchmarks.md", r"size of Gravity Spy \(LIGO\): ([\d,]+) items"),
        ("docs/simulate.md", r"The paper learns from ([\d,]+) glitches"),
        ("docs/cli.md", r"2,000, 20,000 or ([\d,]+) items"),
        ("docs/deep.md", r"At LIGO's size \(([\d,]+) items"),
        ("docs/report.md", r"The page of a crowd with ([\d,]+) items"),
        (README_PAGE, r"one step of SVGPCR, ([\d,]+) items"),
    ],
    "answers of LIGO": [
        ("docs/benchmarks.md", r"classes, ([\d,]+) answers"),
        ("docs/simulate.md", r"of LIGO and ([\d,]+) answers"),
    ],
    "prevalences of real crowds that are in their interval": [
        ("docs/files.md", r"holds (\d+ of \d+) shares"),
        (CHANGES, r"crowds they hold (\d+ of \d+) class shares"),
    ],
}


@pytest.mark.parametrize("fact", FACTS)
def test_a_number_is_the_same_on_all_pages(fact):
    found = {}
    for page, pattern in FACTS[fact]:
        told = re.search(pattern, text_of(ROOT / page), re.M)
        assert told, f"{page} has no {pattern}"
        found[page, pattern] = told[1]
    assert len(set(found.values())) == 1, found


# -- settings, attributes, columns ----------------------------------------------------


def test_the_page_on_choosing_has_every_setting_with_its_default():
    page = text_of(ROOT / "docs/choosing.md")
    rows = [row.split(" | ") for row in table_that_begins("setting", page)[2:]]
    found = {row[0].strip("| `"): row[1].strip("` ") for row in rows}
    settings = {k: repr(v) for k, v in wc.SVGPCR().get_params().items()}
    wanted = {k: v.replace("'", '"') for k, v in settings.items()}
    assert found == wanted


def test_the_page_on_the_command_line_has_every_method_of_aggregate():
    row, _ = (
        line
        for line in text_of(ROOT / "docs/cli.md").splitlines()
        if line.startswith("| `--method`")
    )
    assert all(f"`{name}`" in row for name in wc.AGGREGATORS)


def test_the_page_on_the_command_line_has_every_column_of_a_review():
    model = wc.MajorityVote().fit([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    header = ",".join(model.to_review())
    assert f"\n{header}\n" in text_of(ROOT / "docs/cli.md")


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


@pytest.mark.slow
def test_the_code_in_the_page_on_networks_runs():
    names = {}
    for code in blocks("python", text_of(ROOT / "docs/deep.md")):
        exec(compile(code, "deep.md", "exec"), names)


def example_of_a_method():
    """Return the class that CONTRIBUTING shows as an example."""
    (code,) = blocks("python", text_of(ROOT / "CONTRIBUTING.md"))
    made = {"__name__": "example"}
    exec(compile(code, "CONTRIBUTING.md", "exec"), made)
    return made[made["__all__"][0]]


@pytest.mark.parametrize("check", contract.CHECKS, ids=lambda check: check.__name__)
def test_the_example_of_a_new_method_keeps_the_contract(check):
    check(contract.subject(example_of_a_method()))


def test_every_method_is_in_the_import_contract():
    settings = tomllib.loads(text_of(ROOT / "pyproject.toml"))["tool"]["importlinter"]
    (listed,) = (c["modules"] for c in settings["contracts"] if "modules" in c)
    found = {f"wisecrowd.methods.{m.name}" for m in iter_modules(methods.__path__)}
    assert found == set(listed) or listed == ["wisecrowd.methods.*"]


# -- English --------------------------------------------------------------------------

HARD_TO_READ = (
    r"(answers?|labels?|rows?|columns?|nats) an? (item|annotator|person|class)\b",
    r"\bbeliev(e|es|ed|ing)\b",
    r"\bjudg(ed|ing)\b|\bjudges? (the|an?|how|it)\b",  # language-model judges are nouns
)


@pytest.mark.parametrize("page", CHANGED, ids=lambda page: page.name)
def test_rates_have_per_and_models_have_no_opinions(page):
    text = " ".join(text_of(page).split())
    for pattern in HARD_TO_READ:
        found = re.search(pattern, text)
        assert not found, text[found.start() - 30 : found.end() + 30]
