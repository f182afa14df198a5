"""Saving and loading: equal to the last bit, or refused with a sentence."""

import json
import os
import subprocess
import sys
from collections import namedtuple
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal, assert_series_equal

import wisecrowd as wc
from wisecrowd import InputError
from wisecrowd._records import RECORDS, is_record, made, modules, parts
from wisecrowd.persist.files import VERSION, body_sha256

N, A, C = 14, 5, 3
AGGREGATORS = [wc.MajorityVote, wc.DawidSkene, wc.BCC, wc.GLAD]


def some_answers(seed=0):
    rng = np.random.default_rng(seed)
    answers = rng.integers(0, C, (N, A))
    answers[rng.random((N, A)) < 0.3] = -1
    return wc.Annotations.from_matrix(answers, items=[f"glitch {n}" for n in range(N)])


@pytest.fixture
def model():
    return wc.DawidSkene(max_iter=20, tol=None).fit(some_answers())


@pytest.fixture
def run(model, tmp_path):
    folder = tmp_path / "run"
    wc.save(model, folder)
    return folder


def same(left, right):
    """Equal in type, value and, for numbers, in every bit."""
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        assert all(same(*pair) for pair in zip(left.flat, right.flat, strict=True))
    elif isinstance(left, np.generic) and left.dtype.kind != "U":
        assert left.tobytes() == right.tobytes()
    elif isinstance(left, float):
        assert repr(left) == repr(right)
    elif isinstance(left, dict):
        assert same(list(left.items()), list(right.items()))
    elif is_record(left):
        assert same(parts(left), parts(right))
    elif isinstance(left, list | tuple):
        assert len(left) == len(right)
        assert all(same(*pair) for pair in zip(left, right, strict=True))
    elif isinstance(left, pd.DataFrame):
        assert_frame_equal(left, right, check_exact=True)
    elif isinstance(left, pd.Series):
        assert_series_equal(left, right, check_exact=True)
    else:
        assert left == right
    return True


def back_again(value, folder, model):
    model.extra_ = value
    wc.save(model, folder)
    return wc.load(folder).extra_


# -- what comes back ----------------------------------------------------------------


@pytest.mark.parametrize("method", AGGREGATORS)
def test_predictions_after_loading_are_equal_to_the_last_bit(method, tmp_path):
    model = method().fit(some_answers())
    wc.save(model, tmp_path)
    loaded = wc.load(tmp_path)
    more = some_answers(seed=1)
    assert type(loaded) is method
    assert_array_equal(loaded.predict_proba(more), model.predict_proba(more))
    assert_array_equal(loaded.label_proba_, model.label_proba_)
    assert_array_equal(loaded.labels_, model.labels_)
    assert_frame_equal(
        loaded.annotator_summary(), model.annotator_summary(), check_exact=True
    )


@pytest.mark.parametrize("method", AGGREGATORS)
def test_every_setting_and_fitted_attribute_comes_back(method, tmp_path):
    model = method().fit(some_answers())
    wc.save(model, tmp_path)
    loaded = wc.load(tmp_path)
    assert same(model.get_params(), loaded.get_params())
    state = model.__getstate__()  # without the data of the fit
    assert same(state, vars(loaded))


def test_what_is_derived_is_not_stored(run):
    stored = json.loads((run / "model.json").read_text())["fitted"]
    assert "learned_" in stored
    for derived in ("label_proba_", "labels_", "confusion_", "confusion_counts_"):
        assert derived not in stored


def test_a_prior_for_some_annotators_is_a_setting_that_comes_back(tmp_path):
    prior = {0: np.full((C, C), 2.0), 3: np.eye(C) + 1}
    wc.save(wc.BCC(annotator_prior=prior).fit(some_answers()), tmp_path)
    assert same(prior, wc.load(tmp_path).annotator_prior)


def test_loaded_arrays_can_be_written_to(run):
    loaded = wc.load(run)
    loaded.label_proba_[0] = 0.5
    assert loaded.label_proba_[0, 0] == 0.5


def test_private_fitted_state_is_stored_and_a_passing_attribute_is_not(model, tmp_path):
    model._cache = {"Lu": np.eye(3)}
    model.note = "mine"
    wc.save(model, tmp_path)
    loaded = wc.load(tmp_path)
    assert_array_equal(loaded._cache["Lu"], np.eye(3))
    assert not hasattr(loaded, "note")


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | hnp.arrays(hnp.scalar_dtypes().filter(lambda t: t.kind in "biuf"), ()).map(
        lambda array: array[()]
    )
)
KEYS = st.text() | st.integers()
ARRAYS = hnp.arrays(
    st.sampled_from(
        ["?", "u1", "<u2", "<i4", "<i8", "<f2", "<f4", "<f8", "<c8", "<U3", "<U0"]
    ),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
WORDS = st.lists(st.text() | st.integers() | st.none()).map(
    lambda words: np.array([*words, None], dtype=object)[:-1]
)
TABLES = st.lists(st.tuples(st.floats(), st.integers(-9, 9), st.text())).map(
    lambda rows: pd.DataFrame(
        {
            "bound": np.array([r[0] for r in rows], dtype=float),
            "n": np.array([r[1] for r in rows], dtype=int),
            "note": pd.Series([r[2] for r in rows], dtype=object),
        }
    ).rename_axis("step")
)
VALUES = st.recursive(
    PLAIN | ARRAYS | WORDS | TABLES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(value=VALUES)
def test_any_value_comes_back_in_type_and_in_every_bit(value, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    model = wc.MajorityVote().fit(some_answers())
    assert same(value, back_again(value, folder, model))


@pytest.mark.parametrize(
    "value",
    [
        {1: "number", "1": "text"},
        {"a": {"b": [np.arange(6.0).reshape(2, 3), {"c": (np.float32(0.1),)}]}},
        [float("nan"), float("inf"), -float("inf"), -0.0, 10**40],
        np.array(["a\x00b", "ü", "\ud800"], dtype=object),
        np.array([[1], "one", None, 2.5, True, np.int64(7), 0.1], dtype=object),
        pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]}, index=["one", "two"]),
        pd.DataFrame({0: [1], "a": [2]}).set_axis(["x", "x"], axis=1),
        pd.DataFrame(index=range(3)),
        pd.Series({"gpt-4": "gpt", "gpt-5": "gpt"}, name="group"),
        pd.Series([1.5, np.nan]),
        np.zeros((0, 4)),
        {"a']['b": np.ones(2), "a": {"b": np.zeros(2)}},
    ],
    ids=str,
)
def test_a_hard_value_comes_back(value, model, tmp_path):
    assert same(value, back_again(value, tmp_path, model))


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_order_in_memory_is_kept_so_that_sums_stay_equal(axes, model, tmp_path):
    value = np.random.default_rng(0).normal(size=(7, 50, 3)).transpose(axes)
    found = back_again(value, tmp_path, model)
    assert found.strides == value.strides
    assert_array_equal(found, value)
    assert_array_equal(found.sum(0), value.sum(0))


def test_a_view_and_foreign_bytes_are_saved_by_value(model, tmp_path):
    view = np.arange(24.0).reshape(4, 6)[::2, ::-3]
    assert_array_equal(back_again(view, tmp_path, model), view)
    foreign = np.arange(5, dtype=">i4")
    assert_array_equal(back_again(foreign, tmp_path, model), foreign)


def test_saving_again_into_the_same_folder_replaces_the_model_alone(run):
    (run / "notes.txt").write_text("mine")
    wc.save(wc.MajorityVote().fit(some_answers()), run)
    assert type(wc.load(run)) is wc.MajorityVote
    names = sorted(path.name for path in run.iterdir())
    assert names == ["model.json", "model.safetensors", "notes.txt"]


def test_every_record_is_found_where_its_source_is():
    assert {"ConfusionMatrices", "Learned", "Softmax", "SparseGP"} <= modules().keys()
    for name, module in modules().items():
        kind = getattr(import_module(module), name)
        assert (kind.__name__, kind.__module__) == (name, module)
        assert RECORDS[name] is kind
    with pytest.raises(KeyError):
        made("Path", {})


def test_loading_a_model_imports_no_other_method_and_no_jax(run):
    code = (
        "import sys; from wisecrowd.persist import load; load(sys.argv[1]); "
        "print(*sorted(m for m in sys.modules if m.startswith('wisecrowd.methods.')), "
        "'jax' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(run)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["wisecrowd.methods.dawid_skene", "False"]


# -- what cannot be saved -----------------------------------------------------------

Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    "value",
    [
        np.random.RandomState(0),
        len,
        {1, 2},
        Pair(1, 2),
        b"bytes",
        np.array([1, 2], dtype="M8[s]"),
        np.ma.masked_array([1.0]),
        np.longdouble([1.0]),
        pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}),
        [{"deep": (object(),)}],
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_would_not_come_back_is_refused_by_name(value, model, tmp_path):
    model.odd_ = value
    with pytest.raises(InputError, match="the fitted attribute odd_"):
        wc.save(model, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_random_generator_as_a_setting_is_refused_with_the_way_out(tmp_path):
    model = wc.MajorityVote(random_state=np.random.RandomState(0)).fit(some_answers())
    with pytest.raises(InputError, match=r"setting random_state.*whole number"):
        wc.save(model, tmp_path)


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        wc.save(wc.BCC(), tmp_path)


def test_a_class_from_elsewhere_is_refused(tmp_path):
    class MyVote(wc.MajorityVote):
        pass

    with pytest.raises(InputError, match="MyVote is not a method of wisecrowd"):
        wc.save(MyVote().fit(some_answers()), tmp_path)


def test_a_failed_save_leaves_the_old_run_as_it_was(run, monkeypatch):
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    calls = []

    def failing_replace(source, target):
        calls.append(target)
        if Path(target).name == "model.json":
            raise PermissionError(13, "Permission denied")
        os.rename(source, target)

    monkeypatch.setattr(os, "replace", failing_replace)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        wc.save(wc.MajorityVote().fit(some_answers()), run)
    assert len(calls) == 1
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_a_failed_first_save_leaves_no_half_of_a_model(model, tmp_path, monkeypatch):
    def failing_replace(source, target):
        if Path(target).name == "model.json":
            raise OSError(28, "No space left on device")
        os.rename(source, target)

    monkeypatch.setattr(os, "replace", failing_replace)
    with pytest.raises(InputError, match="No space left"):
        wc.save(model, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["taken", "taken/run"])
def test_a_file_in_place_of_the_folder_is_named(where, model, tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(InputError, match=r"taken.* a file of that name is in the way"):
        wc.save(model, tmp_path / where)
    assert (tmp_path / "taken").read_text() == "a file"


# -- what cannot be loaded ----------------------------------------------------------


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_file_cut_off_anywhere_is_refused(name, run):
    whole = (run / name).read_bytes()
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        (run / name).write_bytes(whole[:length])
        with pytest.raises(InputError, match=f"{name} is damaged"):
            wc.load(run)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_file_altered_anywhere_never_loads_as_another_model(name, run, model):
    whole = (run / name).read_bytes()
    for place in range(0, len(whole), 61):
        altered = bytearray(whole)
        altered[place] ^= 0x01
        (run / name).write_bytes(altered)
        try:
            loaded = wc.load(run)
        except InputError:
            continue
        assert same(vars(loaded), vars(model))  # a blank may become another blank


def test_a_longer_file_is_refused(run):
    with (run / "model.safetensors").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(InputError, match="damaged"):
        wc.load(run)


def rewritten(run, **changes):
    """Change model.json and make its checksum right again, as an attacker could."""
    body = json.loads((run / "model.json").read_text()) | changes
    body["sha256"] = body_sha256(body)
    (run / "model.json").write_text(json.dumps(body))


def test_a_newer_version_is_refused_with_the_way_out(run):
    rewritten(run, version=VERSION + 1)
    said = rf"version {VERSION + 1} .* up to version {VERSION}\. Update"
    with pytest.raises(InputError, match=said):
        wc.load(run)


@pytest.mark.parametrize(
    "name", ["os.system", "NoSuchMethod", "InputError", "metrics", "read_annotations"]
)
def test_a_file_can_name_nothing_but_a_method(name, run):
    rewritten(run, **{"class": name})
    with pytest.raises(InputError, match=r"which wisecrowd .* does not have"):
        wc.load(run)


def test_a_setting_of_another_version_is_named(run):
    rewritten(run, settings={"temperature": 3})
    with pytest.raises(InputError, match=r"does not have .*'temperature'"):
        wc.load(run)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "1"},
        {"version": None},
        {"class": ["BCC"]},
        {"settings": []},
        {"settings": {"tol": {"kind": "pickle"}}},
        {"fitted": {"fit": 1}},
        {"fitted": {"labels_": 1}},
        {"fitted": {"x_": {"kind": "array", "tensor": "nowhere", "axes": [0]}}},
        {"fitted": {"x_": {"kind": "scalar", "dtype": "O", "bytes": "00" * 8}}},
        {"fitted": {"x_": {"kind": "text_array", "dtype": "O", "shape": 9}}},
        {"fitted": {"x_": {"kind": "dict", "pairs": [[[], 1]]}}},
        {"fitted": {"x_": {"kind": "record", "name": "Popen", "fields": {}}}},
        {"fitted": {"x_": {"kind": "record", "name": "Tally", "fields": {"a": 1}}}},
    ],
    ids=str,
)  # fmt: skip
def test_a_forged_file_gives_a_sentence(changes, run):
    rewritten(run, **changes)
    with pytest.raises(InputError, match=r"damaged|not a model|does not have"):
        wc.load(run)


@pytest.mark.parametrize("text", ["{}", "[]", "3", '{"format": "other"}', "null"])
def test_another_json_file_is_not_taken_for_a_model(text, run):
    (run / "model.json").write_text(text)
    with pytest.raises(InputError, match="is not a model saved by wisecrowd"):
        wc.load(run)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": NaN', "\xff\xfe", "1" * 5000])
def test_broken_json_is_a_sentence(text, run):
    (run / "model.json").write_text(text)
    with pytest.raises(InputError, match="damaged"):
        wc.load(run)


def test_a_folder_without_a_model_says_so(tmp_path, run):
    with pytest.raises(InputError, match=r"holds no model.json"):
        wc.load(tmp_path)
    with pytest.raises(InputError, match="nowhere does not exist"):
        wc.load(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is a file; a saved model is a folder"):
        wc.load(run / "model.json")
    (run / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"holds no model.safetensors"):
        wc.load(run)
    (run / "model.safetensors").mkdir()
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        wc.load(run)
