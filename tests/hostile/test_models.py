"""Models that were altered and signed again are refused with a sentence, in time."""

import hashlib
import json
import os
import resource
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as unpacked
from safetensors.numpy import save as packed

import contract
import wisecrowd as wc
from wisecrowd._files import STAGE
from wisecrowd.persist.files import body_sha256

PLAIN = ("majority-vote", "dawid-skene", "bcc", "glad", "consensus")
NETWORK = {"max_epochs": 2, "network": wc.MLP(hidden=(5,))}
IMAGES = wc.ConvNet(shape=(2, 2), channels=(3,), kernel=3, hidden=5)
WITH_FEATURES = {
    "aggnet": wc.AggNet(**NETWORK),
    "conal": wc.CoNAL(**NETWORK),
    "conv": wc.CrowdLayer(IMAGES, max_epochs=2),
    "crowd-em": wc.CrowdEM(n_folds=2, dependence=0.1),
    "crowd-layer": wc.CrowdLayer(**NETWORK),
    "gpep": wc.GPEP(),
    "raykar": wc.Raykar(),
    "rffgpcr": wc.RFFGPCR(n_frequencies=3),
    "vffgpcr": wc.VFFGPCR(n_frequencies=3, tol=1e-2),
    "vgpcr": wc.VGPCR(),
    "yan": wc.Yan(),
}
METHODS = (*PLAIN, "with gold", "svgpcr", "ebcc", *WITH_FEATURES)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """From the name of a method to the content of its two files."""
    found = {}
    answers = contract.crowd()
    gold = {answers.items[0]: answers.classes[0]}
    models = {name: wc.METHODS[name]().fit(answers) for name in PLAIN}
    models["with gold"] = wc.BCC(dependence=0.2).fit(answers, gold=gold)
    X = contract.features(answers)
    svgpcr = wc.SVGPCR(n_inducing=5, max_epochs=2)
    models["svgpcr"] = svgpcr.fit(X, answers, items=answers.items)
    models["ebcc"] = wc.EBCC(n_subtypes=2).fit(answers)
    crowd = wc.simulate(20, 5, 2, n_features=4, random_state=0)
    for name, model in WITH_FEATURES.items():
        models[name] = model.fit(crowd.X, crowd.answers)
    for name, model in models.items():
        folder = tmp_path_factory.mktemp(name.replace(" ", "-"))
        wc.save(model, folder)
        numbers = (folder / "model.safetensors").read_bytes()
        found[name] = (json.loads((folder / "model.json").read_text()), numbers)
    return found


def signed(folder, body, tensors):
    """Write a model as an attacker would: with the right checksums."""
    numbers = packed(tensors) if isinstance(tensors, dict) else tensors
    body = body | {"tensors_sha256": hashlib.sha256(numbers).hexdigest()}
    body["sha256"] = body_sha256(body)
    folder.mkdir(exist_ok=True)
    (folder / "model.json").write_text(json.dumps(body))
    (folder / "model.safetensors").write_bytes(numbers)
    return folder


@contextmanager
def memory_limit(megabytes):
    """Let the process have so much more address space."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    old = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


def refused(folder, *words):
    with pytest.raises(wc.InputError) as error:
        wc.load(folder)
    said = str(error.value)
    assert "\n" not in said
    for word in words:
        assert word in said


@pytest.mark.parametrize("name", METHODS)
def test_a_model_that_was_only_signed_again_loads(name, saved, tmp_path):
    body, numbers = saved[name]
    wc.load(signed(tmp_path, body, unpacked(numbers)))


@pytest.mark.parametrize("name", METHODS)
def test_a_missing_attribute_is_named(name, saved, tmp_path):
    body, numbers = saved[name]
    needed = [key for key in body["fitted"] if key not in ("feature_names_in_",)]
    for key in needed:
        fitted = {k: v for k, v in body["fitted"].items() if k != key}
        folder = signed(tmp_path, body | {"fitted": fitted}, numbers)
        if key != "easiness_":
            refused(folder, "model.json is damaged", key)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("how", ["cut", "nan", "longer", "text", "huge", "tiny"])
def test_every_array_that_is_used_is_checked(name, how, saved, tmp_path):
    body, numbers = saved[name]
    tensors = unpacked(numbers)
    used = [key for key in tensors if ".trace_" not in key and "settings." not in key]
    assert len(used) >= 4
    for key in used:
        altered = dict(tensors)
        value = tensors[key]
        if how == "cut" and value.ndim and len(value):
            altered[key] = np.ascontiguousarray(value[:-1])
        elif how == "longer" and value.ndim:
            altered[key] = np.concatenate([value, value[-1:]])
        elif how == "nan" and value.dtype.kind == "f" and value.size:
            altered[key] = value.copy()
            altered[key].flat[-1] = np.nan
        elif how == "text":
            altered[key] = np.zeros(value.shape, np.complex64)
        elif how == "tiny" and key.endswith("spread"):
            altered[key] = np.full_like(value, 5e-324)
        elif how == "huge" and key.endswith(("counts", "prior", "table")):
            altered[key] = np.full_like(value, 1e38)
        else:
            continue
        refused(signed(tmp_path, body, altered), "damaged")


@pytest.mark.parametrize(
    ("key", "value"),
    [("dependence", 1.1), ("votes", None), ("n_mean", -1.0), ("between", [0.1, 2.0])],
)
def test_a_pool_has_shares_and_numbers(key, value, saved, tmp_path):
    body, numbers = saved["with gold"]
    body = json.loads(json.dumps(body))
    body["fitted"]["learned_"]["fields"]["pool"]["fields"][key] = value
    refused(signed(tmp_path, body, unpacked(numbers)), "damaged")


@pytest.mark.parametrize(
    ("key", "value"),
    [("accuracy", 1.1), ("log_loss", -1.0), ("n_gold", "all"), ("level", None)],
)
def test_a_calibration_has_shares_and_numbers(key, value, saved, tmp_path):
    body, numbers = saved["with gold"]
    body = json.loads(json.dumps(body))
    body["fitted"]["learned_"]["fields"]["calibration"]["fields"][key] = value
    refused(signed(tmp_path, body, unpacked(numbers)), "damaged")


@pytest.mark.parametrize(
    ("name", "record", "key", "value"),
    [
        ("vgpcr", "classifier", "log_scale", None),
        ("gpep", "classifier", "log_variance", 1e4),
        ("rffgpcr", "classifier", "frequencies", 1.5),
        ("aggnet", "classifier", "n_classes", 10**9),
        ("aggnet", "classifier", "temperature", 0.0),
        ("aggnet", "classifier", "architecture", None),
        ("conal", "skills", "tally", True),
        ("conal", "skills", "mixing", []),
        ("crowd-layer", "skills", "matrices", "x"),
    ],
)
def test_a_field_that_is_something_else_is_named(
    name, record, key, value, saved, tmp_path
):
    body, numbers = saved[name]
    body = json.loads(json.dumps(body))
    body["fitted"]["learned_"]["fields"][record]["fields"][key] = value
    refused(signed(tmp_path, body, numbers), "damaged")


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("aggnet", "hidden", [10**9]),
        ("aggnet", "hidden", []),
        ("aggnet", "hidden", ["x"]),
        ("conv", "channels", [10**9]),
        ("conv", "kernel", 10**6),
        ("conv", "shape", [2]),
        ("conv", "shape", [2, 2, 2]),
        ("conv", "hidden", 10**9),
    ],
)
def test_a_network_has_the_arrays_of_its_architecture(
    name, key, value, saved, tmp_path
):
    body, numbers = saved[name]
    body = json.loads(json.dumps(body))
    network = body["fitted"]["learned_"]["fields"]["classifier"]["fields"]
    network["architecture"]["fields"][key] = value
    with memory_limit(300):
        refused(signed(tmp_path, body, numbers), "damaged")


BOMBS = {
    "wide text": {
        "kind": "text_array", "dtype": "<U1000000000", "shape": [1], "values": ["a"],
    },
    "wide bytes": {
        "kind": "text_array", "dtype": "|S1000000000", "shape": [1], "values": ["a"],
    },
    "void": {"kind": "scalar", "dtype": "|V1000000000", "bytes": "00"},
    "structure": {"kind": "text_array", "dtype": "f8,O", "shape": [0], "values": []},
    "long range": {
        "kind": "table",
        "rows": {"name": None, "range": [0, 10**12, 1]},
        "names": {"name": None, "range": [0, 1, 1]},
        "columns": [
            {
                "type": "object",
                "values": {
                    "kind": "text_array", "dtype": "|O", "shape": [1], "values": ["a"],
                },
            }
        ],
    },
    "empty range": {
        "kind": "table",
        "rows": {"name": None, "range": [0, 10**12, 1]},
        "names": {"name": None, "range": [0, 0, 1]},
        "columns": [],
    },
    "one tensor many times": [
        {"kind": "array", "tensor": "fitted.learned_.proba", "axes": [0, 1]}
    ] * 50,
    "many wide texts": [
        {"kind": "text_array", "dtype": "<U99999999", "shape": [1], "values": [""]}
    ] * 20,
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_cannot_ask_for_much_memory(bomb, saved, tmp_path):
    body, numbers = saved["bcc"]
    fitted = body["fitted"] | {"x_": BOMBS[bomb]}
    folder = signed(tmp_path, body | {"fitted": fitted}, numbers)
    with memory_limit(300):
        refused(folder, "damaged")


def nested(depth):
    form = 1
    for _ in range(depth):
        form = [form]
    return form


def test_deep_nesting_is_a_sentence(saved, tmp_path):
    body, numbers = saved["bcc"]
    fitted = body["fitted"] | {"x_": nested(400)}
    text = json.dumps(body | {"fitted": fitted}).replace(
        json.dumps(nested(400)), "[" * 100_000 + "1" + "]" * 100_000
    )
    (tmp_path / "model.json").write_text(text)
    (tmp_path / "model.safetensors").write_bytes(numbers)
    refused(tmp_path, "damaged")


MANY_SAMPLES = {"kind": "record", "name": "Softmax", "fields": {"n_samples": 10**12}}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("svgpcr", {"dtype": "<U100000000"}),
        ("svgpcr", {"n_inducing": -3}),
        ("svgpcr", {"kernel": "linear+se"}),
        ("svgpcr", {"kernel": "linear"}),
        ("svgpcr", {"link": MANY_SAMPLES}),
    ],
    ids=str,
)
def test_settings_that_predictions_use_are_checked(name, settings, saved, tmp_path):
    body, numbers = saved[name]
    changed = body | {"settings": body["settings"] | settings}
    refused(signed(tmp_path, changed, numbers))


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_of_a_model_are_sentences_or_models(seed, saved, tmp_path):
    """Replace random values of model.json; what loads can be used, or is refused."""
    rng = np.random.default_rng(seed)
    for name in METHODS:
        body, numbers = saved[name]
        for _ in range(12):
            folder = signed(tmp_path, mutated(body, rng), numbers)
            try:
                model = wc.load(folder)
            except wc.InputError:
                continue
            model.annotator_summary()
            assert np.isfinite(model.confusion_).all()


ODD = (None, True, -1, 0, 10**30, 1.5, "x", [], {}, {"kind": "float", "value": "nan"})


def mutated(body, rng):
    """Return a copy in which one value of the fitted attributes is another one."""
    body = json.loads(json.dumps(body))
    place = body["fitted"]
    while True:
        keys = range(len(place)) if isinstance(place, list) else list(place)
        key = keys[rng.integers(len(keys))]
        if isinstance(place[key], list | dict) and place[key] and rng.random() < 0.8:
            place = place[key]
            continue
        odd = ODD[rng.integers(len(ODD))]
        if rng.random() < 0.3:
            del place[key]
        else:
            place[key] = odd
        return body


# -- numbers that would end in NaN, pipes, planted stages ---------------------------


def tensor_called(tensors, ending):
    return next(name for name in tensors if name.endswith(ending))


@pytest.mark.parametrize(
    "alter",
    [
        np.negative,
        np.ones_like,
        lambda x: x.astype(np.int16),
        lambda x: x * 1e200,
        lambda x: x + np.triu(np.full_like(x, 9.0), 1),
    ],
)
def test_a_precision_that_is_none_is_refused(saved, tmp_path, alter):
    body, numbers = saved["svgpcr"]
    tensors = unpacked(numbers)
    name = tensor_called(tensors, "precision")
    tensors[name] = np.ascontiguousarray(alter(tensors[name].astype(np.float64)))
    refused(signed(tmp_path / "run", body, tensors), "precision")


@pytest.mark.parametrize("method", ["raykar", "crowd-layer", "vgpcr", "yan"])
def test_weights_that_overflow_are_refused(saved, tmp_path, method):
    body, numbers = saved[method]
    tensors = unpacked(numbers)
    for name, values in tensors.items():
        if values.dtype.kind == "f" and "weights" in name:
            tensors[name] = np.full_like(values, 1e308 if values.itemsize > 4 else 1e38)
    refused(signed(tmp_path / "run", body, tensors), "weights")


def test_a_setting_of_another_type_is_refused(saved, tmp_path):
    body, numbers = saved["svgpcr"]
    body = json.loads(json.dumps(body))
    body["settings"]["shared_kernel"] = "both"
    refused(signed(tmp_path / "run", body, numbers))


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_pipe_in_place_of_a_file_does_not_hang(saved, tmp_path, name):
    folder = signed(tmp_path / "run", *saved["bcc"])
    (folder / name).unlink()
    os.mkfifo(folder / name)
    refused(folder)
    with pytest.raises(wc.InputError):
        wc.save(wc.MajorityVote().fit([[0, 1], [1, 1]]), folder)


def test_a_planted_stage_with_links_moves_nothing(tmp_path):
    model, folder = wc.MajorityVote().fit([[0, 1], [1, 1]]), tmp_path / "run"
    tables = {"labels.csv": lambda path: path.write_text("item,label\n")}
    wc.save(model, folder, tables=tables)
    run = json.loads((folder / "model.json").read_text())["run"]
    stage, secret = folder / f".wisecrowd-{run}", tmp_path / "secret"
    stage.mkdir()
    secret.write_text("mine")
    (stage / "labels.csv").symlink_to(secret)
    (stage / "other.csv").write_text("planted")
    for use in (wc.load, lambda path: wc.save(model, path)):
        use(folder)
        assert not (folder / "labels.csv").is_symlink()
        assert not (folder / "other.csv").exists()
        assert not stage.exists()
    assert secret.read_text() == "mine"


def test_a_model_that_was_killed_after_its_commit_is_completed_when_it_is_loaded(
    tmp_path, monkeypatch
):
    model, folder = wc.MajorityVote().fit([[0, 1], [1, 1]]), tmp_path / "run"
    tables = {"labels.csv": lambda path: path.write_text("old\n")}
    wc.save(model, folder, tables=tables)
    real = os.replace

    def killed(source, target):
        if Path(target).name != "model.json" and STAGE in str(source):
            raise KeyboardInterrupt
        real(source, target)

    tables = {"labels.csv": lambda path: path.write_text("new\n")}
    with monkeypatch.context() as patch:
        patch.setattr("wisecrowd._files.os.replace", killed)
        with pytest.raises(KeyboardInterrupt):
            wc.save(model, folder, tables=tables)
    assert not (folder / "labels.csv").exists()
    wc.load(folder)
    assert (folder / "labels.csv").read_text() == "new\n"
    assert not list(folder.glob(".wisecrowd-*"))


@pytest.mark.parametrize(
    ("method", "ending", "alter"),
    [
        ("bcc", "skills.counts", lambda x: x * 1e-300),
        ("bcc", "skills.prior", lambda x: x * 1e6),
        ("consensus", "skills.prior", lambda x: x * 1e6),
        ("ebcc", "matrices.counts", lambda x: x * 1e-300),
        ("svgpcr", "precision", lambda x: x * 1e-300),
        ("svgpcr", "['log_variance']", lambda x: x + 1e6),
        ("svgpcr", "['log_variance']", lambda x: np.concatenate([x] * 3)),
    ],
)
def test_numbers_of_which_predictions_would_be_nan_are_refused(
    saved, tmp_path, method, ending, alter
):
    body, numbers = saved[method]
    tensors = unpacked(numbers)
    name = tensor_called(tensors, ending)
    tensors[name] = alter(tensors[name])
    refused(signed(tmp_path / "run", body, tensors), "damaged")


def test_a_whole_number_too_long_for_numpy_is_refused(saved, tmp_path):
    body, numbers = saved["glad"]
    body = json.loads(json.dumps(body))
    skills = body["fitted"]["learned_"]["fields"]["skills"]["fields"]
    skills["prior_spread"] = 10**30
    refused(signed(tmp_path / "run", body, numbers), "damaged")
