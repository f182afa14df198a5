"""Methods that read a folder in passes find what they find in memory."""

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import wisecrowd as wc
from wisecrowd.fit.partners import Alone
from wisecrowd.prepared import aggregate, write
from wisecrowd.prepared import passes as reading
from wisecrowd.prepared.aggregate import aggregate_prepared
from wisecrowd.prepared.write import prepare

MODELS = {
    "majority vote": lambda: wc.MajorityVote(random_state=3),
    "majority vote, first": lambda: wc.MajorityVote(ties="first"),
    "Dawid-Skene": wc.DawidSkene,
    "Dawid-Skene, published": wc.DawidSkene.as_published,
    "BCC": wc.BCC,
    "BCC, published": wc.BCC.as_published,
    "BCC, given": lambda: wc.BCC(annotator_prior="diagonal", dependence=0.3),
    "Consensus": wc.Consensus,
    "Consensus, families": lambda: wc.Consensus(groups={0: "a", 1: "a", 2: "a"}),
}


def labels_of(run):
    """Return the labels of all shards of a run, one after the other."""
    return pd.concat(map(pd.read_parquet, sorted(run.glob("labels/*.parquet"))))


def assert_same(found, want, run=None):
    """Claim that two models are the same to 1e-8, and what a run has written."""
    for name in ("label_proba_", "class_prior_", "confusion_", "worth_interval_"):
        assert_allclose(getattr(found, name), getattr(want, name), atol=1e-8)
    for name in ("classes_", "answers_", "annotators_", "n_answers_", "items_"):
        assert_array_equal(getattr(found, name), getattr(want, name))
    left, right = (m.annotator_summary().iloc[:, 1:] for m in (found, want))
    assert_allclose(left, right, atol=1e-8)
    assert_allclose(found.trace_["bound"], want.trace_["bound"], rtol=1e-8)
    if want.calibration_ is not None:
        assert_allclose(found.calibration_, want.calibration_, atol=1e-8)
    if run is not None:
        table = labels_of(run)
        assert_array_equal(table["item"], want.items_)
        assert_array_equal(table["label"], want.labels_)
        columns = [name for name in table if name.startswith("p_")]
        assert_allclose(table[columns], want.label_proba_, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "shards"),
    [*((name, 3) for name in MODELS), ("BCC", 1), ("Consensus", 1)],
)
def test_labels_and_skills_are_those_of_the_method_in_memory(
    name, shards, crowd, prepared, tmp_path
):
    answers, gold = crowd
    if shards == 1:
        gold = {}
    folder, notes = prepared[shards].with_gold(gold)
    found = aggregate_prepared(MODELS[name](), folder, tmp_path)
    assert notes == []
    assert_same(found, MODELS[name]().fit(answers, gold=gold), tmp_path)


@pytest.mark.parametrize("name", ["Dawid-Skene, published", "Consensus"])
def test_many_blocks_repeated_answers_and_copies_change_nothing(
    name, crowd, tmp_path, monkeypatch
):
    monkeypatch.setattr(write, "LEAST_ROWS", 500)
    table = crowd[0].to_frame()
    copy = table[table["annotator"] == table["annotator"].mode()[0]]
    again = [table, table.iloc[::7], copy.assign(annotator=99)]
    table = pd.concat(again, ignore_index=True)
    table.to_parquet(tmp_path / "answers.parquet")
    folder = prepare(tmp_path / "answers.parquet", tmp_path / "prepared", shards=2)
    assert sum(1 for _ in folder.blocks()) > 5
    found = aggregate_prepared(MODELS[name](), folder, tmp_path / "run")
    assert_same(found, MODELS[name]().fit(table), tmp_path / "run")


# -- patterns ------------------------------------------------------------------------


@pytest.fixture
def panel(tmp_path):
    """Five annotators, two classes: 2,000 items have few patterns of answers."""
    crowd = wc.simulate(2000, 5, 2, answers_per_item=4, random_state=2)
    answers = wc.Annotations.from_frame(crowd.answers.to_frame())
    answers.to_frame().to_parquet(tmp_path / "answers.parquet")
    folder = prepare(tmp_path / "answers.parquet", tmp_path / "prepared", shards=2)
    gold = dict(enumerate(crowd.truth[:60].tolist()))
    return answers, gold, folder.with_gold(gold)[0]


def test_a_small_panel_is_learned_from_its_patterns(panel):
    answers, gold, folder = panel
    block = reading.passes_over(folder, Alone()).patterns
    matrix = answers.with_gold(gold).to_matrix()
    rows = np.column_stack([matrix, answers.with_gold(gold).gold_codes])
    want, times = np.unique(rows, axis=0, return_counts=True)
    assert len(want) == block.answers.n_items < 200
    found = np.full(want[:, :-1].shape, -1)
    found[block.answers.item, block.answers.annotator] = block.answers.answer
    found = np.column_stack([found, block.gold, block.times.astype(int)])
    want = np.column_stack([want, times])
    assert_array_equal(found[np.lexsort(found.T)], want[np.lexsort(want.T)])


@pytest.mark.parametrize("name", ["Dawid-Skene, published", "BCC"])
def test_patterns_give_the_labels_of_the_items(name, panel, tmp_path):
    answers, gold, folder = panel
    found = aggregate_prepared(MODELS[name](), folder, tmp_path / "run")
    assert_same(found, MODELS[name]().fit(answers, gold=gold), tmp_path / "run")


@pytest.mark.parametrize("why", ["many", "repeated", "large"])
def test_there_are_no_patterns_where_they_would_not_help(
    why, panel, prepared, tmp_path, monkeypatch
):
    folder = panel[2]
    if why == "many":
        monkeypatch.setattr(reading, "MOST_PATTERNS", 20)
    if why == "repeated":
        table = panel[0].to_frame()
        table = pd.concat([table, table.iloc[:1].assign(answer=0)])
        table.to_parquet(tmp_path / "again.parquet")
        folder = prepare(tmp_path / "again.parquet", tmp_path / "again")
    if why == "large":
        folder = prepared[1]
    assert reading.passes_over(folder, Alone()).patterns is None


# -- more items than stay in memory --------------------------------------------------


def test_a_sample_sets_the_pool_of_many_items(crowd, prepared, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "N_LEARN", 200)
    answers, gold = crowd
    folder, _ = prepared[3].with_gold(gold)
    found = aggregate_prepared(wc.BCC(), folder, tmp_path)
    assert len(found.items_) == len(found.label_proba_) == 200
    everything = labels_of(tmp_path).set_index("item")
    assert len(everything) == 600
    of_sample = everything.loc[found.items_.tolist()]
    assert_allclose(of_sample[["p_0", "p_1", "p_2"]], found.label_proba_)
    want = wc.BCC().fit(answers, gold=gold)
    # The readings are those of all items; how much they count is that of the sample.
    proba = everything[["p_0", "p_1", "p_2"]].to_numpy()
    assert np.abs(proba - want.label_proba_).max() < 0.1
    assert_allclose(found.class_prior_, want.class_prior_, atol=1e-8)
    assert found.calibration_.n_gold == want.calibration_.n_gold


def test_published_posteriors_need_no_sample(crowd, prepared, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "N_LEARN", 50)
    aggregate_prepared(wc.BCC.as_published(), prepared[3], tmp_path)
    want = wc.BCC.as_published().fit(crowd[0])
    table = labels_of(tmp_path)
    assert_allclose(table[["p_0", "p_1", "p_2"]], want.label_proba_, atol=1e-8)


def test_drawn_items_are_in_order_and_each_once():
    drawn = reading.drawn_items(10**9, 1000)
    assert (np.diff(drawn) > 0).all()
    assert 0.4e9 < drawn.mean() < 0.6e9
    assert_array_equal(reading.drawn_items(5, 1000), range(5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [partial(wc.DawidSkene, tol=None), wc.Consensus], ids=["EM", "Consensus"]
)
def test_memory_does_not_grow_with_the_number_of_items(method, tmp_path, monkeypatch):
    monkeypatch.setattr(write, "LEAST_ROWS", 1000)
    monkeypatch.setattr(reading, "N_LEARN", 200)
    peaks = []
    for n_items in (1000, 10_000):
        item = np.repeat(np.arange(n_items), 4)
        rng = np.random.default_rng(0)
        table = {"item": item, "annotator": rng.integers(0, 60, len(item))}
        pd.DataFrame({**table, "answer": (item + (rng.random(len(item)) < 0.3)) % 2}
                     ).to_parquet(tmp_path / f"{n_items}.parquet")  # fmt: skip
        folder = prepare(tmp_path / f"{n_items}.parquet", tmp_path / str(n_items))
        model = method(max_iter=3)
        tracemalloc.start()
        aggregate_prepared(model, folder, tmp_path / "run")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


# -- the run -------------------------------------------------------------------------


def test_a_run_has_the_model_and_its_tables(crowd, prepared, tmp_path):
    found = aggregate_prepared(wc.BCC(), prepared[3], tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "labels", "annotators.csv", "confusion.parquet", "trace.csv", "model.json",
        "model.safetensors",
    }  # fmt: skip
    loaded = wc.load(tmp_path)
    assert_array_equal(loaded.predict(crowd[0]), found.predict(crowd[0]))
    aggregate_prepared(wc.MajorityVote(), prepared[1], tmp_path)
    assert len(list(tmp_path.glob("labels/*"))) == 1, "shards of the earlier run"


def test_tables_that_need_more_memory_than_there_is_are_refused(
    prepared, tmp_path, monkeypatch
):
    monkeypatch.setattr(aggregate, "free_memory", lambda: 1000.0)
    with pytest.raises(wc.InputError, match=r"there are \d+ annotators and 3 classes"):
        aggregate_prepared(wc.BCC(), prepared[1], tmp_path)


def test_a_run_that_fails_leaves_the_labels_of_the_one_before(
    prepared, tmp_path, monkeypatch
):
    aggregate_prepared(wc.MajorityVote(), prepared[3], tmp_path)
    before = labels_of(tmp_path)
    calls = []

    def failing(*given):
        calls.append(given)
        if len(calls) == 3:
            raise OSError("the disk is full")
        return write_shard(*given)

    write_shard = aggregate._write_shard
    monkeypatch.setattr(aggregate, "_write_shard", failing)
    with pytest.raises(OSError, match="full"):
        aggregate_prepared(wc.BCC(), prepared[3], tmp_path)
    pd.testing.assert_frame_equal(labels_of(tmp_path), before)
    aggregate_prepared(wc.BCC(), prepared[1], tmp_path)
    assert not (tmp_path / ".labels-new").exists()


def test_a_method_that_needs_all_items_in_memory_is_refused(prepared, tmp_path):
    with pytest.raises(wc.InputError, match="glad has to hold all answers in memory"):
        aggregate_prepared(wc.GLAD(), prepared[1], tmp_path)


def test_gold_of_other_items_is_noted_and_of_other_classes_refused(prepared, crowd):
    folder, notes = prepared[3].with_gold({**crowd[1], 10**9: 1})
    assert notes == ["1 gold item is not among the items."]
    assert len(folder.gold.item) == len(crowd[1])
    with pytest.raises(wc.InputError, match="none of the 1 gold item is"):
        prepared[1].with_gold({"no such": 1})
    with pytest.raises(wc.InputError, match="gold class 7 is not one of"):
        prepared[1].with_gold({0: 7})


def test_a_lost_class_is_told(panel, tmp_path):
    folder, _ = panel[2].with_gold(dict.fromkeys(range(60), 1))  # most of it is wrong
    with pytest.warns(UserWarning, match="no item is labelled 0, but most answers"):
        aggregate_prepared(wc.Consensus(), folder, tmp_path / "run")
