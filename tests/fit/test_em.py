import warnings
from importlib import import_module

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

import wisecrowd as wc
from wisecrowd._checks import InputError
from wisecrowd.fit.em import FEW, climb, threads_for
from wisecrowd.fit.trace import Trace


def halved(x):
    return x / 2, {"bound": -x / 2}


def test_climb_stops_after_the_first_gain_below_tol():
    trace = Trace("test", total=100, show=False)
    end = climb(halved, 16.0, trace=trace, max_iter=100, tol=1.5)
    assert trace.frame()["bound"].tolist() == [-8.0, -4.0, -2.0, -1.0]
    assert end == 1.0


def test_climb_without_tol_runs_all_updates_and_says_nothing():
    trace = Trace("test", total=3, show=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        end = climb(halved, 16.0, trace=trace, max_iter=3, tol=None)
    assert (end, len(trace.frame())) == (2.0, 3)


def test_climb_warns_with_the_last_gain_when_it_did_not_arrive():
    trace = Trace("test", total=2, show=False)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations.*gained 4 nats"):
        climb(halved, 16.0, trace=trace, max_iter=2, tol=1e-3)


@pytest.mark.parametrize("max_iter", [0, -1, 2.5, float("nan"), "10", None, True])
def test_climb_needs_a_whole_number_of_iterations(max_iter):
    with pytest.raises(InputError, match=r"^max_iter=.* a whole number, at least 1\.$"):
        climb(halved, 1.0, trace=Trace("x", 0, show=False), max_iter=max_iter, tol=None)


@pytest.mark.parametrize("tol", [-1e-9, float("nan"), "1e-3", [], True])
@pytest.mark.parametrize(
    "name",
    ["bcc", "dawid-skene", "ebcc", "glad", "gpep", "raykar", "rffgpcr", "vgpcr", "yan"],
)
def test_a_tol_that_is_no_number_is_refused_with_a_sentence(name, tol):
    model = wc.METHODS[name]().set_params(tol=tol)
    data = [np.eye(4)[:, :2]] if wc.METHODS.info(name).needs == "features" else []
    with pytest.raises(InputError, match=r"^tol=.* must be at least 0, or None\.$"):
        model.fit(*data, [[0, 1], [1, 1], [0, 0], [1, 0]])


def test_a_bound_that_is_not_a_number_ends_a_fit_with_a_sentence():
    trace = Trace("test", total=3, show=False)
    with pytest.raises(InputError, match=r"^the fit broke down.*Try the defaults\.$"):
        climb(lambda x: (x, {"bound": float("nan")}), 1, trace=trace, max_iter=3, tol=0)


@pytest.mark.parametrize(("one_thread", "wanted"), [(True, {1}), (False, {2})])
def test_blas_has_one_thread_unless_the_matrices_are_large(one_thread, wanted):
    seen = set()

    def update(state):
        found = threadpool_info()
        seen.update(p["num_threads"] for p in found if p["user_api"] == "blas")
        return state, {"bound": 0.0}

    with threadpool_limits(2, user_api="blas"), Trace("", 1, show=False) as trace:
        climb(update, 0, trace=trace, max_iter=1, tol=None, one_thread=one_thread)
    assert seen == wanted


def blas_threads():
    return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}


@pytest.mark.parametrize(("n_items", "wanted"), [(FEW - 1, {1}), (FEW, {2})])
def test_few_items_have_one_thread(n_items, wanted):
    with threadpool_limits(2, user_api="blas"), threads_for(n_items):
        assert blas_threads() == wanted


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        (wc.GPEP, "wisecrowd.maths.expectation_propagation.propagated"),
        (wc.VGPCR, "wisecrowd.methods.gpcr.loop.updated"),
        (wc.RFFGPCR, "wisecrowd.methods.gpcr.loop.updated"),
    ],
)
def test_the_search_for_a_start_has_one_thread_too(kind, where, monkeypatch):
    module, name = where.rsplit(".", 1)
    usual, seen = getattr(import_module(module), name), []

    def watched(*args, **kwargs):
        seen.append(blas_threads())
        return usual(*args, **kwargs)

    monkeypatch.setattr(where, watched)
    crowd = wc.simulate(40, 5, 2, n_features=2, random_state=0)
    with threadpool_limits(2, user_api="blas"):
        kind(max_iter=50, tol=1e-2).fit(crowd.X, crowd.answers)
    assert len(seen) > 4
    assert all(found == {1} for found in seen)
