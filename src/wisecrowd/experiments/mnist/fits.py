"""The fits: MNIST with the paper's five annotators, methods, sizes, seeds."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import wisecrowd as wc
from wisecrowd._types import Array, Confusion
from wisecrowd.annotations.dataset import Dataset
from wisecrowd.datasets import load_mnist
from wisecrowd.experiments.one_method import IMAGES
from wisecrowd.experiments.runner import Job, Outcome
from wisecrowd.experiments.scoring import fit, scored
from wisecrowd.metrics import truth_codes
from wisecrowd.results.limits import measured

ROBUST: dict[str, Any] = {"link": "robustmax", "epsilon": 1e-3}
METHODS: dict[str, Callable[..., Any]] = {
    "svgp-gold": partial(wc.SVGP, **ROBUST),
    "published": wc.SVGPCR.as_published,
    "robust-max": partial(wc.SVGPCR, **ROBUST),
    "longer": partial(wc.SVGPCR, **ROBUST, max_epochs=60, tol=None),
    "default": wc.SVGPCR,
    "convolutional": partial(wc.SVGPCR, kernel=wc.Deep(IMAGES)),
}
NAMES = {
    "svgp-gold": "SVGP on gold",
    "published": "as_published()",
    "robust-max": "robust max",
    "longer": "robust max, longer",
    "default": "default",
    "convolutional": "convolutional kernel",
}


class Settings(NamedTuple):
    """What a size means: the first digits of each part of MNIST, and what is fitted."""

    n_train: int
    n_test: int
    n_inducing: int  # the M of the tables
    sweep: tuple[int, ...]  # the M of the figure of their influence
    passes: tuple[int, ...]  # lengths of the fits for the figure over time
    batches: tuple[int, ...]  # batch sizes of the figure of the cost of an epoch
    n_seeds: int
    methods: tuple[str, ...] = tuple(METHODS)  # of the tables
    swept: tuple[str, ...] = ("robust-max", "published")
    settings: Mapping[str, Mapping[str, Any]] = {}  # where they are not the method's
    precisions: tuple[str, ...] = ("float32", "float64")  # of the cost of an epoch


QUICK = {name: {"max_epochs": 60} for name in METHODS}
QUICK["published"] = {"max_epochs": 400}  # of one step each
LONG = {"published": {"max_epochs": 150, "learning_rate": 0.03, "tol": None}}
"""The published code takes 31,000 steps of Adam; as_published() takes 3,000, in which
q(Z) and the annotators of 60,000 digits do not arrive. 9,000 larger steps do."""
SIZES: dict[str, Settings] = {
    "tiny": Settings(  # of the smoke test
        120, 60, 4, (4,), (1,), (120,), 1, ("robust-max",), ("robust-max",),
        {"robust-max": {"max_epochs": 1}}, ("float32",),
    ),
    "small": Settings(
        1_000, 1_000, 30, (10, 30), (20,), (500,), 1,
        ("svgp-gold", "published", "robust-max", "default"), ("robust-max",), QUICK,
    ),
    "medium": Settings(
        12_000, 10_000, 100, (10, 50, 100, 250), (1, 3, 10), (100, 500, 2500), 2,
        settings=LONG,
    ),
    "full": Settings(
        60_000, 10_000, 100, (10, 50, 100, 250, 500), (1, 3, 10),
        (50, 100, 250, 500, 1000, 2500), 5, settings=LONG,
    ),
}  # fmt: skip


def jobs(size: str, seeds: Sequence[int], methods: Sequence[str]) -> list[Job]:
    """Return the fits of the tables first, then those of the sweeps, ours before."""
    now = SIZES[size]
    seeds = seeds or range(now.n_seeds)
    of_tables = [
        _job(now, method, seed, n_inducing=now.n_inducing)
        for seed in seeds
        for method in (methods or now.methods)
    ]
    swept = [
        job
        for m in now.swept
        if not methods or m in methods
        for job in _sweeps(now, m, seeds)
    ]
    if "longer" in (methods or now.methods):  # once with the largest M: it takes long
        swept.append(_job(now, "longer", seeds[0], n_inducing=now.sweep[-1]))
    return of_tables + swept


def _job(now: Settings, method: str, seed: int, **chosen: Any) -> Job:
    data = {"n_train": now.n_train, "n_test": now.n_test}
    own = now.settings.get(method, {})
    return Job("mnist", method, seed, {**data, **own, **chosen}, fitted)


def _sweeps(now: Settings, method: str, seeds: Sequence[int]) -> list[Job]:
    """Return the fits with other M, shorter ones, and those that measure an epoch."""
    published = method == "published"
    # Ours has all seeds with the largest M: its scores are in a table, too.
    of_influence = [
        _job(now, method, seed, n_inducing=m)
        for m in now.sweep
        for seed in (seeds if m == now.sweep[-1] and not published else seeds[:1])
        if m != now.n_inducing
    ]
    over_time = [
        _job(now, method, seeds[0], n_inducing=m, max_epochs=n, tol=None)
        for m in now.sweep
        for n in now.passes
    ]
    data = {name: getattr(now, name) for name in ("n_train", "n_test", "n_inducing")}
    of_epochs = [
        {**data, "batch_size": n, "dtype": dtype, "device": on}
        for on in devices()
        for dtype in now.precisions
        for n in now.batches
    ]
    return [
        *of_influence,
        *(Job("mnist-epoch", method, seeds[0], one, epoch) for one in of_epochs),
        *(job._replace(experiment="mnist-time") for job in over_time),
    ]


def devices() -> list[str]:
    """Return what JAX can use here: ["cpu"], or ["cpu", "gpu"]."""
    import jax

    return ["cpu", *[jax.default_backend()] * (jax.default_backend() != "cpu")]


# -- one fit -------------------------------------------------------------------------


def first(n_train: int, n_test: int, seed: int) -> Dataset:
    """Return the first digits of both parts of MNIST, with the paper's annotators."""
    data: Any = load_mnist(random_state=seed)
    kept = data.answers
    if n_train < len(data.X):
        kept = kept.subset(items=kept.items[:n_train])
    return replace(
        data, answers=kept, gold=data.gold[:n_train], X=data.X[:n_train],
        X_test=data.X_test[:n_test], gold_test=data.gold_test[:n_test],
    )  # fmt: skip


def fitted(
    method: str, seed: int, *, n_train: int, n_test: int, n_inducing: int, **others: Any
) -> Outcome:
    """Fit once; score new digits, the training labels and the annotators."""
    data: Any = first(n_train, n_test, seed)
    model = METHODS[method](n_inducing=n_inducing, random_state=seed, **others)
    model.set_params(progress=False)
    gold = method == "svgp-gold"
    cost = fit(model, data, to="gold" if gold else "crowd")
    found = scored(model, data)
    found["steps"] = int(model.trace_.index[-1])
    found["bound"] = float(model.trace_["bound"].iloc[-1])
    if gold:
        return Outcome(found, cost)
    spread = variance(model.learned_.skills.counts)
    found["largest_variance"] = float(spread.max())
    found["confusion_error"] = float(np.abs(model.confusion_ - data.confusion).max())
    arrays = {"confusion": model.confusion_, "true_confusion": data.confusion}
    return Outcome(found, cost, arrays | _wrong(model, data) | _inducing(model))


def variance(counts: Confusion) -> Confusion:
    """Return α (s - α) / (s² (s + 1)), s = Σ α: the variance of a Dirichlet's entries.

    Examples
    --------
    >>> variance(np.array([[[1.0, 1.0]]])).round(4).tolist()
    [[[0.0833, 0.0833]]]
    """
    total = counts.sum(-1, keepdims=True)
    return counts * (total - counts) / (total**2 * (total + 1))


def _wrong(model: Any, data: Any) -> dict[str, Array]:
    """Return the digits whose label is wrong, those of large probability first."""
    proba, truth = model.label_proba_, truth_codes(data.gold, model.classes_)
    wrong = np.flatnonzero(proba.argmax(1) != truth)
    wrong = wrong[np.argsort(proba[wrong, truth[wrong]])[::-1]][:20]
    return {
        "wrong": data.X[wrong], "wrong_proba": proba[wrong], "wrong_class": truth[wrong]
    }  # fmt: skip


def _inducing(model: Any) -> dict[str, Array]:
    """Return where the inducing points are, and the class of each."""
    if "network" in model.learned_.classifier.kernel:
        return {}
    found = model.inducing_points()
    return {
        "inducing": np.asarray(found.points, np.float32),
        "inducing_class": truth_codes(found.classes, model.classes_),
    }


# -- one epoch -----------------------------------------------------------------------


def epoch(
    method: str, seed: int, *, n_train: int, n_test: int, device: str, **settings: Any
) -> Outcome:
    """Measure the seconds of a pass over the digits, without those of compiling."""
    import jax

    data = first(n_train, n_test, seed)
    model = METHODS[method](random_state=seed, max_epochs=2, tol=None, **settings)
    model.set_params(progress=False)
    where = jax.devices(device)[0]
    with jax.default_device(where) if device != "cpu" else nullcontext():
        with measured() as cost:
            model.fit(data.X, data.answers)
        model.predict_proba(data.X_test)  # compiles
        with measured() as testing:
            model.predict_proba(data.X_test)
    per_epoch = per_step(model.trace_) * n_train / settings["batch_size"]
    return Outcome({"epoch_seconds": per_epoch, "test_seconds": testing.seconds}, cost)


def per_step(trace: Any) -> float:
    """Return the median seconds of a step; the first row has compiled.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"step": [10, 20, 30], "seconds": [5.0, 6.0, 7.0]})
    >>> per_step(rows.set_index("step"))
    0.1
    """
    steps, seconds = trace.index.to_numpy(), trace["seconds"].to_numpy()
    if len(steps) < 2:
        return float(seconds[-1] / max(steps[-1], 1))
    return float(np.median(np.diff(seconds) / np.diff(steps)))


def check() -> None:
    """Refuse to begin if MNIST is neither there nor can be downloaded."""
    load_mnist()
