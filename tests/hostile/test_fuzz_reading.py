"""Broken files: readers, gold and features raise an InputError, or read.

By hand, 10,000 tries::

    PYTHONPATH=src:tests python tests/hostile/test_fuzz_reading.py 10000
"""

import gzip
import io
import json
import random
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

import h5py
import numpy as np
import pandas as pd

from export_rows import classification, survey
from wisecrowd._checks import InputError
from wisecrowd.io.gold import read_gold
from wisecrowd.io.join import read_feature_table
from wisecrowd.io.read import read_annotations

N_TRIES = 200
ODD = (
    None, True, -1, 0, 1e308, float("nan"), 10**30, "", " ", "\ud800", "\0", "=1+1",
    "\x1b[2J", [], {}, [[]], ["a", "b"], {"task": "T0", "value": []}, "NaN", "007",
)  # fmt: skip


# -- valid files ----------------------------------------------------------------------


def long_frame():
    return pd.DataFrame(
        {
            "item": [1, 1, 2, 2, 3],
            "annotator": ["ann", "bob", "ann", "cyd", "bob"],
            "answer": ["cat", "dog", "cat", "cat", "dog"],
            "gold": ["cat", "cat", "cat", "cat", None],
        }
    )


def feature_frame():
    return pd.DataFrame(
        {"item": list("abcd"), "w": [1, 2.5, 3, 4], "h": [4, 3, 2, 1.0]}
    )


def classifications():
    blank = [{"task": "T0", "value": []}, {"task": "T5", "value": ["Nothing here"]}]
    return [
        classification(5, "ann", survey("DEER", "ELK")),
        classification(6, "bob", survey("DEER"), workflow_version="4.1"),
        classification(6, "cyd", survey("FOX"), gold_standard="true"),
        classification(7, "ann", [], annotations=json.dumps(blank)),
    ]


def studio():
    def given(who, choice):
        part = {"from_name": "kind", "value": {"choices": [choice]}}
        return {"id": who, "completed_by": who, "result": [part]}

    return [
        {"id": 1, "data": {"n": 7}, "annotations": [given(1, "cat"), given(2, "dog")]},
        {"id": 2, "annotations": [given(1, "cat")]},
    ]


def binary(save):
    out = io.BytesIO()
    save(out)
    return out.getvalue()


def hdf5_bytes():
    def save(out):
        with h5py.File(out, "w") as file:
            file["X"] = np.arange(12.0).reshape(4, 3)
            file["ids"] = np.arange(4)

    return binary(save)


X = np.arange(12.0).reshape(4, 3)
RECORDS = long_frame().to_dict("records")
NESTED = {"x": {"ann": 1, "bob": 0}, "y": {"ann": [1, 1]}, "z": {}}
GOLD = {"1": "cat", "2": "dog"}
TOLOKA = (
    "INPUT:image\tOUTPUT:kind\tGOLDEN:kind\tASSIGNMENT:worker_id\tASSIGNMENT:status\n"
    "x\tcat\tcat\tann\tAPPROVED\nx\tdog\t\tbob\tREJECTED\ny\tdog\t\tann\tAPPROVED\n"
)
MTURK = (
    "HITId,AssignmentId,WorkerId,AssignmentStatus,Answer.kind,Answer.taskAnswers\n"
    'h,1,ann,Approved,cat,"[{""k"":{""label"":""a""}}]"\nh,2,bob,Rejected,dog,\n'
)
FILES = {
    "long": (read_annotations, long_frame().to_csv(index=False).encode()),
    "gzip": (
        read_annotations,
        gzip.compress(long_frame().to_csv(index=False).encode()),
    ),
    "parquet": (read_annotations, binary(long_frame().to_parquet)),
    "wide": (read_annotations, b"item,ann,bob\nx,0,1\ny,1,1\nz,,0\n"),
    "matrix": (read_annotations, b"0,1,1\n1,,0\n0,0,1\n"),
    "toloka": (read_annotations, TOLOKA.encode()),
    "mturk": (read_annotations, MTURK.encode()),
    "zooniverse": (
        read_annotations,
        pd.DataFrame(classifications()).to_csv(index=False).encode(),
    ),
    "gold": (read_gold, b"item,gold\n1,cat\n2,dog\n3,\n"),
    "gold parquet": (read_gold, binary(long_frame()[["item", "gold"]].to_parquet)),
    "features": (read_feature_table, feature_frame().to_csv(index=False).encode()),
    "features parquet": (read_feature_table, binary(feature_frame().to_parquet)),
    "npy": (read_feature_table, binary(lambda out: np.save(out, X))),
    "npz": (read_feature_table, binary(lambda o: np.savez(o, X=X, ids=np.arange(4)))),
    "hdf5": (read_feature_table, hdf5_bytes()),
}
TREES = {
    "records": (read_annotations, RECORDS),
    "nested": (read_annotations, NESTED),
    "label studio": (read_annotations, studio()),
    "gold records": (read_gold, RECORDS),
    "gold dict": (read_gold, GOLD),
}


# -- what is done to them -------------------------------------------------------------


def by_bytes(data, rng):
    """Flip, cut, repeat, swap or insert some bytes."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        where = rng.randrange(len(data) + 1)
        length = rng.choice([1, 2, 8, 64])
        kind = rng.randrange(5)
        if kind == 0 and where < len(data):
            data[where] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[where : where + length]
        elif kind == 2:
            data[where:where] = data[where : where + length] * rng.choice([1, 2, 50])
        elif kind == 3:
            data[where:where] = rng.randbytes(length)
        else:
            signs = [b",", b"\n", b'"', b"\t", b"\0", b"{", b"[", b"\xff", b"=", b"nan"]
            data[where : where + rng.randrange(3)] = rng.choice(signs)
    return bytes(data)


def by_structure(tree, rng):
    """Replace, remove or double a random part of a tree."""
    if isinstance(tree, list) and tree and rng.random() < 0.8:
        where = rng.randrange(len(tree))
        new = by_structure(tree[where], rng)
        kind = rng.randrange(8)
        middle = [] if kind == 0 else [new, new] if kind == 1 else [new]
        return tree[:where] + middle + tree[where + 1 :]
    if isinstance(tree, dict) and tree and rng.random() < 0.8:
        key = rng.choice(list(tree))
        new = by_structure(tree[key], rng)
        kind = rng.randrange(8)
        if kind == 0:
            return {k: v for k, v in tree.items() if k != key}
        if kind == 1:
            return tree | {str(rng.choice(ODD)): new}
        return tree | {key: new}
    return rng.choice(ODD)


def changed_cells(rng):
    """Return a Zooniverse export whose JSON is changed by structure."""
    rows = classifications()
    for _ in range(rng.choice([1, 2])):
        row = rng.choice(rows)
        name = rng.choice(["annotations", "subject_data", "workflow_version"])
        try:
            row[name] = json.dumps(by_structure(json.loads(row[name]), rng))
        except json.JSONDecodeError:
            row[name] = "x"
    return pd.DataFrame(rows).to_csv(index=False).encode()


def one_try(seed, folder):
    """Return what was read, and how it ended: the name of an exception, or "read"."""
    rng = random.Random(seed)
    name = rng.choice([*FILES, *TREES, "zooniverse cells"])
    if name == "zooniverse cells":
        read, data = read_annotations, changed_cells(rng)
    elif name in TREES:
        read, tree = TREES[name]
        tree = by_structure(tree, rng)
        lines = isinstance(tree, list) and rng.random() < 0.5
        text = "\n".join(map(json.dumps, tree)) if lines else json.dumps(tree)
        data = text.encode()
        data = by_bytes(data, rng) if rng.random() < 0.2 else data
    else:
        read, data = FILES[name]
        data = by_bytes(data, rng)
    path = folder / "file"
    path.write_bytes(data)
    try:
        read(path)
    except InputError as error:
        sentence = str(error)
    else:
        return name, "read"
    if len(sentence) > 3000:
        raise AssertionError(f"{name}: a sentence of {len(sentence)} characters")
    return name, "InputError"


def test_broken_files_are_refused_or_read(tmp_path):
    for seed in range(N_TRIES):
        one_try(seed, tmp_path)


def main(n_tries, first=0):
    ends, faults = Counter(), Counter()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + n_tries):
            try:
                ends[one_try(seed, Path(folder))] += 1
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)
                ours = [f for f in place if "wisecrowd/" in f.filename] or place
                where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
                key = f"{type(error).__name__} {where} {str(error)[:80]}"
                faults[key] += 1
                if faults[key] == 1:
                    print(f"seed {seed}: {key}", flush=True)  # noqa: T201
    total = Counter()
    for (_, how), n in ends.items():
        total[how] += n
    print(f"{n_tries:,} tries: {dict(total)}, {sum(faults.values())} other errors")  # noqa: T201
    return sum(faults.values())


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
