"""A user's mistake is one sentence on stderr and exit code 2, never a traceback."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mistakes import one_sentence
from wisecrowd.cli.wording import as_options

WISECROWD = Path(sys.executable).with_name("wisecrowd")


def test_a_missing_file_is_named_with_what_is_near(run, answers):
    one_sentence(run("aggregate", "nowhere.csv"), "nowhere.csv: there is no such file")
    near = answers.with_name("answer.csv")
    one_sentence(run("aggregate", near), "Did you mean 'answers.csv'")


def test_a_folder_is_not_a_file(run, tmp_path):
    one_sentence(run("aggregate", tmp_path), "is a directory")


@pytest.mark.parametrize("command", ["aggregate", "compare"])
@pytest.mark.parametrize("text", ["", " \n", "item,annotator,answer\n", "hello\n"])
def test_a_file_without_annotations_is_a_sentence(command, text, run, tmp_path):
    (tmp_path / "odd.csv").write_text(text)
    one_sentence(run(command, tmp_path / "odd.csv"), "odd.csv")


@pytest.mark.parametrize("text", ['{"a": {"b":', '[{"item": 1', "[1, 2]", '{"a": 3}'])
def test_broken_or_foreign_json_is_a_sentence(text, run, tmp_path):
    (tmp_path / "odd.json").write_text(text)
    one_sentence(run("aggregate", tmp_path / "odd.json"), "odd.json")


def test_a_binary_file_is_a_sentence(run, tmp_path):
    (tmp_path / "odd.csv").write_bytes(bytes(range(256)) * 9)
    one_sentence(run("aggregate", tmp_path / "odd.csv"), "odd.csv")


def test_a_wrong_column_is_named_with_the_columns_there_are(run, answers):
    result = run("aggregate", answers, "--item", "subject")
    one_sentence(result, "'subject'", "'item', 'annotator', 'answer'")


def test_an_unknown_method_is_named_with_the_methods_there_are(run, answers):
    one_sentence(
        run("aggregate", answers, "-m", "dawid"), "Did you mean 'dawid-skene'?"
    )
    one_sentence(run("compare", answers, "-m", "bcc,magic"), "'magic'", "'glad'")


def test_an_unknown_class_is_named_in_the_words_of_the_command_line(run, answers):
    result = run("aggregate", answers, "--classes", "blip,chirp")
    one_sentence(result, "'[bold]whistle'", "Add it to --classes, to --answers if")


def test_a_broken_parquet_file_is_a_sentence(run, answers, tmp_path):
    broken = tmp_path / "odd.parquet"
    broken.write_bytes(b"PAR1 and then something else PAR1")
    one_sentence(run("aggregate", broken), "odd.parquet", "broken")
    one_sentence(run("aggregate", answers, "--gold", broken), "odd.parquet", "broken")


def test_a_gold_file_that_does_not_fit_is_named(run, answers, tmp_path):
    file = tmp_path / "gold.csv"
    for text, word in {
        "item,x\n1,2\n": "Name it with --gold-column, or call it one of 'gold'",
        "x,gold\n1,2\n": "Name it with --gold-item, or call it one of 'item'",
        "item,gold\nnowhere,blip\n": "'nowhere'",
        "item,gold\n1,hum\n": "name all classes with --classes",
    }.items():
        file.write_text(text)
        one_sentence(run("aggregate", answers, "-q", "--gold", file), str(file), word)


def test_one_class_is_refused(run, tmp_path):
    (tmp_path / "a.csv").write_text("item,annotator,answer\n1,a,x\n2,a,x\n")
    result = run("aggregate", tmp_path / "a.csv", "-q")
    one_sentence(result, "only one class", "--classes")


@pytest.mark.parametrize("name", ["taken", "taken/run"])
def test_a_file_in_place_of_the_run_folder_is_found_before_the_work(
    name, run, tmp_path
):
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "a.csv").write_text("item,annotator,answer\n1,a,x\n2,a,y\n")
    result = run("aggregate", tmp_path / "a.csv", "-q", "--out", tmp_path / name)
    one_sentence(result, "'taken' is a file")
    one_sentence(run("demo", "--out", tmp_path / name), "'taken' is a file")
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_a_sentence(run, answers, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    result = run("aggregate", answers, "-q", "--out", tmp_path / "locked/run")
    one_sentence(result, "no permission")


def test_an_error_of_the_file_system_is_a_sentence(run, answers, monkeypatch):
    def failing_write(*_, **__):
        raise OSError(28, "No space left on device", "run/labels.csv")

    monkeypatch.setattr("wisecrowd.cli.outcome.write_findings", failing_write)
    result = run(
        "aggregate", answers, "-q", "-m", "glad", "--out", answers.with_name("run")
    )
    one_sentence(result, "run/labels.csv: No space left on device.")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("aggregate",), "aggregate: missing argument"),
        (("aggregate", "a.csv", "--seed", "x"), "'--seed'"),
        (("aggregate", "a.csv", "--sed", "1"), "no such option: --sed"),
        (("bogus",), "no such command 'bogus'"),
        (("aggregat",), "no such command 'aggregat'"),
        (("--bogus",), "no such option: --bogus"),
        (("simulate",), "'--out'"),
        (("simulate", "--out", "a.csv", "--classes", "1"), "'--classes'"),
        (("simulate", "--out", "a.csv", "--answers", "nan"), ""),
        (("methods", "bcc", "b\x1b[2J\n.csv"), r"(b\x1b[2J"),
        (("aggregate", "b\x1b[2J\n.csv"), r"b\x1b[2J\n.csv: there is no"),
        (("aggregate", "a.csv", ""), "ANSWERS: the name is empty"),
    ],
)
def test_a_usage_error_is_one_sentence_without_a_frame(arguments, said, run):
    one_sentence(run(*arguments), said)


def test_a_usage_error_says_which_help_to_read(run):
    one_sentence(run("fit"), "See 'wisecrowd fit --help'.")
    one_sentence(run("bogus"), "See 'wisecrowd --help'.")


def test_nothing_at_all_shows_the_help(run):
    result = run()
    assert "Usage: " in result.output
    assert "error:" not in result.output


def test_a_defect_of_ours_is_not_dressed_up_as_a_users_mistake(
    run, answers, monkeypatch
):
    def broken(*_, **__):
        raise ValueError("a bug")

    monkeypatch.setattr("wisecrowd.io.read.read_annotations", broken)
    result = run("aggregate", answers)
    assert result.exit_code == 70


def test_an_interrupted_fit_is_resumed_from_a_checkpoint_only(run, answers, tmp_path):
    (tmp_path / "x.csv").write_text("item,x\n" + "\n".join(f"{n},1" for n in range(60)))
    result = run("fit", answers, "-f", tmp_path / "x.csv", "-q", "--resume")
    one_sentence(result, "--resume needs --checkpoint")


def test_only_keywords_become_options():
    sentence = "answer 'item=3' of drop_repeats='both', classes=, gold=x, format=5"
    said = "answer 'item=3' of --drop-repeats 'both', --classes, gold=x, format=5"
    assert as_options(sentence) == said


# -- as a real process --------------------------------------------------------------


def finished(*arguments, **options):
    command = [str(WISECROWD), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, **options
    )


def test_the_installed_command_gives_the_sentence_and_the_code(tmp_path):
    result = finished("aggregate", tmp_path / "none.csv")
    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr


def test_version_and_help_import_nothing_heavy():
    assert finished("--version").stdout.startswith("wisecrowd 0.")
    code = (
        "import sys; from wisecrowd.cli import app; "
        "app(['fit', '--help'], standalone_mode=False); "
        "heavy = {'jax', 'pandas', 'sklearn', 'numpy', 'scipy'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "--drop-repeats" in result.stdout


def test_names_outside_the_terminals_charset_do_not_stop_the_output(tmp_path):
    rows = "item,annotator,answer\n1,ä,猫\n1,b,猫\n2,ä,犬\n2,b,犬\n"
    (tmp_path / "a.csv").write_text(rows, encoding="utf-8")
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    result = finished("aggregate", tmp_path / "a.csv", env=ascii_only)
    assert result.returncode == 0, result.stderr
    assert r"\u732b" in result.stdout


def test_a_closed_pipe_ends_quietly(answers):
    command = f"{WISECROWD} aggregate {answers} -m glad -q --json | head -c 1"
    result = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False
    )
    assert (result.stdout, result.stderr) == ("{", "")


def test_a_pipe_that_is_closed_during_the_help_ends_quietly(run, monkeypatch):
    def closed(*_):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("typer.core.TyperGroup.parse_args", closed)
    assert run("--help").output == ""


def test_no_methods_and_endless_seeds_are_refused(run, answers):
    one_sentence(run("compare", answers, "--methods", ""), "--methods is empty")
    one_sentence(run("compare", answers, "--methods", " , "), "--methods is empty")
    one_sentence(run("compare", answers, "--seeds", "1000000000"), "'--seeds'")


def test_the_home_folder_is_understood_in_every_option(run, answers, monkeypatch):
    monkeypatch.setenv("HOME", str(answers.parent))
    made = ("-q", "-m", "majority-vote", "--out", "~/run")
    assert run("aggregate", "~/answers.csv", *made).exit_code == 0
    assert (answers.parent / "run" / "labels.csv").is_file()
    assert run("predict", "~/run", "-a", "~/answers.csv", "-q").exit_code == 0


@pytest.mark.parametrize("columns", ["40", "50"])
def test_a_narrow_terminal_keeps_names_and_whole_numbers(
    run, answers, monkeypatch, columns
):
    monkeypatch.setenv("COLUMNS", columns)
    result = run("aggregate", answers, "-m", "majority-vote")
    lines = result.stdout.splitlines()
    assert any("annotator" in line and "informative" in line for line in lines)
    assert any("volunteer" in line and " to " in line for line in lines)
    assert "…" not in result.stdout


def test_items_without_an_answer_are_said_and_not_scored(run, tmp_path):
    path = tmp_path / "a.csv"
    rows = "1,a,x,x\n1,b,x,x\n2,a,y,y\n2,b,y,y\n3,,,x\n4,,,y\n"
    path.write_text("item,annotator,answer,gold\n" + rows)
    result = run("aggregate", path, "-m", "majority-vote")
    said = " ".join(result.stderr.split())  # lines are wrapped
    assert "(2 items), which the fit did not use: accuracy 1.000" in said
    assert "2 gold items without an answer: not scored." in said
    result = run("compare", path, "-m", "majority-vote,glad", "--held-out", "0")
    assert "2 gold items without an answer: not scored." in result.stderr
    assert "2 gold items;" in result.stdout
