"""What a feature is: ids, classes, row numbers and times are none."""

import numpy as np
import pandas as pd
import pytest

import wisecrowd as wc
from mistakes import one_sentence
from wisecrowd import InputError
from wisecrowd.io.features import read_features
from wisecrowd.io.join import read_feature_table

N = 12
WIDTH, HEIGHT = np.linspace(0.5, 3.0, N), np.linspace(9.0, 1.5, N)
FRAME = pd.DataFrame({"item": range(100, 100 + N), "w": WIDTH, "h": HEIGHT})
TIMES = pd.date_range("2024-05-01 10:00", periods=N, freq="h")

NOT_FEATURES = {
    "gold": (np.arange(N) % 2, "the class"),
    "label": (np.arange(N) % 3, "the class"),
    "Class": (np.arange(N) % 3, "the class"),
    "Unnamed: 0": (np.arange(N), "row numbers"),
    "": (np.arange(N), "row numbers"),
    "subject_id": (np.arange(N) + 7, "ids"),
    "camera_id": (np.arange(N) % 2, "ids"),
    "image": (np.arange(N) + 50, "ids"),
    "created_at": (TIMES, "times"),
    "timestamp": (1.7e9 + np.arange(N) * 60.5, "times"),
}


def write(frame, path):
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", NOT_FEATURES)
def test_a_column_that_is_no_feature_is_left_out_and_said(tmp_path, name, ending):
    values, why = NOT_FEATURES[name]
    table = read_feature_table(
        write(FRAME.assign(**{name: values}), tmp_path / f"f.{ending}")
    )
    assert table.names == ["w", "h"]
    assert table.left_out == {name: why}
    assert table.items.tolist() == FRAME["item"].tolist()
    np.testing.assert_array_equal(table.X, FRAME[["w", "h"]])
    assert "'w', 'h'" in str(table)
    assert f"left out: {name!r} ({why})" in str(table)


def test_the_index_of_to_csv_is_not_a_feature(tmp_path):
    FRAME.to_csv(tmp_path / "f.csv")
    table = read_feature_table(tmp_path / "f.csv")
    assert table.names == ["w", "h"]
    assert table.items.tolist() == FRAME["item"].tolist()


@pytest.mark.parametrize("name", ["photo_nr", "number", "snapshot"])
def test_ids_with_an_unknown_name_are_refused_and_can_be_named(tmp_path, name):
    path = write(FRAME.rename(columns={"item": name}), tmp_path / "f.csv")
    with pytest.raises(InputError, match=f"{name!r} looks like ids.*columns='all'"):
        read_features(path)
    with pytest.raises(InputError, match=f"item={name!r}"):
        read_feature_table(path)
    assert read_feature_table(path, item=name).names == ["w", "h"]
    whole = read_feature_table(path, columns="all")
    assert whole.names == [name, "w", "h"]
    assert not whole.with_ids


def test_ids_with_an_unknown_name_beside_an_index_are_refused(tmp_path):
    FRAME.rename(columns={"item": "photo_nr"}).to_csv(tmp_path / "f.csv")
    with pytest.raises(InputError, match="'photo_nr' looks like ids"):
        read_features(tmp_path / "f.csv")


def test_text_ids_beside_an_index_are_the_ids(tmp_path):
    names = [f"p{i}" for i in range(N)]
    FRAME.assign(item=names).rename(columns={"item": "photo"}).to_csv(
        tmp_path / "f.csv"
    )
    table = read_feature_table(tmp_path / "f.csv")
    assert table.items.tolist() == names
    assert table.names == ["w", "h"]


def test_features_can_be_named_and_ordered(tmp_path):
    path = write(FRAME.assign(label=np.arange(N) % 2), tmp_path / "f.parquet")
    table = read_feature_table(path, columns=["label", "w"])
    assert table.names == ["label", "w"]
    assert table.left_out == {"h": "not in columns="}
    assert read_feature_table(path, columns="h, w").names == ["h", "w"]
    assert read_feature_table(path, leave_out="h").names == ["w"]
    for option in ("columns", "leave_out"):
        with pytest.raises(InputError, match="no column 'z'"):
            read_feature_table(path, **{option: ["z"]})


def test_text_columns_can_be_left_out(tmp_path):
    path = write(FRAME.assign(a=list("uvwxyzuvwxyz"), b="b"), tmp_path / "f.csv")
    with pytest.raises(InputError, match="leave_out="):
        read_features(path)
    assert read_feature_table(path, leave_out=["a", "b"]).names == ["w", "h"]
    assert read_feature_table(path, columns=["w", "h"]).names == ["w", "h"]


def test_a_table_of_classes_alone_has_no_feature(tmp_path):
    path = write(FRAME[["item"]].assign(label=1), tmp_path / "f.csv")
    with pytest.raises(InputError, match=r"no feature.*'label' \(the class\)"):
        read_features(path)


def test_ids_of_the_wrong_length_in_npz_are_refused(tmp_path):
    X = FRAME[["w", "h"]].to_numpy()
    np.savez(tmp_path / "f.npz", X=X, items=np.arange(N - 1))
    with pytest.raises(InputError, match=r"'items'.*\(11,\) where 12 ids"):
        read_features(tmp_path / "f.npz")


def test_names_and_classes_in_npz_are_told_apart(tmp_path):
    X = FRAME[["w", "h"]].to_numpy()
    np.savez(
        tmp_path / "f.npz", X=X, ids=np.arange(N), target=np.ones(N), names=["w", "h"]
    )
    table = read_feature_table(tmp_path / "f.npz")
    assert table.names == ["w", "h"]
    assert table.left_out == {"target": "the class"}
    assert table.items.tolist() == list(range(N))


# -- the same on the command line -----------------------------------------------------

QUICK = ("-m", "raykar", "-q")  # nothing to compile for another number of columns


@pytest.fixture
def answers(tmp_path):
    """A file of answers on the items of FRAME."""
    made = wc.simulate(N, 7, 2, random_state=0).answers.with_items(FRAME["item"])
    return wc.write_annotations(made, tmp_path / "answers.csv")


def test_options_choose_the_columns_of_a_fit(run, answers, tmp_path):
    path = write(FRAME.assign(label=np.arange(N) % 2, t=1.5), tmp_path / "f.csv")
    chosen = {
        "default": ((), ["w", "h", "t"]),
        "columns": (("--columns", "label, h"), ["label", "h"]),
        "leave out": (("--leave-out", "h,t"), ["w"]),
        "all": (("--columns", "all", "--leave-out", "t"), ["w", "h", "label"]),
    }
    for name, (options, wanted) in chosen.items():
        out = tmp_path / name
        command = ("fit", answers, "--features", path, "--out", out, *QUICK)
        result = run(*command, *options)
        assert result.exit_code == 0, result.stderr
        assert wc.load(out).feature_names_in_.tolist() == wanted


def test_predict_uses_the_columns_of_the_fit(run, answers, tmp_path):
    path = write(FRAME.assign(label=np.arange(N) % 2), tmp_path / "f.csv")
    out = tmp_path / "run"
    fit = ("fit", answers, "--features", path, "--out", out, *QUICK)
    assert run(*fit, "--columns", "label,w").exit_code == 0
    result = run("predict", out, path, "--json", "-q")
    assert result.exit_code == 0, result.stderr
    same = run("predict", out, path, "--columns", "w,label", "--json", "-q")
    assert same.stdout == result.stdout
    one_sentence(run("predict", out, path, "--leave-out", "w"), "'w'")


def test_compare_takes_the_columns_too(run, answers, tmp_path):
    path = write(FRAME, tmp_path / "f.csv")
    command = ("compare", answers, "-f", path, "-m", "majority-vote")
    result = run(*command, "--columns", "h")
    assert result.exit_code == 0, result.stderr
    assert "1 feature: 'h'" in result.stderr
    assert "'w' (not in --columns)" in result.stderr
    assert "'w' (--leave-out)" in run(*command, "--leave-out", "w").stderr


def test_messages_about_columns_name_the_options(run, answers, tmp_path):
    nameless = write(FRAME.rename(columns={"item": "photo_nr"}), tmp_path / "f.csv")
    text = write(FRAME.assign(a=list("uvwxyzuvwxyz"), b="b"), tmp_path / "g.csv")
    np.save(tmp_path / "h.npy", WIDTH[:, None])
    np.savez(tmp_path / "i.npz", X=WIDTH[:, None])
    for path, options, said in [
        (nameless, (), ("--ids 'photo_nr'", "--columns 'all'", "with --columns.")),
        (text, (), ("(--leave-out)", "(--columns)")),
        (text, ("--columns", "w,w"), ("--columns names a column twice",)),
        (text, ("--columns", "label"), ("'label'",)),
        (tmp_path / "h.npy", ("--columns", "w"), ("--columns", "--leave-out")),
        (tmp_path / "i.npz", ("--columns", "w"), ("--columns", "--key")),
    ]:
        for command in (("fit",), ("compare", "-m", "majority-vote")):
            result = run(*command, answers, "--features", path, *options)
            one_sentence(result, *said)


def test_columns_are_not_chosen_in_an_array_without_names(tmp_path):
    np.save(tmp_path / "f.npy", FRAME[["w", "h"]].to_numpy())
    with pytest.raises(InputError, match="columns= and leave_out= are for tables"):
        wc.read_features(tmp_path / "f.npy", leave_out="w")


def test_a_table_of_features_is_a_frame_that_a_fit_understands(answers, tmp_path):
    table = wc.read_feature_table(write(FRAME.sample(frac=1), tmp_path / "f.csv"))
    frame = table.to_frame()
    assert frame.columns.tolist() == ["w", "h"]
    pd.testing.assert_frame_equal(
        frame.sort_index(), FRAME.set_index("item"), check_names=False
    )
    model = wc.SVGPCR(n_inducing=4, max_epochs=2)
    model.fit(frame, wc.read_annotations(answers))
    assert model.feature_names_in_.tolist() == ["w", "h"]
    assert model.items_.tolist() == table.items.tolist()
