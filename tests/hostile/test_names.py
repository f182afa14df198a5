"""Names of features and of annotators: never ignored, never lost without a word."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import wisecrowd as wc
from mistakes import one_sentence

NAMES = ["width", "height", "pitch"]


@pytest.fixture(scope="module")
def crowd():
    """Eighty items with three features, nine annotators of whom some are adverse."""
    return wc.simulate(
        80, 9, 3, answers_per_item=5, n_features=3, separation=8.0, adversaries=0.3,
        random_state=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def table(crowd):
    """The features as a person has them: with names, and ids as the index."""
    ids = pd.Index([f"s{n}" for n in range(80)], name="item")
    return pd.DataFrame(crowd.X, columns=NAMES, index=ids)


@pytest.fixture(scope="module")
def answers(crowd):
    long = crowd.answers.to_frame()
    return long.assign(item="s" + long["item"].astype(str))


@pytest.fixture(scope="module")
def model(table, answers):
    return wc.Raykar().fit(table, answers)  # nothing to compile


@pytest.fixture(scope="module")
def folder(table, answers, tmp_path_factory):
    """A run of ``wisecrowd fit`` on named columns, and the tables beside it."""
    from typer.testing import CliRunner

    from wisecrowd.cli import app

    folder = tmp_path_factory.mktemp("names")
    answers.to_csv(folder / "answers.csv", index=False)
    table.to_csv(folder / "features.csv")
    command = ["fit", "answers.csv", "--features", "features.csv", "--out", "run"]
    places = {"answers.csv", "features.csv", "run"}
    command = [str(folder / word) if word in places else word for word in command]
    result = CliRunner().invoke(app, [*command, "--inducing", "5", "--epochs", "60"])
    assert result.exit_code == 0, result.output
    return folder


# -- features -----------------------------------------------------------------------

ORDERS = {
    "as they were": NAMES,
    "reversed": NAMES[::-1],
    "one moved": [NAMES[1], NAMES[0], NAMES[2]],
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_predict_puts_columns_in_order_by_name(
    order, ending, folder, table, run, tmp_path
):
    want = wc.load(folder / "run").predict_proba(table)
    path = tmp_path / f"new.{ending}"
    shuffled = table[order].reset_index()
    if ending == "parquet":
        shuffled.to_parquet(path, index=False)
    else:
        shuffled.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    result = run("predict", folder / "run", path, "--out", tmp_path / "p.parquet")
    assert result.exit_code == 0, result.output
    got = pd.read_parquet(tmp_path / "p.parquet")
    assert_allclose(got.filter(like="p_").to_numpy(), want, rtol=1e-4)  # CSV, float32


def test_a_fit_on_the_command_line_keeps_the_names(folder):
    assert wc.load(folder / "run").feature_names_in_.tolist() == NAMES


def written(table, path):
    table.reset_index().to_csv(path, index=False)
    return path


def test_missing_and_unknown_columns_are_named(folder, table, run, tmp_path):
    other = table.rename(columns={"height": "size"})
    path = written(other, tmp_path / "new.csv")
    result = run("predict", folder / "run", path)
    one_sentence(result, "new.csv", "no column 'height'", "has 'size' instead")


def test_columns_that_the_fit_did_not_have_are_left_out_and_said(
    folder, table, run, tmp_path
):
    more = table.assign(age=3.0)[["age", *NAMES]]
    path = written(more, tmp_path / "new.csv")
    result = run("predict", folder / "run", path, "--out", tmp_path / "p.parquet")
    assert result.exit_code == 0, result.output
    assert "left out 1 column that the fit did not have: 'age'" in result.stderr
    got = pd.read_parquet(tmp_path / "p.parquet").filter(like="p_")
    want = wc.load(folder / "run").predict_proba(table)
    assert_allclose(got.to_numpy(), want, rtol=1e-4)  # CSV, float32


def test_names_that_differ_in_capitals_are_a_hint(folder, table, run, tmp_path):
    path = written(table.rename(columns=str.upper), tmp_path / "new.csv")
    one_sentence(run("predict", folder / "run", path), "'WIDTH'", "'width'")


def test_a_table_without_names_is_used_in_its_order_with_a_note(
    folder, table, run, tmp_path
):
    np.save(tmp_path / "new.npy", table.to_numpy())
    result = run("predict", folder / "run", tmp_path / "new.npy")
    assert result.exit_code == 0, result.output
    assert "has no names of columns" in result.stderr
    assert "'width', 'height', 'pitch'" in result.stderr


def test_a_frame_in_another_order_is_refused_with_what_to_write(model, table):
    with pytest.raises(wc.InputError, match=r"X\[model\.feature_names_in_\]"):
        model.predict(table[NAMES[::-1]])
    with pytest.raises(wc.InputError, match="must be in the same order"):
        model.predict_proba(table[NAMES[::-1]])


def test_a_frame_with_other_columns_names_them(model, table):
    other = table.rename(columns={"height": "size"})
    with pytest.raises(wc.InputError, match="- size") as error:
        model.predict(other)
    assert "yet now missing:\n- height" in str(error.value)


def test_what_the_message_says_to_write_works(model, table):
    shuffled = table[NAMES[::-1]].assign(more=1.0)
    got = model.predict_proba(shuffled[model.feature_names_in_])
    assert_array_equal(got, model.predict_proba(table))


# -- annotators ---------------------------------------------------------------------


def with_guest(long, names=str):
    """The same answers, and one by "guest": the ids of a column become text."""
    last = long.tail(1).assign(annotator="guest")
    return pd.concat([long.assign(annotator=long["annotator"].map(names)), last])


ASKED = {
    "a number": lambda long: long,
    "text": lambda long: long.assign(annotator=long["annotator"].astype(str)),
    "a float beside a gap": lambda long: long.assign(
        annotator=long["annotator"].astype(float)
    ),
    "categorical": lambda long: long.assign(
        annotator=long["annotator"].astype("category")
    ),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("method", [wc.BCC, wc.DawidSkene, wc.GLAD])
def test_known_people_are_known_however_their_ids_are_stored(method, asked, crowd):
    model = method().fit(crowd.answers)
    long = crowd.answers.to_frame()
    want = model.predict_proba(long)
    assert model.known_annotators(asked(long)).all()
    assert_allclose(model.predict_proba(asked(long)), want)


def test_text_at_the_fit_and_numbers_later_are_the_same_people(crowd):
    long = crowd.answers.to_frame()
    model = wc.BCC().fit(long.assign(annotator=long["annotator"].astype(str)))
    assert model.known_annotators(long).all()
    assert_allclose(
        model.predict_proba(long), wc.BCC().fit(long).predict_proba(long), rtol=1e-9
    )


def test_one_guest_among_numbers_leaves_the_others_known(crowd):
    long = crowd.answers.to_frame()
    model = wc.BCC().fit(long)
    known = model.known_annotators(with_guest(long))
    assert known.sum() == 9
    assert known[~known].index.tolist() == ["guest"]
    same = with_guest(long)["item"] != long["item"].iloc[-1]
    want = model.predict_proba(long[long["item"] != long["item"].iloc[-1]])
    assert_allclose(model.predict_proba(with_guest(long)[same]), want)


def test_a_crowd_of_strangers_is_said(crowd):
    long = crowd.answers.to_frame()
    model = wc.BCC().fit(long)
    renamed = long.assign(annotator="user " + long["annotator"].astype(str))
    with pytest.warns(UserWarning, match="9 annotators: 0 known, 9 new"):
        model.predict_proba(renamed)


def test_votes_do_not_ask_who_voted(crowd):
    long = crowd.answers.to_frame()
    model = wc.MajorityVote().fit(long)
    renamed = long.assign(annotator="user " + long["annotator"].astype(str))
    assert_allclose(model.predict_proba(renamed), model.predict_proba(long))


@pytest.mark.filterwarnings("default:.*annotators")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda long: long, "9 annotators: 9 known, 0 new"),
        (with_guest, "10 annotators: 9 known, 1 new"),
        (
            lambda long: with_guest(long, lambda name: f"user {name}"),
            "10 annotators: 0 known, 10 new",
        ),
    ],
    ids=["the same", "a guest", "renamed"],
)
def test_predict_says_how_many_annotators_are_known(
    change, said, folder, answers, run, tmp_path
):
    change(answers).to_csv(tmp_path / "more.csv", index=False)
    command = ("predict", folder / "run", folder / "features.csv")
    result = run(*command, "--annotations", tmp_path / "more.csv")
    assert result.exit_code == 0, result.output
    assert said in result.stderr


def test_predict_is_the_same_with_a_guest_in_the_file(folder, answers, run, tmp_path):
    answers.to_csv(tmp_path / "more.csv", index=False)
    with_guest(answers).to_csv(tmp_path / "guest.csv", index=False)
    found = []
    for name in ("more", "guest"):
        out = tmp_path / f"{name}.parquet"
        run("predict", folder / "run", folder / "features.csv", "-q", "--out", out,
            "--annotations", tmp_path / f"{name}.csv")  # fmt: skip
        found.append(pd.read_parquet(out).set_index("item").filter(like="p_"))
    others = found[0].index != answers["item"].iloc[-1]
    assert_allclose(found[0][others], found[1][others])
