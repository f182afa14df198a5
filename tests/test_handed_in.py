"""What a user hands to a function in Python by mistake is one sentence."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wisecrowd as wc
from wisecrowd import InputError, metrics

CROWD = wc.simulate(40, 5, 2, n_features=2, random_state=0)
ANSWERS, X = CROWD.answers, CROWD.X
TABLE = ANSWERS.to_frame()


def refused(call):
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -- answers ----------------------------------------------------------------------


def test_a_series_by_item_and_annotator_is_a_long_table():
    series = TABLE.set_index(["annotator", "item"])["answer"]
    model = wc.MajorityVote().fit(series.rename_axis(["worker", "task"]))
    assert (len(model.items_), len(model.annotators_)) == (40, 5)
    nameless = series.rename_axis([None, None])
    assert "which is the item" in refused(lambda: wc.MajorityVote().fit(nameless))
    by_item = series.droplevel("annotator")  # 200 rows are not 200 items
    assert "which is the item" in refused(lambda: wc.MajorityVote().fit(by_item))
    assert len(wc.MajorityVote().fit(by_item.rename_axis(None)).items_) == 200


def test_levels_of_an_index_are_columns():
    table = TABLE.set_index(["annotator", "item"])
    assert len(wc.MajorityVote().fit(table).annotators_) == 5


def test_columns_can_be_named_in_a_fit():
    odd = TABLE.rename(columns={"item": "a", "annotator": "b", "answer": "c"})
    columns = {"item": "a", "annotator": "b", "answer": "c"}
    for model in (wc.MajorityVote(), wc.DawidSkene()):
        assert len(model.fit(odd, **columns).annotators_) == 5
    model = wc.Raykar().fit(X, odd, **columns)
    assert len(model.annotators_) == 5
    said = refused(lambda: wc.BCC().fit(ANSWERS, item="a"))
    assert said.startswith("item='a' names a column")


def test_features_come_first_and_aggregators_take_none():
    for answers in (ANSWERS, TABLE):
        assert "features first" in refused(lambda a=answers: wc.Raykar().fit(a, X))
        turned = refused(lambda a=answers: wc.cross_validate(wc.Raykar(), a, X))
        assert "features first" in turned
    assert "answers alone" in refused(lambda: wc.BCC().fit(X, ANSWERS))
    assert "answers alone" in refused(lambda: wc.cross_validate(wc.BCC(), X, ANSWERS))
    assert "not a model" in refused(lambda: wc.cross_validate("bcc", X, ANSWERS))


def test_no_class_is_said_as_such():
    answers = wc.Annotations.from_triples([1], [1], ["?"], classes=[], answers=["?"])
    assert "there is no class: nothing" in refused(lambda: wc.BCC().fit(answers))


def test_measurements_are_told_which_classes_to_name(tmp_path):
    rows = "".join(f"{i},1,0.{i + 100}\n" for i in range(150))
    (tmp_path / "a.csv").write_text("item,user,label\n" + rows)
    said = refused(lambda: wc.read_annotations(tmp_path / "a.csv"))
    assert "classes=['0.100', '0.101', '0.102', ...]" in said


# -- models -----------------------------------------------------------------------


@pytest.mark.parametrize("method", ["predict", "predict_proba", "annotator_summary"])
def test_a_model_that_is_not_fitted_says_so(method):
    for model in (wc.BCC(), wc.MajorityVote()):
        call = getattr(model, method)
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call() if method == "annotator_summary" else call(ANSWERS)


@pytest.mark.parametrize("bad", ["x", None, [], float("nan"), float("inf"), 0])
@pytest.mark.parametrize("name", ["ability_spread", "easiness_spread"])
def test_settings_of_glad_are_checked(name, bad):
    assert name in refused(lambda: wc.GLAD().set_params(**{name: bad}).fit(ANSWERS))


def test_settings_of_others_are_checked():
    model = wc.SVGPCR().set_params(shared_kernel=[])
    assert "shared_kernel" in refused(lambda: model.fit(X, TABLE))
    search = GridSearchCV(wc.CrowdEM(), {"estimator__C": [1.0]})
    said = refused(lambda: search.fit(X, ANSWERS.to_matrix()))
    assert "CrowdEM(LogisticRegression())" in said
    model = wc.CrowdEM(LogisticRegression()).set_params(estimator__C=2.0)
    assert model.estimator.C == 2.0


def test_a_search_of_scikit_learn_is_told_what_to_use():
    search = GridSearchCV(wc.Raykar(), {"l2": [1.0]})
    said = refused(lambda: search.fit(X, ANSWERS))
    assert "wisecrowd.cross_validate" in said
    assert "to_matrix()" in said
    search.fit(X, ANSWERS.align(np.arange(40)).to_matrix())


def test_what_cannot_be_saved_says_what_can(tmp_path):
    pipeline = make_pipeline(StandardScaler(), wc.Raykar()).fit(X, ANSWERS)
    said = refused(lambda: wc.save(pipeline, tmp_path / "run"))
    assert "wc.save(pipeline[-1], ...)" in said
    wc.save(pipeline[-1], tmp_path / "run")
    assert "empty" in refused(lambda: wc.save(wc.MajorityVote().fit(ANSWERS), ""))
    assert "not a method" in refused(lambda: wc.save(LogisticRegression(), tmp_path))
    assert "Annotations" in refused(lambda: wc.write_annotations(TABLE, "a.csv"))


# -- scores -----------------------------------------------------------------------


def test_scores_of_frames_are_joined_by_name():
    model = wc.MajorityVote().fit(ANSWERS)
    truth = pd.Series(CROWD.truth, index=model.items_)
    table = pd.DataFrame(model.label_proba_, index=model.items_, columns=["a", "b"])
    names = truth.map({0: "a", 1: "b"})
    right = metrics.accuracy(names, table, classes=["a", "b"])
    turned = table[["b", "a"]].iloc[::-1]
    assert metrics.accuracy(names, turned, classes=["a", "b"]) == right
    assert metrics.accuracy(names.to_frame(), turned, classes=["a", "b"]) == right


def test_a_table_where_a_score_wants_something_else_is_refused():
    table = pd.DataFrame([[0.5, 0.5]] * 3)
    assert "2 columns" in refused(lambda: metrics.log_loss(table, [0, 1, 0]))
    words = table.astype(str) + "x"
    assert "not numbers" in refused(lambda: metrics.log_loss([0, 1, 0], words))
    for measure in (
        metrics.krippendorff_alpha, metrics.fleiss_kappa, metrics.pairwise_cohen,
    ):  # fmt: skip
        assert "from_frame" in refused(lambda m=measure: m(TABLE))


# -- the order of rows --------------------------------------------------------------


@pytest.mark.parametrize("method", ["ebcc", "majority-vote", "glad", "bcc"])
def test_the_order_of_rows_changes_no_label(method):
    wide = pd.DataFrame(ANSWERS.to_matrix(), index=ANSWERS.items)
    turned = wide.sample(frac=1, random_state=0)
    one, other = (
        wc.METHODS[method]().fit(wc.Annotations.from_matrix(table))
        for table in (wide, turned)
    )
    assert other.items_.tolist() == turned.index.tolist()
    np.testing.assert_array_equal(one.label_proba_[turned.index], other.label_proba_)
    if method == "glad":
        np.testing.assert_array_equal(one.easiness_[turned.index], other.easiness_)
    long = wc.METHODS[method]().fit(TABLE.sample(frac=1, random_state=1))
    np.testing.assert_allclose(long.label_proba_, one.label_proba_, atol=1e-12)


def test_the_order_of_the_rows_of_features_changes_no_label():
    features = pd.DataFrame(X, index=ANSWERS.items)
    turned = features.sample(frac=1, random_state=0)
    one, other = (wc.CrowdEM(n_rounds=1).fit(x, ANSWERS) for x in (features, turned))
    np.testing.assert_array_equal(one.label_proba_[turned.index], other.label_proba_)
    predicted = [model.predict_proba(X) for model in (one, other)]
    np.testing.assert_array_equal(*predicted)


@pytest.mark.parametrize(
    "names",
    [
        ("HITId", "WorkerId", "Answer.kind.label"),
        ("classification_id", "user_name", "annotations", "subject_ids", "workflow_id"),
        ("INPUT:image", "OUTPUT:result", "ASSIGNMENT:worker_id"),
    ],
)
def test_a_table_of_an_export_says_how_to_read_it(names):
    frame = pd.DataFrame({name: ["a", "b"] for name in names})
    with pytest.raises(InputError, match=r"export .*wisecrowd.read_annotations"):
        wc.MajorityVote().fit(frame)


def test_the_columns_of_an_export_can_be_named():
    rows = {"HITId": ["x", "y"], "WorkerId": ["a", "a"], "Answer.q": ["cat", "dog"]}
    named = {"item": "HITId", "annotator": "WorkerId", "answer": "Answer.q"}
    model = wc.MajorityVote().fit(pd.DataFrame(rows), **named)
    assert model.labels_.tolist() == ["cat", "dog"]
