"""Processes that share the work: the same labels, and one sentence if one dies."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from threading import Barrier, Thread

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from clusters import cluster
from wisecrowd.fit.partners import Alone, OverJax
from wisecrowd.prepared import processes
from wisecrowd.prepared.aggregate import aggregate_prepared
from wisecrowd.prepared.passes import gathered
from wisecrowd.prepared.processes import aggregate_in_processes

METHODS = [wc.MajorityVote, wc.DawidSkene, wc.BCC, wc.Consensus]


class InThread:
    """A partner that is a thread of this process."""

    def __init__(self, rank, handed, barrier):
        self.rank, self.size, self.handed = rank, len(handed), handed
        self.barrier = barrier

    def sum(self, tree):
        self.handed[self.rank] = tree
        self.barrier.wait()
        first, *others = self.handed
        if isinstance(first, dict):
            total = {k: first[k] + sum(o[k] for o in others) for k in first}
        else:
            total = first + sum(others)
        self.barrier.wait()
        return total

    def broadcast(self, tree):
        return self.sum(tree if self.rank == 0 else np.zeros_like(tree))


def in_threads(function, size):
    """Return function(partners) of every one of so many partners."""
    handed, barrier, found = [None] * size, Barrier(size, timeout=60), [None] * size

    def run(rank):
        try:
            found[rank] = function(InThread(rank, handed, barrier))
        except BaseException:
            barrier.abort()
            raise

    threads = [Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def assert_same(run, other, found, want):
    """Claim that two runs have the same labels and skills."""
    assert_allclose(found.label_proba_, want.label_proba_, atol=1e-6)
    assert_allclose(found.confusion_, want.confusion_, atol=1e-6)
    left, right = (m.annotator_summary().iloc[:, 1:] for m in (found, want))
    assert_allclose(left, right, atol=1e-6)
    for path in (run / "labels").iterdir():
        left, right = (pd.read_parquet(p / "labels" / path.name) for p in (run, other))
        assert left["item"].equals(right["item"])
        assert_allclose(left.filter(like="p_"), right.filter(like="p_"), atol=1e-6)


def test_one_process_has_only_itself():
    alone = Alone()
    assert (alone.rank, alone.size) == (0, 1)
    assert alone.sum({"a": 1}) == alone.broadcast({"a": 1}) == {"a": 1}


def test_rows_of_all_processes_are_gathered_in_their_order():
    def rows(partners):
        mine = np.arange(2 * partners.rank).reshape(-1, 2) + 10 * partners.rank
        return gathered(partners, mine).tolist()

    assert in_threads(rows, 3) == [[[10, 11], [20, 21], [22, 23]]] * 3


def test_every_process_reads_its_own_shards_and_none_is_without(prepared):
    parts = [prepared[3].part(rank, 2).shards for rank in range(2)]
    assert [*parts[0], *parts[1]] == [0, 1, 2]
    with pytest.raises(wc.InputError, match=r"3 shards, fewer.*--shards 4"):
        prepared[3].part(0, 4)


@pytest.mark.parametrize("method", [wc.MajorityVote, wc.Consensus])
def test_three_partners_find_the_same_labels_and_skills(
    method, prepared, crowd, tmp_path
):
    folder, _ = prepared[3].with_gold(crowd[1])
    want = aggregate_prepared(method(), folder, tmp_path / "one")
    (tmp_path / "three").mkdir()
    found = in_threads(
        lambda it: aggregate_prepared(method(), folder, tmp_path / "three", it), 3
    )
    assert_same(tmp_path / "three", tmp_path / "one", found[2], want)


# -- on JAX's runtime ----------------------------------------------------------------


def test_two_processes_find_the_same_labels_and_skills(prepared, crowd, tmp_path):
    folder, _ = prepared[3].with_gold(crowd[1])
    one, two = tmp_path / "one", tmp_path / "two"
    want = aggregate_prepared(wc.BCC(), folder, one)
    found = aggregate_in_processes(wc.BCC(), folder, two, 2, force=False)
    assert_same(two, one, found, want)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_four_processes_find_the_same_labels_and_skills(method, file, tmp_path):
    from wisecrowd.prepared.write import prepare

    folder = prepare(file, tmp_path / "prepared", shards=4)
    want = aggregate_prepared(method(), folder, tmp_path / "1")
    for n in (2, 4):
        run = tmp_path / str(n)
        found = aggregate_in_processes(method(), folder, run, n, force=False)
        assert_same(run, tmp_path / "1", found, want)


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_others_in_one_sentence(
    prepared, tmp_path, monkeypatch
):
    wait = processes._wait

    def kill_one_and_wait(workers):
        while not list((tmp_path / "run").glob(".work-*/.work-*")):
            assert all(worker.poll() is None for worker in workers)
            time.sleep(0.01)
        os.kill(workers[1].pid, signal.SIGKILL)
        wait(workers)

    monkeypatch.setattr(processes, "_wait", kill_one_and_wait)
    model = wc.DawidSkene(max_iter=10**6, tol=None)
    with pytest.raises(wc.InputError, match="a process that shares the work has died"):
        aggregate_in_processes(model, prepared[3], tmp_path / "run", 2, force=False)
    assert not list((tmp_path / "run").glob("*")), "no half of a run"


@pytest.mark.slow
def test_what_a_process_refuses_is_its_sentence(prepared, tmp_path):
    model = wc.BCC(dependence=7)
    with pytest.raises(wc.InputError, match=r"^dependence=7 must be 'learn' or from"):
        aggregate_in_processes(model, prepared[3], tmp_path / "run", 2, force=False)


@pytest.mark.slow
def test_ctrl_c_ends_all_processes_and_leaves_nothing(prepared, tmp_path):
    run = tmp_path / "run"
    command = [sys.executable, "-m", "wisecrowd", "aggregate", prepared[3].path]
    forever = ("-m", "bcc", "--set", "max_iter=1000000", "--set", "tol=none")
    command += ["--out", run, "--processes", "2", *forever]
    parent = subprocess.Popen(map(str, command), stderr=subprocess.PIPE, text=True)
    while len(list(run.glob(".work-*/.work-*"))) < 2:
        assert parent.poll() is None
        time.sleep(0.01)
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    workers = [Path("/proc", pid) for pid in children.read_text().split()]
    assert len(workers) == 2
    parent.send_signal(signal.SIGINT)
    assert "interrupted; nothing was written" in parent.communicate()[1]
    ends = time.monotonic() + 20
    while any((w / "exe").exists() for w in workers) and time.monotonic() < ends:
        time.sleep(0.05)
    assert not any((worker / "exe").exists() for worker in workers)
    assert not list(run.iterdir())


@pytest.mark.slow
def test_a_cluster_starts_the_processes_and_the_first_one_speaks(prepared, tmp_path):
    folder = prepared[3]
    want = aggregate_prepared(wc.Consensus(), folder, tmp_path / "one")
    out = ("--out", tmp_path / "two", "--json", "-q")
    first, second = cluster("aggregate", folder.path, *out)
    said, other = first.communicate()[0], second.communicate()[0]
    assert (first.returncode, second.returncode, other) == (0, 0, "")
    assert said.startswith('{"method": "consensus"')
    found = wc.load(tmp_path / "two")
    assert_same(tmp_path / "two", tmp_path / "one", found, want)


@pytest.mark.slow
def test_in_a_cluster_too_a_partner_that_dies_is_one_sentence(prepared, tmp_path):
    forever = ("-m", "bcc", "--set", "max_iter=1000000", "--set", "tol=none")
    command = ("aggregate", prepared[3].path, "--out", tmp_path / "run")
    first, second = cluster(*command, *forever)
    while len(list((tmp_path / "run").glob(".work-*"))) < 2:
        assert first.poll() is second.poll() is None
        time.sleep(0.01)
    second.kill()
    second.communicate()
    said = first.communicate()[1]
    assert first.returncode == 2
    assert said.count("\n") == 1
    assert said.startswith("error: a process that shares the work has died")


def test_a_port_that_another_program_has_is_a_sentence():
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(wc.InputError, match="Choose another port, the same in all"):
            OverJax(address, 2, 0)
    with pytest.raises(wc.InputError, match="the first process cannot use the port"):
        OverJax("127.0.0.1", 2, 0)
