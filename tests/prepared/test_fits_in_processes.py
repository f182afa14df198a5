"""A fit of SVGPCR that several processes share: the same labels, and how it goes on."""

import errno
import importlib
import os
import pickle
import signal
import sys
import time
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from wisecrowd.blocks import Blocks
from wisecrowd.fit.partners import Alone, PartnerDied, own_share, partners, shared_by
from wisecrowd.fit.stochastic import Watched, of_first, rows_of_chunk
from wisecrowd.methods.svgpcr import natural
from wisecrowd.methods.svgpcr.parts import Parts
from wisecrowd.prepared import processes
from wisecrowd.prepared.processes import check_shared, fit_in_processes

LIMITS = {"max_epochs": 4, "tol": None, "dtype": "float64"}
ODD = 31  # items of a batch, which no number of processes divides


@pytest.fixture(scope="module")
def crowd():
    return wc.simulate(
        150, 10, 2, answers_per_item=3, n_features=2, separation=4.0, random_state=0
    )


def model(**more):
    settings = {"networks": False, **LIMITS, **more}
    return wc.SVGPCR(6, batch_size=ODD, **settings)


def assert_same(found, want, X):
    """Claim that two fits have the same labels, skills, classifier and trace."""
    assert_allclose(found.label_proba_, want.label_proba_, atol=1e-6)
    assert_allclose(found.confusion_, want.confusion_, atol=1e-6)
    close = 1e-3 if found.networks else 1e-6  # which learn in float32
    assert_allclose(found.predict_proba(X), want.predict_proba(X), atol=close)
    left, right = (m.trace_.drop(columns="seconds") for m in (found, want))
    assert_allclose(left, right, atol=1e-6, rtol=1e-6)


# -- in one process --------------------------------------------------------------------


class Nth(Alone):
    """A partner that only knows which one it is."""

    def __init__(self, rank, size):
        self.rank, self.size = rank, size


class Mesh(SimpleNamespace):
    """A mesh of so many devices."""

    def __init__(self, size):
        super().__init__(size=size)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("unit", [1, 4, 100])
def test_every_item_belongs_to_one_process(size, unit):
    shares = [own_share(Nth(rank, size), 11, unit) for rank in range(size)]
    items = np.concatenate([np.arange(11)[share] for share in shares])
    assert items.tolist() == list(range(11))
    assert all(share.start % unit == 0 or share.start == 11 for share in shares)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_every_row_of_a_batch_is_in_one_part_and_parts_are_equal(size):
    rows = np.arange(3 * ODD).reshape(3, ODD)
    parts = [Parts(Mesh(size), ODD).rows(rows, rank) for rank in range(size)]
    assert len({part.shape for part in parts}) == 1
    assert np.array_equal(np.concatenate(parts, axis=1)[:, :ODD], rows)


def test_of_a_file_each_process_reads_its_own_blocks():
    blocks = Blocks(np.arange(0, 16_001, 1000), together=16)
    rows = rows_of_chunk(0, 16_000, 0, 20, 500, blocks)

    def read_by(rank):
        task = SimpleNamespace(
            partners=Nth(rank, 2), parts=lambda rows: Parts(Mesh(2), rows.shape[1])
        )
        return set(np.unique(natural.NaturalTask.own(task, rows) // 1000).tolist())

    both = [read_by(rank) for rank in range(2)]
    assert both[0] | both[1] == set(range(16))
    assert len(both[0] & both[1]) <= 4


def test_a_fit_is_shared_where_somebody_says_so():
    others = Nth(1, 2)
    with shared_by(others):
        assert partners() is others
    assert isinstance(partners(), Alone)


def test_the_seed_is_that_of_the_first_process(crowd):
    class Second(Alone):
        rank, size = 1, 2

        def broadcast(self, tree):
            return 7

    with shared_by(Second()):
        codes = crowd.answers.codes
        gold = crowd.answers.gold_codes
        plan, *_ = model(random_state=None)._asked(crowd.X, codes, gold, "conditional")
    assert plan.run.seed == 7


def test_bound_and_seconds_are_those_of_the_first_process():
    # Else one process would end its fit, at its own time limit, before the others.
    class Second(Alone):
        rank, size = 1, 2

        def broadcast(self, tree):
            (_, more), per_item, constant, seconds = tree
            return (-1.0, more), per_item + 1, constant - 1, seconds + 60

    own = Watched({"bound": -2.0, "a_term": 3.0}, np.zeros(4), 5.0)
    with shared_by(Second()):
        watched, seconds = of_first(own, 0.5)
    assert watched.terms == {"bound": -1.0, "a_term": 3.0}
    assert watched.per_item.tolist() == [1, 1, 1, 1]
    assert (watched.constant, seconds) == (4.0, 60.5)
    assert of_first(own, 0.5) == (own, 0.5)  # alone


def test_what_cannot_be_shared_is_a_sentence(crowd):
    for other in (wc.SVGPCR.as_published(), wc.SVGPCR(kernel="deep"), wc.AggNet()):
        with pytest.raises(wc.InputError, match="learns in one process"):
            fit_in_processes(other, 2, crowd.X, crowd.answers)
    check_shared(wc.SVGP())


def of_the_script(x, y):
    """A kernel that pickle knows by the name of its module."""


def test_a_function_that_other_processes_cannot_find_is_a_sentence(monkeypatch):
    wanted = r"cannot be sent to other processes \(.*write it into a file of its own"
    worker = SimpleNamespace(stdin=BytesIO())
    with pytest.raises(wc.InputError, match=wanted):
        processes._tell(worker, (lambda x, y: 0, (), {}))
    job = pickle.dumps((of_the_script, (), {}))
    monkeypatch.delattr(sys.modules[__name__], "of_the_script")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(job)))
    with pytest.raises(wc.InputError, match=wanted):
        processes._job()


def test_no_proxy_stands_between_processes_of_this_machine(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://proxy:1")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:2")
    with processes._no_proxies():
        assert not [name for name in os.environ if name.lower().endswith("_proxy")]
    assert os.environ["http_proxy"] == "http://proxy:1"
    assert os.environ["HTTPS_PROXY"] == "http://proxy:2"


class OfTwoThings(Exception):
    """An error that pickle cannot make again."""

    def __init__(self, one, other):
        super().__init__(f"{one} {other}")


def test_an_error_that_pickle_loses_is_told_in_another():
    told = processes._sendable(OfTwoThings("of the", "user"))
    assert repr(told) == "RuntimeError('OfTwoThings: of the user')"
    ours = wc.InputError("a sentence")
    assert processes._sendable(ours) is ours


def test_a_full_temporary_folder_is_a_sentence(tmp_path, monkeypatch):
    write = os.write

    def half_of_it_fits(file, text):
        if len(text) > 10_000:
            return write(file, text[:10_000])
        if len(text) > 2_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, text)

    monkeypatch.setattr("os.write", half_of_it_fits)
    with (tmp_path / "said").open("w+b") as said:
        processes._hand_over(said.fileno(), (None, [], bytes(15_000)))
        worker = SimpleNamespace(poll=lambda: 2, said=said)
        with pytest.raises(wc.InputError, match=r"No space left on device in the fol"):
            processes._wait([worker])


# -- in several ------------------------------------------------------------------------


@pytest.mark.slow
def test_processes_import_what_this_one_imports_and_may_print(
    tmp_path, monkeypatch, capfd
):
    """Not what is in the folder where the command is given."""
    for name in ("here", "beside"):
        (tmp_path / name).mkdir()
    (tmp_path / "here" / "random.py").write_text("raise SystemExit")
    (tmp_path / "beside" / "mine_alone.py").write_text(
        "def rank_and_size(partners):\n"
        "    print('something of the user')\n"
        "    return partners.rank, partners.size\n"
    )
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(tmp_path / "beside")
    function = importlib.import_module("mine_alone").rank_and_size
    assert processes.in_processes(function, 2) == (0, 2)
    assert "something of the user" in capfd.readouterr().err


def test_two_processes_find_the_same_labels_and_skills(crowd):
    want = model().fit(crowd.X, crowd.answers)
    found = fit_in_processes(model(), 2, crowd.X, crowd.answers)
    assert_same(found, want, crowd.X)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("more", [{"networks": True}, {"link": "robustmax"}])
def test_the_number_of_processes_does_not_matter(size, more, crowd):
    want = model(**more).fit(crowd.X, crowd.answers)
    found = fit_in_processes(model(**more), size, crowd.X, crowd.answers)
    assert_same(found, want, crowd.X)


@pytest.mark.slow
def test_each_process_reads_its_part_of_features_beyond_memory(crowd, tmp_path):
    np.save(tmp_path / "x.npy", crowd.X)
    want = model().fit(crowd.X, crowd.answers)
    X = wc.features(tmp_path / "x.npy")
    assert_same(fit_in_processes(model(), 2, X, crowd.answers), want, crowd.X)


@pytest.mark.slow
def test_what_went_wrong_in_a_process_is_raised_here(crowd):
    with pytest.raises(wc.InputError, match=r"^batch_size=-1 must be"):
        fit_in_processes(wc.SVGPCR(batch_size=-1), 2, crowd.X, crowd.answers)


# -- a process that dies ---------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("killed", [0, 1])
@pytest.mark.parametrize("size", [1, 2])  # of those that go on
def test_a_killed_process_ends_all_and_the_fit_goes_on_from_its_checkpoint(
    killed, size, crowd, tmp_path, monkeypatch
):
    kept = tmp_path / "fit.checkpoint"
    long = {"max_epochs": 200, "checkpoint": kept, "checkpoint_seconds": 0}
    wait = processes._wait

    def kill_one_and_wait(workers):
        while not kept.exists():
            assert all(worker.poll() is None for worker in workers)
            time.sleep(0.01)
        os.kill(workers[killed].pid, signal.SIGKILL)
        return wait(workers)

    with monkeypatch.context() as patch:
        patch.setattr(processes, "_wait", kill_one_and_wait)
        with pytest.raises(PartnerDied, match="a process that shares the work has"):
            fit_in_processes(model(**long), 2, crowd.X, crowd.answers)
    assert kept.exists()
    go_on = model(**long, resume=True)
    found = fit_in_processes(go_on, size, crowd.X, crowd.answers)
    assert not kept.exists()
    assert_same(found, model(max_epochs=200).fit(crowd.X, crowd.answers), crowd.X)
