"""Names that a spreadsheet would run as formulas: safe in CSV files, and not lost."""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wisecrowd as wc
from wisecrowd.cli.simulate import _write
from wisecrowd.io.sources import MISSING
from wisecrowd.results.run_folder import write_table

FORMULAS = ["=cmd|' /C calc'!A0", "+x", "@sum", "-a", "'=1", "''+x", "\t=1", "＝1"]
NAMES = [*FORMULAS, "-1", "+1", "-", "'", "'tis", "=", "'-1"]
SAFE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
HOSTILE = st.text("=+-@'＝\t\r\n 1a,;|\"", max_size=5)
NAME = st.one_of(HOSTILE, SAFE, st.sampled_from(NAMES)).filter(bool)


def crowd_of(names, *, with_gold=True):
    """Answers with these names as items, annotators, answers and gold classes."""
    names = [*names, "a name"]  # a column of numbers alone would be read as numbers
    rows = [(names[i - 1], names[i], names[i - 2]) for i in range(len(names))]
    gold = {names[0]: names[-1]} if with_gold else None
    return wc.Annotations.from_triples(*zip(*rows, strict=True), gold=gold)


def contents(annotations):
    rows = annotations.to_frame().to_numpy().tolist()
    return sorted(rows), annotations.gold.to_dict(), annotations.items.tolist()


def cells(path, delimiter=","):
    with path.open(encoding="utf-8", newline="") as file:
        return [cell for row in csv.reader(file, delimiter=delimiter) for cell in row]


def runs_in_a_spreadsheet(cell):
    try:
        float(cell)
    except ValueError:
        return len(cell) > 1 and cell[0] in "=+-@\t\r\n"
    return False


@given(names=st.lists(NAME, min_size=1, max_size=5, unique=True))
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_every_name_makes_the_round_trip(ending, names):
    made = crowd_of(names)
    assert contents(reread(made, ending)) == contents(made)


def reread(made, ending):
    with TemporaryDirectory() as folder:
        path = wc.write_annotations(made, Path(folder) / f"a.{ending}")
        return wc.read_annotations(path)


@given(
    names=st.lists(NAME | st.just(""), min_size=1, max_size=5, unique=True),
    with_gold=st.booleans(),
)
@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet"])
def test_an_empty_name_makes_the_round_trip(ending, names, with_gold):
    made = crowd_of(sorted({*names, ""}), with_gold=with_gold)
    assert contents(reread(made, ending)) == contents(made)


@pytest.mark.parametrize("ending", ["jsonl", "json"])
def test_an_item_without_an_answer_beside_an_empty_name(ending):
    made = wc.Annotations.from_triples(
        ["", "x"], ["", "b"], [1, 0], items=["", "x", "y"]
    )
    assert contents(reread(made, ending)) == contents(made)


def test_an_empty_text_in_a_file_of_others_is_a_missing_value(tmp_path):
    lines = '{"item":"x","annotator":"a","answer":"u"}\n' * 2
    lines += '{"item":"","annotator":"a","answer":"u"}\n'
    (tmp_path / "a.jsonl").write_text(lines)
    assert wc.read_annotations(tmp_path / "a.jsonl").items.tolist() == ["x"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_an_empty_name_is_refused_where_it_would_be_lost(ending, tmp_path):
    with pytest.raises(wc.InputError, match="write Parquet or JSON"):
        wc.write_annotations(crowd_of([""]), tmp_path / f"a.{ending}")


@given(names=st.lists(NAME, min_size=1, max_size=5, unique=True))
def test_every_name_in_gold_and_in_a_table_makes_the_round_trip(names):
    names = [*(name for name in names if name not in MISSING), "a name"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        write_table(pd.DataFrame({"item": names, "gold": names[::-1]}), path)
        gold = wc.read_gold(path)
        numbers = np.arange(2.0 * len(names)).reshape(-1, 2) + 0.5
        features = pd.DataFrame(numbers, columns=["w", "h"]).assign(item=names)
        write_table(features, path)
        X, items = wc.read_features(path)
    assert gold.to_dict() == dict(zip(names, names[::-1], strict=True))
    assert items.tolist() == names
    np.testing.assert_array_equal(X, numbers)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_no_cell_of_a_written_file_is_a_formula(tmp_path, ending):
    path = wc.write_annotations(crowd_of(NAMES), tmp_path / f"a.{ending}")
    found = cells(path, "," if ending == "csv" else "\t")
    assert not any(map(runs_in_a_spreadsheet, found))
    assert "'+x" in found
    assert "-1" in found


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_negative_numbers_stay_numbers(tmp_path, ending):
    made = wc.Annotations.from_triples([-1, -2, 3], [-7, 8, -9], [-1, 1, -1])
    path = wc.write_annotations(made, tmp_path / f"a.{ending}")
    assert contents(wc.read_annotations(path)) == contents(made)
    assert "'" not in path.read_text()


def test_the_names_of_annotators_in_a_wide_table_are_unmarked(tmp_path):
    (tmp_path / "a.csv").write_text("item,'=a,b\nx,'+1x,u\ny,u,'+1x\nz,u,u\n")
    made = wc.read_annotations(tmp_path / "a.csv", format="wide")
    assert made.annotators.tolist() == ["=a", "b"]
    assert made.classes.tolist() == ["+1x", "u"]
    (tmp_path / "a.csv").write_text("item,'=a,=a\nx,v,u\ny,u,v\n")
    made = wc.read_annotations(tmp_path / "a.csv", format="wide")
    assert made.annotators.tolist() == ["'=a", "=a"]


def test_cells_that_become_the_same_are_one_name(tmp_path):
    rows = "item,annotator,answer\nx,a,'=u\ny,a,=u\nx,b,v\n"
    (tmp_path / "a.csv").write_text(rows)
    for classes in (None, ["=u", "v"]):
        made = wc.read_annotations(tmp_path / "a.csv", classes=classes)
        assert made.classes.tolist() == ["=u", "v"]
        assert made.counts().tolist() == [[1, 1], [1, 0]]


def test_the_gold_file_of_a_simulated_crowd_has_no_formula(tmp_path):
    crowd = wc.simulate(9, 6, 2, classes=["=1+2", "b"], random_state=0)
    _, gold = _write(crowd, tmp_path / "a.csv")
    assert not any(map(runs_in_a_spreadsheet, cells(gold)))
    truth = crowd.classes[crowd.truth].tolist()
    assert wc.read_gold(gold).tolist() == truth
