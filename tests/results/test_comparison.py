"""``wisecrowd.compare``: several methods on the same answers."""

import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import wisecrowd as wc
from wisecrowd import metrics
from wisecrowd.results import comparison, limits
from wisecrowd.results.comparison import (
    agreement_between,
    compared,
    honesty,
    log_likelihood_of_hidden,
    named_models,
    over_seeds,
    smoothed_votes,
)
from wisecrowd.results.findings import gold_scores

COLUMNS = [
    "method", "seed", "accuracy", "mean_likelihood", "log_loss", "calibration_error",
    "gain", "gain_error", "unseen_answers", "seconds", "megabytes", "note",
]  # fmt: skip
QUICK = wc.BCC(dependence=None, progress=False)


def test_methods_are_scored_against_gold_that_they_did_not_see(crowd, gold):
    table = wc.compare([wc.MajorityVote(), QUICK], crowd.answers, gold=gold)
    assert list(table.columns) == COLUMNS
    assert table["method"].tolist() == ["majority-vote", "bcc", "smoothed-votes"]
    truth = crowd.classes[crowd.truth]
    model = clone(QUICK).fit(crowd.answers)
    expected = metrics.log_loss(truth, model.label_proba_, crowd.classes)
    assert_allclose(table["log_loss"][1], expected)
    assert table["accuracy"][1] < 1
    assert (table["seconds"][:2] > 0).all()
    assert (table["note"] == "").all()


def test_with_gold_the_last_row_is_that_of_smoothed_votes(crowd, gold):
    table = wc.compare([QUICK], crowd.answers, gold=gold, held_out=0).iloc[-1]
    votes = np.array([[row.count(c) for c in range(3)] for row in answers_of(crowd)])
    proba = (votes + 1 / 3) / (votes.sum(1, keepdims=True) + 1)
    assert_allclose(smoothed_votes(crowd.answers), proba, rtol=1e-6)  # ties
    for name in ("accuracy", "mean_likelihood", "log_loss", "calibration_error"):
        score = getattr(metrics, name)
        want = score(crowd.truth, smoothed_votes(crowd.answers))
        assert_allclose(table[name], want, err_msg=name)
    assert (table["gain"], table["gain_error"]) == (0, 0)
    assert np.isnan(table["seconds"])


def answers_of(crowd):
    codes = crowd.answers.codes
    return [codes.answer[codes.item == n].tolist() for n in range(30)]


def test_the_gain_is_the_mean_difference_in_log_loss_with_its_standard_error(
    crowd, gold
):
    some = {item: name for item, name in gold.items() if item % 3}
    row = wc.compare([QUICK], crowd.answers, gold=some, held_out=0).iloc[0]
    proba = clone(QUICK).fit(crowd.answers).label_proba_
    known = [n for n in range(30) if n % 3]
    gain = [
        np.log(proba[n, crowd.truth[n]])
        - np.log(smoothed_votes(crowd.answers)[n, crowd.truth[n]])
        for n in known
    ]
    assert_allclose(row["gain"], np.mean(gain))
    assert_allclose(row["gain_error"], np.std(gain, ddof=1) / np.sqrt(len(gain)))
    one = wc.compare([QUICK], crowd.answers, gold={0: gold[0]}, held_out=0)
    assert np.isnan(one["gain_error"][0])
    assert honesty(one) == {"more": [], "less": [], "unclear": ["bcc"]}


def test_honesty_needs_two_standard_errors_and_is_the_mean_over_seeds():
    rows = [
        ("sure", 0.5, 0.2), ("sure", 0.7, 0.2), ("close", 0.5, 0.2), ("bad", -3, 1),
        ("close", 0.1, 0.2), ("failed", np.nan, np.nan), ("smoothed-votes", 0, 0),
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["method", "gain", "gain_error"])
    assert honesty(table) == {"more": ["sure"], "less": ["bad"], "unclear": ["close"]}


def test_no_method_can_have_the_name_of_the_baseline(crowd):
    with pytest.raises(wc.InputError, match="name of the baseline"):
        wc.compare({"smoothed-votes": QUICK}, crowd.answers)


def test_gold_of_the_answers_themselves_is_used_where_there_is_no_other(crowd, gold):
    given = wc.compare(["dawid-skene"], crowd.answers, gold=gold, held_out=0)
    own = wc.compare(["dawid-skene"], crowd.answers.with_gold(gold), held_out=0)
    assert_array_equal(given["log_loss"], own["log_loss"])


def test_gold_with_ids_as_text_is_joined_to_numbers(crowd, gold):
    as_text = {str(item): name for item, name in gold.items()}
    tables = [
        wc.compare(["majority-vote"], crowd.answers, gold=g, held_out=0)
        for g in (gold, as_text)
    ]
    assert tables[0]["accuracy"][0] == tables[1]["accuracy"][0]


def test_without_gold_there_are_no_scores_but_unseen_answers(crowd):
    table = wc.compare(["dawid-skene"], crowd.answers)
    assert list(table.columns) == COLUMNS
    assert np.isnan(table["accuracy"][0])
    assert table["unseen_answers"][0] < 0


def test_by_default_all_methods_that_can_be_fitted_are_compared():
    assert list(named_models(None, with_features=False)) == list(wc.AGGREGATORS)
    needs = {name: wc.METHODS.info(name).needs for name in named_models(None)}
    assert set(needs.values()) == {"answers", "features"}
    for_two = set(needs) - set(named_models(None, n_classes=3))
    assert for_two == {"gpep", "rffgpcr", "vffgpcr", "vgpcr"}


def test_a_method_with_features_is_fitted_on_them(crowd, gold):
    models = {
        "mine": wc.Raykar(),
        "votes": "majority-vote",
    }
    names = [f"sound {n}" for n in range(30)]
    answers = crowd.answers.with_items(names)
    shuffled = np.random.default_rng(0).permutation(30)
    found = compared(
        models,
        answers,
        X=crowd.X[shuffled],
        items=np.array(names, dtype=object)[shuffled],
        gold={f"sound {item}": name for item, name in gold.items()},
    )
    assert found.scores["method"].tolist() == ["mine", "votes", "smoothed-votes"]
    assert np.isfinite(found.scores["unseen_answers"][:2]).all()
    assert found.labels.index.tolist() == [names[n] for n in shuffled]
    votes = wc.MajorityVote().fit(crowd.answers).labels_
    assert (found.labels["votes"] == votes[shuffled]).mean() > 0.9  # but for ties


def test_a_method_with_features_is_refused_without_them(crowd):
    with pytest.raises(wc.InputError, match="'svgpcr' cannot be fitted without feat"):
        wc.compare(["bcc", "svgpcr"], crowd.answers)


def test_a_method_that_cannot_be_fitted_has_a_note_and_the_others_their_scores(crowd):
    table = wc.compare(["dawid-skene", "svgp"], crowd.answers, X=crowd.X)
    assert table["note"][0] == ""
    assert "per item" in table["note"][1]
    assert np.isnan(table["seconds"][1])
    with pytest.raises(wc.InputError, match="no method could be fitted"):
        wc.compare(["svgp"], crowd.answers, X=crowd.X)


def test_the_models_of_the_user_stay_as_they_are(crowd):
    model = wc.MajorityVote(random_state=5)
    wc.compare([model], crowd.answers, seeds=(1, 2))
    assert vars(model) == vars(clone(model))


def test_each_seed_is_a_row_and_decides_ties_and_hidden_answers():
    ties = wc.Annotations.from_matrix([[0, 1]] * 40)
    gold = dict.fromkeys(range(40), 0)
    table = wc.compare(["majority-vote"], ties, gold=gold, seeds=(1, 2, 1))
    assert table["seed"].tolist() == [1, 1, 2, 2, 1, 1]
    table = table[table["method"] == "majority-vote"]
    first, second, again = table["accuracy"]
    assert first == again != second
    first, second, again = table["unseen_answers"]
    assert first == again != second


def test_hidden_answers_are_predicted_from_the_others_alone(crowd):
    answers = crowd.answers
    hidden = np.zeros(len(answers), dtype=bool)
    hidden[::7] = True
    other = wc.Annotations.from_frame(
        answers.to_frame()[~hidden], items=answers.items,
        annotators=answers.annotators, classes=answers.classes, answers=answers.answers,
    )  # fmt: skip
    fitted = clone(QUICK).fit(other)
    expected = [
        np.log(fitted.label_proba_[n] @ fitted.confusion_[a, :, y])
        for n, a, y in zip(answers.item, answers.annotator, answers.answer, strict=True)
    ]
    found = log_likelihood_of_hidden(clone(QUICK), answers, hidden)
    assert_allclose(found, np.mean(np.array(expected)[hidden]))


@pytest.mark.parametrize("share", [False, True])
def test_with_nothing_or_everything_hidden_there_is_no_figure(share, crowd):
    hidden = np.full(len(crowd.answers), share)
    assert np.isnan(log_likelihood_of_hidden(wc.BCC(), crowd.answers, hidden))


def test_held_out_is_a_share(crowd):
    assert np.isnan(
        wc.compare(["dawid-skene"], crowd.answers, held_out=0)["unseen_answers"][0]
    )
    with pytest.raises(wc.InputError, match="held_out=1 must be a share"):
        wc.compare(["dawid-skene"], crowd.answers, held_out=1)


def test_agreement_is_the_share_of_equal_labels(crowd):
    labels = compared([QUICK, "majority-vote", "Dawid_Skene"], crowd.answers).labels
    between = agreement_between(labels)
    assert_array_equal(np.diag(between), 1)
    assert_array_equal(between, between.T)
    expected = (labels["bcc"] == labels["dawid-skene"]).mean()
    assert between.loc["bcc", "dawid-skene"] == expected


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ("bcc", "must be a list"),
        ([], "no method to compare"),
        ([wc.BCC], "is not a method. Give an estimator"),
        ([3], "is not a method"),
        (["dawid"], "Did you mean 'dawid-skene'"),
        (["bcc", wc.BCC()], "is there twice"),
    ],
)
def test_what_is_not_a_list_of_methods_is_a_sentence(methods, words, crowd):
    with pytest.raises(wc.InputError, match=words):
        wc.compare(methods, crowd.answers)


def test_bad_answers_are_an_error_and_no_note():
    with pytest.raises(wc.InputError, match="only one class"):
        wc.compare(["bcc"], [[0, 0], [0, 0]])


def test_a_table_of_features_gives_the_ids(crowd):
    X = pd.DataFrame(crowd.X, index=crowd.answers.items[::-1])
    found = compared(["majority-vote"], crowd.answers, X=X)
    assert found.labels.index.tolist() == list(range(29, -1, -1))


# -- seeds, time and memory ---------------------------------------------------------


class Endless(wc.MajorityVote):
    """Never finishes, and goes on after every error."""

    def _fit(self, annotations):
        while True:
            try:
                sum(range(1000))
            except Exception:
                continue


def test_a_method_without_end_runs_out_of_time_and_the_others_are_compared(crowd, gold):
    models = {"endless": Endless(), "votes": wc.MajorityVote()}
    table = wc.compare(models, crowd.answers, gold=gold, time_limit=1)
    assert table["note"].tolist() == ["its fit took more than 1 seconds.", "", ""]
    assert table["accuracy"].notna().tolist() == [False, True, True]


class EndlessSecond(wc.MajorityVote):
    """Fits all answers, and never a part of them."""

    def _fit(self, annotations):
        while len(annotations) < 100:
            pass
        return super()._fit(annotations)


def test_a_second_fit_without_end_leaves_the_scores_of_the_first(gold):
    crowd = wc.simulate(25, 4, 2, answers_per_item=4, random_state=0)
    table = wc.compare({"m": EndlessSecond()}, crowd.answers, time_limit=1)
    assert table["note"].tolist() == ["its second fit took more than 1 seconds."]
    assert np.isfinite(table["seconds"][0])
    assert np.isnan(table["unseen_answers"][0])


def wait_in_python(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_a_time_limit_of_numpy_ends_a_block(kind):
    with pytest.raises(limits.OutOfTime), limits.time_limit(kind(1)):
        wait_in_python(20)


def test_a_time_limit_may_be_longer_than_a_system_can_wait():
    with limits.time_limit(1e12):  # a thread that ends in an error is an error here
        time.sleep(0.05)


@pytest.mark.parametrize("seeds", [3, None, "01", [0.5]])
def test_seeds_are_a_list_of_whole_numbers(seeds):
    with pytest.raises(wc.InputError, match="seed"):
        comparison._check_arguments(seeds, 0.1, None)


def test_no_exception_is_left_after_a_time_limit():
    for _ in range(200):  # the timer fires at any moment, also after the block
        try:
            with limits.time_limit(1e-4):
                pass
        except limits.OutOfTime:
            continue
    sum(range(10_000))


class Greedy(wc.MajorityVote):
    """Takes 200 megabytes while it is fitted."""

    def _fit(self, annotations):
        np.ones(200 * 2**17)
        return super()._fit(annotations)


def test_memory_is_the_peak_of_the_fit(crowd):
    table = wc.compare({"a": Greedy(), "b": wc.MajorityVote()}, crowd.answers)
    if table["megabytes"].isna().all():
        pytest.skip("this system does not tell the peak of memory")
    greedy, modest = table["megabytes"]
    assert 180 < greedy < 300
    assert modest < 50


def test_where_memory_is_not_known_it_is_nan(crowd, monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "CLEAR_REFS", tmp_path)
    table = wc.compare(["majority-vote"], crowd.answers)
    assert np.isnan(table["megabytes"][0])
    assert table["seconds"][0] > 0


def test_over_seeds_are_means_and_deviations(crowd, gold):
    table = wc.compare([QUICK], crowd.answers, gold=gold, seeds=[3, 4, 5])
    found = over_seeds(table)
    assert found["method"].tolist() == ["bcc", "smoothed-votes"]
    assert found["n_fits"].tolist() == [3, 3]
    bcc = table[table["method"] == "bcc"]
    assert_allclose(found["unseen_answers"][0], bcc["unseen_answers"].mean())
    assert_allclose(found["unseen_answers_sd"][0], bcc["unseen_answers"].std(ddof=1))
    assert found["unseen_answers_sd"][0] > 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"time_limit": 0}, "time_limit"),
        ({"seeds": []}, "seeds is empty"),
        ({"seeds": [-1]}, "a seed in seeds=-1 must be a whole number"),
        ({"seeds": [2**40]}, "at most 4,294,967,295"),
        ({"held_out": float("nan")}, "held_out=nan must be a share"),
    ],
)
def test_settings_of_a_comparison_are_checked(crowd, given, words):
    with pytest.raises(wc.InputError, match=words):
        wc.compare(["majority-vote"], crowd.answers, **given)


def test_the_figure_has_a_panel_per_score_and_a_row_per_method(crowd, gold):
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("matplotlib.pyplot").close("all")  # before another backend
    matplotlib.use("Agg")
    models = {"votes": wc.MajorityVote(), "bcc": QUICK}
    table = wc.compare(models, crowd.answers, gold=gold, seeds=[0, 1])
    nothing = table.iloc[:1].assign(method="slow", accuracy=np.nan)
    table = pd.concat([nothing, table])
    figure = wc.plot_comparison(table)
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[:2] == ["accuracy (higher is better)", "log loss (lower is better)"]
    assert "dashed: smoothed votes" in figure.get_supxlabel()
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == ["slow", "votes", "bcc"]
    assert [text.get_text() for text in figure.axes[0].texts] == ["no result"]
    matplotlib.pyplot.close(figure)
    with pytest.raises(wc.InputError, match="no column 'accuracy'"):
        wc.plot_comparison(table.drop(columns="accuracy"))


def test_ties_of_smoothed_votes_are_not_broken_by_the_alphabet():
    rows = [["b", "b"]] * 3 + [["a", "b"]] * 4
    for names in ({"a": "a", "b": "b"}, {"a": "z", "b": "b"}):
        table = [[names[answer] for answer in row] for row in rows]
        annotations = wc.Annotations.from_matrix(pd.DataFrame(table))
        proba = smoothed_votes(annotations)
        assert set(annotations.classes[proba.argmax(1)]) == {"b"}
        np.testing.assert_allclose(proba[-1], 0.5, atol=1e-6)


def test_items_that_nobody_answered_are_not_scored_without_features():
    answers = wc.Annotations.from_triples(
        [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1], items=range(6)
    )
    gold = {0: 0, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}
    table = wc.compare(["majority-vote"], answers, gold=gold, held_out=0)
    assert table["accuracy"].tolist() == [1.0, 1.0]
    found = gold_scores(wc.MajorityVote().fit(answers), answers.with_gold(gold))
    assert (found["n_items"], found["n_unanswered"]) == (2, 4)
    assert found["accuracy"] == 1


def test_new_items_are_scored_by_their_features_alone(crowd, gold):
    answered = crowd.answers.subset(items=crowd.answers.items[:20])
    options = {"X": crowd.X, "gold": gold, "held_out": 0}

    def accuracy(**more):
        table = wc.compare(["raykar"], answered, **options, **more)
        return table["accuracy"][0], table["log_loss"].iloc[-1]

    labels = compared(["raykar"], answered, **options).labels["raykar"]
    right = (labels == pd.Series(gold)).to_numpy()
    assert_allclose(accuracy()[0], right.mean())
    assert_allclose(accuracy(score="answered")[0], right[:20].mean())
    found = accuracy(score="new")
    assert_allclose(found[0], right[20:].mean())
    assert_allclose(found[1], np.log(3), atol=1e-5)  # votes know nothing of them


def test_new_items_need_features_and_gold(crowd, gold):
    with pytest.raises(wc.InputError, match="score='new' needs features"):
        wc.compare(["bcc"], crowd.answers, gold=gold, score="new")
    with pytest.raises(wc.InputError, match="no gold item is without an answer"):
        wc.compare(["raykar"], crowd.answers, X=crowd.X, gold=gold, score="new")


def test_what_a_fit_warns_of_stands_beside_its_method(crowd):
    table = wc.compare([wc.DawidSkene(max_iter=1), wc.MajorityVote()], crowd.answers)
    of_ds, of_votes = table["note"]
    assert of_ds.count("not converged") == 1
    assert of_votes == ""
