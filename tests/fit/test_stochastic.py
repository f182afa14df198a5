"""The driver of all minibatch methods, with a task whose answer is known: a mean."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from wisecrowd import InputError
from wisecrowd.blocks import Blocks
from wisecrowd.feature_source import PIECE
from wisecrowd.fit import stochastic
from wisecrowd.fit.stochastic import (
    LOOK_BACK,
    MAX_FAILURES,
    WINDOW,
    Place,
    Run,
    Schedule,
    Watched,
    completed,
    gain_per_item,
    rows_of_chunk,
    watched_items,
)
from wisecrowd.fit.trace import Trace

N, SEED = 200, 3


class State(NamedTuple):
    """The estimate, how often it was updated between chunks, how often it failed."""

    mean: float
    between: int = 0
    recovered: int = 0


class Mean:
    """Estimate a mean by averaging batches: −½ Σ (y − m)² is the bound."""

    def __init__(self, failures: int = 0, converges: bool = True) -> None:
        self.y = np.random.default_rng(0).normal(5.0, 1.0, N)
        self.left_to_fail = failures
        self.converges = converges
        self.paces: list[Any] = []

    def steps(self, state, rows, pace):
        self.paces.append(pace)
        mean = state.mean
        for t, batch in enumerate(rows):
            rate = 0.3 * pace.rate * pace.ramp[t] * pace.cooling[t]
            mean += rate * (self.y[batch].mean() - mean)
        return state._replace(mean=mean)

    def between(self, state, place):
        return state._replace(between=state.between + 1)

    def watched(self, state):
        self.left_to_fail -= 1
        per_item = -0.5 * (self.y[watched_items(N, SEED)] - state.mean) ** 2
        bound = math.nan if self.left_to_fail >= 0 else N * per_item.mean()
        return Watched({"bound": float(bound)}, per_item, 0.0)

    def may_converge(self, place):
        return self.converges and place.every_item_seen

    def recovered(self, state):
        return state._replace(recovered=state.recovered + 1)

    def what_is_wrong(self):
        return "no step is finite."


def fitted(task, schedule, run=None, **more):
    """The end of a run, and its trace."""
    run = run or Run(State(0.0), SEED, schedule.n_steps)
    with Trace("mean", schedule.n_steps, show=False) as trace:
        end = completed(task, N, schedule, run, trace=trace, **more)
    return end, trace.frame()


# -- which rows ----------------------------------------------------------------------

sizes = st.tuples(st.integers(1, 40), st.integers(1, 12)).filter(lambda s: s[1] <= s[0])


@given(sizes, st.integers(0, 100))
def test_every_item_is_visited_once_in_a_pass(size, seed):
    n_items, batch = size
    n_steps = -(-3 * n_items // batch)
    rows = rows_of_chunk(seed, n_items, 0, n_steps, batch)
    assert rows.shape == (n_steps, batch)
    flat = rows.ravel()
    for p in range(3):
        one_pass = flat[p * n_items : (p + 1) * n_items]
        assert_array_equal(np.sort(one_pass), np.arange(n_items))


@given(sizes, st.integers(0, 100), st.integers(1, 7), st.integers(0, 20))
def test_the_rows_of_a_step_do_not_depend_on_the_chunks(size, seed, chunk, first):
    n_items, batch = size
    whole = rows_of_chunk(seed, n_items, first, 3 * chunk, batch)
    parts = [
        rows_of_chunk(seed, n_items, first + i * chunk, chunk, batch) for i in range(3)
    ]
    assert_array_equal(np.concatenate(parts), whole)


def test_another_seed_and_another_pass_have_another_order():
    rows = rows_of_chunk(0, 50, 0, 2, 50)
    assert (rows[0] != rows[1]).any()
    assert (rows_of_chunk(1, 50, 0, 1, 50)[0] != rows[0]).any()


def test_few_items_are_all_watched_and_of_many_a_fixed_sample():
    assert_array_equal(watched_items(7, 0), np.arange(7))
    some = watched_items(3 * PIECE, 0)
    assert len(np.unique(some)) == PIECE
    assert (np.diff(some) > 0).all()
    assert_array_equal(some, watched_items(3 * PIECE, 0))
    assert (some != watched_items(3 * PIECE, 1)).any()


class InBlocks(Mean):
    """The same from a source in blocks: it notes what it expects, and what it gets."""

    def __init__(self, blocks):
        super().__init__()
        self.blocks, self.log = blocks, []

    def expect(self, rows):
        self.log.append(rows)

    def steps(self, state, rows, pace):
        self.log.append(rows)
        return super().steps(state, rows, pace)


def test_the_rows_of_the_next_chunk_are_expected_before_the_steps_of_this_one():
    task = InBlocks(Blocks(np.arange(0, N + 1, 25), together=2))
    schedule = Schedule(n_steps=30, batch_size=20, chunk=10)
    fitted(task, schedule)
    expected, taken = task.log[::2], task.log[1::2]
    for next_one, rows in zip(expected, taken[1:], strict=False):
        assert_array_equal(next_one, rows)
    assert [rows.size for rows in expected] == [200, 200, 0]
    first_windows = np.unique(taken[0][:2] // 25)  # 40 items of 50
    assert len(first_windows) == 2


# -- the schedule --------------------------------------------------------------------


@given(st.integers(1, 3000), st.integers(1, 600), st.integers(1, 5000))
def test_a_schedule_never_exceeds_its_steps_and_wastes_less_than_a_chunk(
    n_items, batch_size, n_steps
):
    schedule = Schedule.of(n_items, batch_size, n_steps)
    assert 0 < schedule.n_steps <= n_steps
    assert schedule.n_steps > n_steps - schedule.chunk
    assert schedule.n_steps % schedule.chunk == 0
    assert schedule.batch_size == min(batch_size, n_items)


def test_one_pass_over_sixty_items_is_one_step():
    assert Schedule.of(60, 500, 1).n_steps == 1  # it was four


def test_rates_rise_at_first_and_cool_down_at_the_end():
    schedule = Schedule.of(N, 20, 400)
    task = Mean()
    end, _ = fitted(task, schedule)
    assert end.step == schedule.n_steps
    cooling = np.concatenate([pace.cooling for pace in task.paces])
    ramp = np.concatenate([pace.ramp for pace in task.paces])
    assert cooling[0] == 1.0
    assert (np.diff(cooling) <= 0).all()
    assert 0 < cooling[-1] < 0.02
    assert ramp[0] < 0.2
    assert (np.diff(ramp) >= 0).all()
    assert ramp[-1] == 1.0


# -- a run ---------------------------------------------------------------------------


def test_the_mean_is_found_and_every_chunk_leaves_a_row():
    task = Mean()
    schedule = Schedule.of(N, 20, 400)
    end, trace = fitted(task, schedule)
    assert end.state.mean == pytest.approx(task.y.mean(), abs=0.02)
    n_chunks = schedule.n_steps // schedule.chunk
    assert trace.index.tolist() == [(i + 1) * schedule.chunk for i in range(n_chunks)]
    assert end.state.between == n_chunks
    assert trace["bound"].iloc[-1] > trace["bound"].iloc[0]
    assert trace["seconds"].is_monotonic_increasing


def test_a_bound_that_stands_still_ends_the_run_early_and_only_with_a_tol():
    schedule = Schedule.of(N, 20, 2000, tol=1e-3)
    early, _ = fitted(Mean(), schedule)
    assert early.done
    assert early.step <= 0.5 * schedule.n_steps
    assert early.state.mean == pytest.approx(Mean().y.mean(), abs=0.02)
    unhurried = Schedule.of(N, 20, 2000, tol=None)
    assert fitted(Mean(), unhurried)[0].step == unhurried.n_steps
    # The task may say that it is too early.
    assert fitted(Mean(converges=False), schedule)[0].step == schedule.n_steps


def test_a_smaller_tol_takes_longer():
    loose, strict = (
        fitted(Mean(), Schedule.of(N, 20, 2000, tol=tol))[0].step for tol in (0.3, 1e-6)
    )
    assert loose < strict


class Clock:
    """A second passes at every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("limit", [0.5, 10.0, 30.0])
def test_time_that_is_up_ends_the_run(limit, monkeypatch):
    monkeypatch.setattr(stochastic, "time", Clock())  # a chunk takes a second
    schedule = Schedule.of(N, 20, 400, time_limit=limit)
    end, _ = fitted(Mean(), schedule)
    n_chunks = end.step // schedule.chunk
    assert n_chunks == max(1, int(limit))  # what is under way is finished
    assert end.seconds <= max(limit, 1.0)


def test_after_a_failure_the_chunk_is_taken_again_with_smaller_steps():
    schedule = Schedule.of(N, 20, 400)
    kept = []
    task = Mean(failures=2)
    end, trace = fitted(task, schedule, keep=kept.append)
    assert [run.step for run in kept[:3]] == [0, 0, schedule.chunk]
    assert (end.failures, end.state.recovered) == (2, 2)
    assert_allclose([run.rate for run in kept[:3]], [1 / 3, 1 / 9, 1 / 9])
    assert end.step == schedule.n_steps
    assert len(trace) == schedule.n_steps // schedule.chunk
    assert end.state.between == len(trace)  # what failed left nothing behind


def test_too_many_failures_are_an_error():
    with pytest.raises(InputError, match="no step is finite"):
        fitted(Mean(failures=MAX_FAILURES + 1), Schedule.of(N, 20, 400))
    fitted(Mean(failures=MAX_FAILURES), Schedule.of(N, 20, 400))


@pytest.mark.parametrize("tol", [None, 1e-3])
def test_a_run_that_was_kept_goes_on_as_if_it_had_not_stopped(tol):
    schedule = Schedule.of(N, 20, 800, tol=tol)
    kept = []
    whole, trace = fitted(Mean(), schedule, keep=kept.append)
    for run in kept[:: max(1, len(kept) // 4)]:
        again, rows = fitted(Mean(), schedule, run=run)
        assert again.state == whole.state
        assert again.step == whole.step
        assert_array_equal(rows["bound"], trace["bound"])
        assert_array_equal(rows.index, trace.index)


def test_a_place_knows_its_share():
    assert Place(30, 120, every_item_seen=True).share == 0.25


# -- the gain of the bound -----------------------------------------------------------


def test_the_gain_is_the_change_of_the_same_items_per_window():
    rng = np.random.default_rng(0)
    per_item = [rng.normal(size=9) for _ in range(5)]
    history = tuple((row, 10.0 * i) for i, row in enumerate(per_item))
    chunk = WINDOW // 4  # five states are one window
    want = np.mean(per_item[4] - per_item[0]) + 40.0 / 9
    assert gain_per_item(history, 9, chunk) == pytest.approx(want)
    # Of a sample, what noise could have made of it is no gain.
    change = per_item[4] - per_item[0]
    error = change.std() / math.sqrt(9)
    want = change.mean() + 40.0 / 900 + error
    assert gain_per_item(history, 900, chunk) == pytest.approx(want)


def test_without_a_whole_window_nothing_is_known_of_the_gain():
    history = tuple((np.zeros(3), 0.0) for _ in range(4))
    assert gain_per_item(history, 3, LOOK_BACK // 4) == math.inf
    assert gain_per_item((*history, history[0]), 3, LOOK_BACK // 4) == 0.0


def test_of_chunks_longer_than_a_window_the_gain_is_that_of_a_window():
    history = ((np.zeros(4), 0.0), (np.ones(4), 0.0))
    assert gain_per_item(history, 4, 2 * WINDOW) == pytest.approx(0.5)
