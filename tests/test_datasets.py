import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pooch
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from wisecrowd import datasets
from wisecrowd._checks import InputError
from wisecrowd.annotations import Annotations
from wisecrowd.methods.dawid_skene import DawidSkene
from wisecrowd.simulation.annotators import paper_annotators

SIZES = {  # items, annotators, classes, annotations: label-only/SOURCE.md
    "bluebird": (108, 39, 2, 4212),
    "dog": (807, 109, 4, 8070),
    "face4": (584, 27, 4, 5242),
    "snow-rte": (800, 164, 2, 8000),
    "snow-temp": (462, 76, 2, 4620),
    "sp_amt": (500, 143, 2, 10000),
}
VOTES = {  # accuracy of majority vote with random ties, from the same page
    "bluebird": 0.759, "dog": 0.822, "face4": 0.637, "snow-rte": 0.897,
    "snow-temp": 0.936, "sp_amt": 0.943,
}  # fmt: skip


def real(load, *args, **options):
    """Load a set, or skip the test where its files are missing."""
    try:
        return load(*args, **options)
    except InputError as error:
        pytest.skip(str(error))


def vote_accuracy(data):
    counts = data.answers.counts()
    tied = counts == counts.max(1, keepdims=True)
    truth = np.searchsorted(data.classes.astype(str), data.gold.astype(str))
    return (tied / tied.sum(1, keepdims=True))[np.arange(len(truth)), truth].mean()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Return an empty data folder, the only one that there is."""
    monkeypatch.setattr(datasets, "data_folders", lambda: [tmp_path])
    return tmp_path


# -- digits ------------------------------------------------------------------------


def test_digits_have_aligned_items_features_and_gold():
    data = datasets.load_digits_crowd(random_state=1)
    assert data.X.shape == (1257, 64)
    assert data.X_test.shape == (540, 64)
    assert data.X.dtype == np.float32
    assert (data.X.min(), data.X.max()) == (0, 1)
    assert data.gold.index.tolist() == data.answers.items.tolist()
    assert data.classes.tolist() == list(range(10))
    assert len(data.gold_test) == 540
    right = data.answers.answer == data.gold.to_numpy()[data.answers.item]
    got = np.bincount(data.answers.annotator, right) / 1257
    assert_allclose(got, [0.95, 0.9, 0.8, 0.1, got[4]], atol=0.06)
    assert got[4] < 0.1


def test_digits_are_split_by_class_and_by_seed():
    left, right = (datasets.load_digits_crowd(random_state=s) for s in (0, 1))
    again = datasets.load_digits_crowd(random_state=0)
    n = np.bincount(left.gold_test)
    assert n.min() >= 52
    assert_array_equal(left.X, again.X)
    assert_array_equal(left.answers.answer, again.answers.answer)
    assert (left.gold.to_numpy() != right.gold.to_numpy()).any()


def test_no_gold_class_is_hidden_in_the_answers():
    assert (datasets.load_digits_crowd().answers.gold_codes == -1).all()


def test_digits_take_other_annotators_and_fewer_answers():
    confusion = paper_annotators(10, 0)[:3]
    data = datasets.load_digits_crowd(confusion, answers_per_item=2)
    assert len(data.answers) == 2 * 1257
    assert_array_equal(data.confusion, confusion)


@pytest.mark.parametrize(
    ("annotators", "message"),
    [("five", "'five' is not one of 'paper'"), (np.eye(10), r"shape \(10, 10\)")],
)
def test_other_annotators_are_refused_with_a_sentence(annotators, message):
    with pytest.raises(InputError, match=message):
        datasets.load_digits_crowd(annotators)


# -- where files are ---------------------------------------------------------------


def test_data_are_looked_for_in_the_users_folder_and_in_the_cache(monkeypatch):
    cache = Path(pooch.os_cache("wisecrowd"))
    monkeypatch.setenv("WISECROWD_DATA", "~/mine")
    assert datasets.data_folders() == [Path.home() / "mine", cache]
    monkeypatch.delenv("WISECROWD_DATA")
    assert datasets.data_folders() == [cache]


@pytest.mark.parametrize(
    "load",
    [
        lambda: datasets.load_crowd("dog"),
        datasets.load_sentiment,
        lambda: datasets.load_mnist(download=False),
        lambda: datasets.load_labelme(download=False),
    ],
)
def test_missing_data_says_where_it_was_looked_for_and_what_to_set(elsewhere, load):
    with pytest.raises(InputError, match="WISECROWD_DATA") as caught:
        load()
    assert str(elsewhere) in str(caught.value)


def test_a_failed_download_says_what_failed(elsewhere, monkeypatch):
    def offline(*_args, **_options):
        raise OSError("no route to host")

    monkeypatch.setattr(pooch, "retrieve", offline)
    with pytest.raises(InputError, match=r"WISECROWD_DATA.* failed: no route"):
        datasets.load_mnist()


def test_every_download_has_a_hash(elsewhere, monkeypatch):
    asked = []

    def record(url, known_hash, fname, path):
        asked.append((url, known_hash))
        assert url.endswith(fname)
        assert path.name in ("mnist", "labelme")
        return path / fname

    monkeypatch.setattr(pooch, "retrieve", record)
    for load in (datasets.load_mnist, datasets.load_labelme):
        with pytest.raises(FileNotFoundError):
            load()
    assert len(asked) == 4 + 7
    assert all(len(known.removeprefix("md5:")) in (32, 64) for _, known in asked)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="'bluebird', 'dog'"):
        datasets.load_crowd("cat")


def test_the_ratings_of_dawid_and_skene_are_part_of_the_package(elsewhere):
    data = datasets.load_anesthesia()
    answers = data.answers
    assert len(answers) == 7 * 45
    assert answers.items.tolist() == list(range(1, 46))
    assert answers.codes.n_per_annotator.tolist() == [3 * 45, 45, 45, 45, 45]
    third = answers.subset(items=[3]).to_frame()
    assert third["annotator"].tolist() == [1, 1, 1, 2, 3, 4, 5]
    assert third["answer"].tolist() == [1, 1, 2, 2, 1, 2, 2]
    assert data.gold is None


def test_dawid_and_skene_find_the_published_classes():
    model = DawidSkene.as_published().fit(datasets.load_anesthesia().answers)
    assert np.bincount(model.labels_).tolist() == [0, 18, 19, 5, 3]


def test_the_shipped_ratings_are_those_of_the_file(data_folder):
    path = data_folder / "label-only" / "anesthesia" / "anesthesia.csv"
    want = Annotations.from_frame(pd.read_csv(path)).to_frame()
    got = datasets.load_anesthesia().answers.to_frame()
    pd.testing.assert_frame_equal(got, want)


# -- small files of our own --------------------------------------------------------


def test_a_label_only_folder_is_read_with_its_names_and_its_gold(elsewhere):
    folder = elsewhere / "label-only" / "dog"
    folder.mkdir(parents=True)
    rows = pd.DataFrame({"item": [2, 0, 2], "annotator": [7, 7, 4], "label": [1, 0, 2]})
    rows.to_csv(folder / "labels.csv", index=False)
    gold = pd.DataFrame({"item": [2, 1, 0], "gold": [2, 1, 0]})
    gold.to_csv(folder / "gold.csv", index=False)
    (folder / "classes.json").write_text(json.dumps(["pug", "collie", "beagle"]))
    data = datasets.load_crowd("dog")
    assert data.answers.to_matrix().tolist() == [[-1, 0], [-1, -1], [2, 1]]
    assert data.classes.tolist() == ["pug", "collie", "beagle"]
    assert data.gold.to_dict() == {0: "pug", 1: "collie", 2: "beagle"}
    assert data.X is None


def test_an_idx_file_is_read_by_its_header(elsewhere):
    pixels = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    header = np.array([0x0803, 2, 3, 4], ">i4").tobytes()
    path = elsewhere / "images.gz"
    path.write_bytes(gzip.compress(header + pixels.tobytes()))
    assert_array_equal(datasets._read_idx(path), pixels)


# -- the real ones -----------------------------------------------------------------


@pytest.mark.parametrize("name", datasets.LABEL_ONLY)
def test_label_only_sets_have_their_known_sizes_and_votes(name):
    data = real(datasets.load_crowd, name)
    annotations = data.answers
    sizes = (
        len(annotations.items),
        len(annotations.annotators),
        annotations.n_classes,
        len(annotations),
    )
    assert sizes == SIZES[name]
    assert_allclose(vote_accuracy(data), VOTES[name], atol=0.01)


def test_sentiment_has_its_known_sizes_and_votes():
    data = real(datasets.load_sentiment)
    assert data.X.shape == (4999, 200)
    assert data.X_test.shape == (3999, 200)
    assert len(data.answers) == 27_746
    assert len(data.answers.annotators) == 203
    assert data.gold.dtype == data.gold_test.dtype == np.int64
    assert_allclose(vote_accuracy(data), 0.89, atol=0.01)


def test_labelme_has_its_known_sizes_and_votes():
    data = real(datasets.load_labelme, download=False)
    assert data.X.shape == (1000, 512)
    assert data.X_valid.shape == (500, 512)
    assert data.X_test.shape == (1188, 512)
    assert len(data.answers) == 2547
    first = data.answers.counts().argmax(1)
    assert_allclose((data.classes[first] == data.gold).mean(), 0.769)
    assert set(data.gold_test) == set(data.gold_valid) == set(data.classes)


@pytest.mark.slow
def test_mnist_has_the_papers_annotations():
    data = real(datasets.load_mnist, download=False, random_state=0)
    assert data.X.shape == (60_000, 784)
    assert data.X_test.shape == (10_000, 784)
    assert len(data.answers) == 300_000
    assert_allclose(data.X.mean() * 255, 33.318, atol=1e-3)
    assert np.bincount(data.gold).tolist()[:3] == [5923, 6742, 5958]
    counts = np.zeros((5, 10, 10))
    truth = data.gold.to_numpy()[data.answers.item]
    np.add.at(counts, (data.answers.annotator, truth, data.answers.answer), 1)
    assert_allclose(counts / counts.sum(2, keepdims=True), data.confusion, atol=0.04)
