"""The site: every page can be found, every public name has a page."""

import doctest
import importlib
import re
import shlex
from codeop import compile_command
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import wisecrowd as wc
from test_readme import NearlyEqual, blocks, table_that_begins
from wisecrowd.cli import app
from wisecrowd.results.findings import findings
from wisecrowd.results.settled import settled
from wisecrowd.simulation.everyday import judges_with_gold

DOCS = Path(__file__).parents[1] / "docs"


def text_of(page):
    return (DOCS / page).read_text(encoding="utf-8")


# -- names ----------------------------------------------------------------------------


def names_on_the_api_page():
    """Return the full names that get a page of their own."""
    module, found = "", []
    for line in text_of("api.md").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r" {3}[\w.]+", line):
            found.append(f"{module}.{line.strip()}")
    return found


def public_names():
    """Return the public names of the package, of its metrics and its data sets."""
    modules = {"datasets", "metrics", "__version__"}
    loaders = [name for name in vars(wc.datasets) if name.startswith("load_")]
    return {
        *(f"wisecrowd.{name}" for name in set(wc.__all__) - modules),
        *(f"wisecrowd.metrics.{name}" for name in wc.metrics.__all__),
        *(f"wisecrowd.datasets.{name}" for name in loaders),
    }


def test_every_public_name_has_a_page_and_one_only():
    found = names_on_the_api_page()
    assert public_names() <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", names_on_the_api_page())
def test_every_name_on_the_api_page_exists_and_is_described(name):
    module, _, last = name.rpartition(".")
    thing = getattr(importlib.import_module(module), last)
    assert thing.__doc__


# -- pages ----------------------------------------------------------------------------


def test_every_page_is_in_the_contents_once():
    contents = re.findall(r"^```{toctree}\n(.*?)^```", text_of("index.md"), re.S | re.M)
    lines = "".join(contents).splitlines()
    listed = [found[1] for line in lines if (found := re.search(r" <([\w-]+)>$", line))]
    assert sorted([*listed, "index"]) == sorted(page.stem for page in DOCS.glob("*.md"))


TUTORIALS = ["first-steps", "judges", "mturk", "paper", "zooniverse"]


@pytest.mark.parametrize("page", TUTORIALS)
def test_what_a_tutorial_shows_is_what_happens(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = " ".join(followed(text_of(f"{page}.md"), page).split())
    for shown in blocks("text", text_of(f"{page}.md")):
        assert " ".join(shown.split()) in printed
    rows = re.findall(r"^\| ([a-z-]+ \| \d.*) \|$", text_of(f"{page}.md"), re.M)
    assert all(" ".join(row.split(" | ")) in printed for row in rows)


@pytest.mark.parametrize("page", TUTORIALS)
def test_code_of_a_tutorial_can_be_pasted_into_an_interpreter(page):
    for code in blocks("python", text_of(f"{page}.md")):
        lines = []  # an empty line ends a loop, and nothing else does
        for line in code.splitlines():
            lines.append(line)
            if compile_command("\n".join(lines)) is not None:
                lines = []
        assert lines == []


def test_a_real_export_gives_what_its_page_says(data_folder):
    export = data_folder / "zooniverse/michigan-sample.csv"
    if not export.is_file():
        pytest.skip("no export among the data")
    answers = wc.read_annotations(export)
    found = findings(wc.aggregate(answers), answers).about
    page = " ".join(text_of("zooniverse.md").split())
    assert f"{found['n_settled']} of {found['n_items']:,} subjects are settled" in page
    scored, right = found["gold"]["n_items"], found["gold"]["accuracy"]
    assert f"Of the {scored:.0f} subjects that experts" in page
    assert f"{right:.0%}".replace("%", " %") + " of the labels agree" in page


def followed(page, name):
    """Do what a page says, from top to bottom; return what its commands print."""
    names, said = {"__name__": name}, []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    found = re.findall(r"^```(python|pycon|sh)\n(.*?)^```", page, re.S | re.M)
    for kind, text in found:
        if kind == "python":
            exec(compile(text, name, "exec"), names)
        elif kind == "pycon":
            example = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
            runner = doctest.DocTestRunner(checker=NearlyEqual(), optionflags=flags)
            told = runner.run(example, clear_globs=False)
            names = example.globs
            assert told.failed == 0
        else:
            said += [said_by(line) for line in text.splitlines() if runs(line)]
    return "".join(said)


def runs(line):
    """Return whether a line is a command of ours; the demo takes a minute."""
    return line.startswith("wisecrowd ") and line != "wisecrowd demo"


def said_by(line):
    """Run a command and return what it prints."""
    done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.slow
def test_the_page_on_zooniverse_tells_what_leaving_settled_subjects_out_costs():
    told = np.zeros((2, 2))  # wrong and settled: of all subjects, then of the rest
    for seed in range(10):
        crowd = wc.simulate(
            600, 60, 6, answers_per_item=6, accuracy=0.8, spammers=0.1,
            difficulty=0.15, class_weights=[8, 4, 4, 2, 1, 6], random_state=seed,
        )  # fmt: skip
        answers = crowd.answers
        for time in range(2):
            model = wc.aggregate(answers)
            done = settled(model.label_proba_.max(1))
            wrong = model.labels_ != crowd.classes[crowd.truth[answers.items]]
            told[time] += wrong[done].sum(), done.sum()
            answers = answers.subset(items=answers.items[~done])
    first, second = (f"{wrong / n:.1%}".replace("%", " %") for wrong, n in told)
    page = " ".join(text_of("zooniverse.md").split())
    assert f"{first} of the settled labels are wrong" in page
    assert f"{second} of those that are then called settled" in page


@pytest.mark.slow
def test_the_page_on_judges_tells_the_mean_of_forty_panels():
    page = text_of("judges.md")
    panels = [judges_with_gold(np.random.default_rng(seed)) for seed in range(40)]
    told = [measured(panel) for panel in panels]
    means = np.mean([scores for scores, *_ in told], axis=0)
    rows = table_that_begins("what is known", page)[2:]
    shown = [[float(cell) for cell in row.split("|")[2:5]] for row in rows]
    np.testing.assert_allclose(means, shown, atol=0.0101)
    held, held_all = (sum(one[place] for one in told) for place in (1, 2))
    assert f"held the true share of the 500 answers {held} times" in page
    assert f"the share from which they were drawn, .50, {held_all} times" in page
    sure, right = np.concatenate([one[3] for one in told], axis=1)
    for begin, end, said in ((0.5, 0.6, "62 %"), (0.7, 0.8, "81 %"), (0.9, 1, "98 %")):
        share = right[(sure >= begin) & (sure < end)].mean()
        assert f"{share:.0%}".replace("%", " %") == said
        assert said in page


def measured(panel):
    """Return the scores of the rows of the table, and what the interval held."""
    gold, family = panel.told, dict.fromkeys(range(3), "maker A")
    models = [
        wc.MajorityVote().fit(panel.answers),
        wc.aggregate(panel.answers),
        wc.aggregate(panel.answers, groups=family),
        wc.aggregate(panel.answers, gold=gold),
        wc.aggregate(panel.answers, gold=gold, groups=family),
    ]
    unseen = np.setdiff1d(np.arange(500), panel.gold)
    truth, probas = panel.truth[unseen], [m.label_proba_[unseen] for m in models]
    scores = [
        (wc.metrics.accuracy(truth, p), wc.metrics.log_loss(truth, p), p.max(1).mean())
        for p in probas
    ]
    _, passes = findings(models[-1], panel.answers).classes.itertuples()
    share = panel.truth.mean()
    final = np.array([probas[-1].max(1), probas[-1].argmax(1) == truth])
    held = passes.low <= share <= passes.high, passes.low <= 0.5 <= passes.high
    return scores, *held, final
