"""``wisecrowd fit`` and ``predict``: a classifier from answers and features."""

import json
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import wisecrowd as wc
from clusters import cluster
from mistakes import one_sentence
from wisecrowd import _files
from wisecrowd.fit.partners import PartnerDied
from wisecrowd.prepared import processes

QUICK = ("--inducing", 5, "--epochs", 60)


@pytest.fixture(scope="module")
def crowd():
    """Sixty items with features, of which the last ten have no answer."""
    return wc.simulate(
        60, 9, 3, answers_per_item=5, n_features=2, separation=8.0,
        classes=["blip", "chirp", "whistle"], random_state=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(crowd, tmp_path_factory):
    """The files of a user: answers.csv, features.parquet, gold.csv, new.csv."""
    folder = tmp_path_factory.mktemp("crowd")
    answers = crowd.answers.to_frame()
    answers = answers[answers["item"] < 50]
    answers["item"] = "sound " + answers["item"].astype(str)
    answers.to_csv(folder / "answers.csv", index=False)
    table = pd.DataFrame(crowd.X, columns=["x", "y"])
    table.insert(0, "item", [f"sound {n}" for n in range(60)])
    table.sample(frac=1, random_state=0).to_parquet(
        folder / "features.parquet", index=False
    )
    table.tail(10).to_csv(folder / "new.csv", index=False)
    gold = {"item": table["item"], "gold": crowd.classes[crowd.truth]}
    pd.DataFrame(gold).head(20).to_csv(folder / "gold.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(folder):
    """A run folder, and what was said while it was made."""
    from typer.testing import CliRunner

    from wisecrowd.cli import app

    command = ["fit", "answers.csv", "--features", "features.parquet", "--out", "run"]
    places = {"answers.csv", "features.parquet", "run"}
    command = [str(folder / word) if word in places else word for word in command]
    result = CliRunner().invoke(app, [*command, *map(str, QUICK)])
    assert result.exit_code == 0, result.output
    return folder / "run", result


def test_fit_prints_what_aggregate_prints(fitted):
    _, result = fitted
    for heading in ("Classes", "Most uncertain items", "Annotators, the most reliable"):
        assert heading in result.stdout
    assert "250 rows, 250 answers" in result.stderr
    assert "60 items, 2 features" in result.stderr
    assert "(with ids); 10 of them have no answer" in result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_run_of_fit_has_the_files_of_any_run_and_all_items(fitted):
    run_folder, _ = fitted
    assert sorted(path.name for path in run_folder.iterdir()) == [
        "annotators.csv", "confusion.parquet", "findings.json", "labels.csv",
        "labels.parquet", "ledger.parquet", "model.json", "model.safetensors",
        "report.html", "trace.csv",
    ]  # fmt: skip
    model = wc.load(run_folder)
    assert type(model) is wc.SVGPCR
    assert model.n_inducing == 5
    labels = pd.read_parquet(run_folder / "labels.parquet")
    assert_array_equal(labels["item"], model.items_)
    assert_array_equal(labels[[f"p_{c}" for c in model.classes_]], model.label_proba_)
    silent = labels["item"].str.removeprefix("sound ").astype(int) >= 50
    assert_array_equal(labels["n_answers"] == 0, silent)


def test_answers_meet_the_features_of_their_own_item(run, fitted, folder, crowd):
    result = run("predict", fitted[0], folder / "features.parquet", "--json")
    found = pd.DataFrame(json.loads(result.stdout)["items"])
    number = found["item"].str.removeprefix("sound ").astype(int)
    truth = crowd.classes[crowd.truth][number]
    assert (found["label"] == truth).mean() > 0.6  # a third, if rows were mixed up


def test_predictions_are_written_as_the_model_makes_them(run, fitted, folder, tmp_path):
    for name in ("out.csv", "new/out.parquet"):
        result = run("predict", fitted[0], folder / "new.csv", "--out", tmp_path / name)
        assert result.exit_code == 0, result.output
        assert f"{name}: 10 items." in result.stderr
        assert "Most uncertain items" in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= 80
    X, items = wc.read_features(folder / "new.csv")
    proba = wc.load(fitted[0]).predict_proba(pd.DataFrame(X, columns=["x", "y"]))
    table = pd.read_parquet(tmp_path / "new/out.parquet")
    assert list(table.columns[:3]) == ["item", "label", "probability"]
    assert_array_equal(table["item"], items)
    classes = ["p_blip", "p_chirp", "p_whistle"]
    assert_array_equal(table[classes], proba)
    text = pd.read_csv(tmp_path / "out.csv")
    assert_allclose(text[classes], proba, rtol=1e-5)


def test_answers_at_hand_change_a_prediction(run, fitted, folder, tmp_path):
    people = wc.load(fitted[0]).annotator_summary().sort_values("low")["annotator"]
    rows = [f"sound 55,{a},whistle" for a in (*people.tail(3), 1234)]
    (tmp_path / "more.csv").write_text("\n".join(["item,annotator,answer", *rows]))
    arguments = ("predict", fitted[0], folder / "new.csv", "--json")
    alone, with_answers = (
        pd.DataFrame(json.loads(run(*arguments, *more).stdout)["items"])
        for more in ((), ("--annotations", tmp_path / "more.csv"))
    )
    assert with_answers["n_answers"].tolist() == [0] * 5 + [4] + [0] * 4
    assert with_answers["p_whistle"][5] > alone["p_whistle"][5]
    others = np.arange(10) != 5
    assert_allclose(with_answers["p_whistle"][others], alone["p_whistle"][others])


def test_without_ids_rows_are_items_by_number(run, crowd, tmp_path):
    wc.write_annotations(crowd.answers, tmp_path / "a.csv")
    np.save(tmp_path / "x.npy", crowd.X)
    command = ("fit", tmp_path / "a.csv", "-f", tmp_path / "x.npy", *QUICK, "--json")
    result = run(*command)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["method"], found["n_items"]) == ("svgpcr", 60)
    assert "rows counted from 0" in result.stderr
    assert run(*command, "-q").stderr == ""


def test_gold_goes_into_the_fit_also_for_items_without_an_answer(run, folder, tmp_path):
    result = run(
        "fit", folder / "answers.csv", "-f", folder / "features.parquet", *QUICK,
        "--gold", folder / "gold.csv", "--out", tmp_path / "run",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    model = wc.load(tmp_path / "run")
    gold = pd.read_csv(folder / "gold.csv").set_index("item")["gold"]
    labels = pd.Series(model.labels_, index=model.items_)
    assert (labels[gold.index] == gold).all()


# -- mistakes -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--kernel", "rbf"), ("--kernel 'rbf'", "'se'", "'linear+se'")),
        (("--link", "probit"), ("'probit'", "'robustmax'")),
        (("--epsilon", "0.1"), ("epsilon", "robustmax")),
        (("--inducing", "0"), ("--inducing 0", "at least 1")),
        (("-m", "bcc"), ("'wisecrowd aggregate'", "'svgpcr'")),
        (("-m", "svgp"), ("per item", "SVGPCR")),
        (("-m", "svgpc"), ("Did you mean 'svgpcr'?",)),
        (("--ids", "name"), ("'name'", "'item', 'x', 'y'")),
    ],
)
def test_a_wrong_setting_is_a_sentence(arguments, words, run, folder):
    command = ("fit", folder / "answers.csv", "-f", folder / "features.parquet", "-q")
    one_sentence(run(*command, *arguments), *words)


def test_a_classifier_is_not_an_aggregator(run, folder):
    result = run("aggregate", folder / "answers.csv", "-m", "svgpcr")
    one_sentence(result, "'wisecrowd fit ANSWERS --features FILE'")


def test_answers_and_features_that_do_not_join_are_a_sentence(run, folder, tmp_path):
    answers = folder / "answers.csv"
    np.save(tmp_path / "x.npy", np.ones((60, 2)))
    result = run("fit", answers, "-f", tmp_path / "x.npy")
    one_sentence(result, "no ids", "items 0 to 59", "'sound 0'", "column of item ids")
    (tmp_path / "other.csv").write_text("item,x\nA,1\nB,2\n")
    result = run("fit", answers, "-f", tmp_path / "other.csv")
    one_sentence(result, "other.csv: none of the 50 answered items has features")
    result = run("fit", answers, "-f", folder / "new.csv")
    one_sentence(result, "new.csv: none of the 50 answered items has features")
    table = pd.read_parquet(folder / "features.parquet")
    table[table["item"] != "sound 7"].to_csv(tmp_path / "less.csv", index=False)
    result = run("fit", answers, "-f", tmp_path / "less.csv")
    one_sentence(result, "1 of 50 answered items have no features: 'sound 7'")


def test_ids_that_are_numbers_in_one_file_and_text_in_the_other_join(
    run, tmp_path, monkeypatch
):
    def fit(self, X, answers, *, items, gold):
        assert_array_equal(items, [*"01234567", "extra"])
        assert_array_equal(answers.codes.n_per_item, [3] * 8 + [0])
        raise wc.InputError("enough.")

    monkeypatch.setattr(wc.SVGPCR, "fit", fit)
    rows = [f"{n},{a},{n % 2}" for n in range(8) for a in "abc"]
    (tmp_path / "a.csv").write_text("\n".join(["item,annotator,answer", *rows]))
    table = [*(f"{n},{n % 2},{n}" for n in range(8)), "extra,1,9"]
    (tmp_path / "x.csv").write_text("\n".join(["item,x,y", *table]))
    result = run("fit", tmp_path / "a.csv", "-f", tmp_path / "x.csv", "-q")
    one_sentence(result, "enough")


def test_a_missing_features_file_is_named(run, folder):
    result = run("fit", folder / "answers.csv", "-f", folder / "nowhere.npy")
    one_sentence(result, "nowhere.npy: there is no such file")


def test_predict_says_what_it_cannot_use(run, fitted, folder, tmp_path):
    new = folder / "new.csv"
    one_sentence(run("predict", folder / "nowhere", new), "nowhere")
    one_sentence(run("predict", folder, new), "model")
    run("aggregate", folder / "answers.csv", "-q", "--out", tmp_path / "labels")
    one_sentence(
        run("predict", tmp_path / "labels", new), "Consensus", "'wisecrowd fit"
    )
    (tmp_path / "wide.csv").write_text("item,x,y,z\na,1,2,3\n")
    result = run("predict", fitted[0], tmp_path / "wide.csv")
    assert "left out 1 column that the fit did not have: 'z'" in result.stderr
    np.save(tmp_path / "wide.npy", np.zeros((2, 3)))
    result = run("predict", fitted[0], tmp_path / "wide.npy")
    one_sentence(result, "3 features per item", "fitted on 2")
    one_sentence(run("predict", fitted[0], new, "-o", "out.xlsx"), ".csv or .parquet")
    result = run("predict", fitted[0], new, "-o", folder / "new.csv/out.csv")
    one_sentence(result, "'new.csv' is a file")
    (tmp_path / "odd.csv").write_text("item,annotator,answer\nsound 55,1,hum\n")
    result = run("predict", fitted[0], new, "--annotations", tmp_path / "odd.csv")
    one_sentence(result, "odd.csv", "'hum'", "'blip', 'chirp', 'whistle'")
    result = run("predict", fitted[0], new, "--annotations", folder / "answers.csv")
    one_sentence(result, "new.csv: none of the 50 answered items has features")


def test_retired_items_are_left_out_with_their_features(run, folder, tmp_path):
    (tmp_path / "retired.txt").write_text("sound 7\nsound 55\n")
    out, table = tmp_path / "run", folder / "features.parquet"
    result = run(
        "fit", folder / "answers.csv", "-f", table, "--method", "raykar", "-o", out,
        "--leave-out-items", tmp_path / "retired.txt",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "2 items are left out of the fit." in result.stderr
    labels = pd.read_csv(out / "labels.csv")
    assert len(labels) == 58
    assert not labels["item"].isin(["sound 7", "sound 55"]).any()


@pytest.mark.filterwarnings("default:The fit was stopped")
def test_a_fit_that_was_stopped_far_from_convergence_is_a_note(run, folder):
    files = (folder / "answers.csv", "-f", folder / "features.parquet")
    short = ("--inducing", 5, "--epochs", 3, "--dependence", 0.1)
    result = run("fit", *files, *short, "--json")
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stderr.split())
    assert "note: The fit was stopped after 3 steps, far from convergence" in said
    assert "Raise --epochs, or leave it out." in said
    assert "Raise max_epochs=" in json.loads(result.stdout)["notes"][-1]


def test_a_folder_is_read_in_pieces_and_gives_the_run_of_one_file(
    fitted, folder, tmp_path, run
):
    parts = tmp_path / "parts"
    parts.mkdir()
    table = pd.read_parquet(folder / "features.parquet").sort_values("item")
    for i, rows in enumerate((slice(0, 25), slice(25, 60))):
        table[rows].to_parquet(parts / f"{i}.parquet", index=False)
    out = tmp_path / "run"
    command = ("fit", folder / "answers.csv", "--features", parts, "--out", out)
    done = run(*command, *QUICK)
    assert done.exit_code == 0, done.output
    assert f"{parts}: 60 items, 2 features: 'x', 'y' (with ids)" in done.stderr

    def probabilities(of):
        found = pd.read_parquet(of / "labels.parquet").set_index("item").sort_index()
        return found.filter(like="p_").to_numpy()

    assert_allclose(probabilities(out), probabilities(fitted[0]), atol=1e-6)
    turned = tmp_path / "turned"
    turned.mkdir()
    table[["y", "item", "x"]].to_parquet(turned / "0.parquet", index=False)
    found = []
    for new in (parts, turned):
        where = tmp_path / f"{new.name}.csv"
        assert run("predict", out, new, "--out", where, "-q").exit_code == 0
        found.append(where.read_text())
    assert found[0] == found[1]
    left = run(*command, *QUICK, "--leave-out-items", folder / "gold.csv", "--force")
    one_sentence(left, "features in memory only")


# -- in several processes --------------------------------------------------------------

EXACT = ("--inducing", 5, "--epochs", 9, "--set", "dtype=float64", "--set", "tol=none")


def labels_of(run_folder):
    labels = pd.read_parquet(run_folder / "labels.parquet")
    return labels.filter(like="p_").to_numpy()


@pytest.mark.slow
@pytest.mark.filterwarnings("default:The fit was stopped")
def test_processes_here_or_of_a_cluster_leave_the_run_of_one(run, folder, tmp_path):
    files = (folder / "answers.csv", "-f", folder / "features.parquet")
    outs = [tmp_path / name for name in ("one", "here", "cluster")]
    assert run("fit", *files, *EXACT, "--out", outs[0]).exit_code == 0
    here = run("fit", *files, *EXACT, "--out", outs[1], "--processes", 2)
    assert here.exit_code == 0, here.output
    assert here.stderr.count("note: The fit was stopped") == 1
    first, second = cluster("fit", *files, *EXACT, "--out", outs[2], "--json")
    said, silent = first.communicate(), second.communicate()
    assert (first.returncode, second.returncode) == (0, 0), said
    assert silent == ("", "")
    assert json.loads(said[0])["method"] == "svgpcr"
    assert "250 answers" in said[1]
    for out in outs[1:]:
        assert_allclose(labels_of(out), labels_of(outs[0]), atol=1e-6)
        assert (out / "report.html").exists()


@pytest.mark.slow
def test_in_a_cluster_a_partner_that_dies_is_one_sentence(folder, tmp_path):
    kept = tmp_path / "fit.checkpoint"
    command = ("fit", folder / "answers.csv", "-f", folder / "features.parquet")
    often = ("--checkpoint", kept, "--set", "checkpoint_seconds=0", "-q")
    first, second = cluster(*command, "--epochs", 10**5, "--set", "tol=none", *often)
    while not kept.exists():
        assert first.poll() is second.poll() is None
        time.sleep(0.01)
    second.kill()
    second.communicate()
    said = first.communicate()[1]
    assert (first.returncode, said.count("\n")) == (2, 1)
    assert said.startswith("error: a process that shares the work has died")
    assert said.endswith("-q --distributed --resume\n")


def test_a_process_that_died_is_one_sentence_with_the_command_that_goes_on(
    run, folder, tmp_path, monkeypatch
):
    def dies(*_):
        raise PartnerDied

    monkeypatch.setattr(processes, "in_processes", dies)
    files = (folder / "answers.csv", "-f", folder / "features.parquet")
    command = ["fit", *map(str, files), "-q", "--processes", "2"]
    died = "error: a process that shares the work has died, so the others end too. "
    one_sentence(
        run(*command), died, "With --checkpoint FILE, the next one can be resumed."
    )
    kept = ["--checkpoint", str(tmp_path / "a b"), "--set", "max_epochs=3"]
    monkeypatch.setattr("sys.argv", ["wisecrowd", *command, *kept])
    one_sentence(run(*command, *kept), died, "No checkpoint had been written yet")
    (tmp_path / "a b").touch()
    words = f" --checkpoint '{tmp_path}/a b' --set max_epochs=3 --resume\n"
    one_sentence(run(*command, *kept), died, words)
    assert set(_files.in_place()) >= {tmp_path / "a b"}  # said after Ctrl-C


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m", "aggnet"], "AggNet learns in one process"),
        (["--as-published"], "SVGPCR learns in one process with these settings"),
        (["--kernel", "deep"], "without a network under the kernel"),
        (["--distributed"], "use one of them"),
    ],
)
def test_what_processes_cannot_share_is_a_sentence(arguments, words, run, folder):
    files = (folder / "answers.csv", "-f", folder / "features.parquet")
    one_sentence(run("fit", *files, "--processes", 2, *arguments), words)


def test_a_cluster_that_nobody_has_started_is_a_sentence(run, folder):
    files = (folder / "answers.csv", "-f", folder / "features.parquet")
    one_sentence(run("fit", *files, "--distributed"), "no partners were found")
