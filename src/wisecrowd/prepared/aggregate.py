"""Labels of a prepared folder: learned in passes, pooled, and written in shards."""

import math
import shutil
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from wisecrowd._checks import InputError, counted, listed, one_of, random_numbers
from wisecrowd._files import temporary_folder
from wisecrowd._types import Array
from wisecrowd.annotations.groups import group_codes
from wisecrowd.annotations.sizes import free_memory
from wisecrowd.answers import Answers
from wisecrowd.base import Learned
from wisecrowd.fit.collapse import said_of_lost
from wisecrowd.fit.partners import Alone, Partners
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd, pool, together
from wisecrowd.metrics.calibration import Calibration
from wisecrowd.persist import save
from wisecrowd.prepared.folder import Block, Prepared, file_name, moved
from wisecrowd.prepared.learn import End, Proba, bcc, consensus, dawid_skene
from wisecrowd.prepared.passes import (
    Passes,
    Scratch,
    Sums,
    passes_over,
    selective,
    soft_sums,
    summed,
)
from wisecrowd.results.run_folder import write_table
from wisecrowd.results.tables import annotator_table, answered_table, confusion_table
from wisecrowd.skills import Tally, Votes
from wisecrowd.skills.confusion_matrices import DOUBT
from wisecrowd.skills.tally import vote_shares

LABELS, NEW_LABELS = "labels", ".labels-new"  # folders in that of the run
N_TABLES = 21  # of annotators, classes and answers, held when confusion.parquet is made
METHODS = ("majority-vote", "dawid-skene", "bcc", "consensus")
SKIPPED = 1 << 20  # random numbers that are drawn at a time, not to be used


class Labels(NamedTuple):
    """How the labels of a block are made, and what was learned on the way."""

    of: Proba
    learned: Callable[[Sums], Learned]  # from the sums over the labelled items


def aggregate_prepared(
    model: Any,
    prepared: Prepared,
    out: str | Path,
    partners: Partners | None = None,
    *,
    scratch: Path | None = None,
    force: bool = False,
) -> Any:
    """Fit a method to a prepared folder, and write labels, annotators and the model.

    Memory does not grow with the number of items. The model keeps the labels of a
    sample of them, `N_LEARN` items; the labels of all items are in the folder
    ``labels`` of the run.

    Parameters
    ----------
    model : MajorityVote, DawidSkene, BCC or Consensus
        The method, with its settings. It is fitted, and returned.
    prepared : Prepared
        The answers, with gold where some is known.
    out : path
        The folder of the run.
    partners : Partners, optional
        The other processes. Each writes the labels of its shards, and the first one
        everything else.
    scratch : path, optional
        Where Consensus keeps arrays with a row per item: a fast disk of this machine.
        Default: in `out`. What is put there is removed at the end.
    force : bool
        Whether to replace files of the same names that no run has written.
    """
    if model.method.name not in METHODS:
        raise InputError(
            f"{model.method.name} has to hold all answers in memory, and cannot take a "
            f"prepared folder. {listed(METHODS)} can."
        )
    partners, out = partners or Alone(), Path(out)
    if hasattr(model, "_check_dependence"):
        model._check_dependence()
    _check_memory(prepared)
    if partners.rank == 0:
        shutil.rmtree(out / NEW_LABELS, ignore_errors=True)  # of a run that was killed
    passes = passes_over(prepared, partners)
    show = getattr(model, "progress", False) if partners.rank == 0 else False
    total = getattr(model, "max_iter", 1)
    with (
        Trace(model.method.name, total, show) as trace,
        temporary_folder(scratch or out) as work,
    ):
        labels = _labels_by(model, passes, trace, Scratch(work))
        sums = _write_labels(passes, labels.of, out)
        _remember(model, passes, labels, sums)
        model.trace_ = trace.frame()
    if partners.rank == 0:
        (out / LABELS).mkdir(exist_ok=True)  # now that all shards are there
        moved(f"{LABELS}-*.parquet", out / NEW_LABELS, out / LABELS)
        (out / NEW_LABELS).rmdir()
        tables = {
            "annotators.csv": partial(write_table, annotator_table(model)),
            "confusion.parquet": partial(write_table, confusion_table(model)),
            "trace.csv": partial(write_table, model.trace_.reset_index()),
        }
        save(model, out, tables=tables, force=force)
    return model


def _check_memory(prepared: Prepared) -> None:
    needed, free = 8.0 * N_TABLES * math.prod(prepared.shape[1:]), free_memory()
    if needed > free:
        sizes = zip(prepared.shape[1:3], ("annotator", "class"), strict=True)
        raise InputError(
            f"the fit would need about {needed / 2**30:,.1f} GB of memory, and "
            f"{free / 2**30:,.1f} GB are free: there are "
            f"{' and '.join(counted(*size) for size in sizes)}. Merge classes."
        )


def _labels_by(model: Any, passes: Passes, trace: Trace, scratch: Scratch) -> Labels:
    """Learn with a method, and return how it labels items."""
    name = model.method.name
    if name == "majority-vote":
        return _votes(model, passes, trace)
    if name == "consensus":
        end = consensus(model, passes, trace, scratch)
    else:
        end = {"dawid-skene": dawid_skene, "bcc": bcc}[name](model, passes, trace)
    if model.dependence is None:
        return Labels(end.proba, lambda sums: _learned(end, sums))
    annotators = passes.prepared.annotators
    group = group_codes(getattr(model, "groups", None), annotators)
    return _pooled(end, passes, model.dependence, group)


def _votes(model: Any, passes: Passes, trace: Trace) -> Labels:
    one_of(model.ties, ("random", "first"), "ties")
    n_classes = passes.prepared.shape[2]
    rng = random_numbers(model.random_state)
    drawn = [0]  # items whose ties were drawn before

    def of(block: Block) -> Array:
        if model.ties == "random":
            skip = (block.first - drawn[0]) * n_classes
            for n in [SKIPPED] * (skip // SKIPPED) + [skip % SKIPPED]:
                rng.random_sample(n)
            drawn[0] = block.first + block.answers.n_items
        return vote_shares(block.answers, block.gold, model.ties, rng)

    def learned(sums: Sums) -> Learned:
        trace.record(bound=-float(sums["entropy"]))
        whole = isinstance(model.random_state, int | np.integer)
        seed = int(model.random_state) if whole else None
        tally = Tally(sums["counts"], sums["hit_variance"])
        votes = Votes(tally, model.ties, seed)
        return Learned(np.empty(0), _shares(sums), votes)

    return Labels(of, learned)


def _pooled(end: End, passes: Passes, dependence: Any, group: Array | None) -> Labels:
    """Return how the pool labels items: `maths/pool/method.py: pooled`, from sums."""
    learn = dependence == "learn"
    member = np.arange(passes.prepared.shape[1])
    one = member
    if learn and group is None:
        distinct = passes.sample.answers.distinct()
        one = together.copies(distinct)
        member = together.as_one(distinct, one)[1]

    def view(block: Block) -> Answers:
        return together.as_one(block.answers.distinct(), one)[0]

    def seen(block: Block) -> Sums:
        return soft_sums(block, view(block), end.proba(block))

    sums = passes.total(seen)
    who = selective(passes, sums["counts"], view)
    readings = pool.readings_by(sums["counts"], sums["items"], end.priors, who)
    votes = np.arange(len(one)) if group is None else group

    def witnesses(block: Block) -> pool.Witnesses:
        answers = view(block)
        weight = np.ones(len(answers))
        if learn or group is not None:
            weight = together.weight_of_copies(answers, votes)
        return pool.Witnesses(answers, weight, end.proba(block), readings)

    sample = witnesses(passes.sample)
    found = pool.learned_pool(sample.of_items(passes.drawn), who, dependence)
    honest: Calibration | None = None
    if len(passes.ruler):
        gold = passes.sample.gold[passes.ruler]
        ruler = sample.of_items(passes.ruler)
        found, honest = pool.ruled(ruler, found, gold, dependence)
    kept = found.of(member)
    return Labels(
        lambda block: pool.labels(witnesses(block), found, block.gold),
        lambda sums: _learned(end, sums, DOUBT * kept.votes)._replace(
            calibration=honest, pool=kept
        ),
    )


# -- what a model keeps --------------------------------------------------------------


def _learned(end: End, sums: Sums, doubt: float = 0.0) -> Learned:
    """Return what the final labels teach about annotators and classes."""
    skills = replace(
        end.skills.with_statistics(sums["counts"]),
        hit_variance=sums["hit_variance"],
        n_compared=sums["n_compared"],
        doubt=doubt,
    )
    shares = _shares(sums) if end.class_prior is None else end.class_prior
    return Learned(np.empty(0), shares, skills)


def _shares(sums: Sums) -> Array:
    shares: Array = sums["items"] / sums["items"].sum()
    return shares


def _remember(model: Any, passes: Passes, labels: Labels, sums: Sums) -> None:
    """Set all fitted attributes; warn if the sample has lost a class."""
    prepared = passes.prepared
    model.classes_, model.answers_ = prepared.classes, prepared.answers
    model.annotators_ = prepared.annotators
    model.items_ = _names_of(prepared, passes.sampled[passes.drawn])
    model.n_answers_ = np.rint(sums["counts"].sum((1, 2))).astype(np.int64)
    proba = sums["sample"][passes.drawn]
    model.learned_ = labels.learned(sums)._replace(proba=proba)
    lost = said_of_lost(
        passes.sample.answers.of_items(passes.drawn), proba, model.classes_,
        has_prior=hasattr(model, "annotator_prior"),
    )  # fmt: skip
    if lost and passes.partners.rank == 0:
        warnings.warn(lost, stacklevel=3)


def _names_of(prepared: Prepared, codes: Array) -> Array:
    """Return the names of items of all shards, by their codes in order."""
    found, first = [], 0
    for column in prepared.whole().names():
        lo, hi = np.searchsorted(codes, [first, first + len(column)])
        found += column.take(pa.array(codes[lo:hi] - first)).to_pylist()
        first += len(column)
    names = np.array(found, dtype=object)
    return names.astype(np.int64) if isinstance(found[0], int) else names


# -- the labels of all items ---------------------------------------------------------


def _write_labels(passes: Passes, of: Proba, out: Path) -> Sums:
    """Write the labels of this process's shards; return sums over all items."""
    folder, prepared = out / NEW_LABELS, passes.prepared
    folder.mkdir(exist_ok=True)
    sums: Sums = {}
    for shard in prepared.shards:
        one = replace(prepared, shards=range(shard, shard + 1))
        path = folder / file_name(LABELS, shard)
        _write_shard(one, passes.sampled, of, path, sums)
    return passes.partners.sum(sums)


def _write_shard(
    prepared: Prepared, sampled: Array, of: Proba, path: Path, sums: Sums
) -> None:
    """Write the labels of one shard, and add to the sums."""
    names, files = prepared.names(), list[Any]()

    def labelled(block: Block) -> Sums:
        proba, answers = of(block), block.answers
        items = next(names).to_numpy()
        table = answered_table(items, proba, prepared.classes, answers)
        table = pa.Table.from_pandas(table, preserve_index=False)
        if not files:
            files.append(pq.ParquetWriter(path, table.schema))
        files[0].write_table(table)
        lo, hi = np.searchsorted(sampled, [block.first, block.first + len(proba)])
        sample = np.zeros((len(sampled), proba.shape[1]))
        sample[lo:hi] = proba[sampled[lo:hi] - block.first]
        return {
            **soft_sums(block, answers, proba),
            "hit_variance": crowd.hit_variance(answers, proba),
            "n_compared": crowd.n_compared(answers),
            "entropy": np.asarray(crowd.entropy(proba).sum()),
            "sample": sample,
        }

    summed(labelled, prepared.blocks(), sums)
    files[0].close()
