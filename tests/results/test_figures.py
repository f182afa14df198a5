"""The figures of a fitted model, each on its axes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from wisecrowd import metrics

plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not there")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_annotators_are_at_their_accuracy(model):
    ax = model.plot_annotators()
    ax.figure.canvas.draw()
    drawn = np.concatenate([c.lines[0].get_ydata() for c in ax.containers])
    table = model.annotator_summary().query("n_answers > 0")
    assert_allclose(np.sort(drawn), np.sort(table["accuracy"]))
    assert ax.get_xscale() == "log"


def test_a_confusion_matrix_has_its_numbers(model):
    ax = model.plot_confusion(3)
    ax.figure.canvas.draw()
    shown = [text.get_text() for text in ax.texts]
    assert shown == [f"{share:.2f}" for share in model.confusion_[3].ravel()]
    assert "annotator 3" in ax.get_title()
    with pytest.raises(wc.InputError, match="'zoe' is not an annotator of the fit"):
        model.plot_confusion("zoe")


def test_the_trace_is_the_bound(model):
    (line,) = model.plot_trace().lines
    assert_allclose(line.get_ydata(), model.trace_["bound"])


def test_reliability_is_that_of_the_gold_items(model, crowd, gold):
    some = {item: name for item, name in gold.items() if item < 20}
    ax = model.plot_reliability(some)
    truth = crowd.classes[crowd.truth][:20]
    found = metrics.reliability(truth, model.label_proba_[:20], crowd.classes)
    drawn = ax.containers[0].lines[0].get_ydata()
    assert_allclose(drawn, found.accuracy[found.n_items > 0])
    with pytest.raises(wc.InputError, match="gold names no item of the fit"):
        model.plot_reliability({"zebra": "blip"})


def test_a_figure_is_drawn_where_it_is_wanted(model, gold):
    _, axes = plt.subplots(1, 4)
    assert model.plot_annotators(axes[0]) is axes[0]
    assert model.plot_confusion(0, ax=axes[1]) is axes[1]
    assert model.plot_trace(axes[2]) is axes[2]
    assert model.plot_reliability(gold, axes[3]) is axes[3]


def test_a_dollar_in_a_name_is_a_dollar():
    names = ["$x_1$", "b"]
    answers = wc.Annotations.from_triples(["i", "i"], names, ["$a^$", "c"])
    ax = wc.MajorityVote().fit(answers).plot_confusion("$x_1$")
    ax.figure.canvas.draw()
    assert [t.get_text() for t in ax.get_xticklabels()] == [r"\$a^\$", "c"]
