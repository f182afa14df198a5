"""Hostile and unusual files: how each is made, how it is read, what it must give.

A case has a name, the content (bytes, or a function that writes to a path), the reader,
and what must come of it: a text that the sentence of the InputError matches, or a
function that returns True for what was read.
"""

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple

import h5py
import numpy as np
import pandas as pd

from export_rows import classification, survey
from wisecrowd.io.gold import read_gold
from wisecrowd.io.join import read_feature_table
from wisecrowd.io.read import read_annotations

LONG = "item,annotator,answer\n1,ann,cat\n1,bob,dog\n2,ann,cat\n"
GOLD = "item,gold\n1,cat\n2,dog\n"
FEATURES = "item,w,h\na,1,2.5\nb,3,4\n"


class Case(NamedTuple):
    name: str
    content: Any
    wanted: str | Callable[[Any], bool]
    read: Callable[[Any], Any] = read_annotations
    file: str = "file.csv"


def write(case: Case, folder):
    path = folder / case.file
    if callable(case.content):
        case.content(path)
    elif isinstance(case.content, str):
        path.write_text(case.content, encoding="utf-8", newline="")
    else:
        path.write_bytes(case.content)
    return path


# -- what may come of it ------------------------------------------------------------


def has(**wanted):
    """Return a check of items, annotators, classes or n (the number of answers)."""

    def check(made):
        found = {
            "n": len(made),
            "items": made.items.tolist(),
            "annotators": made.annotators.tolist(),
            "classes": made.classes.tolist(),
        }
        assert {k: found[k] for k in wanted} == wanted
        return True

    return check


def gold_is(**wanted):
    return lambda made: {str(k): v for k, v in made.items()} == wanted


def features_are(shape, items=None, names=None):
    def check(table):
        assert table.X.shape == shape
        assert items is None or table.items.tolist() == items
        assert names is None or table.names == names
        return True

    return check


THREE = has(n=3, items=[1, 2], annotators=["ann", "bob"], classes=["cat", "dog"])

# -- how files are made -------------------------------------------------------------


def packed(text):
    return gzip.compress(text.encode(), mtime=0)


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]


def export(*rows):
    table = pd.DataFrame([dict(row) for row in rows])
    return table.to_csv(index=False)


def classified(annotations, **changes):
    return classification(5, "ann", "x", annotations=annotations, **changes)


def parquet(**columns):
    return lambda path: pd.DataFrame(columns).to_parquet(path)


def npy(header):
    """Return an .npy file with this header, and sixteen bytes of data."""
    text = (header + " " * (64 - (len(header) + 11) % 64) + "\n").encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + b"\0" * 16


def npz_with(data):
    def make(path):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", data)

    return make


def hdf5(**arrays):
    def make(path):
        with h5py.File(path, "w") as file:
            for name, options in arrays.items():
                file.create_dataset(name, **options)

    return make


def npz(**arrays):
    def make(path):
        with path.open("wb") as file:
            np.savez(file, **arrays)

    return make


def saved(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000, 100)}"
DEEP = "[" * 100_000 + "]" * 100_000
LETTERS = np.array([f"p{i}" for i in range(4)])
BIG = "7" * 5_000

TEXT_CASES = [
    Case("long", LONG, THREE),
    Case("semicolons", LONG.replace(",", ";"), THREE),
    Case("tabs", LONG.replace(",", "\t"), THREE),
    Case("bars", LONG.replace(",", "|"), THREE),
    Case("Windows line ends", LONG.replace("\n", "\r\n"), THREE),
    Case("a byte order mark", "\ufeff" + LONG, THREE),
    Case("gzip", packed(LONG), THREE, file="a.csv.gz"),
    Case("quoted", LONG.replace("cat", '"cat"'), THREE),
    Case("no last line end", LONG.rstrip(), THREE),
    Case("empty lines", LONG.replace("\n", "\n\n"), THREE),
    Case("other names", LONG.replace("item", "task").replace("answer", "label"), THREE),
    Case("capitals in the header", LONG.replace("item", "Item"), THREE),
    Case("another order of columns",
         "answer,item,annotator\ncat,1,ann\ndog,1,bob\ncat,2,ann\n", THREE),
    Case("more columns", "item,annotator,answer,x\n1,ann,cat,\n1,bob,dog,9\n",
         has(n=2)),
    Case("leading zeros are classes", "item,annotator,answer\n1,a,01\n1,b,02\n2,a,01\n",
         has(classes=["01", "02"])),
    Case("leading zeros beside a zero", "item,annotator,answer\n1,a,00\n1,b,0\n",
         has(classes=["0", "00"])),
    Case("leading zeros are items", "item,annotator,answer\n007,a,x\n008,b,y\n",
         has(items=["007", "008"])),
    Case("a large number is a name", f"item,annotator,answer\n{BIG},a,x\n1,b,y\n",
         has(items=["1", BIG])),
    Case("an answer of 5,000 digits", f"item,annotator,answer\n1,a,{BIG}\n1,b,2\n",
         has(classes=["2", BIG])),
    Case("measurements", "item,annotator,answer\n1,a,0.5\n1,b,0.25\n", "measurement"),
    Case("exponents", "item,annotator,answer\n1,a,1e-3\n1,b,2\n", "measurement"),
    Case("whole floats", "item,annotator,answer\n1,a,1.0\n1,b,2.0\n",
         has(classes=[1, 2])),
    Case("dates are items", "item,annotator,answer\n2024-05-01,a,x\n2024-05-02,b,y\n",
         has(items=["2024-05-01", "2024-05-02"])),
    Case("a matrix", "0,1,1\n1,1,0\n", has(n=6, items=[0, 1])),
    Case("a matrix with an empty first cell", ",0,0\n1,1,0\n0,,1\n", has(n=7)),
    Case("a matrix with an empty cell", "1,,0\n1,1,0\n0,0,1\n", has(n=8)),
    Case("a matrix with a gap at the end", "1,0,\n1,1,0\n0,0,1\n", has(n=8)),
    Case("a matrix with NaN", "1,nan,0\n1,1,0\n0,0,1\n", has(n=8)),
    Case("a wide table of numbered annotators", ",0,1,2\nx,0,1,1\ny,1,1,0\n",
         has(items=["x", "y"], n=6)),
    Case("a missing answer", LONG + "3,ann,\n", has(n=3, items=[1, 2, 3])),
    Case("a missing item", LONG + ",ann,cat\n", has(n=3)),
    Case("the same rows twice", LONG + LONG.split("\n", 1)[1], has(n=6)),
    Case("control characters", LONG + "3,\x1b[2J\x07,cat\n", has(n=4)),
    Case("a zero width blank", LONG + "3,a\u200bb,cat\n", has(n=4)),
    Case("emoji", LONG + "3,\U0001f431,cat\n", has(n=4)),
    Case("a formula", LONG + "3,=cmd|' /C calc'!A0,cat\n", has(n=4)),
    Case("a NUL far in", LONG + "3,a\0b,cat\n" , "not text|has|cannot"),
    Case("empty", "", "empty"),
    Case("blanks", " \n \n", "only blanks"),
    Case("a header alone", "item,annotator,answer\n", "no rows"),
    Case("one column", "item\n1\n2\n", "not a table"),
    Case("unknown columns", "a,b,c\nu,v,w\nu,x,y\n", "no column for the item"),
    Case("two columns of one name", "item,item,answer\n1,a,x\n", "more than once"),
    Case("a ragged row", LONG + "3,ann\n", "row 4 has 2 values"),
    Case("a lone quotation mark", LONG + '3,"ann,cat\n', "quotation|cannot"),
    Case("Windows-1252", LONG.encode() + b"3,ann,caf\xe9\n", "UTF-8"),
    Case("UTF-16", LONG.encode("utf-16"), has(n=3)),
    Case("UTF-16 cut off", LONG.encode("utf-16")[:-1], "UTF-16"),
    Case("a flipped byte in gzip", flipped(packed(LONG * 200), 30), "compressed|UTF-8",
         file="a.csv.gz"),
    Case("a wrong checksum in gzip", flipped(packed(LONG), -6), "compressed",
         file="a.csv.gz"),
    Case("gzip cut off", packed(LONG * 50)[:-20], "compressed", file="a.csv.gz"),
    Case("gzip without content", packed(""), "empty", file="a.csv.gz"),
    Case("a row of 9 MB", LONG + "3," + "a" * 9_000_000 + ",cat\n", "4 MB"),
    Case("a PDF", b"%PDF-1.7\n\0\0\0", "not text"),
    Case("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not text|UTF-8"),
    Case("a spreadsheet", b"PK\x03\x04" + b"\0" * 40, "spreadsheet"),
    Case("a pickle", b"\x80\x04\x95\x10\0\0\0", "not text"),
]  # fmt: skip

RECORDS = [{"item": 1, "annotator": "ann", "answer": "cat"},
           {"item": 1, "annotator": "bob", "answer": "dog"}]  # fmt: skip
JSON_CASES = [
    Case("records", json.dumps(RECORDS), has(n=2, classes=["cat", "dog"])),
    Case("lines", "\n".join(map(json.dumps, RECORDS)), has(n=2)),
    Case("columns", pd.DataFrame(RECORDS).to_json(), has(n=2)),
    Case("nested", '{"x": {"ann": "a", "bob": "b"}}', has(n=2, items=["x"])),
    Case("a list of answers", '{"x": {"ann": ["a", "b"]}}', has(n=2)),
    Case("an item without answers", '{"x": {"ann": "a"}, "y": {}}',
         has(n=1, items=["x", "y"])),
    Case("deep", DEEP, "deeply"),
    Case("deep in a value", '{"x": {"ann": ' + DEEP + "}}", "deeply"),
    Case("deep lines", '{"item": ' + DEEP + "}\n" + "{}\n", "deeply"),
    Case("5,000 digits", '{"x": {"ann": ' + BIG + "}}", "4,300 digits"),
    Case("5,000 digits in lines",
         f'{{"item": {BIG}, "annotator": 1, "answer": 1}}\n' * 2, "4,300 digits"),
    Case("20 digits", '{"x": {"ann": ' + BIG[:20] + ', "bob": 1}}', "64-bit"),
    Case("a lone surrogate", '{"x": {"ann": "\\ud800", "bob": "b"}}', "surrogate"),
    Case("a lone surrogate in lines",
         '{"item": "\\udfff", "annotator": 1, "answer": 1}\n' * 2, "surrogate"),
    Case("a pair of surrogates", '{"x": {"ann": "\\ud83d\\ude00", "bob": "b"}}',
         has(n=2)),
    Case("NaN", '{"x": {"ann": NaN, "bob": "b"}}', has(n=1)),
    Case("true and one", '{"x": {"ann": true, "bob": 1}}', "same way"),
    Case("a number", "[1, 2]", "no known form|not a record"),
    Case("null", "[null]", "no known form|not a record"),
    Case("an empty list", "[]", "empty"),
    Case("an empty record", "{}", "empty"),
    Case("cut off", json.dumps(RECORDS)[:-9], "broken JSON"),
    Case("a broken line", json.dumps(RECORDS[0]) + '\n{"item": \n', "line 2"),
    Case("a record in a record", '[{"item": {}, "annotator": 1, "answer": 1}]',
         "a dict"),
    Case("columns of two lengths",
         '{"item": [1, 2], "annotator": [1], "answer": [1]}', "length"),
    Case("an answer that is a record", '{"x": {"ann": {"a": 1}}}', "not a name"),
    Case("Label Studio with text for a list",
         '[{"id": 1, "annotations": ["x"]}]', "annotation"),
    Case("Label Studio with text for a result",
         '[{"id": 1, "annotations": [{"result": ["from_name"]}]}]', "result|choice"),
    Case("Label Studio with a number for data",
         '[{"id": [1], "annotations": [{"result": []}]}]', "choice|list"),
]  # fmt: skip

SURVEYED = classification(5, "ann", survey("DEER"))
ZOONIVERSE_CASES = [
    Case("an export", export(SURVEYED), has(n=1, classes=["DEER"])),
    Case("annotations are a number", export(classified("3")), "not a list"),
    Case("annotations are null", export(classified("null")), "not a list"),
    Case("a part is text", export(classified('["T0"]')), "names no task"),
    Case("no annotations", export(classified("")), "no answers"),
    Case("a task that is a list", export(classified('[{"task": [1], "value": "a"}]')),
         has(n=1)),
    Case("a title that is a list",
         export(classified('[{"task": "T0", "task_label": ["a"], "value": "a"}]')),
         has(n=1)),
    Case("a choice that is a list",
         export(classified('[{"task": "T0", "value": [{"choice": ["A"]}]}]')),
         has(n=1)),
    Case("a value that is a number", export(classified('[{"task":"T0","value":7}]')),
         has(n=1)),
    Case("a value with null", export(classified('[{"task":"T0","value":[null]}]')),
         "no answer that is a class"),
    Case("deep", export(classified('[{"task":"T0","value":' + DEEP + "}]")), "deeply"),
    Case("combos in combos", export(classified(
        '[{"task":"T0","value":' * 4000 + '"a"' + "}]" * 4000)), "deeply"),
    Case("a lone surrogate", export(classified('[{"task":"T0","value":"\\ud800"}]')),
         "surrogate"),
    Case("a version that is text", export(SURVEYED | {"workflow_version": "x"}),
         has(n=1)),
    Case("a version of 5,000 digits", export(
        SURVEYED | {"workflow_version": BIG},
        classification(6, "bob", survey("FOX"), workflow_version="1.1")), has(n=2)),
    Case("subject data that is a list",
         export(SURVEYED | {"subject_data": '["#gold"]'}), has(n=1)),
    Case("a gold class that is a list", export(
        SURVEYED | {"subject_data": '{"5": {"#gold": ["a"]}}'}), has(n=1)),
    Case("no subject", export(SURVEYED | {"subject_ids": ""}, SURVEYED), has(n=1)),
    Case("the same row twice", export(SURVEYED, SURVEYED), has(n=1)),
]  # fmt: skip

PARQUET = {"item": [1, 2], "annotator": ["a", "b"], "answer": ["x", "y"]}
TIMES = pd.to_datetime(["2024-05-01", "2024-05-02"])
PARQUET_CASES = [
    Case("long", parquet(**PARQUET), has(n=2)),
    Case("times", parquet(**PARQUET | {"item": TIMES}),
         has(items=["2024-05-01", "2024-05-02"])),
    Case("bytes", parquet(**PARQUET | {"item": [b"u", b"v"]}), has(items=["u", "v"])),
    Case("bytes that are no text", parquet(**PARQUET | {"item": [b"\xff", b"v"]}),
         "cannot be read"),
    Case("lists", parquet(**PARQUET | {"item": [[1], [2]]}), "type list"),
    Case("empty texts", parquet(**PARQUET | {"item": ["", "v"]}), has(items=["v"])),
    Case("no rows", parquet(item=[], annotator=[], answer=[]), "no rows"),
    Case("measurements", parquet(**PARQUET | {"answer": [0.5, 0.1]}), "measurement"),
    Case("a broken footer", b"PAR1" + b"\0" * 50 + b"PAR1", "Parquet file is broken"),
    Case("cut off", b"PAR1" + b"\0" * 3, "Parquet file is broken"),
]  # fmt: skip

GOLD_CASES = [
    Case("gold", GOLD, gold_is(**{"1": "cat", "2": "dog"})),
    Case("a header alone", "item,gold\n", "no rows"),
    Case("Parquet without rows", parquet(item=[], gold=[]), "no row"),
    Case("no class", "item,gold\n1,\n2,\n", "no row"),
    Case("two classes", "item,gold\n1,cat\n1,dog\n", "more than one gold class"),
    Case("leading zeros", "item,gold\n1,01\n2,02\n", gold_is(**{"1": "01", "2": "02"})),
    Case("one object", '{"1": "cat"}', gold_is(**{"1": "cat"})),
    Case("an empty object", "{}", "no row|empty|no column"),
    Case("a list of numbers", "[1, 2]", "not a record"),
    Case("a text", '["cat"]', "not a record"),
    Case("deep", DEEP, "deeply"),
    Case("a list as a class", '{"1": ["cat"]}', "is a list"),
    Case("an array", saved(np.zeros((2, 2))), "gold is read from"),
    Case("gzip with a flipped byte", flipped(packed(GOLD * 90), 25),
         "compressed|UTF-8"),
    Case("unknown columns", "a,b\n1,2\n", "no column for the item"),
]  # fmt: skip

FEATURE_CASES = [
    Case("features", FEATURES, features_are((2, 2), ["a", "b"], ["w", "h"])),
    Case("one row", "item,w,h\na,1,2.5\n", features_are((1, 2), ["a"])),
    Case("a header alone", "item,w,h\n", "no rows"),
    Case("numbers without a header", "0.5,1\n2,3\n", features_are((2, 2))),
    Case("gzip", packed(FEATURES), features_are((2, 2), ["a", "b"]), file="f.csv.gz"),
    Case("a gap", "item,w\na,1\nb,\n", "not finite"),
    Case("infinity", "item,w\na,1\nb,inf\n", "not finite"),
    Case("text", "item,w,h,k\na,1,u,x\nb,3,v,y\n", "no numbers"),
    Case("an item twice", FEATURES + "a,5,6\n", "more than once"),
    Case("a number of 5,000 digits", FEATURES + f"c,{BIG},1\n",
         "not finite|no numbers"),
    Case("a huge shape in npy", npy(HUGE), "declares the shape", file="f.npy"),
    Case("a shape that overflows in npy",
         npy(HUGE.replace("100)", "4611686018427387904)")), "declares the shape"),
    Case("a negative shape in npy", npy(HUGE.replace("(1", "(-1")), "broken|empty"),
    Case("a type with objects", npy(HUGE.replace("<f8", "|O")), "safety"),
    Case("code in the header", npy("__import__('os').system('true')"), "broken"),
    Case("a broken header", npy("{'descr': '<f8'"), "broken"),
    Case("npy cut off", saved(np.zeros((9, 9)))[:100], "broken"),
    Case("one axis", saved(np.zeros(4)), "two axes"),
    Case("three axes", saved(np.zeros((2, 2, 2))), "two axes"),
    Case("no rows in npy", saved(np.zeros((0, 3))), "empty|broken"),
    Case("complex numbers", saved(np.zeros((2, 2), complex)), "numbers"),
    Case("npz", npz(X=np.ones((4, 2)), ids=LETTERS), features_are((4, 2), [*LETTERS])),
    Case("npz ids of another length", npz(X=np.ones((5, 2)), ids=LETTERS), "5 ids"),
    Case("npz with a huge shape", npz_with(npy(HUGE)), "declares the shape"),
    Case("npz with a text", npz_with(b"hello"), "broken"),
    Case("npz cut off", b"PK\x03\x04" + b"\0" * 40, "broken"),
    Case("npz with two tables", npz(a=np.ones((4, 2)), b=np.ones((4, 3))), "key="),
    Case("HDF5", hdf5(X={"data": np.ones((4, 2))}), features_are((4, 2))),
    Case("HDF5 with a huge shape",
         hdf5(X={"shape": (10**9, 1000), "chunks": (1, 1000), "dtype": "f8"}),
         "declares the shape"),
    Case("HDF5 with text", hdf5(X={"data": [[b"a", b"b"]]}), "numbers"),
    Case("HDF5 without arrays", hdf5(), "no array of numbers"),
    Case("HDF5 without values", hdf5(X={"data": h5py.Empty("f8")}), "no array of"),
    Case("HDF5 cut off", b"\x89HDF\r\n\x1a\n" + b"\0" * 20, "broken|open"),
    Case("JSON", json.dumps(RECORDS), "features are read from"),
    Case("a numeric label", "item,w,label\na,1,0\nb,3,1\n",
         features_are((2, 1), names=["w"])),
    Case("ids with an unknown name", "photo_nr,w\n1,.5\n2,.25\n", "looks like ids"),
    Case("vectors of two lengths", parquet(item=[1, 2], v=[[1.0], [1.0, 2.0]]),
         "length"),
]  # fmt: skip

CASES = {
    "text": TEXT_CASES,
    "JSON": JSON_CASES,
    "Zooniverse": ZOONIVERSE_CASES,
    "Parquet": PARQUET_CASES,
    "gold": [case._replace(read=read_gold) for case in GOLD_CASES],
    "features": [case._replace(read=read_feature_table) for case in FEATURE_CASES],
}
