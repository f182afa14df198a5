import numpy as np
import pytest

from wisecrowd import simulate_glitches
from wisecrowd.experiments import experiment, ligo, ligo_tuning
from wisecrowd.experiments.ligo import fits, tables
from wisecrowd.experiments.ligo.figures import telling_items
from wisecrowd.experiments.ligo.tables import summary, table_4
from wisecrowd.experiments.parts import write_part
from wisecrowd.experiments.runner import Job, Outcome, run
from wisecrowd.experiments.scoring import MEASURES
from wisecrowd.results.limits import Cost
from wisecrowd.simulation.glitches.items import CLASSES


def drawn(method, seed, *, size, kind):
    """Scores and arrays of a fit that never was."""
    rng = np.random.default_rng(len(method + kind))
    truth = np.arange(60) % len(CLASSES)
    proba = rng.dirichlet(np.ones(len(CLASSES)), 60) + 2 * np.eye(len(CLASSES))[truth]
    proba /= proba.sum(1, keepdims=True)
    matrices = rng.dirichlet(np.ones(15), (5, 15))
    score = rng.uniform(0.2, 0.9, 20)
    scores = {f"{of}_{name}": score[0] for of in ("test", "label") for name in MEASURES}
    of = ("accuracy", "mean_likelihood")
    scores |= {f"{w}_{name}_of": score[:15] for w in ("test", "label") for name in of}
    scores |= {
        "usual_accuracy": 0.9,
        "usual_log_loss": 0.2,
        "test_seconds": 1.0,
        "wrong_labels": 3,
        "matrix_error": 0.1,
    }
    arrays = {"proba": proba, "truth": truth, "n_answers": np.arange(5)}
    arrays |= {"confusion": matrices, "true_confusion": matrices}
    cost = Cost()
    cost.seconds = cost.processor = 10.0
    return Outcome(scores, cost, arrays)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    jobs = [
        Job("ligo", method, 3, {"size": "small", "kind": kind}, drawn)
        for method in ("aggnet", "cl-mw", "svgpcr-10")
        for kind in fits.KINDS
        if (method, kind) != ("svgpcr-10", "published")
    ]
    return run(jobs, tmp_path_factory.mktemp("ligo"), apart=False)


def test_a_fit_of_a_tiny_crowd_has_all_that_tables_and_figures_need():
    done = fits.fitted("aggnet", 3, size="60+40", kind="ours", max_epochs=1)
    wanted = drawn("aggnet", 3, size="small", kind="ours")
    assert set(wanted.scores) == set(done.scores)
    assert set(wanted.arrays) == set(done.arrays)
    assert done.scores["test_log_loss"] > 0
    assert done.arrays["proba"].shape == (40, len(CLASSES))
    assert done.arrays["confusion"].shape == done.arrays["true_confusion"].shape


def test_all_tables_and_figures_are_written_from_the_rows(rows, tmp_path):
    written = [f.name for p in ligo.PARTS for f in write_part(p, rows, tmp_path)]
    assert "ligo-accuracy.md" in written
    assert "ligo-matrices-ours.png" in written
    # One of the three families was not fitted as published.
    assert "ligo-matrices-published.png" not in written


def test_a_class_has_three_lines_and_the_first_is_the_papers(rows):
    table = table_4(rows)
    assert len(table) == 3 * (len(CLASSES) + 1)
    assert table.iloc[-3]["svgpcr-50"] == ".9184 (.0031)"
    assert table.iloc[-1]["aggnet"] != ""
    assert table.iloc[-1]["cl-vw"] == ""


def test_the_summary_has_log_loss_beside_the_likelihood(rows):
    table = summary(rows)
    ours = table[(table[""] == "ours")].iloc[0]
    assert float(ours["log loss"]) > 0
    assert ours["likelihood"] == ours["accuracy"]  # as drawn


def test_the_papers_tables_are_those_of_the_paper():
    assert tables.ACCURACY.shape == tables.LIKELIHOOD.shape == (16, 7, 2)
    other = CLASSES.index("Other")
    np.testing.assert_allclose(tables.ACCURACY[other, 0], [0.2786, 0.0294])
    np.testing.assert_allclose(tables.LIKELIHOOD[-1, 5], [0.9154, 0.0033])


def test_methods_come_as_published_and_with_our_defaults():
    theirs = fits.model_of("cl-vwb", 3, "published", {"dropout": 0.2})
    ours = fits.model_of("cl-vwb", 3, "ours", {})
    assert (theirs.output, theirs.network.dropout) == ("softmax", 0.2)
    assert (ours.output, ours.kind) == ("mixture", "vwb")


def test_volunteers_are_the_most_active_of_their_habit():
    glitches = simulate_glitches((60, 40), random_state=3)
    who = fits.volunteers(glitches)
    assert glitches.kinds[who].tolist() == list(fits.HABITS)
    n_answers = glitches.answers.codes.n_per_annotator
    usual = glitches.kinds == "usual"
    assert n_answers[who[fits.HABITS.index("usual")]] == n_answers[usual].max()


def test_most_test_items_are_usual():
    usual = fits.usual_test_items("60+400", 3)
    assert len(usual) == 400
    assert 0.88 < usual.mean() < 0.97


def test_the_error_of_the_true_matrices_is_zero():
    glitches = simulate_glitches((60, 40), random_state=3)
    assert fits.matrix_error(glitches.confusion, glitches) == 0
    assert fits.matrix_error(glitches.confusion[:, :, ::-1], glitches) > 0.5


def test_seeds_are_counted_from_the_first_that_tuned_nothing():
    jobs = ligo.EXPERIMENT.jobs("full", (), ())
    assert {job.seed for job in jobs} == {3, 4, 5}
    assert len(jobs) == 3 * 7 * 2


def test_telling_items_are_right_under_all_methods_and_of_different_classes():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 300)
    proba = [rng.dirichlet(np.ones(5), 300) for _ in range(3)]
    proba = [(p + 0.3 * np.eye(5)[truth]) / 1.3 for p in proba]
    chosen = telling_items(proba, truth)
    assert len(set(truth[chosen])) == 4
    assert all((p[chosen].argmax(1) == truth[chosen]).all() for p in proba)


def test_the_setting_with_the_smallest_loss_by_votes_is_chosen(tmp_path):
    tried = ligo_tuning.settings_of("cl-mw", "ours")
    jobs = [
        Job("ligo-tuning", "cl-mw", 3, {"size": "small", "kind": "ours", **s}, _loss)
        for s in tried
    ]
    rows = run(jobs, tmp_path, apart=False)
    assert ligo_tuning.best(rows) == {
        ("cl-mw", "ours"): {"learning_rate": 1e-3, "dropout": 0.5}
    }
    table = ligo_tuning.table(rows)
    assert len(table) == len(tried) == 6
    bold = table["settings"].str.startswith("**")
    assert table.loc[bold, "log loss by votes"].tolist() == [".5000"]


def _loss(method, seed, *, size, kind, learning_rate, dropout):
    loss = 1.0 - 0.5 * (learning_rate == 1e-3 and dropout == 0.5)
    found = {"log_loss": loss, "accuracy": 0.9, "by_gold": 1.0}
    return Outcome(found, Cost())


def test_a_setting_is_judged_by_the_votes_on_items_that_were_not_fitted(monkeypatch):
    seen = []

    class Uniform:
        def fit(self, X, answers):
            seen.append((len(X), len(answers.items)))

        def predict_proba(self, X):
            return np.full((len(X), len(CLASSES)), 1 / len(CLASSES))

    monkeypatch.setattr(ligo_tuning, "model_of", lambda *args: Uniform())
    done = ligo_tuning.tried("aggnet", 3, size="60+5", kind="ours")
    assert seen == [(54, 54)]
    np.testing.assert_allclose(done.scores["log_loss"], np.log(len(CLASSES)))


def test_the_experiments_are_known_by_name():
    assert experiment("ligo") is ligo.EXPERIMENT
    assert experiment("ligo-tuning") is ligo_tuning.EXPERIMENT


def test_the_settings_in_use_are_among_those_that_were_tried():
    assert len(fits.TUNED) == 10  # five families, two kinds
    for (family, kind), settings in fits.TUNED.items():
        method = "svgpcr-50" if family == "svgpcr" else family
        assert settings in ligo_tuning.settings_of(method, kind)
