"""A fit that was killed goes on where it stood, and ends as if nothing had happened."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial

import equinox as eqx
import numpy as np
import pytest
from numpy.testing import assert_allclose
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

import contract
from wisecrowd import (
    MLP,
    SVGP,
    SVGPCR,
    AggNet,
    CoNAL,
    CrowdLayer,
    InputError,
)
from wisecrowd.answers import Answers
from wisecrowd.fit.checkpoint import Checkpoint, fingerprint, write_whole

# Shapes of tests/methods/svgpcr: they are compiled already. The networks, which are
# learned after the last step, take longer than the steps.
STEPS = {"n_inducing": 8, "max_epochs": 80, "tol": None}
SETTINGS = {**STEPS, "dependence": 0.1, "networks": False}


@pytest.fixture(scope="module")
def data():
    return contract.two_clouds()


@pytest.fixture(scope="module")
def whole(data):
    """The fit that nobody interrupts."""
    return SVGPCR(**SETTINGS).fit(*data[:2])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


@pytest.fixture(scope="module")
def last_checkpoint(data, tmp_path_factory):
    """The last checkpoint of a fit, as a kill just before the ending leaves it."""
    path = tmp_path_factory.mktemp("left") / "run.checkpoint"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Checkpoint, "remove", lambda self: None)
        resumable(path).fit(*data[:2])
    return path.read_bytes()


@pytest.fixture
def left_behind(last_checkpoint, path):
    path.write_bytes(last_checkpoint)
    return path


def resumable(path, **more):
    settings = {"checkpoint": path, "checkpoint_seconds": 0, "resume": True}
    return SVGPCR(**{**SETTINGS, **settings, **more})


def assert_same_end(model, whole, X):
    assert_allclose(model.label_proba_, whole.label_proba_, atol=1e-6)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    assert_allclose(model.confusion_, whole.confusion_, atol=1e-6)
    rows, wanted = (m.trace_.drop(columns="seconds") for m in (model, whole))
    assert rows.index.tolist() == wanted.index.tolist()
    assert_allclose(rows, wanted[rows.columns], rtol=1e-6, atol=1e-6)
    assert model.trace_["seconds"].is_monotonic_increasing


# -- killed --------------------------------------------------------------------------

CHILD = """
import sys, time
import numpy as np
import wisecrowd
from wisecrowd.fit.checkpoint import Checkpoint

write = Checkpoint.write

def slow(self, run):
    write(self, run)
    time.sleep(0.03)  # so that there is time to be killed in

Checkpoint.write = slow
data = np.load(sys.argv[1])
settings = eval(sys.argv[2])
kind = getattr(wisecrowd, sys.argv[4])
kind(checkpoint=sys.argv[3], checkpoint_seconds=0, resume=True, **settings).fit(
    data["X"], data["y"]
)
"""


def step_of(path):
    """The step of the checkpoint on disk; 0 if there is none."""
    try:
        with safe_open(path, framework="numpy") as file:
            return json.loads(file.metadata()["about"])["run"]["step"]
    except (FileNotFoundError, SafetensorError):
        return 0


def killed(folder, path, data, after, rng, kind=SVGPCR, settings=SETTINGS):
    """Run a fit in a process of its own, and kill it some time after that step."""
    np.savez(folder / "data.npz", X=data[0], y=data[1])
    words = [str(folder / "data.npz"), repr(settings), str(path), kind.__name__]
    child = subprocess.Popen([sys.executable, "-c", CHILD, *words])
    try:
        while child.poll() is None and step_of(path) < after:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.05))  # in a step, between two, or while writing
        child.send_signal(signal.SIGKILL)
    finally:
        child.kill()
        assert child.wait() == -signal.SIGKILL  # it had not come to its end
    return step_of(path)


def killed_often(tmp_path, path, data, stops, seed):
    rng, reached = random.Random(seed), [0]
    for stop in stops:
        reached.append(killed(tmp_path, path, data, stop, rng))
        assert reached[-1] >= max(stop, reached[-2])  # each went on from the last
        assert reached[-1] < SETTINGS["max_epochs"]


def test_killed_and_resumed_it_is_the_fit_of_one_go(tmp_path, path, data, whole):
    killed_often(tmp_path, path, data, [10], seed=0)
    model = resumable(path).fit(*data[:2])
    assert_same_end(model, whole, data[0])
    assert os.listdir(tmp_path) == ["data.npz"]  # the file is gone


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_killed_many_times_and_resumed_it_is_the_fit_of_one_go(
    tmp_path, path, data, whole, seed
):
    stops = sorted(random.Random(seed).sample(range(0, 70, 10), 5))
    killed_often(tmp_path, path, data, stops, seed)
    model = resumable(path).fit(*data[:2])
    assert_same_end(model, whole, data[0])
    assert os.listdir(tmp_path) == ["data.npz"]


# -- resumed -------------------------------------------------------------------------


def interrupt_at(step, patched):
    """Raise an exception once the checkpoint of this step is written."""
    write = Checkpoint.write

    def interrupted(self, run):
        write(self, run)
        if run.step >= step:
            raise KeyboardInterrupt

    patched.setattr(Checkpoint, "write", interrupted)


@pytest.mark.parametrize(
    "settings",
    [
        {"networks": True},
        {"annotator_prior": "flat"},
        pytest.param({"link": "robustmax", "max_epochs": 30}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_an_exception_is_as_good_as_a_kill(data, path, monkeypatch, settings):
    plain = SVGPCR(**{**SETTINGS, **settings}).fit(*data[:2])
    for stop in (10, 20):  # the second goes on from the first
        with monkeypatch.context() as patched:
            interrupt_at(stop, patched)
            with pytest.raises(KeyboardInterrupt):
                resumable(path, **settings).fit(*data[:2])
        assert step_of(path) == stop
    model = resumable(path, **settings).fit(*data[:2])
    assert_same_end(model, plain, data[0])
    assert not path.exists()


def test_svgp_resumes_too(data, path, monkeypatch):
    settings = {"n_inducing": 8, "max_epochs": 80, "checkpoint": path}
    settings |= {"checkpoint_seconds": 0, "resume": True, "tol": None}
    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "remove", lambda self: None)
        first = SVGP(**settings).fit(data[0], data[2])
    assert_same_end(SVGP(**settings).fit(data[0], data[2]), first, data[0])


def test_resuming_without_a_file_begins_anew_and_leaves_none(data, path, whole):
    assert_same_end(resumable(path).fit(*data[:2]), whole, data[0])
    assert not path.exists()


def test_without_resume_an_old_checkpoint_does_not_count(data, left_behind, whole):
    model = resumable(left_behind, resume=False).fit(*data[:2])
    assert_same_end(model, whole, data[0])
    assert not left_behind.exists()


def test_what_does_not_change_the_result_may_change(data, left_behind, whole):
    more = {"time_limit": 1000, "checkpoint_seconds": 60, "progress": False}
    model = resumable(left_behind, **more).fit(*data[:2])
    assert_same_end(model, whole, data[0])
    assert len(model.trace_) == len(whole.trace_)


def test_q_of_the_labels_is_all_that_a_checkpoint_holds_of_every_item(
    data, left_behind
):
    with safe_open(left_behind, framework="numpy") as file:
        parts = {name: file.get_tensor(name).shape for name in file.keys()}  # noqa: SIM118
    state = [shape for name, shape in parts.items() if name.startswith("state")]
    assert [shape for shape in state if len(data[0]) in shape] == [(60, 2)]


def test_a_checkpoint_is_written_at_most_every_so_often(data, path, monkeypatch):
    steps = []

    def counted(path, content):
        steps.append(len(content))

    monkeypatch.setattr("wisecrowd.fit.checkpoint.write_whole", counted)
    resumable(path, max_epochs=20, checkpoint_seconds=1000).fit(*data[:2])
    assert not steps
    resumable(path, max_epochs=20, checkpoint_seconds=0).fit(*data[:2])
    assert len(steps) == 2  # two chunks of ten steps


# -- networks --------------------------------------------------------------------------

NETWORKS = (AggNet, CrowdLayer, CoNAL)
QUICK = {"max_epochs": 40, "held_out": 0.35, "batch_size": 20, "tol": None}


def network(kind, path, **more):
    settings = {"checkpoint": path, "checkpoint_seconds": 0, "resume": True}
    return kind(**{**QUICK, **settings, **more})


def interrupted_network(data, patched, step, model):
    """Leave the checkpoint of a fit that was interrupted after this step."""
    with patched.context() as now:
        interrupt_at(step, now)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data[:2])
    assert step <= step_of(model.checkpoint) < step + 10


@pytest.mark.parametrize(
    "kind",  # of one base and one driver
    [
        AggNet,
        pytest.param(CrowdLayer, marks=pytest.mark.slow),
        pytest.param(CoNAL, marks=pytest.mark.slow),
    ],
)
def test_a_network_that_was_killed_is_the_one_of_one_go(kind, tmp_path, path, data):
    plain = kind(**QUICK).fit(*data[:2])
    reached = killed(tmp_path, path, data, 8, random.Random(0), kind, QUICK)
    assert 8 <= reached < plain.trace_.index[-1]
    model = network(kind, path).fit(*data[:2])
    assert_same_end(model, plain, data[0])
    assert os.listdir(tmp_path) == ["data.npz"]


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_network_resumes_only_with_its_own_settings(kind, data, path, monkeypatch):
    interrupted_network(data, monkeypatch, 8, network(kind, path))
    for more in (
        {"held_out": 0.4},
        {"network": MLP(hidden=(64,))},
        {"output": "softmax"},
    ):
        if set(more) <= set(kind().get_params()):
            with pytest.raises(InputError, match="belongs to another fit"):
                network(kind, path, **more).fit(*data[:2])
    plain = kind(**QUICK).fit(*data[:2])
    model = network(kind, path, time_limit=1000, progress=False).fit(*data[:2])
    assert_same_end(model, plain, data[0])


@pytest.mark.parametrize("fit", [partial(network, AggNet), resumable])
def test_without_a_random_state_the_seed_is_that_of_the_checkpoint(
    fit, data, path, monkeypatch
):
    """Otherwise items that were held out before would be learned from."""
    model = fit(path, random_state=None)
    interrupted_network(data, monkeypatch, 8, model)
    content = path.read_bytes()
    first = model.fit(*data[:2]).label_proba_
    path.write_bytes(content)
    assert_allclose(model.fit(*data[:2]).label_proba_, first, atol=1e-6)


class Line(eqx.Module):
    weight: np.ndarray

    def __call__(self, x, *, key=None):
        return self.weight @ x


def test_a_network_of_ones_own_resumes_with_the_same_weights_only(
    data, path, monkeypatch
):
    def of(scale):
        return network(AggNet, path, network=Line(scale * np.eye(2)))

    plain = AggNet(**QUICK, network=Line(np.eye(2))).fit(*data[:2])
    interrupted_network(data, monkeypatch, 8, of(1.0))
    with pytest.raises(InputError, match="belongs to another fit"):
        of(2.0).fit(*data[:2])
    assert_same_end(of(1.0).fit(*data[:2]), plain, data[0])


def test_a_kernel_with_a_function_has_the_same_fingerprint_in_every_process(capsys):
    code = """
import numpy as np
from wisecrowd import Deep
from wisecrowd.fit.checkpoint import spelled
def drawn(n_features, n_outputs, key):
    return None
print(spelled([Deep(drawn), np.random.RandomState(3)]))
"""
    command = [sys.executable, "-c", code]
    there = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    exec(code, {"__name__": "__main__"})
    assert capsys.readouterr().out == there
    assert "drawn" in there


# -- refused -------------------------------------------------------------------------

OTHERS = {
    "setting": lambda X, y: (X, y, {"natural_rate": 0.05}),
    "seed": lambda X, y: (X, y, {"random_state": 1}),
    "prior": lambda X, y: (X, y, {"annotator_prior": np.ones((2, 2))}),
    "feature": lambda X, y: (X + np.eye(*X.shape), y, {}),
    "answer": lambda X, y: (X, np.where(np.arange(60)[:, None] == 7, 1 - y, y), {}),
    "items": lambda X, y: (X[:-1], y[:-1], {}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_checkpoint_of_another_fit_is_refused(name, data, left_behind):
    X, y, more = OTHERS[name](*data[:2])
    with pytest.raises(InputError, match=r"belongs to another fit: .*\.$"):
        resumable(left_behind, **more).fit(X, y)
    assert left_behind.exists()


def test_gold_and_the_method_belong_to_the_fingerprint(data, left_behind):
    with pytest.raises(InputError, match="belongs to another fit"):
        resumable(left_behind).fit(*data[:2], gold={0: 1})
    settings = {"checkpoint": left_behind, "resume": True}
    with pytest.raises(InputError, match="belongs to another fit"):
        SVGP(**settings).fit(data[0], data[2])


def test_two_long_priors_that_differ_in_one_place_have_two_fingerprints():
    # Longer than what NumPy prints in full.
    prior, other = np.ones((300, 2, 2)), np.ones((300, 2, 2))
    other[150, 1, 0] = 2.0
    answers = Answers.from_codes([0], [0], [0], (1, 1, 2, 2))
    data = np.zeros((1, 2)), answers, np.full(1, -1)
    found = {
        fingerprint(SVGPCR(annotator_prior=given), *data)
        for given in (prior, other, {"a": prior}, {"a": other}, "flat")
    }
    assert len(found) == 5
    same = fingerprint(SVGPCR(annotator_prior=prior.copy()), *data)
    assert same in found


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_checkpoint_that_was_cut_off_is_refused(share, data, left_behind):
    content = left_behind.read_bytes()
    left_behind.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"is not a (whole )?checkpoint .*\.$"):
        resumable(left_behind).fit(*data[:2])


def test_another_file_is_refused_and_left_alone(data, path):
    path.write_text("item,annotator,answer\n" * 100)
    with pytest.raises(InputError, match="is not a checkpoint"):
        resumable(path).fit(*data[:2])
    assert path.read_text().startswith("item,")
    save_file({"weights": np.zeros(3)}, path)  # somebody else's model
    with pytest.raises(InputError, match=r"is not a checkpoint\. Choose"):
        resumable(path).fit(*data[:2])


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("nowhere/run", r"there is no folder .*\. Make it first\.$"),
        (".", "is a folder"),
    ],
)
def test_a_place_where_no_file_can_be_is_refused_before_the_fit(
    where, why, data, tmp_path
):
    with pytest.raises(InputError, match=why):
        resumable(tmp_path / where).fit(*data[:2])


# -- writing -------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_checkpoint_and_nothing_else(path, monkeypatch):
    write_whole(path, b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == [path.name]


def test_what_a_kill_amid_writing_left_is_written_over_and_removed(path):
    half = path.with_name(f".{path.name}.0123456789abcdef.new")
    half.write_bytes(b"hal")
    write_whole(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert not half.exists()
    half.write_bytes(b"hal")
    Checkpoint(path, 0.0, resume=True, fingerprint="").remove()
    assert os.listdir(path.parent) == []
