"""``wisecrowd compare``: several methods on one file."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from wisecrowd import metrics
from wisecrowd.cli.contest import log_likelihood_of_hidden


def test_methods_are_scored_against_gold_that_they_did_not_see(
    run, answers, gold, crowd
):
    result = run("compare", answers, "--gold", gold, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert [row["method"] for row in found["methods"]] == list(wc.AGGREGATORS)
    labels = wc.read_annotations(answers)
    proba = wc.BCC().fit(labels).label_proba_
    truth = crowd.classes[crowd.truth]
    bcc = found["methods"][2]
    assert_allclose(bcc["accuracy"], metrics.accuracy(truth, proba, labels.classes))
    assert_allclose(bcc["log_loss"], metrics.log_loss(truth, proba, labels.classes))
    assert bcc["accuracy"] < 1
    assert found["n_gold"] == 60
    assert_allclose(found["krippendorff_alpha"], metrics.krippendorff_alpha(labels))


def test_without_gold_methods_are_compared_with_one_another(run, answers):
    result = run("compare", answers, "--methods", "bcc,majority_vote", "--json")
    found = json.loads(result.stdout)
    assert set(found["methods"][0]) == {"method", "unseen_answers", "seconds"}
    between = found["agreement"]
    assert between["bcc"]["bcc"] == 1
    assert between["bcc"]["majority-vote"] == between["majority-vote"]["bcc"] < 1


def test_the_tables_fit_80_columns(run, answers, gold):
    result = run("compare", answers, "--gold", gold)
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "against 60 gold items" in result.stdout
    assert "Items on which two methods agree" in result.stdout
    assert "no gold is known" in run("compare", answers, "-m", "bcc").stdout


def test_gold_of_the_file_itself_is_used_where_there_is_no_other(run, tmp_path):
    rows = "item,annotator,label,gold\n1,a,x,y\n1,b,x,y\n2,a,y,\n2,b,y,\n"
    (tmp_path / "a.csv").write_text(rows)
    found = json.loads(run("compare", tmp_path / "a.csv", "--json").stdout)
    assert found["n_gold"] == 1
    assert found["methods"][0]["accuracy"] == 0


def test_hidden_answers_are_predicted_from_the_others_alone(crowd):
    labels = crowd.labels
    hidden = np.zeros(len(labels), dtype=bool)
    hidden[::7] = True
    model = wc.BCC(progress=False)
    kept = labels.to_frame()[~hidden]
    other = wc.Annotations.from_frame(
        kept, items=labels.items, annotators=labels.annotators, classes=labels.classes
    )
    fitted = wc.BCC(progress=False).fit(other)
    expected = [
        np.log(fitted.label_proba_[n] @ fitted.confusion_[a, :, y])
        for n, a, y in zip(labels.item, labels.annotator, labels.label, strict=True)
    ]
    found = log_likelihood_of_hidden(model, labels, hidden)
    assert_allclose(found, np.mean(np.array(expected)[hidden]))


@pytest.mark.parametrize("share", [False, True])
def test_with_nothing_or_everything_hidden_there_is_no_figure(share, crowd):
    hidden = np.full(len(crowd.labels), share)
    assert np.isnan(log_likelihood_of_hidden(wc.BCC(), crowd.labels, hidden))


def test_quiet_leaves_the_tables(run, answers):
    result = run("compare", answers, "-q", "-m", "bcc")
    assert result.stderr == ""
    assert "bcc" in result.stdout
