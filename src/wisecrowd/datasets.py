"""Crowds to try methods on: digits, MNIST, LabelMe, Sentiment, sets without features.

The anesthesia ratings and the digits need no file. Other files are looked for in the
folder that ``$WISECROWD_DATA`` names, then in the download cache. MNIST and LabelMe are
public: they are downloaded (with a hash) if they are not found.
"""

import gzip
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from wisecrowd._checks import InputError, listed, one_of
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.annotations.dataset import Dataset
from wisecrowd.simulation.annotators import Seed, paper_annotators
from wisecrowd.simulation.crowds import draw_answers

LABEL_ONLY = ("bluebird", "dog", "face4", "snow-rte", "snow-temp", "sp_amt")
CROWDS = (
    *LABEL_ONLY, "adult2", "civilcomments", "d_sentiment", "llmbar_human", "product",
    "relex_treat", "trec", "web", "youtube", "zencrowd_all",
)  # fmt: skip
"""The sets without features that :func:`load_crowd` knows."""

ANESTHESIA = """
    1111111 3334334 1122122 2223121 2223222 2223322 1122111 3333433 2222223
    2322223 4444444 2223343 1111111 2223212 1211111 1112111 1111111 1111111
    2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111 2322222
    1111111 1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343
    2212232 2323233 3333432 1111111 1111111 1212111 2322222 1211111 2222222
"""
"""One word per patient, from Table 1 of Dawid and Skene (1979): the three ratings by
anaesthetist 1, then one rating each by anaesthetists 2, 3, 4 and 5."""

LABELME_CLASSES = (
    "highway", "insidecity", "tallbuilding", "street", "forest", "coast", "mountain",
    "opencountry",
)  # fmt: skip

MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
MNIST_HASHES = {  # of the compressed files; the same as in torchvision
    "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
}

LABELME_URL = (
    "https://raw.githubusercontent.com/fmenat/PyLearningCrowds/"
    "0edf617d0357a43b48dc53f10f4181ec0163d4db/data/LabelMe/"
)
LABELME_HASHES = {
    "answers.txt": "354c282e10835a59962494acb1d180fe997b65a0aa1e27f870cdb4ef51ef3e2b",
    "LabelMe_VGG_avg_train.npy":
        "0ddfbcbd722aab70e81525a459cc37d47c1d344322b401ee35a3e9b158a209e8",
    "LabelMe_VGG_avg_valid.npy":
        "cb80ce99ef9fc80c666e6b9c43259ee0aac4e0cf82f8ac654b8bb309fb28953d",
    "LabelMe_VGG_avg_test.npy":
        "af407538f702f98e775f233652152cdcb58583c9d4668492308151c126ce7873",
    "LabelMe_Z_train.txt":
        "229556bdc5da327dd7d4e4154ba180969091c83f43cf8cbee3727131c5a062f6",
    "LabelMe_Z_valid.txt":
        "40aba43f903a539b38243c411e214da1f8c696cc47aa59811cc3388cc6899892",
    "LabelMe_Z_test.txt":
        "6d508b638d41fa84b2628615270456df96a49dce18054d201ac6261b03ea77bc",
}  # fmt: skip


# -- the sets ----------------------------------------------------------------------


def load_digits_crowd(
    annotators: Any = "paper",
    *,
    answers_per_item: float | int | None = None,
    random_state: Seed = 0,
) -> Dataset:
    """Return scikit-learn's 1,797 digits of 8 x 8 pixels with simulated annotators.

    Of the digits, 70 % are annotated and 30 % are the test set. Nothing is downloaded.

    Parameters
    ----------
    annotators : "paper" or (A, 10, K) array
        The paper's five annotators, or confusion matrices.
    answers_per_item : float, optional
        Default: every annotator answers every item.
    random_state : int or Generator
        The seed, or the generator of random numbers.

    Examples
    --------
    >>> digits = load_digits_crowd()
    >>> digits
    Dataset('digits', Annotations(1,257 items, 5 annotators, 10 classes,
    6,285 answers; 5.0 per item), 64 features)
    >>> digits.X.shape, digits.X_test.shape
    ((1257, 64), (540, 64))
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    for_split, for_crowd = np.random.default_rng(random_state).spawn(2)
    pixels, digit = load_digits(return_X_y=True)
    train, test = train_test_split(
        np.arange(len(digit)),
        test_size=0.3,
        stratify=digit,
        random_state=int(for_split.integers(2**31)),
    )
    return _digits(
        "digits",
        (pixels / 16).astype(np.float32),
        digit,
        (train, test),
        annotators,
        answers_per_item,
        for_crowd,
    )


def load_mnist(
    annotators: Any = "paper",
    *,
    answers_per_item: float | int | None = None,
    random_state: Seed = 0,
    download: bool = True,
) -> Dataset:
    """Return MNIST (60,000 and 10,000 digits of 28 x 28 pixels), simulated annotators.

    The paper's five annotators give 300,000 answers.

    Parameters
    ----------
    annotators, answers_per_item, random_state
        As in :func:`load_digits_crowd`.
    download : bool
        Whether to download the files (11 MB) if they are not found.
    """
    where = _files("mnist", MNIST_URL, MNIST_HASHES, download)
    images, digits = (
        [_read_idx(where / f"{part}-{what}-ubyte.gz") for part in ("train", "t10k")]
        for what in ("images-idx3", "labels-idx1")
    )
    pixels = np.concatenate(images).reshape(-1, 28 * 28)
    n_train = len(images[0])
    return _digits(
        "mnist",
        np.divide(pixels, 255, dtype=np.float32),
        np.concatenate(digits).astype(np.int64),
        (slice(None, n_train), slice(n_train, None)),
        annotators,
        answers_per_item,
        np.random.default_rng(random_state),
    )


def load_labelme(*, download: bool = True) -> Dataset:
    """Return LabelMe: 1,000 pictures of 8 scenes, 59 people, 2,547 answers.

    The answers are from Amazon Mechanical Turk (Rodrigues and Pereira, 2018). There are
    500 more pictures for validation and 1,188 for tests. The 512 features are the last
    convolution of VGG16, averaged over the picture (by fmenat/PyLearningCrowds).

    Parameters
    ----------
    download : bool
        Whether to download the files (6 MB) if they are not found.
    """
    where = _files("labelme", LABELME_URL, LABELME_HASHES, download)
    names = np.array(LABELME_CLASSES, dtype=object)
    parts = ("train", "valid", "test")
    X = {part: np.load(where / f"LabelMe_VGG_avg_{part}.npy") for part in parts}
    truth = {p: np.loadtxt(where / f"LabelMe_Z_{p}.txt", dtype=int) for p in parts}
    gold = {part: names[codes] for part, codes in truth.items()}
    codes = np.loadtxt(where / "answers.txt", dtype=int)
    said = np.where(codes < 0, None, names[codes])
    answers = Annotations.from_matrix(said, classes=names)
    return Dataset(
        name="labelme",
        answers=answers,
        classes=answers.classes,
        gold=_gold_series(answers.items, gold["train"]),
        X=X["train"],
        X_test=X["test"],
        gold_test=gold["test"],
        X_valid=X["valid"],
        gold_valid=gold["valid"],
    )


def load_crowd(name: str) -> Dataset:
    """Return a real crowd with gold, some with features; nothing is downloaded.

    Parameters
    ----------
    name : str
        One of :data:`CROWDS`: "bluebird" and "dog" (Zhang et al., 2014), "snow-rte" and
        "snow-temp" (Snow et al., 2008), "sp_amt" (Active Crowd Toolkit), "face4",
        "adult2", "product", "trec", "web" and "zencrowd_all" (Zheng et al., 2017),
        "d_sentiment"; with features also "civilcomments", "llmbar_human" (judged by
        language models), "relex_treat" and "youtube" (judged by rules).
    """
    one_of(name, CROWDS, "name")
    place = "label-only" if name in LABEL_ONLY else "crowds"
    folder = _folder(f"{place}/{name}", ("labels.csv", "gold.csv", "classes.json"))
    table, gold = (
        pd.read_csv(folder / file, dtype={kind: str}, keep_default_na=False)
        for file, kind in (("labels.csv", "label"), ("gold.csv", "gold"))
    )
    classes = np.array(json.loads((folder / "classes.json").read_text()), dtype=object)
    named = {str(name): name for name in classes.tolist()}
    if not set(table["label"]) <= set(named):  # codes of the classes
        named = {str(code): name for code, name in enumerate(classes.tolist())}
    table["label"], gold["gold"] = table["label"].map(named), gold["gold"].map(named)
    items, X = np.union1d(table["item"], gold["item"]), None
    if (folder / "features.npz").is_file():
        with np.load(folder / "features.npz") as found:
            items, X = found["items"].astype(items.dtype), found["X"]
    answers = Annotations.from_frame(table, items=items, classes=classes)
    known = gold[gold["item"].isin(answers.items)]
    truth = pd.Series(known["gold"].to_numpy(), index=known["item"], name="gold")
    return Dataset(name=name, answers=answers, classes=classes, gold=truth, X=X)


def load_sentiment() -> Dataset:
    """Return Sentiment: 4,999 sentences of film reviews, 203 people, 27,746 answers.

    Rodrigues, Pereira and Ribeiro (2013): is the sentence positive (1) or negative (0)?
    The 200 features are a truncated SVD of TF-IDF; they say little about the class.
    There are 3,999 more texts for tests. Nothing is downloaded.
    """
    folder = _folder("sentiment", ("sentiment.npz",))
    with np.load(folder / "sentiment.npz") as arrays:
        answers = Annotations.from_matrix(arrays["answers"], classes=[0, 1])
        return Dataset(
            name="sentiment",
            answers=answers,
            classes=answers.classes,
            gold=_gold_series(answers.items, arrays["gold_train"].astype(np.int64)),
            X=arrays["X_train"],
            X_test=arrays["X_test"],
            gold_test=arrays["gold_test"].astype(np.int64),
        )


def load_anesthesia() -> Dataset:
    """Return the example of Dawid and Skene (1979): 45 patients, 5 anaesthetists.

    Each anaesthetist rated the fitness of each patient for anaesthesia from 1 to 4;
    anaesthetist 1 did so three times. No gold is known. The ratings are part of the
    package.

    Examples
    --------
    >>> load_anesthesia()
    Dataset('anesthesia', Annotations(45 items, 5 annotators, 4 classes,
    315 answers; 7.0 per item), no features)
    """
    words = ANESTHESIA.split()
    patients = np.repeat(np.arange(1, len(words) + 1), 7)
    ratings = [int(digit) for word in words for digit in word]
    raters = np.tile([1, 1, 1, 2, 3, 4, 5], len(words))
    answers = Annotations.from_triples(patients, raters, ratings)
    return Dataset(name="anesthesia", answers=answers, classes=answers.classes)


def _digits(
    name: str,
    X: Float[Array, "N D"],
    digit: Array,
    parts: tuple[Any, Any],
    annotators: Any,
    answers_per_item: float | int | None,
    rng: np.random.Generator,
) -> Dataset:
    train, test = parts
    for_matrices, for_answers = rng.spawn(2)
    if isinstance(annotators, str):
        one_of(annotators, ("paper",), "annotators")
        annotators = paper_annotators(10, for_matrices)
    confusion = np.asarray(annotators, dtype=float)
    if confusion.ndim != 3 or confusion.shape[1] != 10:
        raise InputError(
            f"annotators are 'paper' or confusion matrices of shape (annotators, 10, "
            f"answers); these have shape {confusion.shape}."
        )
    answers = draw_answers(
        digit[train],
        confusion,
        answers_per_item=answers_per_item,
        random_state=for_answers,
    )
    return Dataset(
        name=name,
        answers=answers,
        classes=answers.classes,
        gold=_gold_series(answers.items, digit[train]),
        X=X[train],
        X_test=X[test],
        gold_test=digit[test],
        confusion=confusion,
    )


def _gold_series(items: Array, classes: Array) -> pd.Series:
    return pd.Series(classes, index=pd.Index(items, name="item"), name="gold")


# -- files -------------------------------------------------------------------------


def data_folders() -> list[Path]:
    """Return the folders in which data sets are looked for: the user's, the cache."""
    import pooch

    given = os.environ.get("WISECROWD_DATA")
    users = [Path(given).expanduser()] if given else []
    return [*users, Path(pooch.os_cache("wisecrowd"))]


def _folder(folder: str, names: Iterable[str]) -> Path:
    """Return the first place with all files of a data set, or say how to add it."""
    places = [base / folder for base in data_folders()]
    for place in places:
        if all((place / name).is_file() for name in names):
            return place
    raise InputError(
        f"the data set {Path(folder).name!r} ({listed(names, 2)}) was not found in "
        f"{listed(map(str, places))}. Set the environment variable WISECROWD_DATA to "
        f"the folder that holds {folder}/."
    )


def _files(folder: str, url: str, hashes: Mapping[str, str], download: bool) -> Path:
    """Return the place of a data set; download into the cache what is not there."""
    try:
        return _folder(folder, hashes)
    except InputError as missing:
        if not download:
            raise
        said = str(missing)
    import pooch

    cache = data_folders()[-1] / folder
    for name, known in hashes.items():
        try:
            pooch.retrieve(url + name, known, fname=name, path=cache)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{said} The download of {url + name} failed: {error}"
            ) from error
    return cache


def _read_idx(path: Path) -> Array:
    """Read a file in MNIST's format: magic number, sizes, then bytes."""
    with gzip.open(path) as file:
        content = file.read()
    n_axes = content[3]
    header = np.frombuffer(content, ">i4", count=1 + n_axes)
    return np.frombuffer(content, np.uint8, offset=header.nbytes).reshape(header[1:])
