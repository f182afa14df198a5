"""Nothing is lost: outputs never replace inputs, and a save is whole or not there."""

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import wisecrowd as wc
from mistakes import one_sentence
from wisecrowd import _files
from wisecrowd.cli import app
from wisecrowd.results.run_folder import FILES, write_run

REFUSED = "is an input"
SLOW = pytest.mark.slow


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def crowd():
    return wc.simulate(40, 7, 3, n_features=2, random_state=0)


@pytest.fixture
def labels(crowd, tmp_path):
    """Raw answers under the name of a table of results."""
    return wc.write_annotations(crowd.answers, tmp_path / "labels.csv")


@pytest.fixture
def model(crowd):
    return wc.MajorityVote().fit(crowd.answers)


def content(folder):
    return {p.name: p.read_bytes() for p in Path(folder).iterdir() if p.is_file()}


# -- outputs and inputs -------------------------------------------------------------


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_the_answers_are_never_replaced_by_the_labels(labels, force, monkeypatch):
    monkeypatch.chdir(labels.parent)
    before = labels.read_bytes()
    one_sentence(run("aggregate", "labels.csv", "--out", ".", *force), REFUSED)
    assert content(labels.parent) == {"labels.csv": before}


@pytest.mark.parametrize("kind", ["symbolic", "hard", "folder"])
def test_an_input_is_recognised_through_links(kind, labels, tmp_path):
    out, given = tmp_path, tmp_path / "raw.csv"
    if kind == "symbolic":
        given.symlink_to(labels)
    elif kind == "hard":
        os.link(labels, given)
    else:
        out, given = tmp_path / "link", labels
        out.symlink_to(tmp_path)
    one_sentence(run("aggregate", given, "--out", out, "--force"), REFUSED)


def test_gold_and_features_are_inputs_too(crowd, tmp_path):
    d = tmp_path / "d"
    d.mkdir()
    answers = wc.write_annotations(crowd.answers, tmp_path / "answers.csv")
    gold = {"item": crowd.answers.items, "gold": crowd.classes[crowd.truth]}
    pd.DataFrame(gold).to_csv(d / "labels.csv", index=False)
    result = run("aggregate", answers, "--gold", d / "labels.csv", "--out", d)
    one_sentence(result, REFUSED)
    table = pd.DataFrame(crowd.X).add_prefix("x")
    table.assign(item=crowd.answers.items).to_parquet(d / "labels.parquet")
    result = run("fit", answers, "-f", d / "labels.parquet", "--out", d, "--force")
    one_sentence(result, REFUSED)
    assert sorted(content(d)) == ["labels.csv", "labels.parquet"]


def test_predictions_never_replace_the_features(tmp_path):
    features = tmp_path / "f.parquet"
    pd.DataFrame({"item": [1], "x": [0.5]}).to_parquet(features)
    before = features.read_bytes()
    result = run("predict", tmp_path, features, "--out", features, "--force")
    one_sentence(result, REFUSED)
    other = tmp_path / "mine.csv"
    other.write_text("mine")
    result = run("predict", tmp_path, features, "--out", other)
    one_sentence(result, "exists already", "--force")
    assert (features.read_bytes(), other.read_text()) == (before, "mine")


@pytest.mark.parametrize("name", ["a.csv", "a.gold.csv", "a.features.parquet"])
def test_simulate_replaces_nothing_without_force(name, tmp_path):
    (tmp_path / name).write_text("mine")
    command = ("simulate", "--out", tmp_path / "a.csv", "--features", 2, "-q")
    one_sentence(run(*command), name, "exists already", "--force")
    assert content(tmp_path) == {name: b"mine"}
    assert run(*command, "--force").exit_code == 0
    assert len(content(tmp_path)) == 3


@pytest.mark.parametrize("name", ["labels.csv", "model.json", "model.safetensors"])
def test_a_file_of_somebody_else_is_not_replaced_without_force(name, model, tmp_path):
    answers = wc.write_annotations(
        wc.simulate(20, 9, random_state=0).answers, tmp_path / "answers.csv"
    )
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / name).write_text("{}")
    command = ("aggregate", answers, "-m", "majority-vote", "-o", folder)
    one_sentence(run(*command), name, "--force")
    assert content(folder) == {name: b"{}"}
    if name.startswith("model"):
        with pytest.raises(wc.InputError, match="force=True"):
            wc.save(model, folder)
    assert run(*command, "--force").exit_code == 0
    assert run(*command).exit_code == 0


def test_a_table_that_was_edited_by_hand_is_not_replaced(crowd, model, tmp_path):
    write_run(model, crowd.answers, tmp_path)
    write_run(model, crowd.answers, tmp_path)
    with (tmp_path / "labels.csv").open("a") as file:
        file.write("corrected by hand\n")
    with pytest.raises(wc.InputError, match=r"'labels.csv' would be replaced"):
        write_run(model, crowd.answers, tmp_path)
    with pytest.warns(UserWarning, match="'labels.csv'"):
        wc.load(tmp_path)
    write_run(model, crowd.answers, tmp_path, force=True)
    wc.load(tmp_path)


@pytest.mark.parametrize("arguments", [["--out", ""], ["--out="], ["-o", ""]])
def test_an_empty_name_is_not_the_current_folder(labels, arguments, monkeypatch):
    monkeypatch.chdir(labels.parent)
    labels.rename("answers.csv")
    one_sentence(run("aggregate", "answers.csv", *arguments), "--out", "empty")
    one_sentence(run("aggregate", ""), "ANSWERS", "empty")
    assert list(content(labels.parent)) == ["answers.csv"]


def test_a_checkpoint_does_not_replace_another_file(crowd, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("item,annotator,answer\n")
    with pytest.raises(wc.InputError, match="is not a checkpoint"):
        wc.SVGPCR(checkpoint=path).fit(crowd.X, crowd.answers)
    assert path.read_text() == "item,annotator,answer\n"


IMPOSSIBLE = [
    ("--seed", -1),
    ("--seed", 10**30),
    ("--classes", 100_000),
    ("--items", 10**11),
    ("--answers", 1e300),
    ("--answers", "inf"),
    ("--answers", "nan"),
    ("--features", 10**9),
]


@pytest.mark.parametrize("arguments", IMPOSSIBLE, ids=str)
def test_impossible_numbers_are_refused(arguments, tmp_path):
    result = run("simulate", "--out", tmp_path / "a.csv", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Traceback" not in result.output
    assert content(tmp_path) == {}


def test_one_row_of_features_is_a_sentence(tmp_path):
    (tmp_path / "a.csv").write_text("item,annotator,answer\n0,1,x\n0,2,y\n")
    (tmp_path / "f.csv").write_text("item,x1\n0,1.5\n")
    result = run("fit", tmp_path / "a.csv", "-f", tmp_path / "f.csv", "-q")
    one_sentence(result, "minimum of 2 is required", "two or more items")


# -- one file -----------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl", "json"])
def test_a_failed_write_of_answers_leaves_the_old_file(ending, crowd, tmp_path):
    path = wc.write_annotations(crowd.answers, tmp_path / f"a.{ending}")
    before = path.read_bytes()
    large = wc.simulate(3000, 9, random_state=0).answers
    with file_limit(2000), pytest.raises(wc.InputError, match="too large"):
        wc.write_annotations(large, path)
    assert content(tmp_path) == {path.name: before}


class file_limit:
    """No file may grow beyond this: like a full disk."""

    def __init__(self, size):
        self.size = size

    def __enter__(self):
        self.old = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.action = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, self.old[1]))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_FSIZE, self.old)
        signal.signal(signal.SIGXFSZ, self.action)


def test_permissions_are_those_of_the_umask_or_of_the_old_file(tmp_path):
    path, old = tmp_path / "a.csv", os.umask(0o027)
    try:
        with _files.replacing(path) as temporary:
            assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
            temporary.write_text("a")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        _files.write_whole(path, b"b")
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(old)


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "a.csv").symlink_to(tmp_path / "precious")
    _files.write_whole(tmp_path / "a.csv", b"new")
    assert content(tmp_path) == {"precious": b"mine", "a.csv": b"new"}


def test_a_name_that_was_planted_is_never_opened(tmp_path, monkeypatch):
    names = iter(["0" * 16, "1" * 16])
    monkeypatch.setattr(_files.secrets, "token_hex", lambda n: next(names))
    (tmp_path / "precious").write_text("mine")
    (tmp_path / f".a.csv.{'0' * 16}.new").symlink_to(tmp_path / "precious")
    with pytest.raises(FileExistsError):
        _files.write_whole(tmp_path / "a.csv", b"new")
    assert (tmp_path / "precious").read_text() == "mine"


def test_leftovers_of_the_dead_go_and_files_of_the_living_stay(tmp_path):
    path = tmp_path / "a.csv"
    dead = tmp_path / f".a.csv.{'d' * 16}.new"
    dead.write_text("half")
    similar = tmp_path / ".a.csv.backup.new"
    similar.write_text("mine")
    with _files.replacing(path) as living:
        living.write_text("first")
        assert not dead.exists()
        _files.write_whole(path, b"second")
        assert living.exists()
    assert content(tmp_path) == {"a.csv": b"first", similar.name: b"mine"}


# -- a run --------------------------------------------------------------------------


def test_a_run_that_was_killed_after_the_commit_is_complete(
    crowd, model, tmp_path, monkeypatch
):
    """At every rename: what loads is the old run or the new one, then all is new."""
    new = wc.BCC().fit(crowd.answers)
    n_tables = len(FILES) - 2
    for n_renames in range(n_tables + len(FILES)):
        folder = tmp_path / str(n_renames)
        write_run(model, crowd.answers, folder)
        with monkeypatch.context() as patched:
            killed_after(n_renames, patched)
            with pytest.raises(Killed):
                write_run(new, crowd.answers, folder)
        wanted = type(new) if n_renames > n_tables else type(model)
        files = json.loads((folder / "model.json").read_text())["files"]
        for name in {*files} & {*os.listdir(folder)}:
            assert _files.sha256_of(folder / name) == files[name]["sha256"]
        assert type(wc.load(folder)) is wanted
        assert sorted(os.listdir(folder)) == sorted(FILES)
        write_run(model, crowd.answers, folder)
        assert sorted(content(folder)) == sorted(FILES)
        assert len(os.listdir(folder)) == len(FILES)


class Killed(BaseException):
    pass


def killed_after(n, patched):
    """Let n renames happen, and nothing afterwards, as a kill would."""
    left, rename = [n], os.rename

    def replace(source, target):
        if not left[0]:
            patched.setattr(_files, "_remove", lambda path: None)
            raise Killed
        left[0] -= 1
        rename(source, target)

    patched.setattr(os, "replace", replace)


def test_a_mixed_folder_is_noticed(crowd, model, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    write_run(model, crowd.answers, one)
    write_run(wc.BCC().fit(crowd.answers), crowd.answers, two)
    shutil.copy(one / "annotators.csv", two)
    with pytest.warns(UserWarning, match=r"two is mixed: 'annotators.csv'"):
        wc.load(two)
    shutil.copy(one / "model.safetensors", two)
    with pytest.raises(wc.InputError, match=r"two is mixed: .* different runs"):
        wc.load(two)


def test_a_model_saved_over_a_run_leaves_tables_that_are_noticed(
    crowd, model, tmp_path
):
    write_run(model, crowd.answers, tmp_path)
    wc.save(wc.BCC().fit(crowd.answers), tmp_path)
    with pytest.warns(UserWarning, match="'annotators.csv'"):
        wc.load(tmp_path)
    write_run(model, crowd.answers, tmp_path)
    wc.load(tmp_path)


def test_two_threads_that_save_leave_one_whole_run(crowd, model, tmp_path):
    writers = [
        threading.Thread(target=write_run, args=(model, crowd.answers, tmp_path))
        for _ in range(4)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    wc.load(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(FILES)


def test_a_full_disk_leaves_the_old_run_as_it_was(crowd, model, tmp_path):
    write_run(model, crowd.answers, tmp_path)
    before = content(tmp_path)
    large = wc.simulate(2000, 7, 3, random_state=0).answers
    for size in (0, 500, 5_000, 50_000):
        with file_limit(size), pytest.raises(wc.InputError, match="too large"):
            write_run(wc.MajorityVote().fit(large), large, tmp_path)
        assert content(tmp_path) == before
        assert sorted(os.listdir(tmp_path)) == sorted(FILES)
    wc.load(tmp_path)


SAVING = """
import os, sys, wisecrowd as wc
from wisecrowd.results.run_folder import write_run
crowds = [wc.simulate(n, 7, 3, random_state=n) for n in (40, 300)]
runs = [(wc.MajorityVote().fit(c.answers), c.answers) for c in crowds]
os.fork()
while True:
    for model, answers in runs:
        write_run(model, answers, sys.argv[1])
"""


def two_saving(folder):
    """Start two processes that save all the time; return the group's leader."""
    command = [sys.executable, "-c", SAVING, str(folder)]
    return subprocess.Popen(command, start_new_session=True)


KILLING = """
import os, random, signal, sys, time, warnings
import wisecrowd as wc
from wisecrowd.results.run_folder import FILES, write_run
warnings.simplefilter("ignore")
folder, n_kills = sys.argv[1], int(sys.argv[2])
crowds = [wc.simulate(n, 7, 3, random_state=n) for n in (40, 300)]
runs = [(wc.MajorityVote().fit(c.answers), c.answers) for c in crowds]
write_run(*runs[0], folder)
random.seed(0)
loaded = clean = torn = 0
for _ in range(n_kills):
    child = os.fork()
    while child == 0:
        for run in runs:
            write_run(*run, folder)
    time.sleep(random.uniform(0.02, 0.2))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    torn += sorted(os.listdir(folder)) != sorted(FILES)
    loaded += len(wc.load(folder).items_) in (40, 300)
    write_run(*runs[0], folder)
    clean += sorted(os.listdir(folder)) == sorted(FILES)
    loaded -= len(wc.load(folder).items_) != 40
print(loaded, clean, torn)
"""


@pytest.mark.parametrize("n_kills", [5, pytest.param(200, marks=SLOW)])
def test_a_process_that_is_killed_while_saving_leaves_a_run(n_kills, tmp_path):
    command = [sys.executable, "-c", KILLING, str(tmp_path / "run"), str(n_kills)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded, clean, torn = map(int, found.stdout.split())
    sys.stdout.write(
        f"{n_kills} kills, {torn} amid a save: {loaded} loaded, {clean} clean\n"
    )
    assert (loaded, clean) == (n_kills, n_kills)


@pytest.mark.filterwarnings("ignore:.*is mixed")
@pytest.mark.parametrize("n_loads", [30, pytest.param(2000, marks=SLOW)])
def test_loading_beside_two_writers_never_fails(n_loads, tmp_path):
    writers = two_saving(tmp_path / "run")
    try:
        while not (tmp_path / "run/model.json").exists():
            assert writers.poll() is None
            time.sleep(0.01)
        sizes = {len(wc.load(tmp_path / "run").items_) for _ in range(n_loads)}
        assert sizes <= {40, 300}
    finally:
        os.killpg(writers.pid, signal.SIGKILL)
        writers.wait()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MB, or a skip."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no permission to mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_file_system_leaves_the_old_run_as_it_was(crowd, model, small_disk):
    folder = small_disk / "run"
    write_run(model, crowd.answers, folder)
    before = content(folder)
    large = wc.simulate(20_000, 7, 3, random_state=0).answers
    with pytest.raises(wc.InputError, match="No space left on device"):
        write_run(wc.MajorityVote().fit(large), large, folder)
    assert content(folder) == before
    assert sorted(os.listdir(folder)) == sorted(FILES)
    wc.load(folder)
