"""Items that are left out of a fit."""

import numpy as np
import pytest

import wisecrowd as wc
from wisecrowd._checks import InputError
from wisecrowd.io.join import LEFT_OUT, FeatureTable, without_items


@pytest.fixture
def read(tmp_path):
    """Four items, the last with gold; two answers each."""
    rows = [f"{i},{a},{i % 2}\n" for i in range(4) for a in ("ann", "bob")]
    (tmp_path / "answers.csv").write_text("item,annotator,answer\n" + "".join(rows))
    return wc.read_annotations(tmp_path / "answers.csv")


def file_of(tmp_path, content):
    (tmp_path / "ids").write_text(content)
    return tmp_path / "ids"


@pytest.mark.parametrize(
    "content",
    ["1\n3\n", "1\n3\n3", "item\n1\n3", "why,Subject ID\nold,1\nold,3\n", '["1", "3"]'],
)
def test_answers_on_the_items_are_left_out_and_counted(read, tmp_path, content):
    left, table, notes = without_items(file_of(tmp_path, content), read)
    assert (left.items.tolist(), len(left), table) == ([0, 2], 4, None)
    assert left.report.left_out == {LEFT_OUT: 4}
    assert left.report.n_kept == 4
    assert notes == [f"{tmp_path / 'ids'}: 2 items are left out of the fit."]


def test_unknown_ids_are_named(read, tmp_path):
    _, _, notes = without_items(file_of(tmp_path, "3\n8\n9\n"), read)
    assert notes[1].endswith("ids: 2 ids are not items: 8, 9.")


def test_features_of_the_items_are_left_out_too(read, tmp_path):
    ids = np.array(["0", "1", "2", "3", "4"], object)
    table = FeatureTable(tmp_path / "f", np.arange(5.0)[:, None], ids, with_ids=True)
    left, rest, notes = without_items(file_of(tmp_path, "1\n4\n"), read, table)
    assert left.items.tolist() == [0, 2, 3]
    assert (rest.items.tolist(), rest.X[:, 0].tolist()) == (["0", "2", "3"], [0, 2, 3])
    assert len(notes) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x\ny\n", "none of its ids is an item: the file has 'x', 'y'"),
        ("0\n1\n2\n3\n", "it names all items"),
        ("", "empty"),
    ],
)
def test_a_file_that_leaves_out_nothing_or_all_is_refused(
    read, tmp_path, content, said
):
    with pytest.raises(InputError, match=said):
        without_items(file_of(tmp_path, content), read)
