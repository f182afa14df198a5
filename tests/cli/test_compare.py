"""``wisecrowd compare``: several methods on one file."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from mistakes import one_sentence
from wisecrowd import metrics
from wisecrowd.cli.compare import notes_of, said_of_honesty
from wisecrowd.results.comparison import honesty

QUICK = ("-m", "dawid-skene,majority-vote")


def test_the_table_is_that_of_the_library(run, answers, gold):
    result = run("compare", answers, "--gold", gold, "--json", *QUICK)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    read = wc.read_annotations(answers)
    known = pd.read_csv(gold).set_index("item")["gold"]
    expected = wc.compare(["dawid-skene", "majority-vote"], read, gold=known)
    table = pd.DataFrame(found["methods"])
    scores = [name for name in expected.columns if name not in ("seconds", "megabytes")]
    pd.testing.assert_frame_equal(table[scores], expected[scores])
    assert found["n_gold"] == 60
    assert found["honesty"] == honesty(expected)
    assert_allclose(found["krippendorff_alpha"], metrics.krippendorff_alpha(read))


def test_by_default_all_methods_of_answers_alone_are_compared(run, answers):
    found = json.loads(run("compare", answers, "--json").stdout)
    assert [row["method"] for row in found["methods"]] == list(wc.AGGREGATORS)


def test_without_gold_methods_are_compared_with_one_another(run, answers):
    result = run("compare", answers, "--methods", "dawid-skene,majority_vote", "--json")
    found = json.loads(result.stdout)
    assert found["methods"][0]["accuracy"] is None
    assert [row["method"] for row in found["methods"]] == [*QUICK[1].split(",")]
    assert found["honesty"] is None
    between = found["agreement"]
    assert between["dawid-skene"]["dawid-skene"] == 1
    share = between["dawid-skene"]["majority-vote"]
    assert share == between["majority-vote"]["dawid-skene"] < 1


def test_the_tables_fit_80_columns(run, answers, gold):
    result = run("compare", answers, "--gold", gold)
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "60 gold items" in result.stdout
    assert "Items with the same label" in result.stdout
    assert "no gold classes" in run("compare", answers, "-m", "dawid-skene").stdout


def test_smoothed_votes_are_a_row_and_a_note_says_who_is_more_honest(
    run, answers, gold
):
    result = run("compare", answers, "--gold", gold, "-m", "bcc,dawid-skene")
    (row,) = (x for x in result.stdout.splitlines() if "smoothed-votes" in x)
    read = wc.read_annotations(answers)
    known = pd.read_csv(gold).set_index("item")["gold"]
    expected = wc.compare(["bcc", "dawid-skene"], read, gold=known)
    last = expected.iloc[-1]
    names = ("accuracy", "log_loss", "calibration_error")
    assert row.split()[:-2] == [
        "smoothed-votes", *(f"{last[name]:.3f}" for name in names), "–"
    ]  # fmt: skip
    for line in said_of_honesty(honesty(expected), 3):
        assert line in result.stderr
    assert "the votes plus 1 / 3" in result.stderr
    assert "honest" not in run("compare", answers, "-m", "dawid-skene").stderr


def test_the_note_names_every_method_and_says_where_none_is_better():
    mixed = said_of_honesty({"more": ["bcc"], "less": ["glad", "x"], "unclear": []}, 3)
    assert mixed[1:] == [
        "More honest than smoothed votes (lower log loss): bcc.",
        "Less honest than smoothed votes (higher log loss): glad, x.",
    ]
    none = said_of_honesty({"more": [], "less": [], "unclear": ["bcc"]}, 3)
    assert none[1] == "No method is clearly more honest than smoothed votes."
    assert none[2].endswith(": bcc.")


def test_gold_of_the_file_itself_is_used_where_there_is_no_other(run, tmp_path):
    rows = "item,annotator,answer,gold\n1,a,x,y\n1,b,x,y\n2,a,y,\n2,b,y,\n"
    (tmp_path / "a.csv").write_text(rows)
    found = json.loads(run("compare", tmp_path / "a.csv", "--json", *QUICK).stdout)
    assert found["n_gold"] == 1
    assert found["methods"][0]["accuracy"] == 0


def test_held_out_is_the_share_that_is_hidden(run, answers):
    def unseen(share):
        command = ("compare", answers, "-m", "dawid-skene", "--json", "--held-out")
        return json.loads(run(*command, share).stdout)["methods"][0]["unseen_answers"]

    assert unseen(0) is None
    assert unseen(0.1) != unseen(0.3)
    result = run("compare", answers, "--held-out", 2, "-q")
    one_sentence(result, "--held-out 2.0 must be a share of the answers")


def test_the_seed_decides_what_is_hidden(run, answers):
    command = ("compare", answers, "-m", "dawid-skene", "--json", "--seed")
    first, second = (
        json.loads(run(*command, seed).stdout)["methods"][0] for seed in (1, 2)
    )
    assert first["unseen_answers"] != second["unseen_answers"]
    assert [first["seed"], second["seed"]] == [1, 2]


def test_quiet_prints_nothing_but_json(run, answers):
    result = run("compare", answers, "-q", *QUICK)
    assert (result.exit_code, result.output) == (0, "")
    result = run("compare", answers, "-q", "--json", *QUICK)
    assert result.stderr == ""
    assert json.loads(result.stdout)["n_gold"] == 0


@pytest.fixture
def features(crowd, tmp_path):
    """Features with which a class is easily told from the others."""
    table = pd.DataFrame(np.eye(3)[crowd.truth, :2]).add_prefix("x")
    table.insert(0, "item", crowd.answers.items)
    table.to_csv(tmp_path / "features.csv", index=False)
    return tmp_path / "features.csv"


def test_methods_with_features_are_compared_with_the_others(run, answers, features):
    quick = (
        "--set",
        "n_inducing=5",
        "--set",
        "max_epochs=1",
        "--held-out",
        0,
        "--json",
    )
    result = run(
        "compare", answers, "-f", features, "-m", "majority-vote,svgpcr", *quick
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["methods"]
    assert [row["method"] for row in found] == ["majority-vote", "svgpcr"]
    assert found[1]["seconds"] > 0
    assert "60 items, 2 features" in result.stderr


def test_a_method_that_cannot_be_fitted_is_a_note(run, answers, features):
    result = run("compare", answers, "-f", features, "-m", "majority-vote,svgp")
    assert result.exit_code == 0, result.output
    assert "note: svgp: it could not be fitted: " in result.stderr


def test_a_method_with_features_is_refused_without_them(run, answers):
    result = run("compare", answers, "-q", "-m", "majority-vote,svgpcr")
    one_sentence(result, "'svgpcr' cannot be fitted without features", "--features")


def test_a_setting_goes_to_all_methods_that_have_it_or_to_one(
    run, answers, monkeypatch
):
    seen = {}

    def compared(models, *_, **__):
        seen.update({name: model.get_params() for name, model in models.items()})
        raise wc.InputError("enough.")

    monkeypatch.setattr("wisecrowd.results.comparison.compared", compared)
    command = ("compare", answers, "-q", "-m", "bcc,dawid-skene,majority-vote")
    run(*command, "--set", "max_iter=7", "--set", "bcc:tol=0.5")
    assert [seen[name]["max_iter"] for name in ("bcc", "dawid-skene")] == [7, 7]
    assert seen["bcc"]["tol"] == 0.5
    assert seen["dawid-skene"]["tol"] == wc.DawidSkene().tol


@pytest.mark.parametrize("setting", ["kernel=se", "glad:max_iter=3"])
def test_a_setting_that_no_compared_method_has_is_a_sentence(setting, run, answers):
    result = run("compare", answers, "-m", "bcc,majority-vote", "--set", setting)
    one_sentence(result, f"--set {setting}", "(bcc, majority-vote)")


@pytest.mark.parametrize("name", ["scores.csv", "scores.parquet"])
def test_the_scores_are_written_to_a_table(name, run, answers, gold, tmp_path):
    out = tmp_path / name
    command = ("compare", answers, "--gold", gold, "-m", "majority-vote,bcc")
    result = run(*command, "--out", out)
    assert result.exit_code == 0, result.output
    assert f"{name}: the scores of 2 methods and of smoothed votes." in result.stderr
    read = pd.read_csv if name.endswith("csv") else pd.read_parquet
    table = read(out)
    assert table["method"].tolist() == ["majority-vote", "bcc", "smoothed-votes"]
    wanted = {"accuracy", "log_loss", "calibration_error", "gain", "unseen_answers"}
    assert wanted <= set(table.columns)
    assert table["log_loss"].notna().all()
    one_sentence(run(*command, "--out", "x.txt"), ".csv, .parquet or .tex")


def test_the_printed_table_is_written_as_latex(run, answers, gold, tmp_path):
    out = tmp_path / "scores.tex"
    command = ("compare", answers, "--gold", gold, "--seeds", 2, *QUICK)
    result = run(*command, "--out", out)
    assert result.exit_code == 0, result.output
    lines = out.read_text("utf-8").splitlines()
    assert lines[0] == r"\begin{tabular}{lrrrrrr}"
    assert lines[2].startswith("method & accuracy & log loss & calibration & unseen &")
    names = [line.split(" & ")[0] for line in lines[4:-2]]
    assert names == ["dawid-skene", "majority-vote", "smoothed-votes"]
    mean = lines[4].split(" & ")[1]
    assert mean.replace(r"$\pm$", "±") in result.stdout
    assert r"$\pm$" in mean
    assert lines[-1] == r"\end{tabular}"


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["plain", "force"])
@pytest.mark.parametrize("name", ["answers", "gold", "names", "features"])
def test_no_input_is_replaced_by_the_scores(run, answers, gold, tmp_path, name, force):
    names, features = tmp_path / "names.csv", tmp_path / "features.csv"
    names.write_text("blip,beep\n")
    features.write_text("item,w\n" + "".join(f"{n},{n}.5\n" for n in range(60)))
    given = {"answers": answers, "gold": gold, "names": names, "features": features}
    before = given[name].read_bytes()
    command = ("compare", answers, "--gold", gold, "--rename", names, "-f", features)
    result = run(*command, "-m", "majority-vote", "--out", given[name], *force)
    one_sentence(result, "this file is an input", "Choose another name")
    assert given[name].read_bytes() == before


def test_scores_replace_a_file_only_with_force(run, answers, tmp_path):
    (tmp_path / "s.csv").write_text("mine")
    command = ("compare", answers, "-m", "majority-vote", "--out", tmp_path / "s.csv")
    one_sentence(run(*command), "exists already", "--force")
    assert (tmp_path / "s.csv").read_text() == "mine"
    assert run(*command, "--force").exit_code == 0
    assert "majority-vote" in (tmp_path / "s.csv").read_text()


def test_seeds_are_fitted_in_turn_and_shown_as_means(run, answers, gold):
    command = ("compare", answers, "--gold", gold, "-m", "bcc", "--set", "dependence=0")
    found = run(*command, "--seeds", 2, "--seed", 5, "--json")
    assert [row["seed"] for row in json.loads(found.stdout)["methods"]] == [5, 5, 6, 6]
    shown = run(*command, "--seeds", 2)
    assert "means of 2 seeds" in shown.stdout
    assert "±" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_a_method_that_runs_out_of_time_is_a_note(run, answers, monkeypatch):
    def endless(self, annotations):
        while True:
            pass

    monkeypatch.setattr(wc.GLAD, "_fit", endless)
    command = ("compare", answers, "-m", "glad,majority-vote", "--held-out", 0)
    result = run(*command, "--time-limit", 1)
    assert result.exit_code == 0, result.stderr
    assert "note: glad: its fit took more than 1 seconds." in result.stderr
    assert "majority-vote" in result.stdout


@pytest.mark.parametrize(("share", "with_gold"), [(0.1, True), (0, True), (0.1, False)])
def test_only_columns_of_the_table_are_explained(share, with_gold, run, answers, gold):
    known = ("--gold", gold) if with_gold else ()
    said = run("compare", answers, *QUICK, *known, "--held-out", share).stderr
    assert ("log loss, calibration: lower" in said) == with_gold
    assert ("unseen: mean" in said) == (share > 0)


def test_a_note_that_several_seeds_share_is_said_once():
    scores = pd.DataFrame(
        {"method": ["a", "b", "a"], "seed": [0, 0, 1], "note": ["slow", "", "slow"]}
    )
    assert notes_of(scores) == ["note: a (seeds 0, 1): slow"]
    assert notes_of(scores.assign(note=["", "", "slow"])) == ["note: a (seed 1): slow"]
    assert notes_of(scores[:2]) == ["note: a: slow"]


def test_the_figure_is_written_and_its_name_checked_before(run, answers, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "new" / "figure.png"
    result = run("compare", answers, *QUICK, "--plot", path)
    assert result.exit_code == 0, result.stderr
    assert path.read_bytes().startswith(b"\x89PNG")
    assert f"Wrote {path}" in result.stderr
    one_sentence(run("compare", answers, *QUICK, "--plot", path), "--force")
    other = run("compare", answers, *QUICK, "--plot", tmp_path / "figure.gif")
    one_sentence(other, "PNG, SVG and PDF")


def test_without_matplotlib_no_method_is_fitted(run, answers, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("compare", answers, *QUICK, "--plot", tmp_path / "figure.png")
    one_sentence(result, "pip install 'wisecrowd[plot]'")


def test_new_items_are_scored_with_an_option(run, answers, features, gold):
    rows = pd.read_csv(answers)
    rows[rows["item"] < 50].to_csv(answers, index=False)
    command = ("compare", answers, "-m", "raykar", "--gold", gold, "--held-out", 0)
    result = run(*command, "-f", features, "--score", "new", "--json")
    assert result.exit_code == 0, result.output
    assert "50 gold items with answers: not scored." in result.stderr
    found = json.loads(result.stdout)
    assert found["n_gold"] == 10
    assert found["methods"][0]["accuracy"] > 0.5
    one_sentence(
        run(*command[:2], "-m", "bcc", "--score", "new"), "--score 'new' needs"
    )
    one_sentence(run(*command, "-f", features, "--score", "old"), "--score", "'old'")


def test_a_narrow_terminal_keeps_the_names_of_methods(run, answers, gold, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    given = ("--methods", "majority-vote", "--held-out", "0")
    said = run("compare", answers, "--gold", gold, *given).stdout
    assert "smoothed-votes" in said
    assert "majority-vote" in said
