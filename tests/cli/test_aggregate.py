"""``wisecrowd aggregate``: from a file to labels, annotators and a run folder."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import wisecrowd as wc
from wisecrowd.cli.show import say_sentences

FILES = [
    "annotators.csv", "confusion.parquet", "findings.json", "labels.csv",
    "labels.parquet", "ledger.parquet", "model.json", "model.safetensors",
    "report.html", "trace.csv",
]  # fmt: skip


def test_tables_go_to_stdout_and_messages_to_stderr(run, answers):
    result = run("aggregate", answers)
    assert result.exit_code == 0
    assert "Most uncertain items" in result.stdout
    assert "Annotators, the most reliable first" in result.stdout
    assert re.search(r"adversary (1\.00|0\.9\d)", result.stdout)
    assert "300 rows, 300 answers" in result.stderr
    assert "Nothing was written" in result.stderr


def test_answers_without_overlap_are_said_to_prove_nothing(run, answers, tmp_path):
    alone = tmp_path / "alone.csv"
    alone.write_text("item,annotator,answer\n1,ann,a\n1,ann,a\n2,bob,b\n")
    quick = ("-m", "majority-vote")
    said = run("aggregate", alone, *quick).stderr
    assert "note: No item was answered by two annotators" in said
    assert "two annotators" not in run("aggregate", answers, *quick).stderr


def test_names_that_look_like_markup_are_shown_as_they_are(run, answers):
    assert "[bold]whistle" in run("aggregate", answers, "-m", "glad").stdout


def test_nothing_is_wider_than_a_terminal_of_80_columns(run, answers):
    result = run("aggregate", answers, "-m", "glad")
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("method", list(wc.AGGREGATORS))
def test_a_run_folder_holds_the_documented_files(method, run, answers, tmp_path):
    folder = tmp_path / "run"
    result = run("aggregate", answers, "--method", method, "--out", folder)
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert type(wc.load(folder)) is wc.METHODS[method]


def test_json_is_one_object_and_alone_on_stdout(run, answers, crowd):
    result = run("aggregate", answers, "--json")
    found = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert "answers.csv" in result.stderr
    assert found["method"] == "consensus"
    sizes = [found[name] for name in ("n_items", "n_annotators", "n_answers")]
    assert sizes == [60, 9, 300]
    assert len(found["labels"]) == 60
    assert len(found["annotators"]) == 9
    true = {f"volunteer {a}" for a in np.flatnonzero(crowd.kinds == "adversary")}
    assert found["adversaries"]
    assert set(found["adversaries"]) <= true
    assert found["run"] is None
    assert [row["class"] for row in found["items_per_class"]] == found["classes"]


def test_json_of_the_command_is_the_summary_of_the_library(run, answers, tmp_path):
    from wisecrowd.results.findings import findings

    command = ("aggregate", answers, "-m", "dawid-skene", "--out", tmp_path / "run")
    found = json.loads(run(*command, "--json").stdout)
    assert found.pop("run") == str(tmp_path / "run")
    read = wc.read_annotations(answers)
    expected = findings(wc.load(tmp_path / "run"), read).summary()
    assert found == expected


def test_dependence_is_explained_in_numbers(run, answers):
    said = run("aggregate", answers, "--dependence", "0.21").stderr
    assert (
        "The 5.0 answers per item are worth 2.7 independent ones: annotators tend to "
        "make the same mistakes. The probabilities take this into account."
    ) in " ".join(said.split())
    assert "independent" not in run("aggregate", answers, "--dependence", "0").stderr


def test_quiet_prints_nothing_but_json(run, answers, tmp_path):
    quick = ("-m", "majority-vote")
    result = run("aggregate", answers, *quick, "--quiet", "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    result = run("aggregate", answers, *quick, "-q", "--json")
    assert result.stderr == ""
    assert json.loads(result.stdout)["n_items"] == 60


def test_gold_is_used_inside_the_fit(run, answers, gold, crowd, tmp_path):
    run("aggregate", answers, "--gold", gold, "--out", tmp_path / "run")
    truth = crowd.classes[crowd.truth]
    assert_array_equal(wc.load(tmp_path / "run").labels_, truth)


def test_families_of_annotators_are_used_and_kept_with_the_model(run, tmp_path):
    crowd = wc.simulate(40, 6, 2, random_state=0)
    wc.write_annotations(crowd.answers, tmp_path / "answers.csv")
    (tmp_path / "families.csv").write_text("annotator,group\n0,a\n1,a\n2,a\n")
    families = ("--groups", tmp_path / "families.csv", "--out", tmp_path / "run")
    assert run("aggregate", tmp_path / "answers.csv", *families).exit_code == 0
    model = wc.load(tmp_path / "run")
    assert model.groups == {0: "a", 1: "a", 2: "a"}
    same = wc.aggregate(crowd.answers, groups=model.groups)
    np.testing.assert_allclose(model.label_proba_, same.label_proba_)


def test_gold_says_how_right_the_labels_are(run, answers, gold):
    said = " ".join(
        run("aggregate", answers, "--gold", gold, "-m", "bcc").stderr.split()
    )
    n_gold = len(pd.read_csv(gold))
    assert f"Estimated from {n_gold} gold items" in said
    assert re.search(
        r"[0-9]+ % of the labels are right \(90 % interval: [0-9]+ %", said
    )
    found = json.loads(
        run("aggregate", answers, "--gold", gold, "-m", "bcc", "--json").stdout
    )["calibration"]
    assert found["n_gold"] == n_gold
    assert found["accuracy_low"] < found["accuracy"] <= 1


def test_gold_in_the_file_itself_is_compared_with_and_not_used(run, tmp_path):
    rows = "item,annotator,answer,gold\n1,a,x,y\n1,b,x,y\n2,a,y,\n2,b,y,\n"
    (tmp_path / "answers.csv").write_text(rows)
    result = run("aggregate", tmp_path / "answers.csv", "-m", "majority-vote")
    assert "gold classes in the file (1 item), which the fit did not use" in (
        result.stderr
    )
    assert "accuracy 0.000" in result.stderr


def test_columns_classes_and_other_answers_are_options(run, tmp_path):
    rows = "who;what;said\na;1;2\nb;1;2\na;2;0\nb;2;9\n"
    (tmp_path / "odd.csv").write_text(rows)
    result = run(
        "aggregate", tmp_path / "odd.csv", "--item", "what", "--annotator", "who",
        "--answer", "said", "--classes", "0,1,2", "--answers", "9", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["classes"] == [0, 1, 2]


def test_repeats_are_dropped_when_asked(run, tmp_path):
    rows = "item,annotator,answer\n1,a,x\n1,a,y\n2,a,y\n2,b,x\n"
    (tmp_path / "a.csv").write_text(rows)
    result = run("aggregate", tmp_path / "a.csv", "--drop-repeats", "last", "--json")
    assert json.loads(result.stdout)["n_answers"] == 3


def test_the_seed_decides_ties_and_nothing_else_does(run, tmp_path):
    rows = ["item,annotator,answer", *(f"{n},{a},{a}" for n in range(40) for a in "xy")]
    (tmp_path / "ties.csv").write_text("\n".join(rows))

    def labels(seed):
        command = ("aggregate", tmp_path / "ties.csv", "-m", "majority-vote", "--json")
        found = json.loads(run(*command, "--seed", seed).stdout)
        return np.array([row["label"] for row in found["labels"]])

    assert_array_equal(labels(1), labels(1))
    assert (labels(1) != labels(2)).any()


def test_a_method_is_found_whatever_its_spelling(run, answers):
    result = run("aggregate", answers, "-m", "Dawid_Skene", "--json")
    assert json.loads(result.stdout)["method"] == "dawid-skene"


def test_a_loop_that_has_not_converged_is_a_note_and_no_python_warning(
    run, answers, monkeypatch
):
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    def fit(self, answers, *, gold=None):
        warnings.warn(
            "not converged. Raise max_iter.", ConvergenceWarning, stacklevel=1
        )
        return original(self, answers, gold=gold)

    original = wc.BCC.fit
    monkeypatch.setattr(wc.BCC, "fit", fit)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = run("aggregate", answers, "-m", "bcc")
    assert result.exit_code == 0
    assert "note: not converged. Raise max_iter.\n" in result.stderr
    assert ".py:" not in result.stderr


def test_of_many_classes_the_most_frequent_are_shown(run, tmp_path):
    rows = [
        (f"item {c} {n}", who, f"class {c}")
        for c in range(27)
        for n in range(1 + (c >= 20))
        for who in "abc"
    ]
    table = pd.DataFrame(rows, columns=["item", "annotator", "answer"])
    table.to_csv(tmp_path / "many.csv", index=False)
    result = run("aggregate", tmp_path / "many.csv", "-m", "majority-vote")
    assert result.exit_code == 0, result.output
    assert "The 20 most frequent of 27 classes" in result.stdout
    shown = result.stdout.split("Most uncertain")[0]
    assert all(f"class {c} " in shown for c in range(20, 27))
    assert "The other 7 classes together: 7 items (20.6%)." in shown


def test_an_answer_that_nobody_gave_is_said(run, answers):
    result = run("aggregate", answers, "--answers", "cant tell", "-m", "majority-vote")
    assert result.exit_code == 0, result.output
    assert "Nobody gave the answer 'cant tell', which --answers names" in result.stderr
    assert "'blip', 'chirp'" in result.stderr
    found = json.loads(
        run("aggregate", answers, "--answers", "cant tell", "--json", "-q").stdout
    )
    assert len(found["notes"]) == 1
    result = run("aggregate", answers, "-m", "majority-vote")
    assert "Nobody gave" not in result.stderr


def test_retired_items_are_left_out(run, answers, tmp_path):
    (tmp_path / "retired.csv").write_text("item,why\n7,done\n8,done\nmoon,done\n")
    out = tmp_path / "run"
    retired = ("--leave-out-items", tmp_path / "retired.csv")
    result = run("aggregate", answers, *retired, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "2 items are left out of the fit." in result.stderr
    assert "1 id is not an item: 'moon'." in result.stderr
    labels = pd.read_csv(out / "labels.csv")
    assert len(labels) == 58
    assert not labels["item"].isin([7, 8]).any()


# -- families of annotators ------------------------------------------------------------


@pytest.fixture
def grouped(run, answers, tmp_path):
    """Return a function that aggregates with this file of groups."""

    def aggregated(text):
        path = tmp_path / "families.csv"
        path.write_text(text)
        return run("aggregate", answers, "--groups", path, "--out", tmp_path / "run")

    return aggregated


def test_a_run_with_groups_is_kept_and_read_again(grouped, tmp_path):
    result = grouped("annotator,group\nvolunteer 0,one\nvolunteer 1,one\n")
    assert result.exit_code == 0, result.stderr
    known = {"volunteer 0": "one", "volunteer 1": "one"}
    assert wc.load(tmp_path / "run").groups == known


def test_a_name_in_the_groups_that_nobody_has_is_told(grouped):
    result = grouped("annotator,group\nvolunteer 0,one\nvolunter 1,one\n")
    said = "1 annotator of the groups is not among the annotators of the answers: "
    assert f"{said}'volunter 1'." in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("who,family\na,b\n", "there is no column 'annotator'; the columns are 'who'"),
        ("annotator,group\na,\n", "there is no row with an annotator and a group."),
        (
            "annotator,group\na,f\na,g\n",
            "more than one group was given for 1 annotator: annotator 'a' has 'f', 'g'",
        ),
    ],
)
def test_groups_are_refused_in_the_words_of_groups(text, said, grouped):
    result = grouped(text)
    assert result.exit_code == 2
    assert said in result.stderr


def test_the_file_of_answers_can_be_the_file_of_gold(run, tmp_path):
    path = tmp_path / "judges.csv"
    rows = [f"q{i},{i % 2},{i % 2},{(i // 2) % 2},{i % 2}" for i in range(12)]
    path.write_text("\n".join(["question,gpt,claude,llama,human", *rows]))
    said = run("aggregate", path, "--gold", path, "--gold-column", "human")
    assert "3 columns are annotators ('gpt', 'claude', 'llama')" in said.stderr
    assert "Estimated from 12 gold items" in said.stderr
    said = run("aggregate", path, "--gold", path)
    assert said.exit_code == 2
    assert "Name theirs with --gold-column." in said.stderr


def test_a_line_does_not_begin_with_a_percent_sign(capsys):
    say_sentences([f"{'x' * n} right: 84 %." for n in range(60, 75)])
    assert not any(l.startswith("%") for l in capsys.readouterr().err.splitlines())
